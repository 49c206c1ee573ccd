//! How far the indexes of a backend are that are built while it serves, for whoever waits for them.
//!
//! Knows states and counts; who builds is `index_builder`.

use store::StoreError;
use store::index::Distrust;

use crate::open_error::OpenError;
use query::backend::Backend;

/// How far indexes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexBuild {
    /// Searches use all of them.
    Complete,
    /// Not yet.
    Building {
        /// Entries in the index that has fewest of them.
        entries: u64,
        /// Entries that there are.
        total: u64,
    },
    /// The builder could not go on.
    Failed {
        /// Why.
        reason: String,
    },
    /// The configuration has one of them no more.
    Dropped {
        /// Which.
        index: String,
    },
}

/// How far the indexes of these names are.
///
/// # Errors
/// When there is no such backend, or it cannot be read.
pub(crate) fn index_build(backends: &[Backend], backend_id: &str, names: &[String]) -> Result<IndexBuild, OpenError> {
    let Some(backend) = backends.iter().find(|backend| backend.id.eq_ignore_ascii_case(backend_id)) else {
        return Err(OpenError::NoBackend { backend: backend_id.to_owned() });
    };
    let failed = |error: StoreError| OpenError::Store { backend: backend.id.clone(), error };
    let snapshot = backend.store.snapshot().map_err(failed)?;
    let indexes = snapshot.indexes();
    let mut least: Option<u64> = None;
    for name in names {
        let state = indexes.states().iter().find(|(own, _)| crate::indexes::without_stamp(own) == name);
        let Some((_, state)) = state else { return Ok(IndexBuild::Dropped { index: name.clone() }) };
        let entries = match indexes.why_untrusted(state.id) {
            None => continue,
            Some(Distrust::Building { entries }) => entries,
            Some(Distrust::Degraded | Distrust::OtherDerivation) => 0,
        };
        least = Some(least.map_or(entries, |least| least.min(entries)));
    }
    let Some(entries) = least else { return Ok(IndexBuild::Complete) };
    if let Some(reason) = backend.build_failure.load_full() {
        return Ok(IndexBuild::Failed { reason: reason.to_string() });
    }
    Ok(IndexBuild::Building { entries, total: snapshot.entry_count().map_err(failed)? })
}
