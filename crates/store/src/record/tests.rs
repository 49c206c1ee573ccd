//! Records come back as they were stored, and damaged ones are noticed.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::EntryId;
use crate::tables::{Interner, NoTypes, Tables};

fn tables() -> Tables {
    Tables::new(Arc::new(NoTypes))
}

fn build(tables: &mut Tables, attributes: &[(&str, Vec<Vec<u8>>)]) -> Vec<u8> {
    let mut builder = RecordBuilder::new(EntryId(70_000), b"uid=user.1");
    for (name, values) in attributes {
        let desc = Interner::description(tables, name).unwrap();
        builder.push(desc, values.iter().map(|value| &value[..]), tables).unwrap();
    }
    builder.finish().unwrap()
}

fn read(tables: &Tables, bytes: &[u8]) -> BTreeMap<String, Vec<Vec<u8>>> {
    let view = RecordView::parse(bytes, tables).unwrap();
    view.check().unwrap();
    let mut map = BTreeMap::new();
    view.for_each(&mut Vec::new(), |attribute| {
        let Content::Inline(values) = attribute.content else { panic!("no large values here") };
        let name = tables.description(attribute.desc).unwrap().to_owned();
        map.insert(name, values.iter().map(<[u8]>::to_vec).collect());
    });
    map
}

fn operational() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let text = |value: &str| vec![value.as_bytes().to_vec()];
    vec![
        ("objectClass", vec![b"top".to_vec(), b"person".to_vec()]),
        ("entryUUID", text("0123abcd-4567-89ef-0123-456789abcdef")),
        ("createTimestamp", text("20260102030405Z")),
        ("modifyTimestamp", text("20260102030409Z")),
        ("creatorsName", text("cn=Directory Manager")),
        ("modifiersName", text("cn=Directory Manager")),
        ("entryCSN", text("20260102030409.123456Z#000000#001#000000")),
    ]
}

#[test]
fn the_header_is_compact_and_comes_back() {
    let mut tables = tables();
    let bytes = build(&mut tables, &operational());
    assert!(bytes.len() - b"uid=user.1".len() <= 45, "{} bytes", bytes.len());
    let expected: BTreeMap<_, _> = operational().into_iter().map(|(name, values)| (name.to_owned(), values)).collect();
    assert_eq!(read(&tables, &bytes), expected);
    let view = RecordView::parse(&bytes, &tables).unwrap();
    assert_eq!((view.parent(), view.rdn()), (EntryId(70_000), &b"uid=user.1"[..]));
    assert_eq!(view.object_classes().count(), 2);
    assert_eq!(view.attributes().count(), 0);
}

#[test]
fn invariant_1_unusual_operational_values_come_back_too() {
    let odd = |name: &'static str, value: &str| {
        let mut tables = tables();
        let attributes = [(name, vec![value.as_bytes().to_vec()])];
        let bytes = build(&mut tables, &attributes);
        assert_eq!(read(&tables, &bytes)[name], attributes[0].1, "{name}");
    };
    odd("entryUUID", "0123ABCD-4567-89ef-0123-456789abcdef");
    odd("entryUUID", "not a uuid");
    odd("createTimestamp", "19690102030405Z");
    odd("modifyTimestamp", "202601020304Z");
    odd("modifyTimestamp", "20260102030405.999Z");
    odd("entryCSN", "20260102030409.123456Z#00000A#001#000000");
    odd("entryCSN", "01020304050607080900");
    let long = "cn=".to_owned() + &"x".repeat(5000);
    odd("creatorsName", &long[..1500]);
}

#[test]
fn large_stubs_come_back() {
    let mut tables = tables();
    let member = Interner::description(&mut tables, "member").unwrap();
    let mut builder = RecordBuilder::new(EntryId(1), b"cn=all");
    let stub = LargeStub { count: 1_000_000, bytes: 60_000_000 };
    builder.push_large(member, stub).unwrap();
    assert!(builder.push_large(member, stub).is_err());
    let bytes = builder.finish().unwrap();
    let view = RecordView::parse(&bytes, &tables).unwrap();
    assert_eq!(view.stored(member).map(|attribute| attribute.content), Some(Content::Large(stub)));
    assert!(RecordBuilder::is_large(257, 1) && RecordBuilder::is_large(1, 1537) && !RecordBuilder::is_large(256, 1536));
}

proptest! {
    #[test]
    fn any_attributes_come_back(
        map in proptest::collection::btree_map(
            "[a-z]{1,8}",
            proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 1..5),
            0..10,
        ),
        large in 0usize..70_000,
    ) {
        let mut tables = tables();
        let mut attributes: Vec<(&str, Vec<Vec<u8>>)> =
            map.iter().map(|(name, values)| (name.as_str(), values.clone())).collect();
        attributes.push(("description;lang-en", vec![vec![9; large]]));
        let bytes = build(&mut tables, &attributes);
        let expected: BTreeMap<_, _> = attributes.into_iter().map(|(name, values)| (name.to_owned(), values)).collect();
        prop_assert_eq!(read(&tables, &bytes), expected);
    }

    #[test]
    fn damage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..100), head in any::<bool>()) {
        let tables = tables();
        let mut bytes = bytes;
        if head {
            bytes.splice(0..0, [1]);
        }
        if let Ok(view) = RecordView::parse(&bytes, &tables) {
            let _ = view.check();
            view.for_each(&mut Vec::new(), |attribute| {
                if let Content::Inline(values) = attribute.content {
                    let _ = values.iter().count();
                }
            });
        }
    }
}
