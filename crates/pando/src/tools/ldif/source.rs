//! LDIF that a tool reads: a file, or standard input where the name is `-`; and the schema that says what it means.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ldap::ldif::{LdifError, Reader, UrlValues};
use schema::Schema;

use crate::failure::{Context, Failure};
use crate::instance;
use crate::ldap_client::status;

/// So much is read at once.
const BUFFER_BYTES: usize = 256 << 10;

/// Records of a file.
pub struct Source {
    /// For messages.
    pub name: String,
    /// Reads them.
    pub reader: Reader<BufReader<Box<dyn Read>>>,
}

impl Source {
    /// Opens it.
    pub fn open(path: &Path, urls: UrlValues) -> Result<Source, Failure> {
        let (name, stream): (String, Box<dyn Read>) = if is_standard_input(path) {
            ("standard input".to_owned(), Box::new(io::stdin()))
        } else {
            (path.display().to_string(), Box::new(File::open(path).context(path.display())?))
        };
        let reader = Reader::new(BufReader::with_capacity(BUFFER_BYTES, stream)).with_urls(urls);
        Ok(Source { name, reader })
    }

    /// What is wrong with a record.
    pub fn failed(&self, error: &LdifError) -> Failure {
        wrong(format_args!("{}: {error}", self.name))
    }
}

/// Whether a name on the command line means standard input.
pub fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// Files that are read one after the other or together: standard input can be one of them only once.
pub fn check_names<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Result<(), Failure> {
    match paths.into_iter().filter(|path| is_standard_input(path)).count() {
        0 | 1 => Ok(()),
        _ => Err(Failure::new("standard input (-) can be only one of the files")),
    }
}

/// Data that cannot be worked with.
pub fn wrong(message: impl std::fmt::Display) -> Failure {
    Failure::new(message).with_status(status::LOCAL_ERROR)
}

/// The schema of the instance that the command line or PANDO_HOME names; otherwise the standard schema.
pub fn schema_of(instance: Option<&Path>) -> Result<Arc<Schema>, Failure> {
    match instance {
        Some(directory) => instance::schema(&instance::open(directory)?),
        None => Ok(Schema::standard()),
    }
}
