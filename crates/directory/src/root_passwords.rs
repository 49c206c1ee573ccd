//! Passwords of root users, as `pando.toml` has them: hashed on the way in, whichever way they come.
//!
//! Knows the configuration and the storage schemes; not who asks.

use accounts::{EntryValues, PasswordFault, PasswordPolicy, QualityCheck, Surroundings, check_password};
use config::{Change, Config, Edit, EditError};
use password::{EncodeError, Parameters, Scheme};
use schema::{NormalizedDn, Schema};
use zeroize::Zeroizing;

use crate::open_error::OpenError;
use crate::root_users::RootUsers;

/// Shortest password of a root user.
pub const ROOT_PASSWORD_BYTES_MIN: usize = 8;

/// Why a password cannot be a root user's, or is not hashed.
#[derive(Debug, thiserror::Error)]
pub enum RootPasswordError {
    /// It is too short.
    #[error("the root user's password has {bytes} bytes; at least {ROOT_PASSWORD_BYTES_MIN} are needed")]
    TooShort {
        /// Its length.
        bytes: usize,
    },
    /// The user's policy refuses it.
    #[error("the root user's password is not good enough for \"{policy}\": {fault}")]
    Rules {
        /// The policy's name.
        policy: String,
        /// Which rule it breaks, and how to obey it.
        fault: PasswordFault,
    },
    /// It cannot be hashed.
    #[error("the root user's password is not valid: {0}")]
    Encode(#[from] EncodeError),
    /// One in the file is not valid.
    #[error(
        "[root-dn-user.\"{user}\"] has a password in the clear, which is not stored: {error}; set another with \
         pando dsconfig set-root-dn-user-prop --user-name \"{user}\" --set password:PASSWORD"
    )]
    InFile {
        /// The user's name.
        user: String,
        /// What is wrong with it.
        error: Box<RootPasswordError>,
    },
    /// The file is not changed.
    #[error(
        "[root-dn-user.\"{user}\"] has a password in the clear, and the file cannot be changed to hold its hash: \
         {error}; \
         write what pando encode-password -s SSHA512 -i prints in its place"
    )]
    File {
        /// The user's name.
        user: String,
        /// Why.
        error: EditError,
    },
    /// The file cannot be read, or has faults.
    #[error(transparent)]
    Open(#[from] EditError),
}

/// The stored form of a root user's password that was given in the clear.
///
/// # Errors
/// When it is too short or too long.
pub fn hashed_root_password(clear: &[u8]) -> Result<String, RootPasswordError> {
    if clear.len() < ROOT_PASSWORD_BYTES_MIN {
        return Err(RootPasswordError::TooShort { bytes: clear.len() });
    }
    let stored = password::encode_random(Scheme::SaltedSha512, &Parameters::default(), clear)?;
    Ok(String::from_utf8_lossy(&stored).into_owned())
}

/// Hashes every password of a root user that can be read as it stands in the file; nothing is saved. Gives the names of
/// these users.
///
/// # Errors
/// When one is too short or too long, or the file has faults.
pub fn hash_root_passwords(edit: &mut Edit) -> Result<Vec<String>, RootPasswordError> {
    let mut hashed = Vec::new();
    for user in edit.config()?.root_users {
        let Some(clear) = password::clear_text(user.password.expose().as_bytes()) else { continue };
        let stored = check_rules(&user.policy, &clear).and_then(|()| hashed_root_password(&clear));
        let stored =
            stored.map_err(|error| RootPasswordError::InFile { user: user.name.clone(), error: Box::new(error) })?;
        edit.change(&[("root-dn-user", &user.name)], "password", Change::Set, &[stored])?;
        hashed.push(user.name);
    }
    Ok(hashed)
}

/// Whether a password obeys the user's policy. Who writes it into the configuration is an administrator.
fn check_rules(policy: &PasswordPolicy, clear: &[u8]) -> Result<(), RootPasswordError> {
    if policy.skip_validation_for_administrators || policy.quality_check == QualityCheck::Never {
        return Ok(());
    }
    // There is no entry with values that it could be compared with.
    let surroundings = Surroundings { known: &[], entry: &NoValues };
    check_password(&policy.validators, clear, &surroundings)
        .map_err(|fault| RootPasswordError::Rules { policy: policy.dn.clone(), fault })
}

struct NoValues;

impl EntryValues for NoValues {
    fn each(&self, _: Option<&str>, _: &mut dyn FnMut(&[u8])) {}
}

/// [`hash_root_passwords`] in the file itself; its comments stay, and the text with the clear password is kept nowhere.
///
/// # Errors
/// As there, and when the file cannot be written.
pub fn hash_root_passwords_in_file(file: &std::path::Path) -> Result<Vec<String>, RootPasswordError> {
    let mut edit = Edit::open(file)?;
    let hashed = hash_root_passwords(&mut edit)?;
    if let Some(user) = hashed.first() {
        edit.save_without_backup().map_err(|error| RootPasswordError::File { user: user.clone(), error })?;
    }
    Ok(hashed)
}

/// Whether the configuration has a root user of that name.
///
/// # Errors
/// When a name in the configuration is not valid.
pub fn is_root_user(config: &Config, schema: &Schema, dn: &str) -> Result<bool, OpenError> {
    stored(config, schema, dn).map(|stored| stored.is_some())
}

/// Whether the configuration has a root user of that name with that password.
///
/// # Errors
/// When a name in the configuration is not valid.
pub fn is_root_password(config: &Config, schema: &Schema, dn: &str, clear: &[u8]) -> Result<bool, OpenError> {
    Ok(stored(config, schema, dn)?.is_some_and(|stored| password::verify(&stored, clear)))
}

fn stored(config: &Config, schema: &Schema, dn: &str) -> Result<Option<Zeroizing<Vec<u8>>>, OpenError> {
    let users = RootUsers::new(config, schema)?;
    let name = NormalizedDn::parse(schema, dn.as_bytes()).ok();
    Ok(name.and_then(|name| users.find(&name).map(|stored| Zeroizing::new(stored.to_vec()))))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const FILE: &str = "# who\n[root-dn-user.\"Directory Manager\"] # may\nalternate-bind-dn = \"cn=Directory \
        Manager\"\n# do\npassword = \"PASSWORD\" # everything\n";

    fn file(password: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pando.toml");
        fs::write(&file, FILE.replace("PASSWORD", password)).unwrap();
        (folder, file)
    }

    #[test]
    fn a_clear_password_in_the_file_is_hashed_and_kept_nowhere() {
        for clear in ["secret12", "{CLEAR}secret12", "{base64}c2VjcmV0MTI="] {
            let (folder, file) = file(clear);
            assert_eq!(hash_root_passwords_in_file(&file).unwrap(), ["Directory Manager"]);
            let text = fs::read_to_string(&file).unwrap();
            let stored = Config::load(&file).unwrap().root_users[0].password.clone();
            assert!(stored.expose().starts_with("{SSHA512}"));
            assert!(password::verify(stored.expose().as_bytes(), b"secret12"));
            assert_eq!(text, FILE.replace("PASSWORD", stored.expose()), "comments stay");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no copy of the clear one");
            assert_eq!(hash_root_passwords_in_file(&file).unwrap(), [""; 0]);
        }
    }

    #[test]
    fn a_password_that_the_policy_of_the_user_refuses_is_not_hashed() {
        let (_folder, file) = file("aaaaaaaaaaaa");
        let rules = "[password-policy.\"Root Password Policy\"]\npassword-validator = \"v\"\n\
                     [password-validator.v]\ntype = \"unique-characters\"\nmin-unique-characters = 5\n";
        let text = fs::read_to_string(&file).unwrap() + rules;
        fs::write(&file, &text).unwrap();
        let told = hash_root_passwords_in_file(&file).unwrap_err().to_string();
        assert!(told.contains("cn=Root Password Policy") && told.contains("use at least 5"), "{told}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }

    #[test]
    fn a_short_password_is_refused_with_the_command_and_stays_unshown() {
        let (_folder, file) = file("short");
        let told = hash_root_passwords_in_file(&file).unwrap_err().to_string();
        assert!(told.contains("has 5 bytes; at least 8") && told.contains("dsconfig set-root-dn-user-prop"), "{told}");
        let config = Config::load(&file).unwrap();
        assert!(!told.contains("short") && !format!("{config:?}").contains("short"));
    }
}
