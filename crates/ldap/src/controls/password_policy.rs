//! The password policy control (draft-behera-ldap-password-policy-11), and the two of Netscape that say less.

use ber::{Reader, SEQUENCE, Tag, Writer};

use super::ControlBuf;
use crate::DecodeError;
use crate::oids::control;

const WARNING: Tag = 0xa0;
const ERROR: Tag = 0x81;
const SECONDS_BEFORE_EXPIRATION: Tag = 0x80;
const GRACE_LEFT: Tag = 0x81;

/// What the control of a response says; nothing at all is an answer, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PasswordPolicyResponse {
    /// What will happen.
    pub warning: Option<PolicyWarning>,
    /// What is wrong, not always with a result code that says so.
    pub error: Option<PolicyError>,
}

/// What a user is told in good time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyWarning {
    /// The password expires in so many seconds.
    SecondsBeforeExpiration(u32),
    /// The password has expired, and so many binds with it are left.
    GraceLeft(u32),
}

/// What a policy objects to, by the draft's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum PolicyError {
    PasswordExpired = 0,
    AccountLocked = 1,
    ChangeAfterReset = 2,
    PasswordModNotAllowed = 3,
    MustSupplyOldPassword = 4,
    InsufficientPasswordQuality = 5,
    PasswordTooShort = 6,
    PasswordTooYoung = 7,
    PasswordInHistory = 8,
    PasswordTooLong = 9,
}

const ERRORS: [PolicyError; 10] = [
    PolicyError::PasswordExpired,
    PolicyError::AccountLocked,
    PolicyError::ChangeAfterReset,
    PolicyError::PasswordModNotAllowed,
    PolicyError::MustSupplyOldPassword,
    PolicyError::InsufficientPasswordQuality,
    PolicyError::PasswordTooShort,
    PolicyError::PasswordTooYoung,
    PolicyError::PasswordInHistory,
    PolicyError::PasswordTooLong,
];

impl PasswordPolicyResponse {
    /// One that says only this.
    #[must_use]
    pub fn of_error(error: PolicyError) -> PasswordPolicyResponse {
        PasswordPolicyResponse { warning: None, error: Some(error) }
    }

    /// From a control value.
    pub fn decode(value: Option<&[u8]>) -> Result<Self, DecodeError> {
        let mut outer = Reader::new(value.ok_or(DecodeError::Empty("the value of the control"))?);
        let mut inner = outer.sequence()?;
        outer.finish()?;
        let mut found = Self::default();
        if inner.peek_tag() == Some(WARNING) {
            let mut choice = inner.enter(WARNING)?;
            let tag = choice.peek_tag();
            found.warning = Some(match tag {
                Some(SECONDS_BEFORE_EXPIRATION) => {
                    PolicyWarning::SecondsBeforeExpiration(number(choice.integer_tagged(SECONDS_BEFORE_EXPIRATION)?)?)
                }
                _ => PolicyWarning::GraceLeft(number(choice.integer_tagged(GRACE_LEFT)?)?),
            });
            choice.finish()?;
        }
        if inner.peek_tag() == Some(ERROR) {
            let value = inner.integer_tagged(ERROR)?;
            let error = usize::try_from(value).ok().and_then(|at| ERRORS.get(at)).copied();
            found.error = Some(error.ok_or(DecodeError::BadEnumerated { field: "password policy error", value })?);
        }
        inner.finish()?;
        Ok(found)
    }

    /// To a control value.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(16);
        let mut w = Writer::new(&mut out);
        let all = w.begin(SEQUENCE);
        if let Some(warning) = self.warning {
            let choice = w.begin(WARNING);
            match warning {
                PolicyWarning::SecondsBeforeExpiration(seconds) => {
                    w.integer(SECONDS_BEFORE_EXPIRATION, i64::from(seconds));
                }
                PolicyWarning::GraceLeft(left) => w.integer(GRACE_LEFT, i64::from(left)),
            }
            w.end(choice);
        }
        if let Some(error) = self.error {
            w.integer(ERROR, i64::from(error as u8));
        }
        w.end(all);
        out
    }

    /// The control for a client that asked for it.
    #[must_use]
    pub fn control(&self) -> ControlBuf {
        ControlBuf::new(control::PASSWORD_POLICY, Some(self.encode()))
    }

    /// Netscape's control for a client that did not: the password has expired, or must be changed, or will expire.
    #[must_use]
    pub fn netscape_control(&self) -> Option<ControlBuf> {
        match (self.error, self.warning) {
            (Some(PolicyError::PasswordExpired | PolicyError::ChangeAfterReset), _) => {
                Some(ControlBuf::new(control::PASSWORD_EXPIRED, Some(b"0".to_vec())))
            }
            (_, Some(PolicyWarning::SecondsBeforeExpiration(seconds))) => {
                Some(ControlBuf::new(control::PASSWORD_EXPIRING, Some(seconds.to_string().into_bytes())))
            }
            _ => None,
        }
    }
}

fn number(value: i64) -> Result<u32, DecodeError> {
    u32::try_from(value).map_err(|_| DecodeError::BadEnumerated { field: "number of a password policy warning", value })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As OpenDJ and slapd were seen to send them.
    #[test]
    fn bytes_are_those_of_other_servers() {
        let seconds = PolicyWarning::SecondsBeforeExpiration;
        let cases: [(Option<PolicyWarning>, Option<PolicyError>, &[u8]); 6] = [
            (None, None, &[0x30, 0]),
            (Some(seconds(100)), None, &[0x30, 5, 0xa0, 3, 0x80, 1, 100]),
            (Some(seconds(432_000)), None, &[0x30, 7, 0xa0, 5, 0x80, 3, 6, 0x97, 0x80]),
            (Some(PolicyWarning::GraceLeft(2)), None, &[0x30, 5, 0xa0, 3, 0x81, 1, 2]),
            (None, Some(PolicyError::AccountLocked), &[0x30, 3, 0x81, 1, 1]),
            (
                Some(PolicyWarning::GraceLeft(1)),
                Some(PolicyError::PasswordExpired),
                &[0x30, 8, 0xa0, 3, 0x81, 1, 1, 0x81, 1, 0],
            ),
        ];
        for (warning, error, bytes) in cases {
            let response = PasswordPolicyResponse { warning, error };
            assert_eq!(response.encode(), bytes);
            assert_eq!(PasswordPolicyResponse::decode(Some(bytes)), Ok(response));
        }
    }

    #[test]
    fn every_error_has_the_number_of_the_draft() {
        for (number, error) in ERRORS.into_iter().enumerate() {
            assert_eq!(error as usize, number);
            let response = PasswordPolicyResponse::of_error(error);
            assert_eq!(PasswordPolicyResponse::decode(Some(&response.encode())), Ok(response));
        }
        let bad: [&[u8]; 5] =
            [&[], &[0x30, 3, 0x81, 1, 10], &[0x30, 3, 0x81, 1, 0xff], &[0x30, 2, 0xa0, 0], &[0x30, 0, 0]];
        for bad in bad {
            assert!(PasswordPolicyResponse::decode(Some(bad)).is_err(), "{bad:?}");
        }
        assert!(PasswordPolicyResponse::decode(None).is_err());
    }

    #[test]
    fn netscape_s_controls_tell_expired_and_expiring() {
        let expired = PasswordPolicyResponse::of_error(PolicyError::ChangeAfterReset).netscape_control();
        assert_eq!(expired, Some(ControlBuf::new("2.16.840.1.113730.3.4.4", Some(b"0".to_vec()))));
        let warning = Some(PolicyWarning::SecondsBeforeExpiration(86_399));
        let expiring = PasswordPolicyResponse { warning, error: None }.netscape_control();
        assert_eq!(expiring, Some(ControlBuf::new("2.16.840.1.113730.3.4.5", Some(b"86399".to_vec()))));
        assert_eq!(PasswordPolicyResponse::of_error(PolicyError::AccountLocked).netscape_control(), None);
        assert_eq!(PasswordPolicyResponse::default().netscape_control(), None);
    }
}
