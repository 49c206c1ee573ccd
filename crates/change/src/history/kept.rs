//! What has to be remembered of the history beside the logs: a small file, so that numbers are never given twice, and
//! a history with holes is never taken for a whole one, also when logs are lost.
//!
//! ```text
//! check 0f3c9a…                 the first 8 bytes of the SHA-256 of all that follows (older files have no such line)
//! next 1235                     the next number, or a higher one is in a log
//! purged 400                    changes up to here cannot be read
//! on                            changes were kept when this was written
//! final                         the server was stopped then: no log has a number from `next` on
//! backend userRoot 0f3c… 17     which data, and from which record on its log is kept
//! ```
//!
//! A damaged file is an error, not a default: a lower number could be given a second time.

use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::error::HistoryOpenError;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) next: u64,
    pub(super) purged: u64,
    pub(super) is_on: bool,
    pub(super) is_final: bool,
    pub(super) backends: Vec<KeptBackend>,
}

/// One backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeptBackend {
    pub(super) id: String,
    /// [`store::Backend::data_uuid`]
    pub(super) data: u128,
    /// The first record that its log still had.
    pub(super) first: u64,
}

impl Kept {
    /// Reads the file; `None` when there is none.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, HistoryOpenError> {
        let failed = |reason: String| HistoryOpenError::ChangeNumbers { path: path.to_owned(), reason };
        match std::fs::read(path) {
            Ok(bytes) => {
                let text = str::from_utf8(&bytes).map_err(|_| failed("it is no text".to_owned()))?;
                Self::parse(text).map(Some).map_err(failed)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text;
        if let Some((check, rest)) = text.strip_prefix("check ").and_then(|text| text.split_once('\n')) {
            if check != digest(rest) {
                return Err("its lines do not fit their checksum".to_owned());
            }
            lines = rest;
        }
        let (mut next, mut purged, mut kept) = (None, None, Self::default());
        for line in lines.lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let is_known = match word {
                "next" => set(&mut next, rest),
                "purged" => set(&mut purged, rest),
                "on" => !std::mem::replace(&mut kept.is_on, true),
                "final" => !std::mem::replace(&mut kept.is_final, true),
                "backend" => KeptBackend::parse(rest).map(|backend| kept.backends.push(backend)).is_some(),
                _ => false,
            };
            if !is_known {
                return Err(format!("\"{}\" cannot be understood", line.chars().take(100).collect::<String>()));
            }
        }
        kept.next = next.filter(|next| *next > 0).ok_or("the line \"next NUMBER\" is missing")?;
        // A file in which a person wrote only the number says nothing of earlier changes.
        kept.purged = purged.unwrap_or(kept.next - 1);
        if kept.purged >= kept.next {
            return Err("more is purged than there was".to_owned());
        }
        Ok(kept)
    }

    fn text(&self) -> String {
        let mut text = format!("next {}\npurged {}\n", self.next, self.purged);
        for (is_said, line) in [(self.is_on, "on\n"), (self.is_final, "final\n")] {
            text.push_str(if is_said { line } else { "" });
        }
        for KeptBackend { id, data, first } in &self.backends {
            text.push_str(&format!("backend {id} {data:032x} {first}\n"));
        }
        format!("check {}\n{text}", digest(&text))
    }

    /// Puts the file in place in one step, durably.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        durable::replace_file(path, self.text().as_bytes(), None)
    }
}

/// A number that must be there once.
fn set(place: &mut Option<u64>, text: &str) -> bool {
    text.parse().is_ok_and(|number| place.replace(number).is_none())
}

fn digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

impl KeptBackend {
    fn parse(text: &str) -> Option<Self> {
        // A name may have spaces.
        let mut words = text.rsplitn(3, ' ');
        let first = words.next()?.parse().ok()?;
        let data = u128::from_str_radix(words.next()?, 16).ok()?;
        Some(Self { id: words.next()?.to_owned(), data, first })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> Kept {
        let backend = KeptBackend { id: "user root".to_owned(), data: 0xabc, first: 17 };
        Kept { next: 1235, purged: 2, is_on: true, is_final: true, backends: vec![backend] }
    }

    #[test]
    fn comes_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("changelog/numbers");
        assert_eq!(Kept::read(&path).unwrap(), None);
        for kept in [kept(), Kept { is_on: false, is_final: false, ..kept() }] {
            kept.write(&path).unwrap();
            assert_eq!(Kept::read(&path).unwrap(), Some(kept));
        }
    }

    #[test]
    fn no_damage_passes_for_a_lower_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers");
        let text = kept().text();
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            std::fs::write(&path, &bytes[..at]).unwrap();
            assert!(Kept::read(&path).is_err(), "{at} bytes of it");
            bytes[at] ^= 1;
            std::fs::write(&path, &bytes).unwrap();
            let said = Kept::read(&path).unwrap_err().to_string();
            assert!(said.contains("next NUMBER") && said.contains("numbers"), "{said}");
        }
    }

    #[test]
    fn files_of_older_versions_and_a_number_written_by_hand_are_read() {
        let old = "next 5\npurged 2\non\nbackend user root 00000000000000000000000000000abc 17\n";
        assert_eq!(Kept::parse(old).unwrap(), Kept { next: 5, is_final: false, ..kept() });
        assert_eq!(Kept::parse("next 9\n").unwrap(), Kept { next: 9, purged: 8, ..Kept::default() });
        for wrong in [
            "",
            "next 0",
            "next",
            "next 5\nnext 6",
            "purged 2",
            "next 5\npurged 5",
            "next 5\nnexu 6",
            "next 5\nbackend a b",
        ] {
            assert!(Kept::parse(wrong).is_err(), "{wrong}");
        }
    }
}
