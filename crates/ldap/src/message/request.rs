//! The parts that requests are made of: one type for each kind (RFC 4511 §4.2–4.10).

use ber::{Reader, SEQUENCE, Tag};

use super::list::{Attributes, Changes, Strings};
use crate::decode_error::DecodeError;
use crate::filter::Filter;

/// Largest message id (RFC 4511 §4.1.1.1: INTEGER (0 .. maxInt)).
pub const MESSAGE_ID_MAX: i64 = 0x7fff_ffff;

/// Tags of the requests.
pub mod tags {
    #![allow(missing_docs)]
    use ber::Tag;

    pub const BIND: Tag = 0x60;
    pub const UNBIND: Tag = 0x42;
    pub const SEARCH: Tag = 0x63;
    pub const MODIFY: Tag = 0x66;
    pub const ADD: Tag = 0x68;
    pub const DELETE: Tag = 0x4a;
    pub const MODIFY_DN: Tag = 0x6c;
    pub const COMPARE: Tag = 0x6e;
    pub const ABANDON: Tag = 0x50;
    pub const EXTENDED: Tag = 0x77;
}

/// Bind.
#[derive(Debug, Clone, Copy)]
pub struct BindRequest<'a> {
    /// Protocol version; 3 is the one that is served.
    pub version: i64,
    /// Name of the entry; empty for anonymous and most SASL binds.
    pub name: &'a [u8],
    /// How.
    pub authentication: Authentication<'a>,
}

/// The proof of a bind.
#[derive(Clone, Copy)]
pub enum Authentication<'a> {
    /// A password; empty asks for an anonymous or unauthenticated bind.
    Simple(&'a [u8]),
    /// A step of a SASL exchange.
    Sasl {
        /// Name of the mechanism.
        mechanism: &'a [u8],
        /// What the mechanism sends.
        credentials: Option<&'a [u8]>,
    },
    /// A choice that RFC 4511 does not have.
    Unknown {
        /// Its tag.
        tag: Tag,
    },
}

/// Secrets stay out of debug output.
impl std::fmt::Debug for Authentication<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Simple(_) => f.write_str("Simple(..)"),
            Self::Unknown { tag } => write!(f, "Unknown({tag:#04x})"),
            Self::Sasl { mechanism, .. } => write!(f, "Sasl({})", String::from_utf8_lossy(mechanism)),
        }
    }
}

/// How far below its base a search goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The base entry alone.
    BaseObject,
    /// The entries right below it.
    SingleLevel,
    /// The base entry and everything below.
    WholeSubtree,
    /// Everything below without the base entry (draft-sermersheim-ldap-subordinate-scope).
    SubordinateSubtree,
}

impl Scope {
    const ALL: [Self; 4] = [Self::BaseObject, Self::SingleLevel, Self::SubordinateSubtree, Self::WholeSubtree];
    /// All of them as [`Scope::word`] spells them.
    pub const WORDS: [&'static str; 4] =
        [Self::ALL[0].word(), Self::ALL[1].word(), Self::ALL[2].word(), Self::ALL[3].word()];

    fn from_wire(value: i64) -> Result<Self, DecodeError> {
        Ok(match value {
            0 => Self::BaseObject,
            1 => Self::SingleLevel,
            2 => Self::WholeSubtree,
            3 => Self::SubordinateSubtree,
            _ => return Err(DecodeError::BadEnumerated { field: "search scope", value }),
        })
    }

    /// The number on the wire.
    pub fn as_wire(self) -> i64 {
        self as i64
    }

    /// The word that configurations use: OpenDJ's. It is also what backends keep, so it does not change.
    pub const fn word(self) -> &'static str {
        match self {
            Self::BaseObject => "base-object",
            Self::SingleLevel => "single-level",
            Self::SubordinateSubtree => "subordinate-subtree",
            Self::WholeSubtree => "whole-subtree",
        }
    }

    /// The scope of that [`Scope::word`], letter case aside.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.word().eq_ignore_ascii_case(word))
    }

    /// The word that logs and LDAP URLs use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BaseObject => "base",
            Self::SingleLevel => "one",
            Self::WholeSubtree => "sub",
            Self::SubordinateSubtree => "subordinates",
        }
    }
}

/// When aliases are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DerefAliases {
    /// Never.
    Never,
    /// Below the base, not in finding it.
    InSearching,
    /// In finding the base, not below it.
    FindingBaseObject,
    /// Always.
    Always,
}

impl DerefAliases {
    fn from_wire(value: i64) -> Result<Self, DecodeError> {
        Ok(match value {
            0 => Self::Never,
            1 => Self::InSearching,
            2 => Self::FindingBaseObject,
            3 => Self::Always,
            _ => return Err(DecodeError::BadEnumerated { field: "alias dereferencing mode", value }),
        })
    }

    /// The number on the wire.
    pub fn as_wire(self) -> i64 {
        self as i64
    }

    /// Whether aliases below the base are followed.
    pub fn in_searching(self) -> bool {
        matches!(self, Self::InSearching | Self::Always)
    }

    /// Whether aliases on the way to the base are followed.
    pub fn finding_base(self) -> bool {
        matches!(self, Self::FindingBaseObject | Self::Always)
    }
}

/// Search.
#[derive(Debug, Clone)]
pub struct SearchRequest<'a> {
    /// Where to begin.
    pub base: &'a [u8],
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
    pub filter: Filter<'a>,
    /// Which attributes; none asks for all user attributes.
    pub attributes: Strings<'a>,
    /// The whole request: what is kept of one that lasts.
    encoded: &'a [u8],
}

/// Modify.
#[derive(Debug, Clone, Copy)]
pub struct ModifyRequest<'a> {
    /// Which entry.
    pub object: &'a [u8],
    /// What to change.
    pub changes: Changes<'a>,
}

/// Add.
#[derive(Debug, Clone, Copy)]
pub struct AddRequest<'a> {
    /// Name of the new entry.
    pub entry: &'a [u8],
    /// What it holds.
    pub attributes: Attributes<'a>,
}

/// Modify DN.
#[derive(Debug, Clone, Copy)]
pub struct ModifyDnRequest<'a> {
    /// Which entry.
    pub entry: &'a [u8],
    /// Its new RDN.
    pub new_rdn: &'a [u8],
    /// Whether the values of the old RDN go.
    pub delete_old_rdn: bool,
    /// Its new parent, if it moves.
    pub new_superior: Option<&'a [u8]>,
}

/// Compare.
#[derive(Debug, Clone, Copy)]
pub struct CompareRequest<'a> {
    /// Which entry.
    pub entry: &'a [u8],
    /// Attribute description.
    pub attribute: &'a [u8],
    /// Assertion value.
    pub value: &'a [u8],
}

impl<'a> BindRequest<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        const SIMPLE: Tag = 0x80;
        const SASL: Tag = 0xa3;
        const CLASS: Tag = 0xc0;
        const CONTEXT: Tag = 0x80;
        let version = reader.integer()?;
        let name = reader.octets()?;
        let authentication = match reader.peek_tag() {
            Some(SASL) => {
                let mut inner = reader.enter(SASL)?;
                let mechanism = inner.octets()?;
                let credentials = inner.optional(ber::OCTET_STRING)?;
                inner.finish_extensible(&[])?;
                Authentication::Sasl { mechanism, credentials }
            }
            // The choice is extensible (RFC 4511 §4.2): that there is one more is no fault of the message.
            Some(tag) if tag != SIMPLE && tag & CLASS == CONTEXT => {
                reader.element()?;
                Authentication::Unknown { tag }
            }
            Some(_) => Authentication::Simple(reader.expect(SIMPLE)?),
            None => return Err(DecodeError::Empty("authentication")),
        };
        reader.finish_extensible(&[SIMPLE, SASL])?;
        Ok(Self { version, name, authentication })
    }
}

impl<'a> SearchRequest<'a> {
    /// Reads what [`SearchRequest::encoded`] gave: exactly one protocolOp.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let request = Self::decode_tagged(&mut reader)?;
        reader.finish()?;
        Ok(request)
    }

    /// The request as it can be kept, for [`SearchRequest::decode`].
    #[must_use]
    pub fn encoded(&self) -> &'a [u8] {
        self.encoded
    }

    /// Takes one protocolOp off `outer`.
    pub(super) fn decode_tagged(outer: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let before = outer.rest();
        let mut reader = outer.enter(tags::SEARCH)?;
        let encoded = &before[..before.len() - outer.rest().len()];
        let base = reader.octets()?;
        let scope = Scope::from_wire(reader.enumerated()?)?;
        let deref_aliases = DerefAliases::from_wire(reader.enumerated()?)?;
        let size_limit = limit(&mut reader, "sizeLimit")?;
        let time_limit_seconds = limit(&mut reader, "timeLimit")?;
        let types_only = reader.boolean()?;
        let filter = Filter::decode(&mut reader)?;
        let attributes = Strings::check(reader.expect(SEQUENCE)?)?;
        reader.finish_extensible(&[])?;
        Ok(Self { base, scope, deref_aliases, size_limit, time_limit_seconds, types_only, filter, attributes, encoded })
    }
}

fn limit(reader: &mut Reader<'_>, field: &'static str) -> Result<u32, DecodeError> {
    match reader.integer()? {
        value @ 0..=MESSAGE_ID_MAX => Ok(value as u32),
        value => Err(DecodeError::BadEnumerated { field, value }),
    }
}

impl<'a> ModifyRequest<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        let object = reader.octets()?;
        let changes = Changes::check(reader.expect(SEQUENCE)?)?;
        reader.finish_extensible(&[])?;
        Ok(Self { object, changes })
    }
}

impl<'a> AddRequest<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        let entry = reader.octets()?;
        let attributes = Attributes::check(reader.expect(SEQUENCE)?)?;
        reader.finish_extensible(&[])?;
        Ok(Self { entry, attributes })
    }
}

impl<'a> ModifyDnRequest<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        const NEW_SUPERIOR: Tag = 0x80;
        let entry = reader.octets()?;
        let new_rdn = reader.octets()?;
        let delete_old_rdn = reader.boolean()?;
        let new_superior = reader.optional(NEW_SUPERIOR)?;
        reader.finish_extensible(&[NEW_SUPERIOR])?;
        Ok(Self { entry, new_rdn, delete_old_rdn, new_superior })
    }
}

impl<'a> CompareRequest<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, DecodeError> {
        let entry = reader.octets()?;
        let mut ava = reader.sequence()?;
        let (attribute, value) = (ava.octets()?, ava.octets()?);
        ava.finish_extensible(&[])?;
        reader.finish_extensible(&[])?;
        Ok(Self { entry, attribute, value })
    }
}
