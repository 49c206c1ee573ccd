//! Where a tool writes long text: standard output, the end of a file, or a file that is new when it is whole.
//!
//! Knows files; not what is written.

use std::fmt;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use jobs::output_file::OutputFile;

use crate::failure::{Context, Failure};
use crate::output::{Output, reader_is_gone};

/// Where the text goes.
pub enum Target {
    /// Standard output.
    Stdout,
    /// A file.
    File {
        /// As it was named.
        name: PathBuf,
        /// How it is written.
        file: OutputFile,
    },
}

impl Target {
    /// The place that an option names; `-` is standard output.
    pub fn open(file: &Path, append: bool) -> Result<Self, Failure> {
        if file == Path::new("-") {
            return Ok(Target::Stdout);
        }
        Ok(Target::File { name: file.to_owned(), file: OutputFile::of(file, append)? })
    }

    /// Whether it is standard output.
    pub fn is_stdout(&self) -> bool {
        matches!(self, Target::Stdout)
    }

    /// What writes there.
    pub fn writer(&self) -> Result<Box<dyn Write + Send>, Failure> {
        match self {
            Target::Stdout => Ok(Box::new(BufWriter::new(Output))),
            Target::File { file, .. } => Ok(file.writer()?),
        }
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

    /// All is written: syncs a file, and gives a new one its name.
    pub fn finish(&self) -> Result<(), Failure> {
        match self {
            Target::Stdout => Ok(()),
            Target::File { file, .. } => Ok(file.finish()?),
        }
    }

    /// The work failed: removes a new file.
    pub fn discard(&self) {
        if let Target::File { file, .. } = self {
            file.discard();
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Stdout => out.write_str("standard output"),
            Target::File { name, .. } => name.display().fmt(out),
        }
    }
}
