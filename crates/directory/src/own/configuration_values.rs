//! The values of one object while a request changes them: judged one modification after the other as LDAP asks, written
//! when all are made.
//!
//! Knows properties and the edit of a file; not which object it is.

use config::mapping::{attribute_of, is_same_value, is_secret, naming_attribute, property_of, written_value};
use config::{Change, Class, Default, Edit, EditError, Property, Step, Variant};
use ldap::{LdapResult, ModifyOperation};
use schema::Schema;

use super::refused_edit::refused_edit as refused;
use crate::refusal::Refusal;
use change::proposal::Flags;

/// See the module.
pub(super) struct Values<'p> {
    path: &'p [Step<'p>],
    class: &'static Class,
    variant: &'static Variant,
    schema: &'p Schema,
    /// What the file sets, else the defaults.
    now: Vec<(&'static str, Vec<String>)>,
    changed: Vec<(&'static Property, Vec<String>)>,
}

impl<'p> Values<'p> {
    /// Those that an object has.
    pub(super) fn new(edit: &mut Edit, path: &'p [Step<'p>], schema: &'p Schema) -> Result<Self, LdapResult> {
        let (class, variant, now) = edit.values_of(path).map_err(refused)?;
        Ok(Self { path, class, variant, schema, now, changed: Vec::new() })
    }

    /// Makes one modification.
    pub(super) fn apply(
        &mut self,
        operation: ModifyOperation,
        description: &str,
        given: &[String],
        flags: Flags,
    ) -> Result<(), LdapResult> {
        if self.is_name_or_kind(operation, description, given)? {
            return Ok(());
        }
        let Some(property) = property_of(self.class, self.variant, description) else {
            return Err(self.unknown(description));
        };
        let attribute = || description.to_owned();
        if is_secret(property) && !given.is_empty() && operation != ModifyOperation::Replace {
            return Err(Refusal::ConfigurationSecret { attribute: attribute() }.into());
        }
        let mut all = self.current(property);
        let given: Vec<String> = given.iter().map(|value| written_value(property, value)).collect();
        let has = |all: &[String], value: &str| all.iter().any(|own| is_same_value(property, own, value));
        let is_permissive = flags.has(Flags::PERMISSIVE_MODIFY);
        match operation {
            ModifyOperation::Replace => all = given,
            ModifyOperation::Add => {
                // A default is no value that somebody gave it: the first one takes its place, as it does in OpenDJ.
                if !property.multi_valued && !self.is_set(property) {
                    all.clear();
                }
                for value in given {
                    match has(&all, &value) {
                        true if is_permissive => {}
                        true => return Err(Refusal::ConfigurationValueThere { attribute: attribute(), value }.into()),
                        false => all.push(value),
                    }
                }
            }
            ModifyOperation::Delete if given.is_empty() => {
                if all.is_empty() && !is_permissive {
                    return Err(Refusal::NoAttribute { attribute: attribute() }.into());
                }
                all.clear();
            }
            ModifyOperation::Delete => {
                if let Some(missing) = given.iter().find(|value| !has(&all, value)).filter(|_| !is_permissive) {
                    let value = missing.clone();
                    return Err(Refusal::ConfigurationNoValue { attribute: attribute(), value }.into());
                }
                all.retain(|own| !has(&given, own));
            }
            ModifyOperation::Increment => {
                let by = given.first().and_then(|value| value.parse::<i64>().ok());
                let sum = |own: &String| Some(own.parse::<i64>().ok()?.checked_add(by?)?.to_string());
                all = all
                    .iter()
                    .map(sum)
                    .collect::<Option<Vec<_>>>()
                    .ok_or_else(|| LdapResult::from(Refusal::ConfigurationNoNumber { attribute: attribute() }))?;
            }
        }
        self.changed.retain(|(other, _)| other.name != property.name);
        self.changed.push((property, all));
        Ok(())
    }

    /// Writes what has changed.
    pub(super) fn write(self, edit: &mut Edit) -> Result<(), LdapResult> {
        for (property, values) in &self.changed {
            let is_as_before = values.len() == self.before(property).len()
                && values.iter().zip(self.before(property)).all(|(one, other)| is_same_value(property, one, other));
            if is_as_before && !is_secret(property) {
                continue;
            }
            let change = if values.is_empty() { Change::Reset } else { Change::Set };
            if values.is_empty() && matches!(property.default, Default::Mandatory) {
                let attribute = attribute_of(self.class, self.variant, property);
                return Err(Refusal::ConfigurationNeeds { attribute, allowed: property.syntax.allowed() }.into());
            }
            edit.change(self.path, property.name, change, values).map_err(|error| match error {
                EditError::Refused(problem) => Refusal::ConfigurationValue { problem }.into(),
                error => refused(error),
            })?;
        }
        Ok(())
    }

    fn before(&self, property: &Property) -> &[String] {
        self.now.iter().find(|(name, _)| *name == property.name).map_or(&[], |(_, values)| values)
    }

    fn current(&self, property: &Property) -> Vec<String> {
        let changed = self.changed.iter().find(|(other, _)| other.name == property.name);
        changed.map_or_else(|| self.before(property).to_vec(), |(_, values)| values.clone())
    }

    /// Whether it has a value that somebody gave it, or that this request gives it.
    fn is_set(&self, property: &Property) -> bool {
        if let Some((_, values)) = self.changed.iter().find(|(other, _)| other.name == property.name) {
            return !values.is_empty();
        }
        match property.default {
            Default::Values(defaults) => {
                let before = self.before(property);
                before.len() != defaults.len()
                    || !before.iter().zip(defaults).all(|(one, other)| is_same_value(property, one, other))
            }
            Default::Absent(_) | Default::Mandatory => !self.before(property).is_empty(),
        }
    }

    /// Whether it is about what an object is called or which kind it is, and leaves both as they are.
    fn is_name_or_kind(
        &self,
        operation: ModifyOperation,
        description: &str,
        given: &[String],
    ) -> Result<bool, LdapResult> {
        let naming = naming_attribute(self.class);
        let own = if description.eq_ignore_ascii_case(naming) {
            self.path.last().map(|(_, name)| vec![(*name).to_owned()]).unwrap_or_default()
        } else if description.eq_ignore_ascii_case("objectClass") {
            config::mapping::object_classes(self.class, self.variant)
        } else {
            return Ok(false);
        };
        let same =
            given.len() == own.len() && given.iter().all(|value| own.iter().any(|own| own.eq_ignore_ascii_case(value)));
        match operation {
            ModifyOperation::Replace if same => Ok(true),
            _ if description.eq_ignore_ascii_case(naming) => {
                Err(Refusal::ConfigurationRdn { attribute: description.to_owned() }.into())
            }
            _ => Err(Refusal::ConfigurationKindStays.into()),
        }
    }

    /// No property of the object.
    fn unknown(&self, description: &str) -> LdapResult {
        let known: Vec<String> =
            self.variant.properties.iter().map(|property| attribute_of(self.class, self.variant, property)).collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let hint = nearest::hint(description, &known);
        let attribute = description.to_owned();
        match self.schema.attribute_type(description.as_bytes()) {
            None => Refusal::ConfigurationUnknown { attribute, hint }.into(),
            Some(_) => Refusal::ConfigurationForeign { attribute, hint }.into(),
        }
    }
}
