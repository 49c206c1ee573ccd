//! Export: a snapshot as LDIF, parents before children, siblings in the order of their ids.
//!
//! After an import ids follow the file, so exporting, importing and exporting again gives the same bytes. Operational
//! attributes are written like others; computed attributes are not stored, so they are not written. Reading follows the
//! ids, which is the order of the records on disk.

use std::collections::HashSet;
use std::io::Write;
use std::ops::Bound;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use flate2::Compression;
use flate2::write::GzEncoder;
use ldap::ldif::put_line;
use schema::{AttributeDescription, NormalizedDn, Schema};

use super::error::BulkError;
use super::options::{Cancel, SelectedEntry, Selection};
use super::options::{Phase, Progress};
use crate::postings::PostingIter;
use crate::record::{Attribute, Content, RecordView, Values, put_value};
use crate::varint;
use crate::version::Snapshot;
use crate::view::View;
use crate::{DescId, EntryId, IndexId};

/// Size of the pieces in which text goes to the writing thread.
const PIECE_BYTES: usize = 1 << 20;

/// Pieces on the way to the writing thread.
const PIECES_MAX: usize = 4;

/// Progress is reported after every so many entries.
const PROGRESS_ENTRIES: u64 = 10_000;

/// What to export, and how.
#[derive(Debug, Clone, Default)]
pub struct ExportOptions {
    /// Which entries and attributes.
    pub selection: Selection,
    /// Leaves operational attributes out.
    pub exclude_operational: bool,
    /// Lines are folded at this column; 0: not at all.
    pub wrap_column: usize,
    /// The LDIF is compressed with gzip.
    pub compress: bool,
    /// Stops the work.
    pub cancel: Cancel,
}

/// What was exported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExportSummary {
    /// Entries written.
    pub exported: u64,
    /// Entries that the selection left out.
    pub skipped: u64,
    /// Bytes of LDIF, before compression.
    pub bytes: u64,
    /// How long it took.
    pub elapsed: Duration,
}

/// Writes what `snapshot` sees to `out`.
///
/// # Errors
/// When the database or the output fails, a branch or attribute name is malformed, or the work was interrupted.
pub fn export(
    snapshot: &Snapshot,
    schema: &Schema,
    options: &ExportOptions,
    out: Box<dyn Write + Send>,
    progress: &mut dyn FnMut(&Progress),
) -> Result<ExportSummary, BulkError> {
    export_view(snapshot.view(), schema, options, out, progress)
}

pub(super) fn export_view(
    view: View<'_>,
    schema: &Schema,
    options: &ExportOptions,
    out: Box<dyn Write + Send>,
    progress: &mut dyn FnMut(&Progress),
) -> Result<ExportSummary, BulkError> {
    let started = Instant::now();
    let (sender, receiver) = bounded(PIECES_MAX);
    let compress = options.compress;
    let writing =
        std::thread::Builder::new().name("export-writer".to_owned()).spawn(move || write_all(out, compress, &receiver));
    let writing = writing.map_err(|source| BulkError::Output { name: "the export".to_owned(), source })?;
    let exported = Export::new(view, schema, options, started)?.run(&sender, progress);
    drop(sender);
    let written = writing.join().map_err(|_| BulkError::WriterGone)?;
    written.map_err(|source| BulkError::Output { name: "the export".to_owned(), source })?;
    exported
}

fn write_all(mut out: Box<dyn Write + Send>, compress: bool, pieces: &Receiver<Vec<u8>>) -> std::io::Result<()> {
    if !compress {
        pieces.iter().try_for_each(|piece| out.write_all(&piece))?;
        return out.flush();
    }
    let mut encoder = GzEncoder::new(out, Compression::default());
    pieces.iter().try_for_each(|piece| encoder.write_all(&piece))?;
    encoder.finish()?.flush()
}

/// An entry whose children are being written.
struct Level<'v> {
    dn: String,
    children: PostingIter<'v>,
}

/// How an entry relates to the selected branches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BranchPlace {
    Within,
    /// Left out, but entries below it may be selected.
    Above,
    Outside,
}

struct Export<'v> {
    view: View<'v>,
    schema: &'v Schema,
    options: &'v ExportOptions,
    include: Vec<NormalizedDn>,
    exclude: Vec<NormalizedDn>,
    include_attributes: Vec<AttributeDescription>,
    exclude_attributes: Vec<AttributeDescription>,
    /// By description: whether it is written, and whether it is operational; decided when it is first met.
    wanted: Vec<Option<(bool, bool)>>,
    /// Entries that have children.
    parents: HashSet<EntryId>,
    total: u64,
    text: Vec<u8>,
    operational: Vec<u8>,
    summary: ExportSummary,
    started: Instant,
}

impl<'v> Export<'v> {
    fn new(
        view: View<'v>,
        schema: &'v Schema,
        options: &'v ExportOptions,
        started: Instant,
    ) -> Result<Self, BulkError> {
        let branches = |names: &[String]| -> Result<Vec<NormalizedDn>, BulkError> {
            let parse = |name: &String| NormalizedDn::parse(schema, name.as_bytes());
            let failed = |name: &String, error| BulkError::Option(format!("\"{name}\" is not a DN: {error}"));
            names.iter().map(|name| parse(name).map_err(|error| failed(name, error))).collect()
        };
        let attributes = |names: &[String]| -> Result<Vec<AttributeDescription>, BulkError> {
            let parse = |name: &String| AttributeDescription::parse_request(schema, name.as_bytes());
            names.iter().map(|name| parse(name).map_err(|error| BulkError::Option(error.to_string()))).collect()
        };
        let selection = &options.selection;
        Ok(Self {
            view,
            schema,
            options,
            include: branches(&selection.include_branches)?,
            exclude: branches(&selection.exclude_branches)?,
            include_attributes: attributes(&selection.include_attributes)?,
            exclude_attributes: attributes(&selection.exclude_attributes)?,
            wanted: Vec::new(),
            parents: parents(view)?,
            total: view.entry_count()?,
            text: Vec::with_capacity(PIECE_BYTES + (64 << 10)),
            operational: Vec::new(),
            summary: ExportSummary::default(),
            started,
        })
    }

    /// Walks the tree.
    fn run(
        mut self,
        sender: &Sender<Vec<u8>>,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<ExportSummary, BulkError> {
        let root = self.view.children(EntryId::ROOT)?.iter();
        let mut levels = vec![Level { dn: String::new(), children: root }];
        let mut seen = 0u64;
        while let Some(level) = levels.last_mut() {
            let Some(id) = level.children.next() else {
                levels.pop();
                continue;
            };
            if let Some(below) = self.entry(id, level)? {
                levels.push(below);
            }
            if self.text.len() >= PIECE_BYTES {
                self.send(sender)?;
            }
            seen += 1;
            if seen.is_multiple_of(PROGRESS_ENTRIES) {
                if self.options.cancel.is_cancelled() {
                    return Err(BulkError::Cancelled);
                }
                progress(&self.progress());
            }
        }
        self.send(sender)?;
        progress(&self.progress());
        self.summary.elapsed = self.started.elapsed();
        Ok(self.summary)
    }

    fn send(&mut self, sender: &Sender<Vec<u8>>) -> Result<(), BulkError> {
        self.summary.bytes += self.text.len() as u64;
        let next = Vec::with_capacity(self.text.capacity());
        // The writing thread goes away early only with an error of its own.
        sender.send(std::mem::replace(&mut self.text, next)).map_err(|_| BulkError::WriterGone)
    }

    fn progress(&self) -> Progress {
        Progress {
            phase: Phase::Entries,
            processed: self.summary.exported + self.summary.skipped,
            imported: self.summary.exported,
            skipped: self.summary.skipped,
            rejected: 0,
            migrated: 0,
            bytes_read: self.summary.exported + self.summary.skipped,
            bytes_total: Some(self.total),
            elapsed: self.started.elapsed(),
        }
    }

    /// Writes an entry if it is selected; returns the level below it if there is one.
    fn entry(&mut self, id: EntryId, above: &Level<'v>) -> Result<Option<Level<'v>>, BulkError> {
        let Some(found) = self.view.entry(id)? else {
            return Err(crate::StoreError::Damaged(format!("entry {id} is in the tree, but not there")).into());
        };
        let record = found.view()?;
        let mut dn = String::with_capacity(record.rdn().len() + 1 + above.dn.len());
        dn.push_str(&String::from_utf8_lossy(record.rdn()));
        if !above.dn.is_empty() {
            dn.push(',');
            dn.push_str(&above.dn);
        }
        let place = self.place(&dn)?;
        if place == BranchPlace::Within && self.write(id, &dn, &record)? {
            self.summary.exported += 1;
        } else {
            self.summary.skipped += 1;
        }
        if place == BranchPlace::Outside || !self.parents.contains(&id) {
            return Ok(None);
        }
        Ok(Some(Level { dn, children: self.view.children(id)?.iter() }))
    }

    fn place(&self, dn: &str) -> Result<BranchPlace, BulkError> {
        if self.include.is_empty() && self.exclude.is_empty() {
            return Ok(BranchPlace::Within);
        }
        let own = NormalizedDn::parse(self.schema, dn.as_bytes());
        let own = own.map_err(|error| crate::StoreError::Damaged(format!("DN \"{dn}\": {error}")))?;
        let within = |branches: &[NormalizedDn]| branches.iter().any(|branch| branch.is_ancestor_or_equal(&own));
        Ok(if within(&self.exclude) {
            BranchPlace::Outside
        } else if self.include.is_empty() || within(&self.include) {
            BranchPlace::Within
        } else if self.include.iter().any(|branch| own.is_ancestor_of(branch)) {
            BranchPlace::Above
        } else {
            BranchPlace::Outside
        })
    }

    /// Writes an entry unless the filters leave it out.
    fn write(&mut self, id: EntryId, dn: &str, record: &RecordView<'_>) -> Result<bool, BulkError> {
        if !self.passes_filters(id, dn, record)? {
            return Ok(false);
        }
        let wrap = (self.options.wrap_column > 0).then_some(self.options.wrap_column);
        self.operational.clear();
        put_line(&mut self.text, b"dn", dn.as_bytes(), wrap);
        let mut scratch = Vec::new();
        let mut failure = None;
        record.for_each(&mut scratch, |attribute| {
            if failure.is_none() {
                failure = self.attribute(id, &attribute).err();
            }
        });
        if let Some(error) = failure {
            return Err(error);
        }
        let Self { text, operational, .. } = self;
        text.append(operational);
        text.push(b'\n');
        Ok(true)
    }

    fn attribute(&mut self, id: EntryId, attribute: &Attribute<'_>) -> Result<(), BulkError> {
        let (is_wanted, is_operational) = self.is_wanted(attribute.desc);
        if !is_wanted {
            return Ok(());
        }
        let name = self.view.tables().description(attribute.desc).unwrap_or_default();
        let wrap = (self.options.wrap_column > 0).then_some(self.options.wrap_column);
        let out = if is_operational { &mut self.operational } else { &mut self.text };
        match attribute.content {
            Content::Inline(values) => values.iter().for_each(|value| put_line(out, name.as_bytes(), value, wrap)),
            Content::Large(_) => {
                for row in self.view.large_values(id, attribute.desc)? {
                    put_line(out, name.as_bytes(), &row?.1, wrap);
                }
            }
        }
        Ok(())
    }

    /// Whether an attribute is written, and whether it is operational.
    fn is_wanted(&mut self, desc: DescId) -> (bool, bool) {
        let at = desc.0 as usize;
        if let Some(Some(known)) = self.wanted.get(at) {
            return *known;
        }
        let name = self.view.tables().description(desc).unwrap_or_default();
        let parsed = AttributeDescription::parse(self.schema, name.as_bytes()).ok();
        let matches = |list: &[AttributeDescription]| {
            parsed.as_ref().is_some_and(|own| list.iter().any(|asked| own.is_subtype_of(self.schema, asked)))
        };
        let of_type = parsed.as_ref().and_then(|own| own.attribute).and_then(|t| self.schema.attribute_by_index(t));
        let is_operational = of_type.is_some_and(|attribute| attribute.is_operational());
        let is_selected = (self.include_attributes.is_empty() || matches(&self.include_attributes))
            && !matches(&self.exclude_attributes)
            && !(is_operational && self.options.exclude_operational);
        let known = (is_selected || desc == DescId::OBJECT_CLASS, is_operational);
        self.wanted.resize(self.wanted.len().max(at + 1), None);
        if let Some(place) = self.wanted.get_mut(at) {
            *place = Some(known);
        }
        known
    }

    fn passes_filters(&self, id: EntryId, dn: &str, record: &RecordView<'_>) -> Result<bool, BulkError> {
        let selection = &self.options.selection;
        if selection.include_filters.is_empty() && selection.exclude_filters.is_empty() {
            return Ok(true);
        }
        let whole = whole_entry(self.view, id, record)?;
        let attributes: Vec<(&str, Values<'_>)> =
            whole.iter().map(|(name, count, body)| (*name, Values::new(*count, body))).collect();
        Ok(selection.passes(&SelectedEntry { dn, attributes: &attributes }))
    }
}

/// An attribute with all its values: name, count, body.
pub(super) type WholeAttribute<'v> = (&'v str, u32, Vec<u8>);

/// All attributes of an entry with all their values.
pub(super) fn whole_entry<'v>(
    view: View<'v>,
    id: EntryId,
    record: &RecordView<'_>,
) -> Result<Vec<WholeAttribute<'v>>, BulkError> {
    let mut all: Vec<(DescId, u32, Vec<u8>)> = Vec::new();
    let mut large = Vec::new();
    record.for_each(&mut Vec::new(), |attribute| match attribute.content {
        Content::Inline(values) => all.push((attribute.desc, values.count(), values.body().to_vec())),
        Content::Large(_) => large.push(attribute.desc),
    });
    for desc in large {
        let (mut count, mut body) = (0, Vec::new());
        for row in view.large_values(id, desc)? {
            put_value(&mut body, &row?.1);
            count += 1;
        }
        all.push((desc, count, body));
    }
    let name = |desc| view.tables().description(desc).unwrap_or_default();
    Ok(all.into_iter().map(|(desc, count, body)| (name(desc), count, body)).collect())
}

/// All entries that have children: the keys of the index of children.
fn parents(view: View<'_>) -> Result<HashSet<EntryId>, BulkError> {
    let mut found = HashSet::new();
    let mut scan = view.scan(IndexId::CHILDREN, Bound::Unbounded, Bound::Unbounded)?;
    while let Some((mut key, _)) = scan.next()? {
        if let Some(parent) = varint::take_ordered(&mut key) {
            found.insert(EntryId(parent));
        }
    }
    Ok(found)
}
