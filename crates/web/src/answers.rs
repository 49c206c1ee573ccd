//! What the server behind says.

use std::net::IpAddr;

use crate::exposition::Family;

/// See the module. Everything is asked on the one thread of HTTP, so an answer that waits makes all others wait.
pub trait Answers: Send + Sync {
    /// Whether a client may connect from an address, through the handler of that name.
    fn admits(&self, handler: &str, address: IpAddr) -> bool;

    /// Whether a client may read metrics through the handler of that name; `token` is the bearer token it sent.
    fn may_read_metrics(&self, handler: &str, token: Option<&str>) -> bool;

    /// Why the server is not healthy, one sentence each; empty when it is.
    fn troubles(&self) -> Vec<String>;

    /// The metrics as they are now.
    fn metrics(&self) -> Vec<Family>;
}
