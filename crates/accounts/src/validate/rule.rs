//! Rules for new passwords, as they are configured.

use std::sync::Arc;

use super::breach_list::BreachList;
use super::character_sets::CharacterSets;
use super::dictionary::DictionaryRule;
use super::quality::QualityRule;

/// One rule. Lengths are numbers of characters (code points), not of bytes, and not of UTF-16 units as in OpenDJ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValidatorRule {
    /// `length-based`
    Length {
        /// At least so many characters; 0: no minimum.
        min: u32,
        /// At most so many; 0: no maximum.
        max: u32,
    },
    /// `character-set`
    CharacterSets(CharacterSets),
    /// `repeated-characters`
    RepeatedCharacters {
        /// A character may follow itself until it stands there so often; 0: without end.
        max_run: u32,
        /// Upper and lower case are different characters.
        case_sensitive: bool,
    },
    /// `unique-characters`
    UniqueCharacters {
        /// So many different characters at least; 0: no minimum.
        min: u32,
        /// Upper and lower case are different characters.
        case_sensitive: bool,
    },
    /// `similarity-based`
    Similarity {
        /// So many characters have to be changed to come from the current password to the new one; 0: none.
        min_difference: u32,
    },
    /// `attribute-value`
    AttributeValue(AttributeValueRule),
    /// `dictionary`
    Dictionary(DictionaryRule),
    /// Passwords that became known elsewhere.
    Breached(Arc<BreachList>),
    /// What 389 Directory Server and slapd's modules have beside these.
    Quality(QualityRule),
}

/// The password is no value of its own entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeValueRule {
    /// Attribute types; none: every user attribute.
    pub attributes: Vec<String>,
    /// Parts of the password are looked for, too …
    pub check_substrings: bool,
    /// … of so many characters.
    pub min_substring_length: u32,
    /// And the password written backwards.
    pub test_reversed: bool,
}

/// Whether new passwords are validated (`pwdCheckQuality`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum QualityCheck {
    /// 0: not at all.
    Never,
    /// 1: if they are clear. Whether encoded ones are accepted is for other properties.
    #[default]
    WhereClear,
    /// 2: always, so that encoded ones are refused.
    Always,
}
