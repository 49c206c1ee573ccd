//! A hash table from names and OIDs to small numbers: ASCII case is ignored and a lookup allocates nothing.
//!
//! It is asked for every filter component and every imported attribute. It knows nothing of what the numbers stand for.

/// Buckets are kept at least twice as many as the names, so that a probe rarely takes a second step.
const BUCKETS_PER_NAME: usize = 2;

/// Case-insensitive map from a name to a `u32`.
#[derive(Debug, Clone, Default)]
pub(crate) struct NameTable {
    names: Vec<(Box<[u8]>, u32)>,
    buckets: Vec<Bucket>,
}

/// Part of the hash decides nearly always without a look at the name.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    tag: u32,
    slot: u32,
}

const EMPTY: Bucket = Bucket { tag: 0, slot: u32::MAX };

impl NameTable {
    /// The number of `name`, whatever its case.
    pub(crate) fn get(&self, name: &[u8]) -> Option<u32> {
        let mask = self.buckets.len().checked_sub(1)?;
        let hash = hash(name);
        let mut at = hash as usize & mask;
        loop {
            let bucket = self.buckets.get(at)?;
            if bucket.slot == EMPTY.slot {
                return None;
            }
            if bucket.tag == tag(hash) {
                let (known, number) = self.names.get(bucket.slot as usize)?;
                if known.eq_ignore_ascii_case(name) {
                    return Some(*number);
                }
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a name; an older name that differs only in case keeps its number, which is returned.
    pub(crate) fn insert(&mut self, name: &[u8], number: u32) -> Option<u32> {
        if let Some(known) = self.get(name) {
            return Some(known);
        }
        self.names.push((name.into(), number));
        if self.names.len() * BUCKETS_PER_NAME > self.buckets.len() {
            self.grow();
        } else {
            place(&mut self.buckets, name, self.names.len() - 1);
        }
        None
    }

    fn grow(&mut self) {
        let size = (self.names.len() * BUCKETS_PER_NAME * 2).next_power_of_two();
        self.buckets = vec![EMPTY; size];
        for (slot, (name, _)) in self.names.iter().enumerate() {
            place(&mut self.buckets, name, slot);
        }
    }
}

fn place(buckets: &mut [Bucket], name: &[u8], slot: usize) {
    let mask = buckets.len() - 1;
    let hash = hash(name);
    let mut at = hash as usize & mask;
    while buckets.get(at).is_some_and(|held| held.slot != EMPTY.slot) {
        at = (at + 1) & mask;
    }
    if let Some(bucket) = buckets.get_mut(at) {
        *bucket = Bucket { tag: tag(hash), slot: slot as u32 };
    }
}

fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}

/// Setting bit 5 of every byte makes upper and lower case hash alike; the few other pairs it merges only share a
/// bucket.
fn hash(name: &[u8]) -> u64 {
    const CASE: u64 = 0x2020_2020_2020_2020;
    const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut state = name.len() as u64;
    let mut words = name.chunks_exact(8);
    for word in &mut words {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(word);
        state = mix(state ^ (u64::from_le_bytes(bytes) | CASE), MULTIPLIER);
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        let mut bytes = [0; 8];
        bytes[..rest.len()].copy_from_slice(rest);
        state = mix(state ^ (u64::from_le_bytes(bytes) | CASE), MULTIPLIER);
    }
    state
}

fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ ((product >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_any_case_and_nothing_else() {
        let mut table = NameTable::default();
        assert_eq!(table.get(b"cn"), None);
        for number in 0..500u32 {
            assert_eq!(table.insert(format!("Attribute-{number}").as_bytes(), number), None);
        }
        for number in 0..500u32 {
            assert_eq!(table.get(format!("aTTribute-{number}").as_bytes()), Some(number));
        }
        assert_eq!(table.get(b"attribute-500"), None);
        assert_eq!(table.get(b""), None);
        // '@' and '`' share a bucket with each other, but they are not the same name.
        table.insert(b"a@b", 7);
        assert_eq!(table.get(b"a`b"), None);
    }

    #[test]
    fn the_first_owner_of_a_name_keeps_it() {
        let mut table = NameTable::default();
        assert_eq!(table.insert(b"sn", 1), None);
        assert_eq!(table.insert(b"SN", 2), Some(1));
        assert_eq!(table.get(b"Sn"), Some(1));
    }
}
