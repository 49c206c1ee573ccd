//! The reject file and the skip file: the records as they were read, rejected ones with the reason in front.

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use ldap::ldif::{WRAP_COLUMNS, put_comment};

use super::error::BulkError;

/// A file of left-out records, or none.
pub(super) struct RecordFile {
    file: Option<(PathBuf, BufWriter<std::fs::File>)>,
}

impl RecordFile {
    /// Opens `path`, if there is one, at its end or emptied.
    pub fn open(path: Option<&Path>, overwrite: bool) -> Result<Self, BulkError> {
        let Some(path) = path else { return Ok(Self { file: None }) };
        let mut options = OpenOptions::new();
        options.create(true).write(true).append(!overwrite).truncate(overwrite);
        let file = options.open(path).map_err(|source| failed(path, source))?;
        Ok(Self { file: Some((path.to_owned(), BufWriter::new(file))) })
    }

    /// Writes a record, with a reason as comment if there is one.
    pub fn write(&mut self, reason: Option<&str>, record: &[u8]) -> Result<(), BulkError> {
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        let mut text = Vec::with_capacity(record.len() + 128);
        if let Some(reason) = reason {
            put_comment(&mut text, reason, Some(WRAP_COLUMNS));
        }
        text.extend_from_slice(record);
        if !record.ends_with(b"\n") {
            text.push(b'\n');
        }
        text.push(b'\n');
        file.write_all(&text).map_err(|source| failed(path, source))
    }

    pub fn finish(self) -> Result<(), BulkError> {
        let Some((path, mut file)) = self.file else { return Ok(()) };
        let sync = |file: &std::fs::File| match file.metadata()?.is_file() {
            true => file.sync_all().and_then(|()| durable::sync_name(&path)),
            // Devices and pipes cannot be synced.
            false => Ok(()),
        };
        file.flush().and_then(|()| sync(file.get_ref())).map_err(|source| failed(&path, source))
    }
}

fn failed(path: &Path, source: std::io::Error) -> BulkError {
    BulkError::Output { name: path.display().to_string(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_follow_their_reason_and_files_grow_or_start_over() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("rejected.ldif");
        for (overwrite, reason) in [(false, "first"), (false, "no parent"), (true, &*"x".repeat(100))] {
            let mut file = RecordFile::open(Some(&path), overwrite).unwrap();
            file.write(Some(reason), b"dn: a\ncn: b").unwrap();
            file.finish().unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            match reason {
                "first" => assert_eq!(text, "# first\ndn: a\ncn: b\n\n"),
                "no parent" => assert_eq!(text, "# first\ndn: a\ncn: b\n\n# no parent\ndn: a\ncn: b\n\n"),
                _ => assert_eq!(text, format!("# {}\n {}\ndn: a\ncn: b\n\n", "x".repeat(74), "x".repeat(26))),
            }
        }
        RecordFile::open(None, false).unwrap().write(None, b"dn: a").unwrap();
    }
}
