//! Limits that an entry has for the sessions that bind as it: `ds-rlim-*` of OpenDJ, or where absent the attributes of
//! Sun's and 389's servers.
//!
//! Values that are no numbers, or are below what the attribute's server knows, say nothing.

use std::ops::ControlFlow;
use std::sync::Arc;

use query::own_limit_types::{NAMES, OwnLimitTypes};
use schema::TypeIndex;
use store::{Content, RecordView, Snapshot, StoreError, View};

use super::{Allowance, Most, SessionLimits};
use query::entry_place::EntryPlace;
use query::facts::Facts;
use query::read_moment::ReadContext;

/// What an entry says: size, time in seconds, lookthrough, idle time in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnLimits([Option<Most>; 4]);

impl OwnLimits {
    #[cfg(test)]
    pub(crate) fn of(limits: [Option<Most>; 4]) -> OwnLimits {
        OwnLimits(limits)
    }

    /// Reads them from a record. Costs next to nothing where no entry of the backend has any.
    pub fn read(types: &OwnLimitTypes, view: &View<'_>, record: &RecordView<'_>) -> Result<OwnLimits, StoreError> {
        OwnLimits::read_by(types, |index, each| {
            for desc in view.tables().by_type(index.0) {
                if let Some(Content::Inline(values)) = record.stored(*desc).map(|attribute| attribute.content)
                    && values.iter().try_for_each(&mut *each).is_break()
                {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Reads them from wherever `values` takes the values of a type: it calls what it is given with each, until that
    /// says stop.
    fn read_by(
        types: &OwnLimitTypes,
        values: impl Fn(TypeIndex, &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), StoreError>,
    ) -> Result<OwnLimits, StoreError> {
        let mut found = OwnLimits::default();
        for ((limit, pair), types) in found.0.iter_mut().zip(NAMES).zip(&types.0) {
            for ((_, has_minus_one), index) in pair.into_iter().zip(types) {
                let Some(index) = index.filter(|_| limit.is_none()) else { continue };
                values(index, &mut |value| {
                    *limit = most(value, has_minus_one);
                    if limit.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                })?;
            }
        }
        Ok(found)
    }

    /// Which of them are there.
    pub(super) fn are_set(self) -> [bool; 4] {
        self.0.map(|limit| limit.is_some())
    }

    /// What these leave of `others`: each limit by itself, soft and hard alike.
    pub fn over(self, others: SessionLimits) -> SessionLimits {
        let [size, seconds, lookthrough, idle_seconds] = self.0;
        let milliseconds = seconds.map(|limit| limit.number().map(|seconds| seconds.saturating_mul(1000)).into());
        let idle = idle_seconds.map(|limit| limit.number().map(std::time::Duration::from_secs));
        SessionLimits {
            size: size.map_or(others.size, Allowance::both),
            time_ms: milliseconds.map_or(others.time_ms, Allowance::both),
            lookthrough: lookthrough.unwrap_or(others.lookthrough),
            idle: idle.unwrap_or(others.idle),
            ..others
        }
    }
}

/// The limits that an entry shows, if entries of its backend are given some: by a collective attribute, say.
pub fn given_limits(
    context: &ReadContext,
    facts: &Arc<Facts>,
    place: EntryPlace,
    snapshot: &Snapshot,
) -> Result<Option<OwnLimits>, StoreError> {
    given_by(&facts.own_limits, context, facts, place, snapshot)
}

/// The same, of these attributes.
pub(super) fn given_by(
    types: &OwnLimitTypes,
    context: &ReadContext,
    facts: &Arc<Facts>,
    place: EntryPlace,
    snapshot: &Snapshot,
) -> Result<Option<OwnLimits>, StoreError> {
    context.if_given(facts, place, snapshot, types.iter(), |computed, entry| {
        OwnLimits::read_by(types, |index, each| computed.values_of(entry, index, each))
    })
}

fn most(value: &[u8], has_minus_one: bool) -> Option<Most> {
    let number: i64 = std::str::from_utf8(value).ok()?.trim().parse().ok()?;
    match u64::try_from(number) {
        Ok(number) => Some(Most::from_zero_is_none(number)),
        Err(_) => (has_minus_one && number == -1).then_some(Most::Unlimited),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_mean_what_their_servers_mean_by_them() {
        for (value, opendj, sun) in [
            ("10", Some(Most::At(10)), Some(Most::At(10))),
            ("0", Some(Most::Unlimited), Some(Most::Unlimited)),
            ("-1", None, Some(Most::Unlimited)),
            ("-2", None, None),
            ("many", None, None),
            ("", None, None),
        ] {
            assert_eq!((most(value.as_bytes(), false), most(value.as_bytes(), true)), (opendj, sun), "{value:?}");
        }
    }
}
