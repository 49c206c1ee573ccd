//! Who may write which values.

use access::Right;

use super::bed::{AccessBed, BASE, aci, person};

const WRITE: &str = "allow (write) userdn=\"ldap:///all\"";

#[test]
fn case_22_targattrfilters() {
    let bob = person("bob");
    let filters = "(targattrfilters=\"add=description:(description=a*), del=description:(description=d*)\")";
    for (targets, sn) in [(filters.to_owned(), false), (format!("{filters}(targetattr=\"description || sn\")"), true)] {
        let bed = AccessBed::new(&[(BASE, &aci(&targets, WRITE))]);
        assert!(bed.may_add("alice", &bob, "description", "abc") && !bed.may_add("alice", &bob, "description", "xyz"));
        assert!(!bed.may_delete("alice", &bob, "description", "abc"));
        assert!(bed.may_delete("alice", &bob, "description", "d-x"));
        assert_eq!(bed.may_add("alice", &bob, "sn", "x"), sn, "{targets}");
        assert_eq!(bed.may_delete("alice", &bob, "sn", "x"), sn, "{targets}");
    }
    // With `add=` only, deleting goes by targetattr.
    let add = "(targattrfilters=\"add=description:(description=a*)\")";
    for (targets, delete) in [(add.to_owned(), false), (format!("{add}(targetattr=\"description\")"), true)] {
        let bed = AccessBed::new(&[(BASE, &aci(&targets, WRITE))]);
        assert_eq!(bed.may_delete("alice", &bob, "description", "zzz"), delete);
        assert!(!bed.may_add("alice", &bob, "description", "zzz"));
    }
    // In a deny, a value that matches is refused.
    let deny = aci("(targattrfilters=\"add=description:(description=bad*)\")", "deny (write) userdn=\"ldap:///all\"");
    let bed = AccessBed::new(&[(BASE, &aci("(targetattr=\"*\")", WRITE)), (BASE, &deny)]);
    assert!(!bed.may_add("alice", &bob, "description", "badly") && bed.may_add("alice", &bob, "description", "well"));
    assert!(bed.may_delete("alice", &bob, "description", "badly") && bed.may_add("alice", &bob, "sn", "bad"));
}

#[test]
fn targattrfilters_of_whole_entries() {
    let people = format!("ou=People,{BASE}");
    let targets = "(targattrfilters=\"add=title:(|(title=a*)(title=b*)), del=title:(title=d*)\")";
    let bed = AccessBed::new(&[(BASE, &aci(targets, "allow (add,delete) userdn=\"ldap:///all\""))]);
    let adds = |attributes: &[(&str, &str)]| bed.may_add_entry("alice", &people, "cn=new", attributes);
    assert!(adds(&[("cn", "new"), ("title", "boss")]) && adds(&[("cn", "new")]) && !adds(&[("title", "old")]));
    assert!(!bed.may_entry("alice", Right::Delete, &person("bob")), "its title is old");
    assert!(bed.may_entry("alice", Right::Delete, BASE), "it has no title");
}

#[test]
fn targattrfilters_limit_no_reading() {
    let all = aci("(targetattr=\"*\")", "allow (all) userdn=\"ldap:///all\"");
    let deny = aci("(targattrfilters=\"add=title:(title=b*)\")", "deny (all) userdn=\"ldap:///anyone\"");
    let bed = AccessBed::new(&[(BASE, &all), (BASE, &deny)]);
    let bob = person("bob");
    assert!(bed.may("alice", Right::Read, &bob, "cn") && bed.may_entry("alice", Right::Read, &bob));
    assert!(bed.may_add("alice", &bob, "title", "ant") && !bed.may_add("alice", &bob, "title", "boss"));
}

#[test]
fn case_12_and_13_selfwrite() {
    let inner = format!("cn=inner,ou=Groups,{BASE}");
    let (bob, carol) = (person("bob"), person("carol"));
    // 389's way: write is enough for the own name too.
    let bed = AccessBed::new(&[(BASE, &aci("(targetattr=\"member\")", WRITE))]);
    assert!(bed.may_add("bob", &inner, "member", &bob) && bed.may_add("bob", &inner, "member", &carol));
    let selfwrite = "allow (selfwrite) userdn=\"ldap:///all\"";
    let list = "(targetattr=\"member || uniqueMember || seeAlso || description\")";
    let bed = AccessBed::new(&[(BASE, &aci(list, selfwrite))]);
    assert!(bed.may_add("bob", &inner, "member", "UID=bob, ou=people,dc=example,dc=com"));
    assert!(bed.may_delete("bob", &inner, "member", &bob) && !bed.may_add("bob", &inner, "member", &carol));
    assert!(bed.may_add("bob", &inner, "seeAlso", &bob));
    assert!(!bed.may_add("bob", &inner, "uniqueMember", &bob), "its syntax is not that of names");
    assert!(!bed.may_add("bob", &inner, "description", &bob));
    assert!(!bed.may("bob", Right::Write, &inner, "member") && bed.may("bob", Right::SelfWrite, &inner, "member"));
}

#[test]
fn case_15_renaming_asks_for_writing_something() {
    let deny = aci("(targetattr=\"sn\")", "deny (write) userdn=\"ldap:///anyone\"");
    let bed = AccessBed::new(&[(BASE, &aci("(targetattr=\"uid\")", WRITE)), (BASE, &deny)]);
    assert!(bed.may_entry("alice", Right::Write, &person("bob")), "a deny of sn forbids no rename (389)");
    assert!(bed.may_add("alice", &person("bob"), "uid", "x") && !bed.may_add("alice", &person("bob"), "cn", "x"));
    let bed = AccessBed::new(&[(BASE, &aci("", WRITE))]);
    assert!(!bed.may_entry("alice", Right::Write, &person("bob")));
}
