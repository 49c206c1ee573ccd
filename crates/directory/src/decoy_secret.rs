//! The secret by which a name that nobody has is always answered alike: the same salt, the same work.
//!
//! It is in a file of the instance, so that it is the same after a restart.

use std::path::PathBuf;
use std::sync::OnceLock;

use config::Config;
use zeroize::Zeroizing;

/// Octets of it.
const BYTES: usize = 32;

/// See the module.
pub(crate) struct DecoySecret {
    file: PathBuf,
    secret: OnceLock<Zeroizing<[u8; BYTES]>>,
}

impl DecoySecret {
    /// That of an instance; read, or made, when it is first asked for.
    pub(crate) fn new(config: &Config) -> DecoySecret {
        DecoySecret { file: config.instance.keys().join("sasl.secret"), secret: OnceLock::new() }
    }

    pub(crate) fn get(&self) -> &[u8] {
        let secret = self.secret.get_or_init(|| {
            query::instance_secret::load_or_make(&self.file).unwrap_or_else(|_| {
                // Without the file the answers are others after each start, which tells little.
                let mut random = Zeroizing::new([0; BYTES]);
                let _ = getrandom::fill(random.as_mut());
                random
            })
        });
        &secret[..]
    }
}
