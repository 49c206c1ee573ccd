//! The rest of a long message that its client does not read fast enough: kept in a file without a name, so that neither
//! memory nor a snapshot of the database has to wait for the client.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// A queue of bytes in a file, written at its end, then read from its start.
#[derive(Debug)]
pub struct Spill {
    file: File,
    unread_bytes: u64,
    is_read: bool,
}

impl Spill {
    /// An empty one in the system's folder for temporary files.
    pub fn new() -> io::Result<Self> {
        Ok(Self { file: tempfile::tempfile()?, unread_bytes: 0, is_read: false })
    }

    /// Appends `bytes`. Not after the first [`Spill::read`].
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.unread_bytes += bytes.len() as u64;
        Ok(())
    }

    /// The next bytes, at most `bytes_max`; empty when all are read.
    pub fn read(&mut self, bytes_max: usize) -> io::Result<Vec<u8>> {
        if !self.is_read {
            self.file.seek(SeekFrom::Start(0))?;
            self.is_read = true;
        }
        let length = usize::try_from(self.unread_bytes).unwrap_or(bytes_max).min(bytes_max);
        let mut bytes = vec![0; length];
        self.file.read_exact(&mut bytes)?;
        self.unread_bytes -= length as u64;
        Ok(bytes)
    }

    /// Whether everything was read.
    pub fn is_empty(&self) -> bool {
        self.unread_bytes == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_in_order() {
        let mut spill = Spill::new().unwrap();
        for piece in 0..100u8 {
            spill.write(&[piece; 1_000]).unwrap();
        }
        let mut read = Vec::new();
        while !spill.is_empty() {
            let bytes = spill.read(70_000).unwrap();
            assert!(!bytes.is_empty() && bytes.len() <= 70_000);
            read.extend(bytes);
        }
        let expected: Vec<u8> = (0..100u8).flat_map(|piece| [piece; 1_000]).collect();
        assert!(read == expected);
        assert_eq!(spill.read(10).unwrap(), b"");
    }
}
