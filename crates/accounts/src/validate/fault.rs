//! Why a password is refused, in words for who chose it.

use ldap::controls::PolicyError;

/// What is wrong with a new password, and how to choose one that is accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordFault {
    /// Fewer characters than the minimum.
    #[error("The password has {length} characters: choose one with at least {min}")]
    TooShort {
        /// How many it has.
        length: usize,
        /// How many it needs.
        min: u32,
    },
    /// More characters than the maximum.
    #[error("The password has {length} characters: choose one with at most {max}")]
    TooLong {
        /// How many it has.
        length: usize,
        /// How many it may have.
        max: u32,
    },
    /// Too few characters of a set.
    #[error("The password has too few characters of \"{set}\": use at least {min}")]
    TooFewOfSet {
        /// The characters, or ranges of them.
        set: String,
        /// How many it needs.
        min: u32,
    },
    /// Too few of the sets.
    #[error("The password has characters of {used} of these sets: {sets}. Use characters of at least {min} of them")]
    TooFewSets {
        /// How many it has characters of.
        used: usize,
        /// Of how many it must have some.
        min: u32,
        /// All of them.
        sets: String,
    },
    /// In no set, and those that are in none are not allowed.
    #[error("The character \"{character}\" is not allowed in passwords: leave it out")]
    CharacterNotAllowed {
        /// Which.
        character: char,
    },
    /// The same character again and again.
    #[error("The character \"{character}\" follows itself: use it at most {max} times in a row")]
    Repeated {
        /// Which.
        character: char,
        /// How often it may stand there.
        max: u32,
    },
    /// Few different characters.
    #[error("The password has {unique} different characters: use at least {min}")]
    TooFewUnique {
        /// How many it has.
        unique: usize,
        /// How many it needs.
        min: u32,
    },
    /// Like the current one.
    #[error("The password is too similar to the current one: change at least {min} characters")]
    TooSimilar {
        /// How many must differ.
        min: u32,
    },
    /// A value of the entry.
    #[error("The password, or a part of it, is a value of the user's entry: leave out names, numbers and addresses")]
    InEntry,
    /// A word.
    #[error("The password, or a part of it, is in a dictionary: use words that are in none, or more of them")]
    InDictionary,
    /// Known to everybody.
    #[error("The password is in a list of passwords that became known: choose one that nobody used before")]
    Breached,
    /// The list cannot be read.
    #[error(
        "The password cannot be checked now against the list of known passwords: ask an administrator to look at the \
         error log"
    )]
    NotChecked {
        /// Its name, and what is wrong with it: for the log, not for users.
        list: String,
    },
    /// Too few characters of a class.
    #[error("The password has too few {class}: use at least {min}")]
    TooFewOfClass {
        /// Of what.
        class: &'static str,
        /// How many it needs.
        min: u32,
    },
    /// Too few classes.
    #[error(
        "The password has characters of {count} classes: use at least {min} of digits, lower case letters, upper case \
         letters, other ASCII characters, and characters beyond ASCII"
    )]
    TooFewClasses {
        /// How many it has.
        count: usize,
        /// How many it needs.
        min: u32,
    },
    /// A run of one class.
    #[error("The password has too many {class} in a row: use at most {max}")]
    ClassRun {
        /// Of what.
        class: &'static str,
        /// How long a run may be.
        max: u32,
    },
    /// `abcd`, `4321`
    #[error("The password has a sequence like \"abc\" or \"321\": use at most {max} characters of one in a row")]
    Sequence {
        /// How long one may be.
        max: u32,
    },
    /// The same part twice.
    #[error("The password has the part \"{part}\" twice: repeat parts of at most {max} characters")]
    RepeatedPart {
        /// Which.
        part: String,
        /// How long a part may be that is repeated.
        max: u32,
    },
    /// The same backwards.
    #[error("The password is the same when it is read backwards: choose one that is not")]
    Palindrome,
}

impl PasswordFault {
    /// What the password policy control says of it.
    #[must_use]
    pub fn policy_error(&self) -> PolicyError {
        match self {
            PasswordFault::TooShort { .. } => PolicyError::PasswordTooShort,
            PasswordFault::TooLong { .. } => PolicyError::PasswordTooLong,
            _ => PolicyError::InsufficientPasswordQuality,
        }
    }
}
