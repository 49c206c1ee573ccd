//! The values of the controls that this project speaks. Each `decode` takes the control value as it was sent (`None`
//! where there was none) and refuses what the control's specification does not allow.

use ber::{ENUMERATED, INTEGER, OCTET_STRING, Reader, SEQUENCE, SET, Tag, Writer};

use crate::filter::Filter;
use crate::message::Strings;
use crate::{DecodeError, ResultCode};

fn required(value: Option<&[u8]>) -> Result<Reader<'_>, DecodeError> {
    value.map(Reader::new).ok_or(DecodeError::Empty("the value of the control"))
}

fn encoded(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut Writer::new(&mut out));
    out
}

/// Simple paged results, request and response (RFC 2696).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PagedResults<'a> {
    /// Request: page size wanted; response: estimate of the result's size, 0 when unknown.
    pub size: u32,
    /// Opaque; empty on the first request and on the last response.
    pub cookie: &'a [u8],
}

impl<'a> PagedResults<'a> {
    /// From a control value.
    pub fn decode(value: Option<&'a [u8]>) -> Result<Self, DecodeError> {
        let mut outer = required(value)?;
        let mut inner = outer.sequence()?;
        let size = inner.integer()?;
        let cookie = inner.octets()?;
        inner.finish()?;
        outer.finish()?;
        let size = u32::try_from(size).ok().filter(|&s| s <= i32::MAX as u32);
        Ok(Self { size: size.ok_or(DecodeError::BadEnumerated { field: "page size", value: -1 })?, cookie })
    }

    /// To a control value.
    pub fn encode(&self) -> Vec<u8> {
        encoded(|w| {
            let mark = w.begin(SEQUENCE);
            w.integer(INTEGER, i64::from(self.size));
            w.octets(OCTET_STRING, self.cookie);
            w.end(mark);
        })
    }
}

/// One key of a server-side sort request (RFC 2891).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortKey<'a> {
    /// Attribute description.
    pub attribute: &'a [u8],
    /// Ordering rule; the attribute's own without it.
    pub ordering_rule: Option<&'a [u8]>,
    /// Largest first.
    pub reverse: bool,
}

/// Most keys of a sort request.
pub const SORT_KEYS_MAX: usize = 16;

/// The keys of a server-side sort request.
pub fn decode_sort_keys<'a>(value: Option<&'a [u8]>) -> Result<Vec<SortKey<'a>>, DecodeError> {
    const ORDERING_RULE: Tag = 0x80;
    const REVERSE: Tag = 0x81;
    let mut outer = required(value)?;
    let mut list = outer.sequence()?;
    outer.finish()?;
    let mut keys = Vec::new();
    while !list.is_empty() {
        let mut inner = list.sequence()?;
        let attribute = inner.octets()?;
        let ordering_rule = inner.optional(ORDERING_RULE)?;
        let reverse = inner.peek_tag() == Some(REVERSE) && inner.boolean_tagged(REVERSE)?;
        inner.finish()?;
        if keys.len() == SORT_KEYS_MAX {
            return Err(DecodeError::TooMany { what: "sort keys", most: SORT_KEYS_MAX });
        }
        keys.push(SortKey { attribute, ordering_rule, reverse });
    }
    if keys.is_empty() { Err(DecodeError::Empty("the list of sort keys")) } else { Ok(keys) }
}

/// The value of a sort response.
pub fn encode_sort_response(code: ResultCode, attribute: Option<&str>) -> Vec<u8> {
    const ATTRIBUTE: Tag = 0x80;
    encoded(|w| {
        let mark = w.begin(SEQUENCE);
        w.integer(ENUMERATED, i64::from(code.as_i32()));
        if let Some(attribute) = attribute {
            w.octets(ATTRIBUTE, attribute.as_bytes());
        }
        w.end(mark);
    })
}

/// One attribute whose values a dereference request follows (draft-masarati-ldap-deref).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DereferenceSpec<'a> {
    /// The attribute that names entries.
    pub attribute: &'a [u8],
    /// What is asked of the entries that it names.
    pub wanted: Strings<'a>,
}

/// Most attributes that one dereference request follows.
pub const DEREFERENCE_SPECS_MAX: usize = 16;

/// The attributes that a dereference request follows.
pub fn decode_dereference<'a>(value: Option<&'a [u8]>) -> Result<Vec<DereferenceSpec<'a>>, DecodeError> {
    let mut outer = required(value)?;
    let mut list = outer.sequence()?;
    outer.finish()?;
    let mut specs = Vec::new();
    while !list.is_empty() {
        let mut inner = list.sequence()?;
        let attribute = inner.octets()?;
        let wanted = Strings::check(inner.expect(SEQUENCE)?)?;
        inner.finish()?;
        if wanted.is_empty() {
            return Err(DecodeError::Empty("the list of attributes to return"));
        }
        if specs.len() == DEREFERENCE_SPECS_MAX {
            return Err(DecodeError::TooMany { what: "attributes to dereference", most: DEREFERENCE_SPECS_MAX });
        }
        specs.push(DereferenceSpec { attribute, wanted });
    }
    Ok(specs)
}

/// One value of a dereferenced attribute in a response: the attribute, the value, and what is shown of the entry that
/// it names.
pub type DereferencedValue<'a> = (&'a [u8], &'a [u8], &'a [NamedValues]);

/// The name of an attribute, and its values.
pub type NamedValues = (Vec<u8>, Vec<Vec<u8>>);

/// The value of a dereference response.
pub fn encode_dereferenced<'a>(all: impl Iterator<Item = DereferencedValue<'a>>) -> Vec<u8> {
    const ATTRIBUTES: Tag = 0xa0;
    encoded(|w| {
        let list = w.begin(SEQUENCE);
        for (attribute, value, shown) in all {
            let one = w.begin(SEQUENCE);
            w.octets(OCTET_STRING, attribute);
            w.octets(OCTET_STRING, value);
            if !shown.is_empty() {
                let attributes = w.begin(ATTRIBUTES);
                for (description, values) in shown {
                    let partial = w.begin(SEQUENCE);
                    w.octets(OCTET_STRING, description);
                    let set = w.begin(SET);
                    values.iter().for_each(|value| w.octets(OCTET_STRING, value));
                    w.end(set);
                    w.end(partial);
                }
                w.end(attributes);
            }
            w.end(one);
        }
        w.end(list);
    })
}

/// The filter of an assertion control (RFC 4528).
pub fn decode_assertion<'a>(value: Option<&'a [u8]>) -> Result<Filter<'a>, DecodeError> {
    let mut reader = required(value)?;
    let filter = Filter::decode(&mut reader)?;
    reader.finish()?;
    Ok(filter)
}

/// The attributes of a pre-read or post-read request (RFC 4527).
pub fn decode_read_entry<'a>(value: Option<&'a [u8]>) -> Result<Strings<'a>, DecodeError> {
    let mut reader = required(value)?;
    let attributes = Strings::check(reader.expect(SEQUENCE)?)?;
    reader.finish()?;
    Ok(attributes)
}

/// A matched values request (RFC 3876): filter items of which a value must match one.
pub fn decode_matched_values<'a>(value: Option<&'a [u8]>) -> Result<Vec<Filter<'a>>, DecodeError> {
    let mut outer = required(value)?;
    let mut list = outer.sequence()?;
    outer.finish()?;
    let mut filters = Vec::new();
    while !list.is_empty() {
        let filter = Filter::decode(&mut list)?;
        if filter.nodes().len() != 1
            || matches!(filter.nodes(), [crate::filter::FilterNode::And { .. } | crate::filter::FilterNode::Or { .. }])
        {
            return Err(DecodeError::BadNot);
        }
        if filters.len() >= crate::filter::FILTER_NODES_MAX {
            return Err(DecodeError::FilterTooLong);
        }
        filters.push(filter);
    }
    if filters.is_empty() { Err(DecodeError::Empty("the list of value filters")) } else { Ok(filters) }
}

/// Whether subentries alone are asked for (RFC 3672 §3).
pub fn decode_subentries(value: Option<&[u8]>) -> Result<bool, DecodeError> {
    let mut reader = required(value)?;
    let visible = reader.boolean()?;
    reader.finish()?;
    Ok(visible)
}

/// A persistent search (draft-ietf-ldapext-psearch).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PersistentSearch {
    /// add 1, delete 2, modify 4, modify DN 8.
    pub change_types: u8,
    /// Without the entries that match already.
    pub changes_only: bool,
    /// With an entry change notification control on each entry.
    pub return_controls: bool,
}

impl PersistentSearch {
    /// From a control value.
    pub fn decode(value: Option<&[u8]>) -> Result<Self, DecodeError> {
        let mut outer = required(value)?;
        let mut inner = outer.sequence()?;
        let types = inner.integer()?;
        let found =
            Self { change_types: types as u8 & 15, changes_only: inner.boolean()?, return_controls: inner.boolean()? };
        inner.finish()?;
        outer.finish()?;
        if !(1..=15).contains(&types) {
            return Err(DecodeError::BadEnumerated { field: "set of change types", value: types });
        }
        Ok(found)
    }
}

/// The value of an entry change notification: change type, name before a modify DN, change number.
pub fn encode_entry_change(change_type: u8, previous_dn: Option<&str>, change_number: Option<i64>) -> Vec<u8> {
    encoded(|w| {
        let mark = w.begin(SEQUENCE);
        w.integer(ENUMERATED, i64::from(change_type));
        if let Some(dn) = previous_dn {
            w.octets(OCTET_STRING, dn.as_bytes());
        }
        if let Some(number) = change_number {
            w.integer(INTEGER, number);
        }
        w.end(mark);
    })
}

/// Which part of a sorted list is asked for (draft-ietf-ldapext-ldapv3-vlv).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VlvTarget<'a> {
    /// The entry at `offset` (from 1) of a list that the client believes to have `content_count` entries.
    Offset {
        /// Position from 1.
        offset: u32,
        /// Size of the list as the client knows it; 0 when it does not.
        content_count: u32,
    },
    /// The first entry whose first sort key is at least this.
    Assertion(&'a [u8]),
}

/// A virtual list view request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VlvRequest<'a> {
    /// Entries before the target.
    pub before: u32,
    /// Entries after it.
    pub after: u32,
    /// The target.
    pub target: VlvTarget<'a>,
    /// What the last response gave.
    pub context: Option<&'a [u8]>,
}

impl<'a> VlvRequest<'a> {
    /// From a control value.
    pub fn decode(value: Option<&'a [u8]>) -> Result<Self, DecodeError> {
        const BY_OFFSET: Tag = 0xa0;
        const BY_ASSERTION: Tag = 0x81;
        let count = |value: i64| u32::try_from(value).map_err(|_| DecodeError::BadEnumerated { field: "count", value });
        let mut outer = required(value)?;
        let mut inner = outer.sequence()?;
        let (before, after) = (count(inner.integer()?)?, count(inner.integer()?)?);
        let target = match inner.optional(BY_ASSERTION)? {
            Some(assertion) => VlvTarget::Assertion(assertion),
            None => {
                let mut by_offset = inner.enter(BY_OFFSET)?;
                let target = VlvTarget::Offset {
                    offset: count(by_offset.integer()?)?,
                    content_count: count(by_offset.integer()?)?,
                };
                by_offset.finish()?;
                target
            }
        };
        let context = inner.optional(OCTET_STRING)?;
        inner.finish()?;
        outer.finish()?;
        Ok(Self { before, after, target, context })
    }
}

/// The value of a virtual list view response.
pub fn encode_vlv_response(position: u32, content_count: u32, code: ResultCode, context: Option<&[u8]>) -> Vec<u8> {
    encoded(|w| {
        let mark = w.begin(SEQUENCE);
        w.integer(INTEGER, i64::from(position));
        w.integer(INTEGER, i64::from(content_count));
        w.integer(ENUMERATED, i64::from(code.as_i32()));
        if let Some(context) = context {
            w.octets(OCTET_STRING, context);
        }
        w.end(mark);
    })
}
