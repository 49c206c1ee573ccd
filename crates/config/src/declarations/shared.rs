//! Syntaxes that several classes use.

use crate::declare::{Property, Variant};
use crate::syntax::Syntax;
use crate::units::Unit;

pub(super) const WRITABILITY: Syntax = Syntax::Choice(&["enabled", "disabled", "internal-only"]);
/// A count that may be 0.
pub(super) const COUNT: Syntax = Syntax::Integer { min: 0, max: i32::MAX as i64 };
/// A count of at least 1.
pub(super) const POSITIVE: Syntax = Syntax::Integer { min: 1, max: i32::MAX as i64 };
pub(super) const SECONDS: Syntax = Syntax::Duration { unit: Unit::Seconds, min_ms: 0, max_ms: u64::MAX };
pub(super) const MILLISECONDS: Syntax = Syntax::Duration { unit: Unit::Milliseconds, min_ms: 0, max_ms: u64::MAX };

/// Bits of encryption; a cipher of today has 128 or 256.
pub(super) const STRENGTH: Syntax = Syntax::Integer { min: 0, max: 1024 };

/// The only kind of object in its class.
pub(super) const fn single(help: &'static str, properties: &'static [Property]) -> Variant {
    Variant { type_name: "", help, properties }
}
