//! What is printed is read back as the same instruction, and no text makes the parser panic.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails says so by panicking")]

use aci::{Aci, Reading, parse, parse_as};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;

/// A value for a name, with what needs escapes in names, URLs and quotation marks.
fn name_value() -> impl Strategy<Value = String> + Clone {
    vec(select(vec!["a", "B", " ", "\\22", "\\,", "%25", "%3f", "\\2a", "ä", "|", "\\|", "\\5c", "\\ff", "#"]), 1..6)
        .prop_map(|pieces| format!("x{}y", pieces.concat().replace("\\|", "|")))
}

fn dn() -> impl Strategy<Value = String> {
    vec((select(vec!["cn", "ou", "2.5.4.3"]), name_value()), 0..4)
        .prop_map(|rdns| rdns.iter().map(|(t, v)| format!("{t}={v}")).collect::<Vec<_>>().join(","))
}

fn pattern() -> impl Strategy<Value = String> {
    let value = vec(name_value(), 1..4).prop_map(|pieces| pieces.join("*"));
    let rdn = prop_oneof![
        Just("*".to_owned()),
        Just("**".to_owned()),
        (select(vec!["*", "uid", "cn"]), value.clone()).prop_map(|(t, v)| format!("{t}={v}")),
        (value.clone(), value).prop_map(|(a, b)| format!("cn={a}+*=*{b}")),
    ];
    vec(rdn, 1..4).prop_map(|rdns| rdns.join(","))
}

fn filter() -> impl Strategy<Value = &'static str> {
    select(vec![
        "(cn=a)",
        "(cn=a\\22*b)",
        "(&(cn=*)(!(sn>=x)))",
        "(|(cn:dn:2.5.13.2:=x)(cn=))",
        "(&)",
        "(cn~=\\7c\\7c)",
    ])
}

fn target() -> impl Strategy<Value = String> {
    let op = select(vec!["=", "!="]);
    prop_oneof![
        (op.clone(), prop_oneof![dn(), pattern()]).prop_map(|(op, dn)| format!("(target{op}\"ldap:///{dn}\")")),
        (op.clone(), vec(select(vec!["*", "+", "cn", "2.5.4.4"]), 1..4))
            .prop_map(|(op, names)| format!("(targetattr{op}\"{}\")", names.join("||"))),
        (op.clone(), filter()).prop_map(|(op, filter)| format!("(targetfilter{op}\"{filter}\")")),
        select(vec!["base", "ONELEVEL", "subtree", "subordinate"]).prop_map(|it| format!("(targetscope=\"{it}\")")),
        (op, vec(select(vec!["*", "1.2.3"]), 1..3))
            .prop_map(|(op, oids)| format!("(targetcontrol{op}\"{}\")", oids.join("||"))),
        Just("(targattrfilters=\"add=cn:(|(cn=a,b)(cn=\\22)) && sn:(sn=*),del=cn:(!(cn=x))\")".to_owned()),
        Just("(extop=\"1.2.3\")".to_owned()),
        pattern().prop_map(|dn| format!("(target_to=\"ldap:///{dn}\")")),
        dn().prop_map(|dn| format!("(target_from!=\"ldap:///{dn}\")")),
    ]
}

fn value() -> impl Strategy<Value = String> {
    let url = (dn(), select(vec!["base", "one", "sub"]), filter());
    prop_oneof![
        vec(prop_oneof![dn(), pattern(), Just("self".to_owned()), Just("anyone".to_owned())], 1..3)
            .prop_map(|users| format!("userdn=\"ldap:///{}\"", users.join("||ldap:///"))),
        url.prop_map(|(dn, scope, filter)| format!("userdn!=\"ldap:///{dn}?cn,sn?{scope}?{filter}\"")),
        vec(dn(), 1..3).prop_map(|groups| format!("groupdn!=\"ldap:///{}\"", groups.join(" || ldap:///"))),
        dn().prop_map(|role| format!("roledn=\"ldap:///{role}\"")),
        dn().prop_map(|base| format!("userattr=\"ldap:///{}?owner#GROUPDN\"", base)),
        select(vec![
            "userattr=\"parent[0,4,10].manager#USERDN\"",
            "userattr=\"ou#Sales and more\"",
            "userattr!=\"parent[1].a#b\"",
            "userdnattr=\"manager\"",
            "groupdnattr=\"parent[2].owner\"",
            "userattr=\"a#LDAPURL\"",
            "ip=\"10.0.0.0/8,10.1.*.3,10.1.2.3+255.0.255.0,0.0.0.0/0\"",
            "ip!=\"2001:db8::7/29,::1,::ffff:1.2.3.4,::ffff:1.2.3.4/100,::/0\"",
            "dns=\"*.*.example.com,*,A.b-c_d\"",
            "timeofday>\"2359\"",
            "timeofday!=\"0000\"",
            "dayofweek!=\"sat,mon\"",
            "authmethod=\"sasl scram-sha-1\"",
            "authmethod!=\"none\"",
            "ssf<=\"1024\"",
            "ssf!=\"0\"",
        ])
        .prop_map(str::to_owned),
    ]
}

fn rule() -> impl Strategy<Value = String> {
    value().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|rule| format!("not {rule}")),
            inner.clone().prop_map(|rule| format!("({rule})")),
            (vec(inner, 2..4), select(vec![" and ", " or ", ") and (", " or not"]))
                .prop_map(|(rules, between)| format!("({})", rules.join(between))),
        ]
    })
}

fn instruction() -> impl Strategy<Value = String> {
    let rights = vec(select(vec!["read", "all", "proxy", "moddn", "SelfWrite", "import"]), 1..4);
    let permission = (select(vec!["allow", "deny"]), rights, rule())
        .prop_map(|(effect, rights, rule)| format!("{effect} ({}) {rule};", rights.join(",")));
    (vec(target(), 0..4), select(vec!["", "a; )b", "ä"]), vec(permission, 1..3)).prop_map(
        |(targets, name, permissions)| {
            format!("{}(version 3.0; acl \"{name}\"; {})", targets.concat(), permissions.join(" "))
        },
    )
}

fn read_back(aci: &Aci) {
    let printed = aci.to_string();
    let again = parse(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
    assert_eq!(*aci, again, "{printed}");
    assert_eq!(printed, again.to_string());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_is_printed_is_read_as_the_same(text in instruction()) {
        if let Ok(aci) = parse(&text) {
            read_back(&aci);
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(
        text in instruction(),
        at in any::<prop::sample::Index>(),
        with in "[ -~äß]{0,4}",
    ) {
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let (from, to) = (places[at.index(places.len())], places[at.index(places.len() / 2)]);
        let text = format!("{}{with}{}", &text[..from], &text[to..]);
        for reading in [Reading::Strict, Reading::Import] {
            match parse_as(&text, reading) {
                Ok(parsed) => read_back(&parsed.aci),
                Err(error) => prop_assert!(error.marked(&text).lines().count() == 2),
            }
        }
    }
}

#[test]
fn most_generated_instructions_are_valid() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let texts = (0..500).map(|_| instruction().new_tree(&mut runner).unwrap().current());
    let valid = texts.filter(|text| parse(text).is_ok()).count();
    assert!(valid > 250, "{valid} of 500");
}
