//! Passwords that another directory checks: under which name an account is known there, and what the other side's
//! answer means (OpenDJ's LDAP pass-through authentication policy).
//!
//! Knows neither entries nor servers.

use std::time::Duration;

use ldap::filter::{FilterSyntaxError, write_escaped};
use ldap::{FilterBuf, ResultCode};
use password::Scheme;

use crate::moment::Moment;

/// Where in a template the value goes.
const PLACE: &str = "%s";

/// How passwords are checked elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PassThrough {
    /// How accounts are found there.
    pub mapping: Mapping,
    /// Right passwords are kept; none: each is asked about.
    pub cached: Option<CacheRule>,
}

/// How accounts are found in the other directory.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Mapping {
    /// They have the same name there.
    #[default]
    Unmapped,
    /// An attribute of the account has the name.
    MappedBind {
        /// Attribute types; the first that the entry has counts.
        attributes: Vec<String>,
    },
    /// A search by values of the account finds the one entry there.
    MappedSearch {
        /// Attribute types whose values are looked for.
        attributes: Vec<String>,
        /// Where; each is searched whole.
        bases: Vec<String>,
        /// The filter of one value; none: the attribute that has the value here equals it there.
        template: Option<FilterTemplate>,
    },
}

/// How a password is kept that the other directory said is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheRule {
    /// In which form.
    pub scheme: Scheme,
    /// For how long it counts.
    pub time_to_live: Duration,
}

/// A filter with `%s` where a value goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterTemplate(String);

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// There is no place for the value.
    #[error("it has no %s, where the value goes: write for example (uid=%s)")]
    NoPlace,
    /// It is no filter.
    #[error("{0}")]
    Filter(FilterSyntaxError),
}

/// What a bind at the other directory means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteAnswer {
    /// The password is right.
    Right,
    /// The password, or the account there, is not.
    Wrong,
    /// That server cannot say; another may.
    CannotSay,
}

impl FilterTemplate {
    /// Reads a template.
    ///
    /// # Errors
    /// When it has no place for the value, or is no filter with one in it.
    pub fn parse(text: &str) -> Result<FilterTemplate, TemplateError> {
        if !text.contains(PLACE) {
            return Err(TemplateError::NoPlace);
        }
        let template = FilterTemplate(text.trim().to_owned());
        ldap::filter::parse(&template.with(b"value")).map_err(TemplateError::Filter)?;
        Ok(template)
    }

    /// The filter of a value, in brackets.
    fn with(&self, value: &[u8]) -> String {
        let mut escaped = String::new();
        // A string takes everything.
        let _ = write_escaped(&mut escaped, value);
        let text = self.0.replace(PLACE, &escaped);
        if text.starts_with('(') { text } else { format!("({text})") }
    }
}

impl Mapping {
    /// Attribute types of the account that are needed to find it there.
    #[must_use]
    pub fn attributes(&self) -> &[String] {
        match self {
            Mapping::Unmapped => &[],
            Mapping::MappedBind { attributes } | Mapping::MappedSearch { attributes, .. } => attributes,
        }
    }

    /// The filter that finds an account with these (attribute type, value) there. None: it has no value to look for.
    #[must_use]
    pub fn filter(&self, values: &[(&str, &[u8])]) -> Option<FilterBuf> {
        let Mapping::MappedSearch { template, .. } = self else { return None };
        let Some(template) = template else {
            return (!values.is_empty()).then(|| FilterBuf::one_of(values.iter().copied()));
        };
        let all: String = values.iter().map(|(_, value)| template.with(value)).collect();
        // The template was tried with a value, and values are escaped.
        (!values.is_empty()).then(|| ldap::filter::parse(&format!("(|{all})")).ok()).flatten()
    }
}

impl CacheRule {
    /// Whether a password counts at `now` that was found right `at` that time. One from the future does not: a clock
    /// was set back, and how old it is cannot be said.
    #[must_use]
    pub fn counts(&self, at: Moment, now: Moment) -> bool {
        at <= now && now < at.after(self.time_to_live)
    }
}

/// What the result of a bind at the other directory means. Servers that are busy, stopping or set up wrong say nothing
/// of the password.
#[must_use]
pub fn remote_answer(code: ResultCode) -> RemoteAnswer {
    match code {
        ResultCode::SUCCESS => RemoteAnswer::Right,
        // 389 says constraintViolation of locked accounts, unwillingToPerform of those that are out of use.
        ResultCode::INVALID_CREDENTIALS
        | ResultCode::NO_SUCH_OBJECT
        | ResultCode::INAPPROPRIATE_AUTHENTICATION
        | ResultCode::INVALID_DN_SYNTAX
        | ResultCode::CONSTRAINT_VIOLATION
        | ResultCode::UNWILLING_TO_PERFORM => RemoteAnswer::Wrong,
        _ => RemoteAnswer::CannotSay,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(template: Option<&str>) -> Mapping {
        let template = template.map(|text| FilterTemplate::parse(text).unwrap());
        Mapping::MappedSearch { attributes: vec!["uid".into(), "mail".into()], bases: Vec::new(), template }
    }

    #[test]
    fn an_account_is_looked_for_by_all_its_values() {
        let filter = |mapping: &Mapping, values: &[(&str, &[u8])]| Some(mapping.filter(values)?.to_string());
        let plain = search(None);
        assert_eq!(filter(&plain, &[("uid", b"ann")]).unwrap(), "(|(uid=ann))");
        let both: [(&str, &[u8]); 2] = [("uid", b"ann"), ("mail", b"ann@example.com")];
        assert_eq!(filter(&plain, &both).unwrap(), "(|(uid=ann)(mail=ann@example.com))");
        assert_eq!(filter(&plain, &[]), None);
        let made = search(Some("(&(objectClass=person)(sAMAccountName=%s))"));
        assert_eq!(filter(&made, &both[..1]).unwrap(), "(|(&(objectClass=person)(sAMAccountName=ann)))");
        assert_eq!(filter(&search(Some("uid=%s")), &both[..1]).unwrap(), "(|(uid=ann))");
        assert_eq!(filter(&Mapping::Unmapped, &both), None);
    }

    /// A value of the entry cannot change what the filter asks for.
    #[test]
    fn values_stay_values() {
        for value in [&b"*"[..], b")(uid=*", b"a\\2a", b"\0", b"x*y", "ü".as_bytes(), b"\xff"] {
            for template in [Some("(uid=%s)"), None] {
                let filter = search(template).filter(&[("uid", value)]).unwrap();
                let nodes = filter.filter();
                let [ldap::FilterNode::Or { .. }, ldap::FilterNode::Equality(found)] = nodes.nodes() else {
                    panic!("{filter}")
                };
                assert_eq!(found.value, value);
            }
        }
    }

    #[test]
    fn a_template_is_a_filter_with_a_place() {
        assert_eq!(FilterTemplate::parse("(uid=ann)"), Err(TemplateError::NoPlace));
        assert!(matches!(FilterTemplate::parse("(uid=%s"), Err(TemplateError::Filter(_))));
        assert!(FilterTemplate::parse("(|(uid=%s)(cn=%s))").is_ok());
    }

    #[test]
    fn a_cached_password_counts_for_its_time() {
        let rule = CacheRule { scheme: Scheme::SaltedSha512, time_to_live: Duration::from_secs(10) };
        let counts = |at, now| rule.counts(Moment(at), Moment(now));
        assert_eq!([counts(5, 5), counts(5, 10_004), counts(5, 10_005), counts(6, 5)], [true, true, false, false]);
    }

    #[test]
    fn only_what_is_about_the_account_counts_as_wrong() {
        assert_eq!(remote_answer(ResultCode::SUCCESS), RemoteAnswer::Right);
        for code in [ResultCode::INVALID_CREDENTIALS, ResultCode::NO_SUCH_OBJECT, ResultCode::UNWILLING_TO_PERFORM] {
            assert_eq!(remote_answer(code), RemoteAnswer::Wrong);
        }
        for code in [
            ResultCode::BUSY,
            ResultCode::UNAVAILABLE,
            ResultCode::OTHER,
            ResultCode::STRONGER_AUTH_REQUIRED,
            ResultCode::REFERRAL,
        ] {
            assert_eq!(remote_answer(code), RemoteAnswer::CannotSay);
        }
    }
}
