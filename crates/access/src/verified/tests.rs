//! Who is answered from memory and who is not.

#![allow(clippy::unwrap_used)]

use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::*;

const LIFETIME: Duration = Duration::from_secs(300);
const ALICE: [u8; 16] = [1; 16];
const BEN: [u8; 16] = [2; 16];

struct Bed {
    binds: VerifiedBinds,
    stored: Vec<Vec<u8>>,
    start: Instant,
}

impl Bed {
    fn new(entries_max: usize) -> Bed {
        let limits = VerifiedLimits { entries_max, lifetime: LIFETIME };
        let binds = VerifiedBinds::new(MacKey::new([7u8; KEY_BYTES]).unwrap(), limits);
        // Later than the lifetime after the clock's own start, so that every time is there.
        Bed { binds, stored: vec![b"{ARGON2}one".to_vec()], start: Instant::now() + LIFETIME * 2 }
    }

    fn at(&self, seconds: u64) -> Instant {
        self.start + Duration::from_secs(seconds)
    }

    fn look_up(&self, uuid: &[u8; 16], password: &[u8], seconds: u64) -> LookUp {
        let claim = Claim { uuid, stored: &self.stored, changed: b"2026", password };
        self.binds.look_up(&claim, self.at(seconds), || panic!("nobody else verifies this"))
    }

    fn is_verified(&self, uuid: &[u8; 16], password: &[u8], seconds: u64) -> bool {
        matches!(self.look_up(uuid, password, seconds), LookUp::Verified)
    }

    fn verify(&self, uuid: &[u8; 16], password: &[u8], seconds: u64, is_right: bool) {
        let LookUp::Verify(verification) = self.look_up(uuid, password, seconds) else { panic!("it is known") };
        verification.end(is_right, self.at(seconds));
    }
}

#[test]
fn a_right_password_is_remembered_and_no_other() {
    let bed = Bed::new(100);
    assert!(!bed.is_verified(&ALICE, b"secret", 0));
    bed.verify(&ALICE, b"secret", 0, true);
    assert!(bed.is_verified(&ALICE, b"secret", 1));
    assert!(!bed.is_verified(&BEN, b"secret", 1), "another entry");
    assert!(!bed.is_verified(&ALICE, b"secre", 1), "another password");
    assert!(!bed.is_verified(&ALICE, b"", 1));
    let counts = bed.binds.counts();
    assert_eq!((counts.entries, counts.hits, counts.misses, counts.right), (1, 1, 5, 1));
}

#[test]
fn the_lifetime_counts_from_the_full_verification_and_is_not_prolonged() {
    let bed = Bed::new(100);
    bed.verify(&ALICE, b"secret", 0, true);
    for seconds in [1, 100, 200, 299] {
        assert!(bed.is_verified(&ALICE, b"secret", seconds), "{seconds}");
    }
    assert!(!bed.is_verified(&ALICE, b"secret", 300));
    bed.verify(&ALICE, b"secret", 300, true);
    assert!(bed.is_verified(&ALICE, b"secret", 599));
}

#[test]
fn one_wrong_password_makes_the_next_bind_verify_in_full() {
    let bed = Bed::new(100);
    bed.verify(&ALICE, b"secret", 0, true);
    bed.verify(&BEN, b"secret", 0, true);
    bed.verify(&ALICE, b"guess", 1, false);
    assert!(!bed.is_verified(&ALICE, b"secret", 2));
    assert!(bed.is_verified(&BEN, b"secret", 2));
    bed.verify(&ALICE, b"secret", 2, true);
    assert!(bed.is_verified(&ALICE, b"secret", 3));
    assert!(!bed.is_verified(&ALICE, b"guess", 3), "a wrong password is never remembered");
}

#[test]
fn a_change_of_the_account_is_a_miss_without_being_told() {
    let mut bed = Bed::new(100);
    bed.verify(&ALICE, b"secret", 0, true);
    let before = bed.stored.clone();
    for stored in [vec![b"{ARGON2}two".to_vec()], vec![before[0].clone(), b"{SSHA}x".to_vec()], Vec::new()] {
        bed.stored = stored;
        assert!(!bed.is_verified(&ALICE, b"secret", 1), "{:?}", bed.stored);
    }
    bed.stored = before;
    let changed = Claim { uuid: &ALICE, stored: &bed.stored, changed: b"2027", password: b"secret" };
    assert!(!matches!(bed.binds.look_up(&changed, bed.at(1), || panic!()), LookUp::Verified));
    assert!(bed.is_verified(&ALICE, b"secret", 1));
}

/// Were the parts only strung together, a stored value could take in the beginning of the password.
#[test]
fn parts_of_a_claim_cannot_be_moved_into_one_another() {
    let key = MacKey::new([7u8; KEY_BYTES]).unwrap();
    let mac = |stored: &[&[u8]], changed: &[u8], password: &[u8]| {
        let stored: Vec<Vec<u8>> = stored.iter().map(|value| value.to_vec()).collect();
        key.mac(&Claim { uuid: &ALICE, stored: &stored, changed, password })
    };
    let whole = mac(&[b"ab", b"c"], b"d", b"ef");
    for other in [
        mac(&[b"abc"], b"d", b"ef"),
        mac(&[b"a", b"bc"], b"d", b"ef"),
        mac(&[b"ab", b"c"], b"de", b"f"),
        mac(&[b"ab", b"c", b"d"], b"", b"ef"),
        mac(&[b"ab"], b"cd", b"ef"),
    ] {
        assert!(whole != other);
    }
    assert!(whole == mac(&[b"ab", b"c"], b"d", b"ef"));
}

#[test]
fn another_key_forgets_everything_also_what_is_being_verified() {
    let bed = Bed::new(100);
    bed.verify(&ALICE, b"secret", 0, true);
    let LookUp::Verify(verification) = bed.look_up(&BEN, b"secret", 0) else { panic!() };
    bed.binds.rotate(MacKey::new([8u8; KEY_BYTES]).unwrap());
    verification.end(true, bed.at(1));
    assert!(!bed.is_verified(&ALICE, b"secret", 1));
    assert!(!bed.is_verified(&BEN, b"secret", 1));
    assert_eq!(bed.binds.counts().entries, 0);
    assert_eq!(MacKey::new([0u8; 31]).unwrap_err(), KeyLength { found: 31 });
}

#[test]
fn what_is_forgotten_by_name_is_a_miss() {
    let bed = Bed::new(100);
    bed.verify(&ALICE, b"secret", 0, true);
    bed.binds.forget(&ALICE);
    assert!(!bed.is_verified(&ALICE, b"secret", 1));
}

#[test]
fn it_is_bounded_and_the_oldest_go_first() {
    let bed = Bed::new(16 * 8);
    let uuid = |number: u32| {
        let mut uuid = [0u8; 16];
        uuid[12..].copy_from_slice(&number.wrapping_mul(2_654_435_761).to_le_bytes());
        uuid
    };
    for number in 0..10_000 {
        bed.verify(&uuid(number), b"secret", 0, true);
        assert!(bed.is_verified(&uuid(number), b"secret", 0), "the newest stays");
    }
    let counts = bed.binds.counts();
    assert!(counts.entries <= 16 * 8, "{counts:?}");
    assert_eq!(counts.evicted, 10_000 - counts.entries);
    assert!(!bed.is_verified(&uuid(0), b"secret", 0));
    // One entry that is verified again and again does not use up memory either.
    for round in 0..10_000 {
        bed.verify(&ALICE, b"secret", round * 300, true);
    }
    assert!(bed.binds.order_len() <= 16 * 8, "{}", bed.binds.order_len());
    assert!(bed.is_verified(&ALICE, b"secret", 9_999 * 300));
}

#[test]
fn old_ones_are_removed_without_being_asked_for() {
    let bed = Bed::new(1_000_000);
    for number in 0..1000u32 {
        let mut uuid = [0u8; 16];
        uuid[..4].copy_from_slice(&number.to_le_bytes());
        bed.verify(&uuid, b"secret", 0, true);
    }
    for number in 0..1000u32 {
        let mut uuid = [1u8; 16];
        uuid[..4].copy_from_slice(&number.to_le_bytes());
        bed.verify(&uuid, b"secret", 300, true);
    }
    let counts = bed.binds.counts();
    assert_eq!((counts.entries, counts.evicted), (1000, 0));
}

#[test]
fn the_same_password_is_verified_once_at_a_time() {
    for (is_right, verdict) in [(true, Verdict::Right), (false, Verdict::Wrong)] {
        let bed = Bed::new(100);
        let LookUp::Verify(verification) = bed.look_up(&ALICE, b"secret", 0) else { panic!() };
        let (sender, receiver) = mpsc::channel();
        for _ in 0..50 {
            let claim = Claim { uuid: &ALICE, stored: &bed.stored, changed: b"2026", password: b"secret" };
            let sender = sender.clone();
            let found = bed.binds.look_up(&claim, bed.at(0), || Box::new(move |verdict| sender.send(verdict).unwrap()));
            assert!(matches!(found, LookUp::Waiting));
        }
        assert!(matches!(bed.look_up(&ALICE, b"other", 0), LookUp::Verify(_)), "another password does not wait");
        assert!(matches!(bed.look_up(&BEN, b"secret", 0), LookUp::Verify(_)), "another entry does not wait");
        assert!(receiver.try_recv().is_err(), "nobody is answered before the end");
        verification.end(is_right, bed.at(0));
        assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [verdict; 50]);
        assert_eq!(bed.binds.counts().shared, 50);
        assert_eq!(bed.is_verified(&ALICE, b"secret", 0), is_right);
    }
}

#[test]
fn who_waits_is_told_when_the_verification_does_not_take_place() {
    let bed = Bed::new(100);
    let LookUp::Verify(verification) = bed.look_up(&ALICE, b"secret", 0) else { panic!() };
    let (sender, receiver) = mpsc::channel();
    let claim = Claim { uuid: &ALICE, stored: &bed.stored, changed: b"2026", password: b"secret" };
    let found = bed.binds.look_up(&claim, bed.at(0), || Box::new(move |verdict| sender.send(verdict).unwrap()));
    assert!(matches!(found, LookUp::Waiting));
    drop(verification);
    assert_eq!(receiver.try_recv(), Ok(Verdict::NotVerified));
    assert!(matches!(bed.look_up(&ALICE, b"secret", 0), LookUp::Verify(_)), "the next one verifies");
}

/// Threads with the right password and a wrong one in turn: nobody is let in with a wrong one, nobody waits for ever.
#[test]
fn threads_get_the_answer_that_belongs_to_their_password() {
    let bed = Bed::new(100);
    let verifications = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8u8 {
            let (bed, verifications) = (&bed, &verifications);
            scope.spawn(move || {
                for round in 0..200u8 {
                    let is_right = (thread ^ round) % 4 != 0;
                    let password: &[u8] = if is_right { b"secret" } else { b"guess" };
                    let claim = Claim { uuid: &ALICE, stored: &bed.stored, changed: b"2026", password };
                    let (sender, receiver) = mpsc::channel();
                    let waiter = || Box::new(move |verdict| sender.send(verdict).unwrap()) as Waiter;
                    let found = match bed.binds.look_up(&claim, bed.at(0), waiter) {
                        LookUp::Verified => true,
                        LookUp::Waiting => receiver.recv().unwrap() == Verdict::Right,
                        LookUp::Verify(verification) => {
                            verifications.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                            verification.end(is_right, bed.at(0));
                            is_right
                        }
                    };
                    assert_eq!(found, is_right);
                }
            });
        }
    });
    let counts = bed.binds.counts();
    assert_eq!(counts.right + counts.wrong, verifications.into_inner() as u64);
    assert_eq!(counts.hits + counts.misses, 8 * 200);
}
