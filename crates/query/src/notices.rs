//! What an administrator should know and no client is told: one sentence each, for the error log.
//!
//! Knows no log: whoever serves the directory says where sentences go. What comes before waits for it.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Matters of one kind that are remembered, so that each is told once.
const REMEMBERED_MAX: usize = 10_000;

/// Sentences that wait until somebody says where they go.
const WAITING_MAX: usize = 100;

/// What a sentence is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NoticeKind {
    /// An entry that gives something to others (group, role, Class of Service) does not, or not as it is written.
    Definition,
    /// The history of changes: what is damaged in it, or cannot be let go.
    History,
    /// Persistent searches that cannot go on.
    PersistentSearch,
    /// Attributes that other servers obey and this one does not yet.
    NotObeyed,
    /// Access control instructions that name what is not there.
    Instruction,
    /// Dynamic entries whose time is over and that stay.
    Expiry,
    /// Proposed access control instructions that are not tried.
    Proposal,
    /// Access control instructions that are found slowly.
    AccessControl,
    /// One-time codes: the key that is missing, and who guesses them.
    SecondFactor,
    /// Root users whom wrong passwords lock.
    RootAccount,
    /// The keys that tokens are signed with: a replaced file that cannot be used.
    TokenKeys,
    /// What clients call a user by, and several entries have.
    SharedName,
    /// A list of known passwords that is in use.
    BreachList,
    /// A list of known passwords that cannot be searched.
    BreachListFault,
}

/// Takes a sentence.
pub type Tell = Box<dyn Fn(NoticeKind, &str) + Send + Sync>;

/// Where sentences go.
#[derive(Default)]
pub struct Notices {
    tell: OnceLock<Tell>,
    told: Mutex<HashMap<NoticeKind, HashSet<String>>>,
    waiting: Mutex<Vec<(NoticeKind, String)>>,
}

impl Notices {
    /// Sets it; a second one is refused.
    pub fn set(&self, tell: Tell) {
        let _ = self.tell.set(tell);
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        waiting.iter().for_each(|(kind, sentence)| self.warn(*kind, sentence));
    }

    /// Tells something that is wrong while the server goes on.
    pub fn warn(&self, kind: NoticeKind, sentence: &str) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match self.tell.get() {
            Some(tell) => {
                drop(waiting);
                tell(kind, sentence);
            }
            None if waiting.len() < WAITING_MAX => waiting.push((kind, sentence.to_owned())),
            None => {}
        }
    }

    /// The same of a definition, unless it was told before.
    pub fn warn_once(&self, sentence: String) {
        self.warn_once_of(NoticeKind::Definition, sentence);
    }

    /// Tells something unless it was told before.
    pub fn warn_once_of(&self, kind: NoticeKind, sentence: String) {
        if self.is_first(kind, &sentence) {
            self.warn(kind, &sentence);
        }
    }

    /// Tells something unless something was told before of the same matter.
    pub fn warn_first_of(&self, kind: NoticeKind, matter: &str, sentence: impl FnOnce() -> String) {
        if self.is_first(kind, matter) {
            self.warn(kind, &sentence());
        }
    }

    fn is_first(&self, kind: NoticeKind, matter: &str) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let told = told.entry(kind).or_default();
        told.len() < REMEMBERED_MAX && !told.contains(matter) && told.insert(matter.to_owned())
    }
}

impl fmt::Debug for Notices {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Notices({})", self.tell.get().is_some())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn what_comes_before_the_log_waits_for_it() {
        let notices = Notices::default();
        notices.warn(NoticeKind::History, "first");
        (0..2 * WAITING_MAX).for_each(|at| notices.warn(NoticeKind::History, &at.to_string()));
        let told = Arc::new(Mutex::new(Vec::new()));
        let keeper = Arc::clone(&told);
        notices.set(Box::new(move |kind, sentence| keeper.lock().unwrap().push((kind, sentence.to_owned()))));
        notices.warn_once("last".to_owned());
        notices.warn_once("last".to_owned());
        for entry in ["ann", "ben"] {
            notices.warn_first_of(NoticeKind::SharedName, "last", || format!("{entry} has it"));
        }
        let told = told.lock().unwrap();
        assert_eq!((&told[0], told.len()), (&(NoticeKind::History, "first".to_owned()), WAITING_MAX + 2));
        let last = [(NoticeKind::Definition, "last".to_owned()), (NoticeKind::SharedName, "ann has it".to_owned())];
        assert_eq!(told[WAITING_MAX..], last);
    }
}
