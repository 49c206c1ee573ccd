//! Distinguished names in settings and of objects: the wire crate knows how they are written, this module only asks.

/// Whether `text` is a DN that is not the root.
pub(crate) fn is_dn(text: &str) -> bool {
    ldap::Dn::parse(text).is_ok_and(|dn| !dn.is_root())
}

/// `name` as the value of a naming attribute.
pub(crate) fn escaped(name: &str) -> String {
    let mut out = String::new();
    // A string takes everything.
    let _ = ldap::dn::write_escaped(&mut out, name.as_bytes());
    out
}
