//! Whether an entry obeys the schema: classes, required and allowed attributes, single values, syntaxes, names.
//!
//! What a set of object classes asks for is worked out once and kept ([`Requirement`]); checking an entry is then a
//! pass over its attributes without allocation. It knows nothing of operations: who may change what, and what is added
//! for the client, is decided above.

mod entry;
mod error;
mod requirement;

pub use entry::{AttributeKey, EntryAttributes, ParentRule};
pub use error::CheckError;
pub use requirement::{ClassSet, Requirement};

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use smallvec::SmallVec;

use crate::attribute::TypeIndex;
use crate::schema::Schema;

/// Class sets kept; directories have tens. When there are more, somebody plays, and the memory is given back.
const REQUIREMENTS_MAX: usize = 4096;

/// What to do about an entry that breaks a rule which OpenDJ lets administrators relax.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Behavior {
    /// Refuse the entry.
    #[default]
    Reject,
    /// Take it and say so in the log.
    Warn,
    /// Take it.
    Accept,
}

/// How strict the checks are; the names are OpenDJ's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leniency {
    /// Off: nothing is checked at all.
    pub check_schema: bool,
    /// Values that are not of the syntax of their attribute.
    pub invalid_attribute_syntax_behavior: Behavior,
    /// Entries without, or with several, structural object classes.
    pub single_structural_objectclass_behavior: Behavior,
}

impl Default for Leniency {
    fn default() -> Self {
        Leniency {
            check_schema: true,
            invalid_attribute_syntax_behavior: Behavior::Reject,
            single_structural_objectclass_behavior: Behavior::Reject,
        }
    }
}

/// Checks entries against one schema. Shared by all threads.
#[derive(Debug)]
pub struct Checker {
    schema: Arc<Schema>,
    leniency: Leniency,
    requirements: RwLock<HashMap<ClassSet, Arc<Requirement>>>,
}

impl Checker {
    /// A checker for a schema.
    pub fn new(schema: Arc<Schema>, leniency: Leniency) -> Checker {
        Checker { schema, leniency, requirements: RwLock::default() }
    }

    /// The schema it checks against.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// How strict it is.
    pub fn leniency(&self) -> &Leniency {
        &self.leniency
    }

    /// What a set of classes asks for.
    pub fn requirement(&self, classes: &ClassSet) -> Arc<Requirement> {
        let known = self.requirements.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(requirement) = known.get(classes) {
            return Arc::clone(requirement);
        }
        drop(known);
        let requirement = Arc::new(Requirement::new(&self.schema, classes));
        let mut known = self.requirements.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REQUIREMENTS_MAX {
            known.clear();
        }
        known.insert(classes.clone(), Arc::clone(&requirement));
        requirement
    }

    /// Checks an entry whose classes are the values of `objectClass`. `warn` hears of what was let pass.
    pub fn check<'v>(
        &self,
        classes: impl Iterator<Item = &'v [u8]>,
        rdn: &[AttributeKey<'_>],
        entry: &impl EntryAttributes,
        warn: &mut dyn FnMut(CheckError),
    ) -> Result<(), CheckError> {
        if !self.leniency.check_schema {
            return Ok(());
        }
        let classes = ClassSet::of_values(&self.schema, classes)?;
        self.check_with(&self.requirement(&classes), rdn, entry, warn)
    }

    /// The same with a requirement at hand, as on import, where most entries have the classes of the one before.
    pub fn check_with(
        &self,
        requirement: &Requirement,
        rdn: &[AttributeKey<'_>],
        entry: &impl EntryAttributes,
        warn: &mut dyn FnMut(CheckError),
    ) -> Result<(), CheckError> {
        if !self.leniency.check_schema {
            return Ok(());
        }
        if let Some(problem) = &requirement.structural_problem {
            relax(self.leniency.single_structural_objectclass_behavior, problem.clone(), warn)?;
        }
        if let Some(problem) = &requirement.class_problem {
            return Err(problem.clone());
        }
        self.check_attributes(requirement, entry, warn)?;
        if requirement.has_name_forms {
            requirement.check_name(&self.schema, rdn)?;
        }
        Ok(())
    }

    /// Which structure rule governs an entry, given that of its parent; an error if none does and one should.
    pub fn governing_rule(
        &self,
        requirement: &Requirement,
        rdn: &[AttributeKey<'_>],
        parent: ParentRule,
    ) -> Result<Option<u32>, CheckError> {
        if !self.leniency.check_schema || self.schema.structure_rules().is_empty() {
            return Ok(None);
        }
        requirement.governing_rule(&self.schema, rdn, parent)
    }

    fn check_attributes(
        &self,
        requirement: &Requirement,
        entry: &impl EntryAttributes,
        warn: &mut dyn FnMut(CheckError),
    ) -> Result<(), CheckError> {
        let mut found: SmallVec<[u64; 4]> = SmallVec::from_elem(0, requirement.must.len() / 64 + 1);
        for (key, values) in entry.attributes() {
            let index = match key {
                AttributeKey::Known(index) => index,
                AttributeKey::Unknown(name) => return Err(CheckError::UnknownAttribute(name.to_owned())),
            };
            match requirement.permission(index) {
                requirement::Permission::Denied => return Err(requirement.denial(&self.schema, index)),
                requirement::Permission::Allowed => {}
                requirement::Permission::Required(at) => {
                    if let Some(word) = found.get_mut(at / 64) {
                        *word |= 1 << (at % 64);
                    }
                }
            }
            self.check_values(index, values, warn)?;
        }
        let missing = requirement
            .must
            .iter()
            .enumerate()
            .find(|(at, _)| found.get(at / 64).is_none_or(|word| word & (1 << (at % 64)) == 0));
        match missing {
            Some((_, attribute)) => Err(requirement.missing(&self.schema, *attribute)),
            None => Ok(()),
        }
    }

    /// Checks the number and the syntax of the values of one attribute.
    pub fn check_values<'v>(
        &self,
        attribute: TypeIndex,
        values: impl Iterator<Item = &'v [u8]>,
        warn: &mut dyn FnMut(CheckError),
    ) -> Result<(), CheckError> {
        let Some(attribute) = self.schema.attribute_by_index(attribute) else { return Ok(()) };
        let behavior = self.leniency.invalid_attribute_syntax_behavior;
        for (number, value) in (1usize..).zip(values) {
            if number == 2 && attribute.is_single_value() {
                return Err(CheckError::SeveralValues(attribute.name().to_owned()));
            }
            if behavior == Behavior::Accept {
                continue;
            }
            if let Err(error) = attribute.syntax.validate(&self.schema, value) {
                let problem = CheckError::BadValue { attribute: attribute.name().to_owned(), number, error };
                relax(behavior, problem, warn)?;
            }
        }
        Ok(())
    }
}

fn relax(behavior: Behavior, problem: CheckError, warn: &mut dyn FnMut(CheckError)) -> Result<(), CheckError> {
    match behavior {
        Behavior::Reject => Err(problem),
        Behavior::Warn => {
            warn(problem);
            Ok(())
        }
        Behavior::Accept => Ok(()),
    }
}

#[cfg(test)]
mod tests;
