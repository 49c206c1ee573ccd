//! The password policy state operation of OpenDJ: values of its request and of its response, which have one form.

use ber::{ENUMERATED, INTEGER, OCTET_STRING, Reader, SEQUENCE, Writer};

use crate::DecodeError;

/// Most operations of one request.
pub const STATE_OPERATIONS_MAX: usize = 256;

/// A request about one account, or the answer to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasswordPolicyState {
    /// The entry's name.
    pub target: Vec<u8>,
    /// What is to be read and written, in this order; none: everything is read.
    pub operations: Vec<StateOperation>,
}

/// A request that was checked, and is still encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateRequest<'a>(&'a [u8]);

impl<'a> StateRequest<'a> {
    /// From a request value.
    pub fn decode(value: Option<&'a [u8]>) -> Result<Self, DecodeError> {
        PasswordPolicyState::decode(value)?;
        Ok(StateRequest(value.unwrap_or_default()))
    }

    /// What it asks for.
    #[must_use]
    pub fn read(&self) -> PasswordPolicyState {
        let nothing = PasswordPolicyState { target: Vec::new(), operations: Vec::new() };
        PasswordPolicyState::decode(Some(self.0)).unwrap_or(nothing)
    }
}

/// A value to read or to write, or that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateOperation {
    /// One of [`StateItem`], or a number that is none.
    pub number: i64,
    /// To write, or read.
    pub values: Vec<Vec<u8>>,
}

impl StateOperation {
    /// An operation of this project's list.
    #[must_use]
    pub fn new(item: StateItem, values: Vec<Vec<u8>>) -> StateOperation {
        StateOperation { number: i64::from(item as u8), values }
    }

    /// What it does; none when the number is not known.
    #[must_use]
    pub fn item(&self) -> Option<StateItem> {
        if self.number == i64::from(StateItem::GetFailureSources as u8) {
            return Some(StateItem::GetFailureSources);
        }
        usize::try_from(self.number).ok().and_then(|number| StateItem::ALL.get(number)).copied()
    }
}

/// What an operation reads or writes, by OpenDJ's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum StateItem {
    GetPolicyDn,
    GetDisabled,
    SetDisabled,
    ClearDisabled,
    GetAccountExpiration,
    SetAccountExpiration,
    ClearAccountExpiration,
    GetSecondsUntilAccountExpiration,
    GetPasswordChanged,
    SetPasswordChanged,
    ClearPasswordChanged,
    GetWarned,
    SetWarned,
    ClearWarned,
    GetSecondsUntilPasswordExpiration,
    GetSecondsUntilWarning,
    GetFailures,
    AddFailure,
    SetFailures,
    ClearFailures,
    GetSecondsUntilUnlock,
    GetFailuresLeft,
    GetLastLogin,
    SetLastLogin,
    ClearLastLogin,
    GetSecondsUntilIdleLock,
    GetReset,
    SetReset,
    ClearReset,
    GetSecondsUntilResetLock,
    GetGraceUses,
    AddGraceUse,
    SetGraceUses,
    ClearGraceUses,
    GetGraceLeft,
    GetMetDeadline,
    SetMetDeadline,
    ClearMetDeadline,
    GetSecondsUntilDeadline,
    GetHistory,
    ClearHistory,
    /// Not OpenDJ's, and not among those that are read where none is named: the addresses that the wrong passwords came
    /// from, as far as the server knows them.
    GetFailureSources = 200,
}

impl StateItem {
    /// OpenDJ's, in the order of their numbers.
    pub const ALL: [StateItem; 41] = [
        StateItem::GetPolicyDn,
        StateItem::GetDisabled,
        StateItem::SetDisabled,
        StateItem::ClearDisabled,
        StateItem::GetAccountExpiration,
        StateItem::SetAccountExpiration,
        StateItem::ClearAccountExpiration,
        StateItem::GetSecondsUntilAccountExpiration,
        StateItem::GetPasswordChanged,
        StateItem::SetPasswordChanged,
        StateItem::ClearPasswordChanged,
        StateItem::GetWarned,
        StateItem::SetWarned,
        StateItem::ClearWarned,
        StateItem::GetSecondsUntilPasswordExpiration,
        StateItem::GetSecondsUntilWarning,
        StateItem::GetFailures,
        StateItem::AddFailure,
        StateItem::SetFailures,
        StateItem::ClearFailures,
        StateItem::GetSecondsUntilUnlock,
        StateItem::GetFailuresLeft,
        StateItem::GetLastLogin,
        StateItem::SetLastLogin,
        StateItem::ClearLastLogin,
        StateItem::GetSecondsUntilIdleLock,
        StateItem::GetReset,
        StateItem::SetReset,
        StateItem::ClearReset,
        StateItem::GetSecondsUntilResetLock,
        StateItem::GetGraceUses,
        StateItem::AddGraceUse,
        StateItem::SetGraceUses,
        StateItem::ClearGraceUses,
        StateItem::GetGraceLeft,
        StateItem::GetMetDeadline,
        StateItem::SetMetDeadline,
        StateItem::ClearMetDeadline,
        StateItem::GetSecondsUntilDeadline,
        StateItem::GetHistory,
        StateItem::ClearHistory,
    ];
}

impl PasswordPolicyState {
    /// From the value of a request or response. Kinds of operations are taken as integers, too, as OpenDJ takes them.
    pub fn decode(value: Option<&[u8]>) -> Result<Self, DecodeError> {
        let mut outer = Reader::new(value.ok_or(DecodeError::Empty("the value of a password policy state request"))?);
        let mut inner = outer.sequence()?;
        outer.finish()?;
        let target = inner.octets()?.to_vec();
        let mut operations = Vec::new();
        if let Some(list) = inner.optional(SEQUENCE)? {
            let mut list = Reader::new(list);
            while !list.is_empty() {
                if operations.len() == STATE_OPERATIONS_MAX {
                    let (what, most) = ("operations on the state of an account", STATE_OPERATIONS_MAX);
                    return Err(DecodeError::TooMany { what, most });
                }
                operations.push(decode_one(&mut list)?);
            }
        }
        inner.finish()?;
        Ok(Self { target, operations })
    }

    /// To the value of a request or response. An operation without values has no list of them.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut w = Writer::new(&mut out);
        let all = w.begin(SEQUENCE);
        w.octets(OCTET_STRING, &self.target);
        if !self.operations.is_empty() {
            let list = w.begin(SEQUENCE);
            for operation in &self.operations {
                let one = w.begin(SEQUENCE);
                w.integer(ENUMERATED, operation.number);
                if !operation.values.is_empty() {
                    let values = w.begin(SEQUENCE);
                    operation.values.iter().for_each(|value| w.octets(OCTET_STRING, value));
                    w.end(values);
                }
                w.end(one);
            }
            w.end(list);
        }
        w.end(all);
        out
    }
}

fn decode_one(list: &mut Reader<'_>) -> Result<StateOperation, DecodeError> {
    let mut inner = list.sequence()?;
    let tag = if inner.peek_tag() == Some(INTEGER) { INTEGER } else { ENUMERATED };
    let number = inner.integer_tagged(tag)?;
    let mut values = Vec::new();
    if let Some(own) = inner.optional(SEQUENCE)? {
        let mut own = Reader::new(own);
        while !own.is_empty() {
            values.push(own.octets()?.to_vec());
        }
    }
    inner.finish()?;
    Ok(StateOperation { number, values })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The bytes of an operation that OpenDJ was seen to send.
    #[test]
    fn operations_have_opendj_s_form() {
        let operations = [
            (StateItem::GetDisabled, vec![b"false".to_vec()], &b"\x30\x0c\x0a\x01\x01\x30\x07\x04\x05false"[..]),
            (StateItem::GetAccountExpiration, Vec::new(), b"\x30\x03\x0a\x01\x04"),
        ];
        let list: Vec<u8> = operations.iter().flat_map(|(.., bytes)| bytes.to_vec()).collect();
        let mut value = b"\x30\x1b\x04\x04cn=a\x30\x13".to_vec();
        value.extend(list);
        let operations = operations.into_iter().map(|(item, values, _)| StateOperation::new(item, values)).collect();
        let state = PasswordPolicyState { target: b"cn=a".to_vec(), operations };
        assert_eq!(state.encode(), value);
        assert_eq!(PasswordPolicyState::decode(Some(&value)), Ok(state));
        let everything = PasswordPolicyState { target: b"cn=a".to_vec(), operations: Vec::new() };
        assert_eq!(PasswordPolicyState::decode(Some(b"\x30\x06\x04\x04cn=a")), Ok(everything));
        let as_integer = PasswordPolicyState::decode(Some(b"\x30\x09\x04\x00\x30\x05\x30\x03\x02\x01\x04")).unwrap();
        assert_eq!(as_integer.operations[0].item(), Some(StateItem::GetAccountExpiration));
    }

    #[test]
    fn numbers_are_opendj_s() {
        for (number, item) in StateItem::ALL.into_iter().enumerate() {
            assert_eq!(item as usize, number);
        }
        assert_eq!((StateItem::GetFailures as u8, StateItem::ClearHistory as u8), (16, 40));
        assert_eq!(StateOperation { number: 41, values: Vec::new() }.item(), None);
        assert_eq!(StateOperation { number: -1, values: Vec::new() }.item(), None);
    }

    #[test]
    fn other_bytes_are_refused() {
        assert!(PasswordPolicyState::decode(None).is_err());
        let bad: [&[u8]; 4] = [b"", b"\x30\x00", b"\x30\x06\x04\x02ab\x30\x02", b"\x30\x02\x04\x00\x00"];
        for bad in bad {
            assert!(PasswordPolicyState::decode(Some(bad)).is_err(), "{bad:?}");
        }
        let operations = vec![StateOperation { number: 1, values: Vec::new() }; STATE_OPERATIONS_MAX + 1];
        let many = PasswordPolicyState { target: Vec::new(), operations }.encode();
        assert!(PasswordPolicyState::decode(Some(&many)).is_err());
    }

    proptest! {
        #[test]
        fn states_round_trip(
            target: Vec<u8>,
            operations in prop::collection::vec((any::<i64>(), any::<Vec<Vec<u8>>>()), 0..9),
        ) {
            let operations = operations.into_iter().map(|(number, values)| StateOperation { number, values }).collect();
            let state = PasswordPolicyState { target, operations };
            prop_assert_eq!(PasswordPolicyState::decode(Some(&state.encode())), Ok(state));
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = PasswordPolicyState::decode(Some(&bytes));
            let _ = crate::controls::AccountUsability::decode(Some(&bytes));
            let _ = crate::controls::PasswordPolicyResponse::decode(Some(&bytes));
        }
    }
}
