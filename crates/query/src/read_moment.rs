//! One moment of all backends as entries are shown at it: with the groups that they are in, and with what they are
//! given.
//!
//! It belongs to one operation, and is forgotten with it. Knows attributes, not what they mean: limits and locks are
//! for whoever asks.

use std::cell::OnceCell;
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

use accounts::PasswordPolicy;
use schema::TypeIndex;
use store::{DescId, EntryId, RecordView, Snapshot, StoreError, View};

use crate::answers::Answers;
use crate::backend::{Backend, BackendIndex};
use crate::computed::{ComputedAt, ComputedService, Definitions, GivenCache};
use crate::defined_attributes::DefinedAttributes;
use crate::entry::{Ask, DnParts, EachRow, EntrySource, EntryView, GivenValues, Membership, Shown, StoredAt};
use crate::entry_place::EntryPlace;
use crate::facts::Facts;
use crate::groups::{GroupService, GroupsAt, GroupsMoment, ImageNumber};
use crate::policies::{PolicyService, Seen, policy_in_force};

/// What reading takes beside the schema: the backends, and what is kept for groups and computed attributes between
/// operations.
#[derive(Clone)]
pub struct ReadContext {
    /// The backends in service.
    pub backends: Arc<[Backend]>,
    /// What is kept for groups.
    pub groups: Arc<GroupService>,
    /// What is kept for attributes that entries are given.
    pub computed: Arc<ComputedService>,
    /// What is kept of password policies.
    pub policies: Arc<PolicyService>,
}

/// See the module.
pub struct ReadMoment {
    groups: GroupsMoment,
    /// Groups as the asker sees them, where it is one's moment.
    shown_groups: Option<GroupsMoment>,
    computed: Arc<ComputedService>,
    policies: Arc<PolicyService>,
    /// What entries of each backend are given.
    given: Box<[OnceCell<GivenCache>]>,
}

/// The same, seen from one backend at its own snapshot: the source of its entries.
#[derive(Clone, Copy)]
pub struct ReadAt<'m> {
    groups: GroupsAt<'m>,
    shown_groups: Option<GroupsAt<'m>>,
    moment: &'m ReadMoment,
}

impl ReadContext {
    /// A moment from now on; nothing is read yet. `now_unix_seconds` is for filters that depend on the time.
    #[must_use]
    pub fn moment(&self, facts: &Arc<Facts>, now_unix_seconds: i64) -> ReadMoment {
        let groups = GroupsMoment::new(&self.groups, &self.backends, facts, now_unix_seconds);
        ReadMoment::of(groups, &self.computed, &self.policies)
    }

    /// Calls `look` with an entry as it is shown, if its backend gives entries something of `wanted`; none otherwise:
    /// then what is stored is all. Where nothing is defined it costs a look at that.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn if_given<T>(
        &self,
        facts: &Arc<Facts>,
        place: EntryPlace,
        snapshot: &Snapshot,
        mut wanted: impl Iterator<Item = TypeIndex>,
        look: impl FnOnce(&ComputedAt<'_>, &EntryView<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let view = snapshot.view();
        let definitions = self.computed.definitions(place.backend, facts, &view)?;
        let Some(definitions) = definitions.filter(|it| wanted.any(|index| !it.concerned(index).is_empty())) else {
            return Ok(None);
        };
        let Some(record) = view.entry(place.id)? else { return Ok(None) };
        let moment = self.moment(facts, now_unix_seconds());
        let moment = moment.knowing(place.backend, Some(definitions));
        let seen = moment.at(place.backend, view);
        let Some(computed) = seen.given_values()? else { return Ok(None) };
        let mut dn = Vec::new();
        seen.groups().put_dn(place, &mut dn)?;
        let entry = EntryView { id: place.id, record: record.view()?, dn: DnParts::whole(&dn), source: &seen };
        look(&computed, &entry).map(Some)
    }

    /// The password policy in force for an entry. Where neither the entry nor what it is given names one, and no
    /// subentry holds, it costs a look at that.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn password_policy(
        &self,
        facts: &Arc<Facts>,
        place: EntryPlace,
        record: &RecordView<'_>,
        snapshot: &Snapshot,
    ) -> Result<Arc<PasswordPolicy>, StoreError> {
        let view = snapshot.view();
        let names_one = |attribute: TypeIndex| {
            let descs = view.tables().by_type(attribute.0);
            !descs.is_empty() && record.attributes().any(|stored| descs.contains(&stored.desc))
        };
        let attribute = facts.account.policy_dn;
        let definitions = self.computed.definitions(place.backend, facts, &view)?;
        let is_given = |it: &Arc<Definitions>| attribute.is_some_and(|index| !it.concerned(index).is_empty());
        let definitions = definitions.filter(is_given);
        if definitions.is_none()
            && !attribute.is_some_and(names_one)
            && !self.policies.set_of(place.backend, facts, &view)?.has_subentries()
        {
            return Ok(Arc::clone(self.policies.configured().default_policy()));
        }
        let moment = self.moment(facts, now_unix_seconds()).knowing(place.backend, definitions);
        let seen = moment.at(place.backend, view);
        let mut dn = Vec::new();
        seen.groups().put_dn(place, &mut dn)?;
        let entry = EntryView { id: place.id, record: *record, dn: DnParts::whole(&dn), source: &seen };
        seen.policy_of(&entry)
    }

    /// The policy that will be in force for an entry that is to be added to a backend.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn password_policy_of_new(
        &self,
        facts: &Arc<Facts>,
        backend: BackendIndex,
        entry: &EntryView<'_>,
        snapshot: &Snapshot,
    ) -> Result<Arc<PasswordPolicy>, StoreError> {
        let moment = self.moment(facts, now_unix_seconds());
        let seen = moment.at(backend, snapshot.view());
        policy_in_force(&self.policies, &Seen { groups: seen.groups(), given: seen.given_values()? }, entry)
    }
}

fn now_unix_seconds() -> i64 {
    let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(unix.as_secs()).unwrap_or(i64::MAX)
}

impl ReadMoment {
    fn of(groups: GroupsMoment, computed: &Arc<ComputedService>, policies: &Arc<PolicyService>) -> ReadMoment {
        let given = (0..groups.backend_count()).map(|_| OnceCell::new()).collect();
        let (computed, policies) = (Arc::clone(computed), Arc::clone(policies));
        ReadMoment { groups, shown_groups: None, computed, policies, given }
    }

    /// The same as an asker sees it: groups, members, lists and children that do not show are not there. What entries
    /// are given is decided as for the server.
    #[must_use]
    pub fn for_asker(self, answers: &Answers) -> ReadMoment {
        ReadMoment { shown_groups: Some(self.groups.for_asker(answers)), ..self }
    }

    /// The same with a limit of entries to look at where members are told.
    #[must_use]
    pub fn within(self, budget: Option<u64>) -> ReadMoment {
        let shown_groups = self.shown_groups.map(|groups| groups.within(budget));
        ReadMoment { groups: self.groups.within(budget), shown_groups, ..self }
    }

    /// The same with what is known already of what entries of a backend are given at this moment.
    #[must_use]
    pub fn knowing(self, backend: BackendIndex, definitions: Option<Arc<Definitions>>) -> ReadMoment {
        if let Some(cell) = self.given.get(backend.0) {
            // Nobody else sets it: a moment belongs to one thread.
            let _ = cell.set(GivenCache::new(definitions));
        }
        self
    }

    /// The same at another moment.
    #[must_use]
    pub fn renewed(&self) -> ReadMoment {
        let shown_groups = self.shown_groups.as_ref().map(GroupsMoment::renewed);
        ReadMoment { shown_groups, ..ReadMoment::of(self.groups.renewed(), &self.computed, &self.policies) }
    }

    /// Whether telling members came to the limit, so that they are incomplete.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.groups.is_spent() || self.shown_groups.as_ref().is_some_and(GroupsMoment::is_spent)
    }

    /// Whether a chain had more entries than are followed, so that answers since are incomplete.
    #[must_use]
    pub fn overflowed(&self) -> bool {
        self.groups.overflowed() || self.shown_groups.as_ref().is_some_and(GroupsMoment::overflowed)
    }

    /// Seen from the backend `own` at the moment of `view`. All views of one must be of one moment.
    #[must_use]
    pub fn at<'m>(&'m self, own: BackendIndex, view: View<'m>) -> ReadAt<'m> {
        let shown_groups = self.shown_groups.as_ref().map(|groups| groups.at(own, view));
        ReadAt { groups: self.groups.at(own, view), shown_groups, moment: self }
    }
}

impl<'m> ReadAt<'m> {
    /// Who is in which group.
    #[must_use]
    pub fn groups(&self) -> GroupsAt<'m> {
        self.groups
    }

    /// What entries of the backend are given; none when nothing is defined.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn given_values(&self) -> Result<Option<ComputedAt<'m>>, StoreError> {
        let Some(cell) = self.moment.given.get(self.groups.own().0) else { return Ok(None) };
        if cell.get().is_none() {
            let definitions =
                self.moment.computed.definitions(self.groups.own(), self.groups.facts_shared(), &self.groups.view())?;
            let _ = cell.set(GivenCache::new(definitions));
        }
        Ok(cell.get().and_then(|given| given.at(self.groups, self.shown())))
    }

    /// The password policy in force for an entry.
    fn policy_of(&self, entry: &EntryView<'_>) -> Result<Arc<PasswordPolicy>, StoreError> {
        let seen = Seen { groups: self.groups, given: self.given_values()? };
        policy_in_force(&self.moment.policies, &seen, entry)
    }

    /// Who is in which group, for whom it is the moment.
    fn shown(&self) -> GroupsAt<'m> {
        self.shown_groups.unwrap_or(self.groups)
    }

    /// An entry is looked at as a change left it, or found it: what was found out of another image of it is forgotten.
    pub fn look_at(&self, image: ImageNumber) {
        let is_other = self.shown_groups.is_some_and(|groups| groups.look_at(image));
        if self.groups.look_at(image) || is_other {
            self.moment.given.iter().filter_map(OnceCell::get).for_each(GivenCache::forget_entry);
        }
    }
}

impl EntrySource for ReadAt<'_> {
    fn children_count(&self, id: EntryId) -> Result<u64, StoreError> {
        self.shown().shown_children(id, u64::MAX)
    }

    fn has_children(&self, id: EntryId) -> Result<bool, StoreError> {
        Ok(self.shown().shown_children(id, 1)? > 0)
    }

    fn large_rows(&self, id: EntryId, desc: DescId, behind: &[u8], each: EachRow<'_>) -> Result<(), StoreError> {
        self.groups.large_rows(id, desc, behind, each)
    }

    fn large_contains(&self, id: EntryId, desc: DescId, normal_form: &[u8]) -> Result<bool, StoreError> {
        self.groups.large_contains(id, desc, normal_form)
    }

    fn stored(&self) -> Option<StoredAt<'_>> {
        Some(StoredAt::new(self.groups.own(), self.groups.view()))
    }

    fn unix_seconds(&self) -> Option<i64> {
        self.groups.unix_seconds()
    }

    fn groups(&self) -> Option<&dyn Membership> {
        Some(self.shown_groups.as_ref().unwrap_or(&self.groups))
    }

    fn password_policy(&self, entry: &EntryView<'_>) -> Result<Option<Arc<PasswordPolicy>>, StoreError> {
        self.policy_of(entry).map(Some)
    }

    fn computed(&self) -> Result<Option<&dyn GivenValues>, StoreError> {
        Ok(self.given_values()?.map(|_| self as &dyn GivenValues))
    }
}

/// Where nothing is defined.
static NOTHING: LazyLock<Arc<DefinedAttributes>> = LazyLock::new(Arc::default);

impl GivenValues for ReadAt<'_> {
    fn defined(&self) -> &Arc<DefinedAttributes> {
        let given = self.moment.given.get(self.groups.own().0).and_then(OnceCell::get);
        given.and_then(GivenCache::definitions).map_or(&NOTHING, |definitions| definitions.defined())
    }

    fn shown(&self, entry: &EntryView<'_>, position: usize, ask: Ask, out: &mut Vec<u8>) -> Result<Shown, StoreError> {
        let Some(computed) = self.given_values()? else { return Ok(Shown::Stored) };
        match computed.definitions().groups().get(position) {
            Some(group) => computed.shown(entry, group, ask, out),
            None => Ok(Shown::Stored),
        }
    }
}
