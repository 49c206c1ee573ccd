//! Entries that say what other entries get: where they are, and which file reads them.
//!
//! Knows the kinds of definitions; what their attributes mean is for the readers.

use std::cell::RefCell;

use schema::NormalizedDn;
use store::{EntryId, RecordView, StoreError, View};

use super::definition::Definition;
use super::reading::Reading;
use super::roles::{self, Role};
use super::{collective, cos, inherited};
use crate::class_flags::ClassFlags;
use crate::class_ids::ids_of_classes;
use crate::definition_types::{DefinitionKind, DefinitionTypes};
use crate::entry::{DnParts, EntryView};
use crate::facts::Facts;

/// The entries of a backend that define something, ascending.
pub(super) fn ids(facts: &Facts, view: &View<'_>) -> Result<Vec<EntryId>, StoreError> {
    Ok(ids_of_classes(facts, view, DefinitionTypes::class_names(), ClassFlags::DEFINITION)?.iter().collect())
}

/// Reads one entry, whose name is `dn`.
pub fn read(
    facts: &Facts,
    view: &View<'_>,
    id: EntryId,
    record: RecordView<'_>,
    dn: &str,
    roles: &RefCell<Vec<Role>>,
) -> Result<Vec<Definition>, String> {
    let name = NormalizedDn::parse(&facts.schema, dn.as_bytes()).map_err(|problem| problem.to_string())?;
    let entry = EntryView { id, record, dn: DnParts::whole(dn.as_bytes()), source: view };
    let reading = &Reading { facts, entry, name, roles };
    match facts.definitions.kind_of(&facts.schema, record.object_classes()) {
        None => Ok(Vec::new()),
        Some(DefinitionKind::ManagedRole) => roles::managed(reading),
        Some(DefinitionKind::FilteredRole) => roles::filtered(reading),
        Some(DefinitionKind::NestedRole) => roles::nested(reading),
        Some(DefinitionKind::PointerCos) => cos::read_pointer(reading),
        Some(DefinitionKind::IndirectCos) => cos::read_indirect(reading),
        Some(DefinitionKind::ClassicCos) => cos::read_classic(reading),
        Some(DefinitionKind::Collective) => collective::read(reading),
        Some(DefinitionKind::InheritedFromDn) => inherited::read_from_dn(reading),
        Some(DefinitionKind::InheritedFromRdn) => inherited::read_from_rdn(reading),
    }
}
