//! Reading a range of keys: everything in it, or only what is among the candidates already there.

use store::StoreError;
use store::posting::key::KEY_BYTES_MAX;

use super::candidates::RANGE_IDS_MAX;
use super::cost;
use super::item::is_over;
use super::planner::Planner;
use super::reads::RangeRead;
use super::trace::Reason;
use crate::id_set::IdSet;

/// What came of a range.
pub(super) struct Scan {
    /// The entries, or why they are not known.
    pub found: Result<IdSet, Reason>,
    /// Every key was one that is known to match.
    pub is_certain: bool,
    /// How many entries the whole range has; counted only for a trace.
    pub candidates: u64,
    /// Entries of a key that was over its limit.
    pub over: Option<u64>,
    /// What it should have cost.
    pub cost: u64,
}

impl<'p> Planner<'p, '_> {
    /// All entries with a key in the range, less those outside `within`. Without `within` it gives up at
    /// [`RANGE_IDS_MAX`] ids, else when it has cost half of what looking at the entries of `within` costs.
    pub(super) fn scan(&self, range: &RangeRead<'p>, within: Option<&IdSet>) -> Result<Scan, StoreError> {
        let budget = within.map(|set| set.len().saturating_mul(cost::ENTRY) / 2);
        let mut all = IdSet::default();
        let mut seen = self.trace.as_ref().map(|_| IdSet::default());
        let (mut sum, mut keys, mut is_certain) = (0u64, 0u64, true);
        let mut spent = cost::KEY;
        let failed = |reason, over, cost| Scan { found: Err(reason), is_certain: false, candidates: 0, over, cost };
        let (from, to) = (range.from.as_ref().map(|it| it.as_slice()), range.to.as_ref().map(|it| it.as_slice()));
        let mut scan = self.view.scan(range.index.id, from, to)?;
        while let Some((key, list)) = scan.next()? {
            keys += 1;
            if let Some(assertion) = range.tried {
                // A key as long as can be may be cut: the entry decides.
                let is_cut = key.len() >= KEY_BYTES_MAX;
                is_certain &= !is_cut;
                if !is_cut && !assertion.matches(key) {
                    spent = spent.saturating_add(cost::RANGE_KEY);
                    match budget {
                        None if keys > RANGE_IDS_MAX => return Ok(failed(Reason::RangeOverLimit, None, spent)),
                        Some(budget) if spent > budget => return Ok(failed(Reason::Cheaper, None, spent)),
                        _ => continue,
                    }
                }
            }
            let count = list.count();
            sum = sum.saturating_add(count);
            if is_over(range.index, count) {
                let limit = u64::from(range.index.entry_limit);
                return Ok(failed(Reason::OverLimit { limit }, Some(count), spent));
            }
            spent = spent.saturating_add(cost::RANGE_KEY).saturating_add(count.saturating_mul(cost::ID));
            match budget {
                None if sum > RANGE_IDS_MAX || keys > RANGE_IDS_MAX => {
                    return Ok(failed(Reason::RangeOverLimit, None, spent));
                }
                Some(budget) if spent > budget => return Ok(failed(Reason::Cheaper, None, spent)),
                _ => {}
            }
            match within {
                None => all.extend(list.iter()),
                Some(within) if within.len() < count => list.common(within.iter(), |id| all.insert(id))?,
                Some(within) => all.extend(list.iter().filter(|id| within.contains(*id))),
            }
            if let Some(seen) = &mut seen {
                seen.extend(list.iter());
            }
        }
        let candidates = seen.map_or(0, |seen| seen.len());
        Ok(Scan { found: Ok(all), is_certain, candidates, over: None, cost: spent })
    }
}
