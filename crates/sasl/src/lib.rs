//! SASL mechanisms (RFC 4422) of a server, as functions and state machines: bytes in, a step out.
//!
//! Each mechanism reads what the client sent and says who it claims to be and how that is proved: PLAIN gives a
//! password, SCRAM asks for the keys of the account and judges the proof itself, EXTERNAL relies on what the connection
//! knows, OAUTHBEARER on a signed token, GSSAPI on a ticket that the system's Kerberos library checks. This crate knows
//! no directory, no connection, no clock and no randomness: keys, nonces, channel bindings and the time are given. It
//! knows nothing of LDAP either: authorization identities are text.

pub mod external;
mod gs2;
pub mod gssapi;
pub mod jwt;
mod mechanism;
pub mod oauthbearer;
pub mod plain;
pub mod scram;

pub use gs2::Gs2Fault;
pub use mechanism::Mechanism;
pub use password::{ScramHash, ScramKeys};

/// Longest message of a client in one step; the longest that is needed carries a token.
pub const MESSAGE_BYTES_MAX: usize = 64 * 1024;

/// Longest name of a user or authorization identity.
pub const NAME_BYTES_MAX: usize = 4096;
