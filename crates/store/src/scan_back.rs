//! Reads the keys of an index from the last to the first: what [`PostingScan`](crate::PostingScan) does, in reverse.
//!
//! Rows are front-coded, so a row is decoded from its beginning and given out from its end.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::ops::Bound;

use heed::RoRevRange;
use heed::types::Bytes;

use crate::IndexId;
use crate::error::StoreError;
use crate::overlay::PostingDelta;
use crate::posting::block::{index_range, key_bounds};
use crate::posting::{BlockView, IndexKey, List};
use crate::postings::Postings;
use crate::scan::range_is_sane;
use crate::view::View;

type Changes<'s> =
    Peekable<std::iter::Rev<imbl::ordmap::RangedIter<'s, IndexKey, PostingDelta, imbl::shared_ptr::DefaultSharedPtr>>>;

impl<'s> View<'s> {
    /// All keys of `index` in the range with their lists, descending.
    pub fn scan_back(
        &self,
        index: IndexId,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<PostingScanBack<'s>, StoreError> {
        PostingScanBack::new(*self, index, from, to)
    }
}

/// Keys of one index with their lists, the greatest first. Lends its key, hence not an `Iterator`.
pub struct PostingScanBack<'s> {
    view: View<'s>,
    rows: Option<RoRevRange<'s, Bytes, Bytes>>,
    /// What is left of one row, ascending.
    row: VecDeque<(IndexKey, List<'s>)>,
    /// Newest first.
    overlays: [Option<Changes<'s>>; 2],
    key: IndexKey,
    from: IndexKey,
    is_from_excluded: bool,
    to: Bound<IndexKey>,
}

impl<'s> PostingScanBack<'s> {
    pub(crate) fn new(
        view: View<'s>,
        index: IndexId,
        from: Bound<&[u8]>,
        to: Bound<&[u8]>,
    ) -> Result<PostingScanBack<'s>, StoreError> {
        let (first, _) = index_range(index);
        let (from, to) = key_bounds(index, from, to);
        let is_sane = range_is_sane(&from, &to);
        let overlays = view.layers.map(|layer| {
            layer
                .filter(|overlay| is_sane && !overlay.postings.is_empty())
                .map(|overlay| overlay.postings.range((from.clone(), to.clone())).rev().peekable())
        });
        let rows = match &to {
            Bound::Included(last) | Bound::Excluded(last) if is_sane => {
                let range = (Bound::<&[u8]>::Unbounded, Bound::Included(last.as_bytes()));
                Some(view.dbs.postings.rev_range(view.txn, &range)?)
            }
            _ => None,
        };
        let is_from_excluded = matches!(from, Bound::Excluded(_));
        let from = match from {
            Bound::Included(key) | Bound::Excluded(key) => key,
            Bound::Unbounded => first.clone(),
        };
        let row = VecDeque::new();
        let mut scan = PostingScanBack { view, rows, row, overlays, key: first, from, is_from_excluded, to };
        scan.fill_row()?;
        Ok(scan)
    }

    /// The key before (without index id) and its list; keys whose list became empty are left out.
    #[allow(clippy::should_implement_trait)] // lends its buffer
    pub fn next(&mut self) -> Result<Option<(&[u8], Postings<'s>)>, StoreError> {
        loop {
            let mut greatest = self.row.back().map(|(key, _)| key);
            for overlay in self.overlays.iter_mut().flatten() {
                if let Some((key, _)) = overlay.peek()
                    && greatest.is_none_or(|greatest| **key > *greatest)
                {
                    greatest = Some(key);
                }
            }
            let Some(greatest) = greatest.cloned() else { return Ok(None) };
            self.key = greatest;
            let mut deltas = [None, None];
            for (delta, overlay) in deltas.iter_mut().zip(&mut self.overlays) {
                if let Some(overlay) = overlay {
                    *delta = overlay.next_if(|(key, _)| **key == self.key).map(|(_, delta)| delta);
                }
            }
            let mut base = None;
            if self.row.back().is_some_and(|(key, _)| *key == self.key) {
                base = self.row.pop_back().map(|(_, list)| list);
                self.fill_row()?;
            }
            let postings = Postings::new(base, deltas, self.view.txn, self.view.dbs);
            if !postings.is_empty() {
                return Ok(Some((self.key.key(), postings)));
            }
        }
    }

    /// Reads the row before when this one is used up.
    fn fill_row(&mut self) -> Result<(), StoreError> {
        while self.row.is_empty() {
            let Some(row) = self.rows.as_mut().and_then(Iterator::next) else { return Ok(()) };
            let (row_key, data) = row?;
            let mut block = BlockView::new(row_key, data).iter();
            while let Some((key, list)) = block.next()? {
                let is_before =
                    if self.is_from_excluded { key <= self.from.as_bytes() } else { key < self.from.as_bytes() };
                let is_after = match &self.to {
                    Bound::Included(to) => key > to.as_bytes(),
                    Bound::Excluded(to) => key >= to.as_bytes(),
                    Bound::Unbounded => false,
                };
                if is_after {
                    break;
                }
                if !is_before {
                    self.row.push_back((IndexKey::from_bytes(key), list));
                }
            }
            // A row that begins before the range is the last that has something of it.
            if row_key < self.from.as_bytes() {
                self.rows = None;
            }
        }
        Ok(())
    }
}
