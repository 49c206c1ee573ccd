//! Filters in their string form (RFC 4515), for logs and people.

use super::{Filter, FilterNode, Position};
use std::fmt::{self, Write};

impl fmt::Display for Filter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ends of the nodes that are open, innermost last; decoding bounds the depth.
        let mut open: smallvec::SmallVec<[usize; 8]> = smallvec::SmallVec::new();
        for (index, node) in self.nodes().iter().enumerate() {
            while open.last().is_some_and(|&end| end <= index) {
                open.pop();
                f.write_char(')')?;
            }
            match node {
                FilterNode::And { end } | FilterNode::Or { end } | FilterNode::Not { end } => {
                    f.write_str(match node {
                        FilterNode::And { .. } => "(&",
                        FilterNode::Or { .. } => "(|",
                        _ => "(!",
                    })?;
                    open.push(*end);
                }
                leaf => write_leaf(f, leaf)?,
            }
        }
        open.iter().try_for_each(|_| f.write_char(')'))
    }
}

fn write_leaf(f: &mut fmt::Formatter<'_>, node: &FilterNode<'_>) -> fmt::Result {
    f.write_char('(')?;
    match node {
        FilterNode::Equality(a) => write_assertion(f, a.attribute, "=", a.value)?,
        FilterNode::GreaterOrEqual(a) => write_assertion(f, a.attribute, ">=", a.value)?,
        FilterNode::LessOrEqual(a) => write_assertion(f, a.attribute, "<=", a.value)?,
        FilterNode::Approx(a) => write_assertion(f, a.attribute, "~=", a.value)?,
        FilterNode::Present(attribute) => write_assertion(f, attribute, "=*", b"")?,
        FilterNode::Substring(s) => {
            write_assertion(f, s.attribute, "=", b"")?;
            let mut star_written = false;
            for (position, piece) in s.pieces() {
                if position != Position::Initial && !star_written {
                    f.write_char('*')?;
                }
                write_value(f, piece)?;
                star_written = position != Position::Final;
                if star_written {
                    f.write_char('*')?;
                }
            }
        }
        FilterNode::Extensible(e) => {
            write_value(f, e.attribute.unwrap_or_default())?;
            if e.dn_attributes {
                f.write_str(":dn")?;
            }
            if let Some(rule) = e.rule {
                write_assertion(f, b"", ":", rule)?;
            }
            write_assertion(f, b"", ":=", e.value)?;
        }
        FilterNode::And { .. } | FilterNode::Or { .. } | FilterNode::Not { .. } => {}
    }
    f.write_char(')')
}

fn write_assertion(f: &mut fmt::Formatter<'_>, attribute: &[u8], operator: &str, value: &[u8]) -> fmt::Result {
    write_value(f, attribute)?;
    f.write_str(operator)?;
    write_value(f, value)
}

/// Escapes what RFC 4515 §3 says, control characters, and bytes that are no UTF-8, so that one filter stays one line.
fn write_value(f: &mut fmt::Formatter<'_>, value: &[u8]) -> fmt::Result {
    for chunk in value.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '*' | '(' | ')' | '\\' => write!(f, "\\{:02x}", c as u32)?,
                c if (c as u32) < 0x20 || c == '\u{7f}' => write!(f, "\\{:02x}", c as u32)?,
                c => f.write_char(c)?,
            }
        }
        for byte in chunk.invalid() {
            write!(f, "\\{byte:02x}")?;
        }
    }
    Ok(())
}
