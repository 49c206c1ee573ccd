//! Keys for users that have none: what a stranger is shown must not tell them from others.

use std::fmt;

use password::{ScramHash, ScramKeys};
use zeroize::Zeroizing;

/// Makes keys for names that have none, so that a stranger cannot tell which names exist: the same name always gets the
/// same salt, as a user would.
#[derive(Clone)]
pub struct Decoys {
    secret: Zeroizing<Vec<u8>>,
    iterations: u32,
    salt_bytes: usize,
}

impl fmt::Debug for Decoys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decoys {{ iterations: {}, salt_bytes: {}, .. }}", self.iterations, self.salt_bytes)
    }
}

impl Decoys {
    /// Decoys that look like keys with so many iterations and so much salt. `secret` has to outlive restarts.
    #[must_use]
    pub fn new(secret: &[u8], iterations: u32, salt_bytes: usize) -> Self {
        Decoys { secret: Zeroizing::new(secret.to_vec()), iterations, salt_bytes }
    }

    /// The keys of a name that has none. No proof is right for them.
    #[must_use]
    pub fn keys(&self, hash: ScramHash, prepared_name: &str) -> ScramKeys {
        let derive = |what: &[u8]| {
            let text = [what, hash.mechanism().as_bytes(), b"\0", prepared_name.as_bytes()].concat();
            ScramHash::Sha512.hmac(&self.secret, &text)
        };
        let cut = |mut bytes: Vec<u8>, length: usize| {
            bytes.truncate(length);
            bytes
        };
        ScramKeys {
            hash,
            iterations: self.iterations,
            salt: cut(derive(b"salt"), self.salt_bytes),
            stored_key: cut(derive(b"stored key"), hash.key_bytes()),
            server_key: cut(derive(b"server key"), hash.key_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_keys_always_has_the_same_salt_and_another_than_others() {
        let decoys = Decoys::new(b"secret of the server", 4096, 16);
        let nobody = decoys.keys(ScramHash::Sha256, "nobody");
        assert_eq!(nobody, decoys.keys(ScramHash::Sha256, "nobody"));
        assert_eq!((nobody.salt.len(), nobody.iterations, nobody.stored_key.len()), (16, 4096, 32));
        assert_ne!(nobody.salt, decoys.keys(ScramHash::Sha256, "nobody2").salt);
        assert_ne!(nobody.salt, decoys.keys(ScramHash::Sha512, "nobody").salt);
        assert_ne!(nobody.salt, Decoys::new(b"another secret", 4096, 16).keys(ScramHash::Sha256, "nobody").salt);
        assert!(!format!("{decoys:?}{nobody:?}").contains("secret"));
    }
}
