//! From what went wrong below to what the client is told: result code, matched DN, and a message that says what to do.
//!
//! Knows result codes (RFC 4511 appendix A) and the store's errors; decides nothing about requests.

use ldap::{DecodeError, LdapResult, ResultCode};
use store::StoreError;

/// A result that refuses, with a message for a person.
#[must_use]
pub fn refuse(code: ResultCode, message: impl Into<String>) -> LdapResult {
    LdapResult::new(code, message)
}

/// `noSuchObject` with the last entry found on the way.
#[must_use]
pub fn no_such_object(dn: &str, matched: impl Into<String>) -> LdapResult {
    let matched = matched.into();
    let message = if matched.is_empty() {
        format!("There is no entry \"{dn}\": no suffix of this server holds it")
    } else {
        format!("There is no entry \"{dn}\": the deepest existing entry on the way is \"{matched}\"")
    };
    LdapResult::new(ResultCode::NO_SUCH_OBJECT, message).with_matched_dn(matched)
}

/// `noSuchObject` for a name in a suffix that has no entry yet.
#[must_use]
pub fn empty_suffix(dn: &str, suffix: &str) -> LdapResult {
    let message = format!(
        "There is no entry \"{dn}\": the suffix \"{suffix}\" is empty; add its entry first, or import data into its backend"
    );
    LdapResult::new(ResultCode::NO_SUCH_OBJECT, message)
}

/// `invalidDNSyntax`.
#[must_use]
pub fn invalid_dn(dn: &[u8], reason: impl std::fmt::Display) -> LdapResult {
    LdapResult::new(ResultCode::INVALID_DN_SYNTAX, format!("\"{}\" is not a distinguished name: {reason}", shown(dn)))
}

/// What a failure of the store means to a client.
#[must_use]
pub fn store_failure(error: &StoreError) -> LdapResult {
    let code = match error {
        StoreError::DiskFull { .. } => ResultCode::UNWILLING_TO_PERFORM,
        StoreError::Busy => ResultCode::BUSY,
        StoreError::Closed | StoreError::UpdatesStopped { .. } => ResultCode::UNAVAILABLE,
        StoreError::ProposalTooLarge { .. }
        | StoreError::RecordTooLarge { .. }
        | StoreError::TooManyDescriptions { .. }
        | StoreError::TooManyIndexes { .. } => ResultCode::ADMIN_LIMIT_EXCEEDED,
        _ => ResultCode::OTHER,
    };
    let message = match error {
        StoreError::DiskFull { .. } => {
            format!("{error}: nothing was changed; make room on the server's disk, then repeat the request")
        }
        StoreError::Busy | StoreError::Closed | StoreError::UpdatesStopped { .. } => error.to_string(),
        _ if code == ResultCode::ADMIN_LIMIT_EXCEEDED => error.to_string(),
        _ => format!("The server could not do this: {error}"),
    };
    LdapResult::new(code, message)
}

/// `protocolError` for a control whose value is not what its specification says, `adminLimitExceeded` for a filter that is too
/// large; to be used with `map_err`.
pub fn malformed_control(name: &str) -> impl Fn(DecodeError) -> LdapResult {
    move |problem| {
        let code = problem.result_code();
        let what = if code == ResultCode::PROTOCOL_ERROR { "malformed" } else { "too large" };
        refuse(code, format!("The value of the {name} control is {what}: {problem}"))
    }
}

/// Bytes of a request as a message may show them: short, and never more than a line.
#[must_use]
pub fn shown(bytes: &[u8]) -> String {
    const BYTES_MAX: usize = 200;
    let text = String::from_utf8_lossy(bytes.get(..BYTES_MAX.min(bytes.len())).unwrap_or_default());
    let mut text: String = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if bytes.len() > BYTES_MAX {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_short_line() {
        assert_eq!(shown(b"a\nb\0"), "a\u{fffd}b\u{fffd}");
        assert!(shown(&[b'x'; 5000]).len() < 250);
        let result = no_such_object("uid=x,dc=example,dc=com", "dc=example,dc=com");
        assert_eq!((result.code, &*result.matched_dn), (ResultCode::NO_SUCH_OBJECT, "dc=example,dc=com"));
    }

    #[test]
    fn a_full_disk_is_told_from_a_defect() {
        let full = store_failure(&StoreError::DiskFull { what: "log" });
        assert_eq!(full.code, ResultCode::UNWILLING_TO_PERFORM);
        assert_eq!(store_failure(&StoreError::Busy).code, ResultCode::BUSY);
        assert_eq!(store_failure(&StoreError::Panicked).code, ResultCode::OTHER);
        let stopped = StoreError::UpdatesStopped { reason: Box::new(StoreError::Damaged("a record".to_owned())) };
        assert_eq!(store_failure(&stopped).code, ResultCode::UNAVAILABLE);
    }
}
