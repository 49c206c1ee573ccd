//! What is taken as it is written, and may not mean what was meant.

use crate::span::Span;

/// A remark on a valid instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// What it is about.
    pub span: Span,
    /// What is remarkable.
    pub remark: Remark,
}

/// What is remarkable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Remark {
    /// A value without quotation marks, which is read only where other servers' data is taken over.
    #[error("the value is not in quotation marks")]
    NotQuoted,
    /// `a and b or c`
    #[error("\"and\" and \"or\" are mixed without parentheses; they are read from the right: a and (b or c)")]
    MixedOperators,
    /// `authmethod="sasl X"` where nobody knows X.
    #[error("the SASL mechanism {0} is not known here; the condition is not true as long as nobody uses it")]
    UnknownMechanism(String),
    /// `parent[1].a#value`
    #[error("parent[…] is for #USERDN and #GROUPDN; the condition is never true")]
    LevelsWithoutName,
    /// `groupdn="ldap:///cn=g?…"`
    #[error("what follows the name of the group in the URL is ignored")]
    UrlPartsIgnored,
    /// `groupdn="ldap:///cn=*,…"`
    #[error("an asterisk is no wildcard here; the name is taken as it is written")]
    NoWildcard,
}
