//! What a bind makes of a session: who it is, and what it may spend.

use super::SessionLimits;
use crate::connection_facts::Authentication;
use crate::identity::Identity;
use crate::standing::Standing;

/// What a bind makes of a session.
#[derive(Clone, Debug)]
pub struct Bound {
    /// Who it is from now on.
    pub identity: Identity,
    /// How it authenticated.
    pub authentication: Authentication,
    /// What it may spend.
    pub limits: SessionLimits,
    /// Whether it still exists.
    pub standing: Standing,
}
