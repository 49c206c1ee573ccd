//! The get effective rights control (draft-ietf-ldapext-acl-model): whose rights to the entries found are asked for.

use ber::{Reader, SEQUENCE};

use super::proxied::name_after_dn;
use crate::DecodeError;
use crate::message::Strings;

/// Most attributes that one request names.
pub const EFFECTIVE_RIGHTS_ATTRIBUTES_MAX: usize = 256;

/// Whose rights are asked for, in the form in which the request says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RightsSubject<'a> {
    /// Of who asks: the control has no value.
    Requester,
    /// An authorization identity in a sequence, as Sun's servers and OpenDJ take it.
    InSequence(&'a [u8]),
    /// An authorization identity alone, as 389 Directory Server takes it.
    Bare(&'a [u8]),
}

/// A request for rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EffectiveRightsRequest<'a> {
    /// Whose.
    pub subject: RightsSubject<'a>,
    /// Attributes to tell the rights to, beside those that the search asks for.
    pub attributes: Strings<'a>,
}

impl<'a> EffectiveRightsRequest<'a> {
    /// From a control value.
    pub fn decode(value: Option<&'a [u8]>) -> Result<Self, DecodeError> {
        let no_attributes = Strings::check(&[])?;
        let Some(value) = value else {
            return Ok(Self { subject: RightsSubject::Requester, attributes: no_attributes });
        };
        let mut outer = Reader::new(value);
        // No authorization identity begins like a sequence.
        if outer.peek_tag() != Some(SEQUENCE) {
            return Ok(Self { subject: RightsSubject::Bare(value), attributes: no_attributes });
        }
        let mut inner = outer.sequence()?;
        outer.finish()?;
        let subject = RightsSubject::InSequence(inner.octets()?);
        let attributes = inner.optional(SEQUENCE)?.map_or(Ok(no_attributes), Strings::check)?;
        inner.finish()?;
        if attributes.iter().nth(EFFECTIVE_RIGHTS_ATTRIBUTES_MAX).is_some() {
            let (what, most) = ("attributes to tell the rights to", EFFECTIVE_RIGHTS_ATTRIBUTES_MAX);
            return Err(DecodeError::TooMany { what, most });
        }
        Ok(Self { subject, attributes })
    }
}

impl<'a> RightsSubject<'a> {
    /// The name of whose rights are asked for, empty for anonymous; none when the identity is not one of a name.
    #[must_use]
    pub fn name(&self) -> Option<&'a [u8]> {
        match self {
            RightsSubject::Requester => None,
            RightsSubject::InSequence(identity) | RightsSubject::Bare(identity) => name_after_dn(identity),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(value: &[u8]) -> Result<(RightsSubject<'_>, Vec<&[u8]>), DecodeError> {
        EffectiveRightsRequest::decode(Some(value)).map(|it| (it.subject, it.attributes.iter().collect()))
    }

    #[test]
    fn both_forms_are_read_byte_by_byte() {
        let none = EffectiveRightsRequest::decode(None).unwrap();
        assert_eq!((none.subject, none.attributes.is_empty()), (RightsSubject::Requester, true));
        let in_sequence = RightsSubject::InSequence(b"dn:uid=a");
        assert_eq!(decode(b"\x30\x0a\x04\x08dn:uid=a"), Ok((in_sequence, vec![])));
        assert_eq!(
            decode(b"\x30\x14\x04\x08dn:uid=a\x30\x08\x04\x02cn\x04\x02sn"),
            Ok((in_sequence, vec![&b"cn"[..], b"sn"]))
        );
        assert_eq!(decode(b"dn:uid=a"), Ok((RightsSubject::Bare(b"dn:uid=a"), vec![])));
        for bad in
            [&b"\x30"[..], b"\x30\x00", b"\x30\x02\x04\x00\x00", b"\x30\x04\x04\x00\x04\x00", b"\x30\x02\x02\x00"]
        {
            assert!(decode(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn only_names_are_taken() {
        for (identity, name) in [
            (&b"dn:uid=a"[..], Some(&b"uid=a"[..])),
            (b"DN:", Some(b"")),
            (b"u:a", None),
            (b"", None),
            (b"uid=a", None),
        ] {
            assert_eq!(RightsSubject::Bare(identity).name(), name, "{identity:?}");
            assert_eq!(RightsSubject::InSequence(identity).name(), name, "{identity:?}");
        }
    }

    #[test]
    fn the_list_of_attributes_is_bounded() {
        let value = |count: usize| {
            let (mut list, mut out) = (Vec::new(), Vec::new());
            let mut writer = ber::Writer::new(&mut list);
            writer.octets(ber::OCTET_STRING, b"dn:");
            writer.octets(SEQUENCE, &b"\x04\x02cn".repeat(count));
            ber::Writer::new(&mut out).octets(SEQUENCE, &list);
            out
        };
        assert_eq!(decode(&value(EFFECTIVE_RIGHTS_ATTRIBUTES_MAX)).unwrap().1.len(), EFFECTIVE_RIGHTS_ATTRIBUTES_MAX);
        let (what, most) = ("attributes to tell the rights to", EFFECTIVE_RIGHTS_ATTRIBUTES_MAX);
        let refused = DecodeError::TooMany { what, most };
        assert_eq!(decode(&value(EFFECTIVE_RIGHTS_ATTRIBUTES_MAX + 1)), Err(refused));
    }
}
