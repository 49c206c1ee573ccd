//! Distinguished names in settings: the wire crate parses them, this module only asks.

/// Whether `text` is a DN that is not the root.
pub(crate) fn is_dn(text: &str) -> bool {
    ldap::Dn::parse(text).is_ok_and(|dn| !dn.is_root())
}
