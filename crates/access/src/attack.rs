//! One attack on passwords: what is said of it when it begins and when it has ended.
//!
//! Knows nothing of when it is one.

use std::fmt;
use std::time::Instant;

/// Names or addresses that are named beside the attacked or attacking one.
const OTHERS_MAX: usize = 5;
/// Octets of a name that are kept: names are what clients send.
const NAME_MAX: usize = 200;

/// What a guess is a part of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Attacked<'a> {
    /// Many guesses from one address.
    FromAddress { address: &'a str, name: &'a str },
    /// Many guesses for one name.
    ForName { name: &'a str, address: &'a str },
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Attack {
    of: String,
    is_by_address: bool,
    since: Instant,
    wrong: u64,
    refused: u64,
    others: Vec<String>,
    has_more: bool,
}

/// What there is to say of an attack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttackEvent {
    /// It has begun.
    Begun(String),
    /// It has ended.
    Ended(String),
}

impl fmt::Display for AttackEvent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttackEvent::Begun(text) | AttackEvent::Ended(text) => out.write_str(text),
        }
    }
}

impl Attacked<'_> {
    fn parts(&self) -> (&str, &str) {
        match self {
            Attacked::FromAddress { address, name } => (address, name),
            Attacked::ForName { name, address } => (name, address),
        }
    }
}

impl Attack {
    /// It begins with a guess, after so many wrong ones.
    pub(crate) fn begin(guess: &Attacked<'_>, wrong: u64, now: Instant) -> Attack {
        let (of, _) = guess.parts();
        let is_by_address = matches!(guess, Attacked::FromAddress { .. });
        let (of, others) = (short(of), Vec::new());
        let mut attack = Attack { of, is_by_address, since: now, wrong, refused: 0, others, has_more: false };
        attack.note(guess);
        attack
    }

    /// Another wrong password.
    pub(crate) fn wrong(&mut self, guess: &Attacked<'_>) {
        self.wrong += 1;
        self.note(guess);
    }

    /// A guess that was not made.
    pub(crate) fn refused(&mut self) {
        self.refused += 1;
    }

    fn note(&mut self, guess: &Attacked<'_>) {
        let (_, other) = guess.parts();
        let other = short(other);
        if other.is_empty() || self.others.contains(&other) {
            return;
        }
        if self.others.len() < OTHERS_MAX { self.others.push(other) } else { self.has_more = true }
    }

    pub(crate) fn begun(&self) -> AttackEvent {
        let last = match (self.others.first(), self.is_by_address) {
            (Some(name), true) => format!(", the last for \"{name}\""),
            (Some(address), false) => format!(", the last from {address}"),
            (None, _) => String::new(),
        };
        let wrong = self.wrong;
        AttackEvent::Begun(format!("Passwords are being guessed {self}: {wrong} wrong ones within a minute{last}"))
    }

    pub(crate) fn ended(&self, now: Instant) -> AttackEvent {
        let seconds = now.saturating_duration_since(self.since).as_secs();
        let quoted = |other: &String| if self.is_by_address { format!("\"{other}\"") } else { other.clone() };
        let mut others = self.others.iter().map(quoted).collect::<Vec<_>>().join(", ");
        if self.has_more {
            others.push_str(" and others");
        }
        let others = match (others.is_empty(), self.is_by_address) {
            (true, _) => String::new(),
            (false, true) => format!(", for {others}"),
            (false, false) => format!(", from {others}"),
        };
        let refused = match self.refused {
            0 => String::new(),
            1 => "; 1 further guess was refused".to_owned(),
            more => format!("; {more} further guesses were refused"),
        };
        let wrong = self.wrong;
        AttackEvent::Ended(format!(
            "Passwords are no longer guessed {self}: {wrong} were wrong in {seconds} s{others}{refused}"
        ))
    }
}

impl fmt::Display for Attack {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_by_address { write!(out, "from {}", self.of) } else { write!(out, "for \"{}\"", self.of) }
    }
}

/// Names as they may stand in a line of a log.
fn short(name: &str) -> String {
    let kept = name.char_indices().take_while(|(at, _)| *at < NAME_MAX).map(|(_, one)| one);
    kept.map(|one| if one.is_control() || one == '"' { '?' } else { one }).collect()
}
