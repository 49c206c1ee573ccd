//! Sorting the keys of one slot: a stable radix sort for words, a caching multikey sort for long keys.
//!
//! Ids arrive in ascending order. The radix sort is stable, so each key's ids stay ascending without being
//! compared; the long sort compares them last.

use super::batch::{LongKey, long_bytes};

/// Room for the radix sort, reused from slot to slot.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    words: Vec<u64>,
    ids: Vec<u32>,
}

/// Up to this many words a comparison sort is quicker than eight histograms.
const RADIX_WORDS_MIN: usize = 512;

/// Sorts `words` and moves `ids` along; equal words keep their order.
pub(super) fn sort_words(words: &mut Vec<u64>, ids: &mut Vec<u32>, scratch: &mut Scratch) {
    debug_assert_eq!(words.len(), ids.len());
    if words.len() < RADIX_WORDS_MIN {
        return sort_few(words, ids);
    }
    let counts = histograms(words);
    scratch.words.resize(words.len(), 0);
    scratch.ids.resize(ids.len(), 0);
    for (digit, count) in counts.iter().enumerate() {
        // A digit that is the same everywhere (the seventh byte of six-byte keys) needs no pass.
        if count.iter().any(|&n| n as usize == words.len()) {
            continue;
        }
        scatter(words, ids, &mut scratch.words, &mut scratch.ids, digit as u32 * 8, count);
        std::mem::swap(words, &mut scratch.words);
        std::mem::swap(ids, &mut scratch.ids);
    }
}

fn sort_few(words: &mut [u64], ids: &mut [u32]) {
    let mut pairs: Vec<(u64, u32)> = words.iter().copied().zip(ids.iter().copied()).collect();
    pairs.sort_by_key(|pair| pair.0);
    for ((word, id), pair) in words.iter_mut().zip(ids.iter_mut()).zip(pairs) {
        (*word, *id) = pair;
    }
}

fn histograms(words: &[u64]) -> [[u32; 256]; 8] {
    let mut counts = [[0u32; 256]; 8];
    for word in words {
        for (count, byte) in counts.iter_mut().zip(word.to_le_bytes()) {
            count[usize::from(byte)] += 1;
        }
    }
    counts
}

fn scatter(words: &[u64], ids: &[u32], to_words: &mut [u64], to_ids: &mut [u32], shift: u32, count: &[u32; 256]) {
    let mut next = [0u32; 256];
    let mut total = 0;
    for (start, n) in next.iter_mut().zip(count) {
        *start = total;
        total += n;
    }
    for (word, id) in words.iter().zip(ids) {
        let bucket = &mut next[((word >> shift) & 255) as usize];
        let at = *bucket as usize;
        *bucket += 1;
        // The histogram of this very digit was taken from these very words: `at` is below their number.
        if let (Some(w), Some(i)) = (to_words.get_mut(at), to_ids.get_mut(at)) {
            *w = *word;
            *i = *id;
        }
    }
}

/// Sorts long keys by their bytes, then by id.
pub(super) fn sort_longs(keys: &mut [LongKey], arena: &[u8]) {
    sort_longs_from(keys, arena, 0);
}

/// Sorts keys that agree in their first `depth` bytes: by the next eight, then each group of equals further on.
fn sort_longs_from(keys: &mut [LongKey], arena: &[u8], depth: u32) {
    for key in keys.iter_mut() {
        key.cache = cache(long_bytes(arena, key).get(depth as usize..).unwrap_or_default());
    }
    // A key that ends within these eight bytes is padded with zeros; its length tells it from one with real zeros.
    let reach = |key: &LongKey| key.length.min(depth + 9);
    keys.sort_unstable_by_key(|key| (key.cache, reach(key), key.id));
    for group in keys.chunk_by_mut(|a, b| a.cache == b.cache && reach(a) == reach(b)) {
        let longer = group.first().is_some_and(|key| key.length > depth + 8);
        if longer && group.len() > 1 {
            sort_longs_from(group, arena, depth + 8);
        }
    }
}

fn cache(bytes: &[u8]) -> u64 {
    if let Some(eight) = bytes.first_chunk::<8>() {
        return u64::from_be_bytes(*eight);
    }
    let mut padded = [0u8; 8];
    for (to, from) in padded.iter_mut().zip(bytes) {
        *to = *from;
    }
    u64::from_be_bytes(padded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bulk::sort::{KeyBatch, Slot};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn radix_sort_is_a_stable_sort(
            words in prop::collection::vec(
                prop_oneof![any::<u64>(), 0u64..4, (0u64..4).prop_map(|n| n << 40)],
                0..1500,
            ),
        ) {
            let mut ids: Vec<u32> = (0..words.len() as u32).collect();
            let mut expected: Vec<(u64, u32)> = words.iter().copied().zip(ids.iter().copied()).collect();
            expected.sort();
            let mut sorted = words.clone();
            sort_words(&mut sorted, &mut ids, &mut Scratch::default());
            prop_assert_eq!(sorted.into_iter().zip(ids).collect::<Vec<_>>(), expected);
        }

        #[test]
        fn long_sort_orders_by_bytes_then_id(
            keys in prop::collection::vec(prop::collection::vec(0u8..2, 8..28), 0..200),
        ) {
            let mut batch = KeyBatch::new(1);
            for (row, key) in keys.iter().enumerate() {
                batch.push(Slot(0), key, row as u32).unwrap();
            }
            let slot = &mut batch.slots[0];
            let mut expected: Vec<(Vec<u8>, u32)> = keys.into_iter().zip(0..).collect();
            expected.sort();
            sort_longs(&mut slot.longs, &slot.arena);
            let sorted: Vec<(Vec<u8>, u32)> = slot.longs.iter().map(|k| (slot.long(k).to_vec(), k.id)).collect();
            prop_assert_eq!(sorted, expected);
        }
    }
}
