//! A window of a sorted list, as a request asks for it (draft-ietf-ldapext-ldapv3-vlv-09).

use std::ops::Range;

use ldap::controls::{VlvRequest, VlvTarget, encode_vlv_response};
use ldap::oids::control;
use ldap::{ControlBuf, LdapResult, ResultCode};
use store::index::SortOrder;

use super::refusal::SearchRefusal;
use query::facts::Facts;

/// A window asked for.
#[derive(Debug)]
pub(super) struct ListView {
    before: usize,
    after: usize,
    target: Target,
    pub(super) context: [u8; 8],
}

#[derive(Debug)]
enum Target {
    /// From 1; of a list that the client takes to have `count` entries (0: it does not know).
    Offset { offset: u64, count: u64 },
    /// The first entry whose sort key is not less.
    Key(Vec<u8>),
}

/// The result and the control of a request that is refused.
type Refused = Box<(LdapResult, ControlBuf)>;

impl ListView {
    /// Reads the request. `order` is none when there is no sort control, or one that asks for the impossible
    /// (`asks_to_sort`).
    pub(super) fn new(
        asked: &VlvRequest<'_>,
        facts: &Facts,
        order: Option<&SortOrder>,
        asks_to_sort: bool,
        request_hash: u64,
    ) -> Result<ListView, Refused> {
        let context = request_hash.to_be_bytes();
        let refused = |refusal: SearchRefusal, in_control| {
            Err(Box::new((LdapResult::from(refusal), response(0, 0, in_control, Some(&context)))))
        };
        let Some(order) = order else {
            if asks_to_sort {
                return refused(SearchRefusal::FailedSortForListView, ResultCode::INAPPROPRIATE_MATCHING);
            }
            return refused(SearchRefusal::NoSortForListView, ResultCode::SORT_CONTROL_MISSING);
        };
        if asked.context.is_some_and(|sent| sent != context) {
            return refused(SearchRefusal::ContextOfOtherSearch, ResultCode::PROTOCOL_ERROR);
        }
        let target = match asked.target {
            VlvTarget::Offset { offset, content_count } => {
                Target::Offset { offset: u64::from(offset), count: u64::from(content_count) }
            }
            VlvTarget::Assertion(value) => {
                let mut key = Vec::new();
                if !order.put_start(&facts.schema, value, &mut key) {
                    return refused(SearchRefusal::ListViewTarget, ResultCode::INAPPROPRIATE_MATCHING);
                }
                Target::Key(key)
            }
        };
        let count = |entries: u32| usize::try_from(entries).unwrap_or(usize::MAX);
        Ok(ListView { before: count(asked.before), after: count(asked.after), target, context })
    }

    /// The least sort key that the target may have, when it is not told by its place.
    pub(super) fn target_key(&self) -> Option<&[u8]> {
        match &self.target {
            Target::Key(key) => Some(key),
            Target::Offset { .. } => None,
        }
    }

    /// The window of a list of `count` entries of which `before` are less than a key, and the target's place from 1;
    /// none when the offset is out of range.
    pub(super) fn range(&self, count: usize, before: impl FnOnce(&[u8]) -> usize) -> Option<(Range<usize>, usize)> {
        let place = match &self.target {
            Target::Key(key) => before(key) + 1,
            Target::Offset { offset, count: known } => place_of(*offset, *known, count)?,
        };
        // No window begins behind the list's end, and a place one behind it is that of no entry.
        let target = place.saturating_sub(1).min(count);
        let to = target.saturating_add(self.after).saturating_add(1).min(count);
        Some((target.saturating_sub(self.before)..to, place))
    }
}

/// The place in a list of `own` entries of an offset in a list that the client takes to have `count` (section 5 of the
/// draft).
fn place_of(offset: u64, count: u64, own: usize) -> Option<usize> {
    let entries = own as u64;
    let place = match (offset, count) {
        (0, _) => return None,
        (offset, count) if offset == count => entries,
        (1, _) => 1,
        (offset, 0) => offset,
        (offset, count) if offset > count => return None,
        // To the nearest; both are below 2^31, so that nothing overflows.
        (offset, count) => ((entries * offset * 2 + count) / (count * 2)).max(1),
    };
    match own {
        // No entry is the target: content count plus one.
        0 => Some(1),
        _ => usize::try_from(place).ok().filter(|place| *place <= own),
    }
}

pub(super) fn response(place: usize, count: usize, code: ResultCode, context: Option<&[u8]>) -> ControlBuf {
    let number = |count: usize| u32::try_from(count).unwrap_or(i32::MAX as u32).min(i32::MAX as u32);
    ControlBuf::new(control::VLV_RESPONSE, Some(encode_vlv_response(number(place), number(count), code, context)))
}

#[cfg(test)]
mod tests {
    use store::EntryId;

    use super::*;
    use crate::search::paged::Position;

    #[test]
    fn offsets_are_scaled_as_the_draft_says() {
        assert_eq!(place_of(1, 0, 78_564), Some(1));
        assert_eq!(place_of(78_564, 78_564, 78_564), Some(78_564));
        assert_eq!(place_of(53_424, 78_564, 78_564), Some(53_424));
        assert_eq!(place_of(68, 100, 78_564), Some(53_424), "rounded to the nearest");
        assert_eq!(place_of(1, 1, 40), Some(40), "equal numbers are the end");
        assert_eq!(place_of(1, 1000, 40), Some(1));
        assert_eq!(place_of(2, 1000, 40), Some(1), "there is no place 0");
        assert_eq!(place_of(7, 0, 40), Some(7));
        for (offset, count) in [(0, 0), (0, 5), (41, 0), (6, 5)] {
            assert_eq!(place_of(offset, count, 40), None, "{offset} of {count}");
        }
        assert_eq!(place_of(1, 0, 0), Some(1), "content count plus one");
        assert_eq!(place_of(u64::from(u32::MAX), u64::from(u32::MAX), 1 << 31), Some(1 << 31));
    }

    #[test]
    fn windows_end_where_the_list_does() {
        let list: Vec<Position> = (1..=9u8)
            .map(|at| Position { key: vec![at * 10], id: EntryId(u64::from(at)), ..Position::default() })
            .collect();
        let window = |before, after, target| {
            let view = ListView { before, after, target, context: [0; 8] };
            let found = view.range(list.len(), |key| list.partition_point(|position| position.key[..] < *key));
            found.map(|(range, place)| (list[range].iter().map(|it| it.id.0).collect::<Vec<_>>(), place))
        };
        let offset = |offset| Target::Offset { offset, count: 9 };
        assert_eq!(window(2, 1, offset(5)), Some((vec![3, 4, 5, 6], 5)));
        assert_eq!(window(9, 0, offset(2)), Some((vec![1, 2], 2)));
        assert_eq!(window(usize::MAX, usize::MAX, offset(2)), Some(((1..=9).collect(), 2)));
        assert_eq!(window(0, 0, offset(10)), None);
        assert_eq!(window(1, 1, Target::Key(vec![45])), Some((vec![4, 5, 6], 5)));
        assert_eq!(window(1, 1, Target::Key(vec![50])), Some((vec![4, 5, 6], 5)));
        assert_eq!(window(2, 1, Target::Key(vec![99])), Some((vec![8, 9], 10)), "no entry is the target");
        assert_eq!(window(0, 1, Target::Key(vec![0])), Some((vec![1, 2], 1)));
    }
}
