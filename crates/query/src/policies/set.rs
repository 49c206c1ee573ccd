//! The password policies that are entries of one backend, at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use accounts::PasswordPolicy;
use schema::NormalizedDn;
use store::{CLASS_SETS_MAX, EntryId, StoreError, View};

use super::configured::ConfiguredPolicies;
use super::written::{Over, written};
use crate::class_flags::ClassFlags;
use crate::class_ids::ids_of_classes;
use crate::computed::Reach;
use crate::entry::{DnParts, EntryView};
use crate::facts::Facts;
use crate::notices::Notices;

/// The class of such entries.
const CLASS: &[u8] = b"pwdPolicy";

/// Policies of one backend; more are reported and hold for nobody.
const ENTRIES_MAX: usize = 1_000;

/// What was read of one backend, and what tells whether it would be read otherwise.
#[derive(Clone, Debug)]
pub struct PolicySet {
    facts: Arc<Facts>,
    configured: Arc<ConfiguredPolicies>,
    /// Class sets that were looked at, and whether one of them is of policies.
    class_sets: usize,
    may_have: bool,
    seq: Option<u64>,
    /// [`store::Marks::membership`] of the moment.
    mark: u64,
    /// The entries above the policies, with their names.
    parents: Arc<BTreeMap<EntryId, String>>,
    entries: Arc<[PolicyEntry]>,
    count_failures: bool,
}

/// One of them.
#[derive(Debug)]
pub struct PolicyEntry {
    /// Its normalized name.
    pub name: NormalizedDn,
    /// For whom it holds, if it is a subentry.
    pub reach: Option<Reach>,
    /// What it says.
    pub policy: Arc<PasswordPolicy>,
}

impl PolicySet {
    /// Nothing is known yet.
    pub(super) fn unknown(facts: &Arc<Facts>, configured: &Arc<ConfiguredPolicies>) -> PolicySet {
        PolicySet {
            facts: Arc::clone(facts),
            configured: Arc::clone(configured),
            class_sets: 0,
            may_have: false,
            seq: None,
            mark: 0,
            parents: Arc::default(),
            entries: Arc::default(),
            count_failures: false,
        }
    }

    /// Whether it was made with the same schema and configuration.
    pub(super) fn is_for(&self, facts: &Arc<Facts>, configured: &Arc<ConfiguredPolicies>) -> bool {
        Arc::ptr_eq(&self.facts, facts) && Arc::ptr_eq(&self.configured, configured)
    }

    /// Whether it holds for the moment of a view. Costs two comparisons where the backend never had a policy, or has
    /// not changed.
    pub(super) fn is_of(&self, view: &View<'_>) -> Result<bool, StoreError> {
        if !self.may_have {
            return Ok(view.tables().class_sets_from(self.class_sets).next().is_none());
        }
        if self.seq.is_some() && self.seq == view.seq() {
            return Ok(true);
        }
        if self.mark != view.marks().membership {
            return Ok(false);
        }
        for (id, name) in self.parents.iter() {
            if view.dn_of(*id)?.as_ref() != Some(name) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The set at the moment of a view; what is not valid is told.
    pub(super) fn at(&self, view: &View<'_>, notices: &Notices) -> Result<PolicySet, StoreError> {
        let mut set = PolicySet { seq: view.seq(), mark: view.marks().membership, ..self.clone() };
        for classes in view.tables().class_sets_from(set.class_sets) {
            set.may_have |= set.facts.class_flags(classes.values()).has(ClassFlags::PASSWORD_POLICY);
            set.class_sets += 1;
        }
        // Sets beyond the limit are in the records, where nobody has looked.
        set.may_have |= set.class_sets >= CLASS_SETS_MAX;
        let (mut parents, mut entries) = (BTreeMap::new(), Vec::new());
        if set.may_have {
            let ids = ids_of_classes(&set.facts, view, [CLASS], ClassFlags::PASSWORD_POLICY)?;
            for id in ids.iter() {
                if entries.len() >= ENTRIES_MAX {
                    notices.warn_once(format!(
                        "A backend has more than {ENTRIES_MAX} password policies; only the oldest hold: remove some"
                    ));
                    break;
                }
                entries.extend(set.read(view, id, &mut parents, notices)?);
            }
        }
        set.count_failures = entries.iter().any(|entry: &PolicyEntry| entry.policy.lock_rules().count_failures());
        (set.parents, set.entries) = (Arc::new(parents), entries.into());
        Ok(set)
    }

    fn read(
        &self,
        view: &View<'_>,
        id: EntryId,
        parents: &mut BTreeMap<EntryId, String>,
        notices: &Notices,
    ) -> Result<Option<PolicyEntry>, StoreError> {
        let (Some(found), Some(dn)) = (view.entry(id)?, view.dn_of(id)?) else { return Ok(None) };
        let record = found.view()?;
        if record.parent() != EntryId::ROOT {
            parents.extend(view.dn_of(record.parent())?.map(|name| (record.parent(), name)));
        }
        let Ok(name) = NormalizedDn::parse(&self.facts.schema, dn.as_bytes()) else { return Ok(None) };
        let entry = EntryView { id, record, dn: DnParts::whole(dn.as_bytes()), source: view };
        let written = written(&self.facts, &entry, (&dn, &name), Over::Configured(&self.configured));
        for problem in &written.problems {
            notices.warn_once(format!("The password policy \"{dn}\" is not obeyed in one thing: it {problem}"));
        }
        Ok(Some(PolicyEntry { name, reach: written.reach, policy: written.policy }))
    }

    /// The policies, the oldest first.
    #[must_use]
    pub fn entries(&self) -> &[PolicyEntry] {
        &self.entries
    }

    /// Whether one of them counts wrong passwords.
    pub(super) fn count_failures(&self) -> bool {
        self.count_failures
    }

    /// The policy of that name.
    #[must_use]
    pub fn named(&self, name: &NormalizedDn) -> Option<&Arc<PasswordPolicy>> {
        self.entries.iter().find(|entry| entry.name == *name).map(|entry| &entry.policy)
    }

    /// Whether one of them holds for entries that do not name it.
    #[must_use]
    pub fn has_subentries(&self) -> bool {
        self.entries.iter().any(|entry| entry.reach.is_some())
    }
}
