//! Files and folders that are there, whole, after a power cut: whatever makes, replaces or renames one durably does it
//! here. Files that somebody named are read here, too, within a bound.
//!
//! A file is on the disk when it was synced and the folder with its name was synced after it got that name; a new
//! folder, when the folder above was. Each function returns when all of that is done. Knows files; not what is in them.

mod read_bound;
mod stamp;

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

pub use read_bound::ReadBound;
pub use stamp::FileStamp;

/// Mode of folders whose maker says nothing else; the process's mask takes its part.
const FOLDER_MODE: u32 = 0o777;

/// The folder that a path stands in.
#[must_use]
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The file in the same folder whose name is longer by `ending`.
#[must_use]
pub fn beside(path: &Path, ending: impl AsRef<OsStr>) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Makes the names in a folder durable.
///
/// # Errors
/// When the folder cannot be read or synced.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Makes the name of a file or folder durable.
///
/// # Errors
/// As [`sync_folder`].
pub fn sync_name(path: &Path) -> io::Result<()> {
    sync_folder(folder_of(path))
}

/// Syncs all files and folders below `folder`, and itself.
///
/// # Errors
/// When one of them cannot be read or synced.
pub fn sync_tree(folder: &Path) -> io::Result<()> {
    for item in fs::read_dir(folder)? {
        let item = item?;
        if item.file_type()?.is_dir() {
            sync_tree(&item.path())?;
        } else {
            File::open(item.path())?.sync_all()?;
        }
    }
    sync_folder(folder)
}

/// Makes a folder, and those above it that are missing. One that is there stays as it is.
///
/// # Errors
/// When one cannot be made or synced, or a file has its name.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    make_folder_with_mode(folder, FOLDER_MODE)
}

/// The same; the folder itself gets that mode.
///
/// # Errors
/// As [`make_folder`].
pub fn make_folder_with_mode(folder: &Path, mode: u32) -> io::Result<()> {
    if folder.is_dir() || folder.as_os_str().is_empty() {
        return Ok(());
    }
    make_folder(folder_of(folder))?;
    match DirBuilder::new().mode(mode).create(folder) {
        // Another process may have been quicker.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
        made => made?,
    }
    sync_name(folder)
}

/// Puts `bytes` in the place of the file in one step; its folder is made if there is none. It is written as `PATH.new`
/// first.
///
/// `permissions` are those of the new file, and nobody can read it before it has them; without them it is a new file
/// like any other.
///
/// # Errors
/// Whatever writing files can fail of; the old file is there then.
pub fn replace_file(path: &Path, bytes: &[u8], permissions: Option<Permissions>) -> io::Result<()> {
    make_folder(folder_of(path))?;
    let temporary = beside(path, ".new");
    write_new(&temporary, bytes, permissions)?;
    rename(&temporary, path)
}

/// Makes the file unless it is there; `false` when it is. Two processes that do so at once get the file of one of them.
///
/// # Errors
/// As [`replace_file`].
pub fn create_file(path: &Path, bytes: &[u8], permissions: Permissions) -> io::Result<bool> {
    make_folder(folder_of(path))?;
    let temporary = beside(path, format!(".new-{}", std::process::id()));
    write_new(&temporary, bytes, Some(permissions))?;
    let linked = fs::hard_link(&temporary, path);
    fs::remove_file(&temporary)?;
    let is_new = match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
        linked => linked.map(|()| true)?,
    };
    sync_name(path)?;
    Ok(is_new)
}

/// Writes and syncs a file, in the place of what a crash left under its name: that may have other permissions.
fn write_new(path: &Path, bytes: &[u8], permissions: Option<Permissions>) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = match permissions {
        None => File::create_new(path)?,
        Some(permissions) => {
            let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            file.set_permissions(permissions)?;
            file
        }
    };
    file.write_all(bytes)?;
    file.sync_all()
}

/// Gives a file or folder, which is synced, another name.
///
/// # Errors
/// When the name cannot be changed or synced.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_name(to)?;
    if folder_of(from) == folder_of(to) { Ok(()) } else { sync_name(from) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that fails says so by panicking")]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/numbers.txt");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // As a crash may have left it.
        fs::write(beside(&path, ".new"), "longer than what comes").unwrap();
        fs::set_permissions(beside(&path, ".new"), Permissions::from_mode(0o666)).unwrap();
        for (text, wanted) in [("one", 0o640), ("two", 0o600)] {
            replace_file(&path, text.as_bytes(), Some(Permissions::from_mode(wanted))).unwrap();
            assert_eq!((fs::read_to_string(&path).unwrap().as_str(), mode(&path)), (text, wanted));
        }
        replace_file(&path, b"three", None).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "three");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        // A folder cannot be replaced by a file.
        assert!(replace_file(path.parent().unwrap(), b"four", None).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "three");
        let new = folder.path().join("made/above/numbers.txt");
        replace_file(&new, b"five", None).unwrap();
        assert_eq!(fs::read_to_string(new).unwrap(), "five");
    }

    #[test]
    fn a_file_is_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys/secret");
        assert!(create_file(&path, b"first", Permissions::from_mode(0o600)).unwrap());
        assert!(!create_file(&path, b"second", Permissions::from_mode(0o600)).unwrap());
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), mode(&path)), ("first", 0o600));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn folders_are_made_with_those_above_and_stay_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/c");
        make_folder_with_mode(&path, 0o700).unwrap();
        assert_eq!(mode(&path), 0o700);
        make_folder_with_mode(&path, 0o750).unwrap();
        assert_eq!(mode(&path), 0o700);
        fs::write(path.join("file"), "x").unwrap();
        assert!(make_folder(&path.join("file")).is_err());
        sync_tree(folder.path()).unwrap();
        rename(&path.join("file"), &folder.path().join("file")).unwrap();
        assert!(folder.path().join("file").exists() && !path.join("file").exists());
    }
}
