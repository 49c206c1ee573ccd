//! HTTP beside LDAP: what monitoring systems scrape and load balancers ask.
//!
//! One thread of its own serves all of it, so that no event loop of LDAP waits for it. What is answered comes through
//! the trait [`Answers`]; this crate knows HTTP, TLS and the text forms of metrics, and nothing of directories.

pub mod answers;
pub mod exposition;
pub mod listener;
mod routes;
pub mod serving;
