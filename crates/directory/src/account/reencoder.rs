//! Passwords in deprecated schemes, stored anew after a bind with the right password.
//!
//! A thread of its own makes the new values, so that no bind waits for them: at most [`A_SECOND`] accounts a second,
//! and in half of its time. What it makes is given to the [`StateWriter`]; `change::apply` puts it in the place of the
//! old value only if that is still there, so that a password that was changed meanwhile stays as it is. What is let go
//! because too many wait comes with the next bind.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use accounts::{PasswordPolicy, StateChange};
use password::{Parameters, StoredScheme};
use query::entry_place::EntryPlace;
use query::monitor_entry::MonitorEntry;
use zeroize::Zeroizing;

use super::pending::{StateOf, StateWrite};
use super::state_writer::StateWriter;

/// Accounts whose password is stored anew in a second, at most.
const A_SECOND: u32 = 20;

/// Accounts that wait, at most: their passwords are in memory in clear.
const WAITING_MAX: usize = 64;

/// A password that was right, of an account that has it in a deprecated scheme.
pub(crate) struct Reencoding {
    pub(crate) place: EntryPlace,
    pub(crate) entry_uuid: [u8; 16],
    /// All that is stored.
    pub(crate) stored: Vec<Vec<u8>>,
    pub(crate) clear: Zeroizing<Vec<u8>>,
    pub(crate) policy: Arc<PasswordPolicy>,
    /// What new values cost.
    pub(crate) parameters: Parameters,
}

/// See the module.
pub(crate) struct Reencoder {
    shared: Arc<Shared>,
}

struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    states: StateWriter,
    made: AtomicU64,
    let_go: AtomicU64,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Reencoding>,
    /// Of those that wait.
    places: HashSet<EntryPlace>,
    thread: Option<JoinHandle<()>>,
    ends: bool,
}

/// Whether something is stored that the policy calls deprecated.
pub(crate) fn has_deprecated(policy: &PasswordPolicy, stored: &[Vec<u8>]) -> bool {
    !policy.deprecated_schemes.is_empty() && stored.iter().any(|stored| is_deprecated(policy, stored))
}

fn is_deprecated(policy: &PasswordPolicy, stored: &[u8]) -> bool {
    StoredScheme::of(stored).is_some_and(|scheme| policy.deprecated_schemes.contains(&scheme))
}

impl Reencoding {
    /// As OpenDJ: of the values that are this password the deprecated ones go, and those of default schemes come that
    /// are not there yet.
    fn changes(&self) -> Vec<StateChange> {
        let is_it = |stored: &&Vec<u8>| self.stored.len() == 1 || password::verify(stored, &self.clear);
        let (old, kept): (Vec<&Vec<u8>>, Vec<&Vec<u8>>) =
            self.stored.iter().filter(is_it).partition(|stored| is_deprecated(&self.policy, stored));
        let is_there = |scheme: StoredScheme| kept.iter().any(|stored| StoredScheme::of(stored) == Some(scheme));
        let missing = self.policy.default_schemes.iter().filter(|scheme| !is_there(StoredScheme::New(**scheme)));
        let new = missing.map(|scheme| password::encode_random(*scheme, &self.parameters, &self.clear));
        // A password that the new scheme does not take stays as it is.
        let Ok(new) = new.collect::<Result<Vec<_>, _>>() else { return Vec::new() };
        let attribute = &self.policy.password_attribute;
        let change =
            |old: &Vec<u8>| StateChange::Reencode { attribute: attribute.clone(), old: old.clone(), new: new.clone() };
        old.into_iter().map(change).collect()
    }
}

impl Reencoder {
    pub(crate) fn new(states: StateWriter) -> Reencoder {
        let (made, let_go) = (AtomicU64::default(), AtomicU64::default());
        Reencoder { shared: Arc::new(Shared { queue: Mutex::default(), wake: Condvar::new(), states, made, let_go }) }
    }

    /// Has a password stored anew; never waits.
    pub(crate) fn take(&self, wanted: Reencoding) {
        let shared = &self.shared;
        let queue = &mut *shared.lock();
        if queue.places.contains(&wanted.place) {
            return;
        }
        if queue.ends || queue.waiting.len() >= WAITING_MAX {
            shared.let_go.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if queue.thread.is_none() {
            let own = Arc::clone(shared);
            let started = std::thread::Builder::new().name("reencoding".to_owned()).spawn(move || own.run());
            let Ok(thread) = started else {
                shared.let_go.fetch_add(1, Ordering::Relaxed);
                return;
            };
            queue.thread = Some(thread);
        }
        queue.places.insert(wanted.place);
        queue.waiting.push_back(wanted);
        shared.wake.notify_one();
    }

    pub(crate) fn tell(&self, entry: MonitorEntry) -> MonitorEntry {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        entry.with("passwords-reencoded", get(&self.shared.made)).with("reencodings-let-go", get(&self.shared.let_go))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        loop {
            let mut queue = self.lock();
            while queue.waiting.is_empty() && !queue.ends {
                queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            if queue.ends {
                return;
            }
            let Some(wanted) = queue.waiting.pop_front() else { continue };
            queue.places.remove(&wanted.place);
            drop(queue);
            let begun = Instant::now();
            let changes = wanted.changes();
            if !changes.is_empty() {
                self.made.fetch_add(1, Ordering::Relaxed);
                let Reencoding { place, entry_uuid, .. } = wanted;
                self.states.write(StateWrite {
                    of: StateOf::Entry(place, entry_uuid),
                    changes,
                    guess: None,
                    done: None,
                });
            }
            let rest = begun.elapsed().max((Duration::from_secs(1) / A_SECOND).saturating_sub(begun.elapsed()));
            let queue = self.lock();
            drop(self.wake.wait_timeout_while(queue, rest, |queue| !queue.ends));
        }
    }
}

impl Drop for Reencoder {
    fn drop(&mut self) {
        let thread = {
            let queue = &mut *self.shared.lock();
            queue.ends = true;
            queue.waiting.clear();
            queue.thread.take()
        };
        self.shared.wake.notify_all();
        if let Some(thread) = thread {
            // One that panicked has ended, too.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use password::Scheme;
    use query::backend::BackendIndex;
    use store::EntryId;

    use super::*;

    fn stored(scheme: Scheme, clear: &str) -> Vec<u8> {
        password::encode_random(scheme, &Parameters::default(), clear.as_bytes()).unwrap()
    }

    fn reencoding(values: &[&Vec<u8>]) -> Reencoding {
        let policy = PasswordPolicy {
            default_schemes: vec![Scheme::SaltedSha512, Scheme::SaltedSha256],
            deprecated_schemes: vec![StoredScheme::New(Scheme::SaltedMd5), StoredScheme::New(Scheme::Clear)],
            ..PasswordPolicy::default()
        };
        Reencoding {
            place: EntryPlace { backend: BackendIndex(0), id: EntryId(1) },
            entry_uuid: [1; 16],
            stored: values.iter().map(|value| (*value).clone()).collect(),
            clear: b"secret".to_vec().into(),
            policy: Arc::new(policy),
            parameters: Parameters::default(),
        }
    }

    /// What goes, and the schemes that come.
    fn changed(values: &[&Vec<u8>]) -> (Vec<Vec<u8>>, Vec<Option<Scheme>>) {
        let (mut gone, mut come) = (Vec::new(), Vec::new());
        for change in reencoding(values).changes() {
            let StateChange::Reencode { attribute, old, new } = change else { panic!("{change:?}") };
            assert_eq!(attribute, "userPassword");
            assert!(new.iter().all(|new| password::verify(new, b"secret")));
            gone.push(old);
            come = new.iter().map(|new| password::scheme_of(new)).collect();
        }
        (gone, come)
    }

    #[test]
    fn deprecated_forms_of_the_password_go_and_default_ones_come() {
        let (old, other) = (stored(Scheme::SaltedMd5, "secret"), stored(Scheme::SaltedMd5, "other"));
        let (clear, kept) = (b"secret".to_vec(), stored(Scheme::SaltedSha256, "secret"));
        let both = vec![Some(Scheme::SaltedSha512), Some(Scheme::SaltedSha256)];
        assert_eq!(changed(&[&old]), (vec![old.clone()], both.clone()));
        assert_eq!(changed(&[&old, &other, &clear]), (vec![old.clone(), clear.clone()], both));
        assert_eq!(changed(&[&kept, &old]), (vec![old.clone()], vec![Some(Scheme::SaltedSha512)]));
        assert_eq!(changed(&[&kept, &other]), (vec![], vec![]));
        let it = reencoding(&[&kept]);
        assert!(has_deprecated(&it.policy, &[kept.clone(), old]) && !has_deprecated(&it.policy, &[kept]));
    }
}
