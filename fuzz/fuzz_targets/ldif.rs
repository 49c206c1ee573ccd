//! LDIF: the reader ends, its position only grows, and what it accepts is written in a form that it reads as the same.
#![no_main]

use ldap::ldif::{LdifEntry, LdifOperation, Reader, Record, Writer};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut reader = Reader::new(bytes);
    let mut line = 0;
    loop {
        let read = reader.next_record();
        match read {
            Ok(None) => break,
            Ok(Some(record)) => round_trip(record),
            Err(error) => {
                assert!(!error.is_io());
                assert!(error.line >= reader.raw_line() && error.line <= reader.line());
            }
        }
        assert!(reader.line() > line, "the reader moves on");
        line = reader.line();
    }
    let mut entries = Reader::new(std::io::BufReader::with_capacity(3, bytes));
    let mut entry = LdifEntry::default();
    while !matches!(entries.next_into(&mut entry), Ok(false)) {}
});

fn round_trip(record: Record) {
    let record = without_lines(record);
    for wrap in [None, Some(2), Some(76)] {
        let mut writer = Writer::new(Vec::new()).with_wrap(wrap);
        writer.record(&record).unwrap();
        let text = writer.finish().unwrap();
        let again = Reader::new(&text[..]).next_record().unwrap().unwrap();
        assert_eq!(without_lines(again), record, "{}", String::from_utf8_lossy(&text));
    }
}

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
