//! Which password policy is in force for an entry, and what it keeps of its account's state.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use access::account_policy::PolicyFinder;
use accounts::second_factor::Tokens;
use accounts::{AccountState, LastLogin, Lock, Moment, PasswordPolicy, QualityCheck, TimeFormat, ValidatorRule};
use config::{
    Applier, Config, ConflictBehavior, GivenTo, PasswordValidator, VirtualAttributeConfig, VirtualAttributeKind,
    default_indexes,
};
use ldap::{ControlBuf, Message, ModifyOperation, ResultCode};
use query::backend::BackendIndex;
use query::entry::{DnParts, EntryView};
use query::entry_place::EntryPlace;
use query::locate::locate;
use schema::NormalizedDn;

use crate::search::tests::fixture::{Asked, Fixture, root};
use crate::tests::computed::{matching, of};
use crate::tests::groups::modify;
use crate::update::tests::bed::modify_message;

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
    let replace = |value: &str| {
        let bytes = modify_message(&ann, &[(ModifyOperation::Replace, POINTER, value)], &[]);
        it.try_update(&Message::decode(&bytes).unwrap())
    };
    for (pointer, found) in [
        (DEFAULT, DEFAULT),
        ("CN=default password policy, cn=password policies,cn=config", DEFAULT),
        (&strict, &strict),
    ] {
        assert_eq!(replace(pointer).code, ResultCode::SUCCESS, "{pointer}");
        assert_eq!(policies(&it), [found, &strict, &strict], "{pointer}");
    }
    // A name of nothing is refused; one that is there means the default.
    for pointer in ["cn=nothing,dc=example,dc=com", "cn=nothing,cn=config", &ann] {
        let refused = replace(pointer);
        assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION, "{pointer}");
        assert!(refused.message.starts_with(&format!("\"{pointer}\" is no password policy: ")), "{}", refused.message);
    }
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = Arc::clone(&told);
    it.directory.set_notices(Box::new(move |_, sentence| tell.lock().unwrap().push(sentence.to_owned())));
    let ben = format!("uid=ben,ou=Sales,{BASE}");
    modify(&it, &ben, ModifyOperation::Replace, POINTER, &strict);
    let mut delete = Vec::new();
    ldap::client::delete(&mut delete, 1, &strict, &[]);
    it.update(&Message::decode(&delete).unwrap());
    assert_eq!(policies(&it), [DEFAULT; 3]);
    // An administrator is told of one of the entries, and once.
    let sentence = format!(
        "\"{ann}\" has in {POINTER} \"{strict}\", which is no password policy: the default holds for it, and for all \
         others that have it"
    );
    assert_eq!(*told.lock().unwrap(), [sentence]);
}

/// A value that is not valid is refused when it is written; one that came by import is as the default says.
#[test]
fn a_policy_that_contradicts_itself_is_refused() {
    let it = fixture("{}", "pwdMaxAge: 864000\n");
    let strict = format!("cn=strict,{BASE}");
    for (attribute, value, told) in [
        ("pwdMinAge", "-1", "has in pwdMinAge \"-1\", which is not a number from 0 to 2147483647"),
        ("pwdMaxFailure", "4294967296", "has in pwdMaxFailure \"4294967296\", which is not a number from 0"),
        ("pwdMinAge", "864000", "has a pwdMaxAge of 864000, which is not more than pwdMinAge and pwdExpireWarning"),
        ("pwdCheckQuality", "3", "has in pwdCheckQuality 3, which is not 0, 1 or 2"),
        ("pwdAttribute", "authPassword", "names in pwdAttribute \"authPassword\", but passwords are kept in"),
        ("subtreeSpecification", "{ specificationFilter \"(nosuch=1)\" }", "has a specificationFilter with"),
    ] {
        let bytes = modify_message(&strict, &[(ModifyOperation::Replace, attribute, value)], &[]);
        let refused = it.try_update(&Message::decode(&bytes).unwrap());
        assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION, "{attribute}: {}", refused.message);
        assert!(refused.message.starts_with(&format!("The password policy {told}")), "{}", refused.message);
    }
    let it = fixture("{}", "pwdMinAge: -1\npwdMaxFailure: 4\npwdMinLength: 9\n");
    let policy = policy(&it, &format!("uid=ann,{BASE}"));
    assert_eq!((policy.min_password_age, policy.lockout_failure_count), (Duration::ZERO, 4));
    assert_eq!(policy.validators, [ValidatorRule::Length { min: 9, max: 0 }]);
}

/// Every attribute that an entry of the class `pwdPolicy` can have does something.
#[test]
fn every_attribute_of_a_policy_has_an_effect() {
    type Effect = (&'static str, &'static str, fn(&mut PasswordPolicy));
    let effects: [Effect; 20] = [
        ("pwdMinAge", "9", |it| it.min_password_age = Duration::from_secs(9)),
        ("pwdMaxAge", "864009", |it| it.max_password_age = Duration::from_secs(864_009)),
        ("pwdInHistory", "9", |it| it.password_history_count = 9),
        ("pwdCheckQuality", "0", |it| it.quality_check = QualityCheck::Never),
        ("pwdMinLength", "9", |it| it.validators = vec![ValidatorRule::Length { min: 9, max: 0 }]),
        ("pwdMaxLength", "9", |it| it.validators = vec![ValidatorRule::Length { min: 0, max: 9 }]),
        ("pwdExpireWarning", "9", |it| it.password_expiration_warning_interval = Duration::from_secs(9)),
        ("pwdGraceAuthNLimit", "9", |it| it.grace_login_count = 9),
        ("pwdGraceExpiry", "9", |it| it.grace_login_interval = Duration::from_secs(9)),
        ("pwdLockout", "FALSE", |it| it.lockout_failure_count = 0),
        ("pwdLockoutDuration", "9", |it| it.lockout_duration = Duration::from_secs(9)),
        ("pwdMaxFailure", "9", |it| it.lockout_failure_count = 9),
        ("pwdFailureCountInterval", "9", |it| it.lockout_failure_expiration_interval = Duration::from_secs(9)),
        ("pwdMaxRecordedFailure", "9", |it| it.recorded_failures = 9),
        ("pwdMustChange", "TRUE", |it| it.force_change_on_reset = true),
        ("pwdAllowUserChange", "FALSE", |it| it.allow_user_password_changes = false),
        ("pwdSafeModify", "TRUE", |it| it.password_change_requires_current_password = true),
        ("pwdMinDelay", "9", |it| it.min_delay = Duration::from_secs(9)),
        ("pwdMaxDelay", "9", |it| it.max_delay = Duration::from_secs(9)),
        ("pwdMaxIdle", "9", |it| {
            it.idle_lockout_interval = Duration::from_secs(9);
            it.last_login = Some(LastLogin {
                attribute: "pwdLastSuccess".to_owned(),
                format: None,
                previous_formats: Vec::new(),
                precision: Duration::from_millis(900),
            });
        }),
    ];
    let it = Fixture::with(&[BASE], default_indexes(), &ldif("{}", ""), |config| {
        config.default_policy = Arc::new(PasswordPolicy { lockout_failure_count: 4, ..PasswordPolicy::default() });
    });
    let (strict, ann) = (format!("cn=strict,{BASE}"), format!("uid=ann,{BASE}"));
    let schema = it.directory.schema();
    let class = schema.object_class(b"pwdPolicy").unwrap();
    let name = |index: &schema::TypeIndex| schema.attribute_by_index(*index).unwrap().name().to_owned();
    let mut all: Vec<String> = class.must.iter().chain(class.may.iter()).map(name).collect();
    all.retain(|name| !matches!(name.as_str(), "objectClass" | "pwdAttribute"));
    let mut tested: Vec<&str> = effects.iter().map(|effect| effect.0).collect();
    all.sort_unstable();
    tested.sort_unstable();
    assert_eq!(all, tested, "pwdAttribute is refused if it is not userPassword (another test)");
    let before = policy(&it, &ann);
    for (attribute, value, change) in effects {
        let mut expected = PasswordPolicy::clone(&before);
        change(&mut expected);
        assert_ne!(expected, *before, "{attribute}");
        modify(&it, &strict, ModifyOperation::Add, attribute, value);
        assert_eq!(*policy(&it, &ann), expected, "{attribute}");
        modify(&it, &strict, ModifyOperation::Delete, attribute, value);
    }
    assert_eq!(policy(&it, &ann), before);
}

/// OpenDJ's class `pwdValidatorPolicy`: validators of the configuration, by name.
#[test]
fn a_policy_that_is_an_entry_names_validators() {
    let named = |name: &str| format!("cn={name},cn=Password Validators,cn=config");
    let rules = [
        ("long", Some(ValidatorRule::Length { min: 12, max: 0 })),
        ("varied", Some(ValidatorRule::UniqueCharacters { min: 7, case_sensitive: false })),
        ("off", None),
    ];
    let validators = rules.clone().map(|(name, rule)| PasswordValidator { dn: named(name), rule });
    let says = format!(
        "objectClass: pwdValidatorPolicy\nds-cfg-password-validator: {}\nds-cfg-password-validator: {}\n",
        named("LONG").replace(",cn", ", CN"),
        named("gone"),
    );
    let it = Fixture::with(&[BASE], default_indexes(), &ldif("{}", &says), |config| {
        let validators_of_default = vec![ValidatorRule::Similarity { min_difference: 3 }];
        config.default_policy =
            Arc::new(PasswordPolicy { validators: validators_of_default, ..PasswordPolicy::default() });
        config.password_validators = validators.to_vec();
    });
    let (strict, ann) = (format!("cn=strict,{BASE}"), format!("uid=ann,{BASE}"));
    let rule = |at: usize| rules[at].1.clone().unwrap();
    assert_eq!(policy(&it, &ann).validators, [rule(0)], "instead of those of the default; one that is gone is none");
    let change = |operation, value: &str| {
        let bytes = modify_message(&strict, &[(operation, "ds-cfg-password-validator", value)], &[]);
        it.try_update(&Message::decode(&bytes).unwrap())
    };
    let refused = change(ModifyOperation::Add, &named("none"));
    assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
    assert!(refused.message.starts_with(&format!("\"{}\" is no password validator: ", named("none"))));
    for (operation, name, left) in
        [(ModifyOperation::Add, "varied", vec![rule(0), rule(1)]), (ModifyOperation::Replace, "off", vec![])]
    {
        assert_eq!(change(operation, &named(name)).code, ResultCode::SUCCESS, "{name}");
        assert_eq!(policy(&it, &ann).validators, left, "{name}");
    }
    modify(&it, &strict, ModifyOperation::Replace, "pwdMinLength", "8");
    assert_eq!(policy(&it, &ann).validators, [ValidatorRule::Length { min: 8, max: 0 }]);
}

/// What is in force shows, and entries are found by it; who stores a value of the same name shows it to nobody.
#[test]
fn the_policy_in_force_and_its_expiry_are_shown_and_searched_for() {
    let mut it = fixture("{ base \"ou=Sales\" }", "pwdMaxAge: 864000\n");
    let strict = format!("cn=strict,{BASE}");
    let (policy, expiry) = ("pwdPolicySubentry", "ds-pwp-password-expiration-time");
    assert_eq!((of(&mut it, "ann", policy), of(&mut it, "ann", expiry)), (vec![DEFAULT.to_owned()], vec![]));
    assert_eq!(of(&mut it, "ben", policy), [strict.as_str()]);
    assert_eq!(matching(&mut it, &format!("(pwdPolicySubentry={strict})")), ["Sales", "ben", "cid"]);
    assert_eq!(matching(&mut it, &format!("(&(uid=*)(!(pwdPolicySubentry={strict})))")), ["ann"]);
    let shown = of(&mut it, "ben", expiry);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    let at = access::account_state::moment(shown[0].as_bytes()).unwrap();
    // The entry does not say when the password was set: it is old, but expires one interval after the first warning.
    let expected = Moment(now).after(Duration::from_secs(432_000));
    assert!(at <= expected && expected.since(at) < Duration::from_secs(600), "{shown:?}");
    // Subentries have no policy.
    let asked = Asked { attributes: &[policy], controls: &[subentries()], ..Asked::new(BASE, "(cn=strict)") };
    let found = it.search(&asked).unwrap();
    assert_eq!(found.entries, [(strict, std::collections::BTreeMap::new())]);
    let by_all = it.search(&Asked { attributes: &["+"], ..Asked::new(BASE, "(uid=cid)") }).unwrap();
    assert!(by_all.entries[0].1.contains_key(policy) && by_all.entries[0].1.contains_key(expiry));
    let ben = format!("uid=ben,ou=Sales,{BASE}");
    assert_eq!(it.compare(root(), &ben, policy, DEFAULT.as_bytes()), ResultCode::COMPARE_FALSE);
    assert_eq!(it.compare(root(), &ben, policy, format!("CN=Strict,{BASE}").as_bytes()), ResultCode::COMPARE_TRUE);
}

/// RFC 3672: subentries and nothing else.
fn subentries() -> ControlBuf {
    ControlBuf::new("1.3.6.1.4.1.4203.1.10.1", Some(vec![1, 1, 0xff]))
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

/// Policies of the configuration: one is the default, others are named; a change holds at once.
#[test]
fn policies_of_the_configuration_are_taken_while_the_server_runs() {
    let it = fixture("{ base \"ou=Nowhere\" }", "");
    let ann = format!("uid=ann,{BASE}");
    let folder = it.directory.config().instance.config_file();
    let reconfigure = |more: &str| {
        let text = std::fs::read_to_string(&folder).unwrap_or_default();
        it.directory.reconfigure(&Config::parse(&format!("{text}\n{more}"), &folder).unwrap()).unwrap()
    };
    let staff = "[password-policy.Staff]\nlockout-failure-count = 4\npassword-validator = [\"long\", \"off\"]\n\
                 [password-validator.long]\ntype = \"length-based\"\nmin-password-length = 11\n\
                 [password-validator.off]\ntype = \"similarity-based\"\nenabled = false\n";
    assert!(reconfigure(staff).applied.contains(&Applier::PasswordPolicies));
    let named = "cn=Staff,cn=Password Policies,cn=config";
    modify(&it, &ann, ModifyOperation::Replace, POINTER, named);
    let found = policy(&it, &ann);
    assert_eq!((found.dn.as_str(), found.lockout_failure_count), (named, 4));
    assert_eq!(found.validators, [ValidatorRule::Length { min: 11, max: 0 }]);
    // A policy that goes means the default.
    assert!(reconfigure("").applied.contains(&Applier::PasswordPolicies));
    assert_eq!(policy(&it, &ann).dn, DEFAULT);
    assert!(!reconfigure("").applied.contains(&Applier::PasswordPolicies), "nothing is left to apply");
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
         ds-pwp-reset-time: 20200102000000Z\nds-pwp-account-disabled-time: 20200108000000Z\n\
         ds-pwp-warned-time: 20200105000000Z\nds-pwp-password-changed-by-required-time: 20200106000000Z\n\
         ds-pwp-last-login-time: 20200107\nds-pwp-one-time-password-token: no token\n\
         ds-pwp-one-time-password-token: {HOTP}id=card;state=active;algorithm=SHA1;digits=6;next=3;secret=AQID\n",
    );
    let mut tokens = Tokens::default();
    tokens.add_value(b"no token");
    tokens.add_value(b"{HOTP}id=card;state=active;algorithm=SHA1;digits=6;next=3;secret=AQID");
    assert_eq!((tokens.all().len(), tokens.damaged()), (1, 1));
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
        password_reset: Some(day(2)),
        is_disabled: true,
        last_disabled: Some(day(8)),
        start: Some(Moment(0)),
        end: Some(Moment(1_861_920_000_000)),
        lock: Some(Lock::Since(day(3))),
        failures: vec![Moment(day(3).0 - 1_000), day(3), Moment(day(3).0 + 1_250)],
        delayed_until: Some(Moment(day(3).0 + 7_000)),
        must_change: true,
        grace_uses: vec![day(4)],
        warned: Some(day(5)),
        met_deadline: Some(day(6)),
        tokens,
        last_login: Some(day(7)),
    };
    assert_eq!(state(&it, &ann, &policy), expected);
    let without_login = PasswordPolicy::default();
    assert_eq!(state(&it, &ann, &without_login), AccountState { last_login: None, ..expected });
    let it = with("createTimestamp: 20200101000000Z\npwdAccountLockedTime: 000001010000Z\nnsAccountLock: false\n");
    let locked = AccountState { created: Some(day(1)), lock: Some(Lock::UntilUnlocked), ..AccountState::default() };
    assert_eq!(state(&it, &ann, &without_login), locked);
}
