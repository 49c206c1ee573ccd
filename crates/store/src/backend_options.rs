//! How a backend is opened.

use std::path::PathBuf;
use std::sync::Arc;

use schema::Schema;

use crate::extract::IndexBinder;
use crate::fold_limits::FoldLimits;
use crate::index::{ConfiguredIndexes, SchemaTypes};
use crate::log::{Disk, SEGMENT_BYTES};
use crate::tables::TypeResolver;

/// How a backend is opened.
pub struct BackendOptions {
    /// Its folder.
    pub path: PathBuf,
    /// Tells attribute types of descriptions.
    pub resolver: Arc<dyn TypeResolver>,
    /// Makes key extractors.
    pub binder: Arc<dyn IndexBinder>,
    /// The indexes of a new backend, and of one whose database does not name its indexes yet. Every other backend
    /// changes its indexes by proposals.
    pub indexes: ConfiguredIndexes,
    /// When to fold.
    pub fold: FoldLimits,
    /// Size of log segments.
    pub segment_bytes: u64,
    /// Records of the log to be kept although recovery does not need them, until
    /// [`Backend::keep_log_from`](crate::Backend::keep_log_from) says otherwise.
    pub keep_log_from: Option<u64>,
    /// Where the log is, if not in the folder; for tests that cut the power.
    pub log_disk: Option<Arc<dyn Disk>>,
}

impl BackendOptions {
    /// With the ordinary limits, under a schema.
    pub fn of_schema(path: PathBuf, schema: &Arc<Schema>, indexes: ConfiguredIndexes) -> BackendOptions {
        let types = SchemaTypes::with_makers(schema, &indexes.configs);
        BackendOptions::new(path, types.clone(), types, indexes)
    }

    /// With the ordinary limits.
    pub fn new(
        path: PathBuf,
        resolver: Arc<dyn TypeResolver>,
        binder: Arc<dyn IndexBinder>,
        indexes: ConfiguredIndexes,
    ) -> BackendOptions {
        BackendOptions {
            path,
            resolver,
            binder,
            indexes,
            fold: FoldLimits::default(),
            segment_bytes: SEGMENT_BYTES,
            keep_log_from: None,
            log_disk: None,
        }
    }
}
