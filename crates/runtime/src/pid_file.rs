//! The file that says which process serves an instance, and keeps a second one out.
//!
//! The lock counts, not the number: a lock goes with its process, a file may be left behind by a crash.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use thiserror::Error;

/// Pause between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Why an instance cannot be taken.
#[derive(Debug, Error)]
pub enum PidFileError {
    /// Another process has it.
    #[error("process {pid} already serves this instance (it holds {})", path.display())]
    Held {
        /// The file.
        path: PathBuf,
        /// The number in it.
        pid: String,
    },
    /// The file cannot be made.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

/// A held lock; the file goes when this is dropped.
#[derive(Debug)]
pub struct PidFile {
    path: PathBuf,
    _locked: File,
}

impl PidFile {
    /// Takes the instance for this process.
    pub fn acquire(path: &Path) -> Result<Self, PidFileError> {
        let failed = |error| PidFileError::Io { path: path.to_owned(), error };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let mut file = loop {
            let mut file =
                OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
            match file.try_lock() {
                // The holder before may have removed the file since it was opened: its lock then excludes no other
                // process.
                Ok(()) if is_still(path, &file).map_err(failed)? => break file,
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(PidFileError::Held { path: path.to_owned(), pid: read_pid(&mut file) });
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        };
        file.set_len(0).and_then(|()| file.rewind()).map_err(failed)?;
        writeln!(file, "{}", std::process::id()).map_err(failed)?;
        Ok(Self { path: path.to_owned(), _locked: file })
    }

    /// The same, but waits until another process has ended what it does with it, and not for longer than that.
    pub fn acquire_within(path: &Path, wait_max: Duration) -> Result<Self, PidFileError> {
        let until = Instant::now() + wait_max;
        loop {
            match Self::acquire(path) {
                Err(PidFileError::Held { .. }) if Instant::now() < until => std::thread::sleep(LOOK_EVERY),
                taken => return taken,
            }
        }
    }

    /// The process that serves an instance, if one does.
    pub fn holder(path: &Path) -> Option<u32> {
        let mut file = File::open(path).ok()?;
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => read_pid(&mut file).parse().ok(),
            _ => None,
        }
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // While the lock is held, so that no other process has taken the file in between.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether an open file is the one of that path.
fn is_still(path: &Path, file: &File) -> io::Result<bool> {
    let opened = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(now) => Ok((now.dev(), now.ino()) == (opened.dev(), opened.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn read_pid(file: &mut File) -> String {
    let mut text = String::new();
    // An unreadable number only makes the message poorer.
    let _ = file.take(20).read_to_string(&mut text);
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn many_take_turns_and_two_never_have_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("turns.lock");
        let inside = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut turns = 0;
                    while turns < 200 {
                        let Ok(held) = PidFile::acquire(&path) else { continue };
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(held);
                        turns += 1;
                    }
                });
            }
        });
    }

    #[test]
    fn one_holder_at_a_time_and_stale_files_do_not_matter() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("logs/server.pid");
        assert_eq!(PidFile::holder(&path), None);
        let held = PidFile::acquire(&path).unwrap();
        assert_eq!(PidFile::holder(&path), Some(std::process::id()));
        let refused = PidFile::acquire(&path).unwrap_err().to_string();
        assert!(refused.contains(&std::process::id().to_string()), "{refused}");
        drop(held);
        assert!(!path.exists());
        std::fs::write(&path, "4194304\n").unwrap();
        assert_eq!(PidFile::holder(&path), None);
        PidFile::acquire(&path).unwrap();
    }
}
