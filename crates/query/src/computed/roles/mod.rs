//! Roles (Sun, 389): `nsRole` of every entry, from the entries that define roles.
//!
//! All roles of a backend are one [`ValueSource`]: what a nested role gives depends on the others. A role holds at and
//! below the entry above it (X.501 would call that its area); a nested one also at and below its `nsRoleScopeDN`. An
//! entry has a managed role that it names in `nsRoleDN`, a filtered role whose filter it matches with what it has
//! stored, and a nested role within whose scope it is if it has one of the roles that that lists. So in a circle of
//! nested roles whoever has one has all of them.
//!
//! Subentries have no roles: `nsRoleDN` of a nested role lists roles, it does not give them.

mod read;
mod role;
mod set;

pub use read::{filtered, managed, nested};
pub use role::{LISTED_MAX, Role};
pub use set::RoleSet;
