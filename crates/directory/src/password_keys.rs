//! The keys of passwords that another server encrypted, from the files that the configuration names.

use config::Config;
use durable::ReadBound;
use password::KeyRing;
use zeroize::Zeroizing;

use crate::open_error::OpenError;

/// Largest file with keys.
const KEYS: ReadBound = ReadBound::file(1 << 20);

/// Hands the keys of the files to whoever verifies passwords in this process.
///
/// # Errors
/// As [`read_password_keys`].
pub(crate) fn take_password_keys(config: &Config) -> Result<(), OpenError> {
    let all = read_password_keys(config)?;
    if !all.is_empty() {
        password::set_keys(all);
    }
    Ok(())
}

/// Reads the files.
///
/// # Errors
/// When a file cannot be read, or a line of it is no key.
pub(crate) fn read_password_keys(config: &Config) -> Result<KeyRing, OpenError> {
    let mut all = KeyRing::default();
    for file in &config.password_key_files {
        let unusable = |reason: String| OpenError::PasswordKeys { file: file.display().to_string(), reason };
        let text = Zeroizing::new(KEYS.text(file).map_err(|error| unusable(error.to_string()))?);
        all.append(KeyRing::read(&text).map_err(|error| unusable(error.to_string()))?);
    }
    Ok(all)
}
