//! The watch over the writers: a writer that hangs is reported while it hangs, not only when its updates end, and one
//! that stopped is reported once. Attacks on passwords are reported when they begin and when they have ended.
//!
//! Knows what a writer says it does, attacks, and the error log.

use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use directory::{AttackEvent, Directory};
use runtime::log::message::MessageKind;
use runtime::periodic::Periodic;
use store::{DiskTrouble, Doing};

use crate::messages;
use crate::stalls::Stalls;

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A writer that does one thing for so long hangs; the next line comes when it is twice as long.
const HANG_FROM: Duration = Duration::from_secs(2);

/// What is remembered of one writer between two looks.
#[derive(Debug, Default)]
struct Hang {
    /// How long it had hung when that was told last; nothing when it does not.
    told: Duration,
}

impl Hang {
    /// Whether a line is due.
    fn is_due(&mut self, doing: Doing, time: Duration) -> bool {
        // Waiting for folds is bounded, and everything counts anew with each batch.
        if doing == Doing::Nothing || time < HANG_FROM || time < self.told {
            self.told = Duration::ZERO;
        }
        let is_due = doing != Doing::Nothing && time >= HANG_FROM && time >= self.told * 2;
        if is_due {
            self.told = time;
        }
        is_due
    }
}

/// What the disk of one backend refused when it was looked at last.
#[derive(Debug, Default)]
struct Trouble(Option<DiskTrouble>);

impl Trouble {
    /// What is to be told, once, of what it refuses now.
    fn news(&mut self, backend: &str, now: Option<DiskTrouble>) -> Option<(MessageKind, String)> {
        if now == self.0 {
            return None;
        }
        self.0 = now;
        Some(match &self.0 {
            Some(DiskTrouble::Log(error)) => (
                messages::LOG_NOT_WRITTEN,
                format!("Backend \"{backend}\" refuses updates until its log can be written: {error}"),
            ),
            Some(DiskTrouble::Database(error)) => (
                messages::DATABASE_NOT_WRITTEN,
                format!("Backend \"{backend}\" cannot write its database, and tries again: {error}"),
            ),
            None => (messages::WRITTEN_AGAIN, format!("Backend \"{backend}\" writes to its disk again")),
        })
    }
}

/// The sentence about a writer.
struct Hanging<'h>(&'h str, Doing, Duration, u64);

impl fmt::Display for Hanging<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(backend, doing, time, waiting) = self;
        let (what, advice) = match doing {
            Doing::Sync => ("has waited for the disk of its log", "see whether that disk is busy or failing"),
            Doing::Apply => ("has applied one batch", "see in the access log which update has no answer yet"),
            Doing::Slowed => ("has waited for folds", "see whether the disk of its database is busy or failing"),
            Doing::Rebind => ("has taken a new schema", "it goes on by itself"),
            Doing::Nothing | Doing::Answer => ("has answered updates", "see whether the processors are overloaded"),
        };
        let seconds = time.as_secs();
        write!(
            out,
            "The writer of backend \"{backend}\" {what} for {seconds} s, and {waiting} updates wait behind: {advice}"
        )
    }
}

/// Looks at the writers of a directory from now on. Hangs are reported unless stalls are not.
pub(crate) fn watch(directory: Arc<Directory>, stalls: Arc<Stalls>) -> io::Result<Periodic> {
    let mut hangs: Vec<Hang> = directory.backends().iter().map(|_| Hang::default()).collect();
    let mut reported = vec![false; hangs.len()];
    let mut troubles: Vec<Trouble> = hangs.iter().map(|_| Trouble::default()).collect();
    Periodic::start("watch", LOOK_EVERY, move || {
        for event in directory.attacks() {
            let kind = match &event {
                AttackEvent::Begun(_) => messages::PASSWORD_ATTACK,
                AttackEvent::Ended(_) => messages::PASSWORD_ATTACK_ENDED,
            };
            stalls.errors().report(kind, event);
        }
        let watched = hangs.iter_mut().zip(&mut reported).zip(&mut troubles);
        for (backend, ((hang, reported), trouble)) in directory.backends().iter().zip(watched) {
            if let Some(stopped) = backend.store.updates_stopped()
                && !std::mem::replace(reported, true)
            {
                let sentence = format_args!("Backend \"{}\": {stopped}", backend.id);
                stalls.errors().report(messages::UPDATES_STOPPED, sentence);
            }
            if let Some((kind, text)) = trouble.news(&backend.id, backend.store.trouble()) {
                stalls.errors().report(kind, text);
            }
            let (doing, time, waiting) = backend.store.doing();
            if hang.is_due(doing, time) && stalls.is_long(time) {
                let sentence = Hanging(&backend.id, doing, time, waiting);
                stalls.errors().report(messages::WRITER_HANGS, sentence);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use runtime::log::message::Severity;
    use store::StoreError;

    use super::*;

    #[test]
    fn a_hang_is_told_at_once_and_then_ever_more_rarely() {
        let seconds = Duration::from_secs;
        let mut hang = Hang::default();
        let told: Vec<u64> = (0..60).filter(|second| hang.is_due(Doing::Sync, seconds(*second))).collect();
        assert_eq!(told, [2, 4, 8, 16, 32]);
        // It came back, and hangs again.
        assert!(!hang.is_due(Doing::Sync, seconds(1)) && !hang.is_due(Doing::Nothing, seconds(0)));
        assert!(hang.is_due(Doing::Apply, seconds(3)) && !hang.is_due(Doing::Apply, seconds(4)));
        // Between two looks it came back and hung again.
        assert!(hang.is_due(Doing::Sync, seconds(2)));
    }

    #[test]
    fn what_the_disk_refuses_is_told_once_and_so_is_its_end() {
        let mut trouble = Trouble::default();
        let full = || Some(DiskTrouble::Log(StoreError::DiskFull { what: "log" }));
        assert_eq!(trouble.news("userRoot", None), None);
        let (kind, text) = trouble.news("userRoot", full()).unwrap();
        assert_eq!((kind.id, kind.severity), (80, Severity::Error));
        assert_eq!(text, "Backend \"userRoot\" refuses updates until its log can be written: the disk is full (log)");
        assert_eq!(trouble.news("userRoot", full()), None);
        let (kind, _) = trouble.news("userRoot", None).unwrap();
        assert_eq!((kind.id, kind.severity), (82, Severity::Notice));
    }

    #[test]
    fn the_sentence_names_the_backend_and_the_reason() {
        let sentence = Hanging("userRoot", Doing::Sync, Duration::from_millis(4_200), 37).to_string();
        let expected = "The writer of backend \"userRoot\" has waited for the disk of its log for 4 s, and 37 updates \
            wait behind: see \
                        whether that disk is busy or failing";
        assert_eq!(sentence, expected);
    }
}
