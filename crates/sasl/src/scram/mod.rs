//! SCRAM (RFC 5802, RFC 7677): the client proves that it knows a password, the server that it knows keys made from it.
//! The side of the server, and for the tools that of the client.

mod binding;
mod client;
mod decoys;
mod exchange;
mod fault;
mod message;

pub use binding::ChannelBindings;
pub use client::{ScramClient, ScramClientFault, ScramProven};
pub use decoys::Decoys;
pub use exchange::{ClientFirst, Exchange, Offer, ServerFinal};
pub use fault::ScramFault;
