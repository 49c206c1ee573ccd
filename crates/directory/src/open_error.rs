//! Why a directory does not open, or does not take another configuration.

use store::StoreError;

use crate::shadow::ProposedEntriesError;
use access::AccessError;
use access::limits::LimitsError;
use change::history::HistoryOpenError;
use query::computed::TableError;
use query::configured::ConfiguredError;
use tasks::BookError;

/// Why a directory cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// What the configuration says of schema, base DNs and indexes is not usable.
    #[error(transparent)]
    Configured(#[from] ConfiguredError),
    /// A rule of limits cannot be.
    #[error(transparent)]
    Limits(#[from] LimitsError),
    /// What is configured of access control is not valid.
    #[error(transparent)]
    AccessControl(#[from] AccessError),
    /// A file with proposed instructions cannot be tried.
    #[error(transparent)]
    Proposed(#[from] ProposedEntriesError),
    /// The tasks cannot be read.
    #[error(transparent)]
    Tasks(#[from] BookError),
    /// There is no such backend.
    #[error("there is no backend \"{backend}\" in service")]
    NoBackend {
        /// As asked for.
        backend: String,
    },
    /// There is no such index.
    #[error("backend \"{backend}\": there is no index \"{index}\"")]
    NoIndex {
        /// Which backend.
        backend: String,
        /// As asked for.
        index: String,
    },
    /// A backend does not take the schema of the files.
    #[error("backend \"{backend}\" does not take the schema: {reason}")]
    SchemaChange {
        /// Which backend.
        backend: String,
        /// Why.
        reason: String,
    },
    /// A mapper goes by something that entries cannot be found by.
    #[error("the identity mapper \"{name}\" is not usable: {reason}")]
    IdentityMapper {
        /// Its name.
        name: String,
        /// Why.
        reason: String,
    },
    /// A file with the keys of encrypted passwords is not usable.
    #[error("the file {file} with keys of passwords is not usable: {reason}")]
    PasswordKeys {
        /// Its path.
        file: String,
        /// Why.
        reason: String,
    },
    /// A certificate mapper goes by something that the schema does not have.
    #[error("the certificate mapper \"{name}\" is not usable: {reason}")]
    CertificateMapper {
        /// Its name.
        name: String,
        /// Why.
        reason: String,
    },
    /// A SASL mechanism goes by a file that cannot be used.
    #[error("the SASL mechanism \"{name}\" is not usable: {reason}")]
    Sasl {
        /// The name of its table.
        name: String,
        /// Why.
        reason: String,
    },
    /// A plugin cannot be.
    #[error("pando.toml:{line}:{column}: [plugin.{name}] cannot be: {reason}")]
    Plugin {
        /// Its name.
        name: String,
        /// Line of its table.
        line: usize,
        /// Column of its table.
        column: usize,
        /// Why.
        reason: String,
    },
    /// A virtual attribute cannot be.
    #[error(transparent)]
    VirtualAttribute(#[from] TableError),
    /// A backend does not take what it is to keep of the configuration.
    #[error("backend \"{backend}\" does not take the configuration: {reason}")]
    Kept {
        /// Which backend.
        backend: String,
        /// Why.
        reason: String,
    },
    /// A thread cannot be started.
    #[error("a thread cannot be started: {error}")]
    Thread {
        /// Why.
        error: std::io::Error,
    },
    /// The file with the state of the root users' accounts cannot be read.
    #[error("{}: {error}", path.display())]
    RootAccounts {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The history of changes cannot be opened.
    #[error(transparent)]
    History(#[from] HistoryOpenError),
    /// The store refuses.
    #[error("backend \"{backend}\": {error}")]
    Store {
        /// Which backend.
        backend: String,
        /// Why.
        error: StoreError,
    },
}
