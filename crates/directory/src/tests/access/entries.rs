//! Which entries instructions are about: target, scope, filter; and what is done with whole entries.

use access::Right;

use super::bed::{AccessBed, BASE, aci, person};

const ALL: &str = "allow (read) userdn=\"ldap:///anyone\"";

/// Which of the base entry, ou=People, bob and bob's child show.
fn shown(holder: &str, targets: &str) -> String {
    let mut bed = AccessBed::new(&[(holder, &aci(&format!("{targets}(targetattr=\"*\")"), ALL))]);
    let people = format!("ou=People,{BASE}");
    let child = format!("cn=sub,{}", person("bob"));
    bed.bed.add(&child, &[("objectClass", "device"), ("cn", "sub")]).ok();
    let letters = [("B", BASE), ("P", &people), ("b", &person("bob")), ("c", &child)];
    letters.map(|(letter, dn)| if bed.shows("", dn) { letter } else { "." }).concat()
}

#[test]
fn section_3_target_and_scope() {
    let people = format!("ou=People,{BASE}");
    let bob = person("bob");
    for (holder, targets, entries) in [
        (BASE, String::new(), "BPbc"),
        (&people, String::new(), ".Pbc"),
        (&bob, String::new(), "..bc"),
        (BASE, format!("(target=\"ldap:///{people}\")"), ".Pbc"),
        (BASE, format!("(target=\"ldap:///{bob}\")"), "..bc"),
        (BASE, format!("(target!=\"ldap:///{bob}\")"), "BP.."),
        (BASE, format!("(target!=\"ldap:///{people}\")"), "B..."),
        (BASE, format!("(target=\"ldap:///uid=b*,ou=People,{BASE}\")"), "..bc"),
        (BASE, format!("(target=\"ldap:///uid=*,{BASE}\")"), "...."),
        (BASE, format!("(target=\"ldap:///cn=*,**,ou=People,{BASE}\")"), "...c"),
        (BASE, format!("(target=\"ldap:///*,{BASE}\")"), ".Pbc"),
        (BASE, format!("(target!=\"ldap:///uid=b*,ou=People,{BASE}\")"), "BP.."),
        (BASE, "(targetscope=\"base\")".to_owned(), "B..."),
        (BASE, "(targetscope=\"onelevel\")".to_owned(), ".P.."),
        (BASE, "(targetscope=\"subordinate\")".to_owned(), ".Pbc"),
        (&bob, "(targetscope=\"base\")".to_owned(), "..b."),
        (BASE, format!("(target=\"ldap:///{people}\")(targetscope=\"onelevel\")"), "..b."),
        (BASE, format!("(target=\"ldap:///{people}\")(targetscope=\"base\")"), ".P.."),
        (BASE, format!("(target=\"ldap:///{bob}\")(targetscope=\"subordinate\")"), "...c"),
        (BASE, "(targetfilter=\"(uid=bob)\")".to_owned(), "..b."),
        (BASE, "(targetfilter=\"uid=bob\")".to_owned(), "..b."),
        (BASE, "(targetfilter!=\"(uid=bob)\")".to_owned(), "BP.c"),
        (BASE, "(targetfilter=\"(nosuch=x)\")".to_owned(), "...."),
        (BASE, "(targetfilter=\"(!(nosuch=x))\")".to_owned(), "BPbc"),
        (BASE, format!("(targetfilter=\"(entryDN={bob})\")"), "..b."),
        (BASE, "(targetfilter=\"(numSubordinates=1)\")".to_owned(), "..b."),
    ] {
        assert_eq!(shown(holder, &targets), entries, "{holder} {targets}");
    }
}

// Case 18: an entry that moves leaves the instructions above it, and takes its own along.
#[test]
fn case_17_a_move_needs_import_and_export() {
    let (people, other) = (format!("ou=People,{BASE}"), format!("ou=Other,{BASE}"));
    let import = aci("(targetscope=\"base\")", "allow (import) userdn=\"ldap:///all\"");
    let export = aci("", "allow (export) userdn=\"ldap:///all\"");
    let bed = AccessBed::new(&[(&other, &import)]);
    assert!(!bed.may_move("alice", &person("bob"), &other), "import alone");
    bed.add_value(&people, "aci", &export);
    assert!(bed.may_move("alice", &person("bob"), &other));
    assert!(!bed.may_move("alice", &format!("uid=dave,{other}"), &people));
    let bed = AccessBed::new(&[(BASE, &aci("", "allow (all) userdn=\"ldap:///all\""))]);
    assert!(!bed.may_move("alice", &person("bob"), &other), "all has no import and export");
}

// Section 5: as 389 Directory Server names moving.
#[test]
fn moddn_goes_by_from_and_to() {
    let other = format!("ou=Other,{BASE}");
    let text = aci(
        &format!("(target_from=\"ldap:///uid=*,ou=People,{BASE}\")(target_to=\"ldap:///{other}\")"),
        "allow (moddn) userdn=\"ldap:///all\"",
    );
    let bed = AccessBed::new(&[(BASE, &text)]);
    assert!(bed.may_move("alice", &person("bob"), &other));
    assert!(!bed.may_move("", &person("bob"), &other));
    assert!(!bed.may_move("alice", &format!("uid=dave,{other}"), &format!("ou=People,{BASE}")));
}

#[test]
fn case_14_what_a_new_entry_says_of_who_adds_it_is_undefined() {
    let people = format!("ou=People,{BASE}");
    let alice = person("alice");
    for (rule, may) in [
        ("userattr=\"manager#USERDN\"", false),
        ("not userattr=\"manager#USERDN\"", false),
        ("not userattr=\"parent[0,1].manager#USERDN\"", false),
        ("userattr=\"parent[1].seeAlso#USERDN\"", true),
        ("userattr=\"parent[0,1].seeAlso#USERDN\"", true),
    ] {
        let bed = AccessBed::new(&[(BASE, &aci("", &format!("allow (add) {rule}")))]);
        bed.add_value(&people, "seeAlso", &alice);
        bed.add_value(&person("bob"), "manager", &alice);
        assert_eq!(bed.may_add_entry("alice", &people, "cn=new", &[("cn", "new"), ("manager", &alice)]), may, "{rule}");
    }
    // Also where no entry could say so of who asks: bob is in no group, and an anonymous client is nobody.
    for rule in ["not userattr=\"parent[0].seeAlso#GROUPDN\"", "userattr!=\"manager#USERDN\""] {
        let bed = AccessBed::new(&[(BASE, &aci("", &format!("allow (add) {rule}")))]);
        assert!(!bed.may_add_entry("bob", &people, "cn=new", &[("cn", "new")]), "{rule}");
        assert!(!bed.may_add_entry("", &people, "cn=new", &[("cn", "new")]), "{rule}");
    }
    // Of entries that are there it is as false as before: alice does not have the value that bob has.
    let bed = AccessBed::new(&[(BASE, &aci("", "allow (add,delete) userattr!=\"l#north\""))]);
    bed.add_value(&person("bob"), "l", "north");
    assert!(bed.may_entry("alice", Right::Delete, &person("bob")));
    bed.add_value(&alice, "l", "north");
    assert!(!bed.may_entry("alice", Right::Delete, &person("bob")));
    // In a deny, undefined refuses.
    let deny = aci("", "deny (add) userattr=\"manager#USERDN\"");
    let everybody = aci("", "allow (add) userdn=\"ldap:///anyone\"");
    let bed = AccessBed::new(&[(BASE, &everybody), (&people, &deny)]);
    assert!(!bed.may_add_entry("", &people, "cn=new", &[("cn", "new")]));
    assert!(bed.may_add_entry("", BASE, "cn=new", &[("cn", "new")]));
    let bed = AccessBed::new(&[(BASE, &aci("", "allow (add) userdn=\"ldap:///all\"")), (&people, &deny)]);
    assert!(!bed.may_add_entry("alice", &people, "cn=new", &[("cn", "new")]));
    assert!(bed.may_add_entry("alice", BASE, "cn=new", &[("cn", "new")]));
}

// Section 3: add and delete ignore targetattr; targetfilter looks at the new entry.
#[test]
fn adding_looks_at_the_new_entry() {
    let people = format!("ou=People,{BASE}");
    let bed = AccessBed::new(&[(
        BASE,
        &aci("(targetattr=\"cn\")(targetfilter=\"(title=old)\")", "allow (add,delete) userdn=\"ldap:///all\""),
    )]);
    assert!(bed.may_add_entry("alice", &people, "cn=new", &[("cn", "new"), ("title", "old"), ("sn", "x")]));
    assert!(!bed.may_add_entry("alice", &people, "cn=new", &[("cn", "new"), ("title", "new")]));
    assert!(bed.may_entry("alice", Right::Delete, &person("bob")));
}
