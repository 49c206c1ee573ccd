//! Lists inside requests: walked in place, checked once by the decoder that made them.

use ber::{Reader, SET};

use crate::decode_error::DecodeError;

/// A SEQUENCE OF or SET OF octet strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strings<'a>(&'a [u8]);

/// The values of an attribute.
pub type Values<'a> = Strings<'a>;

impl<'a> Strings<'a> {
    /// Checks the content of the list.
    pub(crate) fn check(content: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(content);
        while !reader.is_empty() {
            reader.octets()?;
        }
        Ok(Self(content))
    }

    /// The strings in the order in which they were sent.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = &'a [u8]> + Clone {
        let mut reader = Reader::new(self.0);
        std::iter::from_fn(move || reader.octets().ok())
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The strings still encoded, one OCTET STRING after the other.
    pub fn encoded(self) -> &'a [u8] {
        self.0
    }
}

/// An attribute description with values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Attribute description as it was sent.
    pub description: &'a [u8],
    /// Its values; none only in modifications.
    pub values: Values<'a>,
}

impl<'a> Attribute<'a> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut inner = reader.sequence()?;
        let description = inner.octets()?;
        let values = Strings::check(inner.expect(SET)?)?;
        inner.finish_extensible(&[])?;
        Ok(Self { description, values })
    }
}

/// The attributes of an add request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes<'a>(&'a [u8]);

impl<'a> Attributes<'a> {
    pub(crate) fn check(content: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(content);
        while !reader.is_empty() {
            if Attribute::decode(&mut reader)?.values.is_empty() {
                return Err(DecodeError::Empty("the set of values of an attribute to add"));
            }
        }
        Ok(Self(content))
    }

    /// The attributes in the order in which they were sent.
    pub fn iter(self) -> impl Iterator<Item = Attribute<'a>> + Clone {
        let mut reader = Reader::new(self.0);
        std::iter::from_fn(move || if reader.is_empty() { None } else { Attribute::decode(&mut reader).ok() })
    }
}

/// What a modification does to its attribute (RFC 4511 §4.6, RFC 4525).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModifyOperation {
    /// Add the values.
    Add,
    /// Delete the values, or all of them when none is given.
    Delete,
    /// Replace all values by those given, possibly none.
    Replace,
    /// Add a number to each value.
    Increment,
}

impl ModifyOperation {
    fn from_wire(value: i64) -> Result<Self, DecodeError> {
        Ok(match value {
            0 => Self::Add,
            1 => Self::Delete,
            2 => Self::Replace,
            3 => Self::Increment,
            _ => return Err(DecodeError::BadEnumerated { field: "modification", value }),
        })
    }

    /// The number on the wire.
    pub fn as_wire(self) -> i64 {
        self as i64
    }
}

/// One modification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change<'a> {
    /// What is done.
    pub operation: ModifyOperation,
    /// To which attribute, with which values.
    pub attribute: Attribute<'a>,
}

impl<'a> Change<'a> {
    fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut inner = reader.sequence()?;
        let operation = ModifyOperation::from_wire(inner.enumerated()?)?;
        let attribute = Attribute::decode(&mut inner)?;
        inner.finish_extensible(&[])?;
        Ok(Self { operation, attribute })
    }
}

/// The modifications of a modify request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changes<'a>(&'a [u8]);

impl<'a> Changes<'a> {
    pub(crate) fn check(content: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(content);
        while !reader.is_empty() {
            Change::decode(&mut reader)?;
        }
        Ok(Self(content))
    }

    /// The modifications in the order in which they apply.
    pub fn iter(self) -> impl Iterator<Item = Change<'a>> + Clone {
        let mut reader = Reader::new(self.0);
        std::iter::from_fn(move || if reader.is_empty() { None } else { Change::decode(&mut reader).ok() })
    }

    /// Whether there are none; such a request changes nothing but its entry's modification time.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }
}
