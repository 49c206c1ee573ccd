//! The secret of confidential indexes: a file outside of `db/`, made when it is first needed.
//!
//! Whoever has a copy of `db/` only cannot read such keys. When the file is lost, a new one is made: the indexes hashed
//! with the old one are then different indexes that were never built, and have to be rebuilt.

use std::path::Path;

use store::index::IndexSecret;

use crate::instance_secret::{self, SecretError};

/// Reads the secret; makes it, readable by its owner only, when the file is not there.
pub(crate) fn load_or_make(path: &Path) -> Result<IndexSecret, SecretError> {
    let secret = instance_secret::load_or_make(path)
        .map_err(|error| error.adding(" (a secret that is lost may also be removed, and the indexes rebuilt)"))?;
    Ok(IndexSecret::new(&secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_secret_makes_other_indexes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys/index.secret");
        let first = load_or_make(&path).unwrap();
        assert_eq!(first.fingerprint(), load_or_make(&path).unwrap().fingerprint());
        std::fs::remove_file(&path).unwrap();
        assert_ne!(first.fingerprint(), load_or_make(&path).unwrap().fingerprint());
        std::fs::write(&path, "").unwrap();
        assert!(load_or_make(&path).unwrap_err().to_string().ends_with("and the indexes rebuilt)"));
    }
}
