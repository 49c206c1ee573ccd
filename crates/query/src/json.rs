//! JSON as the server writes it into attribute values: one line, keys in the order in which they are given.
//!
//! Reads none, and knows no value but objects, lists, strings, numbers and truth.

use std::fmt::Write;

/// Appends one JSON text to a string.
#[derive(Debug, Default)]
pub struct JsonWriter {
    out: String,
    /// Something stands before the next member or element.
    needs_comma: bool,
}

impl JsonWriter {
    /// The text of one object.
    pub fn object_text(write: impl FnOnce(&mut JsonWriter)) -> String {
        let mut json = JsonWriter::default();
        json.object(write);
        json.out
    }

    /// An object, whose members `write` gives.
    pub fn object(&mut self, write: impl FnOnce(&mut JsonWriter)) {
        self.enclosed('{', '}', write);
    }

    /// A list, whose elements `write` gives.
    pub fn list(&mut self, write: impl FnOnce(&mut JsonWriter)) {
        self.enclosed('[', ']', write);
    }

    /// The name of the next member; its value is what is written next.
    pub fn key(&mut self, name: &str) -> &mut JsonWriter {
        self.text(name);
        self.out.push(':');
        self.needs_comma = false;
        self
    }

    /// A string.
    pub fn text(&mut self, text: &str) {
        self.separate();
        self.out.push('"');
        for char in text.chars() {
            match char {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                char if char < ' ' => {
                    // Writing to a string cannot fail.
                    let _ = write!(self.out, "\\u{:04x}", u32::from(char));
                }
                char => self.out.push(char),
            }
        }
        self.out.push('"');
    }

    /// A number.
    pub fn number(&mut self, number: u64) {
        self.separate();
        let _ = write!(self.out, "{number}");
    }

    /// True or false.
    pub fn truth(&mut self, is: bool) {
        self.separate();
        self.out.push_str(if is { "true" } else { "false" });
    }

    fn enclosed(&mut self, open: char, close: char, write: impl FnOnce(&mut JsonWriter)) {
        self.separate();
        self.out.push(open);
        self.needs_comma = false;
        write(self);
        self.out.push(close);
        self.needs_comma = true;
    }

    fn separate(&mut self) {
        if self.needs_comma {
            self.out.push(',');
        }
        self.needs_comma = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_strings_are_escaped() {
        let text = JsonWriter::object_text(|json| {
            json.key("z").text("a\"\\\n\u{e9}");
            json.key("a").list(|json| {
                json.number(1);
                json.object(|_| {});
                json.list(|json| json.truth(true));
            });
            json.key("m").object(|json| json.key("x").number(u64::MAX));
        });
        let expected =
            r#"{"z":"a\"\\\u000a"#.to_owned() + "\u{e9}" + r#"","a":[1,{},[true]],"m":{"x":18446744073709551615}}"#;
        assert_eq!(text, expected);
    }
}
