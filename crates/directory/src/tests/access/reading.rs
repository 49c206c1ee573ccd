//! Who may search, read and compare.

use access::{AccessControl, AccessSettings, Right};
use query::rights::{Answer, ReadRight, ReadRights};

use super::bed::{AccessBed, BASE, aci, person};

const READ: &str = "allow (read,search,compare) userdn=\"ldap:///anyone\"";

// S0-06: without any instruction nobody but root reads anything.
#[test]
fn without_instructions_nobody_reads() {
    let bed = AccessBed::new(&[]);
    for who in ["", "alice"] {
        assert!(!bed.shows(who, &person("alice")), "{who:?}");
        assert!(!bed.may(who, Right::Read, &person("alice"), "cn"), "{who:?}");
    }
    let root = crate::Session::of(crate::update::tests::bed::root(), 1);
    assert!(bed.rights(&root).bypasses_acl());
}

#[test]
fn star_is_user_attributes_and_plus_operational_ones() {
    for (list, cn, operational) in [
        ("=\"*\"", true, false),
        ("=\"+\"", false, true),
        ("=\"* || +\"", true, true),
        ("=\"commonName\"", true, false),
        ("=\"2.5.4.3\"", true, false),
        // No subtypes: `name` does not cover cn.
        ("=\"name\"", false, false),
        ("!=\"sn\"", true, false),
        ("!=\"cn\"", false, false),
        ("!=\"entryUUID\"", false, false),
        ("!=\"modifyTimestamp\"", false, true),
        ("!=\"sn || modifyTimestamp\"", true, true),
        ("!=\"nosuchattribute\"", true, false),
        ("!=\"*\"", false, false),
        ("!=\"+\"", false, false),
        ("!=\"* || +\"", false, false),
    ] {
        let text = aci(&format!("(targetattr{list})"), READ);
        let bed = AccessBed::new(&[(BASE, &text)]);
        assert_eq!(bed.may("", Right::Read, &person("alice"), "cn"), cn, "{list}");
        assert_eq!(bed.may("", Right::Read, &person("alice"), "entryUUID"), operational, "{list}");
        assert_eq!(
            bed.shows("", &person("alice")),
            cn || operational || ["!=\"cn\"", "!=\"entryUUID\""].contains(&list),
            "{list}"
        );
    }
}

/// Tokens of second factors are for the server alone, whatever instructions say, and whoever bypasses them.
#[test]
fn nobody_reads_what_is_hidden() {
    const TOKEN: &str = "ds-pwp-one-time-password-token";
    let instructions = ["=\"*\"", "=\"+\"", "=\"ds-pwp-one-time-password-token\"", "!=\"cn || entryUUID\""]
        .map(|list| (BASE, aci(&format!("(targetattr{list})"), READ)));
    let bed = AccessBed::new(&instructions.each_ref().map(|(at, text)| (*at, text.as_str())));
    let root = crate::Session::of(crate::update::tests::bed::root(), 1);
    let facts = bed.facts();
    for session in [bed.session(""), bed.session("alice"), root] {
        for (right, reads) in
            [(Right::Read, ReadRight::Read), (Right::Search, ReadRight::Search), (Right::Compare, ReadRight::Compare)]
        {
            let allowed = |name: &str| {
                bed.look(&session, &person("alice"), |rights, entry| {
                    let attribute = bed.attribute(name);
                    let question = access::Question::attribute(right, attribute);
                    let answer = rights.of_type(&facts, reads, attribute);
                    (rights.may(&facts, entry, question).unwrap(), answer)
                })
            };
            assert_eq!(allowed(TOKEN), (false, Answer::No), "{right:?}");
            assert!(allowed("pwdChangedTime").0, "{right:?}");
        }
    }
}

#[test]
fn case_1_a_deny_above_beats_an_allow_below() {
    let people = format!("ou=People,{BASE}");
    let deny = aci("(targetattr=\"*\")", "deny (read) userdn=\"ldap:///anyone\"");
    let bed = AccessBed::new(&[(BASE, &deny), (&people, &aci("(targetattr=\"*\")", READ))]);
    assert!(!bed.shows("alice", &person("alice")));
    assert!(bed.may("alice", Right::Search, &person("alice"), "cn"), "only reading is denied");
}

#[test]
fn case_9_without_targetattr_an_instruction_is_about_the_entry() {
    let bed = AccessBed::new(&[(BASE, &aci("", "allow (all) userdn=\"ldap:///anyone\""))]);
    let alice = person("alice");
    assert!(!bed.shows("bob", &alice) && !bed.may("bob", Right::Compare, &alice, "cn"));
    assert!(!bed.may("bob", Right::Write, &alice, "cn"));
    assert!(bed.may_entry("bob", Right::Delete, &alice));
    assert!(bed.may_add_entry("bob", &format!("ou=People,{BASE}"), "cn=new", &[("cn", "new")]));
    // Case 17: `all` has no import and export.
    assert!(!bed.may_entry("bob", Right::Import, &alice) && !bed.may_entry("bob", Right::Export, &alice));
    assert!(!bed.may_entry("bob", Right::Proxy, &alice));
}

#[test]
fn a_deny_without_targetattr_hides_the_entry_but_not_compare_and_write() {
    let all = aci("(targetattr=\"*\")", "allow (all) userdn=\"ldap:///anyone\"");
    let bed = AccessBed::new(&[(BASE, &all), (&person("bob"), &aci("", "deny (all) userdn=\"ldap:///anyone\""))]);
    let bob = person("bob");
    assert!(bed.shows("alice", &person("alice")) && !bed.shows("alice", &bob));
    assert!(bed.may("alice", Right::Compare, &bob, "cn") && bed.may("alice", Right::Write, &bob, "cn"));
    assert!(!bed.may_entry("alice", Right::Delete, &bob));
}

#[test]
fn trap_4_a_deny_pair_denies_only_whom_it_names() {
    let two = aci(
        "(targetattr=\"*\")",
        "allow (read) userdn=\"ldap:///anyone\"; deny (read) userdn=\"ldap:///uid=bob,ou=People,dc=example,dc=com\"",
    );
    let bed = AccessBed::new(&[(BASE, &two)]);
    assert!(bed.shows("alice", &person("alice")) && bed.shows("", &person("alice")));
    assert!(!bed.shows("bob", &person("alice")));
}

#[test]
fn trap_5_an_attribute_that_is_denied_does_not_hide_the_entry() {
    let deny = aci("(targetattr=\"sn\")", "deny (all) userdn=\"ldap:///anyone\"");
    let bed = AccessBed::new(&[(BASE, &aci("", READ)), (BASE, &aci("(targetattr=\"cn\")", READ)), (BASE, &deny)]);
    assert!(bed.shows("", &person("alice")) && !bed.may("", Right::Read, &person("alice"), "sn"));
}

// Trap 1: what one entry of a search allows says nothing of the next.
#[test]
fn trap_1_each_entry_is_decided_by_itself() {
    let (people, other) = (format!("ou=People,{BASE}"), format!("ou=Other,{BASE}"));
    let bed = AccessBed::new(&[
        (&people, &aci("(targetattr=\"*\")", READ)),
        (&other, &aci("(targetattr=\"cn || objectClass\")", READ)),
    ]);
    let dave = format!("uid=dave,{other}");
    for _ in 0..2 {
        assert!(bed.may("", Right::Read, &person("alice"), "userPassword"));
        assert!(!bed.may("", Right::Read, &dave, "userPassword") && bed.may("", Right::Read, &dave, "cn"));
        assert!(!bed.shows("", BASE));
    }
}

#[test]
fn what_no_instruction_changes_below_the_base_is_certain() {
    let global = [
        aci("(targetattr!=\"userPassword\")", "allow (read,search,compare) userdn=\"ldap:///all\""),
        aci("(targetattr=\"userPassword\")", "allow (write) userdn=\"ldap:///self\""),
        aci("(target=\"ldap:///\")(targetscope=\"base\")(targetattr=\"*\")", READ),
        aci("(target=\"ldap:///cn=schema\")(targetattr=\"*\")", READ),
    ];
    let global: Vec<&str> = global.iter().map(String::as_str).collect();
    let bed = AccessBed::with_global(&global, &[]);
    let facts = bed.facts();
    let answers = |who: &str| {
        bed.look(&bed.session(who), BASE, |rights, _| {
            let of = |name: &str| rights.of_type(&facts, ReadRight::Read, bed.attribute(name));
            [of("cn"), of("userPassword"), of("entryUUID"), rights.shows_entries()]
        })
    };
    assert_eq!(answers("alice"), [Answer::Yes, Answer::No, Answer::No, Answer::Yes]);
    assert_eq!(answers(""), [Answer::No; 4]);
    // An instruction below that concerns somebody else changes nothing; one that concerns alice does.
    let people = format!("ou=People,{BASE}");
    let to = |who: &str| aci("(targetattr=\"cn\")", &format!("deny (read) userdn=\"ldap:///{}\"", person(who)));
    bed.add_value(&people, "aci", &to("bob"));
    assert_eq!(answers("alice")[0], Answer::Yes);
    bed.add_value(&people, "aci", &to("alice"));
    assert_eq!(answers("alice")[0], Answer::Ask);
    assert!(!bed.may("alice", Right::Read, &person("carol"), "cn"));
    assert!(bed.may("alice", Right::Read, &format!("uid=dave,ou=Other,{BASE}"), "cn"));
}

#[test]
fn instructions_that_are_not_valid_close_their_scope() {
    let all = aci("(targetattr=\"* || +\")", "allow (all) userdn=\"ldap:///anyone\"");
    let mut bed = AccessBed::new(&[(BASE, &all)]);
    assert!(bed.may("bob", Right::Write, &person("alice"), "cn"));
    let facts = bed.facts();
    // More instructions than an entry may hold count as one that is not valid, as a value of an older server does that
    // this language cannot read.
    let settings = AccessSettings { acis_per_entry_max: 1, ..AccessSettings::default() };
    bed.control = AccessControl::new(settings).unwrap();
    let people = format!("ou=People,{BASE}");
    bed.add_value(&people, "aci", &all);
    bed.add_value(&people, "aci", &aci("(targetattr=\"cn\")", READ));
    for right in [Right::Read, Right::Search, Right::Compare, Right::Write] {
        assert!(!bed.may("bob", right, &person("alice"), "cn"), "{right:?}");
    }
    assert!(!bed.shows("bob", &person("alice")) && !bed.may_entry("bob", Right::Delete, &person("alice")));
    assert!(bed.shows("bob", &format!("uid=dave,ou=Other,{BASE}")));
    let problems = bed.control.problems(&facts, &bed.bed.directory.reading).unwrap();
    assert_eq!(problems.len(), 1);
    assert_eq!((&*problems[0].holder, &*problems[0].why), (&*people, "it holds more than 1 instructions"));
}
