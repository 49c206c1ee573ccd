//! Who stands behind changes that no client asked for.

/// As OpenDJ's servers name themselves.
pub(crate) const SERVER_NAME: &str = "cn=Internal Client,cn=Root DNs,cn=config";
