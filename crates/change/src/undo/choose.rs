//! Which changes belong together, and in which order they are undone.
//!
//! A request is undone as a whole: all parts of a transaction, all entries of a subtree delete, and what plugins did to
//! follow it. Requests go from the last to the first. Within one, what it did goes backwards, and then what followed: a
//! reference cannot come back before the entry that it names.
//!
//! Knows numbers only, so that a long history fits into memory.

use std::collections::{HashMap, HashSet};

use crate::history::{Cause, Change, ChangeKind};
use query::backend::BackendIndex;

/// Slices of one subtree delete follow each other in less than this.
const SLICES_APART_US: u64 = 600_000_000;

/// What is kept of a change while they are chosen.
#[derive(Clone, Copy, Debug)]
pub struct Brief {
    /// Its number.
    pub number: u64,
    /// Whether it was asked for by number, name or time.
    pub is_wanted: bool,
    backend: BackendIndex,
    sequence: u64,
    request: Request,
    time_us: u64,
    /// Whether a plugin did it.
    follows: bool,
    /// The entry that a delete request names.
    deletes_below: Option<u64>,
}

/// A request, as long as the server runs.
type Request = (u64, u32);

/// A change to be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Its number.
    pub number: u64,
    /// Whether it followed another one that is undone, too.
    pub follows: bool,
}

impl Brief {
    /// Of that change; none of what binds changed in an account, which is never undone.
    #[must_use]
    pub fn of(change: &Change<'_>, is_wanted: bool) -> Option<Brief> {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let hash = |dn: &str| {
            let mut hasher = DefaultHasher::new();
            dn.hash(&mut hasher);
            hasher.finish()
        };
        if change.cause == Cause::AccountState {
            return None;
        }
        let follows = change.cause != Cause::Request;
        let is_delete = change.kind == ChangeKind::Delete && !follows;
        Some(Brief {
            number: change.number,
            is_wanted,
            backend: change.backend,
            sequence: change.sequence,
            request: (change.connection, change.operation),
            time_us: change.csn.time_us,
            follows,
            deletes_below: is_delete.then(|| hash(change.target)),
        })
    }
}

/// The changes that are to be undone, in that order. `briefs` are all changes in the order of their numbers.
#[must_use]
pub fn choose(briefs: &[Brief]) -> Vec<Chosen> {
    let records = records(briefs);
    // Of each request that is undone: what it did, and what followed.
    let mut groups: Vec<(Vec<u64>, Vec<u64>)> = Vec::new();
    let mut group_of_record: HashMap<(BackendIndex, u64), usize> = HashMap::new();
    let mut group_of_delete: HashMap<(Request, u64), (usize, u64)> = HashMap::new();
    let mut group_of_request: HashMap<Request, usize> = HashMap::new();
    for brief in briefs {
        let record = (brief.backend, brief.sequence);
        if !brief.follows {
            if !records.contains(&record) {
                // Another request with these numbers, of another run of the server.
                group_of_request.remove(&brief.request);
                continue;
            }
            let slice = brief.deletes_below.and_then(|below| {
                let (group, time_us) = *group_of_delete.get(&(brief.request, below))?;
                (brief.time_us.saturating_sub(time_us) < SLICES_APART_US).then_some(group)
            });
            let known = group_of_record.get(&record).copied().or(slice);
            let group = known.unwrap_or_else(|| {
                groups.push(Default::default());
                groups.len() - 1
            });
            group_of_record.insert(record, group);
            group_of_request.insert(brief.request, group);
            if let Some(below) = brief.deletes_below {
                group_of_delete.insert((brief.request, below), (group, brief.time_us));
            }
            if let Some((did, _)) = groups.get_mut(group) {
                did.push(brief.number);
            }
            continue;
        }
        let is_of_request = brief.request.0 != 0;
        let leader =
            group_of_record.get(&record).or_else(|| group_of_request.get(&brief.request).filter(|_| is_of_request));
        match leader.and_then(|group| groups.get_mut(*group)) {
            Some((_, followed)) => followed.push(brief.number),
            None if brief.is_wanted => groups.push((vec![brief.number], Vec::new())),
            None => {}
        }
    }
    let mut chosen = Vec::new();
    for (did, followed) in groups.iter().rev() {
        chosen.extend(did.iter().rev().map(|number| Chosen { number: *number, follows: false }));
        chosen.extend(followed.iter().rev().map(|number| Chosen { number: *number, follows: true }));
    }
    chosen
}

/// The log records (backend and sequence) of which something is wanted, with all slices of subtree deletes.
fn records(briefs: &[Brief]) -> HashSet<(BackendIndex, u64)> {
    let requests = || briefs.iter().filter(|brief| !brief.follows);
    let mut records: HashSet<_> =
        requests().filter(|brief| brief.is_wanted).map(|brief| (brief.backend, brief.sequence)).collect();
    let is_in =
        |records: &HashSet<(BackendIndex, u64)>, brief: &&Brief| records.contains(&(brief.backend, brief.sequence));
    // By request and entry named: when something of it was wanted.
    let mut deletes: HashMap<(Request, u64), Vec<u64>> = HashMap::new();
    for brief in requests().filter(|brief| is_in(&records, brief)) {
        if let Some(below) = brief.deletes_below {
            deletes.entry((brief.request, below)).or_default().push(brief.time_us);
        }
    }
    for brief in requests() {
        let times = brief.deletes_below.and_then(|below| deletes.get(&(brief.request, below)));
        if times.is_some_and(|times| times.iter().any(|time| time.abs_diff(brief.time_us) < SLICES_APART_US)) {
            records.insert((brief.backend, brief.sequence));
        }
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brief(number: u64, sequence: u64, request: Request) -> Brief {
        Brief {
            number,
            is_wanted: false,
            backend: BackendIndex(0),
            sequence,
            request,
            time_us: 1_000_000 * sequence,
            follows: false,
            deletes_below: None,
        }
    }

    fn numbers(briefs: &[Brief]) -> Vec<(u64, bool)> {
        choose(briefs).into_iter().map(|chosen| (chosen.number, chosen.follows)).collect()
    }

    #[test]
    fn the_last_goes_first_and_what_followed_a_request_after_it() {
        let follow = |number, sequence, request| Brief { follows: true, ..brief(number, sequence, request) };
        let wanted = |it: Brief| Brief { is_wanted: true, ..it };
        let briefs = [
            wanted(brief(1, 1, (3, 1))),
            wanted(brief(2, 2, (3, 2))),
            // In the same record, later, and by a request of the same numbers after the server was started again.
            follow(3, 2, (3, 2)),
            brief(4, 3, (4, 1)),
            follow(5, 4, (3, 2)),
            brief(6, 5, (3, 2)),
            follow(7, 6, (3, 2)),
        ];
        assert_eq!(numbers(&briefs), [(2, false), (5, true), (3, true), (1, false)]);
        assert_eq!(numbers(&[wanted(follow(9, 9, (1, 1)))]), [(9, false)], "what followed can be undone alone");
    }

    #[test]
    fn a_transaction_and_a_subtree_delete_are_undone_as_a_whole() {
        let wanted = |it: Brief| Brief { is_wanted: true, ..it };
        let part = |number, operation| brief(number, 7, (2, operation));
        assert_eq!(
            numbers(&[part(1, 1), wanted(part(2, 2)), part(3, 3), brief(4, 8, (2, 4))]),
            [(3, false), (2, false), (1, false)]
        );
        let slice = |number, sequence| Brief { deletes_below: Some(42), ..brief(number, sequence, (2, 1)) };
        let other = brief(3, 2, (9, 9));
        let later = Brief { time_us: 3_600_000_000, ..slice(6, 1000) };
        assert_eq!(
            numbers(&[slice(1, 1), slice(2, 1), other, wanted(slice(4, 3)), slice(5, 4), later]),
            [(5, false), (4, false), (2, false), (1, false)]
        );
    }
}
