//! What the encoder writes, read back by the client's decoder.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;

use ldap::client::{Response, ServerMessage};
use proptest::prelude::*;
use schema::Schema;
use store::index::SchemaTypes;
use store::{DescId, EntryId, Interner, LargeStub, RecordBuilder, RecordView, StoreError, Tables};

use super::message::integer_size;
use super::{EncodeError, Layout, MessageSink, RangeCursors, Selection, ShownEntry};
use crate::entry::{DnParts, EachRow, EntrySource, EntryView};
use crate::facts::Facts;
use crate::rights::tests::{ByUid, NoSecrets};
use crate::rights::{ReadRights, Reader, Unrestricted};
use crate::synthetic::{Attributes, SyntheticEntry};

type Decoded = (String, Vec<(String, Vec<Vec<u8>>)>);

fn decode(bytes: &[u8], id: i32) -> Decoded {
    let message = ServerMessage::decode(bytes).unwrap();
    assert_eq!(message.id, id);
    let Response::SearchEntry(entry) = message.op else { panic!("not an entry") };
    let attributes = entry.attributes.iter().map(|attribute| {
        let name = String::from_utf8(attribute.description.to_vec()).unwrap();
        (name, attribute.values.iter().map(<[u8]>::to_vec).collect())
    });
    (String::from_utf8(entry.dn.to_vec()).unwrap(), attributes.collect())
}

/// A sink that is asked before a long entry is looked at.
trait TestSink: MessageSink {
    fn long_entry(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl TestSink for Vec<u8> {}

/// Writes a whole message with the entry.
fn search_entry(
    reader: Reader<'_>,
    entry: &EntryView<'_>,
    selection: &mut Selection,
    id: i32,
    sink: &mut impl TestSink,
) -> Result<(), EncodeError> {
    let mut scratch = Vec::new();
    let layout = Layout::new(reader, entry, selection, &mut scratch, &mut || sink.long_entry())?;
    ShownEntry::new(&layout, entry, &scratch).put_message(id, sink)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn an_entry_comes_back_as_it_is(
        dn in "uid=[a-z]{1,200}",
        parent in prop_oneof![Just(String::new()), "dc=[a-z]{1,40}"],
        id in prop_oneof![0i32..1000, Just(i32::MAX), 120i32..140, 32_000i32..33_000],
        attributes in proptest::collection::btree_map("x[a-z]{1,8}", proptest::collection::vec(
            proptest::collection::vec(any::<u8>(), 0..400), 1..5), 0..20),
        types_only in any::<bool>(),
    ) {
        let facts = Facts::new(Schema::standard());
        let mut tables = Tables::new(SchemaTypes::shared(&facts.schema));
        let mut builder = RecordBuilder::new(EntryId(9), dn.as_bytes());
        for (name, values) in &attributes {
            let desc = Interner::description(&mut tables, name).unwrap();
            builder.push(desc, values.iter().map(Vec::as_slice), &mut tables).unwrap();
        }
        let bytes = builder.finish().unwrap();
        let record = RecordView::parse(&bytes, &tables).unwrap();
        let parts = DnParts { rdn: dn.as_bytes(), parent: parent.as_bytes() };
        let entry = EntryView { id: EntryId(1), record, dn: parts, source: &crate::entry::NoSource };
        let mut selection = Selection::default();
        selection.restart(&facts, std::iter::empty(), types_only);
        let mut out = b"before".to_vec();
        search_entry(Reader::server(&facts), &entry, &mut selection, id, &mut out).unwrap();
        let (name, found) = decode(&out[6..], id);
        let whole = if parent.is_empty() { dn } else { format!("{dn},{parent}") };
        prop_assert_eq!(name, whole);
        let expected: Vec<_> = attributes.into_iter()
            .map(|(name, values)| (name, if types_only { Vec::new() } else { values })).collect();
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn message_ids_take_as_few_bytes_as_the_writer_gives_them() {
    for id in [0, 1, 127, 128, 255, 256, 32_767, 32_768, 8_388_607, 8_388_608, i32::MAX, -1, -128, -129] {
        let mut out = Vec::new();
        ber::Writer::new(&mut out).integer(ber::INTEGER, i64::from(id));
        assert_eq!(out.len(), 2 + integer_size(id), "{id}");
    }
}

/// A group whose members are not in its record, and how many of them were looked at.
struct Members {
    count: u32,
    walked: Cell<u32>,
}

impl EntrySource for Members {
    fn children_count(&self, _id: EntryId) -> Result<u64, StoreError> {
        Ok(3)
    }

    fn large_rows(&self, _id: EntryId, _desc: DescId, behind: &[u8], each: EachRow<'_>) -> Result<(), StoreError> {
        let first = behind.first_chunk().map_or(0, |row| u32::from_be_bytes(*row) + 1);
        for at in first..self.count {
            self.walked.set(self.walked.get() + 1);
            let value = format!("uid=user.{at},dc=example,dc=com");
            if each(&at.to_be_bytes(), value.as_bytes()).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn large_contains(&self, _id: EntryId, _desc: DescId, _normal_form: &[u8]) -> Result<bool, StoreError> {
        Ok(false)
    }
}

#[test]
fn large_values_are_sent_from_where_they_are() {
    let facts = Facts::new(Schema::standard());
    let mut tables = Tables::new(SchemaTypes::shared(&facts.schema));
    let mut builder = RecordBuilder::new(EntryId::ROOT, b"cn=all");
    let member = Interner::description(&mut tables, "member").unwrap();
    // The stub's sum of bytes is a statistic: the message must be right whatever it says.
    builder.push_large(member, LargeStub { count: 5_000, bytes: 1 }).unwrap();
    let bytes = builder.finish().unwrap();
    let record = RecordView::parse(&bytes, &tables).unwrap();
    let source = Members { count: 5_000, walked: Cell::default() };
    let entry = EntryView { id: EntryId(1), record, dn: DnParts::whole(b"cn=all"), source: &source };
    let mut selection = Selection::default();
    selection.restart(&facts, [&b"member"[..], b"numSubordinates"].into_iter(), false);
    let mut out = Vec::new();
    search_entry(Reader::server(&facts), &entry, &mut selection, 2, &mut out).unwrap();
    let (_, found) = decode(&out, 2);
    assert_eq!(found[0].1.len(), 5_000);
    assert_eq!(found[0].1[4_999], b"uid=user.4999,dc=example,dc=com");
    assert_eq!(found[1], ("numSubordinates".to_owned(), vec![b"3".to_vec()]));
}

/// Takes every part out of the buffer, up to a number of them.
#[derive(Default)]
struct Parts {
    buffer: Vec<u8>,
    taken: Vec<u8>,
    longest: usize,
    parts: usize,
    parts_max: usize,
    is_asked: bool,
    refuses: bool,
}

impl MessageSink for Parts {
    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    fn part_written(&mut self) -> ControlFlow<()> {
        self.parts += 1;
        self.longest = self.longest.max(self.buffer.len());
        self.taken.append(&mut self.buffer);
        if self.parts < self.parts_max { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

impl TestSink for Parts {
    fn long_entry(&mut self) -> ControlFlow<()> {
        self.is_asked = true;
        if self.refuses { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn a_long_message_goes_in_parts() {
    let facts = Facts::new(Schema::standard());
    let mut tables = Tables::new(SchemaTypes::shared(&facts.schema));
    let mut builder = RecordBuilder::new(EntryId::ROOT, b"cn=all");
    let member = Interner::description(&mut tables, "member").unwrap();
    builder.push_large(member, LargeStub { count: 100_000, bytes: 3_000_000 }).unwrap();
    let bytes = builder.finish().unwrap();
    let record = RecordView::parse(&bytes, &tables).unwrap();
    let source = Members { count: 100_000, walked: Cell::default() };
    let entry = EntryView { id: EntryId(1), record, dn: DnParts::whole(b"cn=all"), source: &source };
    let mut selection = Selection::default();
    selection.restart(&facts, [&b"member"[..]].into_iter(), false);
    let mut written = |sink: &mut Parts| search_entry(Reader::server(&facts), &entry, &mut selection, 2, sink);
    let mut sink = Parts { parts_max: usize::MAX, ..Parts::default() };
    written(&mut sink).unwrap();
    assert!(sink.is_asked && sink.longest < 66_000, "{}", sink.longest);
    sink.taken.append(&mut sink.buffer);
    assert_eq!(decode(&sink.taken, 2).1[0].1.len(), 100_000);
    // Where nobody reads any more, nothing more is looked up.
    source.walked.set(0);
    let mut sink = Parts { parts_max: 2, ..Parts::default() };
    assert!(matches!(written(&mut sink), Err(EncodeError::Stopped)));
    assert!(source.walked.get() < 105_000 && sink.parts == 2);
    source.walked.set(0);
    let mut sink = Parts { refuses: true, ..Parts::default() };
    assert!(matches!(written(&mut sink), Err(EncodeError::Stopped)));
    assert!(source.walked.get() == 0 && sink.buffer.is_empty());
}

/// A million in pieces is a million steps, not a million for each piece.
#[test]
fn the_next_piece_begins_where_the_last_ended() {
    let facts = Facts::new(Schema::standard());
    let mut tables = Tables::new(SchemaTypes::shared(&facts.schema));
    let mut builder = RecordBuilder::new(EntryId::ROOT, b"cn=all");
    let member = Interner::description(&mut tables, "member").unwrap();
    builder.push_large(member, LargeStub { count: 10_000, bytes: 300_000 }).unwrap();
    let numbered = [
        (DescId::ENTRY_UUID, "597ae2f6-16a6-1027-98f4-d28b5365dc14"),
        (DescId::ENTRY_CSN, "20261121100000.000000Z#000001#000#000000"),
    ];
    for (desc, value) in numbered {
        builder.push(desc, [value.as_bytes()], &mut tables).unwrap();
    }
    let bytes = builder.finish().unwrap();
    let record = RecordView::parse(&bytes, &tables).unwrap();
    let source = Members { count: 10_000, walked: Cell::default() };
    let entry = EntryView { id: EntryId(1), record, dn: DnParts::whole(b"cn=all"), source: &source };
    let cursors = Arc::new(RangeCursors::default());
    let mut all = Vec::new();
    for from in (0..10_000).step_by(1_000) {
        let mut selection = Selection::default();
        let selector = format!("member;range={from}-{}", from + 999);
        selection.restart(&facts, [selector.as_bytes()].into_iter(), false);
        selection.remember_in(&cursors);
        let mut out = Vec::new();
        search_entry(Reader::server(&facts), &entry, &mut selection, 2, &mut out).unwrap();
        all.append(&mut decode(&out, 2).1.remove(0).1);
    }
    let expected: Vec<_> = (0..10_000).map(|at| format!("uid=user.{at},dc=example,dc=com").into_bytes()).collect();
    assert!(all == expected);
    // Each is looked at twice: to measure, and to write.
    assert_eq!(source.walked.get(), 20_000);
}

#[test]
fn a_selection_used_again_decides_anew() {
    let facts = Facts::new(Schema::standard());
    let mut it = Attributes::new();
    it.add("cn", ["x"]);
    it.add("userPassword", ["y"]);
    let entry = SyntheticEntry::new(&facts, "cn=x", &it).unwrap();
    let view = entry.view().unwrap();
    let mut selection = Selection::default();
    let mut names = |rights: &dyn ReadRights, asked: &[&[u8]]| {
        selection.restart(&facts, asked.iter().copied(), false);
        let mut out = Vec::new();
        search_entry(Reader { facts: &facts, rights }, &view, &mut selection, 1, &mut out).unwrap();
        decode(&out, 1).1.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(names(&Unrestricted, &[]), ["cn", "userPassword"]);
    assert_eq!(names(&NoSecrets, &[]), ["cn"]);
    assert_eq!(names(&NoSecrets, &[b"1.1"]), [""; 0]);
    assert_eq!(names(&NoSecrets, &[b"subschemaSubentry", b"CN"]), ["cn", "subschemaSubentry"]);
}

/// What was decided for a type stays decided; only what depends on the entry is asked with each entry.
#[test]
fn an_attribute_that_depends_on_the_entry_is_sent_where_it_may_be_read() {
    let facts = Facts::new(Schema::standard());
    let mut selection = Selection::default();
    selection.restart(&facts, std::iter::empty(), false);
    let reader = Reader { facts: &facts, rights: &ByUid };
    let mut names = |uid: Option<&str>| {
        let mut it = Attributes::new();
        it.add("cn", ["x"]);
        it.add("sn", ["y"]);
        it.add("uid", uid);
        let entry = SyntheticEntry::new(&facts, "cn=x", &it).unwrap();
        let mut out = Vec::new();
        let view = entry.view().unwrap();
        search_entry(reader, &view, &mut selection, 1, &mut out).unwrap();
        decode(&out, 1).1.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(names(Some("ann")), ["cn", "sn", "uid"]);
    assert_eq!(names(None), ["cn"]);
    assert_eq!(names(Some("bob")), ["cn", "sn", "uid"]);
}

/// Whoever takes entries reads attributes and values without knowing the wire, wherever they are stored.
#[test]
fn a_shown_entry_tells_its_values() {
    let facts = Facts::new(Schema::standard());
    let mut tables = Tables::new(SchemaTypes::shared(&facts.schema));
    let mut builder = RecordBuilder::new(EntryId::ROOT, b"cn=all");
    let member = Interner::description(&mut tables, "member").unwrap();
    builder.push_large(member, LargeStub { count: 3, bytes: 90 }).unwrap();
    let cn = Interner::description(&mut tables, "cn").unwrap();
    builder.push(cn, [&b"all"[..], b"everybody"], &mut tables).unwrap();
    let bytes = builder.finish().unwrap();
    let record = RecordView::parse(&bytes, &tables).unwrap();
    let source = Members { count: 3, walked: Cell::default() };
    let view = EntryView { id: EntryId(1), record, dn: DnParts::whole(b"cn=all"), source: &source };
    let mut selection = Selection::default();
    selection.restart(&facts, [&b"cn"[..], b"member;range=1-1", b"numSubordinates"].into_iter(), false);
    let mut scratch = Vec::new();
    let reader = Reader::server(&facts);
    let layout = Layout::new(reader, &view, &mut selection, &mut scratch, &mut || ControlFlow::Continue(())).unwrap();
    let shown = ShownEntry::new(&layout, &view, &scratch);
    let mut all = Vec::new();
    for attribute in shown.attributes() {
        let mut values = Vec::new();
        let mut take = |value: &[u8]| {
            values.push(String::from_utf8(value.to_vec()).unwrap());
            ControlFlow::Continue(())
        };
        attribute.each_value(&mut take).unwrap();
        all.push((String::from_utf8(attribute.description().to_vec()).unwrap(), attribute.range(), values.join("|")));
    }
    all.sort();
    let expected = [
        ("cn".to_owned(), None, "all|everybody".to_owned()),
        ("member".to_owned(), Some(";range=1-1"), "uid=user.1,dc=example,dc=com".to_owned()),
        ("numSubordinates".to_owned(), None, "3".to_owned()),
    ];
    assert_eq!(all, expected);
}
