//! Bytes as text for people.

use std::fmt::Write;

/// Bytes as text; what is no text or would not be seen is escaped.
pub fn display_text(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() {
                let mut room = [0; 4];
                c.encode_utf8(&mut room).bytes().for_each(|byte| escape(byte, &mut out));
            } else {
                out.push(c);
            }
        }
        chunk.invalid().iter().for_each(|byte| escape(*byte, &mut out));
    }
    out
}

fn escape(byte: u8, out: &mut String) {
    let _ = write!(out, "\\{byte:02x}");
}
