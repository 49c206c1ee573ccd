//! A folder of the file system. An object is a file; it gets its name when it is whole and synced.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::{Storage, StorageError, StorageFault, Stored};

/// Bytes that are written before the disk is waited for. Updates of a server on the same disk wait for what is on its
/// way there.
const WRITE_OUT_BYTES: usize = 512 << 10;
/// Folders in folders that are looked into.
const DEPTH_MAX: usize = 3;
/// Ending of what is being written.
const UNFINISHED: &str = ".new";
/// Backups hold values of entries, so only their owner may read them.
const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

/// See the module.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The folder, which is made with the first object.
    #[must_use]
    pub fn new(path: &Path) -> Folder {
        Folder { path: path.to_owned() }
    }

    fn failed(&self, name: &str, error: &io::Error) -> StorageError {
        let fault = match error.kind() {
            io::ErrorKind::NotFound => StorageFault::Missing,
            _ if store::is_disk_full(error) => StorageFault::Full,
            _ => StorageFault::Failed(error.to_string()),
        };
        StorageError { object: self.path.join(name).display().to_string(), fault }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path.join(name);
        let folder = durable::folder_of(&path);
        durable::make_folder_with_mode(&self.path, FOLDER_MODE)?;
        durable::make_folder_with_mode(folder, FOLDER_MODE)?;
        let unfinished = durable::beside(&path, UNFINISHED);
        let written = write_slowly(&unfinished, bytes).and_then(|()| durable::rename(&unfinished, &path));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
            // Refused while something else is in it.
            let _ = fs::remove_dir(folder);
        }
        written
    }

    fn list_below(&self, folder: &Path, depth: usize, found: &mut Vec<Stored>) -> io::Result<()> {
        let items = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            items => items?,
        };
        for item in items {
            let item = item?;
            let path = item.path();
            let kind = item.file_type()?;
            if kind.is_dir() && depth < DEPTH_MAX {
                self.list_below(&path, depth + 1, found)?;
            } else if kind.is_file()
                && let Some(name) = path.strip_prefix(&self.path).ok().and_then(Path::to_str)
            {
                found.push(Stored { name: name.to_owned(), bytes: item.metadata()?.len() });
            }
        }
        Ok(())
    }
}

/// Writes and syncs a file, a piece at a time.
fn write_slowly(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(path)?;
    // Another handle: the kernel reports a failed write once to each, and the sync must hear of it.
    let waiting = File::open(path)?;
    for piece in bytes.chunks(WRITE_OUT_BYTES) {
        file.write_all(piece)?;
        store::write_out::wait(&waiting);
    }
    file.sync_all()
}

impl Storage for Folder {
    fn place(&self) -> String {
        self.path.display().to_string()
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
        self.write(name, bytes).map_err(|error| self.failed(name, &error))
    }

    fn get(&self, name: &str, bytes_max: u64) -> Result<Vec<u8>, StorageError> {
        let path = self.path.join(name);
        let failed = |error: &io::Error| self.failed(name, error);
        let file = File::open(path).map_err(|error| failed(&error))?;
        let bytes = file.metadata().map_err(|error| failed(&error))?.len();
        if bytes > bytes_max {
            let object = self.path.join(name).display().to_string();
            return Err(StorageError { object, fault: StorageFault::TooLarge(bytes_max) });
        }
        let mut found = Vec::with_capacity(usize::try_from(bytes).unwrap_or_default());
        file.take(bytes_max).read_to_end(&mut found).map_err(|error| failed(&error))?;
        Ok(found)
    }

    fn list(&self, beginning: &str) -> Result<Vec<Stored>, StorageError> {
        let mut found = Vec::new();
        let from = beginning.rsplit_once('/').map_or("", |(folder, _)| folder);
        let depth = if from.is_empty() { 0 } else { from.split('/').count() };
        let listed = self.list_below(&self.path.join(from), depth, &mut found);
        listed.map_err(|error| self.failed(beginning, &error))?;
        found.retain(|stored| stored.name.starts_with(beginning));
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    fn remove(&self, name: &str) -> Result<(), StorageError> {
        let path = self.path.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            removed => removed.map_err(|error| self.failed(name, &error))?,
        }
        // The folder goes with its last object; while it has others, this is refused.
        let folder = durable::folder_of(&path);
        let kept =
            if folder == self.path || fs::remove_dir(folder).is_err() { folder } else { durable::folder_of(folder) };
        durable::sync_folder(kept).map_err(|error| self.failed(name, &error))
    }
}
