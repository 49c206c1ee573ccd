//! What of an entry the pre-read and post-read controls of a response show: what the asker may read.
//!
//! Knows how such an entry is encoded; not who asks.

use ber::{OCTET_STRING, Reader, SEQUENCE, Writer};
use schema::{Schema, TypeIndex};

/// An entry as a response control holds it, with the attributes of some types only; none when it is not one.
pub(crate) fn shown_of(schema: &Schema, entry: &[u8], types: &[TypeIndex]) -> Option<Vec<u8>> {
    let (tag, content) = Reader::new(entry).element().ok()?;
    let mut content = Reader::new(content);
    let dn = content.octets().ok()?;
    let mut attributes = content.sequence().ok()?;
    let mut out = Vec::with_capacity(entry.len());
    let mut writer = Writer::new(&mut out);
    let whole = writer.begin(tag);
    writer.octets(OCTET_STRING, dn);
    let list = writer.begin(SEQUENCE);
    while !attributes.is_empty() {
        let (_, attribute) = attributes.raw_element().ok().map(|raw| (raw.0, raw.1))?;
        let (_, inner) = Reader::new(attribute).element().ok()?;
        let description = Reader::new(inner).octets().ok()?;
        let index = schema.type_of_description(description).map(|known| known.index);
        if index.is_some_and(|index| types.contains(&index)) {
            writer.raw(attribute);
        }
    }
    writer.end(list);
    writer.end(whole);
    Some(out)
}

/// The name of an entry as a response control holds it.
pub(crate) fn name_of(entry: &[u8]) -> Option<&[u8]> {
    let (_, content) = Reader::new(entry).element().ok()?;
    Reader::new(content).octets().ok()
}
