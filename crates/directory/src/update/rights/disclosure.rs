//! What the asker is told of a result, and what only the log is: an entry that does not show does not exist, also when
//! something goes wrong with it.
//!
//! Knows results; not how they came about.

use accounts::PolicyError;
use ldap::{LdapResult, ResultCode};

use super::denial::Denial;
use super::refusal::Refusal;
use crate::refusal::Refusal as OwnRefusal;
use query::error::store_failure;

/// How results of an update may be told.
#[derive(Clone, Debug)]
pub(crate) enum Disclosure {
    /// What the request is about shows.
    Open,
    /// The entry does not show: whatever goes wrong is told with the result for an entry that does not exist.
    HiddenEntry(Box<LdapResult>),
    /// The entry above a new one, or above a new place, does not show: what goes wrong with it is told with the result
    /// for a place where the asker may add nothing.
    HiddenParent(Box<LdapResult>),
}

/// A result as the asker is told, with what the log says beside it.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    /// What the asker is told.
    pub(crate) result: LdapResult,
    /// What only the log is.
    pub(crate) log: LogNote,
    /// What the password policy control says.
    pub(crate) policy: Option<PolicyError>,
}

/// What the log says of a refusal beside what the asker is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogNote {
    /// The reason's name, of refusals for lack of rights; empty of others.
    pub reason: &'static str,
    /// What the asker would have been told about an entry that shows.
    pub masked: Option<Box<LdapResult>>,
}

/// Results that say something of the server, or that the update would have succeeded, and nothing of an entry.
const SERVERS_OWN: [ResultCode; 5] =
    [ResultCode::SUCCESS, ResultCode::NO_OPERATION, ResultCode::BUSY, ResultCode::UNAVAILABLE, ResultCode::OTHER];

/// Results that say something of the entry above a new one.
const PARENTS: [ResultCode; 4] = [
    ResultCode::ALIAS_PROBLEM,
    ResultCode::NO_SUCH_OBJECT,
    ResultCode::NAMING_VIOLATION,
    ResultCode::UNWILLING_TO_PERFORM,
];

impl Disclosure {
    /// A result as the asker is told.
    pub(crate) fn tell(&self, result: LdapResult) -> Told {
        let instead = match self {
            Disclosure::Open => None,
            Disclosure::HiddenEntry(missing) => Some(missing).filter(|_| !SERVERS_OWN.contains(&result.code)),
            Disclosure::HiddenParent(refused) => Some(refused).filter(|_| PARENTS.contains(&result.code)),
        };
        match instead {
            Some(instead) if **instead != result => {
                let log = LogNote { reason: "", masked: Some(Box::new(result)) };
                Told { result: LdapResult::clone(instead), log, policy: None }
            }
            _ => Told { result, log: LogNote::default(), policy: None },
        }
    }

    /// The same for a denial.
    pub(crate) fn tell_denial(&self, denial: Denial) -> Told {
        match denial {
            Denial::Refused(refusal) => {
                let reason = refusal.reason();
                let mut told = self.tell((*refusal).into());
                told.log.reason = reason;
                told
            }
            Denial::Failed(error) => Told::open(store_failure(&error)),
        }
    }
}

impl Told {
    /// A result that tells nothing of hidden entries.
    pub(crate) fn open(result: LdapResult) -> Self {
        Self { result, log: LogNote::default(), policy: None }
    }
}

impl From<LdapResult> for Box<Told> {
    fn from(result: LdapResult) -> Self {
        Box::new(Told::open(result))
    }
}

impl From<OwnRefusal> for Box<Told> {
    fn from(refusal: OwnRefusal) -> Self {
        LdapResult::from(refusal).into()
    }
}

impl From<Refusal> for Box<Told> {
    fn from(refusal: Refusal) -> Self {
        Box::new(refusal.into())
    }
}

impl From<Refusal> for Told {
    fn from(refusal: Refusal) -> Self {
        Disclosure::Open.tell_denial(refusal.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_hidden_entry_only_what_the_server_says_of_itself_is_told() {
        let missing = LdapResult::new(ResultCode::NO_SUCH_OBJECT, "There is no entry");
        let hidden = Disclosure::HiddenEntry(Box::new(missing.clone()));
        for (code, told) in [
            (ResultCode::SUCCESS, ResultCode::SUCCESS),
            (ResultCode::NO_OPERATION, ResultCode::NO_OPERATION),
            (ResultCode::BUSY, ResultCode::BUSY),
            (ResultCode::NO_SUCH_ATTRIBUTE, ResultCode::NO_SUCH_OBJECT),
            (ResultCode::ATTRIBUTE_OR_VALUE_EXISTS, ResultCode::NO_SUCH_OBJECT),
            (ResultCode::OBJECT_CLASS_VIOLATION, ResultCode::NO_SUCH_OBJECT),
            (ResultCode::INSUFFICIENT_ACCESS_RIGHTS, ResultCode::NO_SUCH_OBJECT),
            (ResultCode::NOT_ALLOWED_ON_NON_LEAF, ResultCode::NO_SUCH_OBJECT),
            (ResultCode::ASSERTION_FAILED, ResultCode::NO_SUCH_OBJECT),
            (ResultCode::CONSTRAINT_VIOLATION, ResultCode::NO_SUCH_OBJECT),
        ] {
            let real = LdapResult::new(code, "It is so");
            let answer = hidden.tell(real.clone());
            assert_eq!(answer.result.code, told, "{code}");
            let is_masked = code != told;
            assert_eq!(answer.log.masked.map(|masked| *masked), is_masked.then_some(real), "{code}");
            assert!(!is_masked || answer.result == missing);
        }
        let open = Disclosure::Open.tell(LdapResult::new(ResultCode::NO_SUCH_ATTRIBUTE, "No such value"));
        assert_eq!((open.result.code, open.log.masked), (ResultCode::NO_SUCH_ATTRIBUTE, None));
    }

    #[test]
    fn of_a_hidden_parent_nothing_is_told() {
        let refused = LdapResult::from(Refusal::MayNotAdd { dn: "cn=x".to_owned() });
        let hidden = Disclosure::HiddenParent(Box::new(refused));
        let told = |code| hidden.tell(LdapResult::new(code, "It is so")).result.code;
        assert_eq!(told(ResultCode::ALIAS_PROBLEM), ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
        // About the request itself.
        assert_eq!(told(ResultCode::OBJECT_CLASS_VIOLATION), ResultCode::OBJECT_CLASS_VIOLATION);
        let denied = hidden.tell_denial(Refusal::WriteSubentry.into());
        assert_eq!((denied.result.code, denied.log.reason), (ResultCode::INSUFFICIENT_ACCESS_RIGHTS, "WriteSubentry"));
    }
}
