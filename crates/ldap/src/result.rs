//! Result codes and the LDAPResult that most responses carry (RFC 4511 §4.1.9).

use std::fmt;

/// A result code. Codes that this list does not name are kept as they came.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResultCode(i32);

macro_rules! result_codes {
    ($($constant:ident = $code:literal, $name:literal;)*) => {
        impl ResultCode {
            $(#[doc = $name] pub const $constant: ResultCode = ResultCode($code);)*

            /// The name that the standard gives the code; `None` for an unassigned one.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some($name),)*
                    _ => None,
                }
            }
        }
    };
}

result_codes! {
    SUCCESS = 0, "success";
    OPERATIONS_ERROR = 1, "operationsError";
    PROTOCOL_ERROR = 2, "protocolError";
    TIME_LIMIT_EXCEEDED = 3, "timeLimitExceeded";
    SIZE_LIMIT_EXCEEDED = 4, "sizeLimitExceeded";
    COMPARE_FALSE = 5, "compareFalse";
    COMPARE_TRUE = 6, "compareTrue";
    AUTH_METHOD_NOT_SUPPORTED = 7, "authMethodNotSupported";
    STRONGER_AUTH_REQUIRED = 8, "strongerAuthRequired";
    REFERRAL = 10, "referral";
    ADMIN_LIMIT_EXCEEDED = 11, "adminLimitExceeded";
    UNAVAILABLE_CRITICAL_EXTENSION = 12, "unavailableCriticalExtension";
    CONFIDENTIALITY_REQUIRED = 13, "confidentialityRequired";
    SASL_BIND_IN_PROGRESS = 14, "saslBindInProgress";
    NO_SUCH_ATTRIBUTE = 16, "noSuchAttribute";
    UNDEFINED_ATTRIBUTE_TYPE = 17, "undefinedAttributeType";
    INAPPROPRIATE_MATCHING = 18, "inappropriateMatching";
    CONSTRAINT_VIOLATION = 19, "constraintViolation";
    ATTRIBUTE_OR_VALUE_EXISTS = 20, "attributeOrValueExists";
    INVALID_ATTRIBUTE_SYNTAX = 21, "invalidAttributeSyntax";
    NO_SUCH_OBJECT = 32, "noSuchObject";
    ALIAS_PROBLEM = 33, "aliasProblem";
    INVALID_DN_SYNTAX = 34, "invalidDNSyntax";
    ALIAS_DEREFERENCING_PROBLEM = 36, "aliasDereferencingProblem";
    INAPPROPRIATE_AUTHENTICATION = 48, "inappropriateAuthentication";
    INVALID_CREDENTIALS = 49, "invalidCredentials";
    INSUFFICIENT_ACCESS_RIGHTS = 50, "insufficientAccessRights";
    BUSY = 51, "busy";
    UNAVAILABLE = 52, "unavailable";
    UNWILLING_TO_PERFORM = 53, "unwillingToPerform";
    LOOP_DETECT = 54, "loopDetect";
    SORT_CONTROL_MISSING = 60, "sortControlMissing";
    OFFSET_RANGE_ERROR = 61, "offsetRangeError";
    NAMING_VIOLATION = 64, "namingViolation";
    OBJECT_CLASS_VIOLATION = 65, "objectClassViolation";
    NOT_ALLOWED_ON_NON_LEAF = 66, "notAllowedOnNonLeaf";
    NOT_ALLOWED_ON_RDN = 67, "notAllowedOnRDN";
    ENTRY_ALREADY_EXISTS = 68, "entryAlreadyExists";
    OBJECT_CLASS_MODS_PROHIBITED = 69, "objectClassModsProhibited";
    AFFECTS_MULTIPLE_DSAS = 71, "affectsMultipleDSAs";
    VIRTUAL_LIST_VIEW_ERROR = 76, "virtualListViewError";
    OTHER = 80, "other";
    CANCELED = 118, "canceled";
    NO_SUCH_OPERATION = 119, "noSuchOperation";
    TOO_LATE = 120, "tooLate";
    CANNOT_CANCEL = 121, "cannotCancel";
    ASSERTION_FAILED = 122, "assertionFailed";
    AUTHORIZATION_DENIED = 123, "authorizationDenied";
    E_SYNC_REFRESH_REQUIRED = 4096, "e-syncRefreshRequired";
    NO_OPERATION = 16654, "noOperation";
}

impl ResultCode {
    /// The code with this number.
    pub const fn from_i32(code: i32) -> Self {
        Self(code)
    }

    /// The number on the wire.
    pub const fn as_i32(self) -> i32 {
        self.0
    }

    /// Whether the operation did what it was asked (success, compareTrue/False, referral and saslBindInProgress are no
    /// errors: RFC 4511 A.1).
    pub fn is_error(self) -> bool {
        !matches!(
            self,
            Self::SUCCESS | Self::COMPARE_FALSE | Self::COMPARE_TRUE | Self::REFERRAL | Self::SASL_BIND_IN_PROGRESS
        )
    }
}

impl fmt::Display for ResultCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{} ({name})", self.0),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Debug for ResultCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The outcome of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LdapResult {
    /// What became of it.
    pub code: ResultCode,
    /// The last entry that was found on the way to a name that was not; empty otherwise.
    pub matched_dn: String,
    /// What to tell a person; empty when there is nothing to say.
    pub message: String,
    /// Where else to ask; only with [`ResultCode::REFERRAL`].
    pub referrals: Vec<String>,
}

impl LdapResult {
    /// A result with a diagnostic message.
    pub fn new(code: ResultCode, message: impl Into<String>) -> Self {
        Self { code, matched_dn: String::new(), message: message.into(), referrals: Vec::new() }
    }

    /// Plain success.
    pub fn success() -> Self {
        Self::new(ResultCode::SUCCESS, "")
    }

    /// The same with the matched DN set.
    pub fn with_matched_dn(mut self, dn: impl Into<String>) -> Self {
        self.matched_dn = dn.into();
        self
    }

    /// The same with referrals set.
    pub fn with_referrals(mut self, referrals: Vec<String>) -> Self {
        self.referrals = referrals;
        self
    }

    /// Whether the code is success.
    pub fn is_success(&self) -> bool {
        self.code == ResultCode::SUCCESS
    }
}

impl fmt::Display for LdapResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        if !self.matched_dn.is_empty() {
            write!(f, " (matched {})", self.matched_dn)?;
        }
        Ok(())
    }
}
