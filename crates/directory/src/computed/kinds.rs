//! Entries that say what other entries get: which classes make one, and who reads it.
//!
//! Knows names of classes; what their attributes mean is for the readers.

use std::cell::RefCell;
use std::ops::ControlFlow;

use schema::{AttributeType, ClassIndex, NormalizedDn, ObjectClass, Schema};
use store::record::Attribute;
use store::{EntryId, RecordView, StoreError, View};

use super::roles::{self, Role};
use super::{Definition, collective, cos, inherited};
use crate::entry::{DnParts, EntryView};
use crate::facts::{ClassFlags, Facts};
use crate::search::ids_of_classes;

/// Reads what an entry defines; why it defines nothing, in words that follow "The entry "DN" defines nothing: it".
pub(crate) type Read = fn(&Reading<'_>) -> Result<Vec<Definition>, String>;

/// Classes of entries that define something, with who reads them. An entry is read by the first whose class it has; subclasses count,
/// and have to be listed themselves to be found.
pub(crate) const KINDS: &[(&[u8], Read)] = &[
    (b"nsManagedRoleDefinition", roles::managed),
    (b"nsFilteredRoleDefinition", roles::filtered),
    (b"nsNestedRoleDefinition", roles::nested),
    (b"cosPointerDefinition", cos::read_pointer),
    (b"cosIndirectDefinition", cos::read_indirect),
    (b"cosClassicDefinition", cos::read_classic),
    (b"cosDefinition", cos::read_classic),
    (b"collectiveAttributeSubentry", collective::read),
    (b"inheritedFromDNCollectiveAttributeSubentry", inherited::read_from_dn),
    (b"inheritedFromRDNCollectiveAttributeSubentry", inherited::read_from_rdn),
];

/// An entry that defines something.
pub(crate) struct Reading<'r> {
    /// The schema.
    pub facts: &'r Facts,
    /// The entry.
    pub entry: EntryView<'r>,
    /// Its name, normalized.
    pub name: NormalizedDn,
    /// Where a role is put: all of a backend are one definition together, see [`super::roles`].
    pub roles: &'r RefCell<Vec<Role>>,
}

impl<'r> Reading<'r> {
    /// The name of the entry above.
    pub fn parent(&self) -> NormalizedDn {
        self.name.parent().unwrap_or_default()
    }

    /// All values of an attribute, whatever its options; `Err` when they are more than `most`.
    pub fn all_values(&self, attribute: &str, most: usize) -> Result<Vec<Vec<u8>>, String> {
        self.all_of(self.stored(attribute), attribute, most)
    }

    /// All values of what the entry has stored of `attribute`; `Err` when they are more than `most`.
    pub fn all_of(
        &self,
        stored: impl Iterator<Item = Attribute<'r>>,
        attribute: &str,
        most: usize,
    ) -> Result<Vec<Vec<u8>>, String> {
        let mut values: Vec<Vec<u8>> = Vec::new();
        let read = self.entry.each_value(stored, &mut |value| {
            values.push(value.to_vec());
            if values.len() > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        read.map_err(|problem| format!("cannot be read: {problem}"))?;
        if values.len() > most { Err(format!("has more than {most} values of {attribute}")) } else { Ok(values) }
    }

    /// The only value of an attribute, or its first.
    pub fn value(&self, attribute: &str) -> Result<Option<Vec<u8>>, String> {
        let mut first = None;
        let read = self.entry.each_value(self.stored(attribute), &mut |value| {
            first = Some(value.to_vec());
            ControlFlow::Break(())
        });
        read.map_err(|problem| format!("cannot be read: {problem}"))?;
        Ok(first)
    }

    /// What the entry has stored of an attribute, whatever its options.
    fn stored(&self, attribute: &str) -> impl Iterator<Item = Attribute<'r>> + use<'r> {
        let record = self.entry.record;
        let known = self.facts.schema.attribute_type(attribute.as_bytes());
        let descs = known.map(|it| record.tables().by_type(it.index.0)).unwrap_or_default();
        record.attributes().filter(move |stored| descs.contains(&stored.desc))
    }

    /// The attribute type that is called `name` in `property`.
    pub fn known(&self, property: &str, name: &[u8]) -> Result<&'r AttributeType, String> {
        self.facts.schema.attribute_type(name.trim_ascii()).ok_or_else(|| {
            let name = String::from_utf8_lossy(name);
            format!("names in {property} the attribute type \"{name}\", which is not in the schema")
        })
    }

    /// The attribute type that a property names, by whose values entries are told apart: no secret one.
    pub fn attribute_in(&self, property: &str) -> Result<&'r AttributeType, String> {
        let name = self.value(property)?.ok_or_else(|| format!("has no {property}"))?;
        let known = self.known(property, &name)?;
        if self.facts.is_secret(known.index) {
            return Err(format!("names in {property} the attribute type {}, which is secret", known.name()));
        }
        Ok(known)
    }

    /// A value as a name; `Err` when it is none.
    pub fn name_in(&self, attribute: &str) -> Result<Option<NormalizedDn>, String> {
        let Some(value) = self.value(attribute)? else { return Ok(None) };
        let parsed = NormalizedDn::parse(&self.facts.schema, &value);
        parsed.map(Some).map_err(|problem| format!("has in {attribute} no name of an entry: {problem}"))
    }
}

/// The classes of [`KINDS`] in one schema.
#[derive(Debug, Default)]
pub(crate) struct DefinitionTypes {
    classes: Vec<(ClassIndex, Read)>,
}

impl DefinitionTypes {
    /// Looks them up.
    pub fn of(schema: &Schema) -> DefinitionTypes {
        let known = |(name, read): &(&[u8], Read)| Some((schema.object_class(name)?.index, *read));
        DefinitionTypes { classes: KINDS.iter().filter_map(known).collect() }
    }

    /// What a class makes of an entry.
    pub fn flags_of(&self, class: &ObjectClass) -> ClassFlags {
        let defines = self.classes.iter().any(|(known, _)| class.is_subclass_of(*known));
        if defines { ClassFlags::DEFINITION } else { ClassFlags::default() }
    }

    /// What an entry defines; nothing if it is none that does.
    pub fn read(&self, reading: &Reading<'_>) -> Result<Vec<Definition>, String> {
        let schema = &reading.facts.schema;
        let classes = reading.entry.record.object_classes();
        let is_of = |known: ClassIndex| {
            classes.iter().filter_map(|name| schema.object_class(name)).any(|class| class.is_subclass_of(known))
        };
        match self.classes.iter().find(|(known, _)| is_of(*known)) {
            Some((_, read)) => read(reading),
            None => Ok(Vec::new()),
        }
    }
}

/// The entries of a backend that define something, ascending.
pub(super) fn ids(facts: &Facts, view: &View<'_>) -> Result<Vec<EntryId>, StoreError> {
    let classes = KINDS.iter().map(|(class, _)| *class);
    Ok(ids_of_classes(facts, view, classes, ClassFlags::DEFINITION)?.iter().collect())
}

/// Reads one entry, whose name is `dn`.
pub(crate) fn read(
    facts: &Facts,
    view: &View<'_>,
    id: EntryId,
    record: RecordView<'_>,
    dn: &str,
    roles: &RefCell<Vec<Role>>,
) -> Result<Vec<Definition>, String> {
    let name = NormalizedDn::parse(&facts.schema, dn.as_bytes()).map_err(|problem| problem.to_string())?;
    let entry = EntryView { id, record, dn: DnParts::whole(dn.as_bytes()), source: view };
    facts.definitions.read(&Reading { facts, entry, name, roles })
}
