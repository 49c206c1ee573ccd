//! Binds of root users: their policy, and the state that is kept in `db/root-accounts.ldif`.

use std::time::{Duration, Instant};

use access::{Authentication, Privilege, Revoked};
use accounts::{LastLogin, PasswordPolicy, PolicyError};
use config::Config;
use ldap::password_policy_state::{PasswordPolicyState, StateItem, StateOperation};
use ldap::{Controls, ResultCode};
use password::Scheme;
use schema::{NormalizedDn, Schema};

use super::tests::{GOOD, WRONG, bind, ended, error, step, told};
use super::{BindDone, BindStep, Credential, Named};
use crate::session::Session;
use crate::update::UpdateDone;
use crate::update::tests::bed::{ANN, Bed, Done, root};

const MANAGER: &str = "cn=Directory Manager";
const ALIAS: &str = "cn=Manager";
const RIGHT: &str = "secret12";

fn lockout() -> PasswordPolicy {
    let lockout_duration = Duration::from_secs(3_600);
    PasswordPolicy {
        dn: "cn=Root Password Policy,cn=Password Policies,cn=config".to_owned(),
        lockout_failure_count: 3,
        lockout_duration,
        ..PasswordPolicy::default()
    }
}

/// Root users with that policy; nobody else's passwords are counted.
fn bed(policy: Option<PasswordPolicy>) -> Bed {
    Bed::with(&["dc=example,dc=com"], |config: &mut Config| {
        let stored = password::encode_random(Scheme::SaltedSha512, &password::Parameters::default(), RIGHT.as_bytes());
        let stored = String::from_utf8(stored.unwrap()).unwrap();
        let text =
            format!("[root-dn-user.m]\nalternate-bind-dn = [\"{MANAGER}\", \"{ALIAS}\"]\npassword = \"{stored}\"\n");
        config.root_users = Config::parse(&text, &config.instance.config_file()).unwrap().root_users;
        if let Some(policy) = policy {
            let policy = std::sync::Arc::new(policy);
            config.other_policies.push(policy.clone());
            config.root_users[0].policy = policy;
        }
    })
}

fn written(bed: &Bed) -> String {
    std::fs::read_to_string(bed.config.instance.root_accounts()).unwrap_or_default()
}

fn times(bed: &Bed, attribute: &str) -> usize {
    written(bed).lines().filter(|line| line.starts_with(attribute)).count()
}

/// A client for whom another vouches.
fn vouched(bed: &Bed, authentication: Authentication) -> BindDone {
    let name = NormalizedDn::parse(&Schema::standard(), MANAGER.as_bytes()).unwrap();
    let came = (authentication, &Controls::none(), Instant::now());
    let session = Session::anonymous(1);
    ended(&bed.directory, bed.directory.authenticate(&session, Named::Entry(&name), Credential::Trusted, came).unwrap())
}

/// A request that succeeds.
#[track_caller]
fn set(bed: &Bed, operations: &[(StateItem, &[&str])]) -> UpdateDone {
    let done = state(bed, operations).0;
    assert!(done.result.is_success(), "{}", done.result);
    done
}

fn state(bed: &Bed, operations: &[(StateItem, &[&str])]) -> Done {
    let values = |all: &[&str]| all.iter().map(|value| value.as_bytes().to_vec()).collect();
    let operations = operations.iter().map(|(item, all)| StateOperation::new(*item, values(all))).collect();
    let value = PasswordPolicyState { target: MANAGER.into(), operations }.encode();
    let mut bytes = Vec::new();
    ldap::client::extended(&mut bytes, 1, ldap::oids::extended::PASSWORD_POLICY_STATE, Some(&value), &[]);
    bed.send(&bytes)
}

#[test]
fn the_policy_of_root_users_locks_nobody_unless_it_is_told_to() {
    let bed = bed(None);
    for _ in 0..50 {
        assert_eq!(told(&bind(&bed, MANAGER, "guess")), WRONG);
    }
    assert_eq!(told(&bind(&bed, MANAGER, RIGHT)), GOOD);
    assert_eq!(times(&bed, "pwdFailureTime"), 0);
}

/// What was answered is on disk: nothing is closed here, as when the process is killed.
#[test]
fn wrong_passwords_lock_a_root_user_and_are_on_disk_before_they_are_answered() {
    let bed = bed(Some(lockout()));
    for count in 1..=3 {
        // All names of a user are one account.
        assert_eq!(told(&bind(&bed, if count == 2 { ALIAS } else { MANAGER }, "guess")), WRONG);
        assert_eq!(times(&bed, "pwdFailureTime"), count);
    }
    assert_eq!(times(&bed, "pwdAccountLockedTime"), 1);
    let locked = (ResultCode::INVALID_CREDENTIALS, error(PolicyError::AccountLocked));
    for dn in [MANAGER, ALIAS] {
        assert_eq!(told(&bind(&bed, dn, RIGHT)), locked);
    }
    let bed = bed.reopen();
    assert_eq!(told(&bind(&bed, MANAGER, RIGHT)), locked, "a restart unlocks nobody");
    bed.directory.account_clock().set_ahead(61 * 60_000);
    assert_eq!(told(&bind(&bed, MANAGER, RIGHT)), GOOD);
    bed.wait_for(|| times(&bed, "pwdFailureTime") + times(&bed, "pwdAccountLockedTime") == 0);
}

/// Whoever the system vouches for comes in, whatever strangers did; a certificate is one more credential.
#[test]
fn the_owner_of_the_server_comes_in_under_a_lock() {
    let bed = bed(Some(lockout()));
    (0..3).for_each(|_| assert_eq!(told(&bind(&bed, MANAGER, "guess")), WRONG));
    assert_eq!(vouched(&bed, Authentication::LocalSocket).result.code, ResultCode::SUCCESS);
    let refused = vouched(&bed, Authentication::ClientCertificate);
    assert_eq!(refused.result.code, ResultCode::INVALID_CREDENTIALS);
    set(&bed, &[(StateItem::SetDisabled, &["true"])]);
    assert_eq!(vouched(&bed, Authentication::LocalSocket).result.code, ResultCode::INVALID_CREDENTIALS);
}

#[test]
fn guesses_in_flight_are_counted() {
    let bed = bed(Some(lockout()));
    let waiting: Vec<BindStep> = (0..3).map(|_| step(&bed.directory, MANAGER, "guess")).collect();
    assert!(waiting.iter().all(|step| matches!(step, BindStep::Waits(_))));
    let BindStep::Queued(queued) = step(&bed.directory, ALIAS, RIGHT) else { panic!("it is compared") };
    waiting.into_iter().for_each(|step| assert_eq!(told(&ended(&bed.directory, step)), WRONG));
    let locked = (ResultCode::INVALID_CREDENTIALS, error(PolicyError::AccountLocked));
    assert_eq!(told(&ended(&bed.directory, BindStep::Queued(queued))), locked);
    assert_eq!((times(&bed, "pwdFailureTime"), bed.directory.guesses.in_flight()), (3, 0));
}

#[test]
fn an_administrator_sees_and_changes_the_state() {
    let mut bed = bed(Some(lockout()));
    (0..3).for_each(|_| assert_eq!(told(&bind(&bed, MANAGER, "guess")), WRONG));
    let shown = |bed: &Bed, item| {
        let done = set(bed, &[(item, &[])]);
        let answer = PasswordPolicyState::decode(done.response_value.as_deref()).unwrap();
        answer.operations[0].values.iter().map(|it| String::from_utf8(it.clone()).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(shown(&bed, StateItem::GetPolicyDn), [lockout().dn]);
    assert_eq!(shown(&bed, StateItem::GetFailures).len(), 3);
    assert_eq!(shown(&bed, StateItem::GetFailuresLeft), ["0"]);
    set(&bed, &[(StateItem::ClearFailures, &[])]);
    assert_eq!(times(&bed, "pwdFailureTime"), 0, "it is on disk when it is answered");
    let good = bind(&bed, MANAGER, RIGHT);
    assert_eq!(told(&good), GOOD);
    // Who is disabled goes at once, and does not come back.
    let mut session = Session::anonymous(9);
    session.take(good.bound, Instant::now());
    assert_eq!((bed.directory.is_in_doubt(&session), bed.directory.revoked(&session)), (false, None));
    set(&bed, &[(StateItem::SetDisabled, &["true"])]);
    assert_eq!(bed.directory.revoked(&session), Some(Revoked::RootUser));
    assert_eq!(bind(&bed, MANAGER, RIGHT).result.code, ResultCode::INVALID_CREDENTIALS);
    state(&bed, &[(StateItem::SetDisabled, &["soon"])]).refused(ResultCode::CONSTRAINT_VIOLATION, "true or false");
    set(&bed, &[(StateItem::ClearDisabled, &[])]);
    let good = bind(&bed, MANAGER, RIGHT);
    session.take(good.bound, Instant::now());
    assert_eq!(bed.directory.revoked(&session), None, "a session that began since goes on");
    // Who manages accounts manages no root users.
    let privilege = Privilege::PasswordReset.name();
    bed.replace(ANN, "ds-privilege-name", privilege).ok();
    bed.bind_as(ANN, "opensesame");
    bed.session.forget_rights();
    let told = "privilege config-";
    state(&bed, &[(StateItem::GetFailures, &[])]).refused(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, told);
    state(&bed, &[(StateItem::ClearFailures, &[])]).refused(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, told);
    bed.session.identity = root();
}

#[test]
fn what_the_state_says_holds_for_root_users() {
    let last_login = LastLogin {
        attribute: "pwdLastSuccess".to_owned(),
        format: None,
        previous_formats: Vec::new(),
        precision: Duration::from_secs(60),
    };
    let mut policy = PasswordPolicy { last_login: Some(last_login), ..lockout() };
    policy.max_password_age = Duration::from_secs(86_400);
    policy.expire_passwords_without_warning = true;
    policy.password_expiration_warning_interval = Duration::from_secs(3_600);
    policy.grace_login_count = 1;
    policy.force_change_on_reset = true;
    let bed = bed(Some(policy));
    assert_eq!(told(&bind(&bed, MANAGER, RIGHT)), GOOD);
    bed.wait_for(|| times(&bed, "pwdLastSuccess") == 1);
    set(&bed, &[(StateItem::SetReset, &["true"])]);
    let reset = bind(&bed, MANAGER, RIGHT);
    assert_eq!(told(&reset), (ResultCode::SUCCESS, error(PolicyError::ChangeAfterReset)));
    assert!(reset.bound.standing.must_change());
    set(&bed, &[(StateItem::ClearReset, &[])]);
    bed.directory.account_clock().set_ahead(25 * 3_600_000);
    let grace = bind(&bed, MANAGER, RIGHT);
    assert_eq!((grace.result.code, grace.bound.standing.must_change()), (ResultCode::SUCCESS, true));
    assert_eq!(times(&bed, "pwdGraceUseTime"), 1, "it is on disk when it is answered");
    let expired = (ResultCode::INVALID_CREDENTIALS, error(PolicyError::PasswordExpired));
    assert_eq!(told(&bind(&bed, MANAGER, RIGHT)), expired);
    assert_eq!(vouched(&bed, Authentication::LocalSocket).result.code, ResultCode::SUCCESS);
}
