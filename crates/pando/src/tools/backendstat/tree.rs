//! The trees of a backend by OpenDJ's names, mapped onto what the store has, and walks through their records.
//!
//! `dn2id` is the store's index of names, `id2childrencount` its lists of children (the list of base entries stands for
//! OpenDJ's total), `referral` what the index of object classes knows of referrals, `state` what the backend remembers
//! of its indexes.

use std::ops::{Bound, ControlFlow};

use ldap::Dn;
use schema::{NormalizedDn, Position, Schema, display_text};
use store::index::{Index, Method, sort_key};
use store::{Content, DescId, EntryId, IndexId, IndexKey, PostingScan, Postings, RecordRef, Values, View};

use super::source::Source;
use crate::failure::Failure;

/// Entries between two looks at the clock.
const RENEW_RECORDS: u32 = 1024;

/// A tree.
#[derive(Debug, Clone)]
pub(super) enum Tree {
    Dn,
    Entries,
    Referrals,
    ChildrenCounts,
    State,
    Index(Index),
    /// The numbers of attribute descriptions.
    Attributes,
    /// The numbers of sets of object classes.
    ClassSets,
}

/// A record of a tree at one moment.
pub(super) struct Record<'r, 's> {
    pub view: View<'s>,
    pub key: &'r [u8],
    pub value: Value<'r, 's>,
}

/// What a record holds.
pub(super) enum Value<'r, 's> {
    List(Postings<'s>),
    Entry(RecordRef<'s>),
    Bytes(&'r [u8]),
}

/// What a visit says: go on, or enough.
pub(super) type Visit = Result<ControlFlow<()>, Failure>;

/// Keys to walk over, as the tree stores them.
pub(super) type Range = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// Everything.
pub(super) const ALL: Range = (Bound::Unbounded, Bound::Unbounded);

/// The trees that belong to a base DN, in the order of `list-indexes`.
pub(super) fn trees_of(source: &Source) -> Vec<Tree> {
    let own = [Tree::Dn, Tree::Entries, Tree::Referrals, Tree::ChildrenCounts, Tree::State];
    own.into_iter().chain(indexes(source).map(Tree::Index)).collect()
}

/// The configured indexes.
pub(super) fn indexes(source: &Source) -> impl Iterator<Item = Index> {
    source.snapshot.indexes().set().iter().cloned().collect::<Vec<_>>().into_iter()
}

/// All trees of a backend with their full names, sorted by them.
pub(super) fn raw_trees(source: &Source, base_dns: &[String]) -> Vec<(String, Tree)> {
    let shared = [Tree::Attributes, Tree::ClassSets].map(|tree| (format!("/compressed_schema/{}", tree.name()), tree));
    let own =
        base_dns.iter().flat_map(|base_dn| trees_of(source).into_iter().map(|tree| (tree.raw_name(base_dn), tree)));
    let mut trees: Vec<(String, Tree)> = own.chain(shared).collect();
    trees.sort_by(|a, b| a.0.cmp(&b.0));
    trees
}

/// Whether `wanted` means the index of that name: the name itself, the end of a raw name, or the attribute.
pub(super) fn is_named(name: &str, wanted: &str) -> bool {
    let wanted = wanted.rsplit('/').next().unwrap_or(wanted);
    let attribute = name.split('.').next().unwrap_or(name);
    name.eq_ignore_ascii_case(wanted) || attribute.eq_ignore_ascii_case(wanted)
}

/// What to say when no index is meant.
pub(super) fn no_such_index(source: &Source, wanted: &str) -> Failure {
    let known: Vec<String> = indexes(source).map(|index| index.name).collect();
    Failure::new(format_args!("there is no index \"{wanted}\"; there are {}", known.join(", ")))
}

/// Whether the index keeps no readable value.
pub(super) fn is_confidential(index: &Index) -> bool {
    index.secret.is_some()
}

/// The base DN from the root down, as OpenDJ names its trees.
fn container(base_dn: &str) -> String {
    let Ok(dn) = Dn::parse(base_dn) else { return base_dn.to_owned() };
    let rdns: Vec<String> = dn.rdns().iter().rev().map(|rdn| rdn.to_string().to_lowercase()).collect();
    rdns.join(",")
}

impl Tree {
    /// OpenDJ's index name.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Dn => "dn2id",
            Self::Entries => "id2entry",
            Self::Referrals => "referral",
            Self::ChildrenCounts => "id2childrencount",
            Self::State => "state",
            Self::Index(index) => &index.name,
            Self::Attributes => "compressed_attributes",
            Self::ClassSets => "compressed_object_classes",
        }
    }

    /// OpenDJ's name of the tree within the backend.
    pub(super) fn raw_name(&self, base_dn: &str) -> String {
        format!("/{}/{}", container(base_dn), self.name())
    }

    /// OpenDJ's word for what it is.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Dn => "DN2ID",
            Self::Entries => "ID2Entry",
            Self::Referrals => "DN2URI",
            Self::ChildrenCounts => "ID2ChildrenCount",
            Self::State => "State",
            Self::Index(index) if matches!(index.method, Method::Vlv) => "VLVIndex",
            Self::Index(_) => "MatchingRuleIndex",
            Self::Attributes | Self::ClassSets => "CompressedSchema",
        }
    }

    /// How many records it has.
    pub(super) fn count(&self, source: &mut Source) -> Result<u64, Failure> {
        if let Self::Entries = self {
            return source.snapshot.entry_count().map_err(Failure::new);
        }
        let mut count = 0;
        self.walk(source, ALL, &mut |_| {
            count += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(count)
    }

    /// Visits the records of the range in the order of the tree, on one snapshot after another.
    pub(super) fn walk(
        &self,
        source: &mut Source,
        (mut from, to): Range,
        visit: &mut dyn FnMut(&Record<'_, '_>) -> Visit,
    ) -> Result<(), Failure> {
        loop {
            let last = self.walk_once(source, (&from, &to), visit)?;
            match last {
                None => return Ok(()),
                Some(last) => from = Bound::Excluded(last),
            }
            source.renew()?;
        }
    }

    /// The same on one snapshot; the last key if it was time to take another.
    fn walk_once(
        &self,
        source: &Source,
        (from, to): (&Bound<Vec<u8>>, &Bound<Vec<u8>>),
        visit: &mut dyn FnMut(&Record<'_, '_>) -> Visit,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let view = source.snapshot.view();
        let (from, to) = (from.as_ref().map(Vec::as_slice), to.as_ref().map(Vec::as_slice));
        let mut clock = 0;
        let mut is_due = || {
            clock = (clock + 1) % RENEW_RECORDS;
            clock == 0 && source.is_due()
        };
        let scanned = match self {
            Self::Dn => Some(IndexId::DN),
            Self::ChildrenCounts => Some(IndexId::CHILDREN),
            Self::Index(index) => Some(index.id),
            _ => None,
        };
        if let Some(index) = scanned {
            let mut scan: PostingScan<'_> = view.scan(index, from, to).map_err(Failure::new)?;
            while let Some((key, list)) = scan.next().map_err(Failure::new)? {
                if visit(&Record { view, key, value: Value::List(list) })?.is_break() {
                    return Ok(None);
                }
                if is_due() {
                    return Ok(Some(key.to_vec()));
                }
            }
            return Ok(None);
        }
        let is_after = |key: &[u8]| match to {
            Bound::Unbounded => false,
            Bound::Included(to) => key > to,
            Bound::Excluded(to) => key >= to,
        };
        if let Self::Entries = self {
            let first = match from {
                Bound::Unbounded => EntryId::ROOT,
                Bound::Included(key) => entry_id(key),
                Bound::Excluded(key) => EntryId(entry_id(key).0.saturating_add(1)),
            };
            for found in view.entries(first).map_err(Failure::new)? {
                let (id, record) = found.map_err(Failure::new)?;
                let key = id.0.to_be_bytes();
                if is_after(&key) || visit(&Record { view, key: &key, value: Value::Entry(record) })?.is_break() {
                    return Ok(None);
                }
                if is_due() {
                    return Ok(Some(key.to_vec()));
                }
            }
            return Ok(None);
        }
        // The others are small, or as many as there are referrals.
        let is_before = |key: &[u8]| match from {
            Bound::Unbounded => false,
            Bound::Included(from) => key < from,
            Bound::Excluded(from) => key <= from,
        };
        self.each_small(source, &mut |key, value| {
            if is_before(key) || is_after(key) {
                return Ok(ControlFlow::Continue(()));
            }
            visit(&Record { view, key, value: Value::Bytes(value) })
        })?;
        Ok(None)
    }

    fn each_small(&self, source: &Source, visit: &mut dyn FnMut(&[u8], &[u8]) -> Visit) -> Result<(), Failure> {
        let view = source.snapshot.view();
        let tables = view.tables();
        match self {
            Self::State => {
                for index in indexes(source) {
                    let flags: &[u8] = if source.is_trusted(&index) { b"TRUSTED" } else { b"" };
                    if visit(index.name.as_bytes(), flags)?.is_break() {
                        break;
                    }
                }
            }
            Self::Attributes => {
                for (id, description) in tables.descriptions() {
                    if visit(&id.0.to_be_bytes(), description.as_bytes())?.is_break() {
                        break;
                    }
                }
            }
            Self::ClassSets => {
                for (number, set) in (0u32..).zip(tables.class_sets()) {
                    if visit(&number.to_be_bytes(), set.values().body())?.is_break() {
                        break;
                    }
                }
            }
            Self::Referrals => {
                let Some(list) = referrals(source)? else { return Ok(()) };
                for id in list.iter() {
                    let Some(record) = view.entry(id).map_err(Failure::new)? else { continue };
                    let dn = view.dn_of(id).map_err(Failure::new)?.unwrap_or_default();
                    let record = record.view().map_err(Failure::new)?;
                    let uris = tables.description_id("ref").and_then(|desc| record.stored(desc));
                    let body = match uris.map(|attribute| attribute.content) {
                        Some(Content::Inline(values)) => values.body(),
                        _ => &[],
                    };
                    if visit(dn.as_bytes(), body)?.is_break() {
                        break;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The stored key that a text names: a DN, a number, or a value of the attribute.
    pub(super) fn key_of(&self, source: &Source, text: &str) -> Result<Vec<u8>, Failure> {
        let number = || {
            let what = if matches!(self, Self::Entries | Self::ChildrenCounts) { "an entry" } else { "a table row" };
            text.parse::<u64>().map_err(|_| Failure::new(format_args!("\"{text}\" is not the number of {what}")))
        };
        Ok(match self {
            Self::Dn => dn_key(source, text)?,
            Self::Entries => number()?.to_be_bytes().to_vec(),
            Self::ChildrenCounts => IndexKey::children(EntryId(number()?)).key().to_vec(),
            Self::Attributes | Self::ClassSets => u32::try_from(number()?).unwrap_or(u32::MAX).to_be_bytes().to_vec(),
            Self::State | Self::Referrals => text.as_bytes().to_vec(),
            Self::Index(index) => index_key(source, index, text),
        })
    }

    /// The key of a record for people.
    pub(super) fn shown_key(&self, schema: &Schema, record: &Record<'_, '_>) -> Result<String, Failure> {
        Ok(match (self, &record.value) {
            (Self::Dn, Value::List(list)) => match list.iter().next() {
                Some(id) => record.view.dn_of(id).map_err(Failure::new)?.unwrap_or_default(),
                None => display_text(record.key),
            },
            (Self::ChildrenCounts, _) if record.key == IndexKey::children(EntryId::ROOT).key() => {
                "Total Children Count".to_owned()
            }
            (Self::ChildrenCounts, _) => {
                parent_id(record.key).map_or_else(|| display_text(record.key), |id| id.to_string())
            }
            (Self::Entries, _) => entry_id(record.key).to_string(),
            (Self::Attributes | Self::ClassSets, _) => record
                .key
                .try_into()
                .map_or_else(|_| display_text(record.key), |key| u32::from_be_bytes(key).to_string()),
            (Self::Index(index), _) => shown_index_key(schema, index, record.key),
            _ => display_text(record.key),
        })
    }

    /// The value of a record for people.
    pub(super) fn shown_value(&self, record: &Record<'_, '_>) -> Result<String, Failure> {
        Ok(match (self, &record.value) {
            (Self::ChildrenCounts, Value::List(_)) if record.key == IndexKey::children(EntryId::ROOT).key() => {
                record.view.entry_count().map_err(Failure::new)?.to_string()
            }
            (Self::ChildrenCounts, Value::List(list)) => list.count().to_string(),
            (Self::Dn, Value::List(list)) => list.iter().next().map_or_else(String::new, |id| id.to_string()),
            (Self::Index(index), Value::List(list)) => shown_list(index, list),
            (_, Value::List(list)) => list.count().to_string(),
            (_, Value::Entry(entry)) => shown_entry(record, entry)?,
            (Self::ClassSets | Self::Referrals, Value::Bytes(bytes)) => {
                Values::new(0, bytes).iter().map(display_text).collect::<Vec<_>>().join(" ")
            }
            (_, Value::Bytes(bytes)) => display_text(bytes),
        })
    }
}

impl Record<'_, '_> {
    /// Visits the bytes of the value as stored.
    pub(super) fn each_stored(&self, visit: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        match &self.value {
            Value::List(list) => list.each_stored(visit).map_err(Failure::new)?,
            Value::Entry(entry) => visit(&entry.stored_bytes()),
            Value::Bytes(bytes) => visit(bytes),
        }
        Ok(())
    }

    /// Bytes of the value as stored.
    pub(super) fn value_bytes(&self) -> Result<u64, Failure> {
        let mut bytes = 0;
        self.each_stored(&mut |piece| bytes += piece.len() as u64)?;
        Ok(bytes)
    }
}

impl Source {
    /// Whether searches may use the index.
    pub(super) fn is_trusted(&self, index: &Index) -> bool {
        self.snapshot.indexes().is_trusted(index.id)
    }
}

/// Entries that refer elsewhere, which the index of object classes knows.
fn referrals(source: &Source) -> Result<Option<Postings<'_>>, Failure> {
    let index = indexes(source).find(|index| index.name == "objectClass.objectIdentifierMatch");
    let (Some(index), schema) = (index, &source.schema) else { return Ok(None) };
    let mut key = Vec::new();
    let rule = schema.matching_rule(b"objectIdentifierMatch");
    if rule.is_none_or(|rule| rule.normalize(schema, b"referral", &mut key).is_err()) {
        return Ok(None);
    }
    source.snapshot.postings(&IndexKey::new(index.id, &key)).map(Some).map_err(Failure::new)
}

/// A key of an index for people; `PRESENCE` for the one key of a presence index.
pub(super) fn shown_index_key(schema: &Schema, index: &Index, key: &[u8]) -> String {
    match index.method {
        Method::Presence => "PRESENCE".to_owned(),
        Method::Vlv => sort_key::shown_key(key),
        _ if is_confidential(index) => key.iter().map(|byte| format!("{byte:02x}")).collect(),
        Method::Normal(rule) => rule.display_form(schema, key),
        Method::Substrings { .. } => display_text(key),
    }
}

/// `[COUNT:n]` and the ids; those of a key over the limit are not used, so not shown.
fn shown_list(index: &Index, list: &Postings<'_>) -> String {
    use std::fmt::Write;
    let count = list.count();
    if is_over(index, count) {
        return format!("[LIMIT-EXCEEDED] [COUNT:{count}]");
    }
    let mut out = format!("[COUNT:{count}]");
    for id in list.iter() {
        let _ = write!(out, " {id}");
    }
    out
}

/// Whether a key with so many entries is over the limit of its index.
pub(super) fn is_over(index: &Index, count: u64) -> bool {
    index.entry_limit > 0 && count > u64::from(index.entry_limit)
}

/// An entry as LDIF; of large attributes only the size.
fn shown_entry(record: &Record<'_, '_>, entry: &RecordRef<'_>) -> Result<String, Failure> {
    let tables = record.view.tables();
    let mut out = b"\n".to_vec();
    let dn = record.view.dn_of(entry_id(record.key)).map_err(Failure::new)?.unwrap_or_default();
    ldap::ldif::put_line(&mut out, b"dn", dn.as_bytes(), None);
    let name = |desc: DescId| tables.description(desc).unwrap_or("?");
    entry.view().map_err(Failure::new)?.for_each(&mut Vec::new(), |attribute| match attribute.content {
        Content::Inline(values) => {
            values
                .iter()
                .for_each(|value| ldap::ldif::put_line(&mut out, name(attribute.desc).as_bytes(), value, None));
        }
        Content::Large(stub) => {
            let text = format!("{}: {} values, {} bytes", name(attribute.desc), stub.count, stub.bytes);
            ldap::ldif::put_comment(&mut out, &text, None);
        }
    });
    Ok(String::from_utf8_lossy(&out).into_owned())
}

pub(super) fn entry_id(key: &[u8]) -> EntryId {
    EntryId(key.first_chunk().map_or(u64::MAX, |bytes| u64::from_be_bytes(*bytes)))
}

/// The parent in a key of the lists of children.
fn parent_id(key: &[u8]) -> Option<EntryId> {
    let mut rest = key;
    store::varint::take_ordered(&mut rest).map(EntryId)
}

/// The key of a DN in the index of names.
fn dn_key(source: &Source, text: &str) -> Result<Vec<u8>, Failure> {
    let malformed = |error| Failure::new(format_args!("\"{text}\" is not a DN: {error}"));
    let dn = NormalizedDn::parse(&source.schema, text.as_bytes()).map_err(malformed)?;
    let view = source.snapshot.view();
    let mut parent = EntryId::ROOT;
    // A base entry has its whole DN as name, so the first steps of the way down are taken at once.
    let mut whole = NormalizedDn::root();
    let mut rdns = dn.rdns().peekable();
    while let Some(rdn) = rdns.next() {
        whole = whole.child(rdn);
        let name = if parent == EntryId::ROOT { whole.as_bytes() } else { rdn.as_bytes() };
        let found = view.child(parent, name).map_err(Failure::new)?;
        if rdns.peek().is_none() {
            return Ok(IndexKey::dn(parent, name).key().to_vec());
        }
        match found {
            Some(id) => parent = id,
            None if parent == EntryId::ROOT => {}
            None => break,
        }
    }
    Err(Failure::new(format_args!("there is no entry above \"{text}\": name one that exists")))
}

/// The key that a value has in an index; what has no normal form is taken as it is.
fn index_key(source: &Source, index: &Index, text: &str) -> Vec<u8> {
    let mut key = Vec::new();
    let made = match index.method {
        Method::Presence => Ok(()),
        Method::Vlv => {
            let indexes = source.snapshot.indexes().set();
            if let Some(vlv) = indexes.vlv(index.id) {
                // What is no value of the attribute is where it would be if it were one, at the beginning.
                let _ = vlv.order.put_start(&source.schema, text.as_bytes(), &mut key);
            }
            return key;
        }
        Method::Normal(rule) => rule.normalize_assertion(&source.schema, text.as_bytes(), &mut key),
        Method::Substrings { rule, .. } => rule.normalize_piece(text.as_bytes(), Position::Any, &mut key),
    };
    if made.is_err() {
        return text.as_bytes().to_vec();
    }
    match index.method {
        Method::Substrings { rule, length } => {
            let mut form = rule.substring_form(&key).into_owned();
            form.truncate(length);
            index.key(&form).into_owned()
        }
        _ => IndexKey::new(index.id, &index.key(&key)).key().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use config::Config;
    use tempfile::TempDir;

    use super::*;
    use crate::instance;
    use crate::tools::setup::{self, Certificate, Data, Plan};

    /// An instance with sample people, so many that some indexes have more keys than one snapshot is held for.
    fn instance() -> (TempDir, Config) {
        let place = TempDir::new().unwrap();
        let plan = Plan {
            base_dns: vec!["dc=example,dc=com".to_owned()],
            backend_id: "userRoot".to_owned(),
            root_dn: "cn=Directory Manager".to_owned(),
            root_password: "secret12".to_owned(),
            password_scheme: password::Scheme::SaltedSha512,
            access_profile: directory::Profile::Addressbook,
            listen_addresses: vec![std::net::Ipv4Addr::LOCALHOST.into()],
            ldap_port: 1389,
            ldaps_port: None,
            administration_port: None,
            http_port: None,
            certificate: Certificate::None,
            data: Data::Sample(1500),
            quiet: true,
        };
        let config = setup::make(&place.path().join("inst"), &plan).unwrap();
        (place, config)
    }

    #[test]
    fn raw_names_begin_at_the_root() {
        assert_eq!(Tree::Dn.raw_name("dc=Example, dc=com"), "/dc=com,dc=example/dn2id");
    }

    #[test]
    fn a_walk_over_many_snapshots_meets_each_record_once() {
        let (_place, config) = instance();
        let backend = instance::backend(&config, None).unwrap();
        let keys = |source: &mut Source, tree: &Tree, range: Range| {
            let mut keys = Vec::new();
            let walked = tree.walk(source, range, &mut |record| {
                keys.push(record.key.to_vec());
                Ok(ControlFlow::Continue(()))
            });
            walked.unwrap();
            keys
        };
        let mut source = Source::open(&config, backend).unwrap();
        let trees = trees_of(&source);
        let held: Vec<_> = trees.iter().map(|tree| keys(&mut source, tree, ALL)).collect();
        source.renew_often();
        let mut most = 0;
        for (tree, all) in trees.iter().zip(held) {
            most = most.max(all.len());
            assert_eq!(keys(&mut source, tree, ALL), all, "{}", tree.name());
            let (Some(first), Some(last)) = (all.get(all.len() / 3), all.get(all.len() / 2)) else { continue };
            let part: Vec<_> = all.iter().filter(|key| (first..=last).contains(key)).cloned().collect();
            let range = (Bound::Included(first.clone()), Bound::Included(last.clone()));
            assert_eq!(keys(&mut source, tree, range), part, "{}", tree.name());
        }
        assert!(most > 2 * RENEW_RECORDS as usize, "{most}");
    }
}
