//! LDAPMessage and the requests it can hold (RFC 4511 §4.1.1), borrowed from the bytes they came in.
//!
//! Decoding checks the whole message once; what is a list in the protocol (attributes, changes, controls) stays encoded
//! and is walked by iterators that cannot fail any more.

mod list;
mod request;

pub use list::{Attribute, Attributes, Change, Changes, ModifyOperation, Strings, Values};
pub use request::tags;
pub use request::{
    AddRequest, Authentication, BindRequest, CompareRequest, DerefAliases, ExtendedRequest, ModifyDnRequest,
    ModifyRequest, Request, Scope, SearchRequest,
};

use crate::ResultCode;
use crate::controls::Controls;
use ber::{Reader, Tag};

/// Largest message id (RFC 4511 §4.1.1.1: INTEGER (0 .. maxInt)).
pub const MESSAGE_ID_MAX: i64 = 0x7fff_ffff;

/// A request with its id and controls.
#[derive(Debug, Clone)]
pub struct Message<'a> {
    /// Chosen by the client; its responses carry it.
    pub id: i32,
    /// What is asked.
    pub op: Request<'a>,
    /// The same as it came: the whole protocolOp element.
    pub op_bytes: &'a [u8],
    /// How it is asked.
    pub controls: Controls<'a>,
}

/// Why bytes are no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Not even the elements are right.
    #[error(transparent)]
    Ber(#[from] ber::Error),
    /// The message id is negative, zero or too large.
    #[error("message id {0} is not allowed in a request")]
    BadMessageId(i64),
    /// A protocolOp that is no request.
    #[error("operation tag {tag:#04x} is no request")]
    UnknownOperation {
        /// Its tag.
        tag: Tag,
    },
    /// A number that is none of the listed ones.
    #[error("{value} is no {field}")]
    BadEnumerated {
        /// The field of the protocol.
        field: &'static str,
        /// What was sent.
        value: i64,
    },
    /// Text that is no UTF-8 where the protocol asks for it.
    #[error("{0} is not valid UTF-8")]
    NotUtf8(&'static str),
    /// A list that must have an element has none.
    #[error("{0} must not be empty")]
    Empty(&'static str),
    /// A filter choice that does not exist.
    #[error("filter tag {tag:#04x} is unknown")]
    UnknownFilter {
        /// Its tag.
        tag: Tag,
    },
    /// Over [`FILTER_DEPTH_MAX`](crate::filter::FILTER_DEPTH_MAX).
    #[error("the filter is nested deeper than {}", crate::filter::FILTER_DEPTH_MAX)]
    FilterTooDeep,
    /// Over [`FILTER_NODES_MAX`](crate::filter::FILTER_NODES_MAX).
    #[error("the filter has more than {} parts", crate::filter::FILTER_NODES_MAX)]
    FilterTooLong,
    /// NOT of none or several.
    #[error("a NOT filter must hold exactly one filter")]
    BadNot,
    /// Substring pieces out of order, empty, or none.
    #[error("the pieces of a substring filter are wrong")]
    BadSubstrings,
    /// Neither attribute nor rule.
    #[error("an extensible match needs an attribute or a matching rule")]
    BadExtensible,
    /// An authentication choice other than simple and SASL.
    #[error("authentication choice {tag:#04x} is unknown")]
    UnknownAuthentication {
        /// Its tag.
        tag: Tag,
    },
    /// More controls than [`CONTROLS_MAX`](crate::controls::CONTROLS_MAX).
    #[error("the message has more than {} controls", crate::controls::CONTROLS_MAX)]
    TooManyControls,
}

impl DecodeError {
    /// The code of the answer: a filter may be sound and still be larger than this program takes.
    #[must_use]
    pub fn result_code(&self) -> ResultCode {
        match self {
            DecodeError::FilterTooDeep | DecodeError::FilterTooLong => ResultCode::ADMIN_LIMIT_EXCEEDED,
            _ => ResultCode::PROTOCOL_ERROR,
        }
    }
}

/// A failed decoding with what could be read of the message, so that the server can answer it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct MessageError {
    /// The id, if that much was right.
    pub id: Option<i32>,
    /// Tag of the operation, if that much was right.
    pub op_tag: Option<Tag>,
    /// What is wrong.
    #[source]
    pub error: DecodeError,
}

impl<'a> Message<'a> {
    /// Decodes exactly one message, as [`ber::frame`] delimits it.
    pub fn decode(bytes: &'a [u8]) -> Result<Message<'a>, MessageError> {
        let mut seen = MessageError { id: None, op_tag: None, error: DecodeError::Empty("message") };
        decode(bytes, &mut seen).map_err(|error| MessageError { error, ..seen })
    }
}

fn decode<'a>(bytes: &'a [u8], seen: &mut MessageError) -> Result<Message<'a>, DecodeError> {
    let mut outer = Reader::new(bytes);
    let mut body = outer.sequence()?;
    outer.finish()?;
    let id = body.integer()?;
    // Zero is for unsolicited notifications, which only servers send.
    if !(1..=MESSAGE_ID_MAX).contains(&id) {
        return Err(DecodeError::BadMessageId(id));
    }
    let id = id as i32;
    seen.id = Some(id);
    seen.op_tag = body.peek_tag();
    let before = body.rest();
    let op = Request::decode(&mut body)?;
    let op_bytes = &before[..before.len() - body.rest().len()];
    let controls = match body.optional(crate::controls::CONTROLS_TAG)? {
        Some(content) => Controls::decode(content)?,
        None => Controls::none(),
    };
    body.finish_extensible(&[crate::controls::CONTROLS_TAG])?;
    Ok(Message { id, op, op_bytes, controls })
}
