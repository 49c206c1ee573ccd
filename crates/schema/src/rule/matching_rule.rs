//! What a matching rule is: its names, the normal form it works on, and how an assertion is tried on that.
//!
//! It knows neither how normal forms are made nor which rules there are.

use crate::syntax::oid;

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

    /// Whether byte comparison of normal forms decides the match (so that an equality index answers it exactly).
    pub fn is_exact(&self) -> bool {
        self.trial == Trial::Equal
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
