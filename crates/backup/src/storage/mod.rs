//! Where backups lie: objects with names, in a folder or a bucket. Knows nothing of what is in them.

mod folder;

use std::fmt;

pub use folder::Folder;

/// A place for objects. Names are words with `/` between them.
pub trait Storage: Send + Sync {
    /// Where it is, for messages.
    fn place(&self) -> String;

    /// Stores an object. When it returns, the object is there, whole, and stays there after a power cut.
    ///
    /// # Errors
    /// When the storage refuses; part of the object may be there, under this or another name.
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StorageError>;

    /// Reads an object of at most so many bytes.
    ///
    /// # Errors
    /// When it is not there, is larger or cannot be read.
    fn get(&self, name: &str, bytes_max: u64) -> Result<Vec<u8>, StorageError>;

    /// All objects whose names begin so, in the order of their names.
    ///
    /// # Errors
    /// When they cannot be listed.
    fn list(&self, beginning: &str) -> Result<Vec<Stored>, StorageError>;

    /// Removes an object; one that is not there is removed already.
    ///
    /// # Errors
    /// When the storage refuses.
    fn remove(&self, name: &str) -> Result<(), StorageError>;
}

/// An object of a storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
}

/// Why a storage refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{object}: {fault}")]
pub struct StorageError {
    /// The place and name of the object.
    pub object: String,
    /// What is wrong.
    pub fault: StorageFault,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorageFault {
    /// It is not there.
    Missing,
    /// There is no room.
    Full,
    /// It is larger than what is read.
    TooLarge(u64),
    /// Anything else, as the storage says it.
    Failed(String),
}

impl fmt::Display for StorageFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StorageFault::Missing => f.write_str("it is not there"),
            StorageFault::Full => f.write_str("there is no room left"),
            StorageFault::TooLarge(bytes_max) => write!(f, "it is larger than {bytes_max} bytes"),
            StorageFault::Failed(reason) => f.write_str(reason),
        }
    }
}
