//! The first part of a name.

/// The RDN of an entry from its record's text: the first one when it is a whole DN.
pub(super) fn leaf_rdn(text: &str, is_suffix: bool) -> Option<ldap::Rdn<'_>> {
    if is_suffix { ldap::Dn::parse(text).ok()?.rdn().cloned() } else { ldap::Rdn::parse(text).ok() }
}
