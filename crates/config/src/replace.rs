//! Files that a crash leaves whole: the old one or the new one.
//!
//! Knows files; not what is in them.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// Puts `bytes` in place of the file in one step, durably; its folder is made if there is none. It is written as `PATH.new` first.
///
/// `permissions` are those of the new file, and nobody can read it before it has them; without them it is a new file like any other.
///
/// # Errors
/// Whatever writing files can fail of; the old file is there then.
pub fn replace_file(path: &Path, bytes: &[u8], permissions: Option<Permissions>) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let temporary = beside(path, ".new");
    // What a crash left behind may have other permissions.
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = match permissions {
        None => File::create_new(&temporary)?,
        Some(permissions) => {
            let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
            file.set_permissions(permissions)?;
            file
        }
    };
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    File::open(folder)?.sync_all()
}

/// The file in the same folder whose name is longer by `ending`.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/numbers.txt");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // As a crash may have left it.
        fs::write(beside(&path, ".new"), "longer than what comes").unwrap();
        fs::set_permissions(beside(&path, ".new"), Permissions::from_mode(0o666)).unwrap();
        for (text, mode) in [("one", 0o640), ("two", 0o600)] {
            replace_file(&path, text.as_bytes(), Some(Permissions::from_mode(mode))).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
        replace_file(&path, b"three", None).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "three");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        // A folder cannot be replaced by a file.
        assert!(replace_file(path.parent().unwrap(), b"four", None).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "three");
        let new = folder.path().join("made/numbers.txt");
        replace_file(&new, b"five", None).unwrap();
        assert_eq!(fs::read_to_string(new).unwrap(), "five");
    }
}
