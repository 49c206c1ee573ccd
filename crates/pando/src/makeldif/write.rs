//! Entries as LDIF (RFC 2849).

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::generate::Entry;
use super::value_form::ValueForm;

/// Writes entries, lines folded at a column.
pub struct LdifWriter<W> {
    out: W,
    wrap_column: usize,
    line: String,
}

impl<W: Write> LdifWriter<W> {
    /// A writer that folds lines longer than `wrap_column` characters; 0 folds none.
    pub fn new(out: W, wrap_column: usize) -> Self {
        Self { out, wrap_column, line: String::new() }
    }

    /// Writes an entry and the empty line behind it: the object classes first, then the other values in their order.
    pub fn entry(&mut self, entry: &Entry) -> io::Result<()> {
        self.value("dn", ValueForm::Plain, &entry.dn)?;
        let is_class = |attribute: &str| attribute.eq_ignore_ascii_case("objectClass");
        for (attribute, form, value) in entry.values.iter().filter(|(attribute, ..)| is_class(attribute)) {
            self.value(attribute, *form, value)?;
        }
        for (attribute, form, value) in entry.values.iter().filter(|(attribute, ..)| !is_class(attribute)) {
            self.value(attribute, *form, value)?;
        }
        self.out.write_all(b"\n")
    }

    /// Ends the file.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn value(&mut self, attribute: &str, form: ValueForm, value: &str) -> io::Result<()> {
        self.line.clear();
        self.line.push_str(attribute);
        match form {
            ValueForm::Plain if is_safe(value) => {
                self.line.push_str(if value.is_empty() { ":" } else { ": " });
                self.line.push_str(value);
            }
            ValueForm::Plain => {
                self.line.push_str(":: ");
                STANDARD.encode_string(value, &mut self.line);
            }
            ValueForm::Base64 | ValueForm::Url => {
                self.line.push_str(if form == ValueForm::Url { ":< " } else { ":: " });
                self.line.push_str(value);
            }
        }
        self.fold()
    }

    fn fold(&mut self) -> io::Result<()> {
        let mut rest = self.line.as_bytes();
        let mut width = if self.wrap_column < 2 { rest.len().max(1) } else { self.wrap_column };
        while rest.len() > width {
            let (head, tail) = rest.split_at(width);
            self.out.write_all(head)?;
            self.out.write_all(b"\n ")?;
            rest = tail;
            width = self.wrap_column - 1;
        }
        self.out.write_all(rest)?;
        self.out.write_all(b"\n")
    }
}

/// Whether a value may stand as it is: SAFE-STRING, and no blank at its end.
fn is_safe(value: &str) -> bool {
    !value.starts_with([' ', ':', '<'])
        && !value.ends_with(' ')
        && value.bytes().all(|b| (1..0x80).contains(&b) && b != b'\n' && b != b'\r')
}
