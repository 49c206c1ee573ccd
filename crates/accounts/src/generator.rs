//! Makes passwords by a format: so many characters of one set, then so many of another.

use crate::validate::PasswordFault;

/// A format and its sets, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasswordGenerator {
    /// Characters to choose from, and how many.
    parts: Vec<(Vec<char>, usize)>,
}

/// Why a format or its sets are not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// A set without name or characters.
    #[error("\"{0}\" is not of the form NAME:CHARACTERS, such as numeric:0123456789")]
    Set(String),
    /// Two sets of one name.
    #[error("there are two character sets with the name \"{0}\"")]
    TwoSets(String),
    /// A part that is none.
    #[error("\"{0}\" is not of the form NAME:COUNT with a count from 1 on, such as numeric:2")]
    Part(String),
    /// A set that is not there.
    #[error("the format names the character set \"{name}\", and there are only {known}")]
    NoSet {
        /// Its name.
        name: String,
        /// The names there are.
        known: String,
    },
    /// Longer than any password.
    #[error("the format makes passwords of {0} characters, and {LENGTH_MAX} is the most")]
    Length(usize),
}

/// Why no password was made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GenerateError {
    /// The system has no random numbers.
    #[error("the system gives no random numbers")]
    NoRandomness,
    /// What the format makes is refused.
    #[error(
        "none of {TRIES} passwords of the generator's format obeys the validators. Change password-format or the \
         validators. Of the last one: {0}"
    )]
    Format(PasswordFault),
}

const LENGTH_MAX: usize = 512;
const TRIES: usize = 64;

/// Fills bytes with random ones; `false` when there are none.
pub(crate) type Randomness<'r> = &'r mut dyn FnMut(&mut [u8]) -> bool;

impl PasswordGenerator {
    /// Checks the values of `password-character-set` and `password-format`.
    pub fn parse(sets: &[String], format: &str) -> Result<PasswordGenerator, FormatError> {
        let mut known: Vec<(&str, Vec<char>)> = Vec::new();
        for set in sets {
            let parts = set.split_once(':').map(|(name, characters)| (name.trim(), characters));
            let (name, characters) = parts
                .filter(|(name, characters)| !name.is_empty() && !characters.is_empty())
                .ok_or_else(|| FormatError::Set(set.clone()))?;
            if known.iter().any(|(other, _)| *other == name) {
                return Err(FormatError::TwoSets(name.to_owned()));
            }
            known.push((name, characters.chars().collect()));
        }
        let mut parts = Vec::new();
        for part in format.split(',') {
            let (name, count) = part.split_once(':').ok_or_else(|| FormatError::Part(part.to_owned()))?;
            let count = count.trim().parse().ok().filter(|count| *count > 0);
            let count: usize = count.ok_or_else(|| FormatError::Part(part.to_owned()))?;
            let Some((_, characters)) = known.iter().find(|(set, _)| *set == name.trim()) else {
                let known: Vec<String> = known.iter().map(|(name, _)| format!("\"{name}\"")).collect();
                return Err(FormatError::NoSet { name: name.trim().to_owned(), known: known.join(", ") });
            };
            parts.push((characters.clone(), count));
        }
        let length = parts.iter().fold(0, |sum: usize, (_, count)| sum.saturating_add(*count));
        if length > LENGTH_MAX { Err(FormatError::Length(length)) } else { Ok(PasswordGenerator { parts }) }
    }

    /// Makes passwords until one is accepted.
    pub fn generate(
        &self,
        randomness: Randomness<'_>,
        accept: impl Fn(&str) -> Result<(), PasswordFault>,
    ) -> Result<String, GenerateError> {
        let mut tries = 0;
        loop {
            let password = self.make(randomness).ok_or(GenerateError::NoRandomness)?;
            match accept(&password) {
                Ok(()) => return Ok(password),
                Err(fault) if tries == TRIES - 1 => return Err(GenerateError::Format(fault)),
                Err(_) => tries += 1,
            }
        }
    }

    fn make(&self, randomness: Randomness<'_>) -> Option<String> {
        let mut password = String::new();
        for (characters, count) in &self.parts {
            for _ in 0..*count {
                password.push(*characters.get(below(characters.len(), randomness)?)?);
            }
        }
        Some(password)
    }
}

/// A random number below `end`, each as likely as the others.
fn below(end: usize, randomness: Randomness<'_>) -> Option<usize> {
    let end = u64::try_from(end).ok().filter(|end| *end > 0)?;
    // Numbers of the last, incomplete round of `end` would make some more likely.
    let fair = u64::MAX - u64::MAX % end;
    loop {
        let mut bytes = [0; 8];
        if !randomness(&mut bytes) {
            return None;
        }
        let number = u64::from_le_bytes(bytes);
        if number < fair {
            return usize::try_from(number % end).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generator(format: &str) -> Result<PasswordGenerator, FormatError> {
        PasswordGenerator::parse(&["alpha:abc".to_owned(), "numeric:01".to_owned()], format)
    }

    /// Numbers that look random: enough for a test.
    fn counting() -> impl FnMut(&mut [u8]) -> bool {
        let mut number = 7_u32;
        move |bytes| {
            for byte in bytes {
                number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *byte = (number >> 24) as u8;
            }
            true
        }
    }

    #[test]
    fn passwords_have_the_format() {
        let generator = generator("alpha:3, numeric:2,alpha:1").unwrap();
        let mut random = counting();
        for _ in 0..50 {
            let made = generator.generate(&mut random, |_| Ok(())).unwrap();
            let (letters, rest) = made.split_at(3);
            assert!(letters.chars().all(|letter| "abc".contains(letter)), "{made}");
            assert!(rest[..2].chars().all(|digit| "01".contains(digit)) && "abc".contains(&rest[2..]), "{made}");
        }
    }

    #[test]
    fn passwords_obey_the_validators_or_there_is_none() {
        let generator = generator("numeric:2").unwrap();
        let fault = || PasswordFault::Palindrome;
        let mut random = counting();
        let made = generator.generate(&mut random, |made| if made == "01" { Ok(()) } else { Err(fault()) });
        assert_eq!(made.as_deref(), Ok("01"));
        assert_eq!(generator.generate(&mut random, |_| Err(fault())), Err(GenerateError::Format(fault())));
        assert_eq!(generator.generate(&mut |_| false, |_| Ok(())), Err(GenerateError::NoRandomness));
    }

    #[test]
    fn bad_formats_are_named() {
        assert_eq!(generator("alpha"), Err(FormatError::Part("alpha".to_owned())));
        assert_eq!(generator("alpha:0"), Err(FormatError::Part("alpha:0".to_owned())));
        assert_eq!(generator("alpha:9999"), Err(FormatError::Length(9999)));
        let error = generator("special:1").unwrap_err().to_string();
        assert_eq!(error, "the format names the character set \"special\", and there are only \"alpha\", \"numeric\"");
        let sets = ["alpha:".to_owned()];
        assert_eq!(PasswordGenerator::parse(&sets, "alpha:1"), Err(FormatError::Set("alpha:".to_owned())));
    }
}
