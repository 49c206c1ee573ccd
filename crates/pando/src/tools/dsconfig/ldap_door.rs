//! The configuration as entries below `cn=config` of a server that is reached over LDAP.
//!
//! Knows objects as entries ([`config::mapping`]) and requests; the server judges what they ask for, and its sentence
//! is the answer.

use config::mapping::{Place, shown_value, variant_of, written_value};
use config::mapping::{attribute_of, container_dn, dn_of, is_secret, naming_attribute, object_classes, place_of};
use config::{Change, Class, Default as Unset, Edit, HIDDEN, Listed, Property, Step, Variant};
use ldap::ldif::{AttributeLines, LdifChange, LdifModification, LdifOperation};
use ldap::oids::control;
use ldap::{ControlBuf, Dn, LdapResult, ModifyOperation, ResultCode, Scope};

use super::door::{Deed, Door, Proposed, Seen};
use crate::client::{Client, Found};
use crate::failure::Failure;
use crate::ldap_client::status::code_text;

/// What every entry has.
const ANY: &str = "(objectClass=*)";

/// See the module.
pub struct LdapDoor {
    client: Client,
    /// The server, for messages.
    server: String,
}

/// Properties of a new object with their values.
type Values = Vec<(&'static Property, Vec<String>)>;

impl LdapDoor {
    /// Over a connection that is bound.
    pub fn new(client: Client, server: String) -> Self {
        Self { client, server }
    }

    /// The entries of a search; none without its base.
    fn search(&mut self, base: &str, scope: Scope, attributes: &[&str]) -> Result<Option<Vec<Found>>, Failure> {
        let (result, entries) = self.client.try_search(base, scope, ANY, attributes)?;
        match result.code {
            ResultCode::SUCCESS => Ok(Some(entries)),
            ResultCode::NO_SUCH_OBJECT => Ok(None),
            _ => Err(refused(&result)),
        }
    }

    /// Does one update; what the server says to it.
    fn update(
        &mut self,
        dn: String,
        controls: Vec<ControlBuf>,
        operation: LdifOperation,
    ) -> Result<LdapResult, Failure> {
        self.client.change(&LdifChange { dn, line: 0, controls, operation })
    }

    fn create(&mut self, proposed: &Proposed<'_>, type_name: Option<&str>) -> Result<LdapResult, Failure> {
        let class = proposed.component.class();
        let variant = match type_name {
            Some(name) => class.variant(name),
            None => class.unsaid(),
        };
        let variant = variant.ok_or_else(|| Failure::new(format_args!("a {} needs a type", class.name)))?;
        let values = values_of_new(proposed, type_name)?;
        let is_set =
            |property: &Property| values.iter().any(|(own, values)| own.name == property.name && !values.is_empty());
        let is_missing =
            |property: &&'static Property| matches!(property.default, Unset::Mandatory) && !is_set(property);
        let missing: Vec<&'static Property> = variant.properties.iter().filter(is_missing).collect();
        if !missing.is_empty() {
            return Err(proposed.needs(&missing));
        }
        let result = self.add(&proposed.path, class, variant, &values)?;
        match result.code {
            ResultCode::ENTRY_ALREADY_EXISTS => {
                Err(Failure::new(format_args!("{} exists already", Edit::title_of(&proposed.path))))
            }
            ResultCode::NO_SUCH_OBJECT => Err(no_such(proposed.path.split_last().map_or(&[][..], |(_, above)| above))),
            _ => Ok(result),
        }
    }

    fn add(
        &mut self,
        path: &[Step<'_>],
        class: &'static Class,
        variant: &'static Variant,
        values: &Values,
    ) -> Result<LdapResult, Failure> {
        let name = path.last().map_or("", |(_, name)| name);
        let mut lines: Vec<(String, String)> = Vec::new();
        lines.extend(object_classes(class, variant).into_iter().map(|name| ("objectClass".to_owned(), name)));
        lines.push((naming_attribute(class).to_owned(), name.to_owned()));
        for (property, values) in values {
            let attribute = attribute_of(class, variant, property);
            lines.extend(values.iter().map(|value| (attribute.clone(), shown_value(property, value))));
        }
        let lines = AttributeLines::from_parts(lines.iter().map(|(name, value)| (name.as_str(), value.as_bytes())));
        self.update(dn_of(path), Vec::new(), LdifOperation::Add(lines))
    }

    fn set(&mut self, proposed: &Proposed<'_>) -> Result<LdapResult, Failure> {
        let path = proposed.path.as_slice();
        let Some(seen) = self.seen(path)? else { return Err(no_such(path)) };
        let class = proposed.component.class();
        let mut modifications = Vec::new();
        for change in &proposed.changes {
            let kind = Some(seen.variant.type_name).filter(|name| !name.is_empty());
            let property = Edit::declared(path, kind, &change.property).map_err(Failure::new)?;
            let own = seen.values_of(property.name).unwrap_or_default();
            let has = |value: &&String| own.iter().any(|own| config::mapping::is_same_value(property, own, value));
            let (operation, values): (_, Vec<&String>) = match change.change {
                Change::Set => (ModifyOperation::Replace, change.values.iter().collect()),
                Change::Reset => (ModifyOperation::Replace, Vec::new()),
                // As in the file: a value that is there comes once.
                Change::Add => (ModifyOperation::Add, change.values.iter().filter(|value| !has(value)).collect()),
                Change::Remove => (ModifyOperation::Delete, change.values.iter().collect()),
            };
            if change.change == Change::Add && values.is_empty() {
                continue;
            }
            if change.change == Change::Remove
                && !is_secret(property)
                && let Some(unknown) = change.values.iter().find(|value| !has(value))
            {
                return Err(has_no(path, &change.property, unknown));
            }
            modifications.push(LdifModification {
                operation,
                description: attribute_of(class, seen.variant, property),
                values: values.into_iter().map(|value| shown_value(property, value).into_bytes()).collect(),
                line: 0,
            });
        }
        match modifications.is_empty() {
            true => Ok(LdapResult::new(ResultCode::SUCCESS, "")),
            false => self.update(dn_of(path), Vec::new(), LdifOperation::Modify(modifications)),
        }
    }

    fn delete(&mut self, path: &[Step<'_>]) -> Result<LdapResult, Failure> {
        // An object goes with those that are in it.
        let subtree = ControlBuf::new(control::SUBTREE_DELETE, None);
        self.update(dn_of(path), vec![subtree], LdifOperation::Delete)
    }
}

impl Door for LdapDoor {
    fn list(&mut self, above: &[Step<'_>], class: &'static str) -> Result<Option<Vec<Listed>>, Failure> {
        if !above.is_empty() && self.seen(above)?.is_none() {
            return Ok(None);
        }
        let Some(class) = class_in(above, class) else { return Ok(None) };
        let found = self.search(&container_dn(above, class), Scope::SingleLevel, &["objectClass"])?;
        let listed = |entry: &Found| {
            let Some(Place::Object(path)) = place_of(&Dn::parse(&entry.dn).ok()?) else { return None };
            let (own, name) = path.last()?;
            let variant = variant_of(class, entry.values("objectClass"))?;
            (own.name == class.name).then(|| Listed { name: name.clone(), type_name: variant.type_name })
        };
        Ok(Some(found.unwrap_or_default().iter().filter_map(listed).collect()))
    }

    fn seen(&mut self, path: &[Step<'_>]) -> Result<Option<Seen>, Failure> {
        let class = path.split_last().and_then(|((name, _), above)| class_in(above, name));
        let found = self.search(&dn_of(path), Scope::BaseObject, &[])?;
        let (Some(class), Some(entry)) = (class, found.as_deref().and_then(<[Found]>::first)) else { return Ok(None) };
        let Some(variant) = variant_of(class, entry.values("objectClass")) else {
            return Err(Failure::new(format_args!(
                "{}: this version of the tool does not know its object classes: use that of the server",
                entry.dn
            )));
        };
        let values = |property: &'static Property| {
            let shown = entry.values(&attribute_of(class, variant, property));
            let is_hidden = is_secret(property) && matches!(property.default, Unset::Mandatory);
            match is_hidden {
                true => (property, vec![HIDDEN.to_owned()]),
                false => (property, shown.iter().map(|value| written_value(property, value)).collect()),
            }
        };
        Ok(Some(Seen { variant, values: variant.properties.iter().map(values).collect() }))
    }

    fn change(&mut self, proposed: &Proposed<'_>) -> Result<Vec<String>, Failure> {
        let result = match proposed.deed {
            Deed::Create(type_name) => self.create(proposed, type_name)?,
            Deed::Set => self.set(proposed)?,
            Deed::Delete => self.delete(&proposed.path)?,
        };
        match result.code {
            ResultCode::SUCCESS => Ok(result.message.lines().map(str::to_owned).collect()),
            ResultCode::NO_SUCH_OBJECT if proposed.deed == Deed::Delete => Err(no_such(&proposed.path)),
            _ => Err(refused(&result)),
        }
    }

    fn place(&self) -> String {
        format!("cn=config of {}", self.server)
    }
}

/// The class of that name at the end of a path.
fn class_in(above: &[Step<'_>], name: &str) -> Option<&'static Class> {
    let mut steps = above.iter().map(|(class, _)| *class).chain([name]);
    let first = config::class(steps.next()?)?;
    steps.try_fold(first, |class, name| class.child(name))
}

/// The values that a new object is given.
fn values_of_new(proposed: &Proposed<'_>, type_name: Option<&str>) -> Result<Values, Failure> {
    let mut found: Values = Vec::new();
    for change in &proposed.changes {
        let property = Edit::declared(&proposed.path, type_name, &change.property).map_err(Failure::new)?;
        let at = found.iter().position(|(own, _)| own.name == property.name).unwrap_or_else(|| {
            found.push((property, Vec::new()));
            found.len() - 1
        });
        let Some((_, values)) = found.get_mut(at) else { continue };
        match change.change {
            Change::Set => *values = change.values.clone(),
            Change::Add => values.extend(change.values.iter().cloned()),
            Change::Reset => values.clear(),
            Change::Remove => {
                if let Some(unknown) = change.values.iter().find(|value| !values.contains(value)) {
                    return Err(has_no(&proposed.path, property.name, unknown));
                }
                values.retain(|own| !change.values.contains(own));
            }
        }
    }
    Ok(found)
}

fn no_such(path: &[Step<'_>]) -> Failure {
    Failure::new(format_args!("there is no {}", Edit::title_of(path)))
}

fn has_no(path: &[Step<'_>], property: &str, value: &str) -> Failure {
    Failure::new(format_args!("\"{property}\" of {} has no value \"{value}\"", Edit::title_of(path)))
}

/// The server's sentence; without one, what its code means.
fn refused(result: &LdapResult) -> Failure {
    match result.message.is_empty() {
        true => Failure::new(format_args!("the server refuses this: {}", code_text(result.code))),
        false => Failure::new(&result.message),
    }
}
