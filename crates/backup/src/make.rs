//! Making backups: a full one from an image of the backend, an incremental one from its log.
//!
//! The manifest is stored last. What an earlier attempt under the same name left is replaced; if the work fails, what
//! was stored is removed as far as the storage lets us, and counts for nothing in any case.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jobs::{Progress, Unit, Watch};
use store::log::{Log, LogRecord};
use store::{Image, StoreError};

use crate::contained::{self, ContainedFile};
use crate::error::BackupError;
use crate::key::{Key, SealKeys, hex};
use crate::manifest::{FORMAT, Kind, Manifest, Stream};
use crate::names;
use crate::part::{Gathered, PART_BYTES, PartWriter};
use crate::records;
use crate::storage::Storage;

/// How often an image is begun anew, when a fold frees records of the log before they were read, and how often the log
/// of a running server is read anew.
const ATTEMPTS: u32 = 20;
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// Identity of the data, and its log as it is at this moment.
pub type OpenedLog = ([u8; 16], Arc<dyn Log>);

/// What backups of one backend have in common.
pub struct Making<'a> {
    /// Where they go.
    pub storage: &'a dyn Storage,
    /// The backend.
    pub backend: &'a str,
    /// Its base DNs.
    pub base_dns: &'a [String],
    /// The name of the new backup.
    pub id: &'a str,
    /// What it is sealed with, and whether that encrypts it.
    pub seal: Option<(&'a Key, Protection)>,
    /// Share of the time that the work rests, so that a server beside it has disk and processors; 0 to 0.9.
    pub rest: f64,
    /// Version of the program.
    pub program: &'a str,
}

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// It signs: whoever has no key cannot change the backup unnoticed.
    Signed,
    /// It signs and encrypts.
    Encrypted,
}

/// What a kind of backup adds to its manifest.
struct About {
    kind: Kind,
    base: Option<String>,
    data: String,
    database_format: u32,
    rules: u32,
    first_change: u64,
    last_change: u64,
    digest_before: Option<String>,
    digest: Option<String>,
    until_us: u64,
    within_us: u64,
}

impl Making<'_> {
    /// Makes a full backup. `image` begins an image; it is asked again when the log went on too quickly.
    ///
    /// # Errors
    /// See [`BackupError`].
    pub fn full(
        &self,
        image: &dyn Fn() -> Result<Image, BackupError>,
        files: &[ContainedFile],
        watch: &mut dyn Watch,
    ) -> Result<Manifest, BackupError> {
        self.refuse_taken()?;
        let made = self.stored(watch, &mut |writer| {
            if !files.is_empty() {
                let mut gathered = Gathered::default();
                gathered.add(writer, Stream::Files, &contained::encode(files)?)?;
                gathered.finish(writer, Stream::Files)?;
            }
            let before = writer.parts.len();
            for attempt in 1.. {
                let until_us = now_us();
                let mut image = image()?;
                let within_us = now_us();
                match records_of(&image, writer) {
                    Ok(digest) => {
                        copy_database(&mut image, writer)?;
                        let facts = image.facts;
                        image.finish()?;
                        return Ok(About {
                            kind: Kind::Full,
                            base: None,
                            data: hex(&facts.data),
                            database_format: facts.format,
                            rules: facts.rules,
                            first_change: facts.folded + 1,
                            last_change: facts.last,
                            digest_before: None,
                            digest,
                            until_us,
                            within_us,
                        });
                    }
                    Err(BackupError::Store(StoreError::LogDamaged(_) | StoreError::Io { .. }))
                        if attempt < ATTEMPTS =>
                    {
                        // Parts of this attempt are written over by those of the next.
                        writer.parts.truncate(before);
                    }
                    Err(error) => return Err(error),
                }
            }
            Err(BackupError::Internal("no image of the backend could be made"))
        });
        made.inspect_err(|error| self.discard(error))
    }

    /// Makes a backup of the records that came after those of `previous`; none when there are none. `open` gives the
    /// identity of the data and its log, as it is then.
    ///
    /// # Errors
    /// When the log does not have them any more, and see [`BackupError`].
    pub fn since(
        &self,
        previous: &Manifest,
        kind: Kind,
        open: &dyn Fn() -> Result<OpenedLog, BackupError>,
        watch: &mut dyn Watch,
    ) -> Result<Option<Manifest>, BackupError> {
        self.refuse_taken()?;
        // Before the log is looked at: what is acknowledged by now is in it then.
        let until_us = now_us();
        let (data, log) = open()?;
        if previous.data() != Some(data) {
            return Err(BackupError::LogGone(format!(
                "the backend was imported or restored since the backup \"{}\" was made",
                previous.id
            )));
        }
        let (last, within_us) = (log.last(), now_us());
        if last < previous.last_change {
            return Err(BackupError::LogGone(format!(
                "the log ends with change {last}, before change {} of the backup \"{}\"",
                previous.last_change, previous.id
            )));
        }
        if last == previous.last_change && kind == Kind::Archived {
            return Ok(None);
        }
        let made = self.stored(watch, &mut |writer| {
            let mut read = records_since(&*log, previous, last, writer);
            for _ in 1..ATTEMPTS {
                if !matches!(read, Err(BackupError::Store(StoreError::LogDamaged(_)))) {
                    break;
                }
                // What a running server writes at this moment may look like damage to who reads it half written.
                std::thread::sleep(PAUSE);
                writer.parts.clear();
                read = records_since(&*open()?.1, previous, last, writer);
            }
            let digest = read.map_err(|error| match error {
                BackupError::Store(StoreError::LogDamaged(reason)) => BackupError::LogGone(format!(
                    "the log does not have all changes since the backup \"{}\" any more ({reason})",
                    previous.id
                )),
                error => error,
            })?;
            Ok(About {
                kind,
                base: Some(previous.id.clone()),
                data: previous.data.clone(),
                database_format: previous.database_format,
                rules: previous.rules,
                first_change: previous.last_change + 1,
                last_change: last,
                digest_before: previous.digest.clone(),
                digest: digest.or_else(|| previous.digest.clone().filter(|_| last == previous.last_change)),
                until_us,
                within_us,
            })
        });
        made.map(Some).inspect_err(|error| self.discard(error))
    }

    fn refuse_taken(&self) -> Result<(), BackupError> {
        names::check_id(self.id)?;
        let beginning = names::manifest(self.backend, self.id);
        if self.storage.list(&beginning)?.iter().any(|stored| stored.name == beginning) {
            let (backup, backend) = (self.id.to_owned(), self.backend.to_owned());
            return Err(BackupError::Exists { backup, backend, place: self.storage.place() });
        }
        Ok(())
    }

    /// Stores parts by `store`, and the manifest at the end.
    fn stored(
        &self,
        watch: &mut dyn Watch,
        store: &mut dyn FnMut(&mut PartWriter<'_>) -> Result<About, BackupError>,
    ) -> Result<Manifest, BackupError> {
        let protection = |(key, protection): (&Key, Protection)| {
            let seal = key.new_seal(protection == Protection::Encrypted)?;
            let keys: SealKeys = key.keys(self.id, &seal)?;
            Ok::<_, BackupError>((seal, keys))
        };
        let (seal, keys) = self.seal.map(protection).transpose()?.unzip();
        let (started, mut worked, mut done) = (Instant::now(), Instant::now(), 0);
        let mut each = |bytes: u64| {
            done += bytes;
            let elapsed = started.elapsed();
            watch.progress(&Progress {
                phase: "copying",
                unit: Unit::Bytes,
                done,
                total: None,
                entries: 0,
                rejected: 0,
                elapsed,
            });
            if watch.cancel().is_cancelled() {
                return Err(BackupError::Cancelled);
            }
            std::thread::sleep(rest_after(worked.elapsed(), self.rest));
            worked = Instant::now();
            Ok(())
        };
        let (storage, backend, id) = (self.storage, self.backend, self.id);
        let mut writer = PartWriter { storage, backend, id, keys: keys.as_ref(), parts: Vec::new(), each: &mut each };
        let about = store(&mut writer)?;
        let manifest = Manifest {
            format: FORMAT,
            program: self.program.to_owned(),
            id: self.id.to_owned(),
            backend: self.backend.to_owned(),
            base_dns: self.base_dns.to_vec(),
            kind: about.kind,
            data: about.data,
            database_format: about.database_format,
            rules: about.rules,
            base: about.base,
            first_change: about.first_change,
            last_change: about.last_change,
            digest_before: about.digest_before,
            digest: about.digest,
            until_us: about.until_us,
            within_us: about.within_us,
            made_us: now_us(),
            seal,
            parts: writer.parts,
        };
        self.storage.put(&names::manifest(self.backend, self.id), &manifest.write(keys.as_ref())?)?;
        Ok(manifest)
    }

    /// Removes what a failed attempt stored.
    fn discard(&self, error: &BackupError) {
        if matches!(error, BackupError::Exists { .. }) {
            return;
        }
        // If the storage is away, the next backup of this name replaces it.
        let _ = remove(self.storage, self.backend, self.id);
    }
}

/// Removes a backup: its manifest first, so that no half of it counts.
pub(crate) fn remove(storage: &dyn Storage, backend: &str, id: &str) -> Result<(), BackupError> {
    storage.remove(&names::manifest(backend, id))?;
    for stored in storage.list(&names::beginning(backend, id))? {
        storage.remove(&stored.name)?;
    }
    Ok(())
}

/// Stores the records behind the copy of the database; the digest of the last one.
fn records_of(image: &Image, writer: &mut PartWriter<'_>) -> Result<Option<String>, BackupError> {
    let mut records = RecordsOut::default();
    let read = image.records(&mut |record| records.take(writer, record));
    records.finish(writer, read)
}

fn records_since(
    log: &dyn Log,
    previous: &Manifest,
    last: u64,
    writer: &mut PartWriter<'_>,
) -> Result<Option<String>, BackupError> {
    let mut records = RecordsOut { next: Some(previous.last_change + 1), ..RecordsOut::default() };
    let mut is_foreign = false;
    let mut each = |record: LogRecord<'_>| {
        if record.seq == previous.last_change {
            is_foreign = previous.digest.as_ref().is_some_and(|digest| *digest != records::digest(record));
            return if is_foreign { Err(StoreError::Closed) } else { Ok(()) };
        }
        if record.seq > last { Ok(()) } else { records.take(writer, record) }
    };
    // The one before is compared, if the log still has it.
    let read = match log.tail_from(previous.last_change.max(1), &mut each) {
        Err(StoreError::LogDamaged(_)) if previous.last_change > 0 => {
            log.tail_from(previous.last_change + 1, &mut each)
        }
        read => read,
    };
    if is_foreign {
        return Err(BackupError::LogGone(format!(
            "change {} in the log is not the one in the backup \"{}\"",
            previous.last_change, previous.id
        )));
    }
    let next = records.next;
    match records.finish(writer, read) {
        Ok(_) if next != Some(last + 1) => {
            Err(StoreError::LogDamaged(format!("it ends before change {last}, which it had a moment ago")).into())
        }
        finished => finished,
    }
}

/// Records on their way into parts.
#[derive(Default)]
struct RecordsOut {
    gathered: Gathered,
    buffer: Vec<u8>,
    digest: Option<String>,
    /// The number that must come next, once that is known.
    next: Option<u64>,
    failure: Option<BackupError>,
}

impl RecordsOut {
    fn take(&mut self, writer: &mut PartWriter<'_>, record: LogRecord<'_>) -> Result<(), StoreError> {
        if self.next.is_some_and(|next| next != record.seq) {
            return Err(StoreError::LogDamaged(format!("change {} follows on another one", record.seq)));
        }
        self.next = Some(record.seq + 1);
        self.buffer.clear();
        records::encode(record, &mut self.buffer);
        self.digest = Some(records::digest(record));
        self.gathered.add(writer, Stream::Records, &self.buffer).map_err(|error| {
            self.failure = Some(error);
            StoreError::Closed
        })
    }

    fn finish(self, writer: &mut PartWriter<'_>, read: Result<(), StoreError>) -> Result<Option<String>, BackupError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        read?;
        self.gathered.finish(writer, Stream::Records)?;
        Ok(self.digest)
    }
}

fn copy_database(image: &mut Image, writer: &mut PartWriter<'_>) -> Result<(), BackupError> {
    let mut piece = vec![0; PART_BYTES];
    loop {
        let count = image.read(&mut piece)?;
        writer.put(Stream::Database, piece.get(..count).unwrap_or_default())?;
        if count < PART_BYTES {
            return Ok(());
        }
    }
}

/// So long the work rests after it worked.
fn rest_after(worked: Duration, share: f64) -> Duration {
    let share = share.clamp(0.0, 0.9);
    worked.mul_f64(share / (1.0 - share)).min(Duration::from_secs(10))
}

pub(crate) fn now_us() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_micros()).unwrap_or(u64::MAX)
}
