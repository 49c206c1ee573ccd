//! Puts a new database directory in the place of the old one, so that at each moment a complete one has the name.
//!
//! The new directory is built as `NAME.new`, synced, and exchanged with `NAME` in one step (`renameat2` with
//! `RENAME_EXCHANGE`). Where the file system cannot exchange, two renames do it, and [`recover`] finishes or undoes
//! them after a crash: `NAME.new` counts only once it holds the marker that is written after everything else was
//! synced. Knows nothing of what is in the directories.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Says that the directory is complete and synced.
const COMPLETE: &str = "COMPLETE";

/// Where the new directory is built.
#[must_use]
pub fn new_directory(name: &Path) -> PathBuf {
    durable::beside(name, ".new")
}

fn old_directory(name: &Path) -> PathBuf {
    durable::beside(name, ".old")
}

/// Makes an empty `NAME.new`, removing what an interrupted import left.
pub(crate) fn prepare(name: &Path) -> io::Result<PathBuf> {
    recover(name)?;
    let new = new_directory(name);
    durable::make_folder(&new)?;
    // The database keeps its mode; a new one is for its owner only.
    let mode =
        fs::metadata(name).map_or_else(|_| std::os::unix::fs::PermissionsExt::from_mode(0o700), |m| m.permissions());
    fs::set_permissions(&new, mode)?;
    Ok(new)
}

/// Syncs `NAME.new` with all its files, and puts it in the place of `NAME`.
pub(crate) fn swap(name: &Path) -> io::Result<()> {
    let new = new_directory(name);
    durable::sync_tree(&new)?;
    File::create(new.join(COMPLETE))?.sync_all()?;
    durable::sync_folder(&new)?;
    if !name.exists() {
        fs::rename(&new, name)?;
    } else if exchange(&new, name).is_err() {
        fs::rename(name, old_directory(name))?;
        fs::rename(&new, name)?;
    }
    durable::sync_name(name)?;
    clean(name)
}

/// After a crash: makes sure that `NAME` is a whole directory, the new one if it was complete, and removes the rest. To
/// be called before a database is opened. Does nothing when no import was interrupted.
///
/// # Errors
/// When directories cannot be renamed or removed.
pub fn recover(name: &Path) -> io::Result<()> {
    let (new, old) = (new_directory(name), old_directory(name));
    if !name.exists() {
        if new.join(COMPLETE).exists() {
            fs::rename(&new, name)?;
        } else if old.exists() {
            fs::rename(&old, name)?;
        }
        if name.exists() {
            durable::sync_name(name)?;
        }
    }
    clean(name)
}

/// Removes what is not `NAME`.
fn clean(name: &Path) -> io::Result<()> {
    for other in [new_directory(name), old_directory(name)] {
        // The marker goes first: a half-removed directory must not count as complete.
        ignore_missing(fs::remove_file(other.join(COMPLETE)))?;
        ignore_missing(fs::remove_dir_all(other))?;
    }
    ignore_missing(fs::remove_file(name.join(COMPLETE)))
}

fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Exchanges two names in one step.
#[cfg(target_os = "linux")]
fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    let a = CString::new(a.as_os_str().as_bytes())?;
    let b = CString::new(b.as_os_str().as_bytes())?;
    // Both are NUL-terminated and live until the call returns; it does nothing else with memory.
    #[allow(unsafe_code)] // there is no safe wrapper of renameat2
    let result =
        unsafe { libc::renameat2(libc::AT_FDCWD, a.as_ptr(), libc::AT_FDCWD, b.as_ptr(), libc::RENAME_EXCHANGE) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(path: &Path, content: &str) {
        fs::create_dir_all(path).unwrap();
        fs::write(path.join("data"), content).unwrap();
    }

    fn content(path: &Path) -> Option<String> {
        fs::read_to_string(path.join("data")).ok()
    }

    fn only(name: &Path) -> bool {
        name.exists() && !new_directory(name).exists() && !old_directory(name).exists() && !name.join(COMPLETE).exists()
    }

    #[test]
    fn swaps_with_and_without_an_old_directory() {
        let root = tempfile::tempdir().unwrap();
        let name = root.path().join("db");
        for content_now in ["first", "second"] {
            let new = prepare(&name).unwrap();
            fs::write(new.join("data"), content_now).unwrap();
            swap(&name).unwrap();
            assert_eq!(content(&name).as_deref(), Some(content_now));
            assert!(only(&name));
        }
    }

    #[test]
    fn each_state_that_a_crash_leaves_is_recovered() {
        // (name, new, complete, old) → what must be served.
        let states = [
            (Some("old"), Some("half"), false, None, "old"),
            (Some("old"), Some("new"), true, None, "old"),
            (None, Some("new"), true, Some("old"), "new"),
            (None, None, false, Some("old"), "old"),
            (Some("new"), None, false, Some("old"), "new"),
            (Some("new"), Some("old"), false, None, "new"),
        ];
        for (name_has, new_has, complete, old_has, expected) in states {
            let root = tempfile::tempdir().unwrap();
            let name = root.path().join("db");
            for (path, has) in
                [(name.clone(), name_has), (new_directory(&name), new_has), (old_directory(&name), old_has)]
            {
                if let Some(has) = has {
                    directory(&path, has);
                }
            }
            if complete {
                fs::write(new_directory(&name).join(COMPLETE), "").unwrap();
            }
            recover(&name).unwrap();
            assert_eq!(content(&name).as_deref(), Some(expected));
            assert!(only(&name));
        }
    }
}
