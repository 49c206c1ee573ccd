//! Rights that change while a search runs: what is read afterwards is judged by the new ones. Each change is made
//! while the search pauses, with some entries sent and others still to come.

use std::ops::ControlFlow;

use config::default_indexes;
use ldap::client::{self, controls};
use ldap::controls::{PagedResults, SortKey};
use ldap::oids::control;
use ldap::{ControlBuf, Message, ModifyOperation, ResultCode as Code};

use super::fixture::{Asked, Collector, Fixture, decode, user};
use crate::Session;
use crate::search::sort::force_walk;
use crate::search::{EntryWriter, RequestTime, SearchDone};
use query::encode::{EncodeError, ShownEntry};

const BASE: &str = "dc=example,dc=com";
const PEOPLE: &str = "ou=People,dc=example,dc=com";
const GROUP: &str = "cn=staff,dc=example,dc=com";

/// Everybody may read everything.
const OPEN: &str = "(targetattr=\"* || +\")(version 3.0; acl \"open\"; allow (read,search) userdn=\"ldap:///all\";)";

/// One that is read long after the search was begun.
const LATE: &str = "uid=u350,ou=People,dc=example,dc=com";

/// What only newer instructions hide.
const SECRET: &str = "secret@example.com";

/// Ann (entry 2), and 400 people with names in descending order.
fn fixture(global: &[&str]) -> Fixture {
    let mut ldif = "dn: dc=example,dc=com\nobjectClass: domain\n\n\
        dn: uid=ann,dc=example,dc=com\nobjectClass: inetOrgPerson\nsn: Tree\n\n\
        dn: ou=People,dc=example,dc=com\nobjectClass: organizationalUnit\n\n\
        dn: ou=Closed,dc=example,dc=com\nobjectClass: organizationalUnit\n\n\
        dn: cn=staff,dc=example,dc=com\nobjectClass: groupOfNames\nmember: uid=ann,dc=example,dc=com\n\n"
        .to_owned();
    for at in 0..400 {
        ldif.push_str(&format!(
            "dn: uid=u{at},ou=People,dc=example,dc=com\nobjectClass: person\nobjectClass: inetOrgPerson\nsn: s{:03}\n\
             mail: open@example.com\n\n",
            999 - at
        ));
    }
    Fixture::with(&[BASE], default_indexes(), &ldif, |config| {
        config.access_control.global_acis = global.iter().map(|aci| (*aci).to_owned()).collect();
        config.global.size_limit = None;
        config.global.lookthrough_limit = None;
    })
}

/// Takes entries, and pauses once: then something changes.
struct Pausing<'c> {
    taken: Collector,
    change: Option<&'c dyn Fn()>,
    /// Entries that were taken before.
    before: usize,
}

impl EntryWriter for Pausing<'_> {
    fn entry(&mut self, entry: &ShownEntry<'_, '_>) -> Result<ControlFlow<()>, EncodeError> {
        self.taken.entry(entry)
    }

    fn reference(&mut self, urls: &[String]) -> ControlFlow<()> {
        self.taken.reference(urls)
    }

    fn cancelled(&self) -> bool {
        false
    }

    fn should_pause(&mut self) -> bool {
        self.change.is_some() && self.taken.written > 0
    }

    fn pause(&mut self) {
        if let Some(change) = self.change.take() {
            change();
            self.before = self.taken.written;
        }
    }
}

type Entries = Vec<(String, std::collections::BTreeMap<String, Vec<String>>)>;

/// What is sent before the change, and after it.
fn search(it: &mut Fixture, asked: &Asked<'_>, change: &dyn Fn(&Fixture)) -> (Entries, Entries, SearchDone) {
    let mut plan = it.plan(&Asked { identity: user(), ..clone(asked) });
    let mut worker = std::mem::take(&mut it.worker);
    let change = || change(it);
    let mut output = Pausing { taken: Collector::default(), change: Some(&change), before: 0 };
    let done = plan.run(&mut worker, &mut output);
    assert!(output.change.is_none(), "there was no pause: {}", done.result);
    let (mut before, _) = decode(&output.taken.bytes);
    let after = before.split_off(output.before);
    it.worker = worker;
    (before, after, done)
}

fn clone<'a>(asked: &Asked<'a>) -> Asked<'a> {
    Asked {
        attributes: asked.attributes,
        controls: asked.controls,
        scope: asked.scope,
        ..Asked::new(asked.base, asked.filter)
    }
}

fn modify(it: &Fixture, dn: &str, changes: &[(ModifyOperation, &str, &str)]) {
    let mut bytes = Vec::new();
    let changes = changes.iter().map(|(operation, name, value)| (*operation, name.as_bytes(), [value.as_bytes()]));
    client::modify(&mut bytes, 1, dn, changes, &[]);
    it.update(&Message::decode(&bytes).unwrap());
}

fn deny(attribute: &str) -> String {
    format!("(targetattr=\"{attribute}\")(version 3.0; acl \"hide\"; deny (read,search) userdn=\"ldap:///all\";)")
}

/// Content, and the instruction that hides it, in one update.
fn hide(attribute: &'static str) -> impl Fn(&Fixture) {
    move |it| {
        let hiding = deny(attribute);
        modify(it, LATE, &[(ModifyOperation::Replace, "mail", SECRET), (ModifyOperation::Add, "aci", &hiding)]);
    }
}

/// Whether something is told of the content.
fn tells(entries: &Entries) -> bool {
    entries.iter().any(|(_, attributes)| attributes.values().flatten().any(|value| value == SECRET))
}

#[test]
fn content_is_judged_by_the_instructions_that_came_with_it() {
    let person = "(targetfilter=\"(sn=*)\")(targetattr=\"* || +\")\
        (version 3.0; acl \"by entry\"; allow (read,search) userdn=\"ldap:///all\";)";
    for global in [OPEN, person] {
        let mut it = fixture(&[global]);
        let asked = Asked::new(PEOPLE, "(objectClass=person)");
        let (before, after, done) = search(&mut it, &asked, &hide("mail"));
        assert_eq!((before.len() + after.len(), done.result.code), (400, Code::SUCCESS), "{global}");
        let late = after.iter().find(|(dn, _)| dn == LATE).expect("it shows");
        assert_eq!((late.1.contains_key("mail"), tells(&after)), (false, false), "{global}");
        assert!(after.iter().filter(|(dn, _)| dn != LATE).all(|(_, attributes)| attributes.contains_key("mail")));
    }
}

#[test]
fn an_entry_that_is_hidden_meanwhile_is_not_sent() {
    let mut it = fixture(&[OPEN]);
    let (before, after, _) = search(&mut it, &Asked::new(PEOPLE, "(objectClass=person)"), &hide("* || +"));
    assert!(!after.iter().any(|(dn, _)| dn == LATE));
    assert_eq!(before.len() + after.len(), 399);
}

// The indexes answered this filter exactly, for whom it was planned.
#[test]
fn a_filter_tests_nothing_that_may_not_be_searched_any_more() {
    let mut it = fixture(&[OPEN]);
    let (before, after, _) = search(&mut it, &Asked::new(BASE, "(mail=open@example.com)"), &|it| {
        modify(it, LATE, &[(ModifyOperation::Add, "aci", &deny("mail"))]);
    });
    assert!(!after.iter().any(|(dn, _)| dn == LATE));
    assert_eq!(before.len() + after.len(), 399);
}

#[test]
fn who_leaves_a_group_sees_no_more() {
    let staff =
        format!("(targetattr=\"* || +\")(version 3.0; acl \"g\"; allow (read,search) groupdn=\"ldap:///{GROUP}\";)");
    let mut it = fixture(&[&staff]);
    let (before, after, done) = search(&mut it, &Asked::new(PEOPLE, "(objectClass=person)"), &|it| {
        modify(it, GROUP, &[(ModifyOperation::Replace, "member", BASE)]);
    });
    assert!(!before.is_empty());
    assert_eq!((after.len(), done.result.code), (0, Code::SUCCESS));
}

#[test]
fn who_loses_a_privilege_sees_no_more() {
    let ann = "uid=ann,dc=example,dc=com";
    let mut it = fixture(&[]);
    modify(&it, ann, &[(ModifyOperation::Add, "ds-privilege-name", "bypass-acl")]);
    let (before, after, _) = search(&mut it, &Asked::new(PEOPLE, "(objectClass=person)"), &|it| {
        modify(it, ann, &[(ModifyOperation::Delete, "ds-privilege-name", "bypass-acl")]);
    });
    assert!(!before.is_empty());
    assert_eq!(after.len(), 0);
}

// What was found out of the place of entries is of the moment before.
#[test]
fn entries_that_move_below_a_hidden_one_are_hidden() {
    let mut it = fixture(&[OPEN]);
    let closed = "ou=Closed,dc=example,dc=com";
    modify(&it, closed, &[(ModifyOperation::Add, "aci", &deny("* || +"))]);
    let (before, after, _) = search(&mut it, &Asked::new(PEOPLE, "(objectClass=person)"), &|it| {
        let mut bytes = Vec::new();
        client::modify_dn(&mut bytes, 1, PEOPLE, "ou=People", true, Some(closed), &[]);
        it.update(&Message::decode(&bytes).unwrap());
    });
    assert!(!before.is_empty());
    assert_eq!(after.len(), 0);
}

#[test]
fn an_order_tells_nothing_that_may_not_be_searched_any_more() {
    let sort = [controls::sort_request(&[SortKey { attribute: b"sn", ordering_rule: None, reverse: false }])];
    let numbers = |entries: &Entries| -> Vec<u32> {
        let number = |dn: &str| dn.split(',').next().and_then(|rdn| rdn[5..].parse().ok());
        entries.iter().filter_map(|(dn, _)| number(dn)).collect()
    };
    let walked = Asked { controls: &sort, attributes: &["1.1"], ..Asked::new(PEOPLE, "(objectClass=person)") };
    let mut it = fixture(&[OPEN]);
    force_walk(Some(true));
    let (before, after, done) = search(&mut it, &walked, &|it| {
        modify(it, BASE, &[(ModifyOperation::Add, "aci", &deny("sn"))]);
    });
    assert!(!before.is_empty() && numbers(&before).is_sorted_by(|a, b| a > b), "by name");
    assert_eq!((after.len(), done.result.code), (0, Code::INSUFFICIENT_ACCESS_RIGHTS));
    // Where some entries are hidden, the index is left, and the order goes on. The hidden one was sent before.
    let mut it = fixture(&[OPEN]);
    let (mut before, after, done) = search(&mut it, &walked, &hide("* || +"));
    force_walk(None);
    before.extend(after);
    assert_eq!((before.len(), done.result.code), (400, Code::SUCCESS), "each once");
    assert!(numbers(&before).is_sorted_by(|a, b| a > b));
}

// A search that waits for a thread keeps no snapshot.
#[test]
fn a_search_that_waited_is_run_with_the_rights_of_then() {
    for is_released in [true, false] {
        let mut it = fixture(&[OPEN]);
        let mut plan = it.plan(&Asked { identity: user(), ..Asked::new(PEOPLE, "(objectClass=person)") });
        if is_released {
            plan.release_snapshots();
        }
        hide("mail")(&it);
        let mut output = Collector::default();
        plan.run(&mut it.worker, &mut output);
        assert!(!tells(&decode(&output.bytes).0));
    }
}

// S2-08: each page is a request.
#[test]
fn each_page_is_judged_by_the_rights_of_then() {
    let mut it = fixture(&[OPEN]);
    let session = Session::of(user(), 1);
    let mut cookie = Vec::new();
    let mut page = |it: &mut Fixture, session: &Session| {
        let value = PagedResults { size: 200, cookie: &cookie }.encode();
        let controls = [ControlBuf::new(control::PAGED_RESULTS, Some(value))];
        let asked = Asked { controls: &controls, ..Asked::new(PEOPLE, "(objectClass=person)") };
        let found = it.search_in(session, &asked, RequestTime::now(), &mut Collector::default());
        let found = found.map_err(|done| done.result)?;
        let value = found.done.controls[0].value.clone();
        cookie = PagedResults::decode(value.as_deref()).unwrap().cookie.to_vec();
        Ok::<_, ldap::LdapResult>(found.entries)
    };
    assert_eq!(page(&mut it, &session).unwrap().len(), 200);
    hide("mail")(&it);
    let root = Session::of(super::fixture::root(), 1);
    assert_eq!(page(&mut it, &root).unwrap_err().code, Code::UNWILLING_TO_PERFORM, "a cookie of somebody else");
    let second = page(&mut it, &session).unwrap();
    assert!(second.iter().any(|(dn, _)| dn == LATE) && !tells(&second));
}
