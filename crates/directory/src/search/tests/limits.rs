//! Limits of whoever asks: from the entry, from a group, from the name, and what happens when these change.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use ldap::{ModifyOperation, ResultCode, Scope, client};

use super::fixture::*;
use crate::bind::{BindDone, BindStep};
use crate::search::{EntryWriter, RequestTime};
use crate::{Identity, Session};
use query::backend::BackendIndex;
use query::encode::{EncodeError, ShownEntry};

const BASE: &str = "dc=example,dc=com";

/// Ann (entry 2) is in the group that the configuration names; Bo carries limits.
fn ldif() -> String {
    let mut ldif = "dn: dc=example,dc=com\nobjectClass: domain\n\n\
        dn: uid=ann,dc=example,dc=com\nobjectClass: account\ndescription: same\nuserPassword: {CLEAR}secret\n\n\
        dn: uid=bo,dc=example,dc=com\nobjectClass: account\ndescription: same\nuserPassword: {CLEAR}secret\n\
        ds-rlim-size-limit: 2\nnsSizeLimit: 9\nnsLookThroughLimit: -1\n\n\
        dn: cn=staff,dc=example,dc=com\nobjectClass: groupOfUniqueNames\nuniqueMember: UID=Ann, dc=example,dc=com\n\n"
        .to_owned();
    for at in 0..10 {
        ldif.push_str(&format!("dn: uid=u{at},dc=example,dc=com\nobjectClass: account\ndescription: same\n\n"));
    }
    ldif
}

const RULES: &str = r#"
    [limits.staff]
    type = "group"
    group-dn = "cn=staff,dc=example,dc=com"
    size-limit = 4
    size-limit-hard = 6
    unindexed-search = true
    [limits.rest]
    type = "authenticated"
    size-limit-hard = 3
    unindexed-search = true
    lookthrough-limit = 8
"#;

/// Makes a search for all an unindexed one.
fn few_indexed(config: &mut config::Config) {
    config.backends[0].index_entry_limit = 5;
}

fn fixture() -> Fixture {
    let rules = config::Config::parse(RULES, std::path::Path::new("pando.toml")).unwrap().limits;
    Fixture::with(&[BASE], Vec::new(), &ldif(), |config| {
        few_indexed(config);
        config.limits = rules;
    })
}

/// A session and when it was bound.
fn bound(it: &Fixture, dn: &str) -> (Session, Instant) {
    let mut bytes = Vec::new();
    client::bind(&mut bytes, 1, dn, b"secret", &[]);
    let message = ldap::Message::decode(&bytes).unwrap();
    let ldap::Operation::Bind(request) = &message.operation else { panic!("no bind") };
    let step = it.directory.bind(&Session::anonymous(1), request, &message.controls, Instant::now());
    let BindStep::Done(BindDone { result, bound, .. }) = step else { panic!("slow") };
    assert!(result.is_success());
    let (mut session, now) = (Session::anonymous(1), Instant::now());
    session.take(bound, now);
    (session, now)
}

/// Entries and result of a search for all, so many milliseconds after the bind.
fn found(it: &mut Fixture, bound: &(Session, Instant), size_limit: u32, milliseconds: u64) -> (usize, ResultCode) {
    let asked = Asked { size_limit, ..Asked::new(BASE, "(description=same)") };
    let time = RequestTime { started: bound.1 + Duration::from_millis(milliseconds), ..RequestTime::now() };
    let found = it.search_in(&bound.0, &asked, time, &mut Collector::default()).unwrap();
    (found.entries.len(), found.done.result.code)
}

pub(super) fn modify(it: &Fixture, dn: &str, operation: ModifyOperation, attribute: &str, value: &str) {
    let mut bytes = Vec::new();
    let values = [value.as_bytes()];
    client::modify(&mut bytes, 1, dn, [(operation, attribute.as_bytes(), values)], &[]);
    it.update(&ldap::Message::decode(&bytes).unwrap());
}

// S2-03 S2-05
#[test]
fn group_rule_and_own_attributes_hold_from_the_bind_on() {
    let mut it = fixture();
    let exceeded = ResultCode::SIZE_LIMIT_EXCEEDED;
    let ann = bound(&it, "uid=ann,dc=example,dc=com");
    for (asked, entries) in [(0, 4), (3, 3), (5, 5), (6, 6), (100, 6)] {
        assert_eq!(found(&mut it, &ann, asked, 0), (entries, exceeded), "{asked}");
    }
    // The own size limit comes before the rule's and before Sun's name for it, the own lookthrough limit before the
    // rule's.
    let bo = bound(&it, "uid=bo,dc=example,dc=com");
    for (asked, entries) in [(0, 2), (1, 1), (100, 2)] {
        assert_eq!(found(&mut it, &bo, asked, 0), (entries, exceeded), "{asked}");
    }
    // The global limit is 1000: a hard limit alone is enough to lower it.
    let nobody_special = somebody_else();
    assert_eq!(found(&mut it, &nobody_special, 0, 0), (3, exceeded));
    assert_eq!(found(&mut it, &nobody_special, 2, 0), (2, exceeded));
    for (session, result) in [(&bo, ResultCode::SUCCESS), (&nobody_special, ResultCode::ADMIN_LIMIT_EXCEEDED)] {
        let last = Asked::new(BASE, "(uid=u9)");
        let found = it.search_in(&session.0, &last, RequestTime::now(), &mut Collector::default()).unwrap();
        assert_eq!(found.done.result.code, result, "after eight candidates");
    }
}

/// Somebody whose entry says nothing.
fn somebody_else() -> (Session, Instant) {
    let identity =
        Identity::User { dn: "uid=u0,dc=example,dc=com".into(), backend: BackendIndex(0), entry: store::EntryId(5) };
    (Session::of(identity, 1), Instant::now())
}

#[test]
fn filters_of_too_many_parts_are_refused_and_the_limit_is_live() {
    let mut it = fixture();
    let text = |parts: usize| format!("(|{})", "(uid=u1)".repeat(parts - 1));
    let ask = |it: &mut Fixture, identity: Identity, parts: usize, controls: &[ldap::ControlBuf]| {
        let text = text(parts);
        let asked = Asked { identity, controls, scope: Scope::BaseObject, ..Asked::new(BASE, &text) };
        it.search(&asked).map_or_else(|refused| refused.code, |found| found.done.result.code)
    };
    let (ok, refused) = (ResultCode::SUCCESS, ResultCode::ADMIN_LIMIT_EXCEEDED);
    assert_eq!(ask(&mut it, user(), 4096, &[]), ok);
    assert_eq!(ask(&mut it, user(), 4097, &[]), refused);
    assert_eq!(ask(&mut it, root(), 20_000, &[]), ok);
    // Filters of controls count too.
    let filter = ldap::filter::parse(&text(4097)).unwrap().as_ber().to_vec();
    let assertion =
        [ldap::ControlBuf { oid: ldap::oids::control::ASSERTION.into(), critical: true, value: Some(filter) }];
    assert_eq!(ask(&mut it, user(), 2, &assertion), refused);
    assert_eq!(ask(&mut it, root(), 2, &assertion), ResultCode::ASSERTION_FAILED);
    let changed = "[global]\nfilter-part-limit = 5\n\
                   [limits.staff]\ntype = \"dn\"\nuser-dn = \"uid=ann,dc=example,dc=com\"\nfilter-part-limit = 7\n";
    let config = config::Config::parse(changed, std::path::Path::new("pando.toml")).unwrap();
    assert!(it.directory.limits.set(&config, &it.directory.schema()).unwrap());
    for (identity, parts, code) in [
        (user(), 7, ok),
        (user(), 8, refused),
        (somebody_else().0.identity.clone(), 5, ok),
        (somebody_else().0.identity.clone(), 6, refused),
        (root(), 20_000, ok),
    ] {
        assert_eq!(ask(&mut it, identity, parts, &[]), code, "{parts}");
    }
}

// S2-03
#[test]
fn changes_reach_who_is_bound_within_a_second() {
    let mut it = fixture();
    let exceeded = ResultCode::SIZE_LIMIT_EXCEEDED;
    let ann = bound(&it, "uid=ann,dc=example,dc=com");
    assert_eq!(found(&mut it, &ann, 0, 0), (4, exceeded));
    modify(&it, "uid=ann,dc=example,dc=com", ModifyOperation::Replace, "ds-rlim-size-limit", "7");
    // Nothing is read for a search right after the last look.
    assert_eq!(found(&mut it, &ann, 0, 999), (4, exceeded));
    assert_eq!(found(&mut it, &ann, 0, 1000), (7, exceeded));
    modify(&it, "uid=ann,dc=example,dc=com", ModifyOperation::Replace, "ds-rlim-size-limit", "0");
    assert_eq!(found(&mut it, &ann, 0, 2000), (12, ResultCode::SUCCESS));
    let own = "uid=ann,dc=example,dc=com";
    modify(&it, own, ModifyOperation::Delete, "ds-rlim-size-limit", "0");
    assert_eq!(found(&mut it, &ann, 0, 3000), (4, exceeded), "the group's again");
    modify(&it, "cn=staff,dc=example,dc=com", ModifyOperation::Add, "uniqueMember", "uid=u0,dc=example,dc=com");
    modify(&it, "cn=staff,dc=example,dc=com", ModifyOperation::Delete, "uniqueMember", own);
    assert_eq!(found(&mut it, &ann, 0, 4000), (3, exceeded), "no longer in the group");
    let joined = somebody_else();
    assert_eq!(found(&mut it, &joined, 0, 0), (4, exceeded));
}

// S2-05
#[test]
fn another_configuration_holds_from_the_next_search_on() {
    let mut it = fixture();
    let exceeded = ResultCode::SIZE_LIMIT_EXCEEDED;
    let ann = bound(&it, "uid=ann,dc=example,dc=com");
    let root = (Session::of(root(), 1), Instant::now());
    assert_eq!(found(&mut it, &ann, 0, 0), (4, exceeded));
    assert_eq!(found(&mut it, &root, 0, 0), (12, ResultCode::SUCCESS));
    assert_eq!(it.directory.missing_limit_groups().unwrap(), []);
    let mut config = it.directory.config().clone();
    assert!(!it.directory.limits.set(&config, &it.directory.schema()).unwrap(), "the same");
    config.limits[0].size_limit = Some(5);
    config.limits[0].subject =
        config::LimitsSubject::Dn { dns: vec!["cn=Directory Manager".to_owned()], scope: config::DnScope::Base };
    assert!(it.directory.limits.set(&config, &it.directory.schema()).unwrap());
    // The same moment, so that nothing is read for its age.
    assert_eq!(found(&mut it, &ann, 0, 0), (3, exceeded), "the second rule now");
    assert_eq!(found(&mut it, &root, 0, 0), (5, exceeded));
    let missing = "cn=nobody,dc=example,dc=com";
    config.limits[1].subject = config::LimitsSubject::Group { dns: vec![missing.to_owned()] };
    assert!(it.directory.limits.set(&config, &it.directory.schema()).unwrap());
    assert_eq!(it.directory.missing_limit_groups().unwrap(), [("rest".to_owned(), missing.to_owned())]);
    config.limits[0].subject = config::LimitsSubject::Pattern("(a{9999}){9999}".to_owned());
    assert!(it.directory.limits.set(&config, &it.directory.schema()).is_err());
    assert_eq!(found(&mut it, &root, 0, 0), (5, exceeded), "a configuration that cannot be changes nothing");
    let nobody = it.directory.session(1, Instant::now());
    assert!(nobody.identity.is_anonymous() && nobody.idle_limit().is_none());
}

// S2-04
#[test]
fn anonymous_clients_get_few_entries_and_others_more() {
    let rules = r#"
        [limits.strangers]
        type = "anonymous"
        size-limit = 2
        unindexed-search = true
        [limits.members]
        type = "authenticated"
        unindexed-search = true
    "#;
    let rules = config::Config::parse(rules, std::path::Path::new("pando.toml")).unwrap().limits;
    let aci = r#"aci: (targetattr="*")(version 3.0; acl "x"; allow (read,search) userdn="ldap:///anyone";)"#;
    let ldif = ldif().replacen("objectClass: domain\n", &format!("objectClass: domain\n{aci}\n"), 1);
    let mut it = Fixture::with(&[BASE], Vec::new(), &ldif, |config| {
        few_indexed(config);
        config.limits = rules;
    });
    let nobody = (it.directory.session(1, Instant::now()), Instant::now());
    assert_eq!(found(&mut it, &nobody, 0, 0), (2, ResultCode::SIZE_LIMIT_EXCEEDED));
    assert_eq!(found(&mut it, &nobody, 100, 0), (2, ResultCode::SIZE_LIMIT_EXCEEDED));
    let ann = bound(&it, "uid=ann,dc=example,dc=com");
    assert_eq!(found(&mut it, &ann, 0, 0), (12, ResultCode::SUCCESS));
    // What does not show is none that is left out: the limit is no excess.
    let rest = "(targetfilter=\"(!(uid=u0))\")(targetattr=\"description\")";
    let hide = format!("{rest}(version 3.0; acl \"y\"; deny (search) userdn=\"ldap:///anyone\";)");
    modify(&it, BASE, ModifyOperation::Add, "aci", &hide);
    assert_eq!(found(&mut it, &nobody, 0, 0), (1, ResultCode::SUCCESS));
}

#[test]
fn without_a_rule_an_unindexed_search_is_refused() {
    let mut it = Fixture::with(&[BASE], Vec::new(), &ldif(), few_indexed);
    let ann = bound(&it, "uid=ann,dc=example,dc=com");
    let asked = Asked::new(BASE, "(description=same)");
    let refused = it.search_in(&ann.0, &asked, RequestTime::now(), &mut Collector::default()).unwrap_err();
    assert_eq!(refused.result.code, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
}

/// Pauses whenever it may, and lets something happen meanwhile.
struct Hesitant<'t> {
    bytes: Vec<u8>,
    pauses: usize,
    meanwhile: &'t mut dyn FnMut(usize),
}

impl EntryWriter for Hesitant<'_> {
    fn entry(&mut self, entry: &ShownEntry<'_, '_>) -> Result<ControlFlow<()>, EncodeError> {
        entry.put_message(7, &mut self.bytes)?;
        Ok(ControlFlow::Continue(()))
    }

    fn reference(&mut self, urls: &[String]) -> ControlFlow<()> {
        ldap::encode::search_reference(&mut self.bytes, 7, urls.iter().map(String::as_str), &[]);
        ControlFlow::Continue(())
    }

    fn cancelled(&self) -> bool {
        false
    }

    fn should_pause(&mut self) -> bool {
        true
    }

    fn pause(&mut self) {
        self.pauses += 1;
        (self.meanwhile)(self.pauses);
    }
}

/// Between its turns, and before the first, a search keeps nothing of the database; it goes on where it was, and sees
/// what has changed.
#[test]
fn a_search_that_waits_for_its_turn_holds_no_snapshot() {
    let mut ldif = "dn: dc=example,dc=com\nobjectClass: domain\n\n".to_owned();
    for at in 0..600 {
        ldif.push_str(&format!("dn: uid=u{at},dc=example,dc=com\nobjectClass: account\ndescription: same\n\n"));
    }
    let mut it = Fixture::with(&[BASE], Vec::new(), &ldif, few_indexed);
    let mut bytes = Vec::new();
    let filter = ldap::filter::parse("(description=same)").unwrap();
    let search = client::Search::new(BASE, Scope::WholeSubtree, &filter, &[]);
    client::search(&mut bytes, 7, &search, &[]);
    let message = ldap::Message::decode(&bytes).unwrap();
    let ldap::Operation::Search(request) = &message.operation else { panic!("not a search") };
    let root = Session::of(root(), 1);
    let time = RequestTime::now();
    let mut plan = it.directory.plan_search(&mut it.worker, &root, request, &message.controls, time).unwrap();
    let readers = |it: &Fixture| it.directory.backends()[0].store.stats().readers;
    assert_eq!(readers(&it), 1);
    plan.release_snapshots();
    assert_eq!(readers(&it), 0);
    let mut worker = std::mem::take(&mut it.worker);
    let mut meanwhile = |pauses: usize| {
        assert_eq!(readers(&it), 0);
        if pauses == 1 {
            modify(&it, "uid=u590,dc=example,dc=com", ModifyOperation::Replace, "description", "other");
        }
    };
    let mut output = Hesitant { bytes: Vec::new(), pauses: 0, meanwhile: &mut meanwhile };
    let done = plan.run(&mut worker, &mut output);
    assert!(done.unindexed && output.pauses >= 4, "{}", output.pauses);
    let (entries, _) = decode(&output.bytes);
    assert_eq!((entries.len(), done.entries_sent), (599, 599));
    assert!(entries.iter().all(|(dn, _)| dn != "uid=u590,dc=example,dc=com"));
}
