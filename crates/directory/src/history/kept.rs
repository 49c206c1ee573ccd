//! What has to be remembered of the history beside the logs: a small file, so that numbers are never given twice, and nobody takes a
//! history with holes for a whole one, whatever becomes of the logs.
//!
//! ```text
//! next 1235                     the next number, or a higher one is in a log
//! purged 400                    changes up to here cannot be read
//! on                            changes were kept when this was written
//! backend userRoot 0f3c… 17     which data, and from which record on its log is kept
//! ```

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) next: u64,
    pub(super) purged: u64,
    pub(super) is_on: bool,
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
    pub(super) fn read(path: &Path) -> io::Result<Option<Self>> {
        match std::fs::read_to_string(path) {
            Ok(text) => Ok(Some(Self::parse(&text))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn parse(text: &str) -> Self {
        let mut kept = Self::default();
        for line in text.lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "next" => kept.next = rest.parse().unwrap_or(0),
                "purged" => kept.purged = rest.parse().unwrap_or(0),
                "on" => kept.is_on = true,
                "backend" => kept.backends.extend(KeptBackend::parse(rest)),
                _ => {}
            }
        }
        kept
    }

    fn text(&self) -> String {
        let mut text = format!("next {}\npurged {}\n{}", self.next, self.purged, if self.is_on { "on\n" } else { "" });
        for KeptBackend { id, data, first } in &self.backends {
            text.push_str(&format!("backend {id} {data:032x} {first}\n"));
        }
        text
    }

    /// Puts the file in place in one step, durably.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder)?;
        let new = path.with_extension("new");
        let mut file = File::create(&new)?;
        file.write_all(self.text().as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&new, path)?;
        File::open(folder)?.sync_all()
    }
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

    #[test]
    fn comes_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("changelog/numbers");
        assert_eq!(Kept::read(&path).unwrap(), None);
        let backend = KeptBackend { id: "user root".to_owned(), data: 0xabc, first: 17 };
        let kept = Kept { next: 5, purged: 2, is_on: true, backends: vec![backend] };
        kept.write(&path).unwrap();
        assert_eq!(Kept::read(&path).unwrap(), Some(kept));
    }
}
