//! Whether the conditions of a permission hold for an entry: its name, what a rule asks of it, its filter.

use std::cell::RefCell;
use std::ops::ControlFlow;

use aci::Effect;
use query::entry::{DnParts, EntryView, StoredAt, plain};
use query::entry_place::EntryPlace;
use query::facts::Facts;
use query::filter::{FilterScratch, Truth};
use query::read_moment::{ReadAt, ReadMoment};
use schema::NormalizedDn;
use store::{Content, EntryId, StoreError};

use crate::asker::{Asker, AskerEntry, shown_values};
use crate::compiled::{EntryTest, EntryTestKind, FilterTest, Instruction, url_of_value};
use crate::decide::{Applying, EntryQuestion, NameTest};

/// Values of one attribute that are tried by name; with more nobody can tell.
const VALUES_MAX: usize = 10_000;

/// An entry that is asked, and by whom.
#[derive(Clone, Copy)]
pub(crate) struct Conditions<'c> {
    pub facts: &'c Facts,
    pub asker: &'c Asker,
    pub entry: &'c EntryView<'c>,
    /// Where it is stored.
    pub stored: Option<StoredAt<'c>>,
    /// The moment of all backends.
    pub moment: &'c ReadMoment,
    /// Buffers of the filters.
    pub scratch: &'c RefCell<FilterScratch>,
    /// Reads the entry of the asker.
    pub with_asker: &'c WithAsker<'c>,
}

/// Calls what it is given with the entry of the asker, if it has one.
pub(crate) type WithAsker<'c> =
    dyn Fn(&mut dyn FnMut(Option<&AskerEntry<'_>>) -> Result<bool, StoreError>) -> Result<bool, StoreError> + 'c;

/// Whether a permission applies, and what that took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Applies {
    pub applies: bool,
    pub looked: Looked,
}

/// What entries held that was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Looked {
    /// The entry itself.
    pub at_content: bool,
    /// So many entries above it.
    pub levels: u8,
}

impl Looked {
    /// This and that.
    pub fn with(self, other: Looked) -> Looked {
        Looked { at_content: self.at_content || other.at_content, levels: self.levels.max(other.levels) }
    }
}

impl<'c> Conditions<'c> {
    /// The moment at which the entry is looked at.
    fn seen(&self) -> Option<ReadAt<'c>> {
        self.stored.as_ref().map(|stored| self.moment.at(stored.backend, stored.view))
    }

    /// Whether a permission applies. What nobody can tell does not apply if it grants, and does if it denies.
    pub fn of(&self, applying: &Applying) -> Result<Applies, StoreError> {
        let mut looked = Looked::default();
        let truth = self.truth(applying, &mut looked)?;
        let applies = match applying.concern.effect {
            Effect::Allow => truth == Truth::True,
            Effect::Deny => truth != Truth::False,
        };
        Ok(Applies { applies, looked })
    }

    fn truth(&self, applying: &Applying, looked: &mut Looked) -> Result<Truth, StoreError> {
        let instruction = &applying.concern.instruction;
        if !self.has_name(&applying.name, instruction)? {
            return Ok(Truth::False);
        }
        let mut truth = match &applying.concern.rule {
            None => Truth::True,
            Some(rule) => rule.truth(&mut |question| self.answer(question, looked))?,
        };
        if truth != Truth::False
            && let Some(filter) = &instruction.filter
        {
            looked.at_content = true;
            let matches = self.matches(&filter.value)?;
            truth = truth.min(if filter.negated { matches.opposite() } else { matches });
        }
        Ok(truth)
    }

    fn has_name(&self, test: &NameTest, instruction: &Instruction) -> Result<bool, StoreError> {
        Ok(match test {
            NameTest::Any => true,
            NameTest::Child { id, negated, .. } if self.entry.id != EntryId::ROOT => {
                (*id == Some(self.entry.id)) != *negated
            }
            NameTest::Child { rdn, negated, .. } => {
                let name = NormalizedDn::parse(&self.facts.schema, self.entry.record.rdn()).unwrap_or_default();
                (name.rdn().map(|own| own.as_bytes()) == Some(&**rdn)) != *negated
            }
            NameTest::Pattern { negated } => {
                let name = self.name()?;
                let target = instruction.target.as_ref();
                target.is_some_and(|it| it.value.is_at_or_above(&self.facts.schema, &name)) != *negated
            }
        })
    }

    /// The normalized name of the entry.
    pub fn name(&self) -> Result<Vec<u8>, StoreError> {
        let mut name = Vec::new();
        match self.seen() {
            Some(seen) => {
                let groups = seen.groups();
                groups.put_form(groups.own(), &self.entry.record, &mut name)?;
            }
            None => {
                let mut dn = Vec::new();
                self.entry.dn.put(&mut dn);
                let parsed = NormalizedDn::parse(&self.facts.schema, &dn).unwrap_or_default();
                name.extend_from_slice(parsed.as_bytes());
            }
        }
        Ok(name)
    }

    /// Whether the entry matches, as it is shown.
    pub fn matches(&self, filter: &FilterTest) -> Result<Truth, StoreError> {
        // Whoever looks at another entry in between has buffers of its own.
        let (mut own, mut shared) = (FilterScratch::default(), self.scratch.try_borrow_mut());
        let scratch = shared.as_deref_mut().unwrap_or(&mut own);
        let now = self.asker.now_unix_seconds;
        let Some(seen) = self.seen() else {
            return filter.matches(self.facts, self.entry, now, scratch);
        };
        let mut entry = *self.entry;
        if entry.source.groups().is_none() {
            entry.source = &seen;
        }
        let mut parent = Vec::new();
        if filter.needs_dn() && entry.dn.is_empty() {
            if entry.record.parent() != EntryId::ROOT {
                let groups = seen.groups();
                groups.put_dn(EntryPlace { backend: groups.own(), id: entry.record.parent() }, &mut parent)?;
            }
            entry.dn = DnParts { rdn: entry.record.rdn(), parent: &parent };
            return filter.matches(self.facts, &entry, now, scratch);
        }
        filter.matches(self.facts, &entry, now, scratch)
    }

    /// What the entry answers; `looked` is set when that took what it holds.
    pub fn answer(&self, question: EntryQuestion<'_>, looked: &mut Looked) -> Result<Truth, StoreError> {
        let here = self.stored.as_ref().map(|stored| stored.backend);
        match (question, self.asker.place) {
            (EntryQuestion::Says(test), _) => self.says(test, looked),
            (EntryQuestion::IsAddition, _) => Ok(if self.is_addition() { Truth::Undefined } else { Truth::False }),
            (EntryQuestion::IsSelf, Some(own)) if here.is_some() => {
                let is_own = here == Some(own.backend) && self.entry.id == own.id && own.id != EntryId::ROOT;
                Ok(is_own.into())
            }
            (EntryQuestion::IsSelf, _) => Ok((self.asker.name.as_deref() == Some(&*self.name()?)).into()),
            (EntryQuestion::IsChildOfAsker, Some(own))
                if here.is_some() && self.entry.record.parent() != EntryId::ROOT =>
            {
                Ok((here == Some(own.backend) && self.entry.record.parent() == own.id).into())
            }
            (EntryQuestion::IsChildOfAsker, _) => {
                let name = self.name()?;
                let parent = NormalizedDn::from_bytes(name).parent();
                Ok((parent.as_ref().map(NormalizedDn::as_bytes) == self.asker.name.as_deref()).into())
            }
        }
    }

    fn is_addition(&self) -> bool {
        self.stored.is_some() && self.entry.id == EntryId::ROOT
    }

    /// What the entry, or those above it, say of the asker: one that says so is enough. What an entry that is to be
    /// added says of who adds it cannot be told: it could name oneself.
    fn says(&self, test: &EntryTest, looked: &mut Looked) -> Result<Truth, StoreError> {
        let mut truth = Truth::False;
        for level in test.levels.iter() {
            let said = match level {
                0 if self.is_addition() => Truth::Undefined,
                0 => {
                    looked.at_content = true;
                    self.entry_says(test, self.entry)?
                }
                level => {
                    looked.levels = looked.levels.max(level);
                    self.above_says(test, level)?
                }
            };
            truth = truth.max(said);
            if truth == Truth::True {
                break;
            }
        }
        Ok(truth)
    }

    fn above_says(&self, test: &EntryTest, level: u8) -> Result<Truth, StoreError> {
        let (Some(stored), Some(seen)) = (&self.stored, self.seen()) else { return Ok(Truth::False) };
        let mut at = self.entry.record.parent();
        for _ in 1..level {
            let Some(record) = stored.view.entry(at)? else { return Ok(Truth::False) };
            at = record.view()?.parent();
        }
        let Some(record) = stored.view.entry(at)? else { return Ok(Truth::False) };
        self.entry_says(test, &EntryView { id: at, record: record.view()?, dn: DnParts::default(), source: &seen })
    }

    fn entry_says(&self, test: &EntryTest, entry: &EntryView<'_>) -> Result<Truth, StoreError> {
        let Some(name) = &self.asker.name else { return Ok(Truth::False) };
        match &test.kind {
            EntryTestKind::User => self.has_form(test, entry, name).map(Truth::from),
            EntryTestKind::Value(form) => self.has_form(test, entry, form).map(Truth::from),
            EntryTestKind::Role => self.any_value(test, entry, &mut |value| {
                let name = NormalizedDn::parse(&self.facts.schema, value);
                Ok(name.is_ok_and(|name| self.asker.roles.contains(name.as_bytes())))
            }),
            EntryTestKind::Group { base } => self.any_value(test, entry, &mut |value| {
                let Ok(group) = NormalizedDn::parse(&self.facts.schema, value) else { return Ok(false) };
                let is_below = base.as_ref().is_none_or(|base| group.as_bytes().starts_with(base));
                let Some(seen) = self.seen().filter(|_| is_below) else { return Ok(false) };
                let place = seen.groups().locate(group.as_bytes())?;
                Ok(place.is_some_and(|place| self.asker.groups.contains(&place)))
            }),
            EntryTestKind::Url => self.any_value(test, entry, &mut |value| {
                let Some(url) = url_of_value(self.facts, value) else { return Ok(false) };
                (self.with_asker)(&mut |own| match own {
                    Some(own) => url.finds(self.facts, name, &own.view(), self.asker.now_unix_seconds),
                    None => Ok(false),
                })
            }),
        }
    }

    /// Whether an entry has a value of that normal form: one look-up where there are many.
    fn has_form(&self, test: &EntryTest, entry: &EntryView<'_>, form: &[u8]) -> Result<bool, StoreError> {
        for stored in plain(&entry.record, test.attribute) {
            if let Content::Large(_) = stored.content {
                return entry.source.large_contains(entry.id, stored.desc, form);
            }
        }
        let rule = self.facts.schema.attribute_by_index(test.attribute).and_then(|it| it.equality);
        let mut own = Vec::new();
        let truth = self.any_value(test, entry, &mut |value| {
            own.clear();
            Ok(rule.is_some_and(|rule| rule.normalize(&self.facts.schema, value, &mut own).is_ok()) && own == form)
        })?;
        Ok(truth == Truth::True)
    }

    fn any_value(
        &self,
        test: &EntryTest,
        entry: &EntryView<'_>,
        is_it: &mut dyn FnMut(&[u8]) -> Result<bool, StoreError>,
    ) -> Result<Truth, StoreError> {
        let mut outcome = Ok(Truth::False);
        let mut tried = 0;
        let mut each = |value: &[u8]| {
            tried += 1;
            outcome = match is_it(value) {
                Ok(false) if tried > VALUES_MAX => Ok(Truth::Undefined),
                Ok(is) => Ok(is.into()),
                Err(error) => Err(error),
            };
            if matches!(outcome, Ok(Truth::False)) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        match self.seen() {
            Some(seen) => {
                shown_values(&seen, entry, test.attribute, &mut each)?;
            }
            None => query::entry::each_stored(entry, test.attribute, &mut each)?,
        }
        outcome
    }
}
