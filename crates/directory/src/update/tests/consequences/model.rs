//! A directory in the simplest code that says what it is: a map from names, which are texts, to values, which are
//! texts, looked through for everything.
//!
//! It knows referential integrity as a list of names that changed, each followed by rewriting every value that is
//! meant. It knows no entry numbers, no index, no normal form and no snapshot. All texts are in lower case.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The suffixes, each in a backend of its own.
pub const SUFFIXES: [&str; 2] = ["dc=example,dc=com", "o=second"];
/// Attributes whose values follow the entries that they name.
pub const FOLLOWED: [&str; 5] = ["member", "uniquemember", "manager", "seealso", "nsroledn"];
/// Values of `description` that the constraint allows.
pub const COLOURS: [&str; 2] = ["red", "blue"];

pub type Values = BTreeSet<String>;
pub type Attributes = BTreeMap<&'static str, Values>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Suffix,
    Unit,
    Person,
    /// `groupOfNames`
    Names,
    /// `groupOfUniqueNames`
    Unique,
    /// `groupOfURLs`: red entries below its `base`
    Dynamic,
    /// `groupOfNames` with `ds-virtual-static-group`
    Virtual,
    /// `cosTemplate`
    Template,
    /// `cosPointerDefinition` of `l`
    Pointer,
    /// `cosClassicDefinition` of `l` by `employeeType`
    Classic,
    /// `cosIndirectDefinition` of `l` by `manager`
    Indirect,
    /// `cosIndirectDefinition` of `nsAccountLock` by `nsRole`
    Lock,
    /// `nsManagedRoleDefinition`
    Managed,
    /// `nsFilteredRoleDefinition`: entries that have what `rolefilter` says
    Filtered,
    /// `nsNestedRoleDefinition`
    Nested,
    /// `collectiveAttributeSubentry` of `st` and `c-st`
    Collective,
    /// `inheritedFromDNCollectiveAttributeSubentry` of `st` by `manager`
    FromDn,
    /// `inheritedFromRDNCollectiveAttributeSubentry` of `st` by `employeeType`, which names a person
    FromRdn,
}

impl Kind {
    /// Shown only to who asks for subentries.
    pub fn is_hidden(self) -> bool {
        matches!(self, Kind::Pointer | Kind::Classic | Kind::Indirect | Kind::Lock)
            || self.is_role()
            || self.is_collective()
    }

    pub fn is_role(self) -> bool {
        matches!(self, Kind::Managed | Kind::Filtered | Kind::Nested)
    }

    /// Gives attributes to a subtree (RFC 3671).
    pub fn is_collective(self) -> bool {
        matches!(self, Kind::Collective | Kind::FromDn | Kind::FromRdn)
    }

    /// Whether its classes allow `l`.
    fn may_have_place(self) -> bool {
        matches!(self, Kind::Suffix | Kind::Unit | Kind::Person | Kind::Template)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub kind: Kind,
    pub values: Attributes,
}

impl Entry {
    pub fn values(&self, attribute: &str) -> impl Iterator<Item = &String> {
        self.values.get(attribute).into_iter().flatten()
    }

    pub fn has(&self, attribute: &str, value: &str) -> bool {
        self.values(attribute).any(|own| own == value)
    }
}

/// One update.
#[derive(Clone, Debug)]
pub enum Op {
    Add { dn: String, entry: Entry },
    Delete { dn: String, subtree: bool },
    Rename { dn: String, rdn: String, superior: String },
    Put { dn: String, attribute: &'static str, value: String },
    Take { dn: String, attribute: &'static str, value: String },
    Replace { dn: String, attribute: &'static str, value: String },
}

impl Op {
    pub fn dn(&self) -> &str {
        match self {
            Op::Add { dn, .. } | Op::Delete { dn, .. } | Op::Rename { dn, .. } => dn,
            Op::Put { dn, .. } | Op::Take { dn, .. } | Op::Replace { dn, .. } => dn,
        }
    }
}

/// A name that changed, which values may still have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub old: String,
    pub new: Option<String>,
    pub is_subtree: bool,
}

/// Names that wait to be followed.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    pub jobs: VecDeque<Job>,
    /// So many from the front still have something to do in their own backend.
    left_here: usize,
}

/// What stands behind `l` in each `cosAttribute`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Qualifier {
    Default,
    Override,
    Merge,
}

/// `collectiveConflictBehavior` of each subentry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    Real,
    Virtual,
    Merge,
}

/// How references are kept, and what definitions do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    pub qualifier: Qualifier,
    pub conflict: Conflict,
    /// What roles and subentries go by has indexes.
    pub indexed: bool,
    /// In the change itself, within its backend.
    pub at_once: bool,
    /// New references must name an entry, within their backend.
    pub checked: bool,
}

#[derive(Clone, Debug)]
pub struct Model {
    pub entries: BTreeMap<String, Entry>,
    pub queues: [Queue; 2],
    pub manner: Manner,
}

/// The backend that holds a name.
pub fn backend_of(dn: &str) -> usize {
    usize::from(!is_at_or_below(dn, SUFFIXES[0]))
}

pub fn parent_of(dn: &str) -> &str {
    dn.split_once(',').map_or("", |(_, parent)| parent)
}

pub fn is_at_or_below(dn: &str, base: &str) -> bool {
    dn == base || dn.strip_suffix(base).is_some_and(|rest| rest.ends_with(','))
}

/// Attribute and value of the first RDN.
pub fn naming(dn: &str) -> (&'static str, String) {
    let (attribute, value) = dn.split(',').next().and_then(|rdn| rdn.split_once('=')).unwrap();
    let known = ["ou", "uid", "cn", "dc", "o"].into_iter().find(|it| *it == attribute).unwrap();
    (known, value.to_owned())
}

fn with_naming(dn: &str, values: &mut Attributes) {
    let (attribute, value) = naming(dn);
    values.entry(attribute).or_default().insert(value);
}

impl Model {
    pub fn new(manner: Manner) -> Model {
        let mut entries = BTreeMap::new();
        for suffix in SUFFIXES {
            let mut values = Attributes::new();
            with_naming(suffix, &mut values);
            entries.insert(suffix.to_owned(), Entry { kind: Kind::Suffix, values });
        }
        Model { entries, queues: Default::default(), manner }
    }

    /// Does an update and gives the result code that is right; nothing is changed unless it is 0.
    pub fn apply(&mut self, op: &Op) -> i32 {
        let dn = op.dn();
        match op {
            Op::Add { entry, .. } => {
                if self.entries.contains_key(dn) {
                    return 68;
                }
                let code = self.judge(dn, entry, None);
                if code == 0 {
                    let mut entry = entry.clone();
                    with_naming(dn, &mut entry.values);
                    self.entries.insert(dn.to_owned(), entry);
                }
                code
            }
            Op::Delete { subtree, .. } => {
                let mut gone: Vec<String> = self.entries.keys().filter(|it| is_at_or_below(it, dn)).cloned().collect();
                if gone.len() > 1 && !subtree {
                    return 66;
                }
                // What is below goes first.
                gone.sort_by_key(|it| std::cmp::Reverse(it.split(',').count()));
                for name in &gone {
                    self.entries.remove(name);
                }
                self.follow(backend_of(dn), gone.into_iter().map(|old| Job { old, new: None, is_subtree: false }));
                0
            }
            Op::Rename { rdn, superior, .. } => self.rename(dn, rdn, superior),
            Op::Put { attribute, value, .. } => {
                let Some(mut entry) = self.entries.get(dn).cloned() else { return 32 };
                if !entry.values.entry(attribute).or_default().insert(value.clone()) {
                    return 20;
                }
                self.put(dn, entry, attribute, value)
            }
            Op::Take { attribute, value, .. } => {
                let Some(entry) = self.entries.get_mut(dn) else { return 32 };
                let Some(values) = entry.values.get_mut(attribute) else { return 16 };
                let code = if values.remove(value) { 0 } else { 16 };
                entry.values.retain(|_, values| !values.is_empty());
                code
            }
            Op::Replace { attribute, value, .. } => {
                let Some(mut entry) = self.entries.get(dn).cloned() else { return 32 };
                entry.values.insert(attribute, [value.clone()].into());
                self.put(dn, entry, attribute, value)
            }
        }
    }

    fn put(&mut self, dn: &str, entry: Entry, attribute: &'static str, value: &str) -> i32 {
        let code = self.judge(dn, &entry, Some((attribute, value)));
        if code == 0 {
            self.entries.insert(dn.to_owned(), entry);
        }
        code
    }

    /// Judges what an entry becomes; only one value of a known entry is new.
    fn judge(&self, dn: &str, entry: &Entry, new: Option<(&'static str, &str)>) -> i32 {
        let all =
            || entry.values.iter().flat_map(|(attribute, values)| values.iter().map(|it| (*attribute, it.as_str())));
        let judged: Vec<(&str, &str)> = match new {
            Some(one) => vec![one],
            None => all().collect(),
        };
        for (attribute, value) in judged {
            let others =
                || self.entries.iter().filter(|(other, _)| *other != dn && backend_of(other) == backend_of(dn));
            let is_taken =
                || others().any(|(_, other)| other.values.get(attribute).is_some_and(|it| it.contains(value)));
            let leads_nowhere = || {
                let name = name_of(value);
                backend_of(name) == backend_of(dn) && !self.entries.contains_key(name)
            };
            let is_wrong = match attribute {
                "mail" => is_taken(),
                "description" => !COLOURS.contains(&value),
                _ if FOLLOWED.contains(&attribute) => self.manner.checked && leads_nowhere(),
                _ => false,
            };
            if is_wrong {
                return 19;
            }
        }
        0
    }

    fn rename(&mut self, dn: &str, rdn: &str, superior: &str) -> i32 {
        let target = format!("{rdn},{superior}");
        if is_at_or_below(superior, dn) {
            return 53;
        }
        if target != dn && self.entries.contains_key(&target) {
            return 68;
        }
        let moved: Vec<String> = self.entries.keys().filter(|it| is_at_or_below(it, dn)).cloned().collect();
        for old in &moved {
            let Some(mut entry) = self.entries.remove(old) else { continue };
            let new = format!("{}{target}", &old[..old.len() - dn.len()]);
            if old == dn {
                let (attribute, _) = naming(dn);
                entry.values.remove(attribute);
                with_naming(&new, &mut entry.values);
            }
            self.entries.insert(new, entry);
        }
        if target != dn {
            let job = Job { old: dn.to_owned(), new: Some(target), is_subtree: moved.len() > 1 };
            self.follow(backend_of(dn), [job]);
        }
        0
    }

    fn follow(&mut self, at: usize, jobs: impl IntoIterator<Item = Job>) {
        let jobs: Vec<Job> = jobs.into_iter().collect();
        let is_done_here = self.manner.at_once && self.queues[at].left_here == 0;
        if is_done_here {
            jobs.iter().for_each(|job| self.clean(at, job));
        }
        let queue = &mut self.queues[at];
        queue.jobs.extend(jobs);
        if !is_done_here {
            queue.left_here = queue.jobs.len();
        }
    }

    /// Follows one name in one backend.
    fn clean(&mut self, backend: usize, job: &Job) {
        for (_, entry) in self.entries.iter_mut().filter(|(dn, _)| backend_of(dn) == backend) {
            for attribute in FOLLOWED {
                let Some(values) = entry.values.remove(attribute) else { continue };
                let followed: Values = values.into_iter().filter_map(|value| followed(value, job)).collect();
                if !followed.is_empty() {
                    entry.values.insert(attribute, followed);
                }
            }
        }
    }

    /// Puts these names first, in that order: of a tree that was deleted, names wait in an order that nobody promises.
    pub fn bring_forward(&mut self, at: usize, names: &[String]) {
        let jobs = &mut self.queues[at].jobs;
        for (place, name) in names.iter().enumerate() {
            let found = jobs.iter().skip(place).position(|job| job.old == *name);
            let found = place + found.unwrap_or_else(|| panic!("{name} does not wait: {jobs:?}"));
            let is_of_a_tree = jobs.iter().skip(place).take(found - place).all(|job| job.new.is_none());
            assert!(is_of_a_tree, "{name} comes before its turn: {jobs:?}");
            let job = jobs.remove(found).unwrap();
            jobs.insert(place, job);
        }
    }

    /// Follows the first names that wait, in the other backends; if wanted in their own too, and takes them out.
    pub fn work(&mut self, at: usize, count: usize, is_finished: bool) {
        let jobs: Vec<Job> = self.queues[at].jobs.iter().take(count).cloned().collect();
        jobs.iter().for_each(|job| self.clean(1 - at, job));
        if is_finished {
            jobs.iter().for_each(|job| self.clean(at, job));
            let queue = &mut self.queues[at];
            queue.jobs.drain(..jobs.len());
            queue.left_here = queue.left_here.saturating_sub(jobs.len());
        }
    }

    pub fn drain(&mut self) {
        (0..2).for_each(|at| self.work(at, usize::MAX, true));
    }

    /// By group, the entries in it: the least sets that satisfy what membership is.
    pub fn members(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let none = Values::new();
        loop {
            let mut next = all.clone();
            for (dn, entry) in &self.entries {
                let of = |attribute: &str| entry.values.get(attribute).unwrap_or(&none);
                let own: BTreeSet<String> = match entry.kind {
                    Kind::Names | Kind::Unique => {
                        let attribute = if entry.kind == Kind::Names { "member" } else { "uniquemember" };
                        let listed = of(attribute).iter().filter(|value| self.entries.contains_key(*value));
                        let nested = |value: &String| all.get(value).cloned().unwrap_or_default();
                        listed.flat_map(|value| nested(value).into_iter().chain([value.clone()])).collect()
                    }
                    Kind::Dynamic => {
                        let bases: Vec<&str> = of("base").iter().map(String::as_str).collect();
                        let is_red =
                            |entry: &Entry| entry.values.get("description").is_some_and(|it| it.contains("red"));
                        let red = self.entries.iter().filter(|(_, entry)| is_red(entry)).map(|(dn, _)| dn);
                        red.filter(|dn| bases.iter().any(|base| is_at_or_below(dn, base))).cloned().collect()
                    }
                    Kind::Virtual => {
                        of("ds-target-group-dn").iter().filter_map(|it| all.get(it)).flatten().cloned().collect()
                    }
                    _ => continue,
                };
                next.insert(dn.clone(), own);
            }
            if next == all {
                return all;
            }
            all = next;
        }
    }

    /// The definitions of `l` whose trees an entry is in.
    pub fn definitions(&self, dn: &str) -> impl Iterator<Item = &Entry> {
        let gives = |kind: Kind| matches!(kind, Kind::Pointer | Kind::Classic | Kind::Indirect);
        let all = self.entries.iter().filter(move |(_, entry)| gives(entry.kind));
        all.filter(move |(definition, _)| is_at_or_below(dn, parent_of(definition))).map(|(_, entry)| entry)
    }

    /// The values of `l` that an entry shows (Sun's Class of Service).
    pub fn places(&self, dn: &str) -> Values {
        let entry = &self.entries[dn];
        let real = entry.values.get("l").cloned().unwrap_or_default();
        let is_kept = !real.is_empty() && self.manner.qualifier != Qualifier::Override;
        if is_kept || !entry.kind.may_have_place() {
            return real;
        }
        let mut found: Vec<(u32, &Values)> = Vec::new();
        let mut take = |name: &str, must_be_template: bool| {
            let it = self.entries.get(name).filter(|it| it.kind == Kind::Template || !must_be_template);
            let Some(values) = it.and_then(|it| it.values.get("l")) else { return };
            // An indirect definition knows no priorities.
            let priority = it.and_then(|it| it.values.get("cospriority")).filter(|_| must_be_template);
            let priority = priority.and_then(|it| it.first()).map_or(u32::MAX, |it| it.parse().unwrap());
            found.push((priority, values));
        };
        let first = |entry: &Entry, name: &str| entry.values.get(name).and_then(|it| it.first()).cloned();
        for definition in self.definitions(dn) {
            let template = first(definition, "costemplatedn").unwrap_or_default();
            match definition.kind {
                Kind::Pointer => take(&template, true),
                Kind::Classic => {
                    if let Some(value) = first(entry, "employeetype") {
                        take(&format!("cn={value},{template}"), true);
                    }
                }
                _ => {
                    if let Some(manager) = first(entry, "manager") {
                        take(&manager, false);
                    }
                }
            }
        }
        match (self.manner.qualifier, found.iter().min()) {
            (_, None) => real,
            (Qualifier::Merge, _) => found.iter().flat_map(|(_, values)| values.iter().cloned()).collect(),
            (_, Some((_, values))) => (*values).clone(),
        }
    }

    /// Entries that lead to a name by their values, and those of the entries that these name.
    pub fn chain(&self, attribute: &str, to: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        loop {
            let leads = |value: &String| value == to || found.contains(value);
            let next: BTreeSet<String> = self.having(attribute, leads);
            if next == found {
                return found;
            }
            found = next;
        }
    }

    /// Entries with such a value.
    pub fn having(&self, attribute: &str, test: impl Fn(&String) -> bool) -> BTreeSet<String> {
        let has = |entry: &Entry| entry.values.get(attribute).is_some_and(|values| values.iter().any(&test));
        self.entries.iter().filter(|(_, entry)| has(entry)).map(|(dn, _)| dn.clone()).collect()
    }
}

/// The name in a value that may have a unique identifier behind it.
fn name_of(value: &str) -> &str {
    value.split_once('#').map_or(value, |(name, _)| name)
}

/// A value when a name has been followed; none when it goes.
fn followed(value: String, job: &Job) -> Option<String> {
    let (name, identifier) = value.split_at(name_of(&value).len());
    let is_meant = name == job.old || job.is_subtree && is_at_or_below(name, &job.old);
    if !is_meant {
        return Some(value);
    }
    let new = job.new.as_ref()?;
    Some(format!("{}{new}{identifier}", &name[..name.len() - job.old.len()]))
}
