//! Whom a bind rule is true of.

use std::net::IpAddr;

use access::{Authentication, Right};

use super::bed::{AccessBed, BASE, NOW, aci, person};

fn bed_with(rule: &str) -> AccessBed {
    AccessBed::new(&[(BASE, &aci("(targetattr=\"*\")", &format!("allow (read) {rule}")))])
}

/// Who of anonymous, alice, bob and carol reads bob's entry.
fn readers(rule: &str) -> String {
    let bed = bed_with(rule);
    let letters = ["", "alice", "bob", "carol"].map(|who| match bed.shows(who, &person("bob")) {
        true => who.chars().next().unwrap_or('-'),
        false => '.',
    });
    letters.iter().collect()
}

#[test]
fn section_4_userdn() {
    let alice = person("alice");
    for (rule, who) in [
        ("userdn=\"ldap:///anyone\"".to_owned(), "-abc"),
        ("userdn=\"ldap:///all\"".to_owned(), ".abc"),
        ("userdn=\"ldap:///self\"".to_owned(), "..b."),
        (format!("userdn=\"ldap:///{alice}\""), ".a.."),
        ("userdn=\"ldap:///UID=Alice, ou=people,dc=example,dc=com\"".to_owned(), ".a.."),
        ("userdn=\"ldap:///uid=*a*,ou=People,dc=example,dc=com\"".to_owned(), ".a.c"),
        ("userdn=\"ldap:///uid=*,dc=example,dc=com\"".to_owned(), "...."),
        ("userdn=\"ldap:///uid=*,**,dc=example,dc=com\"".to_owned(), ".abc"),
        (format!("userdn=\"ldap:///{alice} || ldap:///self\""), ".ab."),
        (format!("userdn=\"ldap:///{BASE}??sub?(uid=a*)\""), ".a.."),
        (format!("userdn=\"ldap:///{BASE}???(uid=a*)\""), "...."),
        // Case 25: negations are true of anonymous.
        (format!("userdn!=\"ldap:///{alice}\""), "-.bc"),
        ("not userdn=\"ldap:///all\"".to_owned(), "-..."),
        ("userdn!=\"ldap:///anyone\"".to_owned(), "...."),
    ] {
        assert_eq!(readers(&rule), who, "{rule}");
    }
}

#[test]
fn section_4_parent_is_whose_entry_is_the_parent() {
    let mut bed = bed_with("userdn=\"ldap:///parent\"");
    let child = format!("cn=pager,{}", person("alice"));
    bed.bed.add(&child, &[("objectClass", "device"), ("cn", "pager")]).ok();
    assert!(bed.shows("alice", &child) && !bed.shows("bob", &child) && !bed.shows("alice", &person("alice")));
}

#[test]
fn section_4_groupdn() {
    let group = |name: &str| format!("ldap:///cn={name},ou=Groups,{BASE}");
    for (rule, who) in [
        (format!("groupdn=\"{}\"", group("inner")), ".a.."),
        (format!("groupdn=\"{}\"", group("outer")), ".a.."),
        (format!("groupdn=\"{} || {}\"", group("none"), group("outer")), ".a.."),
        (format!("groupdn=\"{}\"", group("none")), "...."),
        (format!("groupdn!=\"{}\"", group("inner")), "-.bc"),
    ] {
        assert_eq!(readers(&rule), who, "{rule}");
    }
}

// Case 21 and 19: group, user and name are those of now, for sessions that are there.
#[test]
fn case_21_changes_of_groups_hold_at_once() {
    let inner = format!("cn=inner,ou=Groups,{BASE}");
    let mut bed = bed_with(&format!("groupdn=\"ldap:///cn=outer,ou=Groups,{BASE}\""));
    let session = bed.session("bob");
    let facts = bed.facts();
    let cn = bed.attribute("cn");
    let reads = |bed: &AccessBed| {
        let question = access::Question::attribute(Right::Read, cn);
        bed.look(&session, &person("carol"), |rights, entry| rights.may(&facts, entry, question).unwrap())
    };
    assert!(!reads(&bed));
    bed.add_value(&inner, "member", &person("bob"));
    assert!(reads(&bed));
    bed.delete_value(&inner, "member", &person("bob"));
    assert!(!reads(&bed));
    let dynamic = format!("cn=dynamic,ou=Groups,{BASE}");
    let url = format!("ldap:///{BASE}??sub?(title=boss)");
    bed.bed.add(&dynamic, &[("objectClass", "groupOfURLs"), ("cn", "dynamic"), ("memberURL", &url)]).ok();
    bed.add_value(&format!("cn=outer,ou=Groups,{BASE}"), "member", &dynamic);
    assert!(!reads(&bed));
    bed.add_value(&person("bob"), "title", "boss");
    assert!(reads(&bed));
}

#[test]
fn section_4_userattr() {
    let (alice, bob) = (person("alice"), person("bob"));
    for (rule, who) in [
        ("userattr=\"manager#USERDN\"", ".a.."),
        ("userattr=\"manager#userdn\"", ".a.."),
        ("userattr=\"seeAlso#GROUPDN\"", ".a.."),
        ("userattr=\"ldap:///ou=Groups,dc=example,dc=com?seeAlso#GROUPDN\"", ".a.."),
        ("userattr=\"ldap:///ou=People,dc=example,dc=com?seeAlso#GROUPDN\"", "...."),
        ("userattr=\"parent[1].seeAlso#USERDN\"", "...c"),
        ("userattr=\"parent[0,1].seeAlso#USERDN\"", "...c"),
        ("userattr=\"parent[2].seeAlso#USERDN\"", "...."),
        ("userattr=\"labeledURI#LDAPURL\"", ".a.."),
        ("userattr=\"title#OLD\"", ".abc"),
        ("userattr=\"title#other\"", "...."),
        ("userattr=\"nosuchattribute#USERDN\"", "...."),
        ("userattr!=\"manager#USERDN\"", "-.bc"),
        ("userdnattr=\"manager\"", ".a.."),
        ("groupdnattr=\"seeAlso\"", ".a.."),
    ] {
        let bed = bed_with(rule);
        bed.add_value(&bob, "manager", &alice);
        bed.add_value(&bob, "seeAlso", &format!("cn=outer,ou=Groups,{BASE}"));
        bed.add_value(&bob, "labeledURI", &format!("ldap:///{BASE}??sub?(uid=alice)"));
        bed.add_value(&format!("ou=People,{BASE}"), "seeAlso", &person("carol"));
        let found: String = ["", "alice", "bob", "carol"]
            .map(|it| if bed.shows(it, &bob) { it.chars().next().unwrap_or('-') } else { '.' })
            .iter()
            .collect();
        assert_eq!(found, who, "{rule}");
    }
}

#[test]
fn section_4_connection() {
    let yes = |rule: &str, set: &dyn Fn(&mut crate::Session)| {
        let bed = bed_with(rule);
        let mut session = bed.session("alice");
        set(&mut session);
        let facts = bed.facts();
        let question = access::Question::entry(Right::Read);
        bed.look(&session, &person("bob"), |rights, entry| rights.may(&facts, entry, question).unwrap())
    };
    let from = |address: &'static str| {
        move |session: &mut crate::Session| session.address = Some(address.parse::<IpAddr>().unwrap())
    };
    assert!(yes("ip=\"127.0.0.*\"", &from("127.0.0.1")) && !yes("ip=\"127.0.0.*\"", &from("127.0.1.1")));
    assert!(yes("ip=\"10.1.0.0/16\"", &from("::ffff:10.1.2.3")));
    assert!(!yes("ip=\"10.1.0.0/16\"", &|_| {}), "no address: a local socket");
    let named = |name: Option<&'static str>| move |session: &mut crate::Session| session.host_name.resolve(name);
    assert!(yes("dns=\"*.example.com\"", &named(Some("a.example.com."))));
    assert!(!yes("dns=\"*.example.com\"", &named(None)));
    // Not resolved yet: undefined, and so is its negation.
    assert!(!yes("dns=\"*.example.com\"", &|_| {}) && !yes("dns!=\"*.example.com\"", &|_| {}));
    assert!(yes("dns!=\"*.example.com\"", &named(Some("a.example.net"))));
    let by = |how: Authentication| move |session: &mut crate::Session| session.authentication = how.clone();
    assert!(yes("authmethod=\"simple\"", &by(Authentication::Simple)));
    assert!(yes("authmethod=\"none\"", &by(Authentication::Simple)), "none is always true");
    assert!(yes("authmethod=\"ssl\"", &by(Authentication::ClientCertificate)));
    assert!(yes("authmethod=\"sasl EXTERNAL\"", &by(Authentication::ClientCertificate)));
    assert!(!yes("authmethod=\"ssl\"", &by(Authentication::Simple)));
    assert!(yes("authmethod=\"sasl SCRAM-SHA-256\"", &by(Authentication::Sasl("SCRAM-SHA-256".into()))));
    let strong = |bits| move |session: &mut crate::Session| session.security_strength_bits = bits;
    assert!(yes("ssf>=\"128\"", &strong(128)) && !yes("ssf>=\"128\"", &strong(56)));
}

#[test]
fn section_4_time_is_the_local_time_of_the_server() {
    let local = jiff_minutes();
    let hhmm = |minutes: u16| format!("{:02}{:02}", minutes / 60, minutes % 60);
    for (rule, is) in [
        (format!("timeofday=\"{}\"", hhmm(local)), true),
        (format!("timeofday!=\"{}\"", hhmm(local)), false),
        (format!("timeofday>=\"{}\"", hhmm(local)), true),
        (format!("timeofday>\"{}\"", hhmm(local)), false),
        ("dayofweek=\"sun,mon,tue,wed,thu,fri,sat\"".to_owned(), true),
    ] {
        assert_eq!(bed_with(&rule).shows("alice", &person("bob")), is, "{rule}");
    }
    // The minute passes on a session that is there.
    let bed = bed_with(&format!("timeofday=\"{}\"", hhmm(local)));
    let session = bed.session("alice");
    let before = bed.rights_at(&session, NOW);
    assert!(std::sync::Arc::ptr_eq(&before, &bed.rights_at(&session, NOW + 3)));
    assert!(!std::sync::Arc::ptr_eq(&before, &bed.rights_at(&session, NOW + 4)), "12:35:00");
}

/// Minutes of the local day at [`NOW`].
fn jiff_minutes() -> u16 {
    let now = jiff::Timestamp::from_second(NOW).unwrap().to_zoned(jiff::tz::TimeZone::system());
    u16::try_from(i32::from(now.hour()) * 60 + i32::from(now.minute())).unwrap()
}

// Booleans are right-associative, on OpenDJ and on 389.
#[test]
fn section_4_booleans_are_right_associative() {
    let is = |who: &str| format!("userdn=\"ldap:///{}\"", person(who));
    let (alice, bob, carol) = (is("alice"), is("bob"), is("carol"));
    for (rule, who) in [
        (format!("{bob} and {carol} or {alice}"), "...."),
        (format!("{alice} or {bob} and {carol}"), ".a.."),
        (format!("({bob} and {carol}) or {alice}"), ".a.."),
        (format!("{alice} or {bob} or {carol}"), ".abc"),
        (format!("userdn=\"ldap:///all\" and not {alice}"), "..bc"),
        (format!("not (userdn=\"ldap:///self\" or {alice})"), "-..c"),
    ] {
        assert_eq!(readers(&rule), who, "{rule}");
    }
}
