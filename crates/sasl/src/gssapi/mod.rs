//! GSSAPI (RFC 4752) and GSS-SPNEGO: a client shows a Kerberos ticket.
//!
//! Tickets are checked by the Kerberos library of the system, which is linked with the feature `gssapi` only. Without
//! the feature there is no [`Acceptor`], and [`IS_BUILT`] says so.
//!
//! | file | what |
//! |---|---|
//! | `layer` | the four octets about security layers |
//! | `principal` | names of Kerberos |
//! | `exchange` | what one step comes to |
//! | `system` | the exchange, by the library |
//! | `absent` | what stands for it without the library |

mod exchange;
mod layer;
mod principal;

#[cfg(not(feature = "gssapi"))]
mod absent;
#[cfg(feature = "gssapi")]
mod system;

#[cfg(not(feature = "gssapi"))]
pub use absent::{Acceptor, IS_BUILT};
pub use exchange::{Accepted, GssFault, Next};
pub use layer::LayerFault;
pub use principal::Principal;
#[cfg(feature = "gssapi")]
pub use system::{Acceptor, IS_BUILT};
