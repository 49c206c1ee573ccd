//! The client's side: requests encoded, responses decoded. For the tools, for tests, and for who forwards operations.
//!
//! Each `…_op` writes the bare operation, which the decoders of requests read; the other functions append whole
//! messages.

mod change;
pub mod controls;

pub use change::{change, change_op};

use ber::{BOOLEAN, ENUMERATED, INTEGER, OCTET_STRING, Reader, SEQUENCE, SET, Tag, Writer};

use crate::controls::ControlBuf;
use crate::encode::{self, message, tags as response};
use crate::message::{Attribute, MESSAGE_ID_MAX, Strings, tags};
use crate::{Controls, DecodeError, DerefAliases, FilterBuf, LdapResult, ModifyOperation, ResultCode, Scope};

/// A search to ask for.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// Where to begin.
    pub base: &'a str,
    /// How far to go.
    pub scope: Scope,
    /// What to do with aliases.
    pub deref_aliases: DerefAliases,
    /// Most entries to return; 0 leaves it to the server.
    pub size_limit: u32,
    /// Most seconds to take; 0 leaves it to the server.
    pub time_limit_seconds: u32,
    /// Names without values.
    pub types_only: bool,
    /// Which entries.
    pub filter: &'a FilterBuf,
    /// Which attributes; none asks for all user attributes.
    pub attributes: &'a [&'a str],
}

impl<'a> Search<'a> {
    /// A search that follows no alias, leaves the limits to the server, and asks for values.
    #[must_use]
    pub fn new(base: &'a str, scope: Scope, filter: &'a FilterBuf, attributes: &'a [&'a str]) -> Self {
        Search {
            base,
            scope,
            deref_aliases: DerefAliases::Never,
            size_limit: 0,
            time_limit_seconds: 0,
            types_only: false,
            filter,
            attributes,
        }
    }
}

/// A simple bind; both empty for anonymous.
pub fn bind(out: &mut Vec<u8>, id: i32, name: &str, password: &[u8], controls: &[ControlBuf]) {
    const SIMPLE: Tag = 0x80;
    message(out, id, controls, |w| {
        let op = w.begin(tags::BIND);
        w.integer(INTEGER, 3);
        w.octets(OCTET_STRING, name.as_bytes());
        w.octets(SIMPLE, password);
        w.end(op);
    });
}

/// A step of a SASL bind.
pub fn sasl_bind(
    out: &mut Vec<u8>,
    id: i32,
    name: &str,
    mechanism: &str,
    credentials: Option<&[u8]>,
    controls: &[ControlBuf],
) {
    const SASL: Tag = 0xa3;
    message(out, id, controls, |w| {
        let op = w.begin(tags::BIND);
        w.integer(INTEGER, 3);
        w.octets(OCTET_STRING, name.as_bytes());
        let sasl = w.begin(SASL);
        w.octets(OCTET_STRING, mechanism.as_bytes());
        if let Some(credentials) = credentials {
            w.octets(OCTET_STRING, credentials);
        }
        w.end(sasl);
        w.end(op);
    });
}

/// An unbind.
pub fn unbind(out: &mut Vec<u8>, id: i32) {
    message(out, id, &[], |w| w.null(tags::UNBIND));
}

/// A search.
pub fn search(out: &mut Vec<u8>, id: i32, search: &Search<'_>, controls: &[ControlBuf]) {
    message(out, id, controls, |w| search_op(w, search));
}

/// The operation of [`search`].
pub fn search_op(w: &mut Writer<'_>, search: &Search<'_>) {
    let op = w.begin(tags::SEARCH);
    w.octets(OCTET_STRING, search.base.as_bytes());
    w.integer(ENUMERATED, search.scope.as_wire());
    w.integer(ENUMERATED, search.deref_aliases.as_wire());
    w.integer(INTEGER, i64::from(search.size_limit));
    w.integer(INTEGER, i64::from(search.time_limit_seconds));
    w.boolean(BOOLEAN, search.types_only);
    w.raw(search.filter.as_ber());
    let list = w.begin(SEQUENCE);
    search.attributes.iter().for_each(|attribute| w.octets(OCTET_STRING, attribute.as_bytes()));
    w.end(list);
    w.end(op);
}

/// A modify: per change what to do, to which attribute, with which values.
pub fn modify<'c, V>(
    out: &mut Vec<u8>,
    id: i32,
    dn: &str,
    changes: impl IntoIterator<Item = (ModifyOperation, &'c [u8], V)>,
    controls: &[ControlBuf],
) where
    V: IntoIterator<Item = &'c [u8]>,
{
    message(out, id, controls, |w| modify_op(w, dn.as_bytes(), changes));
}

/// The operation of [`modify`].
pub fn modify_op<'c, V>(
    w: &mut Writer<'_>,
    dn: &[u8],
    changes: impl IntoIterator<Item = (ModifyOperation, &'c [u8], V)>,
) where
    V: IntoIterator<Item = &'c [u8]>,
{
    let op = w.begin(tags::MODIFY);
    w.octets(OCTET_STRING, dn);
    let list = w.begin(SEQUENCE);
    for (operation, description, values) in changes {
        let change = w.begin(SEQUENCE);
        w.integer(ENUMERATED, operation.as_wire());
        put_attribute(w, description, values);
        w.end(change);
    }
    w.end(list);
    w.end(op);
}

/// An add: per attribute its description and values.
pub fn add<'c, V>(
    out: &mut Vec<u8>,
    id: i32,
    dn: &str,
    attributes: impl IntoIterator<Item = (&'c [u8], V)>,
    controls: &[ControlBuf],
) where
    V: IntoIterator<Item = &'c [u8]>,
{
    message(out, id, controls, |w| add_op(w, dn.as_bytes(), attributes));
}

/// The operation of [`add`].
pub fn add_op<'c, V>(w: &mut Writer<'_>, dn: &[u8], attributes: impl IntoIterator<Item = (&'c [u8], V)>)
where
    V: IntoIterator<Item = &'c [u8]>,
{
    let op = w.begin(tags::ADD);
    encode::put_entry(w, dn, attributes);
    w.end(op);
}

/// A delete.
pub fn delete(out: &mut Vec<u8>, id: i32, dn: &str, controls: &[ControlBuf]) {
    message(out, id, controls, |w| w.octets(tags::DELETE, dn.as_bytes()));
}

/// A rename or move.
pub fn modify_dn(
    out: &mut Vec<u8>,
    id: i32,
    dn: &str,
    new_rdn: &str,
    delete_old_rdn: bool,
    new_superior: Option<&str>,
    controls: &[ControlBuf],
) {
    message(out, id, controls, |w| modify_dn_op(w, dn, new_rdn, delete_old_rdn, new_superior));
}

/// The operation of [`modify_dn`].
pub fn modify_dn_op(w: &mut Writer<'_>, dn: &str, new_rdn: &str, delete_old_rdn: bool, new_superior: Option<&str>) {
    const NEW_SUPERIOR: Tag = 0x80;
    let op = w.begin(tags::MODIFY_DN);
    w.octets(OCTET_STRING, dn.as_bytes());
    w.octets(OCTET_STRING, new_rdn.as_bytes());
    w.boolean(BOOLEAN, delete_old_rdn);
    if let Some(superior) = new_superior {
        w.octets(NEW_SUPERIOR, superior.as_bytes());
    }
    w.end(op);
}

/// A compare.
pub fn compare(out: &mut Vec<u8>, id: i32, dn: &str, attribute: &str, value: &[u8], controls: &[ControlBuf]) {
    message(out, id, controls, |w| {
        let op = w.begin(tags::COMPARE);
        w.octets(OCTET_STRING, dn.as_bytes());
        let assertion = w.begin(SEQUENCE);
        w.octets(OCTET_STRING, attribute.as_bytes());
        w.octets(OCTET_STRING, value);
        w.end(assertion);
        w.end(op);
    });
}

/// An abandon of the operation with message id `target`.
pub fn abandon(out: &mut Vec<u8>, id: i32, target: i32, controls: &[ControlBuf]) {
    message(out, id, controls, |w| w.integer(tags::ABANDON, i64::from(target)));
}

/// An extended request.
pub fn extended(out: &mut Vec<u8>, id: i32, oid: &str, value: Option<&[u8]>, controls: &[ControlBuf]) {
    const NAME: Tag = 0x80;
    const VALUE: Tag = 0x81;
    message(out, id, controls, |w| {
        let op = w.begin(tags::EXTENDED);
        w.octets(NAME, oid.as_bytes());
        if let Some(value) = value {
            w.octets(VALUE, value);
        }
        w.end(op);
    });
}

fn put_attribute<'c>(w: &mut Writer<'_>, description: &[u8], values: impl IntoIterator<Item = &'c [u8]>) {
    let attribute = w.begin(SEQUENCE);
    w.octets(OCTET_STRING, description);
    let set = w.begin(SET);
    values.into_iter().for_each(|value| w.octets(OCTET_STRING, value));
    w.end(set);
    w.end(attribute);
}

/// A message from a server.
#[derive(Clone, Debug)]
pub struct ServerMessage<'a> {
    /// Of the request that it answers; 0 for unsolicited notifications.
    pub id: i32,
    /// What it says.
    pub op: Response<'a>,
    /// Response controls.
    pub controls: Controls<'a>,
}

/// What a server says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response<'a> {
    /// The end of a bind, or a step of one.
    Bind {
        /// How it ended.
        result: LdapResult,
        /// What the SASL mechanism goes on with.
        credentials: Option<&'a [u8]>,
    },
    /// An entry of a search.
    SearchEntry(SearchEntry<'a>),
    /// URLs where a search goes on.
    SearchReference(Strings<'a>),
    /// The end of any other operation; `tag` says of which ([`crate::encode::tags`]).
    Done {
        /// Tag of the response.
        tag: Tag,
        /// How it ended.
        result: LdapResult,
    },
    /// The end of an extended operation, or an unsolicited notification.
    Extended {
        /// How it ended.
        result: LdapResult,
        /// Which.
        name: Option<&'a [u8]>,
        /// What it answers.
        value: Option<&'a [u8]>,
    },
    /// Something on the way.
    Intermediate {
        /// Which.
        name: Option<&'a [u8]>,
        /// What it says.
        value: Option<&'a [u8]>,
    },
}

/// An entry of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchEntry<'a> {
    /// Its name.
    pub dn: &'a [u8],
    /// Its attributes, without values if only types were asked for.
    pub attributes: PartialAttributes<'a>,
}

/// Attributes that may be without values, still encoded; decoding has checked them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartialAttributes<'a>(&'a [u8]);

impl<'a> ServerMessage<'a> {
    /// Decodes exactly one message, as [`ber::frame`] delimits it.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut outer = Reader::new(bytes);
        let mut body = outer.sequence()?;
        outer.finish()?;
        let id = match body.integer()? {
            id @ 0..=MESSAGE_ID_MAX => id as i32,
            id => return Err(DecodeError::BadMessageId(id)),
        };
        let op = Response::decode(&mut body)?;
        let controls = match body.optional(crate::controls::CONTROLS_TAG)? {
            Some(content) => Controls::decode(content)?,
            None => Controls::none(),
        };
        body.finish_extensible(&[crate::controls::CONTROLS_TAG])?;
        Ok(Self { id, op, controls })
    }
}

impl<'a> Response<'a> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let Some(tag) = reader.peek_tag() else { return Err(DecodeError::Empty("protocolOp")) };
        let known = matches!(tag, response::BIND..=response::INTERMEDIATE);
        let mut op = match known {
            true => reader.enter(tag)?,
            false => return Err(DecodeError::UnknownOperation { tag }),
        };
        let decoded = match tag {
            response::SEARCH_ENTRY => Self::SearchEntry(SearchEntry::decode(&mut op)?),
            response::SEARCH_REFERENCE => {
                let urls = Strings::check(op.rest())?;
                if urls.is_empty() {
                    return Err(DecodeError::Empty("the list of references"));
                }
                return Ok(Self::SearchReference(urls));
            }
            response::BIND => Self::Bind {
                result: decode_result(&mut op)?,
                credentials: op.optional(encode::SERVER_SASL_CREDENTIALS)?,
            },
            response::EXTENDED => Self::Extended {
                result: decode_result(&mut op)?,
                name: op.optional(encode::RESPONSE_NAME)?,
                value: op.optional(encode::RESPONSE_VALUE)?,
            },
            response::INTERMEDIATE => Self::Intermediate {
                name: op.optional(encode::INTERMEDIATE_NAME)?,
                value: op.optional(encode::INTERMEDIATE_VALUE)?,
            },
            response::SEARCH_DONE
            | response::MODIFY
            | response::ADD
            | response::DELETE
            | response::MODIFY_DN
            | response::COMPARE => Self::Done { tag, result: decode_result(&mut op)? },
            _ => return Err(DecodeError::UnknownOperation { tag }),
        };
        op.finish_extensible(&[])?;
        Ok(decoded)
    }

    /// How the operation ended, if this is its end.
    #[must_use]
    pub fn result(&self) -> Option<&LdapResult> {
        match self {
            Self::Bind { result, .. } | Self::Done { result, .. } | Self::Extended { result, .. } => Some(result),
            Self::SearchEntry(_) | Self::SearchReference(_) | Self::Intermediate { .. } => None,
        }
    }
}

impl<'a> SearchEntry<'a> {
    /// Takes name and attributes off `reader`; also what pre-read and post-read controls hold.
    pub fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let dn = reader.octets()?;
        let attributes = PartialAttributes::check(reader.expect(SEQUENCE)?)?;
        Ok(Self { dn, attributes })
    }
}

impl<'a> PartialAttributes<'a> {
    fn check(content: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(content);
        while !reader.is_empty() {
            decode_attribute(&mut reader)?;
        }
        Ok(Self(content))
    }

    /// The attributes in the order in which they were sent.
    pub fn iter(self) -> impl Iterator<Item = Attribute<'a>> + Clone {
        let mut reader = Reader::new(self.0);
        std::iter::from_fn(move || if reader.is_empty() { None } else { decode_attribute(&mut reader).ok() })
    }
}

fn decode_attribute<'a>(reader: &mut Reader<'a>) -> Result<Attribute<'a>, DecodeError> {
    let mut inner = reader.sequence()?;
    let description = inner.octets()?;
    let values = Strings::check(inner.expect(SET)?)?;
    inner.finish_extensible(&[])?;
    Ok(Attribute { description, values })
}

/// COMPONENTS OF LDAPResult.
fn decode_result(reader: &mut Reader<'_>) -> Result<LdapResult, DecodeError> {
    let text =
        |bytes: &[u8], field| std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| DecodeError::NotUtf8(field));
    let code = reader.enumerated()?;
    let code = i32::try_from(code).map_err(|_| DecodeError::BadEnumerated { field: "result code", value: code })?;
    let matched_dn = text(reader.octets()?, "matchedDN")?;
    let message = text(reader.octets()?, "diagnosticMessage")?;
    let mut referrals = Vec::new();
    if let Some(list) = reader.optional(encode::REFERRAL)? {
        for url in Strings::check(list)?.iter() {
            referrals.push(text(url, "referral")?);
        }
        if referrals.is_empty() {
            return Err(DecodeError::Empty("the list of referrals"));
        }
    }
    Ok(LdapResult { code: ResultCode::from_i32(code), matched_dn, message, referrals })
}
