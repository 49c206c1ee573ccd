//! What backends keep of the configuration in order to judge updates: it changes by proposals, in the order of their
//! logs.

use super::context::UpdateContext;
use super::decided::Decided;
use super::done::report_of;
use super::intake::Cause;
use crate::open_error::OpenError;
use change::proposal::Kind;
use query::backend::{Backend, BackendIndex};

/// What a backend keeps under a key.
pub(super) fn kept(backend: &Backend, key: &[u8]) -> Result<Vec<u8>, OpenError> {
    let failed = |error| OpenError::Store { backend: backend.id.clone(), error };
    let snapshot = backend.store.snapshot().map_err(failed)?;
    Ok(snapshot.view().meta(key).map_err(failed)?.unwrap_or_default().into_owned())
}

impl UpdateContext<'_> {
    /// Proposes that a backend keeps something else.
    pub(super) fn propose_kept(&self, at: BackendIndex, kind: Kind, bytes: Vec<u8>) -> Result<(), OpenError> {
        let Some(backend) = self.backends.get(at.0) else { return Ok(()) };
        let (_, proposal) = self.updates.intake.encode(&Decided::by_server(at, kind, bytes), [0; 16]);
        let refused = |reason| OpenError::Kept { backend: backend.id.clone(), reason };
        match report_of(self.updates.intake.submit_and_wait(backend, Cause::Configuration, proposal)) {
            Ok(report) if report.result.is_success() => Ok(()),
            Ok(report) => Err(refused(report.result.message)),
            Err(result) => Err(refused(result.message)),
        }
    }
}
