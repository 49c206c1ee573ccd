//! An instance directory: where its parts are.
//!
//! Knows names only; opens nothing.

use std::path::{Path, PathBuf};

/// The folder that holds one server: its configuration, data, logs and keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    directory: PathBuf,
}

impl Instance {
    /// Name of the configuration file.
    pub const CONFIG_FILE: &'static str = "pando.toml";

    /// The instance in that directory, which need not exist yet.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// The directory itself.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// `pando.toml`
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.directory.join(Self::CONFIG_FILE)
    }

    /// `db/`, a folder per backend.
    #[must_use]
    pub fn db(&self) -> PathBuf {
        self.directory.join("db")
    }

    /// `logs/`
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.directory.join("logs")
    }

    /// `schema/`: definitions beside the standard ones.
    #[must_use]
    pub fn schema(&self) -> PathBuf {
        self.directory.join("schema")
    }

    /// `keys/`: certificates and private keys.
    #[must_use]
    pub fn keys(&self) -> PathBuf {
        self.directory.join("keys")
    }

    /// The secret with which keys of confidential indexes are hashed.
    #[must_use]
    pub fn index_secret(&self) -> PathBuf {
        self.keys().join("index.secret")
    }

    /// The key that seals the secrets of one-time passwords.
    #[must_use]
    pub fn second_factor_key(&self) -> PathBuf {
        self.keys().join("second-factor.key")
    }

    /// The key that seals backups, when no other is given.
    #[must_use]
    pub fn backup_key(&self) -> PathBuf {
        self.keys().join("backup.key")
    }

    /// The root user's password, where nobody gave one and it was made.
    #[must_use]
    pub fn made_password(&self) -> PathBuf {
        self.keys().join("root.password")
    }

    /// The state of the root users' accounts.
    #[must_use]
    pub fn root_accounts(&self) -> PathBuf {
        self.db().join("root-accounts.ldif")
    }

    /// `changelog/`
    #[must_use]
    pub fn changelog(&self) -> PathBuf {
        self.directory.join("changelog")
    }

    /// `config-history/`: the configurations that were taken.
    #[must_use]
    pub fn config_history(&self) -> PathBuf {
        self.directory.join("config-history")
    }

    /// `backup/`
    #[must_use]
    pub fn backup(&self) -> PathBuf {
        self.directory.join("backup")
    }

    /// The file that keeps the tasks of the server.
    #[must_use]
    pub fn tasks(&self) -> PathBuf {
        self.directory.join("tasks.json")
    }

    /// The file that names the process of the running server, and that it keeps locked.
    #[must_use]
    pub fn pid_file(&self) -> PathBuf {
        self.logs().join("server.pid")
    }

    /// The file that names the tool that is changing the configuration, and that it keeps locked.
    #[must_use]
    pub fn edit_lock(&self) -> PathBuf {
        self.directory.join(format!("{}.lock", Self::CONFIG_FILE))
    }

    /// The socket over which the tools speak with the running server.
    #[must_use]
    pub fn administration_socket(&self) -> PathBuf {
        self.directory.join("admin.sock")
    }

    /// Every folder of the layout.
    #[must_use]
    pub fn folders(&self) -> [PathBuf; 6] {
        [self.db(), self.logs(), self.schema(), self.keys(), self.changelog(), self.backup()]
    }
}
