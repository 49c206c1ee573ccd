//! From what went wrong below to what the client is told: result code, matched DN, and a message that says what to do.
//!
//! Knows result codes (RFC 4511 appendix A) and the store's errors; decides nothing about requests.

use ldap::{DecodeError, LdapResult, ResultCode};
use store::StoreError;

ldap::refusals! {
    /// Why a name leads nowhere, and what a failure of the store means to a client.
    pub enum Refusal {
        NoSuchSuffix { dn: String } = ResultCode::NO_SUCH_OBJECT,
            "There is no entry \"{dn}\": no suffix of this server holds it";
        NoSuchEntry { dn: String, matched: String } = ResultCode::NO_SUCH_OBJECT,
            "There is no entry \"{dn}\": the deepest existing entry on the way is \"{matched}\"", matched_dn: matched;
        EmptySuffix { dn: String, suffix: String } = ResultCode::NO_SUCH_OBJECT,
            "There is no entry \"{dn}\": the suffix \"{suffix}\" is empty; add its entry first, or import data into \
             its backend";
        NoEntryAbove { dn: String } = ResultCode::NO_SUCH_OBJECT,
            "There is no entry \"{dn}\", nor any above it";
        InvalidDn { dn: String, problem: String } = ResultCode::INVALID_DN_SYNTAX,
            "\"{dn}\" is not a distinguished name: {problem}";
        MalformedControl { control: String, problem: String } = ResultCode::PROTOCOL_ERROR,
            "The value of the {control} control is malformed: {problem}";
        TooLargeControl { control: String, problem: String } = ResultCode::ADMIN_LIMIT_EXCEEDED,
            "The value of the {control} control is too large: {problem}";
        AliasToNothing { matched: String } = ResultCode::ALIAS_PROBLEM,
            "An alias on the way to the entry names an entry that does not exist", matched_dn: matched;
        AliasWithoutName { alias: String } = ResultCode::ALIAS_PROBLEM,
            "The alias \"{alias}\" has no aliasedObjectName that is a DN", matched_dn: alias;
        AliasNotReadable { alias: String } = ResultCode::ALIAS_DEREFERENCING_PROBLEM,
            "You may not read where the alias \"{alias}\" leads", matched_dn: alias;
        AliasCircle { most: usize, dn: String } = ResultCode::LOOP_DETECT,
            "More than {most} aliases lie on the way to \"{dn}\": they lead in a circle";
        Elsewhere { dn: String, urls: Vec<String> } =
            if urls.is_empty() { ResultCode::OTHER } else { ResultCode::REFERRAL },
            "The entries from \"{dn}\" on are on another server", matched_dn: dn, referrals: urls;
        DiskFull { error: String } = ResultCode::UNWILLING_TO_PERFORM,
            "{error}: nothing was changed; make room on the server's disk, then repeat the request";
        Busy { error: String } = ResultCode::BUSY, "{error}";
        Unavailable { error: String } = ResultCode::UNAVAILABLE, "{error}";
        StoreLimit { error: String } = ResultCode::ADMIN_LIMIT_EXCEEDED, "{error}";
        StoreFailure { error: String } = ResultCode::OTHER, "The server could not do this: {error}";
    }
}

impl Refusal {
    /// `noSuchObject` with the last entry found on the way.
    #[must_use]
    pub fn no_such_object(dn: &str, matched: impl Into<String>) -> Self {
        let (dn, matched) = (dn.to_owned(), matched.into());
        if matched.is_empty() { Self::NoSuchSuffix { dn } } else { Self::NoSuchEntry { dn, matched } }
    }

    /// `noSuchObject` for a name in a suffix that has no entry yet. The empty suffix has none of its own.
    #[must_use]
    pub fn empty_suffix(dn: &str, suffix: &str) -> Self {
        let dn = dn.to_owned();
        if suffix.is_empty() { Self::NoEntryAbove { dn } } else { Self::EmptySuffix { dn, suffix: suffix.to_owned() } }
    }

    /// `invalidDNSyntax`.
    #[must_use]
    pub fn invalid_dn(dn: &[u8], problem: impl std::fmt::Display) -> Self {
        Self::InvalidDn { dn: shown(dn), problem: problem.to_string() }
    }

    /// A control whose value is not what its specification says, or a filter in it that is too large.
    #[must_use]
    pub fn malformed_control(name: &str, problem: &DecodeError) -> Self {
        let (control, code, problem) = (name.to_owned(), problem.result_code(), problem.to_string());
        match code {
            ResultCode::PROTOCOL_ERROR => Self::MalformedControl { control, problem },
            _ => Self::TooLargeControl { control, problem },
        }
    }
}

impl From<&StoreError> for Refusal {
    fn from(error: &StoreError) -> Self {
        let text = error.to_string();
        match error {
            StoreError::DiskFull { .. } => Self::DiskFull { error: text },
            StoreError::Busy => Self::Busy { error: text },
            StoreError::Closed | StoreError::UpdatesStopped { .. } | StoreError::OutcomeUnknown => {
                Self::Unavailable { error: text }
            }
            limit if limit.is_limit() => Self::StoreLimit { error: text },
            _ => Self::StoreFailure { error: text },
        }
    }
}

/// See [`Refusal::no_such_object`].
#[must_use]
pub fn no_such_object(dn: &str, matched: impl Into<String>) -> LdapResult {
    Refusal::no_such_object(dn, matched).into()
}

/// See [`Refusal::invalid_dn`].
#[must_use]
pub fn invalid_dn(dn: &[u8], problem: impl std::fmt::Display) -> LdapResult {
    Refusal::invalid_dn(dn, problem).into()
}

/// What a failure of the store means to a client.
#[must_use]
pub fn store_failure(error: &StoreError) -> LdapResult {
    Refusal::from(error).into()
}

/// See [`Refusal::malformed_control`]; to be used with `map_err`.
pub fn malformed_control(name: &str) -> impl Fn(DecodeError) -> LdapResult {
    move |problem| Refusal::malformed_control(name, &problem).into()
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
    use store::StopCause;

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
        let reason = Box::new(StoreError::Damaged("a record".to_owned()));
        let stopped = StoreError::UpdatesStopped { cause: StopCause::Apply, reason };
        assert_eq!(store_failure(&stopped).code, ResultCode::UNAVAILABLE);
        assert_eq!(store_failure(&StoreError::OutcomeUnknown).code, ResultCode::UNAVAILABLE);
    }
}
