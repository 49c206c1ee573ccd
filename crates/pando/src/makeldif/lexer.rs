//! The value part of a template line: text, `{attribute}` references, `<tags>`, escapes; and `[constants]` before all
//! that.

use std::collections::HashMap;

use super::error::Fault;
use super::resource::Resources;
use super::tag::Tag;

/// A piece of a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Text(String),
    /// A value of an attribute, or its first characters.
    Reference {
        attribute: String,
        length: Option<usize>,
    },
    Tag(Tag),
}

/// Replaces `[name]` by the constant of that name. What is no constant stays as it is and is reported in `unknown`.
pub(super) fn substitute(line: &str, constants: &HashMap<String, String>, unknown: &mut Vec<String>) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(['\\', '[']) {
        let (before, found) = rest.split_at(at);
        out.push_str(before);
        if let Some(after) = found.strip_prefix('\\') {
            // An escaped bracket is text; other escapes are for the next pass.
            let escaped: String = after.chars().take(1).collect();
            if !matches!(escaped.as_str(), "[" | "]") {
                out.push('\\');
            }
            out.push_str(&escaped);
            rest = after.get(escaped.len()..).unwrap_or("");
            continue;
        }
        match found.get(1..).and_then(|inner| inner.split_once(']')) {
            Some((name, after)) => {
                match constants.get(&name.to_lowercase()) {
                    Some(value) => out.push_str(value),
                    None => {
                        unknown.push(name.to_owned());
                        out.push('[');
                        out.push_str(name);
                        out.push(']');
                    }
                }
                rest = after;
            }
            None => {
                out.push_str(found);
                rest = "";
            }
        }
    }
    out.push_str(rest);
    out
}

/// Splits a value into its parts.
pub(super) fn parts(value: &str, resources: &Resources, states: &mut usize) -> Result<Vec<Part>, Fault> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        let part = match c {
            '\\' => {
                text.extend(chars.next());
                continue;
            }
            '{' => reference(&until(&mut chars, '{', '}')?)?,
            '<' => Part::Tag(Tag::parse(&until(&mut chars, '<', '>')?, resources, states)?),
            c => {
                text.push(c);
                continue;
            }
        };
        if !text.is_empty() {
            parts.push(Part::Text(std::mem::take(&mut text)));
        }
        parts.push(part);
    }
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
    Ok(parts)
}

/// The characters up to the closing one, escapes resolved.
fn until(chars: &mut std::str::Chars<'_>, open: char, close: char) -> Result<String, Fault> {
    let mut inner = String::new();
    loop {
        match chars.next() {
            Some('\\') => inner.extend(chars.next()),
            Some(c) if c == close => return Ok(inner),
            Some(c) => inner.push(c),
            None => return Err(Fault::Unclosed(open)),
        }
    }
}

fn reference(inner: &str) -> Result<Part, Fault> {
    let wrong = || Fault::Reference(inner.to_owned());
    let (attribute, length) = match inner.split_once(':') {
        Some((attribute, length)) => (attribute, Some(length.trim().parse().map_err(|_| wrong())?)),
        None => (inner, None),
    };
    let attribute = attribute.trim().to_lowercase();
    if attribute.is_empty() { Err(wrong()) } else { Ok(Part::Reference { attribute, length }) }
}
