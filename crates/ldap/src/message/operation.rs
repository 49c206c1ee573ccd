//! What a client asks for, as one type: every request is decoded into it once, whatever it came in.
//!
//! Knows which operations there are, the extended ones included; not who executes them.

use super::request::{BindRequest, CompareRequest, MESSAGE_ID_MAX, SearchRequest, tags};
use super::update::{EntryRequest, EntryUpdate, Update};
use crate::administration::{RebuildIndexes, SetAccountClock};
use crate::decode_error::DecodeError;
use crate::encode::tags as response;
use crate::extended::{PasswordModify, Refresh, decode_cancel};
use crate::oids::extended as oids;
use crate::password_policy_state::StateRequest;
use crate::second_factor::SecondFactorRequest;
use crate::transaction::EndTransaction;
use ber::{Reader, Tag};

/// Any operation. Searches are the most common and the largest; boxing them would cost an allocation each.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)]
pub enum Operation<'a> {
    /// Authenticate.
    Bind(BindRequest<'a>),
    /// End the connection.
    Unbind,
    /// Find entries.
    Search(SearchRequest<'a>),
    /// Compare a value.
    Compare(CompareRequest<'a>),
    /// Change entries.
    Update(Update<'a>),
    /// Begin a transaction.
    StartTransaction,
    /// Tell the client who it is.
    WhoAmI,
    /// Forget the operation with this message id.
    Abandon(i32),
    /// End the operation with this message id.
    Cancel(i32),
    /// Protect the connection.
    StartTls,
    /// Tell the number of the connection.
    ConnectionId,
    /// Read the configuration again.
    ReloadConfiguration,
    /// Build indexes anew.
    RebuildIndexes(Box<RebuildIndexes>),
    /// Set the clock by which accounts are judged.
    SetAccountClock(SetAccountClock),
    /// An extended operation that this program does not know, or whose request value is not valid.
    NotExecutable(NotExecutable<'a>),
}

/// An extended request that cannot be executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotExecutable<'a> {
    /// OID of the operation.
    pub oid: &'a [u8],
    /// Why not.
    pub fault: ExtendedFault,
}

/// What is wrong with an extended request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ExtendedFault {
    /// There is no such operation.
    #[error("the server does not know this extended operation")]
    Unknown,
    /// Its value is not valid.
    #[error("The request is malformed: {0}")]
    Value(DecodeError),
    /// It has a value, and the operation takes none.
    #[error("The request is malformed: a request for this operation has no value")]
    HasValue,
}

impl<'a> Operation<'a> {
    /// Takes one protocolOp off `reader`.
    pub(super) fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let Some(tag) = reader.peek_tag() else { return Err(DecodeError::Empty("protocolOp")) };
        Ok(match tag {
            tags::SEARCH => Self::Search(SearchRequest::decode_tagged(reader)?),
            tags::BIND => Self::Bind(BindRequest::decode(reader.enter(tag)?)?),
            tags::COMPARE => Self::Compare(CompareRequest::decode(reader.enter(tag)?)?),
            tags::EXTENDED => decode_extended(reader.enter(tag)?)?,
            tags::ABANDON => match reader.integer_tagged(tag)? {
                id @ 0..=MESSAGE_ID_MAX => Self::Abandon(id as i32),
                id => return Err(DecodeError::BadMessageId(id)),
            },
            tags::UNBIND => {
                reader.expect(tag)?;
                Self::Unbind
            }
            _ => match EntryUpdate::decode_tagged(reader, tag)? {
                Some(update) => Self::Update(Update::Entry(update)),
                None => return Err(DecodeError::UnknownOperation { tag }),
            },
        })
    }

    /// Tag of the response that ends the operation; `None` for those that have none.
    #[must_use]
    pub fn response_tag(&self) -> Option<Tag> {
        Some(match self {
            Self::Bind(_) => response::BIND,
            Self::Search(_) => response::SEARCH_DONE,
            Self::Compare(_) => response::COMPARE,
            Self::Update(Update::Entry(update)) => match update.request() {
                EntryRequest::Modify(_) => response::MODIFY,
                EntryRequest::Add(_) => response::ADD,
                EntryRequest::Delete(_) => response::DELETE,
                EntryRequest::ModifyDn(_) => response::MODIFY_DN,
            },
            Self::Update(
                Update::PasswordModify(_)
                | Update::Refresh(_)
                | Update::PasswordPolicyState(_)
                | Update::SecondFactor(_)
                | Update::EndTransaction(_),
            )
            | Self::StartTransaction
            | Self::WhoAmI
            | Self::Cancel(_)
            | Self::StartTls
            | Self::ConnectionId
            | Self::ReloadConfiguration
            | Self::RebuildIndexes(_)
            | Self::SetAccountClock(_)
            | Self::NotExecutable(_) => response::EXTENDED,
            Self::Unbind | Self::Abandon(_) => return None,
        })
    }

    /// OID of an extended operation; `None` for the others.
    #[must_use]
    pub fn extended_oid(&self) -> Option<&'a [u8]> {
        let oid = match self {
            Self::Update(Update::PasswordModify(_)) => oids::PASSWORD_MODIFY,
            Self::Update(Update::Refresh(_)) => oids::REFRESH,
            Self::Update(Update::PasswordPolicyState(_)) => oids::PASSWORD_POLICY_STATE,
            Self::Update(Update::SecondFactor(_)) => oids::SECOND_FACTOR,
            Self::Update(Update::EndTransaction(_)) => oids::END_TRANSACTION,
            Self::StartTransaction => oids::START_TRANSACTION,
            Self::WhoAmI => oids::WHO_AM_I,
            Self::Cancel(_) => oids::CANCEL,
            Self::StartTls => oids::START_TLS,
            Self::ConnectionId => oids::GET_CONNECTION_ID,
            Self::ReloadConfiguration => oids::RELOAD_CONFIGURATION,
            Self::RebuildIndexes(_) => oids::REBUILD_INDEXES,
            Self::SetAccountClock(_) => oids::SET_ACCOUNT_CLOCK,
            Self::NotExecutable(request) => return Some(request.oid),
            Self::Bind(_)
            | Self::Unbind
            | Self::Search(_)
            | Self::Compare(_)
            | Self::Update(Update::Entry(_))
            | Self::Abandon(_) => return None,
        };
        Some(oid.as_bytes())
    }
}

/// An extended request (RFC 4511 §4.12). One that is not valid can still be answered, so it is no error of the message.
fn decode_extended(mut reader: Reader<'_>) -> Result<Operation<'_>, DecodeError> {
    const NAME: Tag = 0x80;
    const VALUE: Tag = 0x81;
    let oid = reader.expect(NAME)?;
    let value = reader.optional(VALUE)?;
    reader.finish_extensible(&[NAME, VALUE])?;
    let decoded = extended_operation(oid, value);
    Ok(decoded.unwrap_or_else(|fault| Operation::NotExecutable(NotExecutable { oid, fault })))
}

fn extended_operation<'a>(oid: &[u8], value: Option<&'a [u8]>) -> Result<Operation<'a>, ExtendedFault> {
    let without_value =
        |operation| if value.is_some() { Err(ExtendedFault::HasValue) } else { Ok::<Operation<'a>, _>(operation) };
    match std::str::from_utf8(oid).unwrap_or_default() {
        oids::PASSWORD_MODIFY => PasswordModify::decode(value).map(|it| Operation::Update(Update::PasswordModify(it))),
        oids::REFRESH => Refresh::decode(value).map(|it| Operation::Update(Update::Refresh(it))),
        oids::PASSWORD_POLICY_STATE => {
            StateRequest::decode(value).map(|it| Operation::Update(Update::PasswordPolicyState(it)))
        }
        oids::SECOND_FACTOR => SecondFactorRequest::decode(value).map(|it| Operation::Update(Update::SecondFactor(it))),
        oids::END_TRANSACTION => EndTransaction::decode(value).map(|it| Operation::Update(Update::EndTransaction(it))),
        oids::CANCEL => decode_cancel(value).map(Operation::Cancel),
        oids::REBUILD_INDEXES => RebuildIndexes::decode(value).map(|it| Operation::RebuildIndexes(Box::new(it))),
        oids::SET_ACCOUNT_CLOCK => SetAccountClock::decode(value).map(Operation::SetAccountClock),
        oids::START_TRANSACTION => return without_value(Operation::StartTransaction),
        oids::WHO_AM_I => return without_value(Operation::WhoAmI),
        oids::START_TLS => return without_value(Operation::StartTls),
        oids::RELOAD_CONFIGURATION => return without_value(Operation::ReloadConfiguration),
        // OpenDJ takes any value with it.
        oids::GET_CONNECTION_ID => Ok(Operation::ConnectionId),
        _ => return Err(ExtendedFault::Unknown),
    }
    .map_err(ExtendedFault::Value)
}
