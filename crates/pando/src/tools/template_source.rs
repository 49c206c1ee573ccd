//! A template as a source of LDIF: a thread makes the entries while the import reads them.

use std::io::{self, BufWriter, PipeReader, Read};
use std::path::Path;
use std::thread::JoinHandle;

use store::bulk::LdifSource;

use crate::failure::{Context, Failure};
use crate::makeldif::{Entry, Generator, LdifWriter};

/// Begins to make the entries of a template.
pub fn open(template: &Path, seed: u64) -> Result<LdifSource, Failure> {
    let file = super::makeldif::template(Some(template), None, &[])?;
    let (reader, writer) = io::pipe().context("pipe")?;
    let thread = std::thread::spawn(move || {
        let mut out = LdifWriter::new(BufWriter::with_capacity(1 << 20, writer), 0);
        Generator::new(&file, seed).run(&mut |entry: &Entry| out.entry(entry))?;
        out.finish().map(|_| ())
    });
    let name = template.display().to_string();
    LdifSource::from_reader(&name, Box::new(Made { reader, thread: Some(thread) }), None).context(name)
}

/// The reading end, which tells how the making ended.
struct Made {
    reader: PipeReader,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Read for Made {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        if count == 0
            && let Some(thread) = self.thread.take()
        {
            thread.join().map_err(|_| io::Error::other("the template's entries could not be made"))??;
        }
        Ok(count)
    }
}
