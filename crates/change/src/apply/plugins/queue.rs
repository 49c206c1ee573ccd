//! References that wait to be cleaned: kept with the backend, so that a crash loses none of them.
//!
//! ```text
//! meta "references"             first number u64 · next number u64 · end of what is to be done here u64
//! meta "references/" number u64 a job                                                      (numbers little-endian)
//! ```
//! A job says what became of a name. Doing it twice does no harm: who has been cleaned no longer refers to the old
//! name.

use store::{StoreError, Txn, View};

use crate::parts::{put, take, take_text};

const BOUNDS_KEY: &[u8] = b"references";
/// Jobs of one entry each that are done together.
pub const BATCH_JOBS: usize = 128;

/// What became of a name that entries may refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The old name in normal form.
    pub old: Vec<u8>,
    /// The old name as it was written.
    pub dn: String,
    /// The new name; none when the entry is gone.
    pub new: Option<String>,
    /// References to entries below are meant, too.
    pub is_subtree: bool,
    /// Not before this time, in µs since 1970.
    pub due_us: u64,
    /// When the update came that it follows, in µs since 1970.
    pub time_us: u64,
    /// The connection of that update.
    pub connection: u64,
    /// Its number on the connection.
    pub operation: u32,
    /// What was done of it together with the update.
    pub done: Tally,
}

/// How much was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Entries that were changed.
    pub entries: u64,
    /// Values of theirs that went or were rewritten.
    pub references: u64,
}

impl Tally {
    /// Adds what another slice did.
    pub fn add(&mut self, other: Tally) {
        self.entries += other.entries;
        self.references += other.references;
    }
}

impl Job {
    /// As the queue keeps it.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![u8::from(self.is_subtree), u8::from(self.new.is_some())];
        for number in [self.due_us, self.time_us, self.connection, self.done.entries, self.done.references] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.operation.to_le_bytes());
        put(&mut out, &self.old);
        put(&mut out, self.dn.as_bytes());
        put(&mut out, self.new.as_deref().unwrap_or_default().as_bytes());
        out
    }

    /// Reads it; `None` when the bytes are no job.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let ([is_subtree, has_new], mut rest) = bytes.split_first_chunk::<2>()?;
        let [due_us, time_us, connection, entries, references] = numbers(&mut rest)?;
        let (operation, mut rest) = rest.split_first_chunk::<4>()?;
        let old = take(&mut rest)?.to_vec();
        let dn = take_text(&mut rest)?;
        let new = take_text(&mut rest)?;
        rest.is_empty().then_some(Self {
            old,
            dn,
            new: (*has_new == 1).then_some(new),
            is_subtree: *is_subtree == 1,
            due_us,
            time_us,
            connection,
            operation: u32::from_le_bytes(*operation),
            done: Tally { entries, references },
        })
    }
}

fn numbers<const N: usize>(rest: &mut &[u8]) -> Option<[u64; N]> {
    let mut found = [0; N];
    for number in &mut found {
        let (bytes, after) = rest.split_first_chunk::<8>()?;
        *number = u64::from_le_bytes(*bytes);
        *rest = after;
    }
    Some(found)
}

/// A slice of work that was proposed: some jobs, from a place on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// When nothing of it is left to do, the jobs of this backend's queue with smaller numbers are finished.
    pub finish_before: u64,
    /// Where the slice before ended; empty at first.
    pub cursor: Vec<u8>,
    /// One job about a subtree, or up to [`BATCH_JOBS`] about an entry each, in their order.
    pub jobs: Vec<Job>,
}

impl Slice {
    /// As a proposal carries it.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.finish_before.to_le_bytes().to_vec();
        put(&mut out, &self.cursor);
        for job in &self.jobs {
            put(&mut out, &job.encode());
        }
        out
    }

    /// Reads it; `None` when the bytes are no slice.
    pub fn decode(mut bytes: &[u8]) -> Option<Self> {
        let [finish_before] = numbers(&mut bytes)?;
        let cursor = take(&mut bytes)?.to_vec();
        let mut jobs = Vec::new();
        while !bytes.is_empty() {
            jobs.push(Job::decode(take(&mut bytes)?)?);
        }
        Some(Self { finish_before, cursor, jobs })
    }
}

/// Which jobs wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The number of the first job that waits.
    pub first: u64,
    /// The next number to be given.
    pub next: u64,
    /// Jobs from here on are done in this backend, and wait for others.
    own_end: u64,
}

impl Bounds {
    /// Whether something is still to be done in this backend. What comes then has to wait behind it: done at once, it
    /// would meet references under names that are not theirs any more.
    pub fn is_behind(self) -> bool {
        self.first < self.own_end
    }
}

/// Which jobs wait.
pub fn bounds(view: &View<'_>) -> Result<Bounds, StoreError> {
    let kept = view.meta(BOUNDS_KEY)?.unwrap_or_default();
    let mut rest: &[u8] = &kept;
    let [first, next, own_end] = numbers(&mut rest).unwrap_or([1, 1, 1]);
    Ok(Bounds { first, next, own_end })
}

/// The job of that number.
pub fn job(view: &View<'_>, number: u64) -> Result<Option<Job>, StoreError> {
    Ok(view.meta(&key(number))?.and_then(|bytes| Job::decode(&bytes)))
}

/// Adds a job at the end; `is_done_here` when only other backends are left.
pub(super) fn push(txn: &mut Txn<'_>, job: &Job, is_done_here: bool) -> Result<(), StoreError> {
    let mut bounds = bounds(&txn.view())?;
    txn.set_meta(&key(bounds.next), Some(&job.encode()));
    bounds.next += 1;
    if !is_done_here {
        bounds.own_end = bounds.next;
    }
    set_bounds(txn, bounds);
    Ok(())
}

/// Takes the jobs with numbers before `end` out.
pub(super) fn finish(txn: &mut Txn<'_>, end: u64) -> Result<(), StoreError> {
    let bounds = bounds(&txn.view())?;
    let end = end.min(bounds.next);
    if bounds.first < end {
        (bounds.first..end).for_each(|number| txn.set_meta(&key(number), None));
        set_bounds(txn, Bounds { first: end, ..bounds });
    }
    Ok(())
}

fn set_bounds(txn: &mut Txn<'_>, bounds: Bounds) {
    let numbers = [bounds.first, bounds.next, bounds.own_end];
    txn.set_meta(BOUNDS_KEY, Some(numbers.map(u64::to_le_bytes).as_flattened()));
}

fn key(number: u64) -> Vec<u8> {
    [b"references/", &number.to_le_bytes()[..]].concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn slices_come_back_as_they_were() {
        let job = Job {
            old: b"dc=com\0uid=ann\0".to_vec(),
            dn: "uid=Ann,dc=com".to_owned(),
            new: None,
            is_subtree: false,
            due_us: 7,
            time_us: 5,
            connection: 3,
            operation: 9,
            done: Tally { entries: 1, references: 2 },
        };
        let moved = Job { new: Some("uid=Ben,dc=com".to_owned()), is_subtree: true, ..job.clone() };
        let slice = Slice { finish_before: 12, cursor: b"here".to_vec(), jobs: vec![job, moved] };
        assert_eq!(Slice::decode(&slice.encode()), Some(slice.clone()));
        let bytes = slice.encode();
        assert_eq!(Slice::decode(&bytes[..bytes.len() - 1]), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = (Slice::decode(&bytes), Job::decode(&bytes));
        }
    }
}
