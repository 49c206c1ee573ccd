//! Refusals as enums: each reason is a row with its result code and its text, so that whoever logs, translates or
//! replicates a refusal gets the reason, not a sentence.
//!
//! Each crate lists its own reasons with [`refusals!`](crate::refusals!). Knows none of them.

use crate::ResultCode;

/// Defines an enum of refusals. A row is `Name { field: Type } = code, "text with {field}";`. A result that has more
/// than code and text says so behind the text: `matched_dn: expression`, `referrals: expression`. Rows of another such
/// enum are taken over with `..Name(Enum);` behind the rows.
///
/// ```
/// use ldap::{LdapResult, ResultCode};
///
/// ldap::refusals! {
///     /// Why the shop refuses.
///     pub enum Refusal {
///         Closed = ResultCode::UNAVAILABLE, "The shop is closed";
///         SoldOut { what: String, left: u64 } = ResultCode::UNWILLING_TO_PERFORM, "Of {what} {left} are left";
///     }
/// }
/// let refusal = Refusal::SoldOut { what: "bread".to_owned(), left: 0 };
/// assert_eq!((refusal.code(), refusal.reason()), (ResultCode::UNWILLING_TO_PERFORM, "SoldOut"));
/// assert_eq!(LdapResult::from(refusal).message, "Of bread 0 are left");
/// ```
///
/// A test comes with each enum: all rows have an error's code (or the one of a referral) and one sentence without a
/// full stop.
#[macro_export]
macro_rules! refusals {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $(
                $variant:ident $({ $($field:ident: $type:ty),+ $(,)? })? = $code:expr, $text:literal
                $(, matched_dn: $matched:expr)? $(, referrals: $referrals:expr)?;
            )+
            $(..$other:ident($others:ty);)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[allow(missing_docs)] // the text says it
        $vis enum $name {
            $(#[doc = $text] $variant $({ $($field: $type),+ })?,)+
            $(#[doc = "Of the other enum."] $other($others),)*
        }

        #[allow(unused_variables)] // a code or name needs none of the fields
        impl $name {
            /// The result code.
            #[must_use]
            pub fn code(&self) -> $crate::ResultCode {
                match self {
                    $(Self::$variant $({ $($field),+ })? => $code,)+
                    $(Self::$other(other) => other.code(),)*
                }
            }

            /// The reason's name, which stays when the text changes.
            #[must_use]
            pub fn reason(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => stringify!($variant),)+
                    $(Self::$other(other) => other.reason(),)*
                }
            }

            /// One of each row.
            #[cfg(test)]
            fn samples() -> Vec<Self> {
                vec![$(Self::$variant $({ $($field: $crate::refusals::Sample::sample()),+ })?,)+]
            }
        }

        #[allow(unused_variables)] // a text needs not all fields
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    $(Self::$variant $({ $($field),+ })? => write!(f, $text),)+
                    $(Self::$other(other) => ::std::fmt::Display::fmt(other, f),)*
                }
            }
        }

        impl ::std::error::Error for $name {}

        impl From<$name> for $crate::LdapResult {
            #[allow(unused_variables)] // few rows have more than code and text
            fn from(refusal: $name) -> Self {
                let result = $crate::LdapResult::new(refusal.code(), refusal.to_string());
                match refusal {
                    $($name::$variant $({ $($field),+ })? => {
                        result $(.with_matched_dn($matched))? $(.with_referrals($referrals))?
                    })+
                    $($name::$other(other) => other.into(),)*
                }
            }
        }

        $(impl From<$others> for $name {
            fn from(other: $others) -> Self {
                Self::$other(other)
            }
        })*

        #[cfg(test)]
        mod refusal_rows {
            #[test]
            fn each_has_an_error_code_and_one_sentence() {
                let rows = super::$name::samples();
                let rows = rows.iter().map(|row| (row.reason(), row.code(), row.to_string()));
                let faults = $crate::refusals::faults(rows);
                assert!(faults.is_empty(), "{faults:#?}");
            }
        }
    };
}

/// A value to show a row with, in the test of the rows.
pub trait Sample {
    /// Such a value.
    fn sample() -> Self;
}

/// Any text.
const SAMPLE: &str = "Sample";

macro_rules! samples {
    ($($type:ty = $value:expr;)*) => {
        $(impl Sample for $type {
            fn sample() -> Self {
                $value
            }
        })*
    };
}

samples! {
    String = SAMPLE.to_owned();
    &'static str = SAMPLE;
    Vec<String> = vec!["ldap://localhost/".to_owned()];
    usize = 7;
    u64 = 7;
    i64 = 7;
    u32 = 7;
    ResultCode = ResultCode::OTHER;
}

/// What is wrong with rows of refusals: reason, code and text of each.
pub fn faults(rows: impl Iterator<Item = (&'static str, ResultCode, String)>) -> Vec<String> {
    let mut faults = Vec::new();
    for (reason, code, text) in rows {
        let mut fault = |is_one: bool, what: &str| {
            if is_one {
                faults.push(format!("{reason}: {what}: {code} \"{text}\""));
            }
        };
        fault(!code.is_error() && code != ResultCode::REFERRAL, "the code is not that of a refusal");
        fault(text.trim().is_empty() || text.trim() != text, "the text is empty or has spaces around it");
        fault(text.ends_with('.'), "the text ends with a full stop");
        fault(text.contains("  ") || text.contains('\n'), "the text has spaces that a person does not want to see");
        let words: Vec<&str> = text.split(' ').collect();
        let is_plain = |word: &&&str| word.starts_with(char::is_lowercase) && word.chars().all(char::is_alphabetic);
        fault(words.first().filter(is_plain).is_some(), "the text does not begin with a capital");
        fault(words.windows(2).any(|pair| matches!(pair, [a, b] if a == b && *a != SAMPLE)), "a word stands twice");
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::refusals! {
        /// Rows of every form.
        enum Refusal {
            Plain = ResultCode::BUSY, "All are busy";
            Elsewhere { count: u64, urls: Vec<String>, dn: String } = ResultCode::REFERRAL, "Ask {count} others",
                matched_dn: dn, referrals: urls;
            ..Base(Base);
        }
    }

    mod base {
        use crate::ResultCode;

        crate::refusals! {
            /// Rows that another enum takes over.
            pub enum Base {
                Missing { dn: String } = ResultCode::NO_SUCH_OBJECT, "There is no \"{dn}\"", matched_dn: dn;
            }
        }
    }

    use base::Base;

    #[test]
    fn a_row_becomes_a_result() {
        let urls = vec!["ldap://a.example/".to_owned()];
        let refusal = Refusal::Elsewhere { count: 3, urls: urls.clone(), dn: "dc=a".to_owned() };
        assert_eq!(refusal.reason(), "Elsewhere");
        let result = crate::LdapResult::from(refusal);
        assert_eq!((result.code, &*result.message), (ResultCode::REFERRAL, "Ask 3 others"));
        assert_eq!((&*result.matched_dn, result.referrals), ("dc=a", urls));
        let taken = Refusal::from(Base::Missing { dn: "dc=b".to_owned() });
        assert_eq!((taken.reason(), taken.code()), ("Missing", ResultCode::NO_SUCH_OBJECT));
        assert_eq!(crate::LdapResult::from(taken).matched_dn, "dc=b");
        assert_eq!(Refusal::Plain.to_string(), "All are busy");
    }

    #[test]
    fn faulty_rows_are_named() {
        let row = |code, text: &str| faults([("Row", code, text.to_owned())].into_iter()).len();
        assert_eq!(row(ResultCode::BUSY, "Wait until others are done"), 0);
        assert_eq!(row(ResultCode::SUCCESS, "All is well"), 1);
        for text in ["Wait.", "wait", " Wait", "", "Wait  long", "Wait until until noon"] {
            assert_eq!(row(ResultCode::BUSY, text), 1, "{text}");
        }
    }
}
