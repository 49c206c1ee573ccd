//! Why bytes are no request: what is wrong with a message, a control or a filter.
//!
//! Knows nothing of how they are decoded.

use ber::Tag;

use crate::ResultCode;

/// Why bytes are no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Not even the elements are right.
    #[error(transparent)]
    Ber(#[from] ber::Error),
    /// The message id is negative, zero or too large.
    #[error("message id {0} is not allowed in a request")]
    BadMessageId(i64),
    /// A protocolOp that is no request.
    #[error("operation tag {tag:#04x} is not a request")]
    UnknownOperation {
        /// Its tag.
        tag: Tag,
    },
    /// A number that is none of the listed ones.
    #[error("{value} is not a valid {field}")]
    BadEnumerated {
        /// The field of the protocol.
        field: &'static str,
        /// What was sent.
        value: i64,
    },
    /// Text that is no UTF-8 where the protocol asks for it.
    #[error("{0} is not valid UTF-8")]
    NotUtf8(&'static str),
    /// Neither `dn:` nor `u:` at its beginning.
    #[error("an authorization identity begins with \"dn:\" or \"u:\"")]
    NoAuthorizationId,
    /// A list that must have an element has none.
    #[error("{0} must not be empty")]
    Empty(&'static str),
    /// A filter choice that does not exist.
    #[error("filter tag {tag:#04x} is unknown")]
    UnknownFilter {
        /// Its tag.
        tag: Tag,
    },
    /// Over [`FILTER_DEPTH_MAX`](crate::limits::FILTER_DEPTH_MAX).
    #[error("the filter is nested deeper than {}", crate::limits::FILTER_DEPTH_MAX)]
    FilterTooDeep,
    /// Over [`FILTER_NODES_MAX`](crate::limits::FILTER_NODES_MAX).
    #[error("the filter has more than {} parts", crate::limits::FILTER_NODES_MAX)]
    FilterTooLong,
    /// NOT of none or several.
    #[error("a NOT filter must hold exactly one filter")]
    BadNot,
    /// Substring pieces out of order, empty, or none.
    #[error("the pieces of a substring filter are missing, empty or out of order")]
    BadSubstrings,
    /// Neither attribute nor rule.
    #[error("an extensible match needs an attribute or a matching rule")]
    BadExtensible,
    /// A list that is longer than this program takes.
    #[error("{what} may be {most} at most")]
    TooMany {
        /// What the list is of.
        what: &'static str,
        /// How many are taken.
        most: usize,
    },
    /// More controls than [`CONTROLS_MAX`](crate::limits::CONTROLS_MAX).
    #[error("the message has more than {} controls", crate::limits::CONTROLS_MAX)]
    TooManyControls,
}

impl DecodeError {
    /// The code of the answer: a filter may be sound and still be larger than this program takes.
    #[must_use]
    pub fn result_code(&self) -> ResultCode {
        match self {
            DecodeError::FilterTooDeep | DecodeError::FilterTooLong => ResultCode::ADMIN_LIMIT_EXCEEDED,
            _ => ResultCode::PROTOCOL_ERROR,
        }
    }
}
