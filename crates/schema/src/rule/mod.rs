//! Matching rules: values become normal forms (byte strings), and matching becomes comparing bytes.
//!
//! * Equality: two values match iff their normal forms are equal.
//! * Ordering: the order of the normal forms is the order of the values. An ordering rule has the same normal form as
//!   the equality rule of its family, so that one index serves both.
//! * Substrings: the pieces are looked for in the normal form of the value ([`Substrings`]).
//! * Everything else (bits, words, relative times …) is an [`Assertion`] that is tried on normal forms.
//!
//! It knows nothing of entries, filters or indexes.

mod assertion;
mod certificate;
pub(crate) mod collation;
mod date;
mod display;
mod invalid_value;
mod lookup;
mod matching_rule;
mod normalize;
mod number;
mod structured;
mod substring;
mod table;

pub use assertion::{Assertion, KeyRange, MatchContext, PartialDate};
pub(crate) use certificate::is_certificate_assertion;
pub use collation::COLLATION_VERSION;
pub use date::generalized_time_ms;
pub(crate) use date::{is_generalized_time, is_utc_time};
pub use invalid_value::InvalidValue;
pub use matching_rule::{MatchingRule, RuleRole};
pub(crate) use number::{bit_string, boolean, is_integer};
pub(crate) use structured::auth_password;
pub use structured::split_unique_member;
pub use substring::{Position, Substrings};
pub use table::RULES;

#[cfg(test)]
mod tests;
