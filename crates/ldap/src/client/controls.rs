//! Values of request controls written, and of response controls read: the other half of [`crate::controls`].

use ber::{BOOLEAN, ENUMERATED, INTEGER, OCTET_STRING, Reader, SEQUENCE, Tag, Writer};

use super::SearchEntry;
use crate::controls::{ControlBuf, PersistentSearch, SortKey, VlvRequest, VlvTarget};
use crate::oids::control as oids;
use crate::{DecodeError, FilterBuf, ResultCode};

/// A server-side sort request (RFC 2891).
#[must_use]
pub fn sort_request(keys: &[SortKey<'_>]) -> ControlBuf {
    const ORDERING_RULE: Tag = 0x80;
    const REVERSE: Tag = 0x81;
    valued(oids::SORT_REQUEST, |w| {
        let list = w.begin(SEQUENCE);
        for key in keys {
            let mark = w.begin(SEQUENCE);
            w.octets(OCTET_STRING, key.attribute);
            if let Some(rule) = key.ordering_rule {
                w.octets(ORDERING_RULE, rule);
            }
            if key.reverse {
                w.boolean(REVERSE, true);
            }
            w.end(mark);
        }
        w.end(list);
    })
}

/// What became of a sort: how it ended, and the attribute that it failed on.
pub fn decode_sort_response(value: Option<&[u8]>) -> Result<(ResultCode, Option<&[u8]>), DecodeError> {
    const ATTRIBUTE: Tag = 0x80;
    let mut inner = sequence(value)?;
    let code = code(&mut inner)?;
    let attribute = inner.optional(ATTRIBUTE)?;
    inner.finish_extensible(&[ATTRIBUTE])?;
    Ok((code, attribute))
}

/// A virtual list view request (draft-ietf-ldapext-ldapv3-vlv).
#[must_use]
pub fn vlv_request(request: &VlvRequest<'_>) -> ControlBuf {
    const BY_OFFSET: Tag = 0xa0;
    const BY_ASSERTION: Tag = 0x81;
    valued(oids::VLV_REQUEST, |w| {
        let mark = w.begin(SEQUENCE);
        w.integer(INTEGER, i64::from(request.before));
        w.integer(INTEGER, i64::from(request.after));
        match request.target {
            VlvTarget::Offset { offset, content_count } => {
                let target = w.begin(BY_OFFSET);
                w.integer(INTEGER, i64::from(offset));
                w.integer(INTEGER, i64::from(content_count));
                w.end(target);
            }
            VlvTarget::Assertion(value) => w.octets(BY_ASSERTION, value),
        }
        if let Some(context) = request.context {
            w.octets(OCTET_STRING, context);
        }
        w.end(mark);
    })
}

/// A virtual list view response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VlvResponse<'a> {
    /// Position of the target, from 1.
    pub position: u32,
    /// Size of the list.
    pub content_count: u32,
    /// How it ended.
    pub code: ResultCode,
    /// To send with the next request.
    pub context: Option<&'a [u8]>,
}

impl<'a> VlvResponse<'a> {
    /// From a control value.
    pub fn decode(value: Option<&'a [u8]>) -> Result<Self, DecodeError> {
        let count = |value: i64| u32::try_from(value).map_err(|_| DecodeError::BadEnumerated { field: "count", value });
        let mut inner = sequence(value)?;
        let (position, content_count) = (count(inner.integer()?)?, count(inner.integer()?)?);
        let code = code(&mut inner)?;
        let context = inner.optional(OCTET_STRING)?;
        inner.finish_extensible(&[])?;
        Ok(Self { position, content_count, code, context })
    }
}

/// An assertion (RFC 4528): the operation fails unless the entry matches.
#[must_use]
pub fn assertion(filter: &FilterBuf) -> ControlBuf {
    ControlBuf::new(oids::ASSERTION, Some(filter.as_ber().to_vec())).critical()
}

/// Values of which only those that match one of the filters are returned (RFC 3876). Filters of one item each.
#[must_use]
pub fn matched_values(filters: &[FilterBuf]) -> ControlBuf {
    valued(oids::MATCHED_VALUES, |w| {
        let list = w.begin(SEQUENCE);
        filters.iter().for_each(|filter| w.raw(filter.as_ber()));
        w.end(list);
    })
}

/// The entry as it is before the operation (RFC 4527).
#[must_use]
pub fn pre_read(attributes: &[&str]) -> ControlBuf {
    valued(oids::PRE_READ, |w| put_strings(w, attributes))
}

/// The entry as it is after the operation (RFC 4527).
#[must_use]
pub fn post_read(attributes: &[&str]) -> ControlBuf {
    valued(oids::POST_READ, |w| put_strings(w, attributes))
}

/// The entry of a pre-read or post-read response. Servers send its sequence with a universal tag, as the RFC says; the
/// tag of a search entry, which some send, is taken as well.
pub fn decode_read_entry(value: Option<&[u8]>) -> Result<SearchEntry<'_>, DecodeError> {
    let mut outer = Reader::new(value.ok_or(EMPTY)?);
    let tag = if outer.peek_tag() == Some(crate::encode::tags::SEARCH_ENTRY) {
        crate::encode::tags::SEARCH_ENTRY
    } else {
        SEQUENCE
    };
    let mut inner = outer.enter(tag)?;
    outer.finish()?;
    let entry = SearchEntry::decode(&mut inner)?;
    inner.finish_extensible(&[])?;
    Ok(entry)
}

/// What the entries are like that values of these attributes name (draft-masarati-ldap-deref).
#[must_use]
pub fn dereference(specs: &[(&str, &[&str])]) -> ControlBuf {
    valued(oids::DEREFERENCE, |w| {
        let list = w.begin(SEQUENCE);
        for (attribute, wanted) in specs {
            let one = w.begin(SEQUENCE);
            w.octets(OCTET_STRING, attribute.as_bytes());
            put_strings(w, wanted);
            w.end(one);
        }
        w.end(list);
    })
}

/// The rights that somebody has to the entries found, to attributes asked for and to these: an authorization identity.
#[must_use]
pub fn effective_rights(authorization_id: &str, attributes: &[&str]) -> ControlBuf {
    valued(oids::GET_EFFECTIVE_RIGHTS, |w| {
        let list = w.begin(SEQUENCE);
        w.octets(OCTET_STRING, authorization_id.as_bytes());
        put_strings(w, attributes);
        w.end(list);
    })
}

/// Only subentries, or none of them (RFC 3672).
#[must_use]
pub fn subentries(visible: bool) -> ControlBuf {
    valued(oids::SUBENTRIES, |w| w.boolean(BOOLEAN, visible))
}

/// A persistent search (draft-ietf-ldapext-psearch).
#[must_use]
pub fn persistent_search(search: PersistentSearch) -> ControlBuf {
    valued(oids::PERSISTENT_SEARCH, |w| {
        let mark = w.begin(SEQUENCE);
        w.integer(INTEGER, i64::from(search.change_types));
        w.boolean(BOOLEAN, search.changes_only);
        w.boolean(BOOLEAN, search.return_controls);
        w.end(mark);
    })
    .critical()
}

/// What an entry change notification tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryChange<'a> {
    /// add 1, delete 2, modify 4, modify DN 8.
    pub change_type: u8,
    /// The name before a modify DN.
    pub previous_dn: Option<&'a [u8]>,
    /// Number in the change log.
    pub change_number: Option<i64>,
}

impl<'a> EntryChange<'a> {
    /// From a control value.
    pub fn decode(value: Option<&'a [u8]>) -> Result<Self, DecodeError> {
        let mut inner = sequence(value)?;
        let change_type = match inner.enumerated()? {
            known @ (1 | 2 | 4 | 8) => known as u8,
            value => return Err(DecodeError::BadEnumerated { field: "change type", value }),
        };
        let previous_dn = inner.optional(OCTET_STRING)?;
        let change_number = if inner.peek_tag() == Some(INTEGER) { Some(inner.integer()?) } else { None };
        inner.finish_extensible(&[])?;
        Ok(Self { change_type, previous_dn, change_number })
    }
}

const EMPTY: DecodeError = DecodeError::Empty("the value of the control");

fn valued(oid: &str, write: impl FnOnce(&mut Writer<'_>)) -> ControlBuf {
    let mut value = Vec::new();
    write(&mut Writer::new(&mut value));
    ControlBuf::new(oid, Some(value))
}

fn put_strings(w: &mut Writer<'_>, strings: &[&str]) {
    let list = w.begin(SEQUENCE);
    strings.iter().for_each(|string| w.octets(OCTET_STRING, string.as_bytes()));
    w.end(list);
}

fn sequence(value: Option<&[u8]>) -> Result<Reader<'_>, DecodeError> {
    let mut outer = Reader::new(value.ok_or(EMPTY)?);
    let inner = outer.sequence()?;
    outer.finish()?;
    Ok(inner)
}

fn code(reader: &mut Reader<'_>) -> Result<ResultCode, DecodeError> {
    let value = reader.integer_tagged(ENUMERATED)?;
    let code = i32::try_from(value).map_err(|_| DecodeError::BadEnumerated { field: "result code", value })?;
    Ok(ResultCode::from_i32(code))
}

#[cfg(test)]
mod tests {
    //! Both halves of every control agree.

    use proptest::prelude::*;

    use super::*;
    use crate::controls as server;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(any::<u8>(), 0..20)
    }

    #[test]
    fn values_of_the_simple_ones() {
        let attributes = server::decode_read_entry(pre_read(&["cn", "+"]).value.as_deref()).map(|l| l.iter().count());
        assert_eq!(attributes, Ok(2));
        assert_eq!(post_read(&[]).oid, oids::POST_READ);
        assert_eq!(server::decode_subentries(subentries(true).value.as_deref()), Ok(true));
    }

    #[test]
    fn filters_in_controls() -> Result<(), Box<dyn std::error::Error>> {
        let filter = crate::filter::parse("(&(cn=a)(sn=b*))")?;
        let control = assertion(&filter);
        assert_eq!(server::decode_assertion(control.value.as_deref())?, filter.filter());
        let items = [crate::filter::parse("(cn=a)")?, crate::filter::parse("(sn=*)")?];
        let control = matched_values(&items);
        let found = server::decode_matched_values(control.value.as_deref())?;
        assert_eq!(found, [items[0].filter(), items[1].filter()]);
        Ok(())
    }

    #[test]
    fn entries_in_controls() -> Result<(), DecodeError> {
        for tag in [SEQUENCE, crate::encode::tags::SEARCH_ENTRY] {
            let mut value = Vec::new();
            let mut w = Writer::new(&mut value);
            let mark = w.begin(tag);
            crate::encode::put_entry(&mut w, b"dc=a", [(&b"dc"[..], [&b"a"[..]])]);
            w.end(mark);
            let entry = decode_read_entry(Some(&value))?;
            assert_eq!((entry.dn, entry.attributes.iter().count()), (&b"dc=a"[..], 1));
        }
        assert!(decode_read_entry(None).is_err());
        Ok(())
    }

    proptest! {
        #[test]
        fn sort(
            keys in prop::collection::vec((bytes(), prop::option::of(bytes()), any::<bool>()), 1..5),
            code: i32,
            attribute in prop::option::of("[a-z]{1,5}"),
        ) {
            let keys: Vec<_> = keys.iter()
                .map(|(a, r, reverse)| SortKey { attribute: a, ordering_rule: r.as_deref(), reverse: *reverse })
                .collect();
            let control = sort_request(&keys);
            prop_assert_eq!(server::decode_sort_keys(control.value.as_deref()).unwrap(), keys);
            let code = ResultCode::from_i32(code);
            let value = server::encode_sort_response(code, attribute.as_deref());
            prop_assert_eq!(decode_sort_response(Some(&value)), Ok((code, attribute.as_deref().map(str::as_bytes))));
        }

        #[test]
        fn virtual_list_view(
            before: u32,
            after: u32,
            offset: u32,
            content_count: u32,
            assertion in prop::option::of(bytes()),
            context in prop::option::of(bytes()),
        ) {
            let target = assertion.as_deref().map_or(VlvTarget::Offset { offset, content_count }, VlvTarget::Assertion);
            let request = VlvRequest { before, after, target, context: context.as_deref() };
            let control = vlv_request(&request);
            prop_assert_eq!(VlvRequest::decode(control.value.as_deref()), Ok(request));
            let value = server::encode_vlv_response(offset, content_count, ResultCode::SUCCESS, context.as_deref());
            let (code, context) = (ResultCode::SUCCESS, context.as_deref());
            let response = VlvResponse { position: offset, content_count, code, context };
            prop_assert_eq!(VlvResponse::decode(Some(&value)), Ok(response));
        }

        #[test]
        fn persistent(
            change_types in 1u8..16,
            changes_only: bool,
            return_controls: bool,
            kind in prop::sample::select(vec![1u8, 2, 4, 8]),
            dn in prop::option::of("\\PC{0,9}"),
            change_number: Option<i64>,
        ) {
            let search = PersistentSearch { change_types, changes_only, return_controls };
            let control = persistent_search(search);
            prop_assert_eq!(PersistentSearch::decode(control.value.as_deref()), Ok(search));
            let value = server::encode_entry_change(kind, dn.as_deref(), change_number);
            let previous_dn = dn.as_deref().map(str::as_bytes);
            let change = EntryChange { change_type: kind, previous_dn, change_number };
            prop_assert_eq!(EntryChange::decode(Some(&value)), Ok(change));
        }

        #[test]
        fn no_bytes_panic(noise in bytes()) {
            let value = Some(&noise[..]);
            let _ = (decode_sort_response(value), VlvResponse::decode(value));
            let _ = (EntryChange::decode(value), decode_read_entry(value));
        }
    }
}
