//! The network side of Pando: event loops, TLS, connections, limits, logs and monitoring.
//!
//! Life of a request: `event_loop` reads bytes, `connection` cuts them into messages, `operation` decides and answers
//! through the `directory` crate, `connection` writes everything of one turn at once. What may take long goes to `pool`
//! and comes back through `mailbox`.
//!
//! This crate does not know how entries are stored, what a filter matches, or who may see what.

pub mod address_mask;
pub mod log;
pub mod metrics;
pub mod pool;
pub mod proxy;
pub mod signals;
pub mod sys;
pub mod tls;
