//! What entries match and show, through a whole directory: groups, computed attributes, roles, limits that are given;
//! and who may do what with them.

mod access;
mod access_oracle;
mod computed;
mod definitions_kept;
mod given_limits;
pub(crate) mod groups;
mod non_interference;
mod policies;
mod roles;
