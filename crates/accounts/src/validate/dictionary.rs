//! The rule that a password is no word.

use std::collections::{BTreeSet, HashSet};
use std::io::{self, BufRead};
use std::sync::Arc;

use super::fault::PasswordFault;
use super::text::reversed;

/// Words, one a line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dictionary {
    words: HashSet<Box<str>>,
    /// How many characters words have.
    lengths: BTreeSet<usize>,
    case_sensitive: bool,
}

/// How a password is looked for in a dictionary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DictionaryRule {
    /// The words.
    pub words: Arc<Dictionary>,
    /// The password written backwards is looked for, too.
    pub test_reversed: bool,
    /// Parts of the password are looked for, too …
    pub check_substrings: bool,
    /// … of at least so many characters.
    pub min_substring_length: u32,
}

impl Dictionary {
    /// Reads words, one a line; upper and lower case are the same unless `case_sensitive`.
    pub fn read(lines: impl BufRead, case_sensitive: bool) -> io::Result<Dictionary> {
        let mut found = Dictionary { words: HashSet::new(), lengths: BTreeSet::new(), case_sensitive };
        for line in lines.lines() {
            let line = line?;
            let word = line.trim_end_matches('\r');
            if word.is_empty() {
                continue;
            }
            let word = if case_sensitive { word.to_owned() } else { word.to_lowercase() };
            found.lengths.insert(word.chars().count());
            found.words.insert(word.into_boxed_str());
        }
        Ok(found)
    }

    /// How many words it has.
    #[must_use]
    pub fn words(&self) -> usize {
        self.words.len()
    }
}

impl DictionaryRule {
    pub(super) fn check(&self, password: &str) -> Result<(), PasswordFault> {
        let lowered = if self.words.case_sensitive { password.to_owned() } else { password.to_lowercase() };
        let is_found = self.finds(&lowered) || (self.test_reversed && self.finds(&reversed(&lowered)));
        if is_found { Err(PasswordFault::InDictionary) } else { Ok(()) }
    }

    fn finds(&self, password: &str) -> bool {
        let dictionary = &*self.words;
        if dictionary.words.contains(password) {
            return true;
        }
        if !self.check_substrings {
            return false;
        }
        let min = usize::try_from(self.min_substring_length.max(1)).unwrap_or(usize::MAX);
        let bounds: Vec<usize> = password.char_indices().map(|(at, _)| at).chain([password.len()]).collect();
        let is_word = |from: usize, to: usize| match (bounds.get(from), bounds.get(to)) {
            (Some(from), Some(to)) => password.get(*from..*to).is_some_and(|part| dictionary.words.contains(part)),
            _ => false,
        };
        // Only parts as long as a word is are looked up: one long word must not make all passwords slow.
        dictionary.lengths.range(min..bounds.len()).any(|length| (0..bounds.len()).any(|at| is_word(at, at + length)))
    }
}
