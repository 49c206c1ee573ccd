//! The account usability control of Sun and OpenDJ: whether the account of an entry could be used now.

use ber::{Reader, Tag, Writer};

use super::ControlBuf;
use crate::DecodeError;
use crate::oids::control;

const AVAILABLE: Tag = 0x80;
const NOT_AVAILABLE: Tag = 0xa1;
const INACTIVE: Tag = 0x80;
const RESET: Tag = 0x81;
const EXPIRED: Tag = 0x82;
const GRACE_LEFT: Tag = 0x83;
const SECONDS_BEFORE_UNLOCK: Tag = 0x84;

/// What the control of an entry says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccountUsability {
    /// It can be used.
    Available {
        /// Until the password expires; none: never.
        seconds_before_expiration: Option<u32>,
    },
    /// It cannot, or only to change the password.
    NotAvailable(NotAvailable),
}

/// Why an account cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NotAvailable {
    /// It is disabled, or not in use at this time.
    pub is_inactive: bool,
    /// The password must be changed.
    pub is_reset: bool,
    /// The password has expired.
    pub is_expired: bool,
    /// So many binds with the expired password are left.
    pub grace_left: Option<u32>,
    /// It is locked.
    pub lock: Option<UnlockedWhen>,
}

/// When a locked account is unlocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnlockedWhen {
    /// By itself, in so many seconds.
    InSeconds(u32),
    /// By an administrator.
    ByAdministrator,
}

impl AccountUsability {
    /// From a control value. Values of FALSE may be there or not.
    pub fn decode(value: Option<&[u8]>) -> Result<Self, DecodeError> {
        let mut outer = Reader::new(value.ok_or(DecodeError::Empty("the value of the control"))?);
        if outer.peek_tag() == Some(AVAILABLE) {
            let seconds = seconds(outer.integer_tagged(AVAILABLE)?)?;
            outer.finish()?;
            return Ok(Self::Available { seconds_before_expiration: seconds });
        }
        let mut inner = outer.enter(NOT_AVAILABLE)?;
        outer.finish()?;
        let mut flag = |tag| Ok::<_, DecodeError>(inner.peek_tag() == Some(tag) && inner.boolean_tagged(tag)?);
        let (is_inactive, is_reset, is_expired) = (flag(INACTIVE)?, flag(RESET)?, flag(EXPIRED)?);
        let mut number = |tag| match inner.peek_tag() == Some(tag) {
            true => Ok::<_, DecodeError>(Some(seconds(inner.integer_tagged(tag)?)?)),
            false => Ok(None),
        };
        let grace_left = number(GRACE_LEFT)?.flatten();
        let lock = number(SECONDS_BEFORE_UNLOCK)?
            .map(|seconds| seconds.map_or(UnlockedWhen::ByAdministrator, UnlockedWhen::InSeconds));
        inner.finish()?;
        Ok(Self::NotAvailable(NotAvailable { is_inactive, is_reset, is_expired, grace_left, lock }))
    }

    /// To a control value, without values of FALSE, as OpenDJ leaves them out.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(24);
        let mut w = Writer::new(&mut out);
        match self {
            Self::Available { seconds_before_expiration } => {
                w.integer(AVAILABLE, seconds_before_expiration.map_or(-1, i64::from));
            }
            Self::NotAvailable(reasons) => {
                let all = w.begin(NOT_AVAILABLE);
                for (tag, is_set) in
                    [(INACTIVE, reasons.is_inactive), (RESET, reasons.is_reset), (EXPIRED, reasons.is_expired)]
                {
                    if is_set {
                        w.boolean(tag, true);
                    }
                }
                if let Some(left) = reasons.grace_left {
                    w.integer(GRACE_LEFT, i64::from(left));
                }
                if let Some(lock) = reasons.lock {
                    let seconds = match lock {
                        UnlockedWhen::InSeconds(seconds) => i64::from(seconds),
                        UnlockedWhen::ByAdministrator => -1,
                    };
                    w.integer(SECONDS_BEFORE_UNLOCK, seconds);
                }
                w.end(all);
            }
        }
        out
    }

    /// The control of an entry.
    #[must_use]
    pub fn control(&self) -> ControlBuf {
        ControlBuf::new(control::ACCOUNT_USABILITY, Some(self.encode()))
    }
}

/// -1 stands for "never".
fn seconds(value: i64) -> Result<Option<u32>, DecodeError> {
    match value {
        -1 => Ok(None),
        _ => u32::try_from(value)
            .map(Some)
            .map_err(|_| DecodeError::BadEnumerated { field: "number of the account usability control", value }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As OpenDJ was seen to send them.
    #[test]
    fn bytes_are_those_of_other_servers() {
        let none = NotAvailable::default();
        let cases: [(AccountUsability, &[u8]); 7] = [
            (AccountUsability::Available { seconds_before_expiration: None }, &[0x80, 1, 0xff]),
            (AccountUsability::Available { seconds_before_expiration: Some(300) }, &[0x80, 2, 1, 44]),
            (AccountUsability::NotAvailable(NotAvailable { is_inactive: true, ..none }), &[0xa1, 3, 0x80, 1, 0xff]),
            (AccountUsability::NotAvailable(NotAvailable { is_reset: true, ..none }), &[0xa1, 3, 0x81, 1, 0xff]),
            (
                AccountUsability::NotAvailable(NotAvailable { is_expired: true, grace_left: Some(2), ..none }),
                &[0xa1, 6, 0x82, 1, 0xff, 0x83, 1, 2],
            ),
            (
                AccountUsability::NotAvailable(NotAvailable { lock: Some(UnlockedWhen::InSeconds(4)), ..none }),
                &[0xa1, 3, 0x84, 1, 4],
            ),
            (
                AccountUsability::NotAvailable(NotAvailable { lock: Some(UnlockedWhen::ByAdministrator), ..none }),
                &[0xa1, 3, 0x84, 1, 0xff],
            ),
        ];
        for (usability, bytes) in cases {
            assert_eq!(usability.encode(), bytes);
            assert_eq!(AccountUsability::decode(Some(bytes)), Ok(usability));
        }
        // slapd writes all five.
        let all = [0xa1, 15, 0x80, 1, 0xff, 0x81, 1, 0, 0x82, 1, 0, 0x83, 1, 0xff, 0x84, 1, 3];
        let locked = NotAvailable { is_inactive: true, lock: Some(UnlockedWhen::InSeconds(3)), ..none };
        assert_eq!(AccountUsability::decode(Some(&all)), Ok(AccountUsability::NotAvailable(locked)));
    }

    #[test]
    fn other_bytes_are_refused() {
        let bad: [&[u8]; 5] = [&[], &[0x80, 1, 0xfe], &[0xa1, 3, 0x84, 1, 0xfe], &[0xa1, 1], &[0x80, 1, 0xff, 0]];
        for bad in bad {
            assert!(AccountUsability::decode(Some(bad)).is_err(), "{bad:?}");
        }
        assert!(AccountUsability::decode(None).is_err());
    }
}
