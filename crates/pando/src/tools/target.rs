//! Where a tool writes long text: standard output, the end of a file, or a file that is new when it is whole.
//!
//! Knows files; not what is written.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Context, Failure};
use crate::output::{Output, reader_is_gone};

/// Where the text goes. A new file appears under its name when it is complete.
pub enum Target {
    /// Standard output.
    Stdout,
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

impl Target {
    /// The place that an option names; `-` is standard output.
    pub fn open(file: &Path, append: bool) -> Result<Self, Failure> {
        if file == Path::new("-") {
            return Ok(Target::Stdout);
        }
        let exists_specially = fs::metadata(file).is_ok_and(|metadata| !metadata.is_file());
        Ok(match append {
            _ if exists_specially => Target::Special(file.to_owned()),
            true => Target::Append(file.to_owned()),
            false => {
                let mut name = file
                    .file_name()
                    .ok_or_else(|| Failure::new(format_args!("{} names no file", file.display())))?
                    .to_owned();
                name.push(".part");
                Target::New { temporary: file.with_file_name(name), file: file.to_owned() }
            }
        })
    }

    /// Whether it is standard output.
    pub fn is_stdout(&self) -> bool {
        matches!(self, Target::Stdout)
    }

    /// What writes there.
    pub fn writer(&self) -> Result<Box<dyn Write + Send>, Failure> {
        Ok(match self {
            Target::Stdout => Box::new(BufWriter::new(Output)),
            Target::Append(file) => {
                Box::new(OpenOptions::new().append(true).create(true).open(file).context(file.display())?)
            }
            Target::New { temporary, file } => Box::new(File::create(temporary).context(file.display())?),
            Target::Special(file) => Box::new(OpenOptions::new().write(true).open(file).context(file.display())?),
        })
    }

    /// Writes all of it. A failure leaves no new file; nothing is left to say to a reader who went.
    pub fn fill(&self, write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut out = self.writer()?;
        let written = write(&mut *out).and_then(|()| out.flush().context(self));
        drop(out);
        match written {
            Err(_) if self.is_stdout() && reader_is_gone() => Ok(()),
            Err(failure) => {
                self.discard();
                Err(failure)
            }
            Ok(()) => self.finish(),
        }
    }

    /// All is written: syncs a new file and gives it its name.
    pub fn finish(&self) -> Result<(), Failure> {
        match self {
            Target::New { temporary, file } => {
                let synced = File::open(temporary).and_then(|written| written.sync_all());
                synced.and_then(|()| durable::rename(temporary, file)).context(file.display())
            }
            _ => Ok(()),
        }
    }

    /// The work failed: removes a new file.
    pub fn discard(&self) {
        if let Target::New { temporary, .. } = self {
            // A half export is of no use; if it cannot be removed, its name says what it is.
            let _ = fs::remove_file(temporary);
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Stdout => out.write_str("standard output"),
            Target::New { file, .. } | Target::Append(file) | Target::Special(file) => file.display().fmt(out),
        }
    }
}
