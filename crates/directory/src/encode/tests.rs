//! What the encoder writes, read back by the client's decoder.

use std::ops::ControlFlow;

use ldap::client::{Response, ServerMessage};
use proptest::prelude::*;
use schema::Schema;
use store::index::SchemaTypes;
use store::{DescId, EntryId, Interner, LargeStub, RecordBuilder, RecordView, StoreError, Tables};

use super::{Selection, integer_size, search_entry};
use crate::access::Access;
use crate::entry::{DnParts, EntrySource, EntryView};
use crate::facts::Facts;
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
        selection.restart(&facts, Access::Root, std::iter::empty(), types_only);
        let mut out = b"before".to_vec();
        search_entry(&facts, &entry, &mut selection, id, &[], &mut Vec::new(), &mut out).unwrap();
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

/// A group whose members are not in its record.
struct Members(u32);

impl EntrySource for Members {
    fn children_count(&self, _id: EntryId) -> Result<u64, StoreError> {
        Ok(3)
    }

    fn large_values(
        &self,
        _id: EntryId,
        _desc: DescId,
        each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        for at in 0..self.0 {
            if each(format!("uid=user.{at},dc=example,dc=com").as_bytes()).is_break() {
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
    let source = Members(5_000);
    let entry = EntryView { id: EntryId(1), record, dn: DnParts::whole(b"cn=all"), source: &source };
    let mut selection = Selection::default();
    selection.restart(&facts, Access::User, [&b"member"[..], b"numSubordinates"].into_iter(), false);
    let mut out = Vec::new();
    search_entry(&facts, &entry, &mut selection, 2, &[], &mut Vec::new(), &mut out).unwrap();
    let (_, found) = decode(&out, 2);
    assert_eq!(found[0].1.len(), 5_000);
    assert_eq!(found[0].1[4_999], b"uid=user.4999,dc=example,dc=com");
    assert_eq!(found[1], ("numSubordinates".to_owned(), vec![b"3".to_vec()]));
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
    let mut names = |access, asked: &[&[u8]]| {
        selection.restart(&facts, access, asked.iter().copied(), false);
        let mut out = Vec::new();
        search_entry(&facts, &view, &mut selection, 1, &[], &mut Vec::new(), &mut out).unwrap();
        decode(&out, 1).1.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(names(Access::Root, &[]), ["cn", "userPassword"]);
    assert_eq!(names(Access::User, &[]), ["cn"]);
    assert_eq!(names(Access::User, &[b"1.1"]), [""; 0]);
    assert_eq!(names(Access::User, &[b"subschemaSubentry", b"CN"]), ["cn", "subschemaSubentry"]);
}
