//! Which entries of a backend hold access control instructions: found by the presence index of `aci`, or where that
//! cannot be used by a look at all entries.

use query::backend::Backend;
use query::plan::remedy::{Remedy, Step, WantedIndex};
use schema::TypeIndex;
use store::index::{Distrust, IndexKind, PRESENCE_KEY};
use store::{EntryId, IndexKey, StoreError, View};

/// Why all entries were looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    /// There is no such index.
    NoIndex,
    /// It cannot be used.
    Untrusted(Distrust),
}

impl Scan {
    /// For an administrator: what is done without the index, and the command that builds it.
    pub(crate) fn sentence(self, backend: &Backend) -> String {
        let base_dn = backend.suffixes.first().map_or("", |suffix| suffix.dn.as_str());
        let (why, step) = match self {
            Scan::NoIndex => ("there is no such index", Some(Step::Create(WantedIndex::Kind(IndexKind::Presence)))),
            Scan::Untrusted(Distrust::Building { .. }) => ("it is being built", None),
            Scan::Untrusted(Distrust::Degraded) => ("it is not built", Some(Step::Rebuild { base_dn: base_dn.into() })),
            Scan::Untrusted(Distrust::OtherDerivation) => {
                ("its keys were made by older rules", Some(Step::Rebuild { base_dn: base_dn.into() }))
            }
        };
        let told = format!(
            "All entries of the backend \"{}\" were read to find those that hold access control instructions, \
             instead of the presence index of aci: {why}",
            backend.id
        );
        let remedy = step.map(|step| Remedy { backend: backend.id.as_str().into(), attribute: "aci".into(), step });
        remedy.map_or(told.clone(), |remedy| format!("{told}. To build it: {}", remedy.command()))
    }
}

/// Calls `each` with every entry that holds instructions, and maybe with others. Tells why the index was not used,
/// where it was not.
///
/// # Errors
/// When something cannot be read, and what `each` fails with.
pub fn each_holder(
    view: &View<'_>,
    aci: TypeIndex,
    mut each: impl FnMut(EntryId) -> Result<(), StoreError>,
) -> Result<Option<Scan>, StoreError> {
    if view.tables().by_type(aci.0).is_empty() {
        return Ok(None);
    }
    let indexes = view.indexes();
    let scan = match indexes.set().presence(aci) {
        Some(index) => match indexes.why_untrusted(index.id) {
            None => {
                view.postings(&IndexKey::new(index.id, PRESENCE_KEY))?.iter().try_for_each(&mut each)?;
                return Ok(None);
            }
            Some(why) => Scan::Untrusted(why),
        },
        None => Scan::NoIndex,
    };
    view.all()?.iter().try_for_each(&mut each)?;
    Ok(Some(scan))
}
