//! Which backups are kept. What goes is always the oldest full backup together with what only it needs: no chain is
//! ever broken, and the newest full backup with all that follows on it stays in any case.

use std::time::Duration;

use crate::error::BackupError;
use crate::make::{now_us, remove};
use crate::manifest::{Kind, Manifest, Sealed};
use crate::storage::Storage;

/// How much is kept; none: without this limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Full backups.
    pub full_backups: Option<u64>,
    /// Every moment of so long a time can be restored.
    pub age: Option<Duration>,
    /// Bytes as stored.
    pub bytes: Option<u64>,
}

impl Retention {
    /// Whether nothing is ever removed.
    #[must_use]
    pub fn keeps_all(&self) -> bool {
        *self == Retention::default()
    }

    /// What goes, of the backups of one backend.
    #[must_use]
    pub fn surplus<'a>(&self, all: &'a [Sealed], backend: &str, now_us: u64) -> Vec<&'a Manifest> {
        let own = all.iter().map(|sealed| &sealed.manifest).filter(|manifest| manifest.backend == backend);
        let own: Vec<&Manifest> = own.collect();
        let mut fulls: Vec<&Manifest> = own.iter().copied().filter(|own| own.kind == Kind::Full).collect();
        fulls.sort_by_key(|full| (full.until_us, full.last_change));
        let mut kept_from = 0;
        while let Some(next) = fulls.get(kept_from + 1) {
            let kept: Vec<&Manifest> = own.iter().copied().filter(|own| !goes(own, &fulls, kept_from)).collect();
            let bytes: u64 = kept.iter().map(|kept| kept.stored_bytes()).sum();
            let oldest_wanted = self.age.map(|age| now_us.saturating_sub(u64::try_from(age.as_micros()).unwrap_or(0)));
            let is_too_much = self.full_backups.is_some_and(|count| (fulls.len() - kept_from) as u64 > count.max(1))
                || oldest_wanted.is_some_and(|oldest| next.until_us < oldest)
                || self.bytes.is_some_and(|bytes_max| bytes > bytes_max);
            if !is_too_much {
                break;
            }
            kept_from += 1;
        }
        own.into_iter().filter(|own| goes(own, &fulls, kept_from)).collect()
    }

    /// Removes what goes; their names.
    ///
    /// # Errors
    /// When the storage refuses.
    pub fn apply(&self, storage: &dyn Storage, all: &[Sealed], backend: &str) -> Result<Vec<String>, BackupError> {
        let mut surplus = self.surplus(all, backend, now_us());
        // What needs others goes before them.
        surplus.sort_by_key(|manifest| std::cmp::Reverse((manifest.kind != Kind::Full, manifest.last_change)));
        let mut removed = Vec::new();
        for manifest in surplus {
            remove(storage, &manifest.backend, &manifest.id)?;
            removed.push(manifest.id.clone());
        }
        Ok(removed)
    }
}

/// Whether a backup goes when the full ones before `kept_from` go: it is one of them, or only they need it.
fn goes(manifest: &Manifest, fulls: &[&Manifest], kept_from: usize) -> bool {
    let (before, kept) = fulls.split_at(kept_from.min(fulls.len()));
    if manifest.kind == Kind::Full {
        return before.iter().any(|full| full.id == manifest.id);
    }
    let needs = |full: &&Manifest| full.data == manifest.data && manifest.last_change > full.last_change;
    let needed_by_later = |full: &&Manifest| full.data == manifest.data && manifest.until_us > full.until_us;
    !before.is_empty() && !kept.iter().any(|full| needs(full) || needed_by_later(full))
}
