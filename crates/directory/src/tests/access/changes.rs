//! What changes holds for the next request, and costs what changed.

use std::sync::Arc;

use access::{AccessSettings, Privilege, Right};
use query::facts::Facts;
use schema::Schema;

use super::bed::{AccessBed, BASE, aci, person};

const READ: &str = "allow (read) userdn=\"ldap:///all\"";

#[test]
fn instructions_hold_for_the_next_request() {
    let bed = AccessBed::new(&[]);
    let people = format!("ou=People,{BASE}");
    let text = aci("(targetattr=\"*\")", READ);
    let session = bed.session("alice");
    let facts = bed.facts();
    let question = access::Question::entry(Right::Read);
    let reads = |dn: &str| bed.look(&session, dn, |rights, entry| rights.may(&facts, entry, question).unwrap());
    assert!(!reads(&person("bob")));
    bed.add_value(&people, "aci", &text);
    assert!(reads(&person("bob")) && !reads(BASE));
    // What concerns nobody's rights does not make them anew.
    let kept = bed.rights(&session);
    bed.add_value(&person("bob"), "description", "x");
    assert!(Arc::ptr_eq(&kept, &bed.rights(&session)));
    bed.delete_value(&people, "aci", &text);
    assert!(!reads(&person("bob")));
}

// A client that binds for each search gets the rights of the session before.
#[test]
fn rights_are_kept_for_the_next_session_of_the_same_user() {
    let bed = AccessBed::new(&[]);
    let first = bed.rights(&bed.session("alice"));
    assert!(Arc::ptr_eq(&first, &bed.rights(&bed.session("alice"))));
    assert!(!Arc::ptr_eq(&first, &bed.rights(&bed.session("bob"))));
    let mut encrypted = bed.session("alice");
    encrypted.security_strength_bits = 128;
    assert!(!Arc::ptr_eq(&first, &bed.rights(&encrypted)));
}

#[test]
fn privileges_come_from_the_entry_and_act_at_once() {
    let bed = AccessBed::new(&[]);
    let session = bed.session("alice");
    let has = |privilege| bed.rights(&session).has(privilege);
    assert!(!has(Privilege::BypassAcl));
    bed.add_value(&person("alice"), "ds-privilege-name", "bypass-acl");
    bed.add_value(&person("alice"), "ds-privilege-name", "password-reset");
    assert!(has(Privilege::BypassAcl) && has(Privilege::PasswordReset) && !has(Privilege::ModifyAcl));
    assert!(bed.shows("alice", &person("bob")));
    bed.add_value(&person("alice"), "ds-privilege-name", "-bypass-acl");
    assert!(!has(Privilege::BypassAcl) && has(Privilege::PasswordReset));
    let root = crate::Session::of(crate::update::tests::bed::root(), 1);
    assert!(bed.rights(&root).has(Privilege::ModifyAcl) && !bed.rights(&root).has(Privilege::ProxiedAuth));
}

// Case 20: of a user who was deleted nothing is left on a connection that is there.
#[test]
fn case_20_who_was_deleted_is_nobody() {
    let bed = AccessBed::new(&[(BASE, &aci("(targetattr=\"*\")", READ))]);
    let session = bed.session("carol");
    let facts = bed.facts();
    let question = access::Question::entry(Right::Read);
    let reads = || bed.look(&session, BASE, |rights, entry| rights.may(&facts, entry, question).unwrap());
    assert!(reads());
    bed.bed.delete(&person("carol"), &[]).ok();
    assert!(!reads());
}

#[test]
fn controls_and_extended_operations_by_oid() {
    let global = [
        aci("(targetcontrol=\"1.2.3\")", "allow (read) userdn=\"ldap:///all\""),
        aci("(extop=\"9.8.7\")", "allow (read) userdn=\"ldap:///anyone\""),
    ];
    let people = format!("ou=People,{BASE}");
    let deny = aci("(targetcontrol=\"*\")", &format!("deny (read) userdn=\"ldap:///{}\"", person("bob")));
    let global: Vec<&str> = global.iter().map(String::as_str).collect();
    let bed = AccessBed::with_global(&global, &[(&people, &deny)]);
    let name = |dn: &str| schema::NormalizedDn::parse(&bed.facts().schema, dn.as_bytes()).unwrap();
    let may = |who: &str, oid: &str, dn: &str| bed.rights(&bed.session(who)).may_use_control(oid, &name(dn)).unwrap();
    assert!(may("alice", "1.2.3", &person("carol")) && may("alice", "1.2.3", "") && !may("", "1.2.3", ""));
    assert!(!may("alice", "1.2.4", BASE));
    assert!(may("bob", "1.2.3", BASE) && !may("bob", "1.2.3", &people) && !may("bob", "1.2.3", &person("none")));
    for who in ["", "alice"] {
        assert!(bed.rights(&bed.session(who)).may_use_extended("9.8.7").unwrap());
        assert!(!bed.rights(&bed.session(who)).may_use_extended("1.2.3").unwrap());
    }
    assert!(!bed.shows("alice", BASE), "an instruction about controls does nothing else");
}

// Writing one instruction of an entry says nothing of the others: they are as much in use as before.
#[test]
fn what_is_unchanged_of_a_holder_goes_on_counting() {
    let global = aci("(targetattr=\"uid\")", READ);
    let people = format!("ou=People,{BASE}");
    let allow = aci("(targetattr=\"title\")", READ);
    let deny = aci("(targetattr=\"title\")", "deny (read) userdn=\"ldap:///all\"");
    let bed = AccessBed::with_global(&[&global], &[(&people, &allow), (&people, &deny)]);
    let uses_under = |facts: &Arc<Facts>| {
        let uses = bed.control.uses(facts, &bed.bed.directory.reading).unwrap();
        uses.iter().map(|it| it.hits).collect::<Vec<u32>>()
    };
    let uses = || uses_under(&bed.facts());
    bed.may("alice", Right::Read, &person("bob"), "title");
    let before = uses();
    assert!(before.len() == 3 && before.iter().all(|hits| *hits > 0), "{before:?}");
    // The deny stands where the other stood, and behind it one that is new.
    bed.delete_value(&people, "aci", &allow);
    bed.add_value(&people, "aci", &aci("(targetattr=\"mail\")", READ));
    assert_eq!(uses(), [before[0], before[2], 0]);
    bed.delete_value(&people, "aci", &deny);
    assert_eq!(uses(), [before[0], 0]);
    bed.add_value(&people, "aci", &deny);
    assert_eq!(uses(), [before[0], 0, 0], "it was gone in between");
    let other = aci("(targetattr=\"cn\")", READ);
    let settings = AccessSettings { global_acis: vec![other, global], ..AccessSettings::default() };
    assert!(bed.control.set(settings).unwrap());
    assert_eq!(uses(), [0, before[0], 0, 0]);
    let facts = Arc::new(Facts::new(Schema::standard()));
    assert_eq!(uses_under(&facts), [0, before[0], 0, 0], "under another schema");
}
