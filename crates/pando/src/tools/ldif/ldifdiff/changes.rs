//! Changes in the order in which they can be made: deletions, children first, then the others as they come.
//!
//! Both wait in temporary files, because the last deletion that is found is the first one to be made.

use std::fs::File;
use std::io::{self, BufWriter, IntoInnerError, Seek, Write};

use grenad::{Reader, Writer as SortedWriter};
use ldap::ldif::{LdifChange, LdifOperation, Writer};

use crate::failure::Failure;
use crate::tools::ldif::sorted::Scratch;

/// See the module.
pub struct Changes<'s> {
    scratch: &'s Scratch,
    wrap: Option<usize>,
    /// By normal form of the name: the name.
    deletions: SortedWriter<BufWriter<File>>,
    /// As text.
    others: Writer<BufWriter<File>>,
    is_empty: bool,
    has_deletions: bool,
}

impl<'s> Changes<'s> {
    /// Lines are folded at that many columns.
    pub fn new(scratch: &'s Scratch, wrap: Option<usize>) -> Result<Changes<'s>, Failure> {
        Ok(Changes {
            deletions: SortedWriter::new(BufWriter::new(scratch.file()?)),
            others: Writer::new(BufWriter::new(scratch.file()?)).with_wrap(wrap),
            scratch,
            wrap,
            is_empty: true,
            has_deletions: false,
        })
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// An entry goes. Names come in ascending order.
    pub fn delete(&mut self, name: &[u8], dn: &str) -> Result<(), Failure> {
        self.is_empty = false;
        self.has_deletions = true;
        self.deletions.insert(name, dn).map_err(|error| self.scratch.failed(error))
    }

    /// An entry comes, or changes.
    pub fn add(&mut self, change: &LdifChange) -> Result<(), Failure> {
        self.is_empty = false;
        self.others.change(change).map_err(|error| self.scratch.failed(error))
    }

    /// Writes all of them.
    pub fn write(self, out: &mut dyn Write) -> io::Result<()> {
        let deletions = self.deletions.into_inner()?.into_inner().map_err(IntoInnerError::into_error)?;
        if self.has_deletions {
            let mut cursor = Reader::new(deletions).and_then(Reader::into_cursor).map_err(io::Error::other)?;
            let mut writer = Writer::new(&mut *out).with_wrap(self.wrap);
            let mut found = cursor.move_on_last().map_err(io::Error::other)?;
            while let Some((_, dn)) = found {
                let dn = String::from_utf8_lossy(dn).into_owned();
                writer.change(&LdifChange { dn, line: 0, controls: Vec::new(), operation: LdifOperation::Delete })?;
                found = cursor.move_on_prev().map_err(io::Error::other)?;
            }
        }
        let mut others = self.others.finish()?.into_inner().map_err(IntoInnerError::into_error)?;
        others.rewind()?;
        io::copy(&mut others, out).map(drop)
    }
}
