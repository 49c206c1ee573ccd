//! By what the entries are found that may get a value from somewhere: what a source says for one assertion.
//!
//! Knows components of filters; how they are put into a filter is for [`super::program`].

use schema::{NormalizedDn, TypeIndex};
use store::{EntryId, StoreError};

use crate::facts::Facts;
use crate::filter::Matcher;
use crate::id_set::IdSet;

/// Who may match an assertion by values of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Narrowing {
    /// Nobody.
    Nobody,
    /// Who matches one of the alternatives that were added.
    Alternatives,
    /// Everybody in reach, as far as is known.
    Everybody,
}

/// Alternatives of one assertion; with more, everybody in reach counts.
pub const ALTERNATIVES_MAX: usize = 1_000;

/// Where a source puts the components of which whoever gets a value from it matches one.
pub struct Alternatives<'r> {
    pub(super) rewriter: &'r mut (dyn Push + 'r),
    pub(super) count: usize,
}

/// What [`Alternatives`] need; it has but one implementation, and hides the lifetimes of that.
pub(super) trait Push {
    fn equal(&mut self, attribute: TypeIndex, form: &[u8]) -> Result<(), StoreError>;
    fn present(&mut self, attribute: TypeIndex) -> Result<(), StoreError>;
    fn copy(&mut self, matcher: &Matcher);
    fn copy_below(&mut self, matcher: &Matcher, top: &NormalizedDn) -> Result<(), StoreError>;
    fn below(&mut self, top: EntryId, max: u64) -> Result<bool, StoreError>;
    fn entries(&mut self, ids: IdSet);
}

impl Alternatives<'_> {
    /// Who shows a value of the attribute that is equal to `value`; who shows any, where that cannot be told.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn equal(&mut self, facts: &Facts, attribute: TypeIndex, value: &[u8]) -> Result<(), StoreError> {
        let Some(rule) = facts.schema.attribute_by_index(attribute).and_then(|it| it.equality) else {
            return self.present(attribute);
        };
        let mut form = Vec::new();
        match rule.normalize(&facts.schema, value, &mut form) {
            Ok(()) => self.equal_form(attribute, &form),
            Err(_) => self.present(attribute),
        }
    }

    /// The same for a value in normal form under the attribute's equality rule.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn equal_form(&mut self, attribute: TypeIndex, form: &[u8]) -> Result<(), StoreError> {
        self.count += 1;
        self.rewriter.equal(attribute, form)
    }

    /// Who shows any value of the attribute.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn present(&mut self, attribute: TypeIndex) -> Result<(), StoreError> {
        self.count += 1;
        self.rewriter.present(attribute)
    }

    /// Who matches a filter on stored attributes.
    pub fn filter(&mut self, matcher: &Matcher) {
        self.count += 1;
        self.rewriter.copy(matcher);
    }

    /// The same below one entry: where filter and branch leave few, these.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn filter_below(&mut self, matcher: &Matcher, top: &NormalizedDn) -> Result<(), StoreError> {
        self.count += 1;
        self.rewriter.copy_below(matcher, top)
    }

    /// An entry of the own backend and all below it; `false`, and nothing is added, if they are more than `max`, or
    /// than may be looked at for one filter.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn below(&mut self, top: EntryId, max: u64) -> Result<bool, StoreError> {
        let is_added = self.rewriter.below(top, max)?;
        self.count += usize::from(is_added);
        Ok(is_added)
    }

    /// These entries of the own backend.
    pub fn entries(&mut self, ids: IdSet) {
        self.count += 1;
        self.rewriter.entries(ids);
    }

    /// What was added comes to: nobody, these, or everybody if they are too many.
    #[must_use]
    pub fn narrowing(&self) -> Narrowing {
        match self.count {
            0 => Narrowing::Nobody,
            count if count > ALTERNATIVES_MAX => Narrowing::Everybody,
            _ => Narrowing::Alternatives,
        }
    }

    /// Whether more would be too many.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.count >= ALTERNATIVES_MAX
    }
}
