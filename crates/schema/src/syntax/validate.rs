//! Checks values against the grammar of their syntax.

use std::fmt::Display;

use super::error::SyntaxError;
use super::kind::{Check, Kind, Syntax};
use super::{guide, json, subtree, text};
use crate::definition::Definition;
use crate::dn::NormalizedDn;
use crate::prep::{self, Case};
use crate::rule;
use crate::schema::{Schema, SchemaOptions};

impl Syntax {
    /// What a value of it is called in messages.
    fn plain_name(&self) -> &str {
        match &self.check {
            Check::Kind(Kind::AccessControlInstruction) => "access control instruction",
            _ => self.description(),
        }
    }

    /// Checks one value.
    pub fn validate(&self, schema: &Schema, value: &[u8]) -> Result<(), SyntaxError> {
        match &self.check {
            Check::Kind(kind) => match kind.accepts(schema, value) {
                Ok(true) => Ok(()),
                Ok(false) if value.is_empty() => Err(SyntaxError::Empty { syntax: self.description().to_owned() }),
                Ok(false) => Err(SyntaxError::Invalid { syntax: self.description().to_owned() }),
                Err(reason) => Err(SyntaxError::Definition { syntax: self.plain_name().to_owned(), reason }),
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
}

impl Kind {
    /// Whether the value has this grammar; a reason only where one helps.
    fn accepts(self, schema: &Schema, value: &[u8]) -> Result<bool, String> {
        let options: &SchemaOptions = schema.options();
        Ok(match self {
            Kind::Any => true,
            Kind::Utf8 => std::str::from_utf8(value).is_ok(),
            Kind::AccessControlInstruction => return grammar(value, aci::parse),
            Kind::Definition(kind) => return grammar(value, |text| Definition::parse(kind, text)),
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
            Kind::SubtreeSpecification => return grammar(value, subtree::SubtreeSpecification::parse),
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

/// Whether `parse` reads the value; if not, why.
fn grammar<'v, T, E: Display>(value: &'v [u8], parse: impl Fn(&'v str) -> Result<T, E>) -> Result<bool, String> {
    let text = std::str::from_utf8(value).map_err(|_| "not UTF-8".to_owned())?;
    parse(text).map(|_| true).map_err(|error| error.to_string())
}
