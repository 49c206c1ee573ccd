//! Files that somebody named, read without trust in what they are: never more than a bound, and never a wait for a
//! named pipe or a device where a regular file is meant.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// What may be read: how many bytes, and of which kinds of file.
///
/// Errors say what is wrong and name the bound, not the file: whoever reads names that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadBound {
    bytes_max: u64,
    takes_streams: bool,
}

impl ReadBound {
    /// Regular files only: what a configuration names is read again and again, and by a server that must not wait.
    #[must_use]
    pub const fn file(bytes_max: u64) -> ReadBound {
        ReadBound { bytes_max, takes_streams: false }
    }

    /// Pipes and devices, too: what a person gives to a tool, such as `/dev/stdin` or `<(…)` of a shell.
    #[must_use]
    pub const fn stream(bytes_max: u64) -> ReadBound {
        ReadBound { bytes_max, takes_streams: true }
    }

    /// Opens a file whose kind and size are allowed. A file that grows afterwards is the reader's business.
    ///
    /// # Errors
    /// When it cannot be opened, is of another kind or too large.
    pub fn open(self, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true);
        if !self.takes_streams {
            // Without it, opening a named pipe waits for somebody who writes. Regular files do not know it.
            options.custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        }
        let file = options.open(path)?;
        let found = file.metadata()?;
        if let Some(kind) = other_kind(found.file_type())
            && (!self.takes_streams || found.is_dir())
        {
            let told = format!("it is {kind}: name a regular file");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, told));
        }
        if found.len() > self.bytes_max { Err(self.too_large()) } else { Ok(file) }
    }

    /// The whole file.
    ///
    /// # Errors
    /// As [`ReadBound::open`], and when it cannot be read.
    pub fn read(self, path: &Path) -> io::Result<Vec<u8>> {
        let file = self.open(path)?;
        let found = file.metadata()?;
        // With room for all of it nothing is copied on the way: a secret leaves no copies behind.
        let expected = if found.is_file() { found.len() } else { self.bytes_max };
        let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or_default().saturating_add(1));
        file.take(self.bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > self.bytes_max { Err(self.too_large()) } else { Ok(bytes) }
    }

    /// The whole file, which is text.
    ///
    /// # Errors
    /// As [`ReadBound::read`], and when it is not UTF-8.
    pub fn text(self, path: &Path) -> io::Result<String> {
        let told = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not text in UTF-8");
        String::from_utf8(self.read(path)?).map_err(told)
    }

    fn too_large(self) -> io::Error {
        let told = format!("it is larger than {}, the most that is read here", size_text(self.bytes_max));
        io::Error::new(io::ErrorKind::FileTooLarge, told)
    }
}

/// What a file is, if it is not a regular one.
fn other_kind(found: FileType) -> Option<&'static str> {
    let kinds = [
        (found.is_dir(), "a folder"),
        (found.is_fifo(), "a pipe"),
        (found.is_socket(), "a socket"),
        (found.is_char_device() || found.is_block_device(), "a device"),
    ];
    kinds.into_iter().find_map(|(is_it, kind)| is_it.then_some(kind))
}

fn size_text(bytes: u64) -> String {
    let units = [(20, "MiB"), (10, "KiB")];
    let exact = units.into_iter().find(|(shift, _)| bytes >= 1 << shift && bytes.is_multiple_of(1 << shift));
    exact.map_or_else(|| format!("{bytes} bytes"), |(shift, unit)| format!("{} {unit}", bytes >> shift))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that fails says so by panicking")]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "0123456789").unwrap();
        for bound in [ReadBound::file(10), ReadBound::stream(10)] {
            assert_eq!(bound.text(&path).unwrap(), "0123456789");
        }
        for (bytes, shown) in [(9, "9 bytes"), (0, "0 bytes")] {
            let error = ReadBound::file(bytes).read(&path).unwrap_err();
            assert_eq!(error.to_string(), format!("it is larger than {shown}, the most that is read here"));
        }
        assert!(ReadBound::file(4 << 20).too_large().to_string().contains("than 4 MiB,"));
        assert!(ReadBound::file(3 << 10).too_large().to_string().contains("than 3 KiB,"));
        std::fs::write(&path, [0xff]).unwrap();
        assert_eq!(ReadBound::file(10).text(&path).unwrap_err().to_string(), "it is not text in UTF-8");
        let missing = ReadBound::file(10).read(&folder.path().join("none")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    /// A wrong program would wait here for ever, or take all memory.
    #[test]
    fn where_a_regular_file_is_meant_nothing_else_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let bound = ReadBound::file(1 << 20);
        for (path, kind) in
            [(pipe.as_path(), "a pipe"), (Path::new("/dev/zero"), "a device"), (folder.path(), "a folder")]
        {
            let error = bound.read(path).unwrap_err();
            assert_eq!(error.to_string(), format!("it is {kind}: name a regular file"), "{}", path.display());
        }
        assert!(ReadBound::stream(10).read(folder.path()).unwrap_err().to_string().contains("a folder"));
    }

    #[test]
    fn streams_are_read_up_to_the_bound() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for (text, is_read) in [("0123456789", true), ("0123456789x", false)] {
            let (writing, written) = (pipe.clone(), text.to_owned());
            let writer = std::thread::spawn(move || std::fs::write(writing, written));
            let read = ReadBound::stream(10).text(&pipe);
            writer.join().unwrap().unwrap();
            assert_eq!(read.ok(), is_read.then(|| text.to_owned()));
        }
        let error = ReadBound::stream(10).read(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }
}
