//! Definitions between operations: prepared once, kept, and always those of the moment that is asked for.
//!
//! Invariant: definitions are used for a moment only if the entries that they were made of are, at that moment, the
//! same entries with the same bytes below the same names, and schema and tables are the same. That is looked up for
//! every moment, so an update of a definition is seen by the next search; it is not looked up again where the store has
//! not changed since (the view's `seq` is the same), and not at all in a backend that never had an entry of such a
//! class.
//!
//! What a template or another entry says is not kept: it is read at the asker's moment.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use config::VirtualAttributeConfig;
use schema::TypeIndex;
use store::{CLASS_SETS_MAX, EntryId, StoreError, View};

use super::definition::Definition;
use super::definitions::Definitions;
use super::roles::RoleSet;
use super::{kinds, tables};
use crate::backend::BackendIndex;
use crate::class_flags::ClassFlags;
use crate::facts::Facts;
use crate::notices::Notices;

/// Entries of one backend that define something; more are reported and define nothing.
const ENTRIES_MAX: usize = 10_000;

/// See the module.
pub struct ComputedService {
    /// Those tables of the configuration that define something.
    tables: ArcSwap<Vec<VirtualAttributeConfig>>,
    /// By backend.
    kept: Box<[ArcSwapOption<Kept>]>,
    notices: Arc<Notices>,
}

/// What is known of one backend.
#[derive(Clone)]
pub struct Kept {
    facts: Arc<Facts>,
    tables: Arc<Vec<VirtualAttributeConfig>>,
    /// Class sets that were looked at, and whether one of them defines something.
    class_sets: usize,
    defines: bool,
    /// The change after which the rest was found out.
    seq: Option<u64>,
    made_of: Arc<MadeOf>,
    /// By table, the attributes that URLs of entries list.
    listed: Arc<Listed>,
    /// None when nothing is defined.
    definitions: Option<Arc<Definitions>>,
}

type Listed = Vec<BTreeSet<TypeIndex>>;

/// The entries that definitions were made of.
#[derive(Default, PartialEq, Eq)]
struct MadeOf {
    /// Ascending, with their bytes.
    entries: Vec<(EntryId, Box<[u8]>)>,
    /// The entries above these, with their names.
    parents: BTreeMap<EntryId, String>,
}

impl ComputedService {
    /// A service for so many backends.
    pub fn new(tables: &[VirtualAttributeConfig], backends: usize, notices: &Arc<Notices>) -> ComputedService {
        ComputedService {
            tables: ArcSwap::from_pointee(defining(tables)),
            kept: (0..backends).map(|_| ArcSwapOption::empty()).collect(),
            notices: Arc::clone(notices),
        }
    }

    /// What is known of a backend: whoever wants to know whether it was looked up again.
    #[must_use]
    pub fn kept(&self, backend: BackendIndex) -> Option<Arc<Kept>> {
        self.kept.get(backend.0)?.load_full()
    }

    /// Takes other tables; tells whether they differ.
    pub fn set_tables(&self, tables: &[VirtualAttributeConfig]) -> bool {
        let new = defining(tables);
        let is_changed = **self.tables.load() != new;
        if is_changed {
            self.tables.store(Arc::new(new));
        }
        is_changed
    }

    /// Whether tables define something, for entries of any backend.
    #[must_use]
    pub fn has_tables(&self) -> bool {
        !self.tables.load().is_empty()
    }

    /// The definitions for entries of a backend at one moment, if there are any. Where nothing is defined it costs a
    /// look at that, none at an index.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn definitions(
        &self,
        backend: BackendIndex,
        facts: &Arc<Facts>,
        view: &View<'_>,
    ) -> Result<Option<Arc<Definitions>>, StoreError> {
        let Some(place) = self.kept.get(backend.0) else { return Ok(None) };
        let tables = self.tables.load();
        let kept = place.load();
        let known =
            kept.as_ref().filter(|known| Arc::ptr_eq(&known.facts, facts) && Arc::ptr_eq(&known.tables, &tables));
        if let Some(known) = known
            && (known.is_of(view) || known.is_nothing(view))
        {
            return Ok(known.definitions.clone());
        }
        let seq = view.seq();
        let mut next = match known {
            Some(known) => Kept { seq, ..Kept::clone(known) },
            None => Kept::unknown(facts, &tables, seq),
        };
        next.look_at_classes(view);
        if known.is_none() || !next.is_made_of(view)? {
            self.make(&mut next, view)?;
        }
        let definitions = next.definitions.clone();
        // Whoever else stores at the same time wins or loses: what is lost is found out again.
        place.store(Some(Arc::new(next)));
        Ok(definitions)
    }

    fn make(&self, next: &mut Kept, view: &View<'_>) -> Result<(), StoreError> {
        let facts = Arc::clone(&next.facts);
        let mut all: Vec<Definition> = Vec::new();
        let listed = next.look_at_lists(view)?;
        for (table, listed) in next.tables.iter().zip(&listed) {
            match tables::definitions(&facts, table, listed) {
                Ok(definitions) => all.extend(definitions),
                Err(why) => self.notices.warn_once(format!(
                    "The table [virtual-attribute.\"{}\"] defines nothing under the schema of now: {why}",
                    table.name
                )),
            }
        }
        let made_of = if next.defines { MadeOf::read(&facts, view)? } else { MadeOf::default() };
        if made_of.entries.len() >= ENTRIES_MAX {
            self.notices.warn_once(format!(
                "More than {ENTRIES_MAX} entries of one backend define attributes of others (classes of service, \
                 roles, collective attributes); only the oldest do so: remove some"
            ));
        }
        let roles = RefCell::default();
        for (id, bytes) in &made_of.entries {
            let record = store::RecordView::parse(bytes, view.tables())?;
            let rdn = String::from_utf8_lossy(record.rdn()).into_owned();
            let dn = match made_of.parents.get(&record.parent()) {
                Some(above) => format!("{rdn},{above}"),
                None => rdn,
            };
            match kinds::read(&facts, view, *id, record, &dn, &roles) {
                Ok(definitions) => all.extend(definitions),
                Err(why) => {
                    self.notices.warn_once(format!("The entry \"{dn}\" gives no attributes to others: it {why}"));
                }
            }
        }
        all.extend(RoleSet::definition(&facts, roles.into_inner(), &mut |told| self.notices.warn_once(told)));
        next.definitions = (!all.is_empty()).then(|| Arc::new(Definitions::new(&facts, all)));
        next.made_of = Arc::new(made_of);
        next.listed = Arc::new(listed);
        Ok(())
    }
}

impl Kept {
    /// The change after which it was looked up.
    #[must_use]
    pub fn seq(&self) -> Option<u64> {
        self.seq
    }

    fn unknown(facts: &Arc<Facts>, tables: &Arc<Vec<VirtualAttributeConfig>>, seq: Option<u64>) -> Kept {
        Kept {
            facts: Arc::clone(facts),
            tables: Arc::clone(tables),
            class_sets: 0,
            defines: false,
            seq,
            made_of: Arc::default(),
            listed: Arc::default(),
            definitions: None,
        }
    }

    /// Whether it was found out at the moment of a view.
    fn is_of(&self, view: &View<'_>) -> bool {
        self.seq.is_some() && self.seq == view.seq()
    }

    /// Whether nothing is defined, at the moment of a view either.
    fn is_nothing(&self, view: &View<'_>) -> bool {
        !self.defines && self.tables.is_empty() && view.tables().class_sets_from(self.class_sets).next().is_none()
    }

    /// Looks at the class sets that came since.
    fn look_at_classes(&mut self, view: &View<'_>) {
        for set in view.tables().class_sets_from(self.class_sets) {
            self.defines |= self.facts.class_flags(set.values()).has(ClassFlags::DEFINITION);
            self.class_sets += 1;
        }
        // Sets beyond the limit are in the records, where nobody has looked.
        self.defines |= self.class_sets >= CLASS_SETS_MAX;
    }

    fn look_at_lists(&self, view: &View<'_>) -> Result<Listed, StoreError> {
        self.tables.iter().map(|table| tables::listed(&self.facts, table, view)).collect()
    }

    /// Whether the entries are the same at another moment, and lists list the same.
    fn is_made_of(&self, view: &View<'_>) -> Result<bool, StoreError> {
        if self.look_at_lists(view)? != *self.listed {
            return Ok(false);
        }
        if !self.defines {
            return Ok(self.made_of.entries.is_empty());
        }
        let ids = kinds::ids(&self.facts, view)?;
        let known = &self.made_of;
        if !ids.iter().take(ENTRIES_MAX).eq(known.entries.iter().map(|(id, _)| id)) {
            return Ok(false);
        }
        for (id, bytes) in &known.entries {
            if view.entry(*id)?.is_none_or(|record| record.bytes() != &**bytes) {
                return Ok(false);
            }
        }
        for (id, name) in &known.parents {
            if view.dn_of(*id)?.as_ref() != Some(name) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl MadeOf {
    fn read(facts: &Facts, view: &View<'_>) -> Result<MadeOf, StoreError> {
        let mut made_of = MadeOf::default();
        for id in kinds::ids(facts, view)?.into_iter().take(ENTRIES_MAX) {
            let Some(found) = view.entry(id)? else { continue };
            let parent = found.view()?.parent();
            if parent != EntryId::ROOT && !made_of.parents.contains_key(&parent) {
                made_of.parents.extend(view.dn_of(parent)?.map(|name| (parent, name)));
            }
            made_of.entries.push((id, found.into_bytes().into()));
        }
        Ok(made_of)
    }
}

fn defining(tables: &[VirtualAttributeConfig]) -> Vec<VirtualAttributeConfig> {
    tables.iter().filter(|table| tables::defines(table)).cloned().collect()
}
