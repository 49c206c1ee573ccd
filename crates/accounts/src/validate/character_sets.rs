//! The rule that a password has characters of certain sets.

use super::fault::PasswordFault;

/// Sets of characters, and how many of each a password needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CharacterSets {
    /// Sets before ranges, each in the order of the configuration: a character belongs to the first that has it.
    pub sets: Vec<CharacterSet>,
    /// Characters that are in no set are allowed.
    pub allow_unclassified: bool,
    /// So many sets must be used, optional ones counted; none: one optional set, if there are any.
    pub min_character_sets: Option<u32>,
}

/// A set of characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CharacterSet {
    /// So many characters of it are needed; 0: it is optional.
    min: u32,
    /// As it was written.
    shown: String,
    /// First and last of each range, in ascending order.
    ranges: Vec<(char, char)>,
}

/// Why a value is no character set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CharacterSetError {
    /// No number before a colon.
    #[error("\"{0}\" is not of the form MIN:CHARACTERS, such as 1:0123456789")]
    Form(String),
    /// A set of nothing.
    #[error("\"{0}\" has no characters after the colon")]
    Empty(String),
    /// Something that is no range.
    #[error("\"{0}\" is not of the form MIN:RANGES with ranges such as a-z, one after the other: 2:a-zA-Z")]
    Range(String),
}

impl CharacterSet {
    /// A value of `character-set`: `MIN:CHARACTERS`.
    pub fn of_characters(value: &str) -> Result<CharacterSet, CharacterSetError> {
        let (min, characters) = split(value)?;
        Ok(CharacterSet::new(min, characters, characters.chars().map(|character| (character, character)).collect()))
    }

    /// A value of `character-set-ranges`: `MIN:a-zA-Z`.
    pub fn of_ranges(value: &str) -> Result<CharacterSet, CharacterSetError> {
        let (min, text) = split(value)?;
        let characters: Vec<char> = text.chars().collect();
        let range = |triple: &[char]| match triple {
            [first, '-', last] if first <= last => Ok((*first, *last)),
            _ => Err(CharacterSetError::Range(value.to_owned())),
        };
        let ranges = characters.chunks(3).map(range).collect::<Result<_, _>>()?;
        Ok(CharacterSet::new(min, text, ranges))
    }

    fn new(min: u32, shown: &str, mut ranges: Vec<(char, char)>) -> CharacterSet {
        ranges.sort_unstable();
        CharacterSet { min, shown: shown.to_owned(), ranges }
    }

    fn has(&self, character: char) -> bool {
        let after = self.ranges.partition_point(|(first, _)| *first <= character);
        self.ranges[..after].iter().rev().any(|(_, last)| character <= *last)
    }
}

fn split(value: &str) -> Result<(u32, &str), CharacterSetError> {
    let (min, characters) = value.split_once(':').ok_or_else(|| CharacterSetError::Form(value.to_owned()))?;
    let min = min.trim().parse().map_err(|_| CharacterSetError::Form(value.to_owned()))?;
    if characters.is_empty() { Err(CharacterSetError::Empty(value.to_owned())) } else { Ok((min, characters)) }
}

impl CharacterSets {
    pub(super) fn check(&self, password: &str) -> Result<(), PasswordFault> {
        let mut counts = vec![0_u32; self.sets.len()];
        for character in password.chars() {
            match self.sets.iter().zip(&mut counts).find(|(set, _)| set.has(character)) {
                Some((_, count)) => *count += 1,
                None if self.allow_unclassified => {}
                None => return Err(PasswordFault::CharacterNotAllowed { character }),
            }
        }
        let counted = || self.sets.iter().zip(&counts);
        if let Some((set, _)) = counted().find(|(set, count)| **count < set.min) {
            return Err(PasswordFault::TooFewOfSet { set: set.shown.clone(), min: set.min });
        }
        let has_optional = self.sets.iter().any(|set| set.min == 0);
        let optional_used = counted().filter(|(set, count)| set.min == 0 && **count > 0).count();
        let mandatory = self.sets.iter().filter(|set| set.min > 0).count();
        let used = mandatory + optional_used;
        let min = match self.min_character_sets {
            Some(min) => min,
            None => u32::try_from(mandatory).unwrap_or(u32::MAX).saturating_add(u32::from(has_optional)),
        };
        if u32::try_from(used).is_ok_and(|used| used < min) {
            let sets: Vec<String> = self.sets.iter().map(|set| format!("\"{}\"", set.shown)).collect();
            return Err(PasswordFault::TooFewSets { used, min, sets: sets.join(", ") });
        }
        Ok(())
    }
}
