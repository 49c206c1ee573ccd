//! Prepares entries from the text of records: parses, normalises, completes and checks them. Only the id is missing
//! then.
//!
//! Everything here depends on one record alone, so workers do it in any order. Whether the parent exists and the name
//! is free is decided later, in the order of the file. Knows nothing of ids and keys.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use ldap::ldif::{LdifEntry, UrlValues};
use ldap::{Ava, Rdn};
use md5::{Digest, Md5};
use schema::check::{AttributeKey, CheckError, EntryAttributes};
use schema::{NormalizedDn, Schema};

use super::dn_map::Fingerprint;
use super::input::Chunk;
use super::names::{Described, Names, Use};
use super::options::{SelectedEntry, SkipReason};
use super::plan::{Classes, Placing, Plan};
use super::prepared_batch::{Entry, Outcome, Prepared, PreparedAttribute, PreparedBatch, Span};
use crate::record::{ValueIter, Values, put_value};
use crate::tables::Tables;
use crate::{DescId, EntryId};

/// Most sets of object classes that a worker remembers, so that unusual data does not fill the memory.
const CLASS_SETS_MAX: usize = 4096;

/// The attributes that say who made an entry and when.
const STAMPS: [DescId; 4] =
    [DescId::CREATORS_NAME, DescId::CREATE_TIMESTAMP, DescId::MODIFIERS_NAME, DescId::MODIFY_TIMESTAMP];

/// Prepares records for one worker. Buffers are used again.
pub(super) struct Preparer<'p> {
    plan: &'p Plan<'p>,
    pub names: Names<'p>,
    record: LdifEntry,
    dn: NormalizedDn,
    /// For each value of the record: position of its description in `names`, and the value's in the record.
    found: Vec<(u32, usize)>,
    classes: HashMap<Box<[u8]>, Arc<Classes>>,
}

/// The line at fault and what is wrong.
pub(super) type Refusal = (u64, String);

impl<'p> Preparer<'p> {
    pub fn new(plan: &'p Plan<'p>, tables: &'p Mutex<Tables>) -> Self {
        Self {
            plan,
            names: Names::new(plan.schema(), &plan.attributes, tables),
            record: LdifEntry::default(),
            dn: NormalizedDn::root(),
            found: Vec::new(),
            classes: HashMap::new(),
        }
    }

    /// Prepares all records of a chunk.
    pub fn prepare(&mut self, chunk: &Chunk, batch: &mut PreparedBatch) {
        batch.clear();
        for (line, text) in chunk.records() {
            let (arena, attributes) = (batch.arena.len(), batch.attributes.len());
            let outcome = match self.entry(line, text, chunk.is_kept, batch) {
                Ok(outcome) => outcome,
                Err((line, reason)) => Outcome::Rejected { line, reason: reason.into() },
            };
            if !matches!(outcome, Outcome::Entry(_)) {
                batch.arena.truncate(arena);
                batch.attributes.truncate(attributes);
            }
            let start = text.as_ptr() as usize - chunk.bytes.as_ptr() as usize;
            batch.entries.push(Prepared { line, text: start..start + text.len(), outcome });
        }
    }

    fn entry(&mut self, line: u64, text: &[u8], is_kept: bool, batch: &mut PreparedBatch) -> Result<Outcome, Refusal> {
        let parsed = self.record.parse(text, line, UrlValues::Refuse);
        if !parsed.map_err(|error| (error.line, error.fault.to_string()))? {
            return Ok(Outcome::Nothing);
        }
        let line = self.record.line;
        let schema = self.plan.schema();
        let dn = &self.record.dn;
        let parsed = self.dn.parse_into(schema, dn.as_bytes());
        parsed.map_err(|error| (line, format!("the DN \"{dn}\" is malformed: {error}")))?;
        let is_base = match self.plan.place(&self.dn, is_kept) {
            Placing::Own { is_base } => is_base,
            Placing::Skipped(reason) => return Ok(Outcome::Skipped(reason)),
            Placing::Foreign => return Err((line, format!("entry \"{dn}\": the name belongs to another backend"))),
        };
        let entry = self.place(is_base, batch);
        self.collect(is_kept)?;
        self.write_attributes(is_kept, batch)?;
        if is_kept {
            return Ok(Outcome::Entry(Entry {
                attributes: entry.attributes.start..batch.attributes.len() as u32,
                ..entry
            }));
        }
        let bad = |dn: &str, reason: String| (line, format!("entry \"{dn}\": {reason}"));
        let classes = self.complete(&entry, batch).map_err(|reason| bad(&self.record.dn, reason))?;
        let entry = Entry { attributes: entry.attributes.start..batch.attributes.len() as u32, ..entry };
        self.check(&entry, classes.as_deref(), batch).map_err(|reason| bad(&self.record.dn, reason))?;
        if !self.is_selected(&entry, batch) {
            return Ok(Outcome::Skipped(SkipReason::Filter));
        }
        Ok(Outcome::Entry(entry))
    }

    /// The entry's names.
    fn place(&self, is_base: bool, batch: &mut PreparedBatch) -> Entry {
        let bytes = self.dn.as_bytes();
        let dn = &self.record.dn;
        let rdn_key = self.dn.rdn().map(|rdn| rdn.as_bytes()).unwrap_or_default();
        let above = bytes.get(..bytes.len().saturating_sub(rdn_key.len() + 1)).unwrap_or_default();
        let dn_span = push(&mut batch.arena, dn.as_bytes());
        let (rdn, key) =
            if is_base { (dn_span.clone(), bytes) } else { (push(&mut batch.arena, rdn_text(dn).as_bytes()), rdn_key) };
        Entry {
            name: Fingerprint::of(bytes),
            parent: (!is_base).then(|| Fingerprint::of(above)),
            dn: dn_span,
            rdn,
            rdn_key: push(&mut batch.arena, key),
            attributes: batch.attributes.len() as u32..batch.attributes.len() as u32,
            id: EntryId::ROOT,
            parent_id: EntryId::ROOT,
        }
    }

    /// Looks up the description of each value; values of one attribute stand together afterwards.
    fn collect(&mut self, is_kept: bool) -> Result<(), Refusal> {
        self.found.clear();
        let mut together = true;
        for (position, line) in self.record.iter().enumerate() {
            let at = self.names.find(position, line.description).map_err(|reason| (line.line, reason))?;
            let is_out = |described: &Described| matches!(described.use_of, Use::Dropped | Use::Virtual);
            if !is_kept && self.names.get(at).is_some_and(is_out) {
                continue;
            }
            let follows = self.found.last().is_none_or(|(last, _)| *last == at);
            together &= follows || !self.found.iter().any(|(other, _)| *other == at);
            self.found.push((at, position));
        }
        if !together {
            let mut order: Vec<u32> = Vec::new();
            for (at, _) in &self.found {
                if !order.contains(at) {
                    order.push(*at);
                }
            }
            self.found.sort_by_key(|(at, _)| order.iter().position(|other| other == at));
        }
        Ok(())
    }

    /// Writes the values of each attribute in wire form.
    fn write_attributes(&mut self, is_kept: bool, batch: &mut PreparedBatch) -> Result<(), Refusal> {
        for group in self.found.chunk_by(|a, b| a.0 == b.0) {
            let Some(described) = group.first().and_then(|(at, _)| Some((*at, self.names.get(*at)?))) else { continue };
            let (at, described) = described;
            let start = batch.arena.len() as u32;
            let mut longest = 0;
            for (_, position) in group {
                let Some(value) = self.record.attributes.get(*position) else { continue };
                let (line, value) = (value.line, value.value);
                let stored = if is_kept { Ok(None) } else { self.stored_form(described.use_of, value) };
                let stored = stored.map_err(|reason| {
                    (line, format!("entry \"{}\": value of {}: {reason}", &self.record.dn, described.canonical))
                })?;
                let value = stored.as_deref().unwrap_or(value);
                longest = longest.max(value.len());
                put_value(&mut batch.arena, value);
            }
            let body = start..batch.arena.len() as u32;
            let count = group.len() as u32;
            batch.attributes.push(PreparedAttribute { described: at, count, longest: longest as u32, body });
        }
        Ok(())
    }

    /// What is stored instead of a value of the file.
    fn stored_form(&self, use_of: Use, value: &[u8]) -> Result<Option<Vec<u8>>, String> {
        let options = &self.plan.options;
        match use_of {
            Use::Password => options.hash_password.as_ref().map_or(Ok(None), |hash| hash(value)),
            Use::Instruction => options.check_instruction.as_ref().map_or(Ok(None), |check| check(&self.dn, value)),
            Use::PrivilegeName => options.check_privilege.as_ref().map_or(Ok(()), |check| check(value)).map(|()| None),
            Use::Dropped | Use::Kept | Use::Virtual => Ok(None),
        }
    }

    /// Adds what LDIF may leave out: superior classes, the values of the RDN, entryUUID. Returns the requirements of
    /// its classes.
    fn complete(&mut self, entry: &Entry, batch: &mut PreparedBatch) -> Result<Option<Arc<Classes>>, String> {
        let first = entry.attributes.start as usize;
        let mut has_uuid = false;
        let mut has_stamp = [false; STAMPS.len()];
        let mut position = None;
        for (at, attribute) in batch.attributes.iter().enumerate().skip(first) {
            match self.names.get(attribute.described).map(|described| described.desc) {
                Some(DescId::OBJECT_CLASS) => position = Some(at),
                Some(DescId::ENTRY_UUID) => has_uuid = true,
                Some(desc) => {
                    for (has, _) in has_stamp.iter_mut().zip(STAMPS).filter(|(_, own)| *own == desc) {
                        *has = true;
                    }
                }
                None => {}
            }
        }
        let classes = position.and_then(|position| self.complete_classes(position, batch));
        self.complete_rdn(first, batch)?;
        if !has_uuid {
            let at = self.names.find(usize::MAX, b"entryUUID")?;
            let text = name_uuid(self.dn.as_bytes());
            append_attribute(batch, at, &text);
        }
        self.stamp(has_stamp, batch)?;
        Ok(classes)
    }

    /// Adds creator and time where the file does not say them, unless the selection leaves them out.
    fn stamp(&mut self, has: [bool; STAMPS.len()], batch: &mut PreparedBatch) -> Result<(), String> {
        let Some(stamps) = &self.plan.options.stamps else { return Ok(()) };
        for (_, desc) in has.into_iter().zip(STAMPS).filter(|(has, _)| !has) {
            let name = DescId::WELL_KNOWN.get(desc.0 as usize).copied().unwrap_or_default();
            let at = self.names.find(usize::MAX, name.as_bytes())?;
            if self.names.get(at).is_none_or(|described| described.use_of != Use::Kept) {
                continue;
            }
            match desc {
                DescId::CREATORS_NAME | DescId::MODIFIERS_NAME => append_attribute(batch, at, stamps.name.as_bytes()),
                _ => append_attribute(batch, at, &self.plan.stamp_time),
            }
        }
        Ok(())
    }

    fn complete_classes(&mut self, position: usize, batch: &mut PreparedBatch) -> Option<Arc<Classes>> {
        let attribute = batch.attributes.get_mut(position)?;
        let body = batch.arena.get(attribute.body.start as usize..attribute.body.end as usize)?;
        let classes = match self.classes.get(body) {
            Some(known) => Arc::clone(known),
            None => {
                let learnt = Arc::new(self.plan.classes(Values::new(attribute.count, body)));
                if self.classes.len() < CLASS_SETS_MAX {
                    self.classes.insert(body.into(), Arc::clone(&learnt));
                }
                learnt
            }
        };
        if let Some(completed) = &classes.completed {
            let start = batch.arena.len() as u32;
            batch.arena.extend_from_slice(&completed.body);
            attribute.body = start..batch.arena.len() as u32;
            attribute.count = completed.count;
            attribute.longest = completed.longest;
        }
        Some(classes)
    }

    /// Adds the attributes and values of the RDN that the entry does not have.
    fn complete_rdn(&mut self, first: usize, batch: &mut PreparedBatch) -> Result<(), String> {
        let schema = self.plan.schema();
        let rdn = Rdn::parse(rdn_text(&self.record.dn)).map_err(|error| error.to_string())?;
        for Ava { attribute: name, value } in rdn.avas() {
            let at = self.names.find(usize::MAX, name.as_bytes())?;
            let Some(described) = self.names.get(at).cloned() else { continue };
            let own = batch.attributes.iter().skip(first).position(|attribute| attribute.described == at);
            let Some(position) = own.map(|position| first + position) else {
                append_attribute(batch, at, value);
                continue;
            };
            let Some(attribute) = batch.attributes.get(position) else { continue };
            let values = batch.values(attribute);
            let same = values.iter().any(|stored| stored == &**value) || {
                let rule = described.attribute.and_then(|t| schema.attribute_by_index(t)).and_then(|t| t.equality);
                rule.is_some_and(|rule| {
                    let normal = |value: &[u8]| {
                        let mut out = Vec::new();
                        rule.normalize(schema, value, &mut out).is_ok().then_some(out)
                    };
                    let wanted = normal(value);
                    wanted.is_some() && values.iter().any(|stored| normal(stored) == wanted)
                })
            };
            if !same {
                let mut body = values.body().to_vec();
                put_value(&mut body, value);
                let (count, longest) = (attribute.count + 1, attribute.longest.max(value.len() as u32));
                let body = push(&mut batch.arena, &body);
                if let Some(attribute) = batch.attributes.get_mut(position) {
                    *attribute = PreparedAttribute { described: at, count, longest, body };
                }
            }
        }
        Ok(())
    }

    /// Whether the entry obeys the schema, and no value comes twice.
    fn check(&self, entry: &Entry, classes: Option<&Classes>, batch: &PreparedBatch) -> Result<(), String> {
        let schema = self.plan.schema();
        for attribute in batch.attributes_of(entry).iter().filter(|attribute| attribute.count > 1) {
            let Some(described) = self.names.get(attribute.described) else { continue };
            let rule = described.attribute.and_then(|t| schema.attribute_by_index(t)).and_then(|t| t.equality);
            // Classes were checked once for all entries with the same set.
            if described.desc != DescId::OBJECT_CLASS && self.has_duplicate(rule, batch.values(attribute)) {
                return Err(format!("the attribute {} has the same value twice", described.canonical));
            }
        }
        if self.plan.options.skip_schema_validation || !self.plan.options.leniency.check_schema {
            return Ok(());
        }
        let classes = classes.ok_or_else(|| CheckError::NoClass.to_string())?;
        let requirement = classes.requirement.as_ref().map_err(String::clone)?;
        let rdn = Rdn::parse(rdn_text(&self.record.dn)).map_err(|error| error.to_string())?;
        let keys: Vec<AttributeKey<'_>> = rdn.avas().iter().map(|ava| key_of(schema, ava.attribute)).collect();
        let checked = Checked { batch, entry, names: &self.names };
        self.plan.checker.check_with(requirement, &keys, &checked, &mut |_| {}).map_err(|error| error.to_string())
    }

    fn has_duplicate(&self, rule: Option<&schema::MatchingRule>, values: Values<'_>) -> bool {
        let schema = self.plan.schema();
        let mut normals: Vec<Vec<u8>> = Vec::with_capacity(values.count() as usize);
        for value in values.iter() {
            let mut normal = Vec::with_capacity(value.len());
            if rule.is_none_or(|rule| rule.normalize(schema, value, &mut normal).is_err()) {
                normal.clear();
                normal.extend_from_slice(value);
            }
            normals.push(normal);
        }
        normals.sort_unstable();
        normals.windows(2).any(|pair| matches!(pair, [a, b] if a == b))
    }

    /// The filters of the selection.
    fn is_selected(&self, entry: &Entry, batch: &PreparedBatch) -> bool {
        let selection = &self.plan.options.selection;
        if selection.include_filters.is_empty() && selection.exclude_filters.is_empty() {
            return true;
        }
        let attributes: Vec<(&str, Values<'_>)> = batch
            .attributes_of(entry)
            .iter()
            .filter_map(|attribute| Some((&*self.names.get(attribute.described)?.canonical, batch.values(attribute))))
            .collect();
        let seen = SelectedEntry { dn: &self.record.dn, attributes: &attributes };
        selection.passes(&seen)
    }
}

fn push(arena: &mut Vec<u8>, bytes: &[u8]) -> Span {
    let start = arena.len() as u32;
    arena.extend_from_slice(bytes);
    start..arena.len() as u32
}

fn append_attribute(batch: &mut PreparedBatch, described: u32, value: &[u8]) {
    let start = batch.arena.len() as u32;
    put_value(&mut batch.arena, value);
    let body = start..batch.arena.len() as u32;
    batch.attributes.push(PreparedAttribute { described, count: 1, longest: value.len() as u32, body });
}

/// The attributes of a prepared entry for the schema check.
struct Checked<'c, 'n> {
    batch: &'c PreparedBatch,
    entry: &'c Entry,
    names: &'c Names<'n>,
}

impl EntryAttributes for Checked<'_, '_> {
    type Values<'v>
        = ValueIter<'v>
    where
        Self: 'v;

    fn attributes(&self) -> impl Iterator<Item = (AttributeKey<'_>, ValueIter<'_>)> {
        self.batch.attributes_of(self.entry).iter().filter_map(|attribute| {
            let described = self.names.get(attribute.described)?;
            let key = described.attribute.map_or(AttributeKey::Unknown(&described.canonical), AttributeKey::Known);
            Some((key, self.batch.values(attribute).iter()))
        })
    }
}

fn key_of<'n>(schema: &Schema, name: &'n str) -> AttributeKey<'n> {
    let known = schema.attribute_type(name.as_bytes());
    known.map_or(AttributeKey::Unknown(name), |attribute| AttributeKey::Known(attribute.index))
}

/// The name-based UUID (RFC 4122, version 3) of a normalised DN, as OpenDJ gives entries that come without: importing
/// the same names gives the same UUIDs.
fn name_uuid(name: &[u8]) -> Vec<u8> {
    let mut uuid: [u8; 16] = Md5::digest(name).into();
    uuid[6] = uuid[6] & 0x0f | 0x30;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    schema::uuid::text(&uuid)
}

/// The first RDN of a well-formed DN as written.
fn rdn_text(dn: &str) -> &str {
    let mut escaped = false;
    let mut quoted = false;
    for (at, byte) in dn.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            b',' | b';' if !quoted => return dn.get(..at).unwrap_or(dn).trim_end_matches(' '),
            _ => {}
        }
    }
    dn
}
