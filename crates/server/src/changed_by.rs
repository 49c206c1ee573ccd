//! Who changed the configuration, and by which way it came. Knows nothing of the change.

/// Who had the configuration changed, and by which way.
pub(crate) struct ChangedBy {
    pub(crate) who: String,
    pub(crate) door: &'static str,
}

impl ChangedBy {
    /// A client that changed `cn=config`.
    pub(crate) fn client(dn: &str) -> Self {
        Self { who: dn.to_owned(), door: "LDAP" }
    }

    /// Who asked for the file to be read again: the user of a local process, or the name that is bound.
    pub(crate) fn reload(who: impl Into<String>) -> Self {
        Self { who: who.into(), door: "reload" }
    }
}
