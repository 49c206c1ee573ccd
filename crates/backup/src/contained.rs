//! Files of the instance that go with a backup: configuration, schema, and, where the backup is encrypted, keys.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::error::BackupError;

/// A file of the instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainedFile {
    /// Its path in the instance, with `/`.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct Written {
    name: String,
    base64: String,
}

pub(crate) fn encode(files: &[ContainedFile]) -> Result<Vec<u8>, BackupError> {
    let written = files.iter().map(|file| Written { name: file.name.clone(), base64: STANDARD.encode(&file.bytes) });
    let written: Vec<Written> = written.collect();
    serde_json::to_vec(&written).map_err(|_| BackupError::Internal("the files of the instance cannot be written"))
}

/// The files; none when the bytes are not that, or a name leads out of its folder.
pub(crate) fn decode(bytes: &[u8]) -> Option<Vec<ContainedFile>> {
    let written: Vec<Written> = serde_json::from_slice(bytes).ok()?;
    let file = |Written { name, base64 }: Written| {
        let is_within = !name.split('/').any(|word| matches!(word, "" | "." | "..")) && !name.contains('\0');
        let bytes = STANDARD.decode(base64).ok()?;
        is_within.then_some(ContainedFile { name, bytes })
    };
    written.into_iter().map(file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_back_and_stay_within_their_folder() {
        let file = |name: &str| ContainedFile { name: name.to_owned(), bytes: vec![0, 255, 10] };
        let files = vec![file("pando.toml"), file("schema/99-user.ldif")];
        assert_eq!(decode(&encode(&files).unwrap()), Some(files));
        for name in ["../pando.toml", "/etc/passwd", "a//b", "a/./b", ""] {
            assert_eq!(decode(&encode(&[file(name)]).unwrap()), None, "{name}");
        }
    }
}
