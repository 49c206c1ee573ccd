//! The names of mechanisms.

use std::fmt;

use password::ScramHash;

/// A mechanism that this crate has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mechanism {
    /// A name and a password (RFC 4616).
    Plain,
    /// What the connection knows of the client (RFC 4422, appendix A).
    External,
    /// A proof that the client knows the password (RFC 5802).
    Scram {
        /// The hash function.
        hash: ScramHash,
        /// Whether the proof covers the TLS connection (`-PLUS`).
        plus: bool,
    },
    /// A token that somebody trusted has signed (RFC 7628).
    OauthBearer,
    /// A ticket of Kerberos (RFC 4752).
    Gssapi,
    /// The same, with a negotiation around it.
    GssSpnego,
}

const fn scram(hash: ScramHash, plus: bool) -> Mechanism {
    Mechanism::Scram { hash, plus }
}

impl Mechanism {
    /// All of them, the strongest first.
    pub const ALL: [Mechanism; 11] = [
        Mechanism::External,
        Mechanism::Gssapi,
        Mechanism::GssSpnego,
        scram(ScramHash::Sha512, true),
        scram(ScramHash::Sha256, true),
        scram(ScramHash::Sha1, true),
        scram(ScramHash::Sha512, false),
        scram(ScramHash::Sha256, false),
        scram(ScramHash::Sha1, false),
        Mechanism::OauthBearer,
        Mechanism::Plain,
    ];

    /// The registered name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Mechanism::Plain => "PLAIN",
            Mechanism::External => "EXTERNAL",
            Mechanism::Scram { hash: ScramHash::Sha1, plus: false } => "SCRAM-SHA-1",
            Mechanism::Scram { hash: ScramHash::Sha1, plus: true } => "SCRAM-SHA-1-PLUS",
            Mechanism::Scram { hash: ScramHash::Sha256, plus: false } => "SCRAM-SHA-256",
            Mechanism::Scram { hash: ScramHash::Sha256, plus: true } => "SCRAM-SHA-256-PLUS",
            Mechanism::Scram { hash: ScramHash::Sha512, plus: false } => "SCRAM-SHA-512",
            Mechanism::Scram { hash: ScramHash::Sha512, plus: true } => "SCRAM-SHA-512-PLUS",
            Mechanism::OauthBearer => "OAUTHBEARER",
            Mechanism::Gssapi => "GSSAPI",
            Mechanism::GssSpnego => "GSS-SPNEGO",
        }
    }

    /// The mechanism of that name. Names are in capitals (RFC 4422 §3.1); clients that write small letters are
    /// understood.
    #[must_use]
    pub fn named(name: &[u8]) -> Option<Mechanism> {
        Mechanism::ALL.into_iter().find(|mechanism| mechanism.name().as_bytes().eq_ignore_ascii_case(name))
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mechanism_is_found_by_its_name() {
        for mechanism in Mechanism::ALL {
            assert_eq!(Mechanism::named(mechanism.name().as_bytes()), Some(mechanism));
        }
        assert_eq!(Mechanism::named(b"plain"), Some(Mechanism::Plain));
        for unknown in ["", "DIGEST-MD5", "CRAM-MD5", "ANONYMOUS", "SCRAM-SHA-256-", "PLAIN "] {
            assert_eq!(Mechanism::named(unknown.as_bytes()), None, "{unknown}");
        }
    }
}
