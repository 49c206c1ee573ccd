//! Instructions of entries as they are proposed: what is added to the values of `aci` that an entry has, and what is
//! taken away.
//!
//! By the number of the entry, so that a proposal follows an entry that is renamed.

use std::collections::BTreeMap;

use query::backend::BackendIndex;
use store::EntryId;

/// A change of the instructions of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProposedChange {
    /// One more.
    Add(Vec<u8>),
    /// One less; nothing if the entry does not have it.
    Delete(Vec<u8>),
    /// None of those that it has.
    DeleteAll,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProposedInstructions(BTreeMap<(usize, EntryId), Vec<ProposedChange>>);

impl ProposedInstructions {
    /// Proposes another change of an entry, after those before.
    pub fn push(&mut self, backend: BackendIndex, entry: EntryId, change: ProposedChange) {
        self.0.entry((backend.0, entry)).or_default().push(change);
    }

    /// Whether nothing is proposed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Of how many entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Makes what is proposed of the values that an entry has.
    pub fn apply(&self, backend: BackendIndex, entry: EntryId, values: &mut Vec<Vec<u8>>) {
        for change in self.0.get(&(backend.0, entry)).into_iter().flatten() {
            match change {
                ProposedChange::Add(value) if values.contains(value) => {}
                ProposedChange::Add(value) => values.push(value.clone()),
                ProposedChange::Delete(value) => values.retain(|it| it != value),
                ProposedChange::DeleteAll => values.clear(),
            }
        }
    }

    /// The entries of a backend.
    pub(crate) fn entries(&self, backend: BackendIndex) -> impl Iterator<Item = EntryId> {
        self.0.keys().filter(move |(at, _)| *at == backend.0).map(|(_, entry)| *entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_made_in_their_order_of_their_entry_alone() {
        let (backend, entry) = (BackendIndex(1), EntryId(7));
        let value = |text: &str| text.as_bytes().to_vec();
        let mut proposed = ProposedInstructions::default();
        for change in [
            ProposedChange::Delete(value("a")),
            ProposedChange::Delete(value("absent")),
            ProposedChange::Add(value("b")),
            ProposedChange::Add(value("c")),
        ] {
            proposed.push(backend, entry, change);
        }
        let applied = |backend, entry, proposed: &ProposedInstructions| {
            let mut values = vec![value("a"), value("b")];
            proposed.apply(backend, entry, &mut values);
            values
        };
        assert_eq!(applied(backend, entry, &proposed), [value("b"), value("c")]);
        for other in [(backend, EntryId(8)), (BackendIndex(0), entry)] {
            assert_eq!(applied(other.0, other.1, &proposed), [value("a"), value("b")]);
        }
        proposed.push(backend, entry, ProposedChange::DeleteAll);
        proposed.push(backend, entry, ProposedChange::Add(value("d")));
        assert_eq!(applied(backend, entry, &proposed), [value("d")]);
    }
}
