//! The built-in syntaxes.

use super::kind::{Check, Kind, Syntax};
use super::oid;
use crate::definition::{DefinitionKind, Head};

/// One row of the table of built-in syntaxes.
#[derive(Debug)]
pub(crate) struct BuiltIn {
    oid: &'static str,
    description: &'static str,
    human_readable: bool,
    kind: Kind,
}

impl BuiltIn {
    pub(crate) fn syntax(&self) -> Syntax {
        let mut head =
            Head { oid: self.oid.to_owned(), description: Some(self.description.to_owned()), ..Head::default() };
        if !self.human_readable {
            head.set_extension("X-NOT-HUMAN-READABLE", "TRUE");
        }
        Syntax { head, human_readable: self.human_readable, check: Check::Kind(self.kind) }
    }
}

const fn text(oid: &'static str, description: &'static str, kind: Kind) -> BuiltIn {
    BuiltIn { oid, description, human_readable: true, kind }
}

const fn bytes(oid: &'static str, description: &'static str, kind: Kind) -> BuiltIn {
    BuiltIn { oid, description, human_readable: false, kind }
}

/// Every syntax that needs no definition.
pub(crate) static BUILT_IN: &[BuiltIn] = &[
    text("1.3.6.1.4.1.1466.115.121.1.1", "ACI Item", Kind::Any),
    text(
        oid::ATTRIBUTE_TYPE_DESCRIPTION,
        "Attribute Type Description",
        Kind::Definition(DefinitionKind::AttributeType),
    ),
    bytes("1.3.6.1.4.1.1466.115.121.1.4", "Audio", Kind::Any),
    bytes(oid::BINARY, "Binary", Kind::Any),
    text(oid::BIT_STRING, "Bit String", Kind::BitString),
    text(oid::BOOLEAN, "Boolean", Kind::Boolean),
    bytes(oid::CERTIFICATE, "Certificate", Kind::Certificate),
    bytes(oid::CERTIFICATE_LIST, "Certificate List", Kind::DerSequence),
    bytes(oid::CERTIFICATE_PAIR, "Certificate Pair", Kind::DerSequence),
    text(oid::COUNTRY_STRING, "Country String", Kind::CountryString),
    text(oid::DN, "DN", Kind::Dn),
    text("1.3.6.1.4.1.1466.115.121.1.13", "Data Quality Syntax", Kind::Utf8),
    text("1.3.6.1.4.1.1466.115.121.1.14", "Delivery Method", Kind::DeliveryMethod),
    text(oid::DIRECTORY_STRING, "Directory String", Kind::DirectoryString),
    text(
        "1.3.6.1.4.1.1466.115.121.1.16",
        "DIT Content Rule Description",
        Kind::Definition(DefinitionKind::ContentRule),
    ),
    text(
        "1.3.6.1.4.1.1466.115.121.1.17",
        "DIT Structure Rule Description",
        Kind::Definition(DefinitionKind::StructureRule),
    ),
    text("1.3.6.1.4.1.1466.115.121.1.19", "DSA Quality Syntax", Kind::Utf8),
    text("1.3.6.1.4.1.1466.115.121.1.20", "DSE Type", Kind::Utf8),
    text("1.3.6.1.4.1.1466.115.121.1.21", "Enhanced Guide", Kind::EnhancedGuide),
    text("1.3.6.1.4.1.1466.115.121.1.22", "Facsimile Telephone Number", Kind::FacsimileNumber),
    bytes("1.3.6.1.4.1.1466.115.121.1.23", "Fax", Kind::Any),
    text(oid::GENERALIZED_TIME, "Generalized Time", Kind::GeneralizedTime),
    text("1.3.6.1.4.1.1466.115.121.1.25", "Guide", Kind::Guide),
    text(oid::IA5_STRING, "IA5 String", Kind::Ia5String),
    text(oid::INTEGER, "INTEGER", Kind::Integer),
    bytes(oid::JPEG, "JPEG", Kind::Jpeg),
    text("1.3.6.1.4.1.1466.115.121.1.30", "Matching Rule Description", Kind::Definition(DefinitionKind::MatchingRule)),
    text(
        "1.3.6.1.4.1.1466.115.121.1.31",
        "Matching Rule Use Description",
        Kind::Definition(DefinitionKind::MatchingRuleUse),
    ),
    text("1.3.6.1.4.1.1466.115.121.1.33", "MHS OR Address", Kind::Utf8),
    text(oid::NAME_AND_OPTIONAL_UID, "Name And Optional UID", Kind::NameAndOptionalUid),
    text("1.3.6.1.4.1.1466.115.121.1.35", "Name Form Description", Kind::Definition(DefinitionKind::NameForm)),
    text(oid::NUMERIC_STRING, "Numeric String", Kind::NumericString),
    text("1.3.6.1.4.1.1466.115.121.1.37", "Object Class Description", Kind::Definition(DefinitionKind::ObjectClass)),
    text(oid::OID, "OID", Kind::Oid),
    text("1.3.6.1.4.1.1466.115.121.1.39", "Other Mailbox", Kind::OtherMailbox),
    // Octets that may be anything, but whose usual content is text (passwords): hence not marked unreadable.
    text(oid::OCTET_STRING, "Octet String", Kind::Any),
    text(oid::POSTAL_ADDRESS, "Postal Address", Kind::PostalAddress),
    text(oid::PROTOCOL_INFORMATION, "Protocol Information", Kind::Utf8),
    text(oid::PRESENTATION_ADDRESS, "Presentation Address", Kind::Utf8),
    text(oid::PRINTABLE_STRING, "Printable String", Kind::PrintableString),
    text("1.3.6.1.4.1.1466.115.121.1.45", "Subtree Specification", Kind::SubtreeSpecification),
    bytes(oid::SUPPORTED_ALGORITHM, "Supported Algorithm", Kind::DerSequence),
    text(oid::TELEPHONE_NUMBER, "Telephone Number", Kind::TelephoneNumber),
    text("1.3.6.1.4.1.1466.115.121.1.51", "Teletex Terminal Identifier", Kind::TeletexTerminalId),
    text("1.3.6.1.4.1.1466.115.121.1.52", "Telex Number", Kind::TelexNumber),
    text(oid::UTC_TIME, "UTC Time", Kind::UtcTime),
    text("1.3.6.1.4.1.1466.115.121.1.54", "LDAP Syntax Description", Kind::Definition(DefinitionKind::Syntax)),
    text(oid::SUBSTRING_ASSERTION, "Substring Assertion", Kind::SubstringAssertion),
    text(oid::CERTIFICATE_EXACT_ASSERTION, "X.509 Certificate Exact Assertion", Kind::CertificateExactAssertion),
    bytes(oid::ALGORITHM_IDENTIFIER, "X.509 Algorithm Identifier", Kind::DerSequence),
    text(oid::UUID, "UUID", Kind::Uuid),
    text("1.3.6.1.1.1.0.0", "RFC 2307 NIS Netgroup Triple", Kind::NetgroupTriple),
    text("1.3.6.1.1.1.0.1", "RFC 2307 Boot Parameter", Kind::BootParameter),
    text(oid::AUTH_PASSWORD, "Authentication Password Syntax", Kind::AuthPassword),
    text("1.3.6.1.4.1.4203.666.2.7", "OpenLDAP Authorization", Kind::Utf8),
    text(oid::CSN, "Change Sequence Number", Kind::Csn),
    text(oid::CSN_SID, "Change Sequence Number Server ID", Kind::CsnSid),
    text(oid::USER_PASSWORD, "User Password", Kind::Any),
    text("1.3.6.1.4.1.26027.1.3.2", "Relative Subtree Specification", Kind::SubtreeSpecification),
    text("1.3.6.1.4.1.26027.1.3.3", "Absolute Subtree Specification", Kind::SubtreeSpecification),
    text(oid::JSON, "Json", Kind::Json),
    text(oid::ACCESS_CONTROL_INFORMATION, "Sun-defined Access Control Information", Kind::AccessControlInstruction),
];
