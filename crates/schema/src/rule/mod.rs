//! Matching rules: values become normal forms (byte strings), and matching becomes comparing bytes.
//!
//! * Equality: two values match iff their normal forms are equal.
//! * Ordering: the order of the normal forms is the order of the values. An ordering rule has the same normal form as
//!   the equality rule of its family, so that one index serves both.
//! * Substrings: the pieces are looked for in the normal form of the value ([`Substrings`]).
//! * Everything else (bits, words, relative times …) is an [`Assertion`] that is tried on normal forms.
//!
//! It knows nothing of entries, filters or indexes.

mod assertion;
mod certificate;
pub(crate) mod collation;
mod date;
mod display;
mod number;
mod structured;
mod substring;
mod table;

pub use assertion::{Assertion, KeyRange, MatchContext, PartialDate};
pub use collation::COLLATION_VERSION;
pub use display::text as display_text;
pub(crate) use number::{bit_string, boolean, is_integer};
pub(crate) use structured::{auth_password, split_unique_member};
pub use substring::{Position, Substrings};
pub use table::RULES;

use std::borrow::Cow;

use thiserror::Error;

use crate::prep::{self, Case, PrepError};
use crate::schema::Schema;
use crate::syntax::{Syntax, SyntaxError, is_numeric_oid, oid};

/// What a rule is for: which field of an attribute type may name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleRole {
    /// `EQUALITY`
    Equality,
    /// `ORDERING`
    Ordering,
    /// `SUBSTR`
    Substring,
    /// Approximate matching.
    Approximate,
    /// Only named in extensible filters.
    Extensible,
}

/// Why a value has no normal form under a rule, in words that follow "the value".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidValue {
    /// String preparation refused it.
    #[error("{0}")]
    Prep(#[from] PrepError),
    /// It is not of the rule's syntax.
    #[error("is not {0}")]
    NotA(&'static str),
    /// It is not of the syntax of the rule's assertions.
    #[error("{0}")]
    Syntax(#[from] SyntaxError),
    /// The rule cannot be applied to values of this kind by name alone.
    #[error("cannot be compared by {0}")]
    NotComparable(&'static str),
}

/// The normal form that a rule works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    CaseIgnore,
    CaseExact,
    Numeric,
    Telephone,
    CaseIgnoreList,
    Boolean,
    Integer,
    BitString,
    Octets,
    GeneralizedTime,
    UtcTime,
    Dn,
    UniqueMember,
    Oid,
    Uuid,
    Csn,
    HistoricalCsn,
    CsnSid,
    FirstOid,
    FirstInteger,
    FirstString,
    CertificateExact,
    AuthPassword,
    UserPassword,
    DoubleMetaphone,
    /// Sort keys of that language, see [`collation`].
    Collation(u8),
    /// Keys of the characters of a text in that language.
    CollationPieces(u8),
}

/// How an assertion of the rule is tried on a normal form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trial {
    Equal,
    Ordering,
    AtMost,
    AtLeast,
    Greater,
    Substrings,
    BitsAll,
    BitsAny,
    Word,
    Keyword,
    LaterThanNow,
    EarlierThanNow,
    PartialDate,
    Password,
    InChain,
}

/// One matching rule. All of them are built in: a rule is code.
#[derive(Debug, PartialEq, Eq)]
pub struct MatchingRule {
    /// Numeric OID.
    pub oid: &'static str,
    /// Names, the primary one first.
    pub names: &'static [&'static str],
    /// OID of the syntax of assertions.
    pub syntax: &'static str,
    /// What the rule is for.
    pub role: RuleRole,
    pub(crate) form: Form,
    pub(crate) trial: Trial,
    /// Values and assertions are IA5 strings, which a substring rule's syntax does not say.
    pub(crate) is_ia5: bool,
}

impl MatchingRule {
    /// The primary name.
    pub fn name(&self) -> &'static str {
        self.names.first().copied().unwrap_or(self.oid)
    }

    /// The built-in rule of that name or OID, collation rules aside. [`Schema::matching_rule`] is faster and knows
    /// those too.
    pub fn find(name: &str) -> Option<&'static MatchingRule> {
        RULES.iter().find(|rule| rule.oid == name || rule.names.iter().any(|known| known.eq_ignore_ascii_case(name)))
    }

    /// Appends the normal form of an attribute value.
    ///
    /// After an error `out` is as it was. A stored value without a normal form matches nothing by this rule.
    pub fn normalize(&self, schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
        let start = out.len();
        let result = self.form.normalize(schema, value, out);
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    /// Appends the normal form of an assertion value: equal to that of the values it matches, for equality rules.
    pub fn normalize_assertion(&self, schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
        self.check_assertion(schema, value)?;
        let start = out.len();
        let result = match self.form {
            Form::FirstOid => Form::Oid.normalize(schema, value, out),
            Form::FirstInteger => Form::Integer.normalize(schema, value, out),
            Form::FirstString => Form::CaseIgnore.normalize(schema, value, out),
            Form::CertificateExact => certificate::normalize_assertion(schema, value, out),
            Form::HistoricalCsn => Form::Csn.normalize(schema, value, out),
            form => form.normalize(schema, value, out),
        };
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    /// Refuses an assertion value that is not of the syntax that the rule asserts: a filter with it is Undefined (RFC
    /// 4511 §4.5.1.7). Normal forms alone would not do, as they are made of stored values that are older than the
    /// checks, too.
    fn check_assertion(&self, schema: &Schema, value: &[u8]) -> Result<(), InvalidValue> {
        let is_of_syntax = match self.form {
            // These have no normal form unless they are of the syntax; octets always are.
            Form::Octets
            | Form::UserPassword
            | Form::BitString
            | Form::GeneralizedTime
            | Form::UtcTime
            | Form::Dn
            | Form::UniqueMember
            | Form::Uuid
            | Form::HistoricalCsn
            | Form::CsnSid
            | Form::CertificateExact
            | Form::AuthPassword => true,
            // Text has a character at least; whether it is UTF-8, its preparation finds out.
            Form::CaseIgnore
            | Form::CaseExact
            | Form::DoubleMetaphone
            | Form::FirstString
            | Form::Collation(_)
            | Form::CollationPieces(_) => !value.is_empty() && (!self.is_ia5 || value.is_ascii()),
            Form::Integer | Form::FirstInteger => is_integer(value),
            Form::Numeric | Form::Telephone | Form::CaseIgnoreList | Form::Boolean | Form::Csn => false,
            // RFC 4517 §4.2.26: a name that nobody knows stands for no OID.
            Form::Oid | Form::FirstOid if !is_numeric_oid(value) && schema.oid_of(value).is_none() => {
                return Err(InvalidValue::NotA("a name that the schema knows, or an OID"));
            }
            Form::Oid | Form::FirstOid => true,
        };
        match schema.syntax(self.syntax.as_bytes()) {
            Some(syntax) if !is_of_syntax => Ok(syntax.validate(schema, value)?),
            _ => Ok(()),
        }
    }

    /// Appends the prepared form of one piece of a substring assertion (see [`Substrings`] for what edge spaces mean).
    pub fn normalize_piece(&self, piece: &[u8], position: Position, out: &mut Vec<u8>) -> Result<(), InvalidValue> {
        if self.is_ia5 && !piece.is_ascii() {
            return Err(InvalidValue::NotA("an IA5 string, which has ASCII characters only"));
        }
        let start = out.len();
        let result = substring::normalize_piece(self.form, piece, position, out);
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    /// What of a normal form the keys of a substring index are made from. Telephone numbers lose their `+` there, as in
    /// OpenDJ, so that its figures hold; equality and matching itself keep it (RFC 4517 §4.2.29). So such keys are
    /// candidates, no more.
    pub fn substring_form<'n>(&self, normal: &'n [u8]) -> Cow<'n, [u8]> {
        if self.form == Form::Telephone && normal.contains(&b'+') {
            return normal.iter().copied().filter(|byte| *byte != b'+').collect();
        }
        Cow::Borrowed(normal)
    }

    /// Whether byte comparison of normal forms decides the match (so that an equality index answers it exactly).
    pub fn is_exact(&self) -> bool {
        self.trial == Trial::Equal
    }

    /// The rule whose name an index of these normal forms bears, so that rules with the same forms share one: the
    /// equality rule of the family, where there is one.
    pub fn keyed_by(&'static self) -> &'static MatchingRule {
        let equality = match self.form {
            Form::Collation(locale) => collation::equality_of(locale),
            _ => self.relative(RuleRole::Equality),
        };
        equality.filter(|rule| self.trial != Trial::Substrings && rule.is_exact()).unwrap_or(self)
    }

    /// Whether values have index keys under this rule: all but stored passwords, which only their own check can tell.
    pub fn has_keys(&self) -> bool {
        self.trial != Trial::Password
    }

    /// Whether an assertion means something else tomorrow.
    pub fn depends_on_time(&self) -> bool {
        matches!(self.trial, Trial::LaterThanNow | Trial::EarlierThanNow)
    }

    /// Whether normal forms, and so index keys, depend on [`COLLATION_VERSION`].
    pub fn is_collation(&self) -> bool {
        matches!(self.form, Form::Collation(_) | Form::CollationPieces(_))
    }

    /// Whether both rules have the same normal forms, so that an index made for one serves the other.
    pub fn shares_form_with(&self, other: &MatchingRule) -> bool {
        self.form == other.form
    }
}

impl Form {
    fn normalize(self, schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> Result<(), InvalidValue> {
        match self {
            Form::CaseIgnore => Ok(prep::prepare(value, Case::Ignore, out)?),
            Form::CaseExact => Ok(prep::prepare(value, Case::Exact, out)?),
            Form::Numeric => Ok(prep::prepare_numeric(value, out)?),
            Form::Telephone => Ok(prep::prepare_telephone(value, out)?),
            Form::Octets | Form::UserPassword => {
                out.extend_from_slice(value);
                Ok(())
            }
            Form::Boolean => number::normalize_boolean(value, out),
            Form::Integer => number::normalize_integer(value, out),
            Form::BitString => number::normalize_bit_string(value, out),
            Form::Uuid => number::normalize_uuid(value, out),
            Form::Csn => number::normalize_csn(value, out),
            Form::HistoricalCsn => number::normalize_historical_csn(value, out),
            Form::CsnSid => number::normalize_csn_sid(value, out),
            Form::GeneralizedTime => date::normalize_generalized_time(value, out),
            Form::UtcTime => date::normalize_utc_time(value, out),
            Form::Dn => structured::normalize_dn(schema, value, out),
            Form::UniqueMember => structured::normalize_unique_member(schema, value, out),
            Form::Oid => structured::normalize_oid(schema, value, out),
            Form::CaseIgnoreList => structured::normalize_list(value, out),
            Form::FirstOid | Form::FirstInteger | Form::FirstString => {
                structured::normalize_first_component(self, schema, value, out)
            }
            Form::CertificateExact => certificate::normalize(schema, value, out),
            Form::AuthPassword => structured::normalize_auth_password(value, out),
            Form::DoubleMetaphone => structured::normalize_phonetic(value, out),
            Form::Collation(locale) => collation::normalize(locale, value, out),
            Form::CollationPieces(locale) => collation::normalize_whole_for_pieces(locale, value, out),
        }
    }
}

/// Rules that go with a syntax where an attribute type names none, as in OpenDJ: without them such an attribute could
/// neither be searched nor lose single values.
impl Syntax {
    pub(crate) fn default_equality(&self) -> Option<&'static MatchingRule> {
        let rule = match self.oid() {
            oid::DN => "distinguishedNameMatch",
            oid::BIT_STRING => "bitStringMatch",
            oid::BOOLEAN => "booleanMatch",
            oid::CERTIFICATE => "certificateExactMatch",
            oid::GENERALIZED_TIME => "generalizedTimeMatch",
            oid::IA5_STRING => "caseIgnoreIA5Match",
            oid::INTEGER => "integerMatch",
            oid::NAME_AND_OPTIONAL_UID => "uniqueMemberMatch",
            oid::NUMERIC_STRING => "numericStringMatch",
            oid::OID => "objectIdentifierMatch",
            oid::POSTAL_ADDRESS => "caseIgnoreListMatch",
            oid::TELEPHONE_NUMBER => "telephoneNumberMatch",
            oid::UTC_TIME => "uTCTimeMatch",
            oid::UUID => "uuidMatch",
            oid::CSN => "CSNMatch",
            oid::AUTH_PASSWORD => "authPasswordExactMatch",
            oid::USER_PASSWORD => "ds-mr-user-password-exact",
            oid::OCTET_STRING => "octetStringMatch",
            _ if self.human_readable => "caseIgnoreMatch",
            _ => "octetStringMatch",
        };
        MatchingRule::find(rule)
    }

    pub(crate) fn default_approximate(&self) -> Option<&'static MatchingRule> {
        let sounds = matches!(self.oid(), oid::DIRECTORY_STRING | oid::IA5_STRING | oid::PRINTABLE_STRING);
        MatchingRule::find("ds-mr-double-metaphone-approx").filter(|_| sounds)
    }
}

impl MatchingRule {
    /// The rule of another role that works on the same normal form.
    pub(crate) fn relative(&self, role: RuleRole) -> Option<&'static MatchingRule> {
        let same_case_rules = |rule: &&MatchingRule| rule.role == role && rule.form == self.form;
        RULES.iter().find(same_case_rules)
    }

    /// Whether values of the syntax have normal forms under this rule.
    pub(crate) fn suits_syntax(&self, syntax: &str) -> bool {
        let text = matches!(
            syntax,
            oid::DIRECTORY_STRING
                | oid::IA5_STRING
                | oid::PRINTABLE_STRING
                | oid::COUNTRY_STRING
                | oid::NUMERIC_STRING
                | oid::TELEPHONE_NUMBER
        );
        match self.form {
            Form::CaseIgnore
            | Form::CaseExact
            | Form::DoubleMetaphone
            | Form::Collation(_)
            | Form::CollationPieces(_) => text,
            Form::Numeric => syntax == oid::NUMERIC_STRING,
            Form::Telephone => syntax == oid::TELEPHONE_NUMBER,
            Form::CaseIgnoreList => syntax == oid::POSTAL_ADDRESS,
            Form::Boolean => syntax == oid::BOOLEAN,
            Form::Integer => syntax == oid::INTEGER,
            Form::BitString => syntax == oid::BIT_STRING,
            Form::Octets => matches!(syntax, oid::OCTET_STRING | oid::BINARY | oid::JPEG),
            Form::GeneralizedTime => syntax == oid::GENERALIZED_TIME,
            Form::UtcTime => syntax == oid::UTC_TIME,
            Form::Dn if self.trial == Trial::InChain => matches!(syntax, oid::DN | oid::NAME_AND_OPTIONAL_UID),
            Form::Dn => syntax == oid::DN,
            Form::UniqueMember => syntax == oid::NAME_AND_OPTIONAL_UID,
            Form::Oid => syntax == oid::OID,
            Form::Uuid => syntax == oid::UUID,
            Form::Csn | Form::CsnSid => syntax == oid::CSN,
            Form::CertificateExact => syntax == oid::CERTIFICATE,
            Form::AuthPassword => syntax == oid::AUTH_PASSWORD,
            Form::UserPassword => syntax == oid::USER_PASSWORD,
            Form::FirstOid | Form::FirstInteger | Form::FirstString | Form::HistoricalCsn => false,
        }
    }
}

pub(crate) fn is_generalized_time(value: &[u8]) -> bool {
    date::Instant::parse_generalized_time(value).is_some()
}

pub(crate) fn is_utc_time(value: &[u8]) -> bool {
    date::Instant::parse_utc_time(value).is_some()
}

pub(crate) fn is_certificate_assertion(schema: &Schema, value: &[u8]) -> bool {
    certificate::normalize_assertion(schema, value, &mut Vec::new()).is_ok()
}

#[cfg(test)]
mod tests;
