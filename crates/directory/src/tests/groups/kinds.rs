//! Each kind of group, each kind of question.

use ldap::{ModifyOperation, ResultCode};

use super::*;
use crate::search::tests::fixture::{root, user};

const PEOPLE: [&str; 5] = ["ann", "bob", "cid", "dan", "eve"];

fn static_groups() -> String {
    let lists = |attribute: &str, dns: &[String]| -> Vec<String> {
        dns.iter().map(|dn| format!("{attribute}: {dn}")).collect()
    };
    let inner = lists("member", &[person("ann"), person("bob")]);
    let middle = lists("uniqueMember", &[group("inner"), person("cid")]);
    let outer = lists(
        "member",
        &[group("middle").replace("ou=groups", "OU = Groups"), "cn=nobody,dc=example,dc=com".to_owned()],
    );
    let text = |lines: &[String]| lines.join("\n");
    let (inner, middle, outer) = (text(&inner), text(&middle), text(&outer));
    let people_in = format!("memberURL: ldap:///ou=people,{BASE}??one?(sn=dan)");
    let target = format!("ds-target-group-dn: {}", group("middle"));
    ldif(
        &PEOPLE,
        &[
            ("inner", "groupOfNames", &[&inner]),
            ("middle", "groupOfUniqueNames", &[&middle]),
            ("outer", "groupOfEntries", &[&outer]),
            ("dynamic", "groupOfURLs", &[&people_in, "memberURL: nonsense"]),
            ("about", "groupOfNames", &[&format!("member: {}", group("dynamic"))]),
            ("virtual", "groupOfUniqueNames", &["objectClass: ds-virtual-static-group", &target]),
            ("nogroup", "device", &["objectClass: extensibleObject", &format!("member: {}", person("eve"))]),
        ],
    )
}

// S2-06, S3-30
#[test]
fn groups_of_an_entry_are_direct_nested_dynamic_and_virtual() {
    let mut it = fixture(&static_groups());
    let told = notices(&it);
    for attribute in ["isMemberOf", "memberOf"] {
        let mut of = |uid: &str| groups_by(&mut it, &person(uid), attribute);
        assert_eq!(of("ann"), ["inner", "middle", "outer", "virtual"]);
        assert_eq!(of("cid"), ["middle", "outer", "virtual"]);
        assert_eq!(of("dan"), ["about", "dynamic"]);
        assert_eq!(of("eve"), [""; 0], "what lists her is no group");
        assert_eq!(groups_by(&mut it, &group("inner"), attribute), ["middle", "outer", "virtual"]);
    }
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("cn=dynamic,ou=groups") && told[0].contains("LDAP URL"), "{told:?}");
}

#[test]
fn filters_find_members_of_every_kind() {
    let mut it = fixture(&static_groups());
    let mut find = |filter: &str, names: &[&str]| {
        for attribute in ["isMemberOf", "memberOf", "memberOf:1.2.840.113556.1.4.1941:"] {
            let filter = filter.replace("@", attribute);
            assert_eq!(matching(&mut it, &filter), names, "{filter}");
        }
    };
    let of = |name: &str| format!("(@={})", group(name));
    find(&of("inner"), &["ann", "bob"]);
    find(&of("outer"), &["ann", "bob", "cid", "inner", "middle"]);
    find(&of("virtual"), &["ann", "bob", "cid", "inner"]);
    find(&of("dynamic"), &["dan"]);
    find(&of("about"), &["dan", "dynamic"]);
    find(&of("nogroup"), &[]);
    find(&of("missing"), &[]);
    find(&format!("(&(sn=*)(!{}))", of("middle")), &["dan", "eve"]);
    find(&format!("(|{}{}(uid=eve))", of("inner"), of("dynamic")), &["ann", "bob", "dan", "eve"]);
    find(&format!("(&{}(uid=bob))", of("outer")), &["bob"]);
    find(&format!("(&{}{})", of("outer"), of("inner")), &["ann", "bob"]);
    let everybody = ["ann", "bob", "cid", "dan", "dynamic", "inner", "middle"];
    assert_eq!(matching(&mut it, "(isMemberOf=*)"), everybody);
    assert_eq!(matching(&mut it, "(&(objectClass=person)(!(memberOf=*)))"), ["eve"]);
}

#[test]
fn a_filter_on_a_group_is_indexed() {
    let mut it = fixture(&static_groups());
    let filter = format!("(memberOf={})", group("outer"));
    let found = it.search(&Asked { identity: user(), ..Asked::new(BASE, &filter) }).unwrap();
    assert!(!found.done.unindexed);
    // Three people, two groups; the name that is nobody's is no candidate.
    assert_eq!((found.done.candidates, found.entries.len()), (5, 5));
    // What finds fewer decides: nobody's members are looked up.
    let filter = format!("(&(uid=eve)(memberOf={}))", group("outer"));
    assert_eq!(it.search(&Asked::new(BASE, &filter)).unwrap().done.candidates, 1);
}

#[test]
fn compares_know_groups() {
    let it = fixture(&static_groups());
    let compare = |dn: &str, attribute: &str, name: &str| it.compare(root(), dn, attribute, group(name).as_bytes());
    assert_eq!(compare(&person("ann"), "isMemberOf", "OUTER"), ResultCode::COMPARE_TRUE);
    assert_eq!(compare(&person("dan"), "memberOf", "about"), ResultCode::COMPARE_TRUE);
    assert_eq!(compare(&person("dan"), "memberOf", "outer"), ResultCode::COMPARE_FALSE);
    assert_eq!(compare(&person("eve"), "memberOf", "outer"), ResultCode::NO_SUCH_ATTRIBUTE);
}

#[test]
fn chains_follow_any_reference_with_an_equality_index() {
    let mut text = static_groups();
    for (uid, manager) in [("ann", "bob"), ("bob", "cid"), ("dan", "ann"), ("cid", "cid")] {
        let at = text.find(&format!("dn: {}\n", person(uid))).unwrap();
        let end = at + text[at..].find("\n\n").unwrap();
        text.insert_str(end, &format!("\nmanager: {}", person(manager)));
    }
    let indexes = || {
        let mut all = default_indexes();
        all.push(config::IndexConfig::new("manager", &[config::IndexKind::Equality]));
        all
    };
    let mut it = Fixture::new(&[BASE], indexes(), &text);
    let chain = |attribute: &str, dn: &str| format!("({attribute}:1.2.840.113556.1.4.1941:={dn})");
    assert_eq!(matching(&mut it, &chain("member", &person("ann"))), ["inner"], "middle lists by uniqueMember");
    assert_eq!(matching(&mut it, &chain("uniqueMember", &group("inner"))), ["middle"]);
    assert_eq!(matching(&mut it, &chain("manager", &person("cid"))), ["ann", "bob", "cid", "dan"]);
    assert_eq!(matching(&mut it, &chain("manager", &person("bob"))), ["ann", "dan"]);
    assert_eq!(
        matching(&mut it, &format!("(&(sn=*)(!{}))", chain("manager", &person("ann")))),
        ["ann", "bob", "cid", "eve"]
    );
    assert_eq!(matching(&mut it, &chain("manager", &person("dan"))), [""; 0]);
    // Nobody can follow an attribute that has no index, and so nobody matches the opposite either.
    let secretary = chain("secretary", &person("ann"));
    assert_eq!(matching(&mut it, &secretary), [""; 0]);
    assert_eq!(matching(&mut it, &format!("(!{secretary})")), [""; 0]);
    // No rule for texts.
    assert_eq!(matching(&mut it, "(!(cn:1.2.840.113556.1.4.1941:=ann))"), [""; 0]);
}

// S3-29
#[test]
fn circles_end_and_are_reported_once() {
    let refers = |name: &str| format!("member: {}", group(name));
    let text = ldif(
        &["ann"],
        &[
            ("a", "groupOfNames", &[&refers("b"), &format!("member: {}", person("ann"))]),
            ("b", "groupOfNames", &[&refers("c"), &format!("member: {}", person("ann"))]),
            ("c", "groupOfNames", &[&refers("a")]),
            ("self", "groupOfNames", &[&refers("self")]),
            // Two ways to one group are no circle.
            ("left", "groupOfNames", &[&refers("d")]),
            ("right", "groupOfNames", &[&refers("d")]),
            ("top", "groupOfNames", &[&refers("left"), &refers("right")]),
            ("d", "groupOfNames", &[]),
        ],
    );
    let mut it = fixture(&text);
    let told = notices(&it);
    for _ in 0..3 {
        assert_eq!(groups_by(&mut it, &group("d"), "memberOf"), ["left", "right", "top"]);
    }
    assert!(told.lock().unwrap().is_empty());
    for _ in 0..3 {
        assert_eq!(groups_by(&mut it, &person("ann"), "memberOf"), ["a", "b", "c"]);
        assert_eq!(groups_by(&mut it, &group("b"), "memberOf"), ["a", "b", "c"], "everybody is in all of them");
    }
    assert_eq!(matching(&mut it, &format!("(memberOf={})", group("c"))), ["a", "ann", "b", "c"]);
    {
        let told = told.lock().unwrap();
        assert_eq!(told.len(), 1, "{told:?}");
        for name in ["a", "b", "c"] {
            assert!(told[0].contains(&group(name)), "{told:?}");
        }
    }
    assert_eq!(groups_by(&mut it, &group("self"), "memberOf"), ["self"]);
    assert!(told.lock().unwrap()[1].contains(&format!("\"{0}\" in \"{0}\"", group("self"))));
}

#[test]
fn updates_count_at_once() {
    let mut it = fixture(&static_groups());
    modify(&it, &group("inner"), ModifyOperation::Add, "member", &person("eve"));
    assert_eq!(groups_by(&mut it, &person("eve"), "memberOf"), ["inner", "middle", "outer", "virtual"]);
    modify(&it, &group("middle"), ModifyOperation::Delete, "uniqueMember", &group("inner"));
    assert_eq!(groups_by(&mut it, &person("eve"), "memberOf"), ["inner"]);
    modify(&it, &person("eve"), ModifyOperation::Replace, "sn", "dan");
    assert_eq!(groups_by(&mut it, &person("eve"), "memberOf"), ["about", "dynamic", "inner"]);
    let mut bytes = Vec::new();
    client::modify_dn(&mut bytes, 1, &group("about"), "cn=renamed", true, None, &[]);
    it.update(&Message::decode(&bytes).unwrap());
    assert_eq!(groups_by(&mut it, &person("dan"), "isMemberOf"), ["dynamic", "renamed"]);
}

#[test]
fn groups_of_other_backends_count() {
    const OTHER: &str = "dc=example,dc=net";
    let mut text = static_groups();
    text.push_str("####\n");
    text.push_str(&format!(
        "dn: {OTHER}\nobjectClass: domain\ndc: example\n\n\
         dn: cn=far,{OTHER}\nobjectClass: groupOfNames\ncn: far\nmember: {}\nmember: {}\n\n\
         dn: cn=url,{OTHER}\nobjectClass: groupOfURLs\ncn: url\nmemberURL: ldap:///dc=com??sub?(uid=eve)\n\n",
        group("middle"),
        person("eve"),
    ));
    let mut it = Fixture::with(&[BASE], default_indexes(), &text, |config| {
        let second = second_backend(&config.backends[0], OTHER);
        config.backends.push(second);
    });
    assert_eq!(groups_by(&mut it, &person("ann"), "memberOf"), ["far", "inner", "middle", "outer", "virtual"]);
    assert_eq!(groups_by(&mut it, &person("eve"), "memberOf"), ["far", "url"]);
    assert_eq!(
        matching(&mut it, &format!("(memberOf=cn=far,{OTHER})")),
        ["ann", "bob", "cid", "eve", "inner", "middle"]
    );
    assert_eq!(matching(&mut it, &format!("(memberOf=cn=url,{OTHER})")), ["eve"]);
    let chain = format!("(member:1.2.840.113556.1.4.1941:={})", person("eve"));
    assert_eq!(short(it.dns(&Asked::new(OTHER, &chain))), ["far"]);
}

#[test]
fn without_indexes_the_groups_are_the_same() {
    let mut it = Fixture::new(&[BASE], Vec::new(), &static_groups());
    assert_eq!(groups_by(&mut it, &person("ann"), "memberOf"), ["inner", "middle", "outer", "virtual"]);
    assert_eq!(groups_by(&mut it, &person("dan"), "memberOf"), ["about", "dynamic"]);
    assert_eq!(matching(&mut it, &format!("(memberOf={})", group("outer"))), ["ann", "bob", "cid", "inner", "middle"]);
}

#[test]
fn the_plus_sign_asks_for_both_names_and_the_star_for_none() {
    let mut it = fixture(&static_groups());
    let base = person("ann");
    let mut ask = |attributes: &[&str]| {
        let found = it.search(&Asked { attributes, ..Asked::new(&base, "(objectClass=*)") }).unwrap();
        let entry = found.entries.into_iter().next().unwrap().1;
        let of = |name: &str| entry.get(name).map_or(0, Vec::len);
        (of("isMemberOf"), of("memberOf"))
    };
    assert_eq!(ask(&["+"]), (4, 4));
    assert_eq!(ask(&["*"]), (0, 0));
    assert_eq!(ask(&["ISMEMBEROF"]), (4, 0));
    // Nobody in no group has the attribute.
    let base = person("eve");
    let found = it.search(&Asked { attributes: &["memberOf"], ..Asked::new(&base, "(objectClass=*)") }).unwrap();
    assert!(found.entries[0].1.is_empty());
}

#[test]
fn a_url_that_asks_for_groups_describes_nobody() {
    let circular = format!("memberURL: ldap:///{BASE}??sub?(memberOf={})", group("odd"));
    let mut it = fixture(&ldif(&["ann"], &[("odd", "groupOfURLs", &[&circular])]));
    let told = notices(&it);
    assert_eq!(groups_by(&mut it, &person("ann"), "memberOf"), [""; 0]);
    assert_eq!(matching(&mut it, &format!("(memberOf={})", group("odd"))), [""; 0]);
    assert!(told.lock().unwrap()[0].contains("depend on itself"));
}

fn shown(name: &str) -> config::VirtualAttributeConfig {
    config::VirtualAttributeConfig {
        name: name.to_owned(),
        line: 1,
        column: 1,
        attribute: name.to_owned(),
        enabled: true,
        kind: config::VirtualAttributeKind::Member { allow_retrieving_membership: true },
    }
}

// S2-07
#[test]
fn groups_that_list_nobody_say_who_is_a_member() {
    let kind = config::VirtualAttributeKind::Member { allow_retrieving_membership: false };
    let asked = |name: &str| config::VirtualAttributeConfig { kind: kind.clone(), ..shown(name) };
    let mut it = Fixture::with(&[BASE], default_indexes(), &static_groups(), |config| {
        config.virtual_attributes.extend(["member", "uniqueMember"].map(asked));
    });
    let compare = |name: &str, attribute: &str, uid: &str| {
        it.compare(root(), &group(name), attribute, person(uid).to_uppercase().as_bytes())
    };
    assert_eq!(compare("dynamic", "member", "dan"), ResultCode::COMPARE_TRUE);
    assert_eq!(compare("dynamic", "uniqueMember", "ann"), ResultCode::COMPARE_FALSE);
    assert_eq!(compare("virtual", "uniqueMember", "ann"), ResultCode::COMPARE_TRUE);
    assert_eq!(compare("virtual", "uniqueMember", "dan"), ResultCode::COMPARE_FALSE);
    assert_eq!(compare("virtual", "member", "ann"), ResultCode::NO_SUCH_ATTRIBUTE);
    assert_eq!(compare("inner", "uniqueMember", "ann"), ResultCode::NO_SUCH_ATTRIBUTE);
    assert_eq!(matching(&mut it, &format!("(member={})", person("dan"))), ["dynamic"]);
    assert_eq!(matching(&mut it, &format!("(uniqueMember={})", person("cid"))), ["middle", "virtual"]);
    assert_eq!(matching(&mut it, &format!("(&(objectClass=groupOfURLs)(!(member={})))", person("ann"))), ["dynamic"]);
    // Without configuration only virtual static groups do, as in OpenDJ.
    let mut it = fixture(&static_groups());
    assert_eq!(matching(&mut it, &format!("(member={})", person("dan"))), [""; 0]);
    assert_eq!(matching(&mut it, &format!("(uniqueMember={})", person("cid"))), ["middle", "virtual"]);
    let compared = it.compare(root(), &group("dynamic"), "member", person("dan").as_bytes());
    assert_eq!(compared, ResultCode::NO_SUCH_ATTRIBUTE);
}

// S2-08
#[test]
fn members_of_dynamic_groups_are_shown_where_that_is_allowed() {
    let members = |it: &mut Fixture, name: &str, attributes: &[&str]| {
        let base = group(name);
        let found = it.search(&Asked { attributes, ..Asked::new(&base, "(objectClass=*)") }).unwrap();
        let entry = found.entries.into_iter().next().unwrap().1;
        let of = |name: &str| short(entry.get(name).cloned().unwrap_or_default());
        (of("member"), of("uniqueMember"))
    };
    let nobody: Vec<String> = Vec::new();
    let mut it = fixture(&static_groups());
    assert_eq!(members(&mut it, "dynamic", &["member"]), (nobody.clone(), nobody.clone()), "not by default");
    let mut it = Fixture::with(&[BASE], default_indexes(), &static_groups(), |config| {
        config.virtual_attributes.extend(["member", "uniqueMember"].map(shown));
    });
    let dan = vec!["dan".to_owned()];
    assert_eq!(members(&mut it, "dynamic", &["member"]), (dan.clone(), nobody.clone()));
    assert_eq!(members(&mut it, "dynamic", &["member", "uniqueMember"]), (dan.clone(), dan));
    assert_eq!(members(&mut it, "dynamic", &["*", "+"]), (nobody.clone(), nobody.clone()), "only by name: it costs");
    let target = vec!["cid".to_owned(), "inner".to_owned()];
    assert_eq!(members(&mut it, "virtual", &["uniqueMember", "member"]), (nobody.clone(), target));
    assert_eq!(members(&mut it, "inner", &["member"]).0, ["ann", "bob"], "what is listed is as it was");
}

// S2-08
#[test]
fn members_of_a_dynamic_group_take_the_right_to_read_them() {
    let url = format!("memberURL: ldap:///ou=people,{BASE}??one?(sn=dan)");
    let deny = |what: &str| format!("aci: {what}(version 3.0; acl \"no\"; deny (all) userdn=\"ldap:///all\";)");
    let denied = deny("(targetattr=\"member\")");
    let groups: [(&str, &str, &[&str]); 2] =
        [("open", "groupOfURLs", &[&url]), ("closed", "groupOfURLs", &[&url, &denied])];
    let mut it = Fixture::with(&[BASE], default_indexes(), &ldif(&PEOPLE, &groups), |config| {
        config.virtual_attributes.push(shown("member"));
    });
    let mut told = |identity: crate::Identity, name: &str, filter: &str| {
        let base = group(name);
        let found = it.search(&Asked { identity, attributes: &["member"], ..Asked::new(&base, filter) }).unwrap();
        found
            .entries
            .into_iter()
            .map(|(_, it)| short(it.get("member").cloned().unwrap_or_default()))
            .collect::<Vec<_>>()
    };
    let (dan, lists_dan) = (vec!["dan".to_owned()], format!("(member={})", person("dan")));
    for filter in ["(cn=*)", lists_dan.as_str()] {
        assert_eq!(told(user(), "open", filter), std::slice::from_ref(&dan), "{filter}");
        assert_eq!(told(root(), "closed", filter), std::slice::from_ref(&dan), "{filter}");
    }
    assert_eq!(told(user(), "closed", "(cn=*)"), [Vec::<String>::new()]);
    assert_eq!(told(user(), "closed", &lists_dan), Vec::<Vec<String>>::new());
}

// S2-08
#[test]
fn telling_members_has_the_limits_of_the_requester() {
    let mut it = Fixture::with(&[BASE], default_indexes(), &everybody_dynamic(), |config| {
        config.virtual_attributes.push(shown("member"));
        config.global.lookthrough_limit = Some(10);
    });
    let base = group("all");
    let mut ask = |identity| {
        it.search(&Asked { identity, attributes: &["member"], ..Asked::new(&base, "(objectClass=*)") }).unwrap()
    };
    let whole = ask(root());
    assert_eq!(whole.entries[0].1["member"].len(), 30);
    let cut = ask(user());
    assert_eq!(cut.done.result.code, ResultCode::ADMIN_LIMIT_EXCEEDED);
    assert!(cut.entries.is_empty(), "half a group is none");
}

/// Names of groups that do not show are told under no attribute.
// S0-07
#[test]
fn a_table_of_membership_names_groups_that_show() {
    let deny = "aci: (targetattr=\"* || +\")(version 3.0; acl \"no\"; deny (all) userdn=\"ldap:///all\";)";
    let listed = format!("roleOccupant: {}", person("ann"));
    let mut it = Fixture::with(
        &[BASE],
        default_indexes(),
        &ldif(
            &["ann"],
            &[("seen", "organizationalRole", &[&listed]), ("hidden", "organizationalRole", &[&listed, deny])],
        ),
        |config| {
            let text = "[virtual-attribute.x]\ntype = \"group-membership\"\nattribute-type = \"secretary\"\n\
                        group-class = \"organizationalRole\"\nmember-attribute = \"roleOccupant\"\n";
            let tables = config::Config::parse(text, std::path::Path::new("pando.toml")).unwrap();
            config.virtual_attributes = tables.virtual_attributes;
        },
    );
    let mut told = |identity: crate::Identity, filter: &str| {
        let asked = Asked { identity, attributes: &["secretary"], ..Asked::new(BASE, filter) };
        let found = it.search(&asked).unwrap().entries;
        found.into_iter().map(|(_, it)| short(it.get("secretary").cloned().unwrap_or_default())).collect::<Vec<_>>()
    };
    let [both, one] = [&["hidden", "seen"][..], &["seen"]].map(|names| names.iter().map(ToString::to_string).collect());
    assert_eq!(told(root(), "(uid=ann)"), [Vec::clone(&both)]);
    assert_eq!(told(user(), "(uid=ann)"), [Vec::clone(&one)]);
    let by_hidden = format!("(secretary={})", group("hidden"));
    assert_eq!(told(root(), &by_hidden), [both]);
    assert_eq!(told(user(), &by_hidden), Vec::<Vec<String>>::new());
    assert_eq!(told(user(), &format!("(secretary={})", group("seen"))), [one]);
}

fn everybody_dynamic() -> String {
    let people: Vec<String> = (0..30).map(|at| format!("p{at}")).collect();
    let people: Vec<&str> = people.iter().map(String::as_str).collect();
    let url = format!("memberURL: ldap:///{BASE}??sub?(objectClass=person)");
    ldif(&people, &[("all", "groupOfURLs", &[&url])])
}

#[test]
fn a_name_that_is_switched_off_is_nobodys() {
    let kind = config::VirtualAttributeKind::IsMemberOf;
    let off = config::VirtualAttributeConfig { enabled: false, kind, ..shown("memberOf") };
    let mut it =
        Fixture::with(&[BASE], default_indexes(), &static_groups(), |config| config.virtual_attributes.push(off));
    assert_eq!(groups_by(&mut it, &person("ann"), "memberOf"), [""; 0]);
    assert_eq!(groups_by(&mut it, &person("cid"), "isMemberOf"), ["middle", "outer", "virtual"]);
    assert_eq!(matching(&mut it, &format!("(memberOf={})", group("inner"))), [""; 0]);
    assert_eq!(matching(&mut it, &format!("(isMemberOf={})", group("inner"))), ["ann", "bob"]);
}
