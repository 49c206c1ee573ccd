//! A chunk of records on its way through the import: prepared entries, their attributes and the bytes they refer to.

use std::ops::Range;

use super::dn_map::Fingerprint;
use super::options::SkipReason;
use crate::EntryId;
use crate::record::Values;

/// The entries of one chunk.
#[derive(Debug, Default)]
pub(super) struct PreparedBatch {
    pub entries: Vec<Prepared>,
    pub attributes: Vec<PreparedAttribute>,
    /// Bodies, names and keys that the entries refer to.
    pub arena: Vec<u8>,
}

/// A place in the arena.
pub(super) type Span = Range<u32>;

/// One record.
#[derive(Debug)]
pub(super) struct Prepared {
    /// Its first line.
    pub line: u64,
    /// Its text in the chunk.
    pub text: Range<usize>,
    pub outcome: Outcome,
}

/// The result of preparing a record.
#[derive(Debug)]
pub(super) enum Outcome {
    /// An entry.
    Entry(Entry),
    /// The record is only a version line or comments.
    Nothing,
    /// Left out.
    Skipped(SkipReason),
    /// It is not valid: why, and the line at fault.
    Rejected { line: u64, reason: Box<str> },
}

/// An entry that has no id yet.
#[derive(Debug)]
pub(super) struct Entry {
    pub name: Fingerprint,
    /// None: a base entry.
    pub parent: Option<Fingerprint>,
    /// The DN as written.
    pub dn: Span,
    /// The RDN as written; of a base entry the whole DN.
    pub rdn: Span,
    /// The normalised RDN; of a base entry the whole normalised DN.
    pub rdn_key: Span,
    /// Positions in [`PreparedBatch::attributes`].
    pub attributes: Range<u32>,
    /// Given in the order of the file; [`EntryId::ROOT`] until then.
    pub id: EntryId,
    pub parent_id: EntryId,
}

/// One attribute with its values in wire form.
#[derive(Debug, Clone)]
pub(super) struct PreparedAttribute {
    /// Position in the worker's [`Names`].
    pub described: u32,
    pub count: u32,
    /// Length of the longest value.
    pub longest: u32,
    pub body: Span,
}

impl PreparedBatch {
    pub fn clear(&mut self) {
        self.entries.clear();
        self.attributes.clear();
        self.arena.clear();
    }

    pub fn bytes(&self, span: &Span) -> &[u8] {
        self.arena.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    pub fn attributes_of(&self, entry: &Entry) -> &[PreparedAttribute] {
        self.attributes.get(entry.attributes.start as usize..entry.attributes.end as usize).unwrap_or_default()
    }

    pub fn values(&self, attribute: &PreparedAttribute) -> Values<'_> {
        Values::new(attribute.count, self.bytes(&attribute.body))
    }
}
