//! What the language is: every row of the tables that say what other servers accept, and what we do.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails says so by panicking")]

use std::net::{IpAddr, Ipv4Addr};

use aci::{
    Aci, AciFault, AuthMethod, BindRule, Comparison, Condition, ConditionTest, DnPattern, Effect, IpRange, RdnPattern,
    Reading, Remark, Right, Rights, TargetScope, UserAttrKind, UserDn, parse, parse_as,
};

const BODY: &str = "(version 3.0; acl \"a\"; allow (read) userdn=\"ldap:///anyone\";)";

/// An instruction with these targets.
fn with_targets(targets: &str) -> String {
    format!("{targets}{BODY}")
}

/// An instruction with this bind rule.
fn with_rule(rule: &str) -> String {
    format!("(version 3.0; acl \"a\"; allow (read) {rule};)")
}

/// An instruction with these rights.
fn with_rights(rights: &str) -> String {
    format!("(version 3.0; acl \"a\"; allow {rights} userdn=\"ldap:///all\";)")
}

fn accepted(text: &str) -> Aci {
    let parsed = parse_as(text, Reading::Strict).unwrap_or_else(|error| panic!("{error}\n{}", error.marked(text)));
    assert_eq!(parsed.warnings, [], "{text}");
    parsed.aci
}

fn remarked(text: &str, reading: Reading) -> Vec<Remark> {
    let parsed = parse_as(text, reading).unwrap_or_else(|error| panic!("{error}\n{}", error.marked(text)));
    parsed.warnings.into_iter().map(|warning| warning.remark).collect()
}

fn refused(text: &str) {
    for reading in [Reading::Strict, Reading::Import] {
        let parsed = parse_as(text, reading);
        assert!(parsed.is_err(), "{text}\n{parsed:?}");
    }
}

fn rule(text: &str) -> BindRule {
    accepted(&with_rule(text)).permissions.remove(0).rule
}

fn condition(text: &str) -> Condition {
    match rule(text) {
        BindRule::Test(condition) => condition,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn targets_that_are_accepted() {
    for targets in [
        "",
        "(targetattr=\"cn\")",
        "(targetattr!=\"cn || sn\")",
        "(targetattr=\"cn || nosuch\")",
        "(targetattr=\"+\")",
        "(targetattr=\"* || +\")",
        "(targetattr=\"2.5.4.3\")",
        "( TargetAttr = \"cn\" )",
        "(targetscope=\"base\")(targetattr=\"cn\")",
        "(targetscope = \"OneLevel\")",
        "(targetcontrol=\"1.2.840.113556.1.4.319 || *\")",
        "(targetcontrol!=\"1.2.840.113556.1.4.319\")",
        "(extop=\"1.3.6.1.4.1.1466.20037\")",
        "(target=\"ldap:///uid=x,dc=example,dc=com\")",
        "(target!=\"ldap:///uid=x,dc=example,dc=com\")",
        "(target=\"ldap:///\")",
        "(target=\"LDAP:///dc=example,dc=com\")",
        "(target=\"ldap:///cn=*,**,ou=People,dc=example,dc=com\")",
        "(target=\"ldap:///*,dc=example,dc=com\")",
        "(target=\"ldap:///*=*\")",
        "(target=\"ldap:///uid=*lic*+cn=a,dc=example\")",
        "(target=\"ldap:///ou=My%20People,dc=example\")",
        "(target_from=\"ldap:///ou=a,dc=example\")(target_to!=\"ldap:///ou=*,dc=example\")",
        "(targetfilter=\"(cn=x)\")",
        "(targetfilter!=\"(cn=x)\")",
        "(targetfilter=\"cn=x\")",
        "(targetfilter=\"(!(nosuch=x))\")",
        "(targattrfilters=\"add=cn:(cn=a*)\")",
        "(targattrfilters=\"add=cn:(cn=a*) && sn:(|(sn=a,b)(sn=c)), del=cn:(!(cn=b))\")",
        "(targattrfilters=\"del=cn:(cn=*)\")",
    ] {
        accepted(&with_targets(targets));
    }
}

#[test]
fn targets_that_are_refused() {
    for targets in [
        "(targetattr=\"cn\"||\"sn\")",
        "(targetattr=\"cn;lang-de\")",
        "(targetattr=\"c*\")",
        "(targetattr=\"cn,sn\")",
        "(targetattr=\"cn sn\")",
        "(targetattr=\"cn\")(targetattr=\"sn\")",
        "(foo=\"x\")",
        "(targetattr>\"cn\")",
        "(targetattr>=\"cn\")",
        "(targetscope!=\"base\")",
        "(targetscope=\"one\")",
        "(targetattr=\"\")",
        "(targetattr=\" \")",
        "(targetattr=\"cn || \")",
        "(targetattr=\" || cn\")",
        "(target=\"uid=x,dc=example,dc=com\")",
        "(target=\"ldap://host/dc=example,dc=com\")",
        "(target=\"ldaps:///dc=example,dc=com\")",
        "(target=\"ldap:///not a name\")",
        "(target=\"ldap:///u*=x\")",
        "(target=\"ldap:///***\")",
        "(target=\"ldap:///dc=example,dc=com?cn\")",
        "(target=\"ldap:///cn=50%,dc=com\")",
        "(targetfilter=\"(cn=x\")",
        "(targetfilter=\"\")",
        "(targattrfilters=\"mod=cn:(cn=a)\")",
        "(targattrfilters=\"delete=cn:(cn=a)\")",
        "(targattrfilters=\"add=cn:(sn=a)\")",
        "(targattrfilters=\"add=cn:(&(cn=a)(sn=a))\")",
        "(targattrfilters=\"add=cn:(cn=a), add=sn:(sn=a)\")",
        "(targattrfilters=\"add=cn:(cn=a) && cn:(cn=b)\")",
        "(targattrfilters=\"add=cn:(cn=a),\")",
        "(targattrfilters=\"add=cn:(cn=a) sn:(sn=a)\")",
        "(targattrfilters=\"add=cn:(cn=a\")",
        "(targattrfilters=\"add=cn\")",
        "(targattrfilters=\"cn:(cn=a)\")",
        "(targattrfilters!=\"add=cn:(cn=a)\")",
        "(targetattrfilters=\"add=cn:(cn=a)\")",
        "(targetcontrol=\"paged\")",
        "(extop=\"1.2 || \")",
        "targetattr=\"cn\"",
        "(targetattr=\"cn\"",
        "(targetattr=\"cn\") x ",
        "(targetattr \"cn\")",
        "(=\"cn\")",
        "()",
    ] {
        refused(&with_targets(targets));
    }
}

#[test]
fn values_without_quotation_marks_are_read_on_import_only() {
    for text in [
        with_targets("(targetattr=cn)"),
        with_targets("(targetattr!=cn || sn)"),
        with_targets("(targetfilter=(cn=x))"),
        "(version 3.0; acl x; allow (read) userdn=\"ldap:///all\";)".to_owned(),
    ] {
        assert!(parse(&text).is_err(), "{text}");
        assert_eq!(remarked(&text, Reading::Import), [Remark::NotQuoted], "{text}");
    }
    assert!(parse_as("(version 3.0; acl ; allow (read) userdn=\"ldap:///all\";)", Reading::Import).is_err());
    assert!(parse_as(&with_targets("(targetattr=)"), Reading::Import).is_err());
    let read = parse_as(&with_targets("(targetfilter= (&(cn=x)(sn=y)) )"), Reading::Import).unwrap().aci;
    assert_eq!(read, accepted(&with_targets("(targetfilter=\"(&(cn=x)(sn=y))\")")));
}

#[test]
fn bodies_that_are_refused() {
    for text in [
        "",
        " ",
        "(",
        "(targetattr=\"cn\")",
        "(version 2.0; acl \"a\"; allow (read) userdn=\"ldap:///all\";)",
        "(version; acl \"a\"; allow (read) userdn=\"ldap:///all\";)",
        "(version 3.0; acl \"a\"; allow (read) userdn=\"ldap:///all\")",
        "(version 3.0; acl \"a\"; allow (read) userdn=\"ldap:///all\";",
        "(version 3.0; allow (read) userdn=\"ldap:///all\";)",
        "(version 3.0; acl \"a\";)",
        "(version 3.0; acl \"a\"; permit (read) userdn=\"ldap:///all\";)",
        "(version 3.0; acl \"a\"b\"; allow (read) userdn=\"ldap:///all\";)",
        "(version 3.0; acl \"a\"; allow (read) userdn=\"ldap:///all\";)x",
        "(version 3.0; acl \"a\"; allow (read);)",
        "(version 3.0; acl \"a\"; allow read userdn=\"ldap:///all\";)",
        "(version 3.0; acl \"a\"; allow (read) userdn=\"ldap:///all\"; x)",
    ] {
        refused(text);
    }
    refused(&format!("{BODY}{BODY}"));
    for rights in ["(reed)", "()", "(read write)", "(read,)", "(,read)", "(none)", "(read", "read)"] {
        refused(&with_rights(rights));
    }
}

#[test]
fn bodies_that_are_accepted() {
    let aci = accepted(
        " ( VERSION 3.0 ; ACL \"x;)(\" ; Allow( Read , all )( UserDN = \"ldap:///SELF\" ) ;deny(proxy,MODDN)\
         userdn=\"ldap:///all\";\n) ",
    );
    assert_eq!(aci.name, "x;)(");
    let [first, second] = aci.permissions.as_slice() else { panic!("{aci:?}") };
    assert_eq!((first.effect, first.rights), (Effect::Allow, Rights::ALL));
    assert_eq!((second.effect, second.rights), (Effect::Deny, [Right::Proxy, Right::ModDn].into_iter().collect()));
    assert!(!Rights::ALL.contains(Right::Import) && Rights::ALL.contains(Right::SelfWrite));
    accepted("(version 3.0;acl\"\";allow(read)userdn=\"ldap:///all\";)");
}

#[test]
fn rules_that_are_accepted() {
    for rule in [
        "not userdn=\"ldap:///all\"",
        "not not userdn=\"ldap:///all\"",
        "userdn=\"ldap:///all\" and not (ssf=\"0\")",
        "userdn=\"ldap:///all\" and not(ssf=\"0\")",
        "((userdn=\"ldap:///all\"))",
        "(not userdn=\"ldap:///all\")",
        "not (userdn=\"ldap:///all\")",
        "not(userdn=\"ldap:///all\")",
        "(userdn=\"ldap:///all\")and(ssf>=\"1\")",
        "userdn=\"ldap:///all\" AND ssf>=\"1\"",
        "userdn=\"ldap:///*\"",
        "userdn=\"ldap:///*,ou=People,dc=example\"",
        "userdn=\"ldap:///uid=*,**,ou=People,dc=example\"",
        "userdn=\"ldap:///uid=a*,dc=example\"",
        "userdn=\"ldap:///self || ldap:///all\"",
        "userdn=\"ldap:///\"",
        "userdn=\"ldap:///dc=example??sub?(|(uid=a*)(uid=b*))\"",
        "userdn!=\"ldap:///UID=Alice, ou=people,dc=example\"",
        "groupdn=\"ldap:///cn=a,dc=example || ldap:///cn=b,dc=example\"",
        "roledn=\"ldap:///cn=a,dc=example\"",
        "userattr=\"a#ROLEDN\"",
        "userattr=\"a#LDAPURL\"",
        "userattr=\"ou#Sales\"",
        "userattr=\"parent[0, 1,2].manager#USERDN\"",
        "userattr=\"parent[0,1,2,3,4,5,6,7,8,9].manager#GROUPDN\"",
        "userattr=\"ldap:///ou=Groups,dc=example?owner#GROUPDN\"",
        "userdnattr=\"manager\"",
        "groupdnattr=\"owner\"",
        "groupdnattr=\"ldap:///dc=example?owner\"",
        "ip=\"127.0.0.1\"",
        "ip=\"127.0.0.1, 10.0.0.0/8\"",
        "ip=\"127.0.0.*,192.0.2.0+255.255.255.0\"",
        "ip=\"2001:db8::/32,[::1],::ffff:127.0.0.1\"",
        "dns=\"a.example.com,*.example.com,a_b.com,*\"",
        "timeofday>=\"0000\" and timeofday<\"2359\"",
        "dayofweek=\"mon, Tue\"",
        "authmethod=\"none\"",
        "authmethod=\"LDAPI\"",
        "authmethod=\"sasl GSSAPI\"",
        "authmethod!=\"ssl\"",
        "ssf>\"0\"",
        "ssf!=\"1024\"",
    ] {
        accepted(&with_rule(rule));
    }
}

#[test]
fn rules_that_are_refused() {
    for rule in [
        "userdn=\"ldap:///all\" xor ssf=\"1\"",
        "userdn=\"ldap:///all\" ssf=\"1\"",
        "userdn=\"ldap:///all\" and",
        "userdn=\"ldap:///all\" and and ssf=\"1\"",
        "(userdn=\"ldap:///all\"",
        "userdn=\"ldap:///all\")",
        "()",
        "not",
        "userdn=\"ldap:///all\" || \"ldap:///self\"",
        "userdn=\"self\"",
        "userdn>\"ldap:///all\"",
        "userdn=\"\"",
        "userdn=ldap:///all",
        "userdn=\"ldap:///all || \"",
        "userdn=\"ldap://host/dc=example\"",
        "userdn=\"ldap:///dc=example??bad?\"",
        "userdn=\"ldap:///dc=example??sub?(cn=x\"",
        "userdn=\"ldap:///me\"",
        "groupdn=\"cn=a,dc=example\"",
        "groupdn=\"ldap:///a\"",
        "groupdn=\"ldap:///cn=a,dc=example??bad\"",
        "roledn=\"ldap:///a\"",
        "userattr=\"manager\"",
        "userattr=\"manager#\"",
        "userattr=\"#USERDN\"",
        "userattr=\"a#b#c\"",
        "userattr=\"a;lang-de#USERDN\"",
        "userattr=\"parent[x].manager#USERDN\"",
        "userattr=\"parent[].manager#USERDN\"",
        "userattr=\"parent[11].manager#USERDN\"",
        "userattr=\"parent[0,1.manager#USERDN\"",
        "userattr=\"parent[0,1,2,3,4,5,6,7,8,9,10].manager#USERDN\"",
        "userattr=\"ldap:///dc=example?manager#USERDN\"",
        "userattr=\"ldap:///dc=example#GROUPDN\"",
        "groupdnattr=\"ldap:///dc=example\"",
        "ip=\"127.*\"",
        "ip=\"*\"",
        "ip=\"*.*.*.*\"",
        "ip=\"127.0.0.1/33\"",
        "ip=\"::1/129\"",
        "ip=\"300.1.1.1\"",
        "ip=\"1.2.3\"",
        "ip=\"host.example.com\"",
        "ip=\"127.0.0.1,\"",
        "ip=\"127.0.0.1+24\"",
        "dns=\"a.*.com\"",
        "dns=\"a..com\"",
        "dns=\"a b\"",
        "timeofday=\"2400\"",
        "timeofday=\"800\"",
        "timeofday=\"1261\"",
        "timeofday=\"+800\"",
        "dayofweek=\"Monday\"",
        "dayofweek=\"mon,\"",
        "dayofweek=\"mon tue\"",
        "authmethod=\"sasl\"",
        "authmethod=\"sasl \"",
        "authmethod=\"saslGSSAPI\"",
        "authmethod=\"foo\"",
        "authmethod>\"ssl\"",
        "ssf=\"1025\"",
        "ssf=\"x\"",
        "ssf=\"-1\"",
        "ssf=\"99999999\"",
        "group=\"ldap:///cn=a\"",
    ] {
        refused(&with_rule(rule));
    }
}

#[test]
fn what_may_not_mean_what_was_meant_is_remarked() {
    let strict = |rule: &str| remarked(&with_rule(rule), Reading::Strict);
    let all = "userdn=\"ldap:///all\"";
    assert_eq!(strict("authmethod=\"sasl NOSUCH\""), [Remark::UnknownMechanism("NOSUCH".to_owned())]);
    assert_eq!(strict("userattr=\"parent[1].ou#Sales\""), [Remark::LevelsWithoutName]);
    assert_eq!(strict("groupdn=\"ldap:///cn=a,dc=b??sub?(cn=x)\""), [Remark::UrlPartsIgnored]);
    assert_eq!(strict("groupdn=\"ldap:///cn=*,dc=b\""), [Remark::NoWildcard]);
    assert_eq!(strict(&format!("{all} and {all} or {all}")), [Remark::MixedOperators]);
    assert_eq!(strict(&format!("{all} and ({all} or {all})")), []);
}

#[test]
fn operators_are_read_from_the_right_and_not_binds_tightest() {
    let a = "ssf=\"1\"";
    let b = "ssf=\"2\"";
    let c = "ssf=\"3\"";
    let same = |written: String, meant: String| {
        let read = parse_as(&with_rule(&written), Reading::Strict).unwrap().aci;
        assert_eq!(read, accepted(&with_rule(&meant)), "{written}");
    };
    same(format!("{a} and {b} or {c}"), format!("{a} and ({b} or {c})"));
    same(format!("{a} or {b} and {c}"), format!("{a} or ({b} and {c})"));
    same(format!("not {a} or {b}"), format!("(not {a}) or {b}"));
    same(format!("{a} and not {b} or {c}"), format!("{a} and ((not {b}) or {c})"));
    same(format!("({a} and {b}) and {c}"), format!("{a} and {b} and {c}"));
    let BindRule::And(parts) = rule(&format!("{a} and {b} and {c}")) else { panic!() };
    assert_eq!(parts.len(), 3);
    assert_ne!(rule(&format!("({a} and {b}) or {c}")), rule(&format!("{a} and ({b} or {c})")));
}

#[test]
fn the_parts_mean_what_they_say() {
    let aci = accepted(&with_targets(
        "(target!=\"ldap:///cn=a*b,*,**,dc=example\")(targetscope=\"subordinate\")(targetattr!=\"cn\")",
    ));
    let target = aci.targets.target.unwrap();
    assert!(target.negated);
    let DnPattern::Pattern(rdns) = target.value else { panic!() };
    assert_eq!(rdns[1..3], [RdnPattern::AnyRdn, RdnPattern::AnyRdns]);
    assert_eq!(aci.targets.scope.unwrap().value, TargetScope::Subordinate);
    let DnPattern::Exact(name) =
        accepted(&with_targets("(target=\"ldap:///cn=a%20b\\2a\")")).targets.target.unwrap().value
    else {
        panic!()
    };
    assert_eq!(name.as_str(), "cn=a b\\2a");
}

#[test]
fn conditions_mean_what_they_say() {
    let test = |text: &str| condition(text).test;
    assert!(condition("ssf!=\"3\"").negated);
    assert_eq!(
        test("timeofday<=\"0830\""),
        ConditionTest::TimeOfDay { comparison: Comparison::LessOrEqual, minutes: 510 }
    );
    let ConditionTest::DayOfWeek(days) = test("dayofweek=\"sat,sun\"") else { panic!() };
    assert_eq!(days.iter().collect::<Vec<_>>(), [0, 6]);
    assert_eq!(
        test("authmethod=\"SASL external\""),
        ConditionTest::AuthMethod(AuthMethod::Sasl("EXTERNAL".to_owned()))
    );
    let old = test("userdnattr=\"parent[1].manager\"");
    assert_eq!(old, test("userattr=\"parent[1].manager#userdn\""));
    let ConditionTest::UserAttr(attribute) = old else { panic!() };
    assert_eq!(attribute.kind, UserAttrKind::UserDn);
    assert_eq!(attribute.levels.unwrap().iter().collect::<Vec<_>>(), [1]);
    assert_eq!(test("groupdnattr=\"a\""), test("userattr=\"a#GROUPDN\""));
    let ConditionTest::Ip(ranges) = test("ip=\"127.0.0.*\"") else { panic!() };
    assert_eq!(ranges, [IpRange::v4(Ipv4Addr::LOCALHOST, Ipv4Addr::new(255, 255, 255, 0))]);
    let ConditionTest::Ip(ranges) = test("ip=\"::ffff:127.0.0.1\"") else { panic!() };
    assert!(ranges[0].contains(IpAddr::V4(Ipv4Addr::LOCALHOST)));
    let ConditionTest::UserDn(users) = test("userdn=\"ldap:///ANYONE || ldap:///dc=a??sub\"") else { panic!() };
    assert!(matches!(users.as_slice(), [UserDn::Anyone, UserDn::Url(_)]));
}

#[test]
fn every_part_knows_where_it_stands() {
    let text = "(targetattr = \"cn\")(version 3.0; acl \"a\"; deny (read) ssf=\"1\" and  ip = \"::1\" ;)";
    let aci = accepted(text);
    assert_eq!(aci.targets.attributes.unwrap().span.of(text), "targetattr = \"cn\"");
    assert_eq!(aci.permissions[0].span.of(text).trim(), "deny (read) ssf=\"1\" and  ip = \"::1\"");
    let conditions = aci.permissions[0].rule.conditions();
    let spans: Vec<&str> = conditions.iter().map(|condition| condition.span.of(text)).collect();
    assert_eq!(spans, ["ssf=\"1\"", "ip = \"::1\""]);
}

#[test]
fn a_mistake_is_named_with_its_place_and_what_may_stand_there() {
    let message = |text: &str| parse(text).unwrap_err().to_string();
    assert_eq!(
        message("(targettattr=\"cn\")(version 3.0; acl \"a\"; allow (read) userdn=\"ldap:///all\";)"),
        "at character 2: \"targettattr\" is not the keyword of a target, or version; did you mean targetattr, target?"
    );
    assert_eq!(
        message("(version 3.0; acl \"a\"; allow (reed) userdn=\"ldap:///all\";)"),
        "at character 31: \"reed\" is not a right; did you mean read?"
    );
    assert_eq!(
        message("(version 3.0; acl \"a\"; allow (read) userdn=\"ldap:///all\" ssf=\"1\";)"),
        "at character 58: found \"ssf\", expected and, or, or a semicolon after the bind rule"
    );
    assert_eq!(
        message("(version 3.0; acl \"a\"; allow (read) groupdn=\"ldap:///cn=a,dc\";)"),
        "at character 61: \"cn=a,dc\" is not a valid distinguished name: an equals sign is missing after the attribute \
         type"
    );
    assert_eq!(
        message("(version 3.0; acl \"a\"; allow (read) userdn=\"self\";)"),
        "at character 45: found \"self\", expected a URL of the form ldap:///DN"
    );
    assert_eq!(
        message("(version 3.0; acl \"a\"; allow (read) userdn=\"ldap:///everyone\";)"),
        "at character 53: \"everyone\" is not a valid value of userdn: after ldap:/// stands anyone (anonymous \
         clients, too), all (every authenticated user), self, parent or the name of an entry"
    );
    assert_eq!(
        message("(version 3.0; acl \"a\"; grant (read) userdn=\"ldap:///all\";)"),
        "at character 24: found \"grant\", expected allow or deny"
    );
    assert_eq!(
        message("(version 3.0; acl \"a\"; alow (read) userdn=\"ldap:///all\";)"),
        "at character 24: \"alow\" is not allow or deny; did you mean allow?"
    );
    assert_eq!(
        message("(targetattr=\"cn\")(version 3.0; acl \"zä\"; allow (reed) userdn=\"ldap:///all\";)"),
        "at character 49: \"reed\" is not a right; did you mean read?"
    );
    assert_eq!(
        message("(version 3.0; acl \"a\""),
        "at character 22: found the end of the text, expected a semicolon \
                                                       after the name"
    );
}

#[test]
fn the_place_of_a_mistake_is_shown_below_the_text() {
    let text = "(version 3.0; acl \"a\"; allow (reed) userdn=\"ldap:///all\";)";
    assert_eq!(
        parse(text).unwrap_err().marked(text),
        "(version 3.0; acl \"a\"; allow (reed) userdn=\"ldap:///all\";)\n                              ^"
    );
    let long = format!("{}(version 3.0;\nx)", "(targetattr=\"aä\")");
    let marked = parse(&long).unwrap_err().marked(&long);
    let (line, caret) = marked.split_once('\n').unwrap();
    assert_eq!(line.chars().nth(caret.chars().count() - 1), Some('a'), "{marked}");
}

#[test]
fn depth_and_length_are_bounded() {
    let nested = |levels: usize| with_rule(&format!("{}ssf=\"1\"{}", "(".repeat(levels), ")".repeat(levels)));
    accepted(&nested(64));
    assert_eq!(parse(&nested(65)).unwrap_err().fault, AciFault::TooDeep);
    assert_eq!(parse(&with_rule(&"(".repeat(50_000))).unwrap_err().fault, AciFault::TooDeep);
    assert_eq!(parse(&with_rule(&format!("{}ssf=\"1\"", "not ".repeat(64)))).unwrap_err().fault, AciFault::TooDeep);
    let flat = |parts: usize, operators: [&str; 2]| {
        (0..parts).map(|i| format!("ssf=\"1\" {} ", operators[i % 2])).collect::<String>() + "ssf=\"1\""
    };
    accepted(&with_rule(&flat(2_000, ["and", "and"])));
    assert_eq!(parse(&with_rule(&flat(100, ["and", "or"]))).unwrap_err().fault, AciFault::TooDeep);
    let long = with_rule(&flat(7_000, ["or", "or"]));
    assert!(long.len() > aci::BYTES_MAX);
    assert_eq!(parse(&long).unwrap_err().fault, AciFault::TooLong);
}
