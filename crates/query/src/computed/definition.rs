//! What a definition says, and what a source of values has to be able to do.

use std::fmt;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use config::ConflictBehavior;
use schema::TypeIndex;
use store::{DescId, StoreError, Values};

use super::alternatives::{Alternatives, Narrowing};
use super::entries_at::EntriesAt;
use super::reach::Reach;
use crate::entry::EntryView;
use crate::entry_place::EntryPlace;
use crate::facts::Facts;
use crate::filter::{FilterScratch, Item, Matcher};

/// Names of attributes that nothing may compute: what others depend on, and passwords (Sun: no CoS for these).
const NEVER: [&[u8]; 4] = [b"objectClass", b"aci", b"nsRoleDN", b"userPassword"];

/// One attribute, for some entries, from one source.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The attribute.
    pub attribute: TypeIndex,
    /// Which entries get it.
    pub reach: Reach,
    /// What becomes of values that the entry has stored.
    pub conflict: ConflictBehavior,
    /// Values go to those only who ask for the attribute by name (CoS: `operational`).
    pub is_by_name_only: bool,
    /// Its values are shown together with those of other definitions of which this is said too (CoS: `merge-schemes`;
    /// collective attributes). Else one definition gives all values: that with the best [`Priority`].
    pub merges: bool,
    /// Entries whose classes do not allow the attribute do not get it.
    pub needs_schema: bool,
    /// Clients cannot write the attribute where it is given: what they wrote would not be seen.
    pub refuses_writes: bool,
    /// Where values come from.
    pub source: Arc<dyn ValueSource>,
}

/// Which of several definitions gives the values: 0 before 1, and so on (`cosPriority`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority(pub u32);

impl Priority {
    /// After all others: what nobody gave a priority.
    pub const LOWEST: Priority = Priority(u32::MAX);

    /// The number in `text`; none, or one below 0, is the lowest.
    #[must_use]
    pub fn parse(text: &[u8]) -> Priority {
        let number = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok());
        number.map_or(Priority::LOWEST, Priority)
    }
}

/// What an entry has stored of an attribute that is taken from it.
#[derive(Debug)]
pub struct Template {
    /// The values, in wire form.
    pub body: Box<[u8]>,
    /// `cosPriority`
    pub priority: Priority,
    /// Whether the entry is a `cosTemplate`.
    pub is_template: bool,
}

/// What entries show at one moment, for definitions that depend on it.
pub trait Shows {
    /// The entries of the backend, without what they are given.
    fn entries(&self) -> EntriesAt<'_>;

    /// What an entry has stored under the plain name of an attribute; `None` when it has nothing.
    ///
    /// # Errors
    /// When something cannot be read.
    fn template(&self, place: EntryPlace, attribute: TypeIndex) -> Result<Option<Rc<Template>>, StoreError>;

    /// Calls `each` with the values that an entry shows of an attribute: computed ones too, as deep as definitions
    /// depend on others.
    ///
    /// # Errors
    /// When something cannot be read.
    fn values_of(
        &self,
        entry: &EntryView<'_>,
        attribute: TypeIndex,
        each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError>;

    /// Whether an attribute's values may be computed: then an index of what is stored does not tell them.
    fn is_computed(&self, attribute: TypeIndex) -> bool;
}

/// Where values come from.
pub trait ValueSource: fmt::Debug + Send + Sync {
    /// Appends the values that an entry in reach gets, in wire form, and gives their priority; `None`, or nothing
    /// appended: it gets none.
    ///
    /// # Errors
    /// When something cannot be read.
    fn supply(
        &self,
        at: &dyn Shows,
        attribute: TypeIndex,
        entry: &EntryView<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Priority>, StoreError>;

    /// By what the entries are found that match an assertion by values from here: see the module.
    ///
    /// # Errors
    /// When something cannot be read.
    fn narrow(
        &self,
        at: &dyn Shows,
        wanted: &ComputedAssertion<'_>,
        any: &mut Alternatives<'_>,
    ) -> Result<Narrowing, StoreError>;

    /// Whether an entry may get something from here: `has` says which attributes it has stored.
    fn concerns(&self, has: &dyn Fn(TypeIndex) -> bool) -> bool {
        let _ = has;
        true
    }

    /// Whether the values of one entry may take long to find (groups are followed): then searches are not run by an
    /// event loop.
    fn is_costly(&self) -> bool {
        false
    }
}

/// An assertion on a computed attribute.
#[derive(Clone, Copy)]
pub struct ComputedAssertion<'w> {
    /// The schema.
    pub facts: &'w Facts,
    /// The attribute that is computed: that of the assertion, or one of its subtypes.
    pub attribute: TypeIndex,
    /// The assertion.
    pub item: &'w Item,
    /// Where the parts of `item` are.
    pub matcher: &'w Matcher,
}

impl ComputedAssertion<'_> {
    /// Whether one value passes.
    #[must_use]
    pub fn accepts(&self, value: &[u8]) -> bool {
        self.matcher.matches_value(self.facts, self.item, value, &mut FilterScratch::default())
    }

    /// Whether one of some values in wire form passes.
    #[must_use]
    pub fn accepts_one_of(&self, body: &[u8]) -> bool {
        let mut scratch = FilterScratch::default();
        Values::new(0, body).iter().any(|value| self.matcher.matches_value(self.facts, self.item, value, &mut scratch))
    }
}

/// Why an attribute cannot be computed, in words that follow its name; `Ok` if it can.
pub fn check_attribute(facts: &Facts, attribute: TypeIndex) -> Result<(), String> {
    let Some(known) = facts.schema.attribute_by_index(attribute) else {
        return Err("is not in the schema".to_owned());
    };
    let never = NEVER.iter().filter_map(|name| facts.schema.attribute_type(name));
    if facts.is_secret(attribute) || never.into_iter().any(|it| known.is_subtype_of(it.index)) {
        return Err("must be stored: the server does not look for it anywhere else".to_owned());
    }
    let is_kept_by_server = DescId::WELL_KNOWN.iter().any(|name| known.has_name(name));
    if facts.is_virtual(attribute) || is_kept_by_server {
        return Err("is the server's own: its values cannot be defined".to_owned());
    }
    Ok(())
}
