//! Where backups lie, and what they are sealed with.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ::backup::key::Key;
use ::backup::manifest::Sealed;
use ::backup::manifests;
use ::backup::storage::{Folder, Storage};
use clap::Args;
use config::Instance;
use durable::ReadBound;
use runtime::secret_file;
use zeroize::Zeroizing;

use crate::failure::{Context, Failure};
use crate::output::errln;

/// Largest key file.
const KEY_BYTES_MAX: u64 = 64 << 10;

/// Where backups lie.
#[derive(Debug, Args)]
pub struct PlaceOptions {
    /// Folder of the backups [default: backup in the instance]
    #[arg(short = 'd', long = "backupDirectory", value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl PlaceOptions {
    /// The storage in which backups are made.
    pub fn storage(&self, directory: &Path) -> Box<dyn Storage> {
        let own = || Instance::new(directory).backup();
        Box::new(Folder::new(&self.folder.clone().unwrap_or_else(own)))
    }

    /// The storage from which backups are read, and what is in it. As OpenDJ's tools, it takes the folder of one
    /// backend, too.
    pub fn found(&self, directory: &Path) -> Result<(Box<dyn Storage>, Vec<Sealed>), Failure> {
        let mut storage = self.storage(directory);
        if let Some(folder) = &self.folder {
            if !folder.is_dir() {
                return Err(Failure::new(format_args!("there is no folder {}", folder.display())));
            }
            let is_of_one = |name: &str| name.matches('/').count() == 1 && name.ends_with("/manifest");
            let above = std::fs::canonicalize(folder).context(folder.display())?;
            if storage.list("")?.iter().any(|stored| is_of_one(&stored.name))
                && let Some(above) = above.parent()
            {
                storage = Box::new(Folder::new(above));
            }
        }
        let (found, faults) = manifests(&*storage)?;
        for fault in faults {
            errln!("pando: {fault}");
        }
        Ok((storage, found))
    }
}

/// What backups are sealed with.
#[derive(Debug, Args)]
pub struct KeyOptions {
    /// File with the key of the backups [default: keys/backup.key of the instance]
    #[arg(long = "keyFile", value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// File whose first line is the passphrase of the backups
    #[arg(long = "passphraseFile", value_name = "FILE", conflicts_with = "key_file")]
    passphrase_file: Option<PathBuf>,
}

impl KeyOptions {
    /// Whether one is named.
    pub fn is_given(&self) -> bool {
        self.key_file.is_some() || self.passphrase_file.is_some()
    }

    fn given(&self) -> Result<Option<Key>, Failure> {
        if let Some(file) = &self.key_file {
            return read_key(file, ReadBound::stream(KEY_BYTES_MAX)).map(Some);
        }
        let Some(file) = &self.passphrase_file else { return Ok(None) };
        let line = secret_file::first_line(file, secret_file::GIVEN).context(file.display())?;
        let line = line.ok_or_else(|| Failure::new(format_args!("{} is empty", file.display())))?;
        Ok(Some(Key::of_passphrase(line).context(file.display())?))
    }

    /// The key for new backups; the instance's is made when there is none.
    pub fn for_new(&self, instance: &Instance) -> Result<Key, Failure> {
        if let Some(given) = self.given()? {
            return Ok(given);
        }
        let file = instance.backup_key();
        if !file.exists() {
            let key = Key::generate()?;
            let mode = Permissions::from_mode(0o600);
            if durable::create_file(&file, key.as_bytes(), mode).context(file.display())? {
                errln!(
                    "A new key is in {}. Keep a copy of it where the backups are not: without it they cannot \
                     be restored.",
                    file.display()
                );
            }
        }
        read_key(&file, ReadBound::file(KEY_BYTES_MAX))
    }

    /// The key for reading backups; the instance's where one of them is sealed by a key file.
    pub fn for_reading(&self, instance: &Instance, all: &[Sealed]) -> Result<Option<Key>, Failure> {
        let file = instance.backup_key();
        match self.given()? {
            None if all.iter().any(|sealed| sealed.manifest.seal.is_some()) && file.exists() => {
                Ok(Some(read_key(&file, ReadBound::file(KEY_BYTES_MAX))?.where_needed()))
            }
            given => Ok(given),
        }
    }
}

fn read_key(file: &Path, bound: ReadBound) -> Result<Key, Failure> {
    let content = Zeroizing::new(bound.read(file).context(file.display())?);
    Key::of_file(&content).context(file.display())
}

/// The backend whose backups are meant: the one named, or the only one that has some.
pub fn backend_of(all: &[Sealed], named: Option<&str>, place: &str) -> Result<String, Failure> {
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    let mut backends: Vec<&str> = all.iter().map(|sealed| sealed.manifest.backend.as_str()).collect();
    backends.sort_unstable();
    backends.dedup();
    match backends.as_slice() {
        [] => Err(Failure::new(format_args!("there are no backups in {place}"))),
        [only] => Ok((*only).to_owned()),
        several => Err(Failure::new(format_args!(
            "say of which backend with --backendID: {place} has backups of {}",
            several.join(", ")
        ))),
    }
}
