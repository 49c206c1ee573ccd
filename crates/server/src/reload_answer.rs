//! What the server says to a tool that had it read `pando.toml` again: a file in the instance, written after each reading.
//!
//! Knows lines and files; what a configuration may be refused for is told by whoever refuses it.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::PathBuf,
};

use config::Instance;

/// Longest file that is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What became of one reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReloadAnswer {
    /// [`ReloadAnswer::digest_of`] the file that was read.
    pub digest: u64,
    /// Why the server goes on with the configuration before; nothing if it took this one.
    pub refused: Option<String>,
}

fn file(instance: &Instance) -> PathBuf {
    instance.directory().join("reload.answer")
}

impl ReloadAnswer {
    /// Tells one text of the file from another; no protection against somebody who looks for two with the same (FNV-1a).
    #[must_use]
    pub fn digest_of(text: &[u8]) -> u64 {
        text.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
    }

    /// Leaves it for the tool.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn leave(&self, instance: &Instance) -> io::Result<()> {
        let new = file(instance).with_extension("answer.new");
        fs::write(&new, format!("{:016x}\n{}", self.digest, self.refused.as_deref().unwrap_or_default()))?;
        fs::rename(new, file(instance))
    }

    /// The last one, if there is one.
    #[must_use]
    pub fn look(instance: &Instance) -> Option<Self> {
        let mut text = String::new();
        File::open(file(instance)).ok()?.take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
        let (digest, refused) = text.split_once('\n')?;
        let digest = u64::from_str_radix(digest, 16).ok()?;
        Some(Self { digest, refused: Some(refused.to_owned()).filter(|refused| !refused.is_empty()) })
    }

    /// Removes what was left before.
    ///
    /// # Errors
    /// When there is one and it cannot be removed.
    pub fn forget(instance: &Instance) -> io::Result<()> {
        match fs::remove_file(file(instance)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_answer_is_found_until_it_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let instance = Instance::new(folder.path());
        assert_eq!(ReloadAnswer::look(&instance), None);
        for refused in [None, Some("first fault\nsecond".to_owned())] {
            let answer = ReloadAnswer { digest: ReloadAnswer::digest_of(b"[global]\n"), refused };
            answer.leave(&instance).unwrap();
            assert_eq!(ReloadAnswer::look(&instance), Some(answer));
        }
        assert_ne!(ReloadAnswer::digest_of(b"a"), ReloadAnswer::digest_of(b"b"));
        fs::write(file(&instance), "what\n").unwrap();
        assert_eq!(ReloadAnswer::look(&instance), None);
        ReloadAnswer::forget(&instance).unwrap();
        ReloadAnswer::forget(&instance).unwrap();
        assert_eq!(ReloadAnswer::look(&instance), None);
    }
}
