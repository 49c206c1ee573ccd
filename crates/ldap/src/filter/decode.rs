//! A filter from its BER form, in one pass and without recursion.

use ber::{Reader, SEQUENCE};
use smallvec::SmallVec;

use super::{Assertion, ExtensibleMatch, FILTER_DEPTH_MAX, FILTER_NODES_MAX, Filter, FilterNode, Substrings, tags};
use crate::DecodeError;

/// An AND, OR or NOT whose children are being read.
struct Open<'a> {
    index: usize,
    children: Reader<'a>,
}

impl<'a> Filter<'a> {
    /// Takes one filter off `reader`.
    pub fn decode(reader: &mut Reader<'a>) -> Result<Filter<'a>, DecodeError> {
        let mut nodes = SmallVec::new();
        let mut open: SmallVec<[Open<'a>; 4]> = SmallVec::new();
        decode_node(reader, &mut nodes, &mut open)?;
        while let Some(top) = open.last_mut() {
            if top.children.is_empty() {
                let index = top.index;
                open.pop();
                close(&mut nodes, index)?;
                continue;
            }
            let mut children = top.children;
            let level = open.len() - 1;
            decode_node(&mut children, &mut nodes, &mut open)?;
            open[level].children = children;
        }
        Ok(Filter { nodes })
    }
}

/// Reads one node; a node with children is opened, its children are read later by the caller's loop.
fn decode_node<'a>(
    reader: &mut Reader<'a>,
    nodes: &mut SmallVec<[FilterNode<'a>; 4]>,
    open: &mut SmallVec<[Open<'a>; 4]>,
) -> Result<(), DecodeError> {
    if nodes.len() >= FILTER_NODES_MAX {
        return Err(DecodeError::FilterTooLong);
    }
    let index = nodes.len();
    let tag = reader.peek_tag().ok_or(DecodeError::Ber(ber::Error::Truncated { offset: reader.offset() }))?;
    let node = match tag {
        tags::AND | tags::OR | tags::NOT => {
            if open.len() >= FILTER_DEPTH_MAX {
                return Err(DecodeError::FilterTooDeep);
            }
            open.push(Open { index, children: reader.enter(tag)? });
            match tag {
                tags::AND => FilterNode::And { end: 0 },
                tags::OR => FilterNode::Or { end: 0 },
                _ => FilterNode::Not { end: 0 },
            }
        }
        tags::EQUALITY => FilterNode::Equality(assertion(reader, tag)?),
        tags::GREATER_OR_EQUAL => FilterNode::GreaterOrEqual(assertion(reader, tag)?),
        tags::LESS_OR_EQUAL => FilterNode::LessOrEqual(assertion(reader, tag)?),
        tags::APPROX => FilterNode::Approx(assertion(reader, tag)?),
        tags::PRESENT => FilterNode::Present(reader.expect(tag)?),
        tags::SUBSTRINGS => FilterNode::Substring(substrings(reader)?),
        tags::EXTENSIBLE => FilterNode::Extensible(extensible(reader)?),
        _ => return Err(DecodeError::UnknownFilter { tag }),
    };
    nodes.push(node);
    Ok(())
}

/// Fills in where a finished node ends; NOT must have had exactly one child.
fn close(nodes: &mut [FilterNode<'_>], index: usize) -> Result<(), DecodeError> {
    let past = nodes.len();
    let one_child = nodes.get(index + 1).is_some_and(|child| child.end(index + 1) == past);
    match &mut nodes[index] {
        FilterNode::Not { .. } if !one_child => return Err(DecodeError::BadNot),
        FilterNode::And { end } | FilterNode::Or { end } | FilterNode::Not { end } => *end = past,
        _ => {}
    }
    Ok(())
}

fn assertion<'a>(reader: &mut Reader<'a>, tag: ber::Tag) -> Result<Assertion<'a>, DecodeError> {
    let mut inner = reader.enter(tag)?;
    let found = Assertion { attribute: inner.octets()?, value: inner.octets()? };
    inner.finish()?;
    Ok(found)
}

fn substrings<'a>(reader: &mut Reader<'a>) -> Result<Substrings<'a>, DecodeError> {
    let mut inner = reader.enter(tags::SUBSTRINGS)?;
    let attribute = inner.octets()?;
    let encoded = inner.expect(SEQUENCE)?;
    inner.finish()?;
    // initial only first, final only last, at least one piece, none of them empty (RFC 4511: SIZE (1..MAX), RFC 4517
    // §3.3.30).
    let mut pieces = Reader::new(encoded);
    let mut first = true;
    while !pieces.is_empty() {
        let (tag, piece) = pieces.element()?;
        let in_place = match tag {
            tags::INITIAL => first,
            tags::ANY => true,
            tags::FINAL => pieces.is_empty(),
            _ => false,
        };
        if !in_place || piece.is_empty() {
            return Err(DecodeError::BadSubstrings);
        }
        first = false;
    }
    if first {
        return Err(DecodeError::BadSubstrings);
    }
    Ok(Substrings { attribute, encoded })
}

fn extensible<'a>(reader: &mut Reader<'a>) -> Result<ExtensibleMatch<'a>, DecodeError> {
    let mut inner = reader.enter(tags::EXTENSIBLE)?;
    let rule = inner.optional(tags::RULE)?;
    let attribute = inner.optional(tags::TYPE)?;
    let value = inner.expect(tags::VALUE)?;
    let dn_attributes = inner.peek_tag() == Some(tags::DN_ATTRIBUTES) && inner.boolean_tagged(tags::DN_ATTRIBUTES)?;
    inner.finish()?;
    if rule.is_none() && attribute.is_none() {
        return Err(DecodeError::BadExtensible);
    }
    Ok(ExtensibleMatch { rule, attribute, value, dn_attributes })
}
