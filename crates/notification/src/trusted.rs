//! Files with the certificates that other servers' are signed by.

use durable::ReadBound;

/// Largest such file.
pub(crate) const CERTIFICATES: ReadBound = ReadBound::file(16 << 20);
