//! One role: who has it, and where (Sun, 389: managed, filtered and nested roles).

use schema::NormalizedDn;

use crate::filter::Matcher;

/// The attribute.
pub(super) const NS_ROLE: &[u8] = b"nsRole";

/// Roles that one nested role lists, known or not.
pub const LISTED_MAX: usize = 10_000;

/// A role.
#[derive(Debug)]
pub struct Role {
    /// Its name, normalized.
    pub name: NormalizedDn,
    /// Its name as it is shown.
    pub dn: Box<str>,
    /// The entry above it: entries at and below it may have it.
    pub(super) top: NormalizedDn,
    /// `nsRoleScopeDN` of a nested one: the same.
    pub(super) also: Option<NormalizedDn>,
    /// Who has it.
    pub(super) kind: Kind,
}

/// Who has a role.
#[derive(Debug)]
pub(super) enum Kind {
    /// Whoever names it in `nsRoleDN`.
    Managed,
    /// Whoever matches, with what is stored.
    Filtered(Matcher),
    /// Whoever has one of the roles with these names.
    Nested(Vec<NormalizedDn>),
}
