//! A log file that is still written: what comes, also behind the moment in which it is put aside for a new one.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::lines::{Ending, Lines};

/// The file.
#[derive(Debug)]
pub struct Followed {
    path: PathBuf,
    file: File,
    lines: Lines,
    read_bytes: u64,
}

/// Counts what is read.
struct Counting<'f>(&'f mut File, &'f mut u64);

impl io::Read for Counting<'_> {
    fn read(&mut self, place: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(place)?;
        *self.1 += count as u64;
        Ok(count)
    }
}

impl Followed {
    /// From its begin.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        Ok(Self { path: path.to_owned(), file, lines: Lines::default(), read_bytes: 0 })
    }

    /// Gives the lines that have come. Whether there were any bytes.
    ///
    /// # Errors
    /// Those of reading.
    pub fn read(&mut self, each: &mut dyn FnMut(&[u8], Ending)) -> io::Result<bool> {
        let mut any = self.rest(each)?;
        if self.is_another() {
            // What was put aside is read to its end before the new file is begun.
            any |= self.rest(each)?;
            self.finish(each);
            let file = File::open(&self.path)?;
            (self.file, self.read_bytes) = (file, 0);
            any |= self.rest(each)?;
        }
        Ok(any)
    }

    fn rest(&mut self, each: &mut dyn FnMut(&[u8], Ending)) -> io::Result<bool> {
        let mut any = false;
        while self.lines.read(&mut Counting(&mut self.file, &mut self.read_bytes), each)? {
            any = true;
        }
        Ok(any)
    }

    /// Gives a line that was begun.
    pub fn finish(&mut self, each: &mut dyn FnMut(&[u8], Ending)) {
        self.lines.finish(each);
    }

    /// Whether the name stands for another file by now, or for one that was emptied.
    fn is_another(&self) -> bool {
        match (self.file.metadata(), self.path.metadata()) {
            (Ok(own), Ok(now)) => (own.dev(), own.ino()) != (now.dev(), now.ino()) || now.len() < self.read_bytes,
            // It is put aside, and the new one is not there yet.
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    #[test]
    fn what_comes_is_read_also_from_the_next_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access");
        fs::write(&path, "one\ntw").unwrap();
        let mut found = Vec::new();
        let mut followed = Followed::open(&path).unwrap();
        let mut step = |followed: &mut Followed| {
            let mut lines = Vec::new();
            followed.read(&mut |line, _| lines.push(String::from_utf8_lossy(line).into_owned())).unwrap();
            found.push(lines.join(","));
        };
        step(&mut followed);
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"o\nthree\n").unwrap();
        step(&mut followed);
        fs::rename(&path, folder.path().join("access.old")).unwrap();
        file.write_all(b"four\n").unwrap();
        step(&mut followed);
        file.write_all(b"five\n").unwrap();
        fs::write(&path, "six\n").unwrap();
        step(&mut followed);
        fs::write(&path, "7\n").unwrap();
        step(&mut followed);
        step(&mut followed);
        assert_eq!(found, ["one", "two,three", "four", "five,six", "7", ""]);
    }
}
