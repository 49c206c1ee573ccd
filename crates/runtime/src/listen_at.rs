//! Where a listener listens: an address, or a socket in the file system.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Where a listener listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAt {
    /// TCP.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Path(PathBuf),
}

impl fmt::Display for ListenAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Path(path) => write!(f, "{}", path.display()),
        }
    }
}
