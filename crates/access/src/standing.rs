//! Whether what a session is bound as still exists: root users come and go with the configuration.
//!
//! Knows no configuration: whoever takes a root user away revokes the standing that its sessions share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared by a root user and all sessions that are bound as this user. Others have one that nobody revokes.
#[derive(Clone, Debug, Default)]
pub struct Standing(Option<Arc<AtomicBool>>);

impl Standing {
    /// One that can be revoked.
    #[must_use]
    pub fn revocable() -> Self {
        Self(Some(Arc::default()))
    }

    /// The sessions that share it are no longer valid.
    pub fn revoke(&self) {
        if let Some(is_revoked) = &self.0 {
            is_revoked.store(true, Ordering::Release);
        }
    }

    /// Whether it was revoked.
    #[inline]
    #[must_use]
    pub fn is_revoked(&self) -> bool {
        self.0.as_ref().is_some_and(|is_revoked| is_revoked.load(Ordering::Acquire))
    }
}
