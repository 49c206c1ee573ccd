//! What is known of a TLS connection once its handshake is over.

use std::sync::Arc;

/// See the module.
#[derive(Debug, Clone)]
pub struct TlsFacts {
    /// Bits of encryption.
    pub strength_bits: u32,
    /// Hash of the server's certificate (RFC 5929).
    pub end_point: Arc<[u8]>,
    /// Keying material that only both ends know (RFC 9266); none before TLS 1.3.
    pub exporter: Option<[u8; 32]>,
    /// The client's certificate in DER, if it has a good one.
    pub client_certificate: Option<Arc<[u8]>>,
}
