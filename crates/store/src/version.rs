//! Versions and snapshots: an overlay and an LMDB transaction that belong together.
//!
//! ```text
//!   writer: publishes {active', frozen}          fold: names its transaction N in `frozen`, commits N,
//!           or freezes: {empty, frozen = active}       publishes {active, no frozen, base = N}
//! ```
//! Invariants:
//! (1) `active` was made on `frozen` on the base transaction, `frozen` on the base transaction.
//! (2) A snapshot's LMDB transaction is the version's base (then `frozen` counts), or the one that folded `frozen`
//!     (then it does not, for it is in there). Any other pair is taken again. So every change is counted exactly once.
//! (3) Readers do not wait between the commit of a fold and its publication: they know the number of its transaction
//!     before.
//! (4) A published version is durable: everything in it is in the log or in LMDB.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;

use crate::env::{Dbs, Env, ReadTxn};
use crate::error::StoreError;
use crate::index::BackendIndexes;
use crate::marks::{Marks, SharedMarks};
use crate::overlay::Overlay;
use crate::postings::Postings;
use crate::readers::{ReaderSlot, Readers};
use crate::scan::{EntryScan, PostingScan, ValueScan};
use crate::tables::Tables;
use crate::view::{RecordRef, View};
use crate::{DescId, EntryId, IndexId, IndexKey};

/// The transaction of the fold is not known yet.
const NO_TXN: usize = 0;
/// One retry takes a whole fold between two steps of a reader; so many do not happen.
const RETRIES_MAX: u32 = 10_000;

/// One state of the directory above LMDB.
#[derive(Clone)]
pub(crate) struct Version {
    pub active: Overlay,
    pub frozen: Option<Arc<Frozen>>,
    pub base_txn: usize,
    pub tables: Arc<Tables>,
    pub next_entry: EntryId,
    /// Last change in it.
    pub seq: u64,
    /// Changes whenever an entry is renamed or moved.
    pub tree_generation: u64,
    pub marks: Marks,
    pub indexes: Arc<BackendIndexes>,
}

/// An overlay on its way into LMDB.
pub(crate) struct Frozen {
    pub overlay: Overlay,
    pub next_entry: EntryId,
    pub indexes: Arc<BackendIndexes>,
    /// The LMDB transaction that folds it, once that has begun.
    fold_txn: AtomicUsize,
}

impl Frozen {
    pub fn new(overlay: Overlay, next_entry: EntryId, indexes: Arc<BackendIndexes>) -> Frozen {
        Frozen { overlay, next_entry, indexes, fold_txn: AtomicUsize::new(NO_TXN) }
    }

    /// Notes which transaction folds it; called before that commits. After a failed fold the next transaction has the
    /// same number.
    pub fn set_fold_txn(&self, id: usize) {
        self.fold_txn.store(id, Ordering::SeqCst);
    }

    pub fn fold_txn(&self) -> usize {
        self.fold_txn.load(Ordering::SeqCst)
    }
}

/// Makes the present version where no writer publishes it: of a backend that is only read, beside whoever writes it.
pub(crate) trait Renew: Send + Sync {
    /// The version of now, and the transaction that it was made on.
    fn renew(&self) -> Result<(Version, ReadTxn), StoreError>;
}

/// What readers, writer and fold share.
pub(crate) struct Shared {
    pub env: Env,
    pub version: ArcSwap<Version>,
    pub readers: Readers,
    pub marks: SharedMarks,
    /// Held while a new version is made from the current one.
    publishing: Mutex<()>,
    /// None where a writer publishes versions.
    renew: Option<Box<dyn Renew>>,
}

impl Shared {
    pub fn new(env: Env, version: Version) -> Shared {
        let marks = SharedMarks::new(&version.marks, version.tree_generation);
        let version = ArcSwap::from_pointee(version);
        Shared { env, version, readers: Readers::new(), marks, publishing: Mutex::new(()), renew: None }
    }

    /// The same where nobody here writes: whoever does elsewhere moves LMDB on, and the version is made anew then.
    pub fn following(env: Env, version: Version, renew: Box<dyn Renew>) -> Shared {
        Shared { renew: Some(renew), ..Shared::new(env, version) }
    }

    /// Replaces the version by what `make` makes of the current one. Writer and fold call it, one at a time.
    pub fn publish(&self, make: impl FnOnce(&Version) -> Version) -> Arc<Version> {
        let _guard: MutexGuard<'_, ()> = self.publishing.lock().unwrap_or_else(PoisonError::into_inner);
        let version = Arc::new(make(&self.version.load()));
        self.version.store(version.clone());
        self.marks.publish(&version.marks, version.tree_generation);
        version
    }

    /// A version and a transaction that belong together, and whether `frozen` counts (invariant 2).
    pub fn pair(&self) -> Result<(Arc<Version>, ReadTxn, bool), StoreError> {
        for _ in 0..RETRIES_MAX {
            let version = self.version.load_full();
            let txn = self.env.read()?;
            let id = txn.id();
            if id == version.base_txn {
                return Ok((version, txn, true));
            }
            if version.frozen.as_ref().is_some_and(|frozen| frozen.fold_txn() == id) {
                return Ok((version, txn, false));
            }
            if let Some(renew) = &self.renew {
                drop(txn);
                let (version, txn) = renew.renew()?;
                return Ok((self.publish(|_| version), txn, true));
            }
            std::thread::yield_now();
        }
        Err(StoreError::Database("somebody else writes this database".to_owned()))
    }
}

/// The directory at one moment. Cheap to take, movable between threads; keep it for a second at most, because LMDB
/// cannot reuse pages that a snapshot still sees.
pub struct Snapshot {
    shared: Arc<Shared>,
    version: Arc<Version>,
    txn: ReadTxn,
    counts_frozen: bool,
    taken: Instant,
    slot: Option<ReaderSlot>,
}

impl Snapshot {
    #[inline]
    pub(crate) fn take(shared: &Arc<Shared>) -> Result<Snapshot, StoreError> {
        let taken = Instant::now();
        let slot = shared.readers.enter(taken);
        match shared.pair() {
            Ok((version, txn, counts_frozen)) => {
                Ok(Snapshot { shared: shared.clone(), version, txn, counts_frozen, taken, slot })
            }
            Err(error) => {
                shared.readers.leave(slot);
                Err(error)
            }
        }
    }

    /// The only version of `shared`, with the transaction it was made on.
    pub(crate) fn of(shared: Arc<Shared>, txn: ReadTxn, taken: Instant) -> Snapshot {
        let version = shared.version.load_full();
        Snapshot { shared, version, txn, counts_frozen: true, taken, slot: None }
    }

    /// All reading goes through this.
    #[inline]
    pub fn view(&self) -> View<'_> {
        let frozen = self.version.frozen.as_deref().filter(|_| self.counts_frozen).map(|frozen| &frozen.overlay);
        let active = Some(&self.version.active).filter(|overlay| !overlay.is_empty());
        View {
            txn: &self.txn,
            dbs: self.shared.env.dbs(),
            layers: [active, frozen],
            tables: &self.version.tables,
            indexes: &self.version.indexes,
            seq: Some(self.version.seq),
            marks: &self.version.marks,
        }
    }

    /// The number tables.
    #[inline]
    pub fn tables(&self) -> &Arc<Tables> {
        &self.version.tables
    }

    /// The indexes at this moment, and which of them may be used.
    #[inline]
    pub fn indexes(&self) -> &Arc<BackendIndexes> {
        &self.version.indexes
    }

    /// LMDB's tables and transaction beneath, for tools that look at raw rows.
    pub fn base(&self) -> (&Dbs, &ReadTxn) {
        (self.shared.env.dbs(), &self.txn)
    }

    /// How long it has been open.
    pub fn age(&self) -> Duration {
        self.taken.elapsed()
    }

    /// Last change that it sees.
    pub fn seq(&self) -> u64 {
        self.version.seq
    }

    /// Two snapshots with the same number have the same names for the entries that both have: a rename or a move
    /// changes the number, and every opening has its own.
    #[inline]
    pub fn tree_generation(&self) -> u64 {
        self.version.tree_generation
    }

    /// What has changed up to this moment, for rights.
    #[inline]
    pub fn marks(&self) -> &Marks {
        &self.version.marks
    }

    /// The number that the next new entry will have; all entries are below.
    pub fn next_entry(&self) -> EntryId {
        self.version.next_entry
    }

    /// See [`View::entry`].
    #[inline]
    pub fn entry(&self, id: EntryId) -> Result<Option<RecordRef<'_>>, StoreError> {
        self.view().entry(id)
    }

    /// See [`View::postings`].
    #[inline]
    pub fn postings(&self, key: &IndexKey) -> Result<Postings<'_>, StoreError> {
        self.view().postings(key)
    }

    /// See [`View::scan`].
    pub fn scan(
        &self,
        index: IndexId,
        from: std::ops::Bound<&[u8]>,
        to: std::ops::Bound<&[u8]>,
    ) -> Result<PostingScan<'_>, StoreError> {
        self.view().scan(index, from, to)
    }

    /// See [`View::entries`].
    pub fn entries(&self, from: EntryId) -> Result<EntryScan<'_>, StoreError> {
        self.view().entries(from)
    }

    /// See [`View::child`].
    #[inline]
    pub fn child(&self, parent: EntryId, normalized_rdn: &[u8]) -> Result<Option<EntryId>, StoreError> {
        self.view().child(parent, normalized_rdn)
    }

    /// See [`View::children`].
    pub fn children(&self, parent: EntryId) -> Result<Postings<'_>, StoreError> {
        self.view().children(parent)
    }

    /// See [`View::dn_of`].
    pub fn dn_of(&self, id: EntryId) -> Result<Option<String>, StoreError> {
        self.view().dn_of(id)
    }

    /// See [`View::large_values`].
    pub fn large_values(&self, id: EntryId, desc: DescId) -> Result<ValueScan<'_>, StoreError> {
        self.view().large_values(id, desc)
    }

    /// See [`View::entry_count`].
    pub fn entry_count(&self) -> Result<u64, StoreError> {
        self.view().entry_count()
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        self.shared.readers.leave(self.slot.take());
    }
}
