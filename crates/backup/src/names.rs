//! How the objects of a backup are named: `BACKEND/ID/manifest` and `BACKEND/ID/part-00001`.

use crate::error::BackupError;
use crate::manifest::{MANIFEST_BYTES_MAX, Manifest, Sealed};
use crate::storage::Storage;

/// Longest name of a backup.
const ID_CHARACTERS_MAX: usize = 64;
const MANIFEST: &str = "manifest";

/// What the names of all objects of a backup begin with.
pub(crate) fn beginning(backend: &str, id: &str) -> String {
    format!("{}/{id}/", word(backend))
}

pub(crate) fn manifest(backend: &str, id: &str) -> String {
    format!("{}{MANIFEST}", beginning(backend, id))
}

/// Parts are numbered from 1.
pub(crate) fn part(backend: &str, id: &str, number: u32) -> String {
    format!("{}part-{number:05}", beginning(backend, id))
}

/// A backend's id as a word of names.
fn word(backend: &str) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let encoded = |byte: u8| if is_plain(&byte) { (byte as char).to_string() } else { format!("%{byte:02x}") };
    backend.bytes().map(encoded).collect()
}

/// Checks a name that somebody gave.
///
/// # Errors
/// When it cannot be one.
pub fn check_id(id: &str) -> Result<(), BackupError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    match (1..=ID_CHARACTERS_MAX).contains(&id.len()) && id.bytes().all(is_plain) && !id.starts_with('.') {
        true => Ok(()),
        false => Err(BackupError::BadId(id.to_owned())),
    }
}

/// The backups in a storage, the oldest first, and what cannot be read of them.
///
/// # Errors
/// When the storage cannot be listed.
pub fn manifests(storage: &dyn Storage) -> Result<(Vec<Sealed>, Vec<BackupError>), BackupError> {
    let (mut found, mut faults) = (Vec::new(), Vec::new());
    for stored in storage.list("")? {
        let Some((folder, MANIFEST)) = stored.name.rsplit_once('/') else { continue };
        let id = folder.rsplit('/').next().unwrap_or(folder);
        let read = storage.get(&stored.name, MANIFEST_BYTES_MAX);
        match read.map_err(BackupError::from).and_then(|bytes| Manifest::read(id, &bytes)) {
            Ok(sealed) => {
                let is_in_place = stored.name == manifest(&sealed.manifest.backend, &sealed.manifest.id);
                match is_in_place {
                    true => found.push(sealed),
                    false => faults.push(BackupError::damaged(id, "it lies in the folder of another one")),
                }
            }
            Err(fault) => faults.push(fault),
        }
    }
    found.sort_by_key(|sealed| sealed.manifest.made_us);
    Ok((found, faults))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_within_their_place() {
        assert_eq!(part("userRoot", "one", 7), "userRoot/one/part-00007");
        assert_eq!(manifest("../a b", "one"), "%2e%2e%2fa%20b/one/manifest");
        for bad in ["", ".", "..", ".x", "a/b", "a b", "\u{e9}", &"x".repeat(65)] {
            assert!(check_id(bad).is_err(), "{bad}");
        }
        assert!(check_id("20261123T190835Z").is_ok());
    }
}
