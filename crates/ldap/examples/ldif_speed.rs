//! Measures how fast an LDIF file is parsed: `cargo run --release -p ldap --example ldif_speed -- FILE`.

use std::time::Instant;

use ldap::ldif::{LdifEntry, Reader, UrlValues};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let bytes = std::fs::read(&path)?;
    let report = |what: &str, begun: Instant, entries: usize, values: usize| {
        let rate = bytes.len() as f64 / begun.elapsed().as_secs_f64() / 1e6;
        println!("{what}: {rate:.0} MB/s, {entries} entries, {values} bytes of values");
    };
    for _ in 0..3 {
        let (mut entry, mut entries, mut values) = (LdifEntry::default(), 0, 0);
        let begun = Instant::now();
        let mut reader = Reader::new(&bytes[..]);
        while reader.next_into(&mut entry)? {
            entries += 1;
            values += entry.iter().map(|line| line.value.len()).sum::<usize>();
        }
        report("stream", begun, entries, values);

        // As importers do that cut the file themselves.
        let (mut entries, mut values) = (0, 0);
        let begun = Instant::now();
        let mut start = 0;
        for end in memchr::memmem::find_iter(&bytes, b"\n\n").chain([bytes.len()]) {
            let raw = bytes.get(start..end).unwrap_or_default();
            if entry.parse(raw, 1, UrlValues::Refuse)? {
                entries += 1;
                values += entry.iter().map(|line| line.value.len()).sum::<usize>();
            }
            start = end;
        }
        report("slices", begun, entries, values);
    }
    Ok(())
}
