//! The configurations that an instance had: a file for each that was taken, with who changed it, when and by which way.
//!
//! 1. A file is written whole and synced, or not at all.
//! 2. The newest ones are kept, a bounded number of them.
//! 3. Only those may read the files who may read `pando.toml`: there are hashes of passwords in them.
//!
//! Knows files; what a configuration means, and when it is taken, is known elsewhere.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use durable::ReadBound;

use crate::load::FILE_BYTES_MAX;

/// So many are kept.
pub const VERSIONS_MAX: usize = 100;

/// Longest first line that is read.
const HEAD_BYTES_MAX: u64 = 4096;

/// The word at the beginning of a file.
const HEAD: &str = "# configuration ";

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Its number; the newest has the greatest.
    pub number: u64,
    /// When it was taken, as RFC 3339 has it.
    pub at: String,
    /// By which way it came: `LDAP`, `reload`, `start`.
    pub door: String,
    /// Who changed it.
    pub by: String,
}

/// The folder of an instance that has them.
#[derive(Debug, Clone)]
pub struct ConfigHistory {
    folder: PathBuf,
}

impl ConfigHistory {
    /// Those in that folder, which need not be there yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// All of them, the oldest first.
    ///
    /// # Errors
    /// When the folder cannot be read. A file that is none of them is left out.
    pub fn versions(&self) -> io::Result<Vec<Version>> {
        let mut found = Vec::new();
        for number in self.numbers()? {
            found.extend(self.read(number)?.map(|(version, _)| version));
        }
        Ok(found)
    }

    /// One of them with its text.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self, number: u64) -> io::Result<Option<(Version, String)>> {
        let bound = ReadBound::file(FILE_BYTES_MAX as u64 + HEAD_BYTES_MAX);
        let text = match bound.text(&self.path(number)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some((head, text)) = text.split_once('\n') else { return Ok(None) };
        Ok(parse_head(number, head).map(|version| (version, text.to_owned())))
    }

    /// Keeps a text, unless it is that of the newest one; gives what is kept now.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&self, at: &str, door: &str, by: &str, text: &str) -> io::Result<Option<Version>> {
        let numbers = self.numbers()?;
        let newest = numbers.last().copied().unwrap_or(0);
        if self.read(newest)?.is_some_and(|(_, kept)| kept == text) {
            return Ok(None);
        }
        durable::make_folder_with_mode(&self.folder, 0o700)?;
        let one_line = |text: &str| text.replace(['\n', '\r', '|'], " ");
        let version = Version { number: newest + 1, at: one_line(at), door: one_line(door), by: one_line(by) };
        let Version { number, at, door, by } = &version;
        let file = format!("{HEAD}{number} | {at} | {door} | {by}\n{text}");
        durable::replace_file(&self.path(*number), file.as_bytes(), Some(Permissions::from_mode(0o600)))?;
        for old in numbers.iter().rev().skip(VERSIONS_MAX - 1) {
            fs::remove_file(self.path(*old))?;
        }
        Ok(Some(version))
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number:06}.toml"))
    }

    fn numbers(&self) -> io::Result<Vec<u64>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut numbers = Vec::new();
        for entry in entries {
            numbers.extend(number_of(&entry?.path()));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }
}

fn number_of(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_suffix(".toml")?.parse().ok()
}

fn parse_head(number: u64, head: &str) -> Option<Version> {
    let mut parts = head.strip_prefix(HEAD)?.splitn(4, " | ");
    let (own, at, door, by) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let owned = str::to_owned;
    (own.parse() == Ok(number)).then(|| Version { number, at: owned(at), door: owned(door), by: owned(by) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_versions_are_kept_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let history = ConfigHistory::new(folder.path().join("config-history"));
        assert!(history.versions().unwrap().is_empty());
        for number in 1..=VERSIONS_MAX as u64 + 2 {
            let text = format!("# {number}\n\n[global]\nsize-limit = {number}\n");
            let kept = history.keep("2026-11-23T12:00:00Z", "LDAP", "cn=a|b\nc", &text).unwrap().unwrap();
            assert_eq!(kept.number, number);
            assert_eq!(history.keep("2026-11-23T12:00:01Z", "reload", "d", &text).unwrap(), None);
            assert_eq!(history.read(number).unwrap(), Some((kept, text)));
        }
        let all = history.versions().unwrap();
        assert_eq!((all.len(), all[0].number), (VERSIONS_MAX, 3));
        assert_eq!((all[0].door.as_str(), all[0].by.as_str()), ("LDAP", "cn=a b c"));
        assert_eq!(history.read(1).unwrap(), None);
    }
}
