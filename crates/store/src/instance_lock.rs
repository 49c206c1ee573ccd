//! The lock of a backend's folder: at most one process has the backend open for writing.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::error::StoreError;

/// The locked file. The system releases the lock when the process ends, however it ends.
#[derive(Debug)]
pub struct InstanceLock(File);

impl InstanceLock {
    /// Takes the lock of the backend in `path`, or names the process that has it.
    pub fn take(path: &Path) -> Result<InstanceLock, StoreError> {
        let io = |error| StoreError::io("lock file", &error);
        durable::make_folder(path).map_err(io)?;
        let path = path.join("lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let known = file.read_to_string(&mut holder).is_ok() && !holder.trim().is_empty();
                let holder = if known { holder.trim().to_owned() } else { "unknown".to_owned() };
                return Err(StoreError::InUse { path, holder });
            }
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        file.set_len(0).and_then(|()| file.rewind()).map_err(io)?;
        writeln!(file, "{}", std::process::id()).map_err(io)?;
        Ok(InstanceLock(file))
    }
}

impl Drop for InstanceLock {
    fn drop(&mut self) {
        // Emptied first, so that nobody reads an old process id before the lock is released.
        let _ = self.0.set_len(0);
    }
}
