//! Which password policy is in force for an entry, and what it keeps of its account's state.

use std::sync::Arc;
use std::time::Duration;

use access::account_policy::PolicyFinder;
use accounts::{AccountState, LastLogin, Lock, Moment, PasswordPolicy, TimeFormat};
use config::{ConflictBehavior, GivenTo, VirtualAttributeConfig, VirtualAttributeKind, default_indexes};
use ldap::ModifyOperation;
use query::backend::BackendIndex;
use query::entry::{DnParts, EntryView};
use query::entry_place::EntryPlace;
use query::locate::locate;
use schema::NormalizedDn;

use crate::search::tests::fixture::Fixture;
use crate::tests::groups::modify;

const BASE: &str = "dc=example,dc=com";
const DEFAULT: &str = "cn=Default Password Policy,cn=Password Policies,cn=config";
const POINTER: &str = "ds-pwp-password-policy-dn";

/// A policy as a subentry of the base, then three people, one of them below ou=Sales.
fn ldif(specification: &str, says: &str) -> String {
    let person = |dn: &str, uid: &str| {
        format!("dn: uid={uid},{dn}\nobjectClass: inetOrgPerson\nuid: {uid}\ncn: {uid}\nsn: {uid}\nuserPassword: x\n\n")
    };
    let sales = format!("ou=Sales,{BASE}");
    format!(
        "dn: {BASE}\nobjectClass: domain\n\n\
         dn: {sales}\nobjectClass: organizationalUnit\nou: Sales\n\n\
         dn: cn=strict,{BASE}\nobjectClass: top\nobjectClass: subentry\nobjectClass: pwdPolicy\ncn: strict\n\
         subtreeSpecification: {specification}\npwdAttribute: userPassword\n{says}\n\
         {}{}{}",
        person(BASE, "ann"),
        person(&sales, "ben"),
        person(&sales, "cid"),
    )
}

fn fixture(specification: &str, says: &str) -> Fixture {
    Fixture::new(&[BASE], default_indexes(), &ldif(specification, says))
}

/// Calls `look` with the entry of that name.
fn with_entry<T>(it: &Fixture, dn: &str, look: impl FnOnce(EntryPlace, &EntryView<'_>, &store::Snapshot) -> T) -> T {
    let snapshot = it.directory.backends[0].store.snapshot().unwrap();
    let view = snapshot.view();
    let schema = it.directory.schema();
    let name = |dn: &str| NormalizedDn::parse(&schema, dn.as_bytes()).unwrap();
    let id = locate(&view, &name(BASE), name(dn).as_bytes()).unwrap().found().unwrap();
    let record = view.entry(id).unwrap().unwrap();
    let entry = EntryView { id, record: record.view().unwrap(), dn: DnParts::default(), source: &view };
    look(EntryPlace { backend: BackendIndex(0), id }, &entry, &snapshot)
}

fn policy(it: &Fixture, dn: &str) -> Arc<PasswordPolicy> {
    let facts = it.directory.facts();
    let finder = PolicyFinder { facts: &facts, context: &it.directory.reading };
    with_entry(it, dn, |place, entry, snapshot| finder.of_entry(place, &entry.record, snapshot).unwrap())
}

fn policies(it: &Fixture) -> [String; 3] {
    [format!("uid=ann,{BASE}"), format!("uid=ben,ou=Sales,{BASE}"), format!("uid=cid,ou=Sales,{BASE}")]
        .map(|dn| policy(it, &dn).dn.clone())
}

fn state(it: &Fixture, dn: &str, policy: &PasswordPolicy) -> AccountState {
    let facts = it.directory.facts();
    with_entry(it, dn, |_, entry, _| access::account_state::read(&facts, entry, policy).unwrap())
}

#[test]
fn a_subentry_holds_for_its_subtree_and_takes_the_rest_from_the_default() {
    let it = fixture(
        "{ base \"ou=Sales\", specificationFilter \"(!(uid=cid))\" }",
        "pwdMaxAge: 86400\npwdMaxFailure: 3\npwdMustChange: TRUE\npwdMaxIdle: 3600\n",
    );
    let strict = format!("cn=strict,{BASE}");
    assert_eq!(policies(&it), [DEFAULT, &strict, DEFAULT]);
    let ben = policy(&it, &format!("uid=ben,ou=Sales,{BASE}"));
    let default = it.directory.config().default_policy.clone();
    let expected = PasswordPolicy {
        dn: strict,
        max_password_age: Duration::from_secs(86_400),
        lockout_failure_count: 3,
        force_change_on_reset: true,
        idle_lockout_interval: Duration::from_secs(3_600),
        last_login: Some(LastLogin {
            attribute: "pwdLastSuccess".to_owned(),
            format: None,
            previous_formats: Vec::new(),
            precision: Duration::from_secs(360),
        }),
        ..PasswordPolicy::clone(&default)
    };
    assert_eq!(*ben, expected);
    assert_eq!(*policy(&it, &format!("uid=ann,{BASE}")), *default);
}

/// What is kept between binds is that of the moment: changes of a policy, of its reach and of names are seen at once.
#[test]
fn changes_of_a_policy_hold_from_the_next_look_on() {
    let it = fixture("{}", "pwdMaxFailure: 3\n");
    let (strict, ann) = (format!("cn=strict,{BASE}"), format!("uid=ann,{BASE}"));
    assert_eq!((policy(&it, &ann).dn.as_str(), policy(&it, &ann).lockout_failure_count), (strict.as_str(), 3));
    modify(&it, &strict, ModifyOperation::Replace, "pwdMaxFailure", "7");
    assert_eq!(policy(&it, &ann).lockout_failure_count, 7);
    modify(&it, &strict, ModifyOperation::Add, "pwdLockout", "FALSE");
    assert_eq!(policy(&it, &ann).lockout_failure_count, 0);
    modify(&it, &strict, ModifyOperation::Replace, "subtreeSpecification", "{ base \"ou=Sales\" }");
    assert_eq!(policies(&it), [DEFAULT, &strict, &strict]);
    // What is kept is not read again while only other entries change.
    let kept = || it.directory.reading.policies.set_of(BackendIndex(0), &it.directory.facts(), &snapshot(&it).view());
    let first = kept().unwrap();
    modify(&it, &ann, ModifyOperation::Replace, "description", "other");
    assert!(Arc::ptr_eq(&first, &kept().unwrap()));
}

fn snapshot(it: &Fixture) -> store::Snapshot {
    it.directory.backends[0].store.snapshot().unwrap()
}

#[test]
fn what_an_entry_names_goes_before_subentries() {
    let it = fixture("{}", "pwdMaxFailure: 3\n");
    let (strict, ann) = (format!("cn=strict,{BASE}"), format!("uid=ann,{BASE}"));
    for (pointer, found) in [
        (DEFAULT, DEFAULT),
        ("CN=default password policy, cn=password policies,cn=config", DEFAULT),
        (&strict, &strict),
        ("cn=nothing,dc=example,dc=com", DEFAULT),
        ("cn=nothing,cn=config", DEFAULT),
    ] {
        modify(&it, &ann, ModifyOperation::Replace, POINTER, pointer);
        assert_eq!(policies(&it), [found, &strict, &strict], "{pointer}");
    }
}

/// A policy that is no subentry holds for those that name it (as in slapd), by group through a virtual attribute too.
#[test]
fn a_policy_that_is_no_subentry_holds_for_whoever_names_it() {
    let group = format!("cn=staff,{BASE}");
    let plain = format!("cn=plain,{BASE}");
    let ldif = format!(
        "{}dn: {plain}\nobjectClass: device\nobjectClass: pwdPolicy\ncn: plain\npwdAttribute: 2.5.4.35\n\
         pwdMinAge: 9\n\n\
         dn: {group}\nobjectClass: groupOfNames\ncn: staff\nmember: uid=cid,ou=Sales,{BASE}\n\n",
        ldif("{ base \"ou=Nowhere\" }", "")
    );
    let table = VirtualAttributeConfig {
        name: "policy of staff".to_owned(),
        line: 1,
        column: 1,
        attribute: POINTER.to_owned(),
        enabled: true,
        kind: VirtualAttributeKind::UserDefined {
            values: vec![plain.clone()],
            given: Box::new(GivenTo {
                base_dns: Vec::new(),
                scope: ldap::Scope::WholeSubtree,
                group_dns: vec![group],
                filter: "(objectClass=*)".to_owned(),
                conflict: ConflictBehavior::RealOverridesVirtual,
            }),
        },
    };
    let it = Fixture::with(&[BASE], default_indexes(), &ldif, |config| config.virtual_attributes.push(table));
    assert_eq!(policies(&it), [DEFAULT, DEFAULT, &plain]);
    modify(&it, &format!("uid=ann,{BASE}"), ModifyOperation::Replace, POINTER, &plain);
    assert_eq!(policies(&it), [&plain, DEFAULT, &plain]);
    assert_eq!(policy(&it, &format!("uid=ann,{BASE}")).min_password_age, Duration::from_secs(9));
}

#[test]
fn a_state_is_read_from_all_its_attributes() {
    let ann = format!("uid=ann,{BASE}");
    let with = |more: &str| {
        let person = format!("dn: {ann}\nobjectClass: inetOrgPerson\nuid: ann\ncn: ann\nsn: ann\n");
        let ldif = format!("dn: {BASE}\nobjectClass: domain\n\n{person}{more}\n");
        Fixture::new(&[BASE], default_indexes(), &ldif)
    };
    let it = with(
        "createTimestamp: 20200101000000Z\npwdChangedTime: 20200102000000.5Z\nds-pwp-account-disabled: TRUE\n\
         pwdStartTime: 19690102000000Z\npwdEndTime: 20300101000000Z\nds-pwp-account-expiration-time: 2029010101+0100\n\
         pwdAccountLockedTime: 20200103000000Z\npwdFailureTime: 20200103000000.000001Z\n\
         pwdFailureTime: 20200103000001.250Z\npwdFailureTime: 20200102235959Z\n\
         pwdAccountTmpLockoutEnd: 20200103000007Z\npwdReset: TRUE\npwdGraceUseTime: 20200104000000Z\n\
         ds-pwp-warned-time: 20200105000000Z\nds-pwp-password-changed-by-required-time: 20200106000000Z\n\
         ds-pwp-last-login-time: 20200107\n",
    );
    let day = |day: u64| Moment(1_577_836_800_000 + (day - 1) * 86_400_000);
    let login = LastLogin {
        attribute: "ds-pwp-last-login-time".to_owned(),
        format: Some(TimeFormat::parse("yyyyMMddHHmmss'Z'").unwrap()),
        previous_formats: vec![TimeFormat::parse("yyyyMMdd").unwrap()],
        precision: Duration::ZERO,
    };
    let policy = PasswordPolicy { last_login: Some(login), ..PasswordPolicy::default() };
    let expected = AccountState {
        created: Some(day(1)),
        password_changed: Some(Moment(day(2).0 + 500)),
        is_disabled: true,
        start: Some(Moment(0)),
        end: Some(Moment(1_861_920_000_000)),
        lock: Some(Lock::Since(day(3))),
        failures: vec![Moment(day(3).0 - 1_000), day(3), Moment(day(3).0 + 1_250)],
        delayed_until: Some(Moment(day(3).0 + 7_000)),
        must_change: true,
        grace_uses: vec![day(4)],
        warned: Some(day(5)),
        met_deadline: Some(day(6)),
        last_login: Some(day(7)),
    };
    assert_eq!(state(&it, &ann, &policy), expected);
    let without_login = PasswordPolicy::default();
    assert_eq!(state(&it, &ann, &without_login), AccountState { last_login: None, ..expected });
    let it = with("createTimestamp: 20200101000000Z\npwdAccountLockedTime: 000001010000Z\nnsAccountLock: false\n");
    let locked = AccountState { created: Some(day(1)), lock: Some(Lock::UntilUnlocked), ..AccountState::default() };
    assert_eq!(state(&it, &ann, &without_login), locked);
}
