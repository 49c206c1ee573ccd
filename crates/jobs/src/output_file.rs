//! The file that a job writes: the end of a file, or a file that is new when it is whole.
//!
//! Knows files; not what is written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::JobError;

/// Where the text goes. A new file appears under its name when it is complete.
#[derive(Debug)]
pub enum OutputFile {
    /// The end of a file.
    Append(PathBuf),
    /// A file under another name, until it is whole.
    New {
        /// The other name.
        temporary: PathBuf,
        /// Its name.
        file: PathBuf,
    },
    /// A device or pipe, which cannot be renamed over.
    Special(PathBuf),
}

impl OutputFile {
    /// The file of that name.
    ///
    /// # Errors
    /// When the name is none of a file.
    pub fn of(file: &Path, append: bool) -> Result<Self, JobError> {
        let exists_specially = fs::metadata(file).is_ok_and(|metadata| !metadata.is_file());
        Ok(match append {
            _ if exists_specially => OutputFile::Special(file.to_owned()),
            true => OutputFile::Append(file.to_owned()),
            false if file.file_name().is_none() => {
                return Err(failed(file)(io::Error::new(io::ErrorKind::InvalidInput, "it names no file")));
            }
            false => OutputFile::New { temporary: durable::beside(file, ".part"), file: file.to_owned() },
        })
    }

    /// What writes there.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn writer(&self) -> Result<Box<dyn Write + Send>, JobError> {
        Ok(Box::new(match self {
            OutputFile::Append(file) => {
                OpenOptions::new().append(true).create(true).open(file).map_err(failed(file))?
            }
            OutputFile::New { temporary, .. } => File::create(temporary).map_err(failed(temporary))?,
            OutputFile::Special(file) => OpenOptions::new().write(true).open(file).map_err(failed(file))?,
        }))
    }

    /// All is written: it is synced, and a new file gets its name.
    ///
    /// # Errors
    /// When that fails; a new file has no name then.
    pub fn finish(&self) -> Result<(), JobError> {
        match self {
            OutputFile::New { temporary, file } => {
                let synced = File::open(temporary).and_then(|written| written.sync_all());
                synced.and_then(|()| durable::rename(temporary, file)).map_err(failed(file))
            }
            OutputFile::Append(file) => File::open(file).and_then(|file| file.sync_all()).map_err(failed(file)),
            OutputFile::Special(_) => Ok(()),
        }
    }

    /// The work failed: a new file is removed.
    pub fn discard(&self) {
        if let OutputFile::New { temporary, .. } = self {
            // If it cannot be removed, its name says what it is.
            let _ = fs::remove_file(temporary);
        }
    }
}

fn failed(file: &Path) -> impl FnOnce(io::Error) -> JobError {
    let file = file.to_owned();
    move |error| JobError::File { file, error }
}
