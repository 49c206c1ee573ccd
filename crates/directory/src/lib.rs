//! What a directory *is*: operations, the search planner, access, passwords, limits.
//!
//! Knows nothing of sockets and files: requests come decoded, entries come from `store`, answers leave as bytes.

pub mod password;
pub mod csn;
pub mod proposal;
