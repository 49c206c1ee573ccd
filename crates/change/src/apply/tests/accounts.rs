//! The state of accounts after binds.

use std::time::Duration;

use accounts::second_factor::{Algorithm, Kind, Token};
use accounts::{LockRules, Moment, StateChange};
use ldap::ResultCode;
use proptest::prelude::*;
use store::EntryId;

use super::bed::{Bed, With};
use crate::history::Cause;
use crate::proposal;
use crate::state_changes::{AccountChanges, encode};

const ANN: &str = "uid=ann,ou=people,dc=example,dc=com";
const BEN: &str = "uid=ben,ou=people,dc=example,dc=com";
/// 2026-11-21 10:15:00.
const NOW: Moment = Moment(1_795_256_100_000);
const RULES: LockRules = LockRules {
    count: 3,
    duration: Duration::from_secs(60),
    expiration: Duration::from_secs(3_600),
    min_delay: Duration::ZERO,
    max_delay: Duration::ZERO,
    recorded: 0,
};

fn people() -> Bed {
    let mut bed = Bed::new();
    bed.person("ann");
    bed.person("ben");
    bed
}

fn uuid_of(bed: &Bed, dn: &str) -> [u8; 16] {
    schema::uuid::parse(bed.values(dn, "entryUUID")[0].as_bytes()).unwrap()
}

fn account(bed: &Bed, dn: &str, changes: &[StateChange]) -> AccountChanges {
    AccountChanges { entry: EntryId(bed.id_of(dn)), entry_uuid: uuid_of(bed, dn), changes: changes.to_vec() }
}

fn propose(bed: &mut Bed, accounts: &[AccountChanges]) {
    bed.propose(proposal::Kind::AccountState, &encode(accounts), With::default()).ok();
}

fn change(bed: &mut Bed, dn: &str, changes: &[StateChange]) {
    let account = account(bed, dn, changes);
    propose(bed, &[account]);
}

fn failure(after_ms: u64) -> StateChange {
    StateChange::CountFailure { at: Moment(NOW.0 + after_ms), rules: RULES }
}

#[test]
fn wrong_passwords_lock_and_a_right_one_clears() {
    let mut bed = people();
    let stamps = |bed: &Bed| ["modifyTimestamp", "modifiersName", "entryCSN"].map(|name| bed.values(ANN, name));
    let before = stamps(&bed);
    change(&mut bed, ANN, &[failure(0), failure(0)]);
    assert_eq!(bed.values(ANN, "pwdFailureTime"), ["20261121101500.000Z", "20261121101500.001Z"]);
    assert_eq!(bed.values(ANN, "pwdAccountLockedTime"), [""; 0]);
    change(&mut bed, ANN, &[failure(500), failure(900)]);
    assert_eq!(bed.values(ANN, "pwdFailureTime").len(), 3, "a locked account keeps what it has");
    assert_eq!(bed.values(ANN, "pwdAccountLockedTime"), ["20261121101500.500Z"]);
    change(&mut bed, ANN, &[StateChange::ClearFailures { at: Moment(NOW.0 + 70_000) }]);
    let empty: [Vec<String>; 2] = Default::default();
    assert_eq!(["pwdFailureTime", "pwdAccountLockedTime"].map(|name| bed.values(ANN, name)), empty);
    assert_eq!(stamps(&bed), before, "nobody asked for a change");
    bed.verify();
}

#[test]
fn grace_warning_and_login_are_kept() {
    let mut bed = people();
    let login = |ms: u64, text: &[u8]| {
        let (at, attribute) = (Moment(NOW.0 + ms), "pwdLastSuccess".to_owned());
        StateChange::LastLogin { at, attribute, value: text.to_vec() }
    };
    let changes = [
        StateChange::UseGrace { at: NOW },
        StateChange::UseGrace { at: NOW },
        StateChange::Warned { at: NOW },
        StateChange::Warned { at: Moment(NOW.0 + 9) },
        login(60_000, b"20261121101600Z"),
        login(1_000, b"20261121101501Z"),
    ];
    change(&mut bed, ANN, &changes);
    assert_eq!(bed.values(ANN, "pwdGraceUseTime"), ["20261121101500.000Z", "20261121101500.001Z"]);
    assert_eq!(bed.values(ANN, "ds-pwp-warned-time"), ["20261121101500.000Z"]);
    assert_eq!(bed.values(ANN, "pwdLastSuccess"), ["20261121101600Z"], "the latest wins, in whatever order they come");
}

#[test]
fn a_cached_password_is_that_of_the_last_answer() {
    let mut bed = people();
    let cache = |ms: u64, value: &[u8]| StateChange::CachePassword { at: Moment(NOW.0 + ms), value: value.to_vec() };
    let forget = |ms: u64| StateChange::ForgetCachedPassword { at: Moment(NOW.0 + ms) };
    let kept = |bed: &Bed| ["ds-pta-cached-password", "ds-pta-cached-password-time"].map(|name| bed.values(ANN, name));
    let first = [vec!["{SSHA}first".to_owned()], vec!["20261121101505.000Z".to_owned()]];
    let empty: [Vec<String>; 2] = Default::default();
    change(&mut bed, ANN, &[forget(0)]);
    assert_eq!(kept(&bed), empty);
    change(&mut bed, ANN, &[cache(5_000, b"{SSHA}first")]);
    assert_eq!(kept(&bed), first);
    change(&mut bed, ANN, &[cache(4_000, b"{SSHA}late")]);
    change(&mut bed, ANN, &[forget(4_999)]);
    assert_eq!(kept(&bed), first, "answers that came before say nothing");
    change(&mut bed, ANN, &[forget(6_000)]);
    assert_eq!(kept(&bed), empty);
    bed.verify();
}

#[test]
fn a_password_gets_another_form_only_while_it_is_there() {
    let mut bed = people();
    bed.modify(ANN, "add userPassword: {SSHA}old").ok();
    let reencode = StateChange::Reencode {
        attribute: "userPassword".to_owned(),
        old: b"{SSHA}old".to_vec(),
        new: vec![b"{SSHA512}new".to_vec()],
    };
    let changed = bed.values(ANN, "pwdChangedTime");
    change(&mut bed, ANN, std::slice::from_ref(&reencode));
    assert_eq!(
        (bed.values(ANN, "userPassword"), bed.values(ANN, "pwdChangedTime")),
        (vec!["{SSHA512}new".into()], changed)
    );
    bed.modify(ANN, "replace userPassword: {SSHA}other").ok();
    change(&mut bed, ANN, &[reencode]);
    assert_eq!(bed.values(ANN, "userPassword"), ["{SSHA}other"]);
}

fn token(id: &str, sealed: u8, next: u64) -> Token {
    Token {
        id: id.to_owned(),
        kind: Kind::Hotp,
        is_active: false,
        algorithm: Algorithm::Sha1,
        digits: 6,
        next,
        sealed: vec![sealed; 48],
    }
}

/// Codes are spent in whatever order they come, and never given back.
#[test]
fn what_a_token_has_spent_only_grows() {
    const TOKENS: &str = "ds-pwp-one-time-password-token";
    let mut bed = people();
    let (phone, card) = (token("phone", 1, 0), token("card", 2, 5));
    let put = |token: &Token| StateChange::PutToken { value: token.to_string().into_bytes() };
    let spend = |token: &Token, next| StateChange::SpendCode { token: token.key(), next };
    change(&mut bed, ANN, &[put(&phone), put(&card)]);
    change(&mut bed, ANN, &[spend(&phone, 9), spend(&phone, 7)]);
    let active = Token { is_active: true, next: 9, ..phone.clone() };
    let mut expected = [active.to_string(), card.to_string()];
    expected.sort();
    let sorted = |bed: &Bed| {
        let mut values = bed.values(ANN, TOKENS);
        values.sort();
        values
    };
    assert_eq!(sorted(&bed), expected);
    // A token in use is not replaced by one of the same name, a pending one is; the old one's codes do not touch it.
    let other_card = token("card", 3, 0);
    change(&mut bed, ANN, &[put(&token("phone", 4, 0)), put(&other_card), spend(&card, 8)]);
    let mut expected = [active.to_string(), other_card.to_string()];
    expected.sort();
    assert_eq!(sorted(&bed), expected);
    change(&mut bed, ANN, &[StateChange::RemoveToken { token: Some(phone.key()) }]);
    assert_eq!(bed.values(ANN, TOKENS), [other_card.to_string()]);
    assert_eq!(bed.replayed().picture(), bed.picture());
    change(&mut bed, ANN, &[StateChange::RemoveToken { token: None }]);
    assert_eq!(bed.values(ANN, TOKENS), [""; 0]);
    bed.verify();
}

#[test]
fn another_entry_is_never_changed_instead() {
    let mut bed = people();
    let of_ann = account(&bed, ANN, &[failure(0)]);
    let of_other = AccountChanges { entry_uuid: [9; 16], ..account(&bed, BEN, &[failure(0)]) };
    bed.delete(ANN).ok();
    let before = bed.picture();
    propose(&mut bed, &[of_ann, of_other]);
    assert_eq!(bed.picture(), before);
}

#[test]
fn it_is_in_the_history_and_not_shown() {
    let mut bed = people();
    let first = bed.history.bounds().last + 1;
    let accounts = [account(&bed, ANN, &[failure(0)]), account(&bed, BEN, &[failure(0)])];
    propose(&mut bed, &accounts);
    let mut reader = bed.history.from(first);
    for dn in [ANN, BEN] {
        let change = reader.next_change().unwrap().unwrap();
        assert_eq!((change.cause, change.dn), (Cause::AccountState, dn));
        assert_eq!(change.attributes().map(|it| it.description).collect::<Vec<_>>(), ["pwdFailureTime"]);
        assert!(!bed.history.shows(change.cause) && bed.history.shows(Cause::Request));
        assert!(crate::undo::Brief::of(&change, true).is_none());
    }
    bed.history.set(config::ChangelogConfig { account_state: true, ..bed.history.settings() }).unwrap();
    assert!(bed.history.shows(Cause::AccountState));
}

#[test]
fn damaged_changes_are_refused() {
    let mut bed = people();
    bed.propose(proposal::Kind::AccountState, &[1, 2, 3], With::default()).refused(ResultCode::OTHER, "damaged");
}

fn step() -> impl Strategy<Value = (bool, StateChange)> {
    let at = || (0u64..4_000).prop_map(|ms| Moment(NOW.0 + ms));
    let change = prop_oneof![
        4 => at().prop_map(|at| StateChange::CountFailure { at, rules: RULES }),
        1 => at().prop_map(|at| StateChange::ClearFailures { at }),
        1 => at().prop_map(|at| StateChange::UseGrace { at }),
        1 => at().prop_map(|at| StateChange::Warned { at }),
    ];
    (any::<bool>(), change)
}

fn state(bed: &Bed) -> Vec<Vec<String>> {
    let names = ["pwdFailureTime", "pwdAccountLockedTime", "pwdGraceUseTime", "ds-pwp-warned-time"];
    [ANN, BEN].iter().flat_map(|dn| names.map(|name| bed.values(dn, name))).collect()
}

/// Applies steps in batches of these sizes.
fn batched(steps: &[(bool, StateChange)], sizes: &[usize]) -> Bed {
    let mut bed = people();
    let (mut rest, mut sizes) = (steps, sizes.iter().cycle());
    while !rest.is_empty() {
        let (batch, after) = rest.split_at(rest.len().min(*sizes.next().unwrap()));
        let mut accounts: Vec<AccountChanges> = Vec::new();
        for (is_ann, change) in batch {
            let new = account(&bed, if *is_ann { ANN } else { BEN }, std::slice::from_ref(change));
            match accounts.iter_mut().find(|known| known.entry == new.entry) {
                Some(known) => known.changes.extend(new.changes),
                None => accounts.push(new),
            }
        }
        propose(&mut bed, &accounts);
        rest = after;
    }
    bed
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// However binds fell into batches, and after a replay, the accounts are the same.
    #[test]
    fn batches_do_not_matter(
        steps in prop::collection::vec(step(), 1..20),
        sizes in prop::collection::vec(1usize..6, 1..4),
    ) {
        let (whole, parts) = (batched(&steps, &[usize::MAX]), batched(&steps, &sizes));
        prop_assert_eq!(state(&whole), state(&parts));
        prop_assert_eq!(parts.replayed().picture(), parts.picture());
        let before = parts.picture();
        prop_assert_eq!(parts.reopen().picture(), before);
    }

    /// Below the count, it does not matter which failure is written first.
    #[test]
    fn the_order_of_failures_does_not_matter(a in 0u64..5, b in 0u64..5) {
        let of = |first, second| {
            let mut bed = people();
            change(&mut bed, ANN, &[failure(first)]);
            change(&mut bed, ANN, &[failure(second)]);
            state(&bed)
        };
        prop_assert_eq!(of(a, b), of(b, a));
    }
}
