//! The password of a root user that nobody gave: made, and kept in a file of the instance.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use config::Instance;

use crate::failure::{Context, Failure};

/// A password for the root user.
pub fn make() -> Result<String, Failure> {
    String::from_utf8(password::generate().context("password")?).map_err(Failure::new)
}

/// Keeps it where only who runs the server reads it; gives the file.
pub fn keep(instance: &Instance, password: &str) -> Result<PathBuf, Failure> {
    let file = instance.made_password();
    let permissions = Some(fs::Permissions::from_mode(0o600));
    durable::replace_file(&file, format!("{password}\n").as_bytes(), permissions).context(file.display())?;
    Ok(file)
}
