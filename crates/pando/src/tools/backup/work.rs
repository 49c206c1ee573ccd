//! Making one backup of one backend, as the options say.

use std::path::Path;
use std::sync::Arc;

use ::backup::chain::{Chain, Moment};
use ::backup::key::Key;
use ::backup::make::{Making, Protection};
use ::backup::manifest::{Kind, Manifest, Stream};
use ::backup::retention::Retention;
use ::backup::storage::Storage;
use ::backup::{BackupError, ContainedFile, manifests};
use config::{BackendConfig, Config};
use durable::ReadBound;
use jobs::Watch;
use schema::Schema;

use crate::failure::{Context, Failure};
use crate::instance;
use crate::output::{errln, outln};
use crate::terminal::bytes_text;

/// Largest file of the instance that goes with a backup, and how many of a folder.
const FILE_BYTES_MAX: u64 = 16 << 20;
const FILES_MAX: usize = 1_000;
/// Beside a running server the work rests half of the time.
const REST_BESIDE_SERVER: f64 = 0.5;

/// What the backups of a run have in common.
pub struct Work<'a> {
    pub config: &'a Config,
    pub schema: &'a Arc<Schema>,
    pub storage: &'a dyn Storage,
    /// What they are sealed with.
    pub seal: Option<(&'a Key, Protection)>,
    /// Share of the time in which the work rests, if that is said.
    pub rest: Option<f64>,
    pub is_quiet: bool,
    pub retention: Retention,
}

impl Work<'_> {
    fn making<'m>(&'m self, backend: &'m BackendConfig, id: &'m str) -> Making<'m> {
        let is_served = instance::running(&self.config.instance).is_some();
        Making {
            storage: self.storage,
            backend: &backend.id,
            base_dns: &backend.base_dns,
            id,
            seal: self.seal,
            rest: self.rest.unwrap_or(if is_served { REST_BESIDE_SERVER } else { 0.0 }),
            program: env!("CARGO_PKG_VERSION"),
        }
    }

    /// Backs up all of a backend.
    pub fn full(&self, backend: &BackendConfig, id: &str, watch: &mut dyn Watch) -> Result<Manifest, Failure> {
        let reader = instance::reader(self.config, backend, self.schema)?;
        let is_encrypted = matches!(self.seal, Some((_, Protection::Encrypted)));
        let files = contained(self.config, is_encrypted)?;
        let image = || reader.image().map_err(BackupError::from);
        Ok(self.making(backend, id).full(&image, &files, watch)?)
    }

    /// Backs up what changed since the last backup, or since the one named.
    pub fn incremental(
        &self,
        backend: &BackendConfig,
        id: &str,
        base: Option<&str>,
        watch: &mut dyn Watch,
    ) -> Result<Manifest, Failure> {
        let (all, _) = manifests(self.storage)?;
        let place = self.storage.place();
        if let Some(base) = base {
            let named = Chain::find(&all, &backend.id, &Moment::Backup(base.to_owned()), &place)?;
            let previous = named.all().last().unwrap_or(named.full);
            let made = self.since(backend, id, &previous.manifest, Kind::Incremental, watch)?;
            return made?.ok_or_else(|| Failure::new("there is nothing to back up"));
        }
        let latest = Chain::find(&all, &backend.id, &Moment::Latest, &place)?;
        let previous = Chain::next_follows_on(&all, &latest);
        let mut made = self.since(backend, id, previous, Kind::Incremental, watch)?;
        let full = &latest.full.manifest;
        if matches!(made, Err(BackupError::LogGone(_))) && full.last_change > previous.last_change {
            made = self.since(backend, id, full, Kind::Incremental, watch)?;
        }
        made?.ok_or_else(|| Failure::new("there is nothing to back up"))
    }

    /// Backs up what changed since a backup; the outer error is one of the instance.
    pub fn since(
        &self,
        backend: &BackendConfig,
        id: &str,
        previous: &Manifest,
        kind: Kind,
        watch: &mut dyn Watch,
    ) -> Result<Result<Option<Manifest>, BackupError>, Failure> {
        let reader = instance::reader(self.config, backend, self.schema)?;
        let open = || Ok((reader.data()?, reader.log()?));
        Ok(self.making(backend, id).since(previous, kind, &open, watch))
    }

    /// Says what was made.
    pub fn report(&self, manifest: &Manifest, seconds: f64) {
        if self.is_quiet {
            return;
        }
        let Manifest { backend, id, first_change, last_change, .. } = manifest;
        let (stored, place) = (bytes_text(manifest.stored_bytes()), self.storage.place());
        match manifest.kind {
            Kind::Full => outln!(
                "Backed up backend \"{backend}\" up to change {last_change} as {id} in {place}: {} in {stored}, \
                 {seconds:.1} seconds",
                bytes_text(manifest.plain_bytes(Stream::Database) + manifest.plain_bytes(Stream::Records)),
            ),
            _ if first_change > last_change => {
                outln!("Backed up backend \"{backend}\" as {id} in {place}: nothing has changed since");
            }
            _ => outln!(
                "Backed up backend \"{backend}\", changes {first_change} to {last_change}, as {id} in {place}: \
                 {stored}, {seconds:.1} seconds"
            ),
        }
        if manifest.kind == Kind::Full && !manifest.is_encrypted() {
            errln!(
                "The keys of the instance (folder keys) are not in the backup, because it is not encrypted: keep a \
                 copy of them elsewhere, or back up with --encrypt."
            );
        }
    }

    /// Removes what is not to be kept.
    pub fn purge(&self, backend: &str) -> Result<(), Failure> {
        if self.retention.keeps_all() {
            return Ok(());
        }
        let (all, _) = manifests(self.storage)?;
        let removed = self.retention.apply(self.storage, &all, backend)?;
        if !removed.is_empty() && !self.is_quiet {
            outln!("Removed {} backups: {}.", removed.len(), removed.join(", "));
        }
        Ok(())
    }
}

/// The files of the instance that go with a backup; keys only where it is encrypted.
fn contained(config: &Config, with_keys: bool) -> Result<Vec<ContainedFile>, Failure> {
    let instance = &config.instance;
    let mut paths = vec![instance.config_file(), instance.root_accounts()];
    let folders = [Some(instance.schema()), with_keys.then(|| instance.keys())];
    for folder in folders.into_iter().flatten() {
        let Ok(items) = std::fs::read_dir(&folder) else { continue };
        let mut files = Vec::new();
        for item in items.take(FILES_MAX) {
            let path = item.context(folder.display())?.path();
            // A key that opened its own backup would be of no use in it.
            if path.is_file() && path != instance.backup_key() {
                files.push(path);
            }
        }
        files.sort();
        paths.extend(files);
    }
    let mut found = Vec::new();
    for path in paths {
        let name = path.strip_prefix(instance.directory()).ok().and_then(Path::to_str);
        let Some(name) = name.filter(|_| path.exists()) else { continue };
        let bytes = ReadBound::file(FILE_BYTES_MAX).read(&path).context(path.display())?;
        found.push(ContainedFile { name: name.to_owned(), bytes });
    }
    Ok(found)
}
