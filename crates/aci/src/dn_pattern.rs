//! Distinguished names and patterns of them.

use ldap::{Dn, DnError};

/// A distinguished name in its string form, checked when it was parsed; the empty one is the root DSE's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DnText(String);

impl DnText {
    /// Checks that `text` is a distinguished name.
    ///
    /// # Errors
    /// Says where it is not.
    pub fn parse(text: &str) -> Result<DnText, DnError> {
        Dn::parse(text)?;
        Ok(DnText(text.to_owned()))
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Which entries a `target` or a `userdn` is about.
///
/// A pattern of a `target` matches an entry when it matches the entry's name or that of an ancestor; a pattern of a
/// `userdn` matches the name of the asker alone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DnPattern {
    /// A name without a wildcard.
    Exact(DnText),
    /// The parts of a name, leaf first as they are written; at least one, and at least one has a wildcard.
    Pattern(Vec<RdnPattern>),
}

/// One part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RdnPattern {
    /// `*`: any one RDN.
    AnyRdn,
    /// `**`: one or more RDNs.
    AnyRdns,
    /// An RDN with as many values as this has, in any order.
    Avas(Vec<AvaPattern>),
}

/// One attribute and value of an RDN pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AvaPattern {
    /// The attribute type.
    pub attribute: AttributePattern,
    /// The value.
    pub value: ValuePattern,
}

/// The attribute type of an RDN pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AttributePattern {
    /// `*`: any type.
    Any,
    /// A name or an OID, as it was written.
    Named(String),
}

/// The value of an RDN pattern, without escapes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ValuePattern {
    /// This value.
    Exact(Vec<u8>),
    /// A value that begins with `initial`, holds `any` in this order and ends with `last`. Each may be empty; for
    /// `*` all are. They are matched as a substring filter is.
    Wildcard {
        /// Before the first asterisk.
        initial: Vec<u8>,
        /// Between asterisks; none of them is empty.
        any: Vec<Vec<u8>>,
        /// After the last asterisk.
        last: Vec<u8>,
    },
}
