//! SASL binds (RFC 4422, RFC 4513 §5.2): which mechanisms a connection is offered, who a client claims to be, and whom
//! it acts as.
//!
//! The mechanisms themselves are in the crate `sasl`; whether an account may bind is decided where all binds are. What
//! an exchange has come to between two requests is kept with the session.
//!
//! | file | what |
//! |---|---|
//! | `settings` | the mechanisms of the configuration |
//! | `offer` | which of them work on a connection |
//! | `key_file` | the keys of a token issuer |
//! | `certificate` | what a certificate says of its owner |
//! | `exchange` | what is kept between two requests |
//! | `claim` | from what a client sends to the name of an entry |
//! | `steps` | one step of each mechanism |
//! | `kerberos` | the steps of GSSAPI, and whose principal it is |
//! | `acting` | authorization identities |

mod acting;
mod certificate;
mod claim;
mod exchange;
mod kerberos;
mod key_file;
mod offer;
mod settings;
mod steps;

pub use acting::{SaslDone, SaslTail};
pub(crate) use exchange::Exchange;
pub(crate) use settings::SaslSettings;
pub use steps::SaslBind;
