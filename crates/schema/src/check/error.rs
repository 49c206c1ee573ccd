//! Why the schema refuses an entry, and the LDAP result code of it.

use ldap::ResultCode;
use thiserror::Error;

use crate::syntax::SyntaxError;

/// Why an entry is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CheckError {
    /// No object class at all.
    #[error("the entry has no objectClass")]
    NoClass,
    /// An object class that does not exist.
    #[error("the object class \"{0}\" is not defined in the schema")]
    UnknownClass(String),
    /// Only abstract and auxiliary classes.
    #[error("the entry has no structural object class")]
    NoStructuralClass,
    /// Two structural classes, neither of which inherits from the other.
    #[error("the entry has two structural object classes, {one} and {two}; one of them must go")]
    SeveralStructuralClasses {
        /// One of them.
        one: String,
        /// Another.
        two: String,
    },
    /// The content rule does not list the auxiliary class.
    #[error("the DIT content rule {rule} does not allow the auxiliary class {class}")]
    AuxiliaryNotAllowed {
        /// The rule.
        rule: String,
        /// The class.
        class: String,
    },
    /// A required attribute is missing.
    #[error("the attribute {attribute} is required by {by} and missing")]
    Missing {
        /// The attribute.
        attribute: String,
        /// The class or content rule.
        by: String,
    },
    /// No class allows the attribute.
    #[error("the attribute {attribute} is not allowed by any of the object classes of the entry ({classes})")]
    NotAllowed {
        /// The attribute.
        attribute: String,
        /// The classes.
        classes: String,
    },
    /// The content rule precludes the attribute.
    #[error("the attribute {attribute} is precluded by the DIT content rule {rule}")]
    Precluded {
        /// The attribute.
        attribute: String,
        /// The rule.
        rule: String,
    },
    /// An attribute that does not exist.
    #[error("the attribute \"{0}\" is not defined in the schema")]
    UnknownAttribute(String),
    /// Several values where one is allowed.
    #[error("the attribute {0} can have only one value")]
    SeveralValues(String),
    /// A value that is not of the attribute's syntax.
    #[error("value {number} of the attribute {attribute} {error}")]
    BadValue {
        /// The attribute.
        attribute: String,
        /// Which value, counted from 1.
        number: usize,
        /// What is wrong.
        error: SyntaxError,
    },
    /// The RDN does not suit the name form.
    #[error("the RDN does not conform to the name form {form} of {class}: {reason}")]
    NameForm {
        /// The name form.
        form: String,
        /// The structural class.
        class: String,
        /// In what way.
        reason: String,
    },
    /// No structure rule allows the class at this place.
    #[error("no DIT structure rule allows an entry of {class} here: {reason}")]
    Structure {
        /// The structural class.
        class: String,
        /// In what way.
        reason: String,
    },
}

impl CheckError {
    /// The LDAP result code (RFC 4511 appendix A.1).
    pub fn result_code(&self) -> ResultCode {
        match self {
            CheckError::UnknownAttribute(_) => ResultCode::UNDEFINED_ATTRIBUTE_TYPE,
            CheckError::SeveralValues(_) => ResultCode::CONSTRAINT_VIOLATION,
            CheckError::BadValue { .. } => ResultCode::INVALID_ATTRIBUTE_SYNTAX,
            CheckError::NameForm { .. } | CheckError::Structure { .. } => ResultCode::NAMING_VIOLATION,
            _ => ResultCode::OBJECT_CLASS_VIOLATION,
        }
    }
}
