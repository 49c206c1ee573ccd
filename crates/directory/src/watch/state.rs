//! The attributes of one entry, to which changes can be done and taken back.
//!
//! Values are compared byte by byte, as the history keeps them. A large attribute is not copied: its values are those
//! of the present snapshot, whatever became of them since.

use store::record::LargeStub;
use store::{
    ClassSetId, Content, DescId, EntryId, Interner, NameId, RecordBuilder, RecordView, StoreError, Tables, Values,
};

use change::history::Edit;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct EntryState {
    attributes: Vec<(DescId, Held)>,
}

#[derive(Clone, Debug)]
enum Held {
    Values(Vec<Vec<u8>>),
    Large(LargeStub),
}

impl EntryState {
    /// An entry as it is stored.
    pub fn stored(record: RecordView<'_>) -> EntryState {
        let mut attributes = Vec::new();
        record.for_each(&mut Vec::new(), |attribute| {
            let held = match attribute.content {
                Content::Inline(values) => Held::Values(values.iter().map(<[u8]>::to_vec).collect()),
                Content::Large(stub) => Held::Large(stub),
            };
            attributes.push((attribute.desc, held));
        });
        EntryState { attributes }
    }

    /// An entry that was just added.
    pub fn added(changes: &[Edit], tables: &Tables) -> EntryState {
        let mut state = EntryState::default();
        state.repeat(changes, tables);
        state
    }

    /// An entry that was just deleted, before that.
    pub fn deleted(changes: &[Edit], tables: &Tables) -> EntryState {
        let mut state = EntryState::default();
        state.take_back(changes, tables);
        state
    }

    /// Does the changes.
    pub fn repeat(&mut self, changes: &[Edit], tables: &Tables) {
        for change in changes {
            let Some(values) = self.values(&change.description, tables) else { continue };
            if change.is_complete {
                values.retain(|value| !change.removed.contains(value));
            } else {
                values.clear();
            }
            values.extend(change.added.iter().cloned());
        }
    }

    /// Takes the changes back. What an attribute was whose values are not told is not known: it stays without those
    /// that were added.
    pub fn take_back(&mut self, changes: &[Edit], tables: &Tables) {
        for change in changes {
            let Some(values) = self.values(&change.description, tables) else { continue };
            values.retain(|value| !change.added.contains(value));
            values.extend(change.removed.iter().cloned());
        }
    }

    /// The values of an attribute; none for a large one, or one that no entry of the backend has.
    fn values(&mut self, description: &str, tables: &Tables) -> Option<&mut Vec<Vec<u8>>> {
        let desc = tables.description_id(description)?;
        let at = match self.attributes.iter().position(|(known, _)| *known == desc) {
            Some(at) => at,
            None => {
                self.attributes.push((desc, Held::Values(Vec::new())));
                self.attributes.len() - 1
            }
        };
        match self.attributes.get_mut(at) {
            Some((_, Held::Values(values))) => Some(values),
            _ => None,
        }
    }

    /// As the record of an entry named `rdn` below `parent`.
    pub fn record(&self, parent: EntryId, rdn: &[u8], tables: &Tables) -> Result<Vec<u8>, StoreError> {
        let mut builder = RecordBuilder::new(parent, rdn);
        let mut known = Known(tables);
        for (desc, held) in &self.attributes {
            match held {
                Held::Values(values) => builder.push(*desc, values.iter().map(Vec::as_slice), &mut known)?,
                Held::Large(stub) => builder.push_large(*desc, *stub)?,
            }
        }
        builder.finish()
    }
}

/// The numbers that are given already: everything in a change was stored once.
struct Known<'t>(&'t Tables);

impl Interner for Known<'_> {
    fn description(&mut self, description: &str) -> Result<DescId, StoreError> {
        self.0.description_id(description).ok_or(StoreError::Misuse("attribute without a number"))
    }

    fn name(&mut self, name: &[u8]) -> Option<NameId> {
        self.0.name_id(name)
    }

    fn class_set(&mut self, values: Values<'_>) -> Option<ClassSetId> {
        self.0.class_set_id(values)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use store::NoTypes;

    use super::*;

    fn tables() -> Tables {
        let mut tables = Tables::new(Arc::new(NoTypes));
        for name in ["a", "b", "c"] {
            Interner::description(&mut tables, name).unwrap();
        }
        tables
    }

    type Attributes = std::collections::BTreeMap<&'static str, std::collections::BTreeSet<Vec<u8>>>;

    fn of(attributes: &Attributes, tables: &Tables) -> EntryState {
        EntryState::added(&diff(&Attributes::new(), attributes), tables)
    }

    fn diff(from: &Attributes, to: &Attributes) -> Vec<Edit> {
        let none = std::collections::BTreeSet::new();
        ["a", "b", "c"]
            .into_iter()
            .map(|name| {
                let (old, new) = (from.get(name).unwrap_or(&none), to.get(name).unwrap_or(&none));
                Edit {
                    description: name.to_owned(),
                    is_complete: true,
                    removed: old.difference(new).cloned().collect(),
                    added: new.difference(old).cloned().collect(),
                }
            })
            .filter(|diff| !(diff.removed.is_empty() && diff.added.is_empty()))
            .collect()
    }

    fn as_sets(state: &EntryState, tables: &Tables) -> Attributes {
        let bytes = state.record(EntryId::ROOT, b"dc=x", tables).unwrap();
        let mut found = Attributes::new();
        RecordView::parse(&bytes, tables).unwrap().for_each(&mut Vec::new(), |attribute| {
            let name = ["a", "b", "c"].into_iter().find(|name| tables.description_id(name) == Some(attribute.desc));
            let Content::Inline(values) = attribute.content else { panic!("nothing is large here") };
            found.insert(name.unwrap(), values.iter().map(<[u8]>::to_vec).collect());
        });
        found
    }

    fn attributes() -> impl Strategy<Value = Attributes> {
        let values = prop::collection::btree_set(prop::collection::vec(any::<u8>(), 1..3), 1..4);
        prop::collection::btree_map(prop::sample::select(vec!["a", "b", "c"]), values, 0..4)
    }

    proptest! {
        /// A row of states: from the last one every earlier one comes back, and forward again.
        #[test]
        fn changes_can_be_taken_back_and_repeated(states in prop::collection::vec(attributes(), 2..6)) {
            let tables = tables();
            let diffs: Vec<_> = states.windows(2).map(|pair| diff(&pair[0], &pair[1])).collect();
            let mut state = of(states.last().unwrap(), &tables);
            for (expected, change) in states.iter().zip(&diffs).rev() {
                state.take_back(change, &tables);
                prop_assert_eq!(&as_sets(&state, &tables), expected);
            }
            for (expected, change) in states.iter().skip(1).zip(&diffs) {
                state.repeat(change, &tables);
                prop_assert_eq!(&as_sets(&state, &tables), expected);
            }
        }
    }

    #[test]
    fn what_is_not_told_completely_is_all_that_was_added() {
        let tables = tables();
        let mut state = EntryState::added(
            &[Edit {
                description: "a".to_owned(),
                is_complete: true,
                removed: Vec::new(),
                added: vec![b"old".to_vec(), b"older".to_vec()],
            }],
            &tables,
        );
        let added = vec![b"new".to_vec()];
        let replaced = [Edit { description: "a".to_owned(), is_complete: false, removed: Vec::new(), added }];
        state.repeat(&replaced, &tables);
        assert_eq!(as_sets(&state, &tables), [("a", [b"new".to_vec()].into())].into());
    }
}
