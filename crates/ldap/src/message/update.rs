//! Updates: requests that change entries (RFC 4511 §4.6–4.9, RFC 2589, RFC 3062), and the end of a transaction (RFC
//! 5805).
//!
//! An add, modify, delete or modify DN keeps the bytes that it was decoded from, because these are what a log of
//! updates holds. What the bytes mean is known here only.

use super::request::{AddRequest, ModifyDnRequest, ModifyRequest, tags};
use crate::decode_error::DecodeError;
use crate::extended::{PasswordModify, Refresh};
use crate::password_policy_state::StateRequest;
use crate::second_factor::SecondFactorRequest;
use crate::transaction::EndTransaction;
use ber::{Reader, Tag};

/// Any update.
#[derive(Debug, Clone, Copy)]
pub enum Update<'a> {
    /// Add, modify, delete or modify DN.
    Entry(EntryUpdate<'a>),
    /// Set a password.
    PasswordModify(PasswordModify<'a>),
    /// Let a dynamic entry live on.
    Refresh(Refresh<'a>),
    /// Read and write the state of an account.
    PasswordPolicyState(StateRequest<'a>),
    /// Manage the one-time codes of an account.
    SecondFactor(SecondFactorRequest<'a>),
    /// Do, or forget, the updates of a transaction.
    EndTransaction(EndTransaction<'a>),
}

/// A request to change one entry.
#[derive(Debug, Clone, Copy)]
pub enum EntryRequest<'a> {
    /// Change its attributes.
    Modify(ModifyRequest<'a>),
    /// Make it.
    Add(AddRequest<'a>),
    /// Delete the entry of this name.
    Delete(&'a [u8]),
    /// Rename or move it.
    ModifyDn(ModifyDnRequest<'a>),
}

/// The same, with the bytes that a log keeps of it.
#[derive(Debug, Clone, Copy)]
pub struct EntryUpdate<'a> {
    request: EntryRequest<'a>,
    encoded: &'a [u8],
}

impl<'a> EntryRequest<'a> {
    /// Reads what a log keeps of a request: exactly one protocolOp.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let Some(tag) = reader.peek_tag() else { return Err(DecodeError::Empty("protocolOp")) };
        let Some(request) = Self::decode_tagged(&mut reader, tag)? else {
            return Err(DecodeError::UnknownOperation { tag });
        };
        reader.finish()?;
        Ok(request)
    }

    /// Takes one protocolOp with that tag off `reader`; `None` if it is another operation's.
    #[inline]
    fn decode_tagged(reader: &mut Reader<'a>, tag: Tag) -> Result<Option<Self>, DecodeError> {
        Ok(Some(match tag {
            tags::MODIFY => Self::Modify(ModifyRequest::decode(reader.enter(tag)?)?),
            tags::ADD => Self::Add(AddRequest::decode(reader.enter(tag)?)?),
            tags::DELETE => Self::Delete(reader.expect(tag)?),
            tags::MODIFY_DN => Self::ModifyDn(ModifyDnRequest::decode(reader.enter(tag)?)?),
            _ => return Ok(None),
        }))
    }

    /// Name of the entry.
    #[must_use]
    pub fn entry(&self) -> &'a [u8] {
        match self {
            Self::Modify(request) => request.object,
            Self::Add(request) => request.entry,
            Self::Delete(dn) => dn,
            Self::ModifyDn(request) => request.entry,
        }
    }
}

impl<'a> EntryUpdate<'a> {
    /// Reads exactly one protocolOp.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Ok(Self { request: EntryRequest::decode(bytes)?, encoded: bytes })
    }

    /// Takes one protocolOp with that tag off `reader`; `None` if it is another operation's.
    pub(super) fn decode_tagged(reader: &mut Reader<'a>, tag: Tag) -> Result<Option<Self>, DecodeError> {
        let before = reader.rest();
        let request = EntryRequest::decode_tagged(reader, tag)?;
        Ok(request.map(|request| Self { request, encoded: &before[..before.len() - reader.rest().len()] }))
    }

    /// What is asked for.
    #[inline]
    #[must_use]
    pub fn request(&self) -> &EntryRequest<'a> {
        &self.request
    }

    /// The request as a log keeps it: for [`EntryRequest::decode`].
    #[inline]
    #[must_use]
    pub fn encoded(&self) -> &'a [u8] {
        self.encoded
    }
}
