//! Binds of one account at once, of a name that nobody has too: one hash for one password, and the same waiting.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use accounts::PasswordPolicy;
use ldap::{Controls, Message, Operation, ResultCode, client};
use password::{Parameters, Scheme};

use super::tests::{GOOD, WRONG, bind, ended, step, three, told, with};
use super::{BindFailure, BindStep, Fill, KeyMemory};
use crate::session::Session;
use crate::update::tests::bed::{ANN, Bed};

const CAT: &str = "uid=cat,dc=example,dc=com";
const NOBODY: &str = "uid=nobody,dc=example,dc=com";

/// With passwords that are slow to check only.
fn slow(policy: PasswordPolicy) -> Bed {
    let mut bed = with(policy);
    let stored = password::encode_random(Scheme::Pbkdf2, &Parameters::default(), b"opensesame").unwrap();
    let stored = String::from_utf8(stored).unwrap();
    let fixed = [("objectClass", "inetOrgPerson"), ("cn", "x"), ("sn", "x"), ("uid", "cat")];
    bed.add(CAT, &[&fixed[..], &[("userPassword", stored.as_str())]].concat()).ok();
    for uid in ["ann", "ben"] {
        bed.delete(&format!("uid={uid},dc=example,dc=com"), &[]).ok();
    }
    // What unknown names are compared with is read anew.
    bed.reopen()
}

fn counts(bed: &Bed) -> [String; 4] {
    let entry = bed.directory.remembered.monitor_entry();
    ["verified-right", "verified-wrong", "verified-shared", "verified-hits"].map(|wanted| {
        let found = entry.attributes.iter().find(|(name, _)| name == wanted);
        found.map(|(_, values)| values.join(",")).unwrap_or_default()
    })
}

/// The steps of so many binds at once: one is verified, the others wait for that.
fn at_once(bed: &Bed, dn: &str, password: &str, count: usize) -> (BindStep, Vec<BindStep>) {
    let first = step(&bed.directory, dn, password);
    assert!(matches!(first, BindStep::SlowHash(_)), "{dn}");
    let others: Vec<_> = (1..count).map(|_| step(&bed.directory, dn, password)).collect();
    assert!(others.iter().all(|step| matches!(step, BindStep::Queued(_))), "{dn}");
    (first, others)
}

#[test]
fn a_hundred_first_binds_with_one_password_cost_one_hash() {
    let bed = slow(PasswordPolicy::default());
    let (first, others) = at_once(&bed, CAT, "opensesame", 100);
    assert_eq!(told(&ended(&bed.directory, first)), GOOD);
    others.into_iter().for_each(|step| assert_eq!(told(&ended(&bed.directory, step)), GOOD));
    assert_eq!(counts(&bed), ["1", "0", "99", "0"]);
    assert!(matches!(step(&bed.directory, CAT, "opensesame"), BindStep::Done(_)), "it is remembered");
}

/// Whoever guesses has nothing of it: each guess counts, and another password is another hash.
#[test]
fn wrong_passwords_at_once_are_counted_each() {
    let bed = slow(three());
    let (first, others) = at_once(&bed, CAT, "guess", 3);
    // What is left is in flight.
    let BindStep::Queued(queued) = step(&bed.directory, CAT, "another") else { panic!("it is compared") };
    for step in std::iter::once(first).chain(others) {
        assert_eq!(told(&ended(&bed.directory, step)), WRONG);
    }
    assert_eq!(bed.values(CAT, "pwdFailureTime").len(), 3);
    assert_eq!(counts(&bed), ["0", "1", "2", "0"]);
    let last = ended(&bed.directory, BindStep::Queued(queued));
    assert_eq!((told(&last), last.failure), (WRONG, Some(BindFailure::WrongPassword)));
    assert_eq!(counts(&bed)[1], "2", "another password has a hash of its own");
    assert_eq!(bed.directory.guesses.in_flight(), 0);
}

/// The pool had no room for the first, or its client is gone.
#[test]
fn who_waits_for_what_is_not_verified_verifies() {
    let bed = slow(PasswordPolicy::default());
    let (first, others) = at_once(&bed, CAT, "opensesame", 3);
    drop(first);
    let done: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> =
            others.into_iter().map(|step| scope.spawn(|| ended(&bed.directory, step).result.code)).collect();
        running.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert_eq!(done, [ResultCode::SUCCESS; 2]);
}

/// The password was changed while it was verified for another bind: it is compared with the new one.
#[test]
fn a_verdict_on_a_former_password_is_none() {
    let bed = slow(PasswordPolicy::default());
    let (first, others) = at_once(&bed, CAT, "opensesame", 2);
    bed.replace(CAT, "userPassword", "another-word").ok();
    for step in std::iter::once(first).chain(others) {
        assert_eq!(told(&ended(&bed.directory, step)), WRONG);
    }
    assert_eq!(told(&bind(&bed, CAT, "another-word")), GOOD);
}

/// By waiting nobody learns which names there are: unknown ones are verified, wait, and are locked as others.
#[test]
fn names_that_nobody_has_wait_as_others_do() {
    let kind = |step: &BindStep| match step {
        BindStep::Done(_) => "done",
        BindStep::SlowHash(_) => "hash",
        BindStep::Queued(_) => "queued",
        BindStep::Elsewhere(_) => "elsewhere",
        BindStep::Waits(_) => "waits",
    };
    for (bed, known) in [(slow(three()), CAT), (with(three()), ANN)] {
        let of = |dn: &str| {
            let mut kinds = Vec::new();
            for round in 0..4 {
                let steps: Vec<_> = (0..5).map(|_| step(&bed.directory, dn, "guess")).collect();
                kinds.extend(steps.iter().map(kind));
                for step in steps {
                    let done = ended(&bed.directory, step);
                    assert_eq!(told(&done), WRONG, "{dn} in round {round}");
                }
            }
            kinds
        };
        let expected = of(known);
        assert!(expected.contains(&"queued") && expected.last() != Some(&"queued"), "{expected:?}");
        assert_eq!(of(NOBODY), expected);
        // An entry without a password is nobody, too.
        assert_eq!(of("dc=example,dc=com"), expected);
        // After the lock all begins anew.
        bed.directory.account_clock().set_ahead(61 * 60_000);
        assert_eq!(of(NOBODY), of(known));
        assert_eq!(bed.directory.guesses.in_flight(), 0);
    }
}

static KEYS_MADE: AtomicUsize = AtomicUsize::new(0);

fn memory(bytes: usize, fill: Fill<'_>) -> Option<KeyMemory> {
    let mut key = vec![0; bytes];
    fill(&mut key).ok()?;
    assert_ne!(key, vec![0; bytes]);
    KEYS_MADE.fetch_add(1, Ordering::Relaxed);
    Some(Box::new(key))
}

#[test]
fn keys_are_kept_where_the_server_says() {
    let bed = slow(PasswordPolicy::default());
    assert_eq!(told(&bind(&bed, CAT, "opensesame")), GOOD);
    bed.directory.keep_keys_in(memory);
    assert_eq!(KEYS_MADE.load(Ordering::Relaxed), 1);
    assert!(matches!(step(&bed.directory, CAT, "opensesame"), BindStep::SlowHash(_)), "what was remembered is gone");
    assert_eq!(told(&bind(&bed, CAT, "opensesame")), GOOD);
    assert!(matches!(step(&bed.directory, CAT, "opensesame"), BindStep::Done(_)));
}

/// A guess of a client at that address.
pub(crate) fn guess_from(bed: &Bed, dn: &str, address: &str) {
    let mut session = Session::anonymous(1);
    session.address = address.parse().ok();
    let mut bytes = Vec::new();
    client::bind(&mut bytes, 1, dn, b"guess", &[]);
    let message = Message::decode(&bytes).unwrap();
    let Operation::Bind(request) = &message.operation else { panic!("no bind") };
    let step = bed.directory.bind(&session, request, &Controls::none(), Instant::now());
    assert_eq!(ended(&bed.directory, step).result.code, ResultCode::INVALID_CREDENTIALS);
}
