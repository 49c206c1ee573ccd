//! What the store needs to know about values: which index keys they make and how names compare. Implemented by the code
//! that knows the schema.

use std::sync::Arc;

use crate::index::{ConfiguredIndexes, IndexSet, IndexStates};
use crate::record::RecordView;
use crate::tables::Tables;
use crate::{DescId, IndexId};

/// Makes index keys. Deterministic; the same for the live store, import and verify.
pub trait KeyExtractor: Send + Sync {
    /// The keys that are removed (`false`) and added (`true`) when `old` is replaced by `new`. Each key is given at
    /// most once; keys that stay are not given. Values of large attributes are not in the record and make no keys here.
    fn changes(
        &self,
        old: Option<&RecordView<'_>>,
        new: Option<&RecordView<'_>>,
        change: &mut dyn FnMut(bool, IndexId, &[u8]),
    );

    /// The keys of one (large) value of `desc`. `unique`: no other value of the same attribute makes this key.
    fn value_keys(&self, tables: &Tables, desc: DescId, value: &[u8], key: &mut dyn FnMut(IndexId, &[u8], bool));

    /// Whether values of `desc` make keys in `index`.
    fn feeds(&self, tables: &Tables, desc: DescId, index: IndexId) -> bool;

    /// The indexes that keys are made for.
    fn indexes(&self) -> Arc<IndexSet>;

    /// Appends the normal form of an RDN (of a whole DN for a base entry); `false` when it has none.
    fn normalize_rdn(&self, rdn: &[u8], is_whole_dn: bool, out: &mut Vec<u8>) -> bool;
}

/// Makes extractors: for the indexes at the beginning, and again whenever they change.
pub trait IndexBinder: Send + Sync {
    /// The extractor for those of the configured indexes that `states` has a number for. An index that the schema does
    /// not support (any more, while an old log is replayed) makes no keys.
    fn bind(&self, configured: &ConfiguredIndexes, states: &IndexStates) -> Arc<dyn KeyExtractor>;
}

/// Makes no keys and no normal forms of names: for reading only.
pub(crate) struct NoKeys;

impl KeyExtractor for NoKeys {
    fn changes(
        &self,
        _old: Option<&RecordView<'_>>,
        _new: Option<&RecordView<'_>>,
        _change: &mut dyn FnMut(bool, IndexId, &[u8]),
    ) {
    }

    fn value_keys(&self, _tables: &Tables, _desc: DescId, _value: &[u8], _key: &mut dyn FnMut(IndexId, &[u8], bool)) {}

    fn feeds(&self, _tables: &Tables, _desc: DescId, _index: IndexId) -> bool {
        false
    }

    fn indexes(&self) -> Arc<IndexSet> {
        Arc::default()
    }

    fn normalize_rdn(&self, _rdn: &[u8], _is_whole_dn: bool, _out: &mut Vec<u8>) -> bool {
        false
    }
}
