//! LDAP syntaxes: what a value of each may look like (RFC 4517 §3, and those the shipped schemas use).
//!
//! It knows the grammar of values, not which attribute has which syntax.

mod guide;
mod json;
mod table;
mod text;

pub mod subtree;

pub(crate) use table::BUILT_IN;
pub use table::oid;
pub(crate) use text::{is_descriptor, is_numeric_oid};

use regex::bytes::Regex;
use thiserror::Error;

use crate::definition::{Definition, DefinitionKind, Head};
use crate::dn::NormalizedDn;
use crate::prep::{self, Case};
use crate::rule;
use crate::schema::{Schema, SchemaOptions};

/// Why a value is not of a syntax, in words that follow "the value".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SyntaxError {
    /// An empty value where one character is the least.
    #[error("is empty, which the syntax {syntax} does not allow")]
    Empty {
        /// Description of the syntax.
        syntax: String,
    },
    /// Anything else.
    #[error("is not a valid {syntax}")]
    Invalid {
        /// Description of the syntax.
        syntax: String,
    },
    /// A definition with a mistake.
    #[error("is not a valid {syntax}: {reason}")]
    Definition {
        /// Description of the syntax.
        syntax: String,
        /// What is wrong and where.
        reason: String,
    },
    /// Not one of the words of an enumeration.
    #[error("is not one of {allowed}")]
    NotListed {
        /// The words, separated by commas.
        allowed: String,
    },
    /// Not what the pattern of the syntax says.
    #[error("does not match the pattern {pattern}")]
    PatternMismatch {
        /// The regular expression.
        pattern: String,
    },
}

/// One syntax.
#[derive(Debug, Clone)]
pub struct Syntax {
    /// OID, description, extensions.
    pub head: Head,
    /// False for values that are bytes rather than text.
    pub human_readable: bool,
    pub(crate) check: Check,
}

/// How values are checked.
#[derive(Debug, Clone)]
pub(crate) enum Check {
    Kind(Kind),
    /// Prepared forms of the words allowed, in their order, and the words as written.
    Enumeration(Vec<(Vec<u8>, String)>),
    Pattern(Regex),
}

/// The grammars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Any,
    Utf8,
    Definition(DefinitionKind),
    BitString,
    Boolean,
    Certificate,
    DerSequence,
    CountryString,
    DeliveryMethod,
    DirectoryString,
    Dn,
    EnhancedGuide,
    FacsimileNumber,
    GeneralizedTime,
    Guide,
    Ia5String,
    Integer,
    Jpeg,
    Json,
    NameAndOptionalUid,
    NumericString,
    Oid,
    OtherMailbox,
    PostalAddress,
    PrintableString,
    SubstringAssertion,
    SubtreeSpecification,
    TelephoneNumber,
    TeletexTerminalId,
    TelexNumber,
    UtcTime,
    Uuid,
    Csn,
    CsnSid,
    AuthPassword,
    CertificateExactAssertion,
    NetgroupTriple,
    BootParameter,
}

impl Syntax {
    /// Numeric OID.
    pub fn oid(&self) -> &str {
        &self.head.oid
    }

    /// What people call it.
    pub fn description(&self) -> &str {
        self.head.description.as_deref().unwrap_or(&self.head.oid)
    }

    /// Whether values may be transferred with the option `binary`: those whose form is that of their ASN.1 type (RFC
    /// 4522, RFC 4523 §2).
    pub fn has_binary_form(&self) -> bool {
        matches!(
            self.oid(),
            oid::BINARY
                | oid::CERTIFICATE
                | oid::CERTIFICATE_LIST
                | oid::CERTIFICATE_PAIR
                | oid::SUPPORTED_ALGORITHM
                | oid::ALGORITHM_IDENTIFIER
        )
    }

    /// Checks one value.
    pub fn validate(&self, schema: &Schema, value: &[u8]) -> Result<(), SyntaxError> {
        match &self.check {
            Check::Kind(kind) => match kind.accepts(schema, value) {
                Ok(true) => Ok(()),
                Ok(false) if value.is_empty() => Err(SyntaxError::Empty { syntax: self.description().to_owned() }),
                Ok(false) => Err(SyntaxError::Invalid { syntax: self.description().to_owned() }),
                Err(reason) => Err(SyntaxError::Definition { syntax: self.description().to_owned(), reason }),
            },
            Check::Enumeration(words) => {
                let mut form = Vec::new();
                let prepared = prep::prepare(value, Case::Ignore, &mut form);
                if prepared.is_ok() && words.iter().any(|(known, _)| *known == form) {
                    return Ok(());
                }
                let allowed: Vec<&str> = words.iter().map(|(_, word)| word.as_str()).collect();
                Err(SyntaxError::NotListed { allowed: allowed.join(", ") })
            }
            Check::Pattern(pattern) if pattern.is_match(value) => Ok(()),
            Check::Pattern(pattern) => Err(SyntaxError::PatternMismatch { pattern: pattern.as_str().to_owned() }),
        }
    }

    /// The definition as the subschema entry shows it.
    pub fn definition(&self) -> Definition {
        Definition::Syntax(crate::definition::SyntaxDefinition { head: self.head.clone() })
    }
}

impl Kind {
    /// Whether the value has this grammar; a reason only where one helps.
    fn accepts(self, schema: &Schema, value: &[u8]) -> Result<bool, String> {
        let options: &SchemaOptions = schema.options();
        Ok(match self {
            Kind::Any => true,
            Kind::Utf8 => std::str::from_utf8(value).is_ok(),
            Kind::Definition(kind) => {
                let text = std::str::from_utf8(value).map_err(|_| "not UTF-8".to_owned())?;
                return Definition::parse(kind, text).map(|_| true).map_err(|error| error.to_string());
            }
            Kind::BitString => rule::bit_string(value).is_some(),
            Kind::Boolean if options.strict_format_booleans => matches!(value, b"TRUE" | b"FALSE"),
            Kind::Boolean => rule::boolean(value).is_some(),
            Kind::Certificate => !options.strict_format_certificates || text::is_certificate(value),
            Kind::DerSequence => !options.strict_format_certificates || text::is_der_sequence(value),
            Kind::CountryString => text::is_country(value, options.strict_format_country_string),
            Kind::DeliveryMethod => text::is_delivery_method(value),
            Kind::DirectoryString => {
                (!value.is_empty() || options.allow_zero_length_values_directory_string)
                    && std::str::from_utf8(value).is_ok()
            }
            Kind::Dn => NormalizedDn::parse(schema, value).is_ok(),
            Kind::EnhancedGuide => guide::is_enhanced_guide(value),
            Kind::FacsimileNumber => text::is_facsimile_number(value),
            Kind::GeneralizedTime => rule::is_generalized_time(value),
            Kind::Guide => guide::is_guide(value),
            Kind::Ia5String => value.is_ascii(),
            Kind::Integer => rule::is_integer(value),
            Kind::Jpeg => !options.strict_format_jpeg_photos || text::is_jpeg(value),
            Kind::Json => json::is_json(value),
            Kind::NameAndOptionalUid => {
                let (dn, _) = rule::split_unique_member(value);
                NormalizedDn::parse(schema, dn).is_ok()
            }
            Kind::NumericString => !value.is_empty() && value.iter().all(|byte| byte.is_ascii_digit() || *byte == b' '),
            Kind::Oid => text::is_oid(value, options.allow_attribute_name_exceptions),
            Kind::OtherMailbox => text::is_other_mailbox(value),
            Kind::PostalAddress => text::is_postal_address(value),
            Kind::PrintableString => text::is_printable(value),
            Kind::SubstringAssertion => value.contains(&b'*') && std::str::from_utf8(value).is_ok(),
            Kind::SubtreeSpecification => {
                let text = std::str::from_utf8(value).map_err(|_| "not UTF-8".to_owned())?;
                return subtree::SubtreeSpecification::parse(text).map(|_| true).map_err(|error| error.to_string());
            }
            Kind::TelephoneNumber => text::is_telephone(value, options.strict_format_telephone_numbers),
            Kind::TeletexTerminalId => text::is_teletex(value),
            Kind::TelexNumber => text::is_telex(value),
            Kind::UtcTime => rule::is_utc_time(value),
            Kind::Uuid => crate::uuid::parse(value).is_some(),
            Kind::Csn => text::is_csn(value),
            Kind::CsnSid => value.len() == 3 && value.iter().all(u8::is_ascii_hexdigit),
            Kind::AuthPassword => rule::auth_password(value).is_some(),
            Kind::CertificateExactAssertion => rule::is_certificate_assertion(schema, value),
            Kind::NetgroupTriple => text::is_netgroup_triple(value),
            Kind::BootParameter => text::is_boot_parameter(value),
        })
    }
}

#[cfg(test)]
mod tests;
