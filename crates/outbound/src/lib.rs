//! The client's side of other servers: LDAP connections with TLS, pools of them with failover, and saslauthd's socket.
//!
//! Everything here blocks its thread, at most for the timeouts that it is given: it belongs on a pool. It knows neither
//! entries nor policies; what an answer means is for who asks.

mod connection;
mod error;
mod pool;
pub mod saslauthd;
mod server;
mod stream;
mod trust;

#[cfg(test)]
mod tests;

pub use connection::{Connection, MESSAGE_BYTES_MAX, Patience};
pub use error::OutboundError;
pub use pool::{Attempt, Change, Credentials, Member, Pool, PoolSettings, Unavailable};
pub use server::{Security, Server, ServerError, Settings};
pub use trust::{TlsRules, Trust, TrustError};
