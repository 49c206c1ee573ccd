//! What 389 Directory Server (`passwordCheckSyntax`) and modules of slapd ask of a password beside OpenDJ's rules.

use std::collections::HashMap;

use super::fault::PasswordFault;

/// Numbers of 0 are "off".
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct QualityRule {
    /// `passwordMinDigits`
    pub min_digits: u32,
    /// `passwordMinAlphas`
    pub min_letters: u32,
    /// `passwordMinUppers`
    pub min_upper: u32,
    /// `passwordMinLowers`
    pub min_lower: u32,
    /// `passwordMinSpecials`: ASCII characters that are neither letters nor digits.
    pub min_specials: u32,
    /// `passwordMin8bit`: characters beyond ASCII.
    pub min_beyond_ascii: u32,
    /// `passwordMinCategories`: of digits, upper and lower case letters, specials, characters beyond ASCII.
    pub min_classes: u32,
    /// `passwordMaxRepeats`: a character may stand so often in a row.
    pub max_repeats: u32,
    /// `passwordMaxClassChars`: so many characters of one class may stand in a row.
    pub max_class_run: u32,
    /// `passwordMaxSequence`: so many characters of a sequence (`abc`, `321`) may stand in a row.
    pub max_sequence: u32,
    /// `passwordMaxSeqSets`: parts of so many characters may be there twice.
    pub max_repeated_part: u32,
    /// `passwordPalindrome`: the password read backwards is another one.
    pub no_palindrome: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Digit,
    Upper,
    Lower,
    Special,
    BeyondAscii,
}

const CLASSES: [Class; 5] = [Class::Digit, Class::Upper, Class::Lower, Class::Special, Class::BeyondAscii];

impl Class {
    fn of(character: char) -> Class {
        match character {
            '0'..='9' => Class::Digit,
            'A'..='Z' => Class::Upper,
            'a'..='z' => Class::Lower,
            '\0'..='\x7f' => Class::Special,
            _ => Class::BeyondAscii,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Class::Digit => "digits",
            Class::Upper => "upper case letters",
            Class::Lower => "lower case letters",
            Class::Special => "special characters",
            Class::BeyondAscii => "characters beyond ASCII",
        }
    }
}

impl QualityRule {
    pub(super) fn check(&self, password: &str) -> Result<(), PasswordFault> {
        let characters: Vec<char> = password.chars().collect();
        self.check_counts(&characters)?;
        self.check_runs(&characters)?;
        if self.max_repeated_part > 0
            && let Some(part) = repeated_part(&characters, self.max_repeated_part)
        {
            return Err(PasswordFault::RepeatedPart { part, max: self.max_repeated_part });
        }
        let is_palindrome = characters.len() > 1 && characters.iter().eq(characters.iter().rev());
        if self.no_palindrome && is_palindrome { Err(PasswordFault::Palindrome) } else { Ok(()) }
    }

    fn check_counts(&self, characters: &[char]) -> Result<(), PasswordFault> {
        let count = |class| characters.iter().filter(|character| Class::of(**character) == class).count();
        let [digits, upper, lower, specials, beyond] = CLASSES.map(count);
        for (count, class, min) in [
            (digits, Class::Digit.name(), self.min_digits),
            (upper + lower, "letters", self.min_letters),
            (upper, Class::Upper.name(), self.min_upper),
            (lower, Class::Lower.name(), self.min_lower),
            (specials, Class::Special.name(), self.min_specials),
            (beyond, Class::BeyondAscii.name(), self.min_beyond_ascii),
        ] {
            if count < as_length(min) {
                return Err(PasswordFault::TooFewOfClass { class, min });
            }
        }
        let classes = [digits, upper, lower, specials, beyond].into_iter().filter(|count| *count > 0).count();
        if classes < as_length(self.min_classes) {
            return Err(PasswordFault::TooFewClasses { count: classes, min: self.min_classes });
        }
        Ok(())
    }

    fn check_runs(&self, characters: &[char]) -> Result<(), PasswordFault> {
        let [mut same, mut of_class, mut rising, mut falling] = [1_u32; 4];
        for pair in characters.windows(2) {
            let &[before, character] = pair else { continue };
            let next = |run: u32, goes_on: bool| if goes_on { run + 1 } else { 1 };
            let step = i64::from(u32::from(character)) - i64::from(u32::from(before));
            same = next(same, step == 0);
            of_class = next(of_class, Class::of(before) == Class::of(character));
            rising = next(rising, step == 1);
            falling = next(falling, step == -1);
            let over = |run: u32, max: u32| max > 0 && run > max;
            if over(same, self.max_repeats) {
                return Err(PasswordFault::Repeated { character, max: self.max_repeats });
            }
            if over(of_class, self.max_class_run) {
                let class = Class::of(character).name();
                return Err(PasswordFault::ClassRun { class, max: self.max_class_run });
            }
            if over(rising.max(falling), self.max_sequence) {
                return Err(PasswordFault::Sequence { max: self.max_sequence });
            }
        }
        Ok(())
    }
}

/// A part longer than `max` that is in the password twice without touching itself; the one that begins first.
fn repeated_part(characters: &[char], max: u32) -> Option<String> {
    let size = as_length(max).saturating_add(1);
    let mut firsts: HashMap<&[char], usize> = HashMap::new();
    let repeated = characters.windows(size).enumerate().filter_map(|(at, part)| {
        let first = *firsts.entry(part).or_insert(at);
        (first + size <= at).then_some((first, part))
    });
    repeated.min_by_key(|(first, _)| *first).map(|(_, part)| part.iter().collect())
}

fn as_length(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
