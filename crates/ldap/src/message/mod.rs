//! LDAPMessage and the requests it can hold (RFC 4511 §4.1.1), borrowed from the bytes they came in.
//!
//! Decoding checks the whole message once; what is a list in the protocol (attributes, changes, controls) stays encoded
//! and is walked by iterators that cannot fail any more.

mod list;
mod operation;
mod request;
mod update;

pub use list::{Attribute, Attributes, Change, Changes, ModifyOperation, Strings, Values};
pub use operation::{ExtendedFault, NotExecutable, Operation};
pub use request::tags;
pub use request::{
    AddRequest, Authentication, BindRequest, CompareRequest, DerefAliases, MESSAGE_ID_MAX, ModifyDnRequest,
    ModifyRequest, Scope, SearchRequest,
};
pub use update::{EntryRequest, EntryUpdate, Update};

pub use crate::decode_error::DecodeError;

use ber::{Reader, Tag};

use crate::controls::Controls;

/// A request with its id and controls.
#[derive(Debug, Clone)]
pub struct Message<'a> {
    /// Chosen by the client; its responses carry it.
    pub id: i32,
    /// What is asked.
    pub operation: Operation<'a>,
    /// How it is asked.
    pub controls: Controls<'a>,
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
    let operation = Operation::decode(&mut body)?;
    let controls = match body.optional(crate::controls::CONTROLS_TAG)? {
        Some(content) => Controls::decode(content)?,
        None => Controls::none(),
    };
    body.finish_extensible(&[crate::controls::CONTROLS_TAG])?;
    Ok(Message { id, operation, controls })
}
