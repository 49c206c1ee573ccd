//! The keys of passwords that another server encrypted, from the files that the configuration names.

use config::Config;
use password::KeyRing;
use zeroize::Zeroizing;

use crate::open_error::OpenError;

/// Reads the files and hands their keys to whoever verifies passwords in this process.
///
/// # Errors
/// When a file cannot be read, or a line of it is no key.
pub(crate) fn take_password_keys(config: &Config) -> Result<(), OpenError> {
    let mut all = KeyRing::default();
    for file in &config.password_key_files {
        let unusable = |reason: String| OpenError::PasswordKeys { file: file.display().to_string(), reason };
        let text = Zeroizing::new(std::fs::read_to_string(file).map_err(|error| unusable(error.to_string()))?);
        all.append(KeyRing::read(&text).map_err(|error| unusable(error.to_string()))?);
    }
    if !all.is_empty() {
        password::set_keys(all);
    }
    Ok(())
}
