//! Access control in service: what is configured, and the rights of whoever asks.
//!
//! Shared by all threads, and changed while the server runs.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use aci::Reading;
use arc_swap::{ArcSwap, ArcSwapOption};
use query::asker_rights::Snapshots;
use query::backend::{Backend, BackendIndex, numbered};
use query::entry_place::EntryPlace;
use query::facts::Facts;
use query::read_moment::ReadContext;
use schema::NormalizedDn;
use store::{EntryId, PublishedMarks, StoreError};

use crate::asker::{Asker, Connection};
use crate::compiled::{Instruction, Kinds};
use crate::connection_facts::Known;
use crate::decide::{Certain, Making, Subject, certain_of_own, concerns_of};
use crate::identity::Identity;
use crate::privilege::PrivilegeSet;
use crate::rights::{Rights, RightsMaker, Stamp, marks_of};
use crate::session::Session;
use crate::set::{Holder, LiveSets, Loading, Needs, ProposedInstructions};
use crate::settings::{AccessError, AccessSettings};

/// Rights of sessions that are kept for the next session of the same user: clients that bind for each search.
const RECENT_MAX: usize = 64;

/// See the module.
#[derive(Debug)]
pub struct AccessControl {
    settings: ArcSwap<AccessSettings>,
    generation: AtomicU64,
    /// Held while they are replaced, so that no two settings get the same number.
    changing: Mutex<()>,
    /// Shared with the control of proposed settings.
    sets: Arc<OnceLock<Arc<LiveSets>>>,
    prepared: ArcSwapOption<Prepared>,
    /// The newest at the end.
    recent: Mutex<VecDeque<Arc<Rights>>>,
    /// Itself, for the rights that it makes.
    own: Weak<AccessControl>,
}

/// An instruction that is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AciProblem {
    /// The entry that holds it.
    pub holder: String,
    /// What is wrong with the first such value of the entry.
    pub why: String,
}

/// How often an instruction was used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AciUse {
    /// The entry that holds it; none: the configuration.
    pub holder: Option<String>,
    /// Its position among the values of the holder.
    pub position: usize,
    /// How often.
    pub hits: u32,
}

/// Whose rights are made, under which schema, and by the instructions of which snapshots.
struct RightsOf<'o> {
    identity: &'o Identity,
    connection: Connection,
    facts: &'o Arc<Facts>,
    /// Of other backends the instructions are those of now.
    snapshots: Snapshots<'o>,
}

/// The settings, prepared for one schema.
#[derive(Debug)]
struct Prepared {
    facts: Arc<Facts>,
    generation: u64,
    kinds: Arc<Kinds>,
    global: Box<[Arc<Instruction>]>,
    needs: Needs,
}

impl AccessControl {
    /// With what is configured.
    ///
    /// # Errors
    /// When an instruction is not valid.
    pub fn new(settings: AccessSettings) -> Result<Arc<AccessControl>, AccessError> {
        Self::with_sets(settings, Arc::default())
    }

    /// Access control of the same entries, those of so many backends, with other settings and other instructions of
    /// entries: for whoever wants to know how these would decide. What was read of the entries is shared where
    /// nothing is proposed for them.
    ///
    /// # Errors
    /// When an instruction is not valid.
    pub fn with_other(
        &self,
        settings: AccessSettings,
        backends: usize,
        proposed: &ProposedInstructions,
    ) -> Result<Arc<AccessControl>, AccessError> {
        let sets = match proposed.is_empty() {
            true => Arc::clone(&self.sets),
            false => Arc::new(OnceLock::from(Arc::new(LiveSets::new(backends, proposed.clone())))),
        };
        Self::with_sets(settings, sets)
    }

    fn with_sets(
        settings: AccessSettings,
        sets: Arc<OnceLock<Arc<LiveSets>>>,
    ) -> Result<Arc<AccessControl>, AccessError> {
        check(&settings)?;
        Ok(Arc::new_cyclic(|own| AccessControl {
            settings: ArcSwap::from_pointee(settings),
            generation: AtomicU64::new(0),
            changing: Mutex::default(),
            sets,
            prepared: ArcSwapOption::empty(),
            recent: Mutex::default(),
            own: Weak::clone(own),
        }))
    }

    /// Takes other settings, for everybody from the next request on. Returns whether they differ.
    ///
    /// # Errors
    /// When an instruction is not valid; then nothing changes.
    pub fn set(&self, settings: AccessSettings) -> Result<bool, AccessError> {
        check(&settings)?;
        let _only_one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        if **self.settings.load() == settings {
            return Ok(false);
        }
        // In this order: who sees the new number finds the new settings.
        self.settings.store(Arc::new(settings));
        self.generation.fetch_add(1, Ordering::Release);
        Ok(true)
    }

    /// Whether some rule asks for the names of addresses, so that the server must look them up. Known as soon as
    /// somebody asked for something.
    #[must_use]
    pub fn needs_host_names(&self) -> bool {
        let sets = self.sets.get().map(|sets| sets.all_newest()).unwrap_or_default();
        let prepared = self.prepared.load();
        sets.iter().any(|set| set.needs().host) || prepared.as_ref().is_some_and(|it| it.needs.host)
    }

    /// Instructions that are not valid, of data that other servers or older versions wrote: everything in their scope
    /// is denied to whoever has no privilege bypass-acl.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn problems(&self, facts: &Arc<Facts>, reading: &ReadContext) -> Result<Vec<AciProblem>, StoreError> {
        let loading = Loading { facts, most: self.settings.load().acis_per_entry_max, proposed: None };
        let mut problems = Vec::new();
        for (at, backend) in numbered(&reading.backends) {
            let snapshot = backend.store.snapshot()?;
            let view = snapshot.view();
            for (id, why) in self.live_sets(reading).at((at, backend), loading, &view)?.problems() {
                let holder = view.dn_of(id)?.unwrap_or_default();
                problems.push(AciProblem { holder, why: why.to_string() });
            }
        }
        Ok(problems)
    }

    /// How often each instruction took part in a decision since it was loaded: in a table that tells which attributes
    /// may be read at a place or by an asker, which serves many entries, or in an answer about an update. One whose
    /// text was changed begins again; the others of its holder go on.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn uses(&self, facts: &Arc<Facts>, reading: &ReadContext) -> Result<Vec<AciUse>, StoreError> {
        let settings = self.settings.load_full();
        let generation = self.generation.load(Ordering::Acquire);
        let global = &self.prepared(&settings, generation, facts).global;
        let of = |holder: &Option<String>, it: &Arc<Instruction>| AciUse {
            holder: holder.clone(),
            position: it.position as usize,
            hits: it.hits(),
        };
        let mut uses: Vec<AciUse> = global.iter().map(|it| of(&None, it)).collect();
        let loading = Loading { facts, most: settings.acis_per_entry_max, proposed: None };
        for (at, backend) in numbered(&reading.backends) {
            let snapshot = backend.store.snapshot()?;
            let view = snapshot.view();
            for (id, holder) in self.live_sets(reading).at((at, backend), loading, &view)?.holders() {
                let dn = view.dn_of(id)?;
                uses.extend(holder.instructions.iter().map(|it| of(&dn, it)));
            }
        }
        Ok(uses)
    }

    fn live_sets(&self, reading: &ReadContext) -> &Arc<LiveSets> {
        let new = || LiveSets::new(reading.backends.len(), ProposedInstructions::default());
        self.sets.get_or_init(|| Arc::new(new().telling(reading.groups.notices())))
    }

    /// What the session may do now. What it kept is given again as long as it holds.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn rights_of(
        &self,
        session: &Session,
        facts: &Arc<Facts>,
        reading: &ReadContext,
        now_unix_seconds: i64,
    ) -> Result<Arc<Rights>, StoreError> {
        if let Some(kept) = &*session.rights.borrow()
            && self.holds(kept, session, facts, reading, now_unix_seconds)
        {
            return Ok(Arc::clone(kept));
        }
        let rights = self.rights_apart(session, facts, reading, now_unix_seconds)?;
        *session.rights.borrow_mut() = Some(Arc::clone(&rights));
        Ok(rights)
    }

    /// The same without looking at what the session kept, and without changing it: of proposed settings.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn rights_apart(
        &self,
        session: &Session,
        facts: &Arc<Facts>,
        reading: &ReadContext,
        now_unix_seconds: i64,
    ) -> Result<Arc<Rights>, StoreError> {
        match self.recent(session, facts, reading, now_unix_seconds) {
            Some(recent) => Ok(recent),
            None => {
                let (identity, connection) = (&session.identity, connection_of(session));
                let of = RightsOf { identity, connection, facts, snapshots: &[] };
                self.make_rights(of, reading, now_unix_seconds)
            }
        }
    }

    /// Whether rights are those of a session, and nothing changed that they depend on.
    fn holds(&self, rights: &Rights, session: &Session, facts: &Arc<Facts>, reading: &ReadContext, now: i64) -> bool {
        rights.identity == session.identity
            && Arc::ptr_eq(&rights.facts, facts)
            && is_same_connection(&rights.stamp, session)
            && !rights.stamp.is_for_one_request
            && self.holds_still(rights, reading, now)
    }

    /// Whether nothing changed that rights depend on beside their asker and the schema.
    fn holds_still(&self, rights: &Rights, reading: &ReadContext, now: i64) -> bool {
        let stamp = &rights.stamp;
        let has_same_marks =
            |(backend, marks): (&Backend, &PublishedMarks)| stamp.has_marks(marks, &backend.store.marks());
        stamp.generation == self.generation.load(Ordering::Acquire)
            && stamp.until.is_none_or(|until| now < until)
            && (!stamp.needs.time || now >= rights.asker.now_unix_seconds)
            && reading.backends.iter().zip(&stamp.marks).all(has_same_marks)
            && stamp.entry_counter == entry_counter(&rights.identity, reading)
    }

    fn recent(&self, session: &Session, facts: &Arc<Facts>, reading: &ReadContext, now: i64) -> Option<Arc<Rights>> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.iter().rev().find(|rights| self.holds(rights, session, facts, reading, now)).map(Arc::clone)
    }

    #[cold]
    fn make_rights(&self, of: RightsOf<'_>, reading: &ReadContext, now: i64) -> Result<Arc<Rights>, StoreError> {
        let RightsOf { identity, connection, facts, snapshots } = of;
        // In this order: what changes while the rest is read is seen by the next look at the numbers.
        let generation = self.generation.load(Ordering::Acquire);
        let marks = marks(reading, snapshots);
        let entry_counter = entry_counter(identity, reading);
        let settings = self.settings.load_full();
        let prepared = self.prepared(&settings, generation, facts);
        let sets = self.live_sets(reading);
        let loading = Loading { facts, most: settings.acis_per_entry_max, proposed: None };
        let moment = reading.moment(facts, now);
        let making = Making { context: reading, moment: &moment, sets, loading, snapshots };
        let needs = making.needs(prepared.needs)?;
        let mut asker = asker_of(identity, connection, facts);
        asker.set_clock(now, needs.time);
        making.fill(&mut asker, needs)?;
        let privileges = privileges(&settings, identity, &asker);
        let had_host = asker.connection.host.known() != Known::NotYet;
        let stamp = Stamp {
            generation,
            marks,
            entry_counter,
            needs,
            had_host,
            connection: asker.connection.clone(),
            // Rules look at minutes.
            until: needs.time.then(|| now - now.rem_euclid(60) + 60),
            is_for_one_request: asker.is_computed,
        };
        let mut rights = Rights {
            identity: identity.clone(),
            privileges,
            stamp,
            asker,
            facts: Arc::clone(facts),
            kinds: Arc::clone(&prepared.kinds),
            context: reading.clone(),
            sets: Arc::clone(sets),
            settings: Arc::clone(&settings),
            global: Vec::new(),
            backends: Vec::new(),
            stored: Arc::new(Certain::default()),
            own: Arc::new(Certain::default()),
            maker: Weak::<AccessControl>::clone(&self.own),
        };
        if !rights.bypasses_acl() {
            add_concerns(&mut rights, &making, &prepared)?;
        }
        let rights = Arc::new(rights);
        // Those of a snapshot may be older than what others read.
        if !rights.stamp.is_for_one_request && snapshots.is_empty() {
            self.keep(&rights);
        }
        Ok(rights)
    }

    fn keep(&self, rights: &Arc<Rights>) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.retain(|it| it.identity != rights.identity || !is_equal_connection(&it.stamp, &rights.stamp));
        if recent.len() >= RECENT_MAX {
            recent.pop_front();
        }
        recent.push_back(Arc::clone(rights));
    }

    fn prepared(&self, settings: &AccessSettings, generation: u64, facts: &Arc<Facts>) -> Arc<Prepared> {
        let known = self.prepared.load_full();
        let is_it = |it: &&Arc<Prepared>| it.generation == generation && Arc::ptr_eq(&it.facts, facts);
        if let Some(known) = known.as_ref().filter(is_it) {
            return Arc::clone(known);
        }
        let earlier = known.as_ref().map(|it| &*it.global).unwrap_or_default();
        let loading = Loading { facts, most: usize::MAX, proposed: None };
        let global = Holder::of(loading, settings.global_acis.iter().map(String::as_bytes), earlier);
        let needs = global.as_ref().map(Holder::needs).unwrap_or_default();
        let global = global.map(|holder| holder.instructions).unwrap_or_default();
        let kinds = Arc::new(Kinds::of(facts));
        let prepared = Arc::new(Prepared { facts: Arc::clone(facts), generation, kinds, global, needs });
        self.prepared.store(Some(Arc::clone(&prepared)));
        prepared
    }
}

impl RightsMaker for AccessControl {
    fn renewed(&self, rights: &Rights, snapshots: Snapshots<'_>, now: i64) -> Result<Option<Arc<Rights>>, StoreError> {
        let Rights { identity, stamp, facts, context, .. } = rights;
        let are_of = snapshots.iter().all(|(backend, snapshot)| rights.are_of(*backend, snapshot));
        if are_of && self.holds_still(rights, context, now) {
            return Ok(None);
        }
        let of = RightsOf { identity, connection: stamp.connection.clone(), facts, snapshots };
        self.make_rights(of, context, now).map(Some)
    }
}

/// The marks under which rights are made.
fn marks(reading: &ReadContext, snapshots: Snapshots<'_>) -> Vec<PublishedMarks> {
    let of = |(at, backend): (BackendIndex, &Backend)| match snapshots.iter().find(|(of, _)| *of == at) {
        Some((_, snapshot)) => marks_of(snapshot),
        None => backend.store.marks(),
    };
    numbered(&reading.backends).map(of).collect()
}

fn check(settings: &AccessSettings) -> Result<(), AccessError> {
    for (at, text) in settings.global_acis.iter().enumerate() {
        if let Err(error) = aci::parse_as(text, Reading::Strict) {
            return Err(AccessError::GlobalAci { number: at + 1, why: error.to_string() });
        }
    }
    Ok(())
}

fn is_same_connection(stamp: &Stamp, session: &Session) -> bool {
    let known = &stamp.connection;
    known.strength_bits == session.security_strength_bits
        && known.authentication == session.authentication
        && known.address == session.address
        && (!stamp.needs.host
            || (stamp.had_host == (session.host_name.known() != Known::NotYet)
                && known.host.known() == session.host_name.known()))
}

fn is_equal_connection(one: &Stamp, other: &Stamp) -> bool {
    let (one, other) = (&one.connection, &other.connection);
    one.strength_bits == other.strength_bits
        && one.authentication == other.authentication
        && one.address == other.address
        && one.host.known() == other.host.known()
}

fn entry_counter(identity: &Identity, reading: &ReadContext) -> u32 {
    match identity {
        Identity::User { backend, entry, .. } => {
            reading.backends.get(backend.0).map_or(0, |backend| backend.store.entry_counter(*entry))
        }
        Identity::Anonymous | Identity::Root { .. } => 0,
    }
}

fn connection_of(session: &Session) -> Connection {
    Connection {
        address: session.address,
        host: session.host_name.clone(),
        authentication: session.authentication.clone(),
        strength_bits: session.security_strength_bits,
    }
}

fn asker_of(identity: &Identity, connection: Connection, facts: &Facts) -> Asker {
    let name_of = |dn: &str| NormalizedDn::parse(&facts.schema, dn.as_bytes()).ok().map(|it| it.as_bytes().into());
    let (name, place) = match identity {
        Identity::Anonymous => (None, None),
        Identity::Root { dn } => (name_of(dn), None),
        Identity::User { dn, backend, entry } => {
            let place = EntryPlace { backend: *backend, id: *entry };
            (name_of(dn), (*entry != EntryId::ROOT).then_some(place))
        }
    };
    Asker { name, place, connection, ..Asker::default() }
}

fn privileges(settings: &AccessSettings, identity: &Identity, asker: &Asker) -> PrivilegeSet {
    let own = match identity {
        Identity::Root { .. } => {
            let of = settings.privileges_of.iter().find(|(root, _)| Some(root.as_bytes()) == asker.name.as_deref());
            of.map_or(settings.root_privileges, |(_, privileges)| *privileges)
        }
        Identity::Anonymous | Identity::User { .. } => PrivilegeSet::NONE.after(asker.grants.iter().copied()),
    };
    own.with(settings.disabled_privileges)
}

fn add_concerns(rights: &mut Rights, making: &Making<'_>, prepared: &Prepared) -> Result<(), StoreError> {
    let asker = &rights.asker;
    let mut is_computed = false;
    rights.global = making.with_entry(asker.place, |entry| {
        concerns_of(&prepared.global, Subject { facts: &rights.facts, asker, entry }, &mut is_computed)
    })?;
    for (at, backend) in making.context.backends.iter().enumerate() {
        let at = BackendIndex(at);
        let (concerns, is_from_computed) = making.with_view(at, backend, |view| making.concerns(asker, at, view))?;
        is_computed |= is_from_computed;
        rights.backends.push(concerns);
    }
    rights.stored = Arc::new(making.certain(&rights.kinds, &rights.global, &rights.backends)?);
    rights.own = Arc::new(certain_of_own(&rights.facts, &rights.kinds, &rights.global));
    rights.stamp.is_for_one_request |= is_computed;
    Ok(())
}
