//! An update of `cn=config`, read from a request, and what it does to the file.
//!
//! Knows requests, names and the edit of a file; who may ask is judged before.

use std::sync::Arc;

use config::mapping::{Place, attribute_of, dn_of, naming_attribute, object_classes, place_of, variant_of};
use config::{Change, Edit, EditError, Step};
use ldap::dn::Rdn;
use ldap::{Dn, EntryRequest, LdapResult, ModifyOperation};
use schema::Schema;

use super::configuration_values::Values;
use super::refused_edit::refused_edit as refused;
use crate::refusal::Refusal;
use access::Identity;
use change::proposal::Flags;
use query::error::{invalid_dn, no_such_object, shown};

/// What is to happen to an object.
#[derive(Debug)]
enum Wanted {
    Add(Vec<(String, Vec<String>)>),
    Modify(Vec<(ModifyOperation, String, Vec<String>)>),
    Delete,
    Rename { new_rdn: String, new_superior: Option<String> },
}

/// A change that was read.
#[derive(Debug)]
pub(crate) struct ConfigurationChange {
    dn: String,
    place: Option<Place>,
    wanted: Wanted,
    pub(crate) identity: Identity,
    pub(crate) flags: Flags,
    schema: Arc<Schema>,
}

impl ConfigurationChange {
    /// Reads a request.
    pub(super) fn read(
        identity: &Identity,
        flags: Flags,
        request: &EntryRequest<'_>,
        schema: &Arc<Schema>,
    ) -> Result<Self, LdapResult> {
        let wanted = match request {
            EntryRequest::Add(request) => {
                let attributes = request.attributes.iter().map(|attribute| {
                    Ok((text(attribute.description)?, texts(attribute.description, attribute.values.iter())?))
                });
                Wanted::Add(attributes.collect::<Result<_, LdapResult>>()?)
            }
            EntryRequest::Modify(request) => {
                let changes = request.changes.iter().map(|change| {
                    let description = change.attribute.description;
                    let values = texts(description, change.attribute.values.iter())?;
                    Ok((change.operation, text(description)?, values))
                });
                Wanted::Modify(changes.collect::<Result<_, LdapResult>>()?)
            }
            EntryRequest::Delete(_) => Wanted::Delete,
            EntryRequest::ModifyDn(request) => Wanted::Rename {
                new_rdn: text(request.new_rdn)?,
                new_superior: request.new_superior.map(text).transpose()?,
            },
        };
        let dn = text(request.entry())?;
        let place = place_of(&Dn::parse(&dn).map_err(|error| invalid_dn(dn.as_bytes(), error))?);
        let (identity, schema) = (identity.clone(), Arc::clone(schema));
        Ok(Self { dn, place, wanted, identity, flags, schema })
    }

    /// Makes the change in the text of the file.
    pub(crate) fn make(&self, edit: &mut Edit) -> Result<(), LdapResult> {
        match (&self.place, &self.wanted) {
            (None, Wanted::Add(_)) => Err(Refusal::NoConfigurationName { dn: self.dn.clone() }.into()),
            (None, _) => Err(self.missing(edit)),
            (Some(Place::Container { .. }), Wanted::Add(_)) => Err(self.exists()),
            (Some(Place::Container { .. }), _) => Err(Refusal::ConfigurationBranch { dn: self.dn.clone() }.into()),
            (Some(Place::Object(_)), Wanted::Add(attributes)) => self.add(edit, attributes),
            (Some(Place::Object(_)), _) if !self.is_there(edit)? => Err(self.missing(edit)),
            (Some(Place::Object(_)), Wanted::Modify(changes)) => self.modify(edit, changes),
            (Some(Place::Object(_)), Wanted::Delete) => self.delete(edit),
            (Some(Place::Object(_)), Wanted::Rename { new_rdn, new_superior }) => {
                self.rename(edit, new_rdn, new_superior.as_deref())
            }
        }
    }

    fn path(&self) -> Vec<Step<'_>> {
        self.place.as_ref().and_then(Place::path).unwrap_or_default()
    }

    fn is_there(&self, edit: &Edit) -> Result<bool, LdapResult> {
        Ok(edit.config().map_err(refused)?.variant_of(&self.path()).is_some())
    }

    fn missing(&self, edit: &Edit) -> LdapResult {
        let Ok(config) = edit.config() else { return no_such_object(&self.dn, "") };
        let entries = config::mapping::entries(&config);
        let mut above = Dn::parse(&self.dn).ok().and_then(|dn| dn.parent());
        while let Some(dn) = above {
            let name = dn.to_string();
            if let Some(found) = entries.iter().find(|entry| entry.dn.eq_ignore_ascii_case(&name)) {
                return no_such_object(&self.dn, found.dn.as_str());
            }
            above = dn.parent();
        }
        no_such_object(&self.dn, "")
    }

    fn exists(&self) -> LdapResult {
        Refusal::ConfigurationExists { dn: self.dn.clone() }.into()
    }

    fn add(&self, edit: &mut Edit, attributes: &[(String, Vec<String>)]) -> Result<(), LdapResult> {
        let path = self.path();
        let Some(Place::Object(steps)) = &self.place else { return Ok(()) };
        let Some(((class, name), above)) = steps.split_last() else { return Ok(()) };
        if self.is_there(edit)? {
            return Err(self.exists());
        }
        let parent: Vec<Step<'_>> = above.iter().map(|(class, name)| (class.name, name.as_str())).collect();
        if !parent.is_empty() && edit.config().map_err(refused)?.variant_of(&parent).is_none() {
            return Err(self.missing(edit));
        }
        let classes = attributes.iter().filter(|(name, _)| name.eq_ignore_ascii_case("objectClass"));
        let classes: Vec<String> = classes.flat_map(|(_, values)| values.clone()).collect();
        let Some(variant) = variant_of(class, &classes) else {
            let kinds: Vec<String> =
                class.variants.iter().filter_map(|variant| object_classes(class, variant).pop()).collect();
            return Err(Refusal::ConfigurationKind { dn: self.dn.clone(), classes: kinds.join(", ") }.into());
        };
        let own = object_classes(class, variant);
        if let Some(other) = classes.iter().find(|name| !own.iter().any(|own| own.eq_ignore_ascii_case(name))) {
            let classes = own.join(", ");
            return Err(Refusal::ConfigurationClass { class: other.clone(), classes }.into());
        }
        let type_name = Some(variant.type_name).filter(|name| !name.is_empty());
        edit.create(&path, type_name).map_err(refused)?;
        for (description, values) in attributes {
            if description.eq_ignore_ascii_case("objectClass") {
                continue;
            }
            if description.eq_ignore_ascii_case(naming_attribute(class)) {
                if !values.iter().any(|value| value.eq_ignore_ascii_case(name)) {
                    return Err(Refusal::ConfigurationNaming { attribute: description.clone() }.into());
                }
                continue;
            }
            let mut own = Values::new(edit, &path, &self.schema)?;
            own.apply(ModifyOperation::Replace, description, values, self.flags)?;
            own.write(edit)?;
        }
        if let Some(missing) = edit.missing(&path).first() {
            let attribute = attribute_of(class, variant, missing);
            let allowed = missing.syntax.allowed();
            return Err(Refusal::ConfigurationNeeds { attribute, allowed }.into());
        }
        if let [backend @ ("backend", _)] = path.as_slice() {
            give_default_indexes(edit, *backend).map_err(refused)?;
        }
        Ok(())
    }

    fn modify(&self, edit: &mut Edit, changes: &[(ModifyOperation, String, Vec<String>)]) -> Result<(), LdapResult> {
        let path = self.path();
        let mut values = Values::new(edit, &path, &self.schema)?;
        for (operation, description, given) in changes {
            values.apply(*operation, description, given, self.flags)?;
        }
        values.write(edit)
    }

    fn delete(&self, edit: &mut Edit) -> Result<(), LdapResult> {
        let path = self.path();
        let Some((class, _)) = self.last() else { return Ok(()) };
        if class.named_by.is_none() {
            return Err(Refusal::ConfigurationStays { dn: self.dn.clone() }.into());
        }
        let config = edit.config().map_err(refused)?;
        let has_below = |child: &config::Class| config.list(&path, child.name).is_some_and(|list| !list.is_empty());
        if !self.flags.has(Flags::SUBTREE_DELETE) && class.children.iter().any(|child| has_below(child)) {
            return Err(Refusal::ConfigurationNonLeaf { dn: self.dn.clone() }.into());
        }
        edit.delete(&path).map_err(refused)
    }

    fn rename(&self, edit: &mut Edit, new_rdn: &str, new_superior: Option<&str>) -> Result<(), LdapResult> {
        let path = self.path();
        let Some((class, _)) = self.last() else { return Ok(()) };
        if class.named_by.is_none() || matches!(class.name, "backend" | "index" | "vlv-index") {
            return Err(Refusal::ConfigurationNameStays { dn: self.dn.clone() }.into());
        }
        let invalid = |error| invalid_dn(new_rdn.as_bytes(), error);
        let rdn = Rdn::parse(new_rdn).map_err(invalid)?;
        let [only] = rdn.avas() else {
            return Err(Refusal::ConfigurationNaming { attribute: naming_attribute(class).to_owned() }.into());
        };
        if !only.attribute.eq_ignore_ascii_case(naming_attribute(class)) {
            return Err(Refusal::ConfigurationNaming { attribute: naming_attribute(class).to_owned() }.into());
        }
        let new_name = String::from_utf8_lossy(&only.value).trim().to_owned();
        let Some((step, above)) = path.split_last() else { return Ok(()) };
        let renamed: Vec<Step<'_>> = [above, &[(step.0, new_name.as_str())]].concat();
        if let Some(superior) = new_superior {
            let wanted = Dn::parse(superior).map_err(|error| invalid_dn(superior.as_bytes(), error))?.to_string();
            let own = Dn::parse(&self.dn).ok().and_then(|dn| dn.parent()).map(|dn| dn.to_string());
            if !own.is_some_and(|own| own.eq_ignore_ascii_case(&wanted)) {
                return Err(Refusal::ConfigurationMoves { dn: self.dn.clone() }.into());
            }
        }
        let is_other = !new_name.eq_ignore_ascii_case(step.1);
        if is_other && edit.config().map_err(refused)?.variant_of(&renamed).is_some() {
            return Err(Refusal::ConfigurationExists { dn: dn_of(&renamed) }.into());
        }
        edit.rename(&path, &new_name).map_err(refused)
    }

    fn last(&self) -> Option<(&'static config::Class, &str)> {
        let Some(Place::Object(steps)) = &self.place else { return None };
        steps.last().map(|(class, name)| (*class, name.as_str()))
    }
}

/// A new backend has the indexes that `setup` gives the first one.
fn give_default_indexes(edit: &mut Edit, backend: Step<'_>) -> Result<(), EditError> {
    for index in config::default_indexes() {
        let path = [backend, ("index", index.attribute.as_str())];
        let kinds: Vec<String> = index.kinds.iter().map(|kind| kind.word().to_owned()).collect();
        edit.create(&path, None)?;
        edit.change(&path, "index-type", Change::Set, &kinds)?;
    }
    Ok(())
}

fn text(bytes: &[u8]) -> Result<String, LdapResult> {
    let text = std::str::from_utf8(bytes).map(str::to_owned);
    text.map_err(|_| Refusal::ConfigurationNotUtf8 { attribute: shown(bytes) }.into())
}

fn texts<'v>(attribute: &[u8], values: impl Iterator<Item = &'v [u8]>) -> Result<Vec<String>, LdapResult> {
    values
        .map(|value| {
            let value = std::str::from_utf8(value).map(str::to_owned);
            value.map_err(|_| Refusal::ConfigurationNotUtf8 { attribute: shown(attribute) }.into())
        })
        .collect()
}
