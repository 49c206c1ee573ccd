//! Why a configured index is not valid.

use super::kind::{IndexKind, SUBSTRING_LENGTH_MIN};

/// Why a configured index is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// The schema has no such attribute.
    #[error("the index of \"{attribute}\" is not valid: the schema has no such attribute type")]
    UnknownAttribute {
        /// As configured.
        attribute: String,
    },
    /// The attribute type has no rule for that kind.
    #[error(
        "the {kind} index of \"{attribute}\" is not valid: its attribute type has no {kind} matching rule",
        kind = kind.name()
    )]
    NoRule {
        /// As configured.
        attribute: String,
        /// The kind asked for.
        kind: IndexKind,
    },
    /// The windows are too short.
    #[error(
        "the substring index of \"{attribute}\" needs a substring-length of at least {SUBSTRING_LENGTH_MIN}, \
         not {length}"
    )]
    SubstringLength {
        /// As configured.
        attribute: String,
        /// As configured.
        length: usize,
    },
    /// `extensible` without rules.
    #[error(
        "the extensible index of \"{attribute}\" needs index-extensible-matching-rule: a matching rule or language"
    )]
    NoExtensibleRule {
        /// As configured.
        attribute: String,
    },
    /// No such rule, or it makes no keys of such values.
    #[error(
        "the extensible index of \"{attribute}\" is not valid: \"{rule}\" is no matching rule or language that makes \
         keys of its values"
    )]
    ExtensibleRule {
        /// As configured.
        attribute: String,
        /// As configured.
        rule: String,
    },
    /// Hashed keys do not serve this kind.
    #[error("the {what} index of \"{attribute}\" cannot be confidential: hashed keys have no order")]
    NotConfidential {
        /// As configured.
        attribute: String,
        /// Kind or rule.
        what: String,
    },
    /// There is no secret to hash with.
    #[error("the confidential index of \"{attribute}\" is not valid: there is no secret to hash its keys with")]
    NoSecret {
        /// As configured.
        attribute: String,
    },
    /// A VLV index with a mistake.
    #[error("the VLV index \"{name}\" is not valid: {reason}")]
    Vlv {
        /// As configured.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// All 65,520 numbers are taken by indexes that exist or existed.
    #[error("no index number is left for \"{name}\"")]
    TooMany {
        /// The index without a number.
        name: String,
    },
}
