//! SCRAM (RFC 5802, RFC 7677), the side of the server: the client proves that it knows a password, the server that it
//! knows keys made from it.

mod binding;
mod decoys;
mod exchange;
mod fault;
mod message;

pub use binding::ChannelBindings;
pub use decoys::Decoys;
pub use exchange::{ClientFirst, Exchange, Offer, ServerFinal};
pub use fault::ScramFault;
