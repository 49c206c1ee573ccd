//! What a syntax is: its definition, and which grammar or list its values are checked against.

use regex::bytes::Regex;

use super::oid;
use crate::definition::{Definition, DefinitionKind, Head, SyntaxDefinition};

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
    AccessControlInstruction,
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

    /// The definition as the subschema entry shows it.
    pub fn definition(&self) -> Definition {
        Definition::Syntax(SyntaxDefinition { head: self.head.clone() })
    }
}
