//! Whether a new password obeys the rules.

use std::collections::HashSet;

use super::fault::PasswordFault;
use super::rule::{AttributeValueRule, ValidatorRule};
use super::text::{difference, folded, reversed};

/// What the rules look at beside the new password.
pub struct Surroundings<'a> {
    /// Current passwords that are known as clear text: the old one that the client sent.
    pub known: &'a [&'a [u8]],
    /// The entry as it will be.
    pub entry: &'a dyn EntryValues,
}

/// The values of an entry.
pub trait EntryValues {
    /// Gives the values of an attribute, or of every user attribute that holds no password.
    fn each(&self, attribute: Option<&str>, take: &mut dyn FnMut(&[u8]));
}

/// No entry: nothing is compared with it.
pub struct NoEntry;

impl EntryValues for NoEntry {
    fn each(&self, _: Option<&str>, _: &mut dyn FnMut(&[u8])) {}
}

/// Whether a password obeys all the rules. Bytes that are no UTF-8 count as one character each.
pub fn check_password(
    rules: &[ValidatorRule],
    password: &[u8],
    around: &Surroundings<'_>,
) -> Result<(), PasswordFault> {
    let text = String::from_utf8_lossy(password);
    rules.iter().try_for_each(|rule| check_rule(rule, password, &text, around))
}

fn check_rule(
    rule: &ValidatorRule,
    password: &[u8],
    text: &str,
    around: &Surroundings<'_>,
) -> Result<(), PasswordFault> {
    match rule {
        ValidatorRule::Length { min, max } => check_length(text, *min, *max),
        ValidatorRule::CharacterSets(sets) => sets.check(text),
        ValidatorRule::RepeatedCharacters { max_run, case_sensitive } => {
            check_runs(&cased(text, *case_sensitive), *max_run)
        }
        ValidatorRule::UniqueCharacters { min, case_sensitive } => {
            let mut characters = cased(text, *case_sensitive);
            characters.sort_unstable();
            characters.dedup();
            let unique = characters.len();
            if is_less(unique, *min) { Err(PasswordFault::TooFewUnique { unique, min: *min }) } else { Ok(()) }
        }
        ValidatorRule::Similarity { min_difference } => {
            let min = *min_difference;
            let is_similar = |known: &&[u8]| is_less(difference(&String::from_utf8_lossy(known), text), min);
            if around.known.iter().any(is_similar) { Err(PasswordFault::TooSimilar { min }) } else { Ok(()) }
        }
        ValidatorRule::AttributeValue(rule) => check_entry(rule, text, around.entry),
        ValidatorRule::Dictionary(rule) => rule.check(text),
        ValidatorRule::Breached(list) => match list.has(password) {
            Ok(false) => Ok(()),
            Ok(true) => Err(PasswordFault::Breached),
            Err(error) => Err(PasswordFault::NotChecked { list: format!("{}: {error}", list.name()) }),
        },
        ValidatorRule::Quality(rule) => rule.check(text),
    }
}

fn check_length(text: &str, min: u32, max: u32) -> Result<(), PasswordFault> {
    let length = text.chars().count();
    if is_less(length, min) {
        return Err(PasswordFault::TooShort { length, min });
    }
    if max > 0 && !is_less(length, max.saturating_add(1)) {
        return Err(PasswordFault::TooLong { length, max });
    }
    Ok(())
}

fn check_runs(characters: &[char], max: u32) -> Result<(), PasswordFault> {
    let run =
        characters.chunk_by(|one, next| one == next).find(|run| max > 0 && !is_less(run.len(), max.saturating_add(1)));
    match run.and_then(|run| run.first()) {
        Some(&character) => Err(PasswordFault::Repeated { character, max }),
        None => Ok(()),
    }
}

fn cased(text: &str, case_sensitive: bool) -> Vec<char> {
    if case_sensitive { text.chars().collect() } else { folded(text) }
}

/// Upper and lower case are the same here, whatever the attribute's matching rule says: who guesses tries both.
fn check_entry(rule: &AttributeValueRule, text: &str, entry: &dyn EntryValues) -> Result<(), PasswordFault> {
    let forward: String = folded(text).into_iter().collect();
    let backward = rule.test_reversed.then(|| reversed(&forward));
    let looked_for: Vec<&str> = [Some(forward.as_str()), backward.as_deref()].into_iter().flatten().collect();
    let mut is_found = false;
    let mut look = |value: &[u8]| {
        let Ok(value) = std::str::from_utf8(value) else { return };
        if !is_found {
            let value: String = folded(value.trim()).into_iter().collect();
            is_found = looked_for.iter().any(|password| {
                *password == value || (rule.check_substrings && shares(password, &value, rule.min_substring_length))
            });
        }
    };
    if rule.attributes.is_empty() {
        entry.each(None, &mut look);
    }
    rule.attributes.iter().for_each(|attribute| entry.each(Some(attribute), &mut look));
    if is_found { Err(PasswordFault::InEntry) } else { Ok(()) }
}

/// Whether a part of the password, of so many characters, is a part of the value. The time grows with the length of
/// both, not with their product: users write values of any length.
fn shares(password: &str, value: &str, length: u32) -> bool {
    let length = usize::try_from(length.max(1)).unwrap_or(usize::MAX);
    let parts: HashSet<&str> = parts_of(password, length).collect();
    !parts.is_empty() && parts_of(value, length).any(|part| parts.contains(part))
}

/// The parts of so many characters, one from each character on.
fn parts_of(text: &str, length: usize) -> impl Iterator<Item = &str> {
    let starts = text.char_indices().map(|(at, _)| at);
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]).skip(length);
    starts.zip(ends).filter_map(|(from, to)| text.get(from..to))
}

fn is_less(length: usize, limit: u32) -> bool {
    u32::try_from(length).is_ok_and(|length| length < limit)
}
