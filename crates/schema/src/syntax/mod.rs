//! LDAP syntaxes: what a value of each may look like (RFC 4517 §3, and those the shipped schemas use).
//!
//! It knows the grammar of values, not which attribute has which syntax.

mod error;
mod guide;
mod json;
mod kind;
mod table;
mod text;
mod validate;

pub mod oid;
pub mod subtree;

pub use error::SyntaxError;
pub(crate) use kind::Check;
pub use kind::Syntax;
pub(crate) use table::BUILT_IN;
pub(crate) use text::{is_descriptor, is_numeric_oid};

#[cfg(test)]
mod tests;
