//! Records in, records out; every mistake at its line.

use std::io::BufReader;

use proptest::prelude::*;

use super::*;
use crate::{ControlBuf, ModifyOperation};

fn entry(text: &str) -> Result<LdifEntry, LdifError> {
    let mut entry = LdifEntry::default();
    assert!(entry.parse(text.as_bytes(), 1, UrlValues::Refuse)?, "a record is there");
    Ok(entry)
}

fn lines(entry: &LdifEntry) -> Vec<(String, String, u64)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    entry.iter().map(|line| (text(line.description), text(line.value), line.line)).collect()
}

fn own(lines: &[(&str, &str, u64)]) -> Vec<(String, String, u64)> {
    lines.iter().map(|(d, v, n)| ((*d).to_owned(), (*v).to_owned(), *n)).collect()
}

fn change(text: &str) -> Result<LdifChange, LdifError> {
    match Reader::new(text.as_bytes()).next_record()? {
        Some(Record::Change(change)) => Ok(change),
        other => panic!("no change record: {other:?}"),
    }
}

#[test]
fn content_records_in_all_their_forms() {
    let text = "version: 1\n# a comment\n  that goes on\ndn: cn=Ann\n  Other,dc=example\ncn:Ann\ncn:: QW5uYQ==\n\
                description:   spaces before \nempty:\nempty2:: \njpegPhoto;binary::\n AAEC\nnote: x:y <z>\n# end\n";
    let entry = entry(text).unwrap();
    assert_eq!((entry.dn.as_str(), entry.line), ("cn=Ann Other,dc=example", 4));
    let expected = [
        ("cn", "Ann", 6),
        ("cn", "Anna", 7),
        ("description", "spaces before ", 8),
        ("empty", "", 9),
        ("empty2", "", 10),
        ("jpegPhoto;binary", "\0\u{1}\u{2}", 11),
        ("note", "x:y <z>", 13),
    ];
    assert_eq!(lines(&entry), own(&expected));
}

#[test]
fn windows_line_ends_names_in_base64_and_a_byte_order_mark() {
    let text =
        "\u{feff}version: 1\r\n\r\ndn:: Y249w5ZkaQ==\r\ncn: \u{d6}di\r\nsn: a\r\n b\r\n\r\n\r\ndn:\r\nobjectClass: top";
    let mut reader = Reader::new(text.as_bytes());
    let mut entry = LdifEntry::default();
    assert!(reader.next_into(&mut entry).unwrap());
    assert_eq!((entry.dn.as_str(), entry.line), ("cn=\u{d6}di", 3));
    assert_eq!(lines(&entry), own(&[("cn", "\u{d6}di", 4), ("sn", "ab", 5)]));
    assert!(reader.next_into(&mut entry).unwrap());
    assert_eq!((entry.dn.as_str(), entry.line), ("", 9), "the root DSE");
    assert_eq!(lines(&entry), own(&[("objectClass", "top", 10)]));
    assert!(!reader.next_into(&mut entry).unwrap());
}

#[test]
fn nothing_but_comments_is_no_record() {
    for text in ["", "\n\n", "# only\n\n# comments\n", "version: 1\n\n#\n"] {
        assert!(Reader::new(text.as_bytes()).next_record().unwrap().is_none(), "{text:?}");
    }
}

#[test]
fn an_add_is_content_too_but_no_other_change() {
    let entry = entry("dn: dc=a\ncontrol: 1.2.3 true\nchangetype: add\ndc: a\n").unwrap();
    assert_eq!(lines(&entry), own(&[("dc", "a", 4)]));
    let mut entry = LdifEntry::default();
    let error = entry.parse(b"dn: dc=a\nchangetype: delete\n", 1, UrlValues::Refuse).unwrap_err();
    assert_eq!(error.to_string(), "line 2: a change record (changetype: delete) where an entry is expected");
}

// RFC 2849, examples 6 and 7, with other people.
#[test]
fn change_records_of_every_kind() {
    let modify = change(
        "dn: cn=Pim,dc=example\ncontrol: 1.2.840.113556.1.4.805 true\ncontrol: 1.3.6.1.1.12 false:: AAE=\n\
         control: 1.2.3: text\nchangetype: modify\nadd: postaladdress\npostaladdress: 1 Road\nPostalAddress: 2 Road\n\
         -\n\
         delete: description\n-\nreplace: telephonenumber\ntelephonenumber: 555\n-\nincrement: uidNumber\n\
         uidNumber: 1\n",
    )
    .unwrap();
    let control = |oid: &str, critical, value: Option<&[u8]>| ControlBuf {
        oid: oid.into(),
        critical,
        value: value.map(<[u8]>::to_vec),
    };
    assert_eq!(
        modify.controls,
        [
            control("1.2.840.113556.1.4.805", true, None),
            control("1.3.6.1.1.12", false, Some(b"\0\x01")),
            control("1.2.3", false, Some(b"text"))
        ]
    );
    let modification = |operation, description: &str, values: &[&str], line| LdifModification {
        operation,
        description: description.into(),
        values: values.iter().map(|v| v.as_bytes().to_vec()).collect(),
        line,
    };
    let expected = vec![
        modification(ModifyOperation::Add, "postaladdress", &["1 Road", "2 Road"], 6),
        modification(ModifyOperation::Delete, "description", &[], 10),
        modification(ModifyOperation::Replace, "telephonenumber", &["555"], 12),
        modification(ModifyOperation::Increment, "uidNumber", &["1"], 15),
    ];
    assert_eq!(modify.operation, LdifOperation::Modify(expected));

    assert_eq!(change("dn: cn=a\nchangetype: delete\n").unwrap().operation, LdifOperation::Delete);
    let rename = |delete_old_rdn, new_superior: Option<&str>| LdifOperation::ModifyDn {
        new_rdn: "cn=b".into(),
        delete_old_rdn,
        new_superior: new_superior.map(str::to_owned),
    };
    let text = "dn: cn=a\nchangetype: modrdn\nnewrdn: cn=b\ndeleteoldrdn: 1\n";
    assert_eq!(change(text).unwrap().operation, rename(true, None));
    let text = "dn: cn=a\nchangetype: moddn\nnewrdn:: Y249Yg==\ndeleteoldrdn: 0\nnewsuperior: dc=x\n";
    assert_eq!(change(text).unwrap().operation, rename(false, Some("dc=x")));
    let add = change("dn: cn=a\nchangetype: ADD \ncn: a\n").unwrap();
    assert_eq!(add.operation, LdifOperation::Add(AttributeLines::from_parts([("cn", &b"a"[..])])));
}

#[test]
fn mistakes_are_placed_at_their_line() {
    let cases = [
        ("cn: a\n", "line 1: a record begins with a line \"dn: …\""),
        (" dn: a\n", "line 1: a continuation line without a line that it continues"),
        ("version: 2\ndn: a=b\n", "line 1: LDIF version 2 is unknown; only version 1 is"),
        ("dn:: /w==\n", "line 1: the name is not UTF-8"),
        ("dn: a=b\n\tcn: a\n", "line 2: the line is not of the form \"attribute: value\""),
        ("dn: a=b\ncn a\n", "line 2: the line is not of the form \"attribute: value\""),
        ("dn: a=b\n: a\n", "line 2: the line is not of the form \"attribute: value\""),
        ("dn: a=b\ncn: x\n y\nsn:: %%\n", "line 4: the value of sn is not base64"),
        ("dn: a=b\ncn: x\ndn: c=d\n", "line 3: a dn line inside a record: is the blank line before it missing?"),
        ("dn: a=b\ncn:< file:///etc/hostname\n", "line 2: the value of cn is a URL, which is not allowed here"),
        ("dn: a=b\nchangetype: copy\n", "line 2: the changetype copy is none of add, delete, modify, modrdn, moddn"),
        (
            "dn: a=b\ncontrol: 1.2\ncn: x\n",
            "line 1: control lines are for change records: a changetype line must follow",
        ),
        (
            "dn: a=b\ncontrol: one\nchangetype: delete\n",
            "line 2: the control line is not of the form \"control: OID [true|false][: value]\"",
        ),
        (
            "dn: a=b\ncontrol: 1.2 maybe\nchangetype: delete\n",
            "line 2: the control line is not of the form \"control: OID [true|false][: value]\"",
        ),
        ("dn: a=b\nchangetype: delete\ncn: a\n", "line 3: nothing may follow here in a delete record"),
        ("dn: a=b\nchangetype: modrdn\n", "line 2: a line \"newrdn: …\" must come here"),
        (
            "dn: a=b\nchangetype: modrdn\nnewrdn: a=c\nnewsuperior: d=e\n",
            "line 4: a line \"deleteoldrdn: …\" must come here",
        ),
        ("dn: a=b\nchangetype: modrdn\nnewrdn: a=c\ndeleteoldrdn: yes\n", "line 4: deleteoldrdn is 0 or 1"),
        (
            "dn: a=b\nchangetype: modrdn\nnewrdn: a=c\ndeleteoldrdn: 1\ncn: a\n",
            "line 5: nothing may follow here in a modrdn record",
        ),
        (
            "dn: a=b\nchangetype: modify\ncn: a\n",
            "line 3: a modification begins with add:, delete:, replace: or increment:",
        ),
        (
            "dn: a=b\nchangetype: modify\nadd: c n\n",
            "line 3: a modification begins with add:, delete:, replace: or increment:",
        ),
        (
            "dn: a=b\nchangetype: modify\n-\n",
            "line 3: a modification begins with add:, delete:, replace: or increment:",
        ),
        (
            "dn: a=b\nchangetype: modify\nadd: cn\nsn: a\n",
            "line 4: the modification is of cn, the value is of sn; modifications are separated by a line \"-\"",
        ),
    ];
    for (text, expected) in cases {
        let error = Record::parse(text.as_bytes(), 1, UrlValues::Refuse).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
    }
}

#[test]
fn after_a_mistake_the_next_record_is_read_and_the_bad_one_is_still_there() {
    let text = "dn: a=1\na: 1\n\n# why\ndn: a=2\nbroken\nmore: x\n\n\n\ndn: a=3\na: 3\n";
    for capacity in [1, 2, 3, 7, 4096] {
        let mut reader = Reader::new(BufReader::with_capacity(capacity, text.as_bytes()));
        let mut entry = LdifEntry::default();
        assert!(reader.next_into(&mut entry).unwrap());
        let error = reader.next_into(&mut entry).unwrap_err();
        assert_eq!(error.line, 6);
        assert!(!error.is_io());
        assert_eq!(reader.raw_record(), b"# why\ndn: a=2\nbroken\nmore: x\n");
        assert_eq!(reader.raw_line(), 4);
        assert!(reader.next_into(&mut entry).unwrap());
        assert_eq!((entry.dn.as_str(), entry.line), ("a=3", 11));
        assert!(!reader.next_into(&mut entry).unwrap());
    }
}

#[test]
fn files_are_read_only_when_allowed() {
    let directory = std::env::temp_dir().join(format!("ldif-url-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let path = directory.join("a motto");
    std::fs::write(&path, b"\x00line\n").unwrap();
    let url = format!("file://{}/a%20motto", directory.display());
    let text = format!("dn: a=b\nmotto:< {url}\nc: d\n");
    let mut entry = LdifEntry::default();
    assert!(entry.parse(text.as_bytes(), 1, UrlValues::ReadFiles).unwrap());
    assert_eq!(lines(&entry), own(&[("motto", "\0line\n", 2), ("c", "d", 3)]));
    for bad in ["http://example.com/x", "file://elsewhere/x", "file:///no/such/file", "file:relative", "x"] {
        let text = format!("dn: a=b\nmotto:< {bad}\n");
        let error = entry.parse(text.as_bytes(), 1, UrlValues::ReadFiles).unwrap_err();
        assert!(matches!(error.fault, LdifFault::BadUrl { .. }), "{bad}: {error}");
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_failing_stream_is_told_from_a_bad_record() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("cable cut"))
        }
    }
    let error = Reader::new(BufReader::new(Broken)).next_record().unwrap_err();
    assert!(error.is_io());
    assert_eq!(error.to_string(), "line 1: cannot read: cable cut");
}

fn written(entry: &LdifEntry, wrap: Option<usize>) -> String {
    let mut writer = Writer::new(Vec::new()).with_wrap(wrap);
    writer.entry(entry).unwrap();
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

#[test]
fn values_are_in_base64_exactly_when_they_must() {
    let cases: [(&[u8], &str); 11] = [
        (b"plain", "a: plain\n"),
        (b"", "a:\n"),
        (b" x", "a:: IHg=\n"),
        (b"x ", "a:: eCA=\n"),
        (b":x", "a:: Ong=\n"),
        (b"<x", "a:: PHg=\n"),
        (b"x:<y", "a: x:<y\n"),
        ("\u{e9}".as_bytes(), "a:: w6k=\n"),
        (b"x\ny", "a:: eAp5\n"),
        (b"x\ry", "a:: eA15\n"),
        (b"x\0y", "a:: eAB5\n"),
    ];
    for (value, line) in cases {
        let entry = LdifEntry::from_parts("b=c", [("a", value)]);
        assert_eq!(written(&entry, None), format!("dn: b=c\n{line}\n"), "{value:?}");
    }
}

#[test]
fn lines_are_folded_at_the_column_or_not_at_all() {
    let digits = "0123456789".repeat(3);
    let entry = LdifEntry::from_parts("b=c", [("a", digits.as_bytes())]);
    assert_eq!(written(&entry, None), format!("dn: b=c\na: {digits}\n\n"));
    assert_eq!(written(&entry, Some(33)), format!("dn: b=c\na: {digits}\n\n"), "exactly as wide");
    assert_eq!(written(&entry, Some(32)), "dn: b=c\na: 01234567890123456789012345678\n 9\n\n");
    assert_eq!(written(&entry, Some(12)), "dn: b=c\na: 012345678\n 90123456789\n 0123456789\n\n");
    assert_eq!(written(&entry, Some(0)).lines().map(str::len).max(), Some(2), "too narrow widths are widened");
    let long = "x".repeat(200);
    let entry = LdifEntry::from_parts("b=c", [("a", long.as_bytes())]);
    let mut writer = Writer::new(Vec::new());
    writer.entry(&entry).unwrap();
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    assert_eq!(text.lines().map(str::len).collect::<Vec<_>>(), [7, 76, 76, 53, 0]);
}

#[test]
fn comments_stay_comments() {
    let mut writer = Writer::new(Vec::new()).with_wrap(Some(10));
    writer.version().unwrap();
    writer.comment("line 7: no\ndn: evil\r: x");
    writer.raw_record(b"dn: a").unwrap();
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    assert_eq!(text, "version: 1\n\n# line 7: \n no\n# dn: evil\n# : x\ndn: a\n\n");
    assert_eq!(Reader::new(text.as_bytes()).next_record().unwrap().unwrap().dn(), "a");
}

fn description() -> impl Strategy<Value = String> {
    "[a-zA-Z][a-zA-Z0-9-]{0,8}(;[a-z0-9-]{1,4}){0,2}".prop_filter("words with a meaning of their own", |word| {
        !["dn", "control", "version", "changetype"].contains(&&*word.to_lowercase())
    })
}

fn values() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..120),
        "[ -~]{0,200}".prop_map(String::into_bytes),
        "\\PC{0,40}".prop_map(String::into_bytes)
    ]
}

prop_compose! {
    fn attribute_lines()(parts in prop::collection::vec((description(), values()), 0..8)) -> AttributeLines {
        AttributeLines::from_parts(parts.iter().map(|(description, value)| (description.as_str(), value.as_slice())))
    }
}

fn controls() -> impl Strategy<Value = Vec<ControlBuf>> {
    let control = ("[0-2]\\.[0-9]{1,3}(\\.[0-9]{1,5}){0,3}", any::<bool>(), prop::option::of(values()))
        .prop_map(|(oid, critical, value)| ControlBuf { oid, critical, value });
    prop::collection::vec(control, 0..3)
}

fn operation() -> impl Strategy<Value = LdifOperation> {
    use ModifyOperation::{Add, Delete, Increment, Replace};
    let kind = prop::sample::select(vec![Add, Delete, Replace, Increment]);
    let modification = (kind, description(), prop::collection::vec(values(), 0..3))
        .prop_map(|(operation, description, values)| LdifModification { operation, description, values, line: 0 });
    prop_oneof![
        attribute_lines().prop_map(LdifOperation::Add),
        Just(LdifOperation::Delete),
        prop::collection::vec(modification, 0..4).prop_map(LdifOperation::Modify),
        ("\\PC{0,20}", any::<bool>(), prop::option::of("\\PC{0,20}")).prop_map(
            |(new_rdn, delete_old_rdn, new_superior)| LdifOperation::ModifyDn { new_rdn, delete_old_rdn, new_superior }
        )
    ]
}

fn record() -> impl Strategy<Value = Record> {
    prop_oneof![
        ("\\PC{0,60}", attribute_lines()).prop_map(|(dn, attributes)| Record::Entry(LdifEntry {
            dn,
            line: 0,
            attributes
        })),
        ("\\PC{0,60}", controls(), operation()).prop_map(|(dn, controls, operation)| Record::Change(LdifChange {
            dn,
            line: 0,
            controls,
            operation
        })),
    ]
}

/// Line numbers are known only of what was read.
fn without_lines(mut record: Record) -> Record {
    match &mut record {
        Record::Entry(entry) => entry.line = 0,
        Record::Change(change) => {
            change.line = 0;
            if let LdifOperation::Modify(modifications) = &mut change.operation {
                modifications.iter_mut().for_each(|modification| modification.line = 0);
            }
        }
    }
    record
}

/// Lines as LDIF has them, in a mess.
const ANY_LINE: &str = concat!(
    "(dn|cn|version|changetype|control|add|-|#|newrdn)?",
    "(:|::|:<)? ?(1|modify|add|delete|cn|=|[ -~]{0,5})?(\r?\n ?|\n\n){0,2}",
);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_is_written_is_read(
        records in prop::collection::vec(record(), 0..5),
        wrap in prop::option::of(2usize..90),
        windows: bool,
        capacity in 1usize..50,
    ) {
        let mut writer = Writer::new(Vec::new()).with_wrap(wrap);
        writer.version().unwrap();
        for record in &records {
            writer.comment("again");
            writer.record(record).unwrap();
        }
        let mut text = writer.finish().unwrap();
        if windows {
            text = String::from_utf8(text).unwrap().replace('\n', "\r\n").into_bytes();
        }
        let mut reader = Reader::new(BufReader::with_capacity(capacity, &text[..]));
        let mut read = Vec::new();
        while let Some(record) = reader.next_record().unwrap() {
            read.push(without_lines(record));
        }
        prop_assert_eq!(read, records);
    }

    #[test]
    fn no_bytes_panic_and_readers_agree(
        lines in prop::collection::vec(ANY_LINE, 0..6),
        noise in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let text = lines.concat();
        for bytes in [text.as_bytes(), &noise[..]] {
            let mut whole = Reader::new(bytes);
            let mut torn = Reader::new(BufReader::with_capacity(1, bytes));
            loop {
                let (one, other) = (whole.next_record(), torn.next_record());
                prop_assert_eq!(format!("{one:?}"), format!("{other:?}"));
                prop_assert_eq!(whole.raw_record(), torn.raw_record());
                if matches!(one, Ok(None)) {
                    break;
                }
            }
        }
    }
}
