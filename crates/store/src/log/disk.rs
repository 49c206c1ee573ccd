//! The few file operations the log needs, behind a trait so that a test can simulate a power cut.
//!
//! The log relies on two things: after `sync` returns without error, everything written to the file before is on the
//! medium; a file made by `create` exists, full length, after a crash. Writes that are not synced yet may be there in
//! part, in any order.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// New files are filled in pieces of a page: files written in large pieces cost several times as much per rewritten
/// page (decision 002).
const FILL_BYTES: usize = 4_096;

/// Bytes of a new file that are handed to the disk at once: the file is made while updates append, and their syncs wait
/// for everything that the disk still has to write.
const WRITE_OUT_BYTES: u64 = 512 << 10;

/// The log holds values of entries, so only the owner may read it.
const FILE_MODE: u32 = 0o600;

/// A folder of files.
pub trait Disk: Send + Sync {
    /// Names of the files in it.
    fn files(&self) -> io::Result<Vec<String>>;
    /// Makes a file of `bytes` zeros, durably.
    fn create(&self, name: &str, bytes: u64) -> io::Result<Arc<dyn DiskFile>>;
    /// Opens a file for reading and, unless the disk is read-only, writing.
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
}

/// An open file.
pub trait DiskFile: Send + Sync {
    /// Its length.
    fn size(&self) -> io::Result<u64>;
    /// Reads up to `buf.len()` bytes; fewer only at the end.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize>;
    /// Writes all of `bytes`.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Makes everything written durable.
    fn sync(&self) -> io::Result<()>;
}

/// A folder of the file system.
#[derive(Debug)]
pub struct FolderDisk {
    path: PathBuf,
    read_only: bool,
}

impl FolderDisk {
    /// Opens the folder; makes it if it does not exist.
    pub fn open(path: &Path) -> io::Result<FolderDisk> {
        durable::make_folder(path)?;
        Ok(FolderDisk { path: path.to_owned(), read_only: false })
    }

    /// Opens the folder for reading only.
    pub fn open_read_only(path: &Path) -> FolderDisk {
        FolderDisk { path: path.to_owned(), read_only: true }
    }
}

impl Disk for FolderDisk {
    fn files(&self) -> io::Result<Vec<String>> {
        let entries = match std::fs::read_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut names = Vec::new();
        for entry in entries {
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    fn create(&self, name: &str, bytes: u64) -> io::Result<Arc<dyn DiskFile>> {
        let path = self.path.join(name);
        let fill = || -> io::Result<File> {
            let mut file = OpenOptions::new().read(true).write(true).create_new(true).mode(FILE_MODE).open(&path)?;
            let zeros = [0; FILL_BYTES];
            for filled in (0..bytes).step_by(FILL_BYTES) {
                file.write_all(&zeros)?;
                if filled % WRITE_OUT_BYTES == 0 {
                    file.sync_data()?;
                }
            }
            file.sync_all()?;
            durable::sync_folder(&self.path)?;
            Ok(file)
        };
        match fill() {
            Ok(file) => Ok(Arc::new(file)),
            Err(error) => {
                // An incomplete file would only take up room.
                let _ = std::fs::remove_file(&path);
                Err(error)
            }
        }
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let file = OpenOptions::new().read(true).write(!self.read_only).open(self.path.join(name))?;
        Ok(Arc::new(file))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.path.join(name))?;
        durable::sync_folder(&self.path)
    }
}

impl DiskFile for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while let Some(rest) = buf.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match FileExt::read_at(self, rest, offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}
