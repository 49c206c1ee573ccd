//! What the interned class sets of a backend ask of entries, worked out once for each set.
//!
//! Invariant: only sets of stored records are kept, so that a number taken back by a refused proposal is never in here;
//! when a whole batch is taken back, everything goes.

use std::sync::Arc;

use schema::check::{CheckError, Checker, ClassSet, Requirement};
use store::RecordView;

use query::class_flags::ClassFlags;
use query::facts::Facts;

/// See the module.
#[derive(Default)]
pub(super) struct ClassCache {
    /// By number of the class set.
    known: Vec<Option<Classes>>,
}

/// What is known of the classes of an entry.
#[derive(Clone)]
pub(super) struct Classes {
    /// What they ask for; or why they are no classes (an entry that was imported without checks).
    pub(super) requirement: Result<Arc<Requirement>, CheckError>,
    /// What they mean to operations.
    pub(super) flags: ClassFlags,
}

impl ClassCache {
    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.known.clear();
    }

    /// The classes of a stored record.
    pub(super) fn of(&mut self, facts: &Facts, checker: &Checker, record: &RecordView<'_>) -> Classes {
        let number = record.header().class_set.map(|id| id.0 as usize);
        let known = number.and_then(|number| self.known.get(number)).and_then(Option::as_ref);
        if let Some(known) = known {
            return known.clone();
        }
        let requirement = ClassSet::of_values(&facts.schema, record.object_classes().iter());
        let classes = Classes {
            requirement: requirement.map(|set| checker.requirement(&set)),
            flags: facts.class_flags(record.object_classes()),
        };
        if let Some(number) = number {
            if self.known.len() <= number {
                self.known.resize_with(number + 1, || None);
            }
            if let Some(place) = self.known.get_mut(number) {
                *place = Some(classes.clone());
            }
        }
        classes
    }
}
