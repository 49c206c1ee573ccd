//! The containers of a long list: the ids of one chunk (8,192 neighbours) as array, bitmap or runs, whichever is
//! smallest.
//!
//! Stored under [`chunk_key`]: list number (u48 BE) ‖ chunk (u48 BE). Body: tag byte, then
//! 1 = ascending `u16` LE, 2 = 1,024 bytes bitmap, 3 = runs of (first `u16` LE, last `u16` LE).
//!
//! Invariants:
//! (1) A stored container is never empty and at most [`CONTAINER_BYTES_MAX`] bytes, so it is inline in a page.
//! (2) All stored numbers are below [`CHUNK_IDS`] and ascend strictly; runs neither touch nor overlap.

use super::Damaged;
use crate::{EntryId, ListId};

/// Ids per chunk: the largest whose bitmap is 1 KiB.
pub const CHUNK_IDS: u64 = 1 << CHUNK_BITS;
const CHUNK_BITS: u32 = 13;
const WORDS: usize = CHUNK_IDS as usize / 64;
/// Largest stored container: tag and bitmap.
pub const CONTAINER_BYTES_MAX: usize = 1 + CHUNK_IDS as usize / 8;
/// Length of a key in `chunks`.
pub const CHUNK_KEY_BYTES: usize = 12;

const ARRAY: u8 = 1;
const BITMAP: u8 = 2;
const RUNS: u8 = 3;
const DAMAGED: Damaged = Damaged("container");

/// Chunk that `id` lies in.
#[inline]
pub fn chunk_of(id: EntryId) -> u64 {
    id.0 >> CHUNK_BITS
}

/// Position of `id` in its chunk.
#[inline]
pub fn low_of(id: EntryId) -> u16 {
    (id.0 & (CHUNK_IDS - 1)) as u16
}

/// The id at position `low` of `chunk`.
#[inline]
pub fn id_at(chunk: u64, low: u16) -> EntryId {
    EntryId(chunk << CHUNK_BITS | u64::from(low))
}

/// Key of a container row.
#[inline]
pub fn chunk_key(list: ListId, chunk: u64) -> [u8; CHUNK_KEY_BYTES] {
    let mut key = [0; CHUNK_KEY_BYTES];
    key[..6].copy_from_slice(&list.0.to_be_bytes()[2..]);
    key[6..].copy_from_slice(&chunk.to_be_bytes()[2..]);
    key
}

/// List and chunk of a container row.
pub fn parse_chunk_key(key: &[u8]) -> Result<(ListId, u64), Damaged> {
    let number = |bytes: &[u8]| bytes.iter().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
    match key.split_at_checked(6) {
        Some((list, chunk)) if chunk.len() == 6 => Ok((ListId(number(list)), number(chunk))),
        _ => Err(Damaged("chunk key")),
    }
}

/// A stored container, read in place.
#[derive(Clone, Copy, Debug)]
pub enum Container<'a> {
    /// Ascending positions.
    Array(&'a [[u8; 2]]),
    /// One bit a position.
    Bitmap(&'a [[u8; 8]]),
    /// Inclusive ranges.
    Runs(&'a [[u8; 4]]),
}

impl<'a> Container<'a> {
    /// Reads the tag and checks the shape (not the order: `verify` does).
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Container<'a>, Damaged> {
        let (&tag, body) = bytes.split_first().ok_or(DAMAGED)?;
        let container = match tag {
            ARRAY => Container::Array(whole(body.as_chunks())?),
            BITMAP if body.len() == WORDS * 8 => Container::Bitmap(whole(body.as_chunks())?),
            RUNS => Container::Runs(whole(body.as_chunks())?),
            _ => return Err(DAMAGED),
        };
        Ok(container)
    }

    /// Number of ids.
    pub fn len(&self) -> u64 {
        match self {
            Container::Array(lows) => lows.len() as u64,
            Container::Bitmap(words) => {
                words.iter().map(|word| u64::from(u64::from_le_bytes(*word).count_ones())).sum()
            }
            Container::Runs(runs) => runs
                .iter()
                .map(|run| {
                    let (first, last) = run_of(*run);
                    u64::from(last.saturating_sub(first)) + 1
                })
                .sum(),
        }
    }

    /// A stored container is never empty; a damaged one may be.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether position `low` is in it.
    pub fn contains(&self, low: u16) -> bool {
        match self {
            Container::Array(lows) => lows.binary_search_by(|probe| u16::from_le_bytes(*probe).cmp(&low)).is_ok(),
            Container::Bitmap(words) => {
                words.get(usize::from(low) / 64).is_some_and(|word| u64::from_le_bytes(*word) >> (low % 64) & 1 == 1)
            }
            Container::Runs(runs) => {
                let at = runs.partition_point(|run| run_of(*run).0 <= low);
                at.checked_sub(1).and_then(|at| runs.get(at)).is_some_and(|run| low <= run_of(*run).1)
            }
        }
    }

    /// Ascending positions.
    pub fn iter(&self) -> ContainerIter<'a> {
        match *self {
            Container::Array(lows) => ContainerIter::Array(lows.iter()),
            Container::Bitmap(words) => ContainerIter::Bitmap { words, at: 0, word: word_at(words, 0) },
            Container::Runs(runs) => ContainerIter::Runs { runs: runs.iter(), next: 1, last: 0 },
        }
    }

    /// Checks invariant 2; for `verify`.
    pub fn check(&self) -> Result<(), Damaged> {
        let mut last = None;
        for low in self.iter() {
            if u64::from(low) >= CHUNK_IDS || last >= Some(low) {
                return Err(DAMAGED);
            }
            last = Some(low);
        }
        if last.is_none() { Err(DAMAGED) } else { Ok(()) }
    }
}

fn whole<'a, const N: usize>((chunks, rest): (&'a [[u8; N]], &'a [u8])) -> Result<&'a [[u8; N]], Damaged> {
    if rest.is_empty() { Ok(chunks) } else { Err(DAMAGED) }
}

#[inline]
fn run_of([a, b, c, d]: [u8; 4]) -> (u16, u16) {
    (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]))
}

#[inline]
fn word_at(words: &[[u8; 8]], at: usize) -> u64 {
    words.get(at).map_or(0, |word| u64::from_le_bytes(*word))
}

/// Iterator of [`Container`].
#[derive(Clone, Debug)]
pub enum ContainerIter<'a> {
    /// Over an array.
    Array(std::slice::Iter<'a, [u8; 2]>),
    /// Over a bitmap: `word` is what is left of word `at`.
    Bitmap {
        /// All words.
        words: &'a [[u8; 8]],
        /// The current one.
        at: usize,
        /// Its bits not yet given.
        word: u64,
    },
    /// Over runs: `next..=last` is what is left of the current run.
    Runs {
        /// The runs after the current one.
        runs: std::slice::Iter<'a, [u8; 4]>,
        /// Next position.
        next: u32,
        /// Last position of the run.
        last: u32,
    },
}

impl Iterator for ContainerIter<'_> {
    type Item = u16;

    #[inline]
    fn next(&mut self) -> Option<u16> {
        match self {
            ContainerIter::Array(lows) => lows.next().map(|low| u16::from_le_bytes(*low)),
            ContainerIter::Bitmap { words, at, word } => {
                while *word == 0 {
                    *at += 1;
                    if *at >= words.len() {
                        return None;
                    }
                    *word = word_at(words, *at);
                }
                let low = *at as u32 * 64 + word.trailing_zeros();
                *word &= *word - 1;
                Some(low as u16)
            }
            ContainerIter::Runs { runs, next, last } => {
                while *next > *last {
                    let (first, end) = run_of(*runs.next()?);
                    (*next, *last) = (u32::from(first), u32::from(end));
                }
                let low = *next as u16;
                *next += 1;
                Some(low)
            }
        }
    }
}

/// A container being changed or computed: always a bitmap, made small again by [`ContainerBuf::encode`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerBuf {
    words: [u64; WORDS],
}

impl Default for ContainerBuf {
    fn default() -> ContainerBuf {
        ContainerBuf { words: [0; WORDS] }
    }
}

impl ContainerBuf {
    /// An empty one.
    pub fn new() -> ContainerBuf {
        ContainerBuf::default()
    }

    /// Removes all ids.
    pub fn clear(&mut self) {
        self.words = [0; WORDS];
    }

    /// Adds position `low`; `false` if it was there.
    #[inline]
    pub fn insert(&mut self, low: u16) -> bool {
        let (at, bit) = place(low);
        let new = self.words[at] & bit == 0;
        self.words[at] |= bit;
        new
    }

    /// Removes position `low`; `false` if it was not there.
    #[inline]
    pub fn remove(&mut self, low: u16) -> bool {
        let (at, bit) = place(low);
        let was = self.words[at] & bit != 0;
        self.words[at] &= !bit;
        was
    }

    /// Whether position `low` is in it.
    #[inline]
    pub fn contains(&self, low: u16) -> bool {
        let (at, bit) = place(low);
        self.words[at] & bit != 0
    }

    /// Number of ids.
    pub fn len(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Ascending positions.
    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        self.words.iter().enumerate().flat_map(|(at, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                if left == 0 {
                    return None;
                }
                let bit = left.trailing_zeros();
                left &= left - 1;
                Some((at as u32 * 64 + bit) as u16)
            })
        })
    }

    /// Union with a stored container.
    pub fn or(&mut self, other: &Container<'_>) {
        match other {
            Container::Array(lows) => {
                for low in *lows {
                    self.insert(u16::from_le_bytes(*low));
                }
            }
            Container::Bitmap(words) => {
                for (mine, theirs) in self.words.iter_mut().zip(*words) {
                    *mine |= u64::from_le_bytes(*theirs);
                }
            }
            Container::Runs(runs) => {
                for run in *runs {
                    let (first, last) = run_of(*run);
                    self.insert_run(first, last);
                }
            }
        }
    }

    /// Intersection with a stored container.
    pub fn and(&mut self, other: &Container<'_>) {
        let mut mask = ContainerBuf::new();
        mask.or(other);
        for (mine, theirs) in self.words.iter_mut().zip(&mask.words) {
            *mine &= theirs;
        }
    }

    /// Removes what is in a stored container.
    pub fn and_not(&mut self, other: &Container<'_>) {
        let mut mask = ContainerBuf::new();
        mask.or(other);
        for (mine, theirs) in self.words.iter_mut().zip(&mask.words) {
            *mine &= !theirs;
        }
    }

    fn insert_run(&mut self, first: u16, last: u16) {
        let (first, last) = (usize::from(first) % (WORDS * 64), usize::from(last) % (WORDS * 64));
        for at in first / 64..=last / 64 {
            let low = if at == first / 64 { first % 64 } else { 0 };
            let high = if at == last / 64 { last % 64 } else { 63 };
            if low <= high {
                self.words[at] |= (u64::MAX >> (63 - high)) & (u64::MAX << low);
            }
        }
    }

    /// Number of maximal ranges.
    fn run_count(&self) -> usize {
        let mut before = 0u64;
        let mut runs = 0;
        for word in &self.words {
            // A run starts at every bit whose left neighbour is clear.
            runs += (word & !(word << 1 | before)).count_ones() as usize;
            before = word >> 63;
        }
        runs
    }

    /// Appends the smallest stored form; `false`, and nothing appended, when empty.
    pub fn encode(&self, out: &mut Vec<u8>) -> bool {
        let len = self.len() as usize;
        if len == 0 {
            return false;
        }
        let (array, runs) = (len * 2, self.run_count() * 4);
        if runs < array && runs < WORDS * 8 {
            out.push(RUNS);
            let mut start = None;
            let mut last = 0;
            for low in self.iter() {
                match start {
                    Some(_) if low == last + 1 => {}
                    Some(first) => {
                        put_run(out, first, last);
                        start = Some(low);
                    }
                    None => start = Some(low),
                }
                last = low;
            }
            put_run(out, start.unwrap_or(last), last);
        } else if array <= WORDS * 8 {
            out.push(ARRAY);
            for low in self.iter() {
                out.extend_from_slice(&low.to_le_bytes());
            }
        } else {
            out.push(BITMAP);
            for word in &self.words {
                out.extend_from_slice(&word.to_le_bytes());
            }
        }
        true
    }
}

fn put_run(out: &mut Vec<u8>, first: u16, last: u16) {
    out.extend_from_slice(&first.to_le_bytes());
    out.extend_from_slice(&last.to_le_bytes());
}

#[inline]
fn place(low: u16) -> (usize, u64) {
    // Positions come from `low_of` or a stored container; a damaged one is folded into range rather than trusted.
    (usize::from(low) / 64 % WORDS, 1 << (low % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use roaring::RoaringBitmap;

    fn set_strategy() -> impl Strategy<Value = RoaringBitmap> {
        let range = (0u32..8192, 1u32..3000)
            .prop_map(|(start, len)| (start..(start + len).min(8192)).collect::<RoaringBitmap>());
        let sparse = proptest::collection::btree_set(0u32..8192, 1..900)
            .prop_map(|set| set.into_iter().collect::<RoaringBitmap>());
        prop_oneof![range.clone(), sparse.clone(), (range, sparse).prop_map(|(a, b)| a | b)]
    }

    fn encode(set: &RoaringBitmap) -> Vec<u8> {
        let mut buf = ContainerBuf::new();
        for id in set {
            assert!(buf.insert(id as u16));
        }
        let mut out = Vec::new();
        assert!(buf.encode(&mut out));
        out
    }

    fn same(buf: &ContainerBuf, set: &RoaringBitmap) -> bool {
        buf.iter().map(u32::from).eq(set.iter()) && buf.len() == set.len() && buf.is_empty() == set.is_empty()
    }

    proptest! {
        #[test]
        fn containers_agree_with_roaring(
            a in set_strategy(),
            b in set_strategy(),
            probes in proptest::collection::vec(0u16..8192, 50),
        ) {
            let (x, y) = (encode(&a), encode(&b));
            prop_assert!(x.len() <= CONTAINER_BYTES_MAX);
            let (x, y) = (Container::parse(&x).unwrap(), Container::parse(&y).unwrap());
            prop_assert!(x.check().is_ok());
            prop_assert_eq!(x.len(), a.len());
            prop_assert!(x.iter().map(u32::from).eq(a.iter()));
            for probe in probes {
                prop_assert_eq!(x.contains(probe), a.contains(u32::from(probe)));
            }
            let mut base = ContainerBuf::new();
            base.or(&x);
            prop_assert!(same(&base, &a));
            let mut buf = base.clone();
            buf.or(&y);
            prop_assert!(same(&buf, &(&a | &b)));
            let mut buf = base.clone();
            buf.and(&y);
            prop_assert!(same(&buf, &(&a & &b)));
            let mut buf = base.clone();
            buf.and_not(&y);
            prop_assert!(same(&buf, &(&a - &b)));
        }

        #[test]
        fn damage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..1200)) {
            if let Ok(container) = Container::parse(&bytes) {
                let mut buf = ContainerBuf::new();
                buf.or(&container);
                let _ = (container.len(), container.contains(77), container.check());
            }
        }
    }

    #[test]
    fn the_smallest_form_is_chosen() {
        let size = |set: RoaringBitmap| encode(&set).len();
        assert_eq!(size((0..8192).collect()), 5);
        assert_eq!(size([3, 9, 4000].into_iter().collect()), 7);
        assert_eq!(size((0..8192).step_by(2).collect()), CONTAINER_BYTES_MAX);
        assert!(!ContainerBuf::new().encode(&mut Vec::new()));
    }

    #[test]
    fn chunk_keys_sort_by_list_then_chunk() {
        assert!(chunk_key(ListId(1), 9) < chunk_key(ListId(1), 256));
        assert!(chunk_key(ListId(1), u64::MAX >> 16) < chunk_key(ListId(2), 0));
        assert_eq!(parse_chunk_key(&chunk_key(ListId(77), 3)), Ok((ListId(77), 3)));
        let id = EntryId(1_234_567);
        assert_eq!(id_at(chunk_of(id), low_of(id)), id);
    }
}
