//! A consistent copy of a backend's database as a stream of bytes, with the records of the log that it does not have
//! yet. It is taken beside whoever writes the backend, in the same process or in another one.
//!
//! Invariants:
//! (1) The copy is LMDB at the transaction whose `meta.folded` the image names.
//! (2) The log was opened after that transaction began, and has every record from `folded` + 1 to `last`. So copy and
//!     records are the state of one moment, at which everything acknowledged before the image was asked for is there.
//!
//! A copy keeps pages of its transaction from being used again: the file may grow by what changes meanwhile.

use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;

use heed::CompactionOption;

use crate::env::{self, Env, ReadTxn};
use crate::error::StoreError;
use crate::log::{Log, LogRecord};

/// A fold that ends between two steps makes the next attempt necessary; so many in a row do not happen.
const ATTEMPTS: u32 = 100;

/// See the module.
pub struct Image {
    copy: Copying,
    /// What is in the copy, and what belongs to it.
    pub facts: ImageFacts,
    log: Arc<dyn Log>,
}

/// What an image is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageFacts {
    /// Identity of the data.
    pub data: [u8; 16],
    /// Format of the tables.
    pub format: u32,
    /// Version of the rules that gave the outcomes in the log.
    pub rules: u32,
    /// Last change in the copy.
    pub folded: u64,
    /// Last change in the log.
    pub last: u64,
    /// Bytes of the database file at this moment; the copy has no more.
    pub bytes_max: u64,
}

impl Image {
    /// Begins a copy of what is committed in `env`; `open_log` opens its log when the copy's transaction has begun.
    pub(crate) fn begin(
        env: &Env,
        rules: u32,
        open_log: impl Fn(&ReadTxn) -> Result<Arc<dyn Log>, StoreError>,
    ) -> Result<Image, StoreError> {
        for _ in 0..ATTEMPTS {
            let before = env.read()?.id();
            let copy = Copying::start(env)?;
            // The copy has a transaction of its own, which began between these two.
            let txn = env.read()?;
            if txn.id() != before {
                continue;
            }
            let log = open_log(&txn)?;
            let folded = env::read_u64(env.dbs(), &txn, env::meta::FOLDED)?.unwrap_or_default();
            let facts = ImageFacts {
                data: env::read_uuid(env.dbs(), &txn)?,
                format: env::FORMAT,
                rules,
                folded,
                last: log.last().max(folded),
                bytes_max: env.bytes().0,
            };
            return Ok(Image { copy, facts, log });
        }
        Err(StoreError::Busy)
    }

    /// Gives the records behind the copy in order. To be called at once: a fold may free them. A gap is
    /// [`StoreError::LogDamaged`]; another image is to be begun then.
    ///
    /// # Errors
    /// That, those of `each`, and those of the disk.
    pub fn records(&self, each: &mut dyn FnMut(LogRecord<'_>) -> Result<(), StoreError>) -> Result<(), StoreError> {
        let mut next = self.facts.folded + 1;
        let last = self.facts.last;
        if next > last {
            return Ok(());
        }
        self.log.tail_from(next, &mut |record| {
            if record.seq > last {
                return Ok(());
            }
            if record.seq != next {
                return Err(StoreError::LogDamaged(format!("changes {next} to {} are missing", record.seq - 1)));
            }
            next = record.seq + 1;
            each(record)
        })?;
        if next <= last {
            return Err(StoreError::LogDamaged(format!("changes {next} to {last} are missing")));
        }
        Ok(())
    }

    /// Reads on in the copy; fewer bytes than asked for only at its end.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, StoreError> {
        self.copy.read(buffer).map_err(|error| StoreError::io("database", &error))
    }

    /// Ends the copy, and says whether all of it was given. To be called when [`Image::read`] has come to the end.
    ///
    /// # Errors
    /// When the copy failed: what was read is of no use.
    pub fn finish(self) -> Result<(), StoreError> {
        self.copy.finish()
    }
}

/// LMDB's copy, which comes through a pipe.
struct Copying {
    first: Option<u8>,
    pipe: PipeReader,
    copier: JoinHandle<Result<(), heed::Error>>,
}

impl Copying {
    /// Starts it, and returns when its transaction has begun.
    fn start(env: &Env) -> Result<Copying, StoreError> {
        let failed = |error: io::Error| StoreError::io("copy of the database", &error);
        let (mut pipe, writer) = io::pipe().map_err(failed)?;
        let env = env.clone();
        let copy = move || env.copy_to(&mut File::from(OwnedFd::from(writer)));
        let copier = std::thread::Builder::new().name("copy".to_owned()).spawn(copy).map_err(failed)?;
        let mut first = [0];
        if pipe.read_exact(&mut first).is_err() {
            let copied = copier.join().map_err(|_| StoreError::Panicked)?;
            copied?;
            return Err(StoreError::Damaged("the copy of the database is empty".to_owned()));
        }
        Ok(Copying { first: Some(first[0]), pipe, copier })
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        if let (Some(first), Some(place)) = (self.first, buffer.first_mut()) {
            *place = first;
            (self.first, filled) = (None, 1);
        }
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.pipe.read(rest) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    fn finish(self) -> Result<(), StoreError> {
        drop(self.pipe);
        Ok(self.copier.join().map_err(|_| StoreError::Panicked)??)
    }
}

impl Env {
    /// Writes a compacted copy of what is committed now; it has no free pages, nor what they held.
    fn copy_to(&self, file: &mut File) -> Result<(), heed::Error> {
        self.lmdb().copy_to_file(file, CompactionOption::Enabled)
    }
}
