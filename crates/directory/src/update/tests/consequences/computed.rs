//! Roles and collective attributes as they are defined: who has which role, and what subentries give to whom.
//!
//! Like all of the model it looks at every entry, and knows names as texts.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Conflict, Entry, Kind, Model, Values, backend_of, is_at_or_below, parent_of};

/// What an entry shows of collective attributes.
#[derive(Debug, Default)]
pub struct Given {
    /// `st`, with what is stored as the conflict rule says.
    pub st: Values,
    /// `c-st`
    pub collective: Values,
    /// `collectiveAttributeSubentries`
    pub subentries: Values,
}

impl Model {
    /// What searches find without asking for subentries.
    pub fn visible(&self) -> impl Iterator<Item = (&String, &Entry)> {
        self.entries.iter().filter(|(_, entry)| !entry.kind.is_hidden())
    }

    /// By role, who has it: the least sets that satisfy what roles are (Sun, 389).
    pub fn roles(&self) -> BTreeMap<String, BTreeSet<String>> {
        let roles = self.entries.iter().filter(|(_, entry)| entry.kind.is_role());
        let mut all: BTreeMap<String, BTreeSet<String>> =
            roles.map(|(role, _)| (role.clone(), BTreeSet::new())).collect();
        loop {
            let mut next = all.clone();
            for (role, own) in &mut next {
                let definition = &self.entries[role];
                let has = |dn: &String, entry: &Entry| match definition.kind {
                    Kind::Managed => entry.has("nsroledn", role),
                    Kind::Filtered => definition.values("rolefilter").any(|filter| is_met(entry, filter)),
                    _ => definition.values("nsroledn").filter_map(|it| all.get(it)).any(|who| who.contains(dn)),
                };
                let is_in_scope = |dn: &str| {
                    let mut more = definition.values("nsrolescopedn").filter(|_| definition.kind == Kind::Nested);
                    is_at_or_below(dn, parent_of(role)) || more.any(|scope| is_at_or_below(dn, scope))
                };
                let here = self.visible().filter(|(dn, _)| backend_of(dn) == backend_of(role) && is_in_scope(dn));
                own.extend(here.filter(|(dn, entry)| has(dn, entry)).map(|(dn, _)| dn.clone()));
            }
            if next == all {
                return all;
            }
            all = next;
        }
    }

    /// The values of `nsAccountLock` that an entry shows: its own, or those of its roles where a definition gives them.
    pub fn locks(&self, dn: &str, roles: &BTreeMap<String, BTreeSet<String>>) -> Values {
        let own: Values = self.entries[dn].values("nsaccountlock").cloned().collect();
        let gives = |name: &String, it: &Entry| it.kind == Kind::Lock && is_at_or_below(dn, parent_of(name));
        if !own.is_empty() || !self.entries.iter().any(|(name, it)| gives(name, it)) {
            return own;
        }
        let of = roles.iter().filter(|(_, who)| who.contains(dn)).map(|(role, _)| &self.entries[role]);
        of.flat_map(|role| role.values("nsaccountlock").cloned()).collect()
    }

    /// What the subentries give an entry (RFC 3671).
    pub fn given(&self, dn: &str) -> Given {
        let entry = &self.entries[dn];
        let stored: Values = entry.values("st").cloned().collect();
        let is_excluded = |attribute: &str| {
            entry.has("collectiveexclusions", "excludeallcollectiveattributes")
                || entry.has("collectiveexclusions", attribute)
        };
        let mut given = Given::default();
        for (subentry, definition) in self.entries.iter().filter(|(_, it)| it.kind.is_collective()) {
            let point = parent_of(subentry);
            if !is_in_subtree(dn, entry, point, definition) {
                continue;
            }
            if !is_excluded("collectiveattributesubentries") {
                given.subentries.insert(subentry.clone());
            }
            let named: Vec<String> = match definition.kind {
                Kind::Collective => {
                    given.st.extend(definition.values("st;collective").cloned());
                    given.collective.extend(definition.values("c-st").cloned());
                    continue;
                }
                Kind::FromDn if definition.has("inheritfromdnparent", "1") => {
                    entry.values("manager").map(|it| parent_of(it).to_owned()).collect()
                }
                Kind::FromDn => entry.values("manager").cloned().collect(),
                _ => {
                    let bases = || definition.values("inheritfrombaserdn");
                    let called = |value: &String| bases().map(|base| format!("uid={value},{base},{point}")).collect();
                    entry.values("employeetype").flat_map(|value| -> Vec<String> { called(value) }).collect()
                }
            };
            let usable = named.iter().filter(|it| is_at_or_below(it, point)).filter_map(|it| self.entries.get(it));
            given.st.extend(usable.flat_map(|it| it.values("st").cloned()));
        }
        if is_excluded("c-st") {
            given.collective.clear();
        }
        if is_excluded("st") {
            given.st.clear();
        }
        match self.manner.conflict {
            Conflict::Virtual if !given.st.is_empty() => {}
            Conflict::Merge => given.st.extend(stored),
            _ if !stored.is_empty() => given.st = stored,
            _ => {}
        }
        given
    }
}

/// Whether an entry has what `attribute=value` says.
fn is_met(entry: &Entry, filter: &str) -> bool {
    let (attribute, value) = filter.split_once('=').unwrap();
    entry.has(attribute, value)
}

/// Whether an entry is in the subtree of a subentry (RFC 3672). The model writes specifications as `base|branch cut
/// off|filter`.
fn is_in_subtree(dn: &str, entry: &Entry, point: &str, definition: &Entry) -> bool {
    let below = |name: &str, top: &str| if name.is_empty() { top.to_owned() } else { format!("{name},{top}") };
    definition.values("subtreespecification").all(|specification| {
        let parts: Vec<&str> = specification.split('|').collect();
        let base = below(parts[0], point);
        let is_cut_off = !parts[1].is_empty() && is_at_or_below(dn, &below(parts[1], &base));
        is_at_or_below(dn, &base) && !is_cut_off && (parts[2].is_empty() || is_met(entry, parts[2]))
    })
}
