//! Filters in their string form (RFC 4515), for logs and people.

use std::fmt::{self, Write};

use super::{Filter, FilterNode, Position};

impl fmt::Display for Filter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_nodes(f, self.nodes(), 0)
    }
}

/// One component of a filter; see [`Filter::component`].
struct Component<'f, 'a> {
    nodes: &'f [FilterNode<'a>],
    first: usize,
}

impl fmt::Display for Component<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_nodes(f, self.nodes, self.first)
    }
}

impl Filter<'_> {
    /// The component at position `at` of [`Filter::nodes`], in its string form; empty when there is none.
    pub fn component(&self, at: usize) -> impl fmt::Display {
        let end = self.nodes().get(at).map_or(at, |node| node.end(at));
        Component { nodes: self.nodes().get(at..end).unwrap_or_default(), first: at }
    }

    /// The string form with `?` for every value: what searches by one program have in common. Neighbours that look the
    /// same then are written once, so that a list of names in one OR is one shape, however long; at most `bytes_max`
    /// bytes, then `…`.
    pub fn shape(&self, bytes_max: usize) -> String {
        let mut out = String::new();
        // Ends of the nodes that are open, and where the leaf before in each was written.
        let mut open: Vec<(usize, Option<(usize, usize)>)> = vec![(self.nodes().len(), None)];
        for (index, node) in self.nodes().iter().enumerate() {
            while open.len() > 1 && open.last().is_some_and(|(end, _)| *end <= index) {
                open.pop();
                out.push(')');
            }
            if out.len() > bytes_max {
                truncate(&mut out, bytes_max);
                out.push('…');
                return out;
            }
            let start = out.len();
            if let FilterNode::And { end } | FilterNode::Or { end } | FilterNode::Not { end } = node {
                out.push_str(opening(node));
                if let Some((_, before)) = open.last_mut() {
                    *before = None;
                }
                open.push((*end, None));
                continue;
            }
            // Writing to a string cannot fail.
            let _ = write!(out, "{}", Shape(node));
            let Some((_, before)) = open.last_mut() else { continue };
            match *before {
                Some((from, to)) if out.get(from..to) == out.get(start..) => out.truncate(start),
                _ => *before = Some((start, out.len())),
            }
        }
        (1..open.len()).for_each(|_| out.push(')'));
        out
    }
}

struct Shape<'n, 'a>(&'n FilterNode<'a>);

impl fmt::Display for Shape<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_leaf(f, self.0, |f, _| f.write_char('?'))
    }
}

/// Cuts `text` to at most `bytes` bytes, between two characters.
fn truncate(text: &mut String, bytes: usize) {
    let end = (0..=bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.truncate(end.unwrap_or_default());
}

/// Writes nodes whose ends count from `first` places before them.
fn write_nodes(f: &mut fmt::Formatter<'_>, nodes: &[FilterNode<'_>], first: usize) -> fmt::Result {
    // Ends of the nodes that are open, innermost last; decoding bounds the depth.
    let mut open: smallvec::SmallVec<[usize; 8]> = smallvec::SmallVec::new();
    for (index, node) in nodes.iter().enumerate() {
        while open.last().is_some_and(|&end| end <= first + index) {
            open.pop();
            f.write_char(')')?;
        }
        match node {
            FilterNode::And { end } | FilterNode::Or { end } | FilterNode::Not { end } => {
                f.write_str(opening(node))?;
                open.push(*end);
            }
            leaf => write_leaf(f, leaf, |f, value| write_escaped(f, value))?,
        }
    }
    open.iter().try_for_each(|_| f.write_char(')'))
}

fn opening(node: &FilterNode<'_>) -> &'static str {
    match node {
        FilterNode::And { .. } => "(&",
        FilterNode::Or { .. } => "(|",
        _ => "(!",
    }
}

/// How an assertion value is written.
type WriteValue = fn(&mut fmt::Formatter<'_>, &[u8]) -> fmt::Result;

fn write_leaf(f: &mut fmt::Formatter<'_>, node: &FilterNode<'_>, value: WriteValue) -> fmt::Result {
    f.write_char('(')?;
    let mut assertion = |attribute: &[u8], operator: &str, asserted: &[u8]| {
        write_escaped(f, attribute)?;
        f.write_str(operator)?;
        value(f, asserted)
    };
    match node {
        FilterNode::Equality(a) => assertion(a.attribute, "=", a.value)?,
        FilterNode::GreaterOrEqual(a) => assertion(a.attribute, ">=", a.value)?,
        FilterNode::LessOrEqual(a) => assertion(a.attribute, "<=", a.value)?,
        FilterNode::Approx(a) => assertion(a.attribute, "~=", a.value)?,
        FilterNode::Present(attribute) => {
            write_escaped(f, attribute)?;
            f.write_str("=*")?;
        }
        FilterNode::Substring(s) => {
            write_escaped(f, s.attribute)?;
            f.write_char('=')?;
            let mut star_written = false;
            for (position, piece) in s.pieces() {
                if position != Position::Initial && !star_written {
                    f.write_char('*')?;
                }
                value(f, piece)?;
                star_written = position != Position::Final;
                if star_written {
                    f.write_char('*')?;
                }
            }
        }
        FilterNode::Extensible(e) => {
            write_escaped(f, e.attribute.unwrap_or_default())?;
            if e.dn_attributes {
                f.write_str(":dn")?;
            }
            if let Some(rule) = e.rule {
                f.write_char(':')?;
                write_escaped(f, rule)?;
            }
            f.write_str(":=")?;
            value(f, e.value)?;
        }
        FilterNode::And { .. } | FilterNode::Or { .. } | FilterNode::Not { .. } => {}
    }
    f.write_char(')')
}

/// Escapes what RFC 4515 §3 says, control characters, and bytes that are no UTF-8, so that one filter stays one line.
pub fn write_escaped(out: &mut impl Write, value: &[u8]) -> fmt::Result {
    for chunk in value.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '*' | '(' | ')' | '\\' => write!(out, "\\{:02x}", c as u32)?,
                c if (c as u32) < 0x20 || c == '\u{7f}' => write!(out, "\\{:02x}", c as u32)?,
                c => out.write_char(c)?,
            }
        }
        for byte in chunk.invalid() {
            write!(out, "\\{byte:02x}")?;
        }
    }
    Ok(())
}
