//! All roles of one backend together, as one source of values.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use config::ConflictBehavior;
use schema::{NormalizedDn, TypeIndex};
use store::StoreError;
use store::record::put_value;

use super::role::{Kind, NS_ROLE, Role};
use crate::circle;
use crate::computed::alternatives::{Alternatives, Narrowing};
use crate::computed::definition::{ComputedAssertion, Definition, Priority, Shows, ValueSource};
use crate::computed::reach::Reach;
use crate::entry::EntryView;
use crate::entry::each_stored;
use crate::facts::Facts;
use crate::filter::{FilterScratch, Test};

/// Roles within roles that are followed, in one backend. A nested role beyond it is reported and nobody has it.
const LINKS_MAX: usize = 100_000;

/// Filters that an entry may be tried with on an event loop; with more, searches that ask for roles go to the pool.
const FILTERED_FEW: usize = 16;

/// Circles of roles that are reported, each by its names.
const CIRCLES_MAX: usize = 10;

/// All roles of one backend.
#[derive(Debug)]
pub struct RoleSet {
    roles: Vec<Role>,
    by_name: HashMap<Box<[u8]>, usize>,
    /// By role, the roles that a nested one lists.
    lists: Vec<Vec<usize>>,
    /// By role, the nested roles that list it.
    listed_by: Vec<Vec<usize>>,
    filtered: Vec<usize>,
    /// `nsRoleDN`
    role_dn: TypeIndex,
}

impl RoleSet {
    /// What the roles together define; none without roles, or where the schema has no `nsRole`. `told` hears what is
    /// wrong with them.
    pub fn definition(facts: &Facts, roles: Vec<Role>, told: &mut dyn FnMut(String)) -> Option<Definition> {
        if roles.is_empty() {
            return None;
        }
        let attribute = facts.schema.attribute_type(NS_ROLE)?.index;
        let set = RoleSet::new(facts.schema.attribute_type(b"nsRoleDN")?.index, roles, told);
        Some(Definition {
            attribute,
            reach: Reach::below(Vec::new()),
            conflict: ConflictBehavior::VirtualOverridesReal,
            is_by_name_only: false,
            merges: false,
            needs_schema: false,
            // Nobody may write it anywhere.
            refuses_writes: false,
            source: Arc::new(set),
        })
    }

    fn new(role_dn: TypeIndex, roles: Vec<Role>, told: &mut dyn FnMut(String)) -> RoleSet {
        let by_name: HashMap<Box<[u8]>, usize> =
            roles.iter().enumerate().map(|(at, role)| (role.name.as_bytes().into(), at)).collect();
        let mut lists: Vec<Vec<usize>> = vec![Vec::new(); roles.len()];
        let mut listed_by: Vec<Vec<usize>> = vec![Vec::new(); roles.len()];
        let mut links = 0;
        for (at, role) in roles.iter().enumerate() {
            let Kind::Nested(names) = &role.kind else { continue };
            let mut own: Vec<usize> = names.iter().filter_map(|name| by_name.get(name.as_bytes()).copied()).collect();
            own.sort_unstable();
            own.dedup();
            links += own.len();
            if links > LINKS_MAX {
                told(format!(
                    "Nested roles list more than {LINKS_MAX} roles in all: nobody has the role \"{}\" until they list \
                     fewer",
                    role.dn
                ));
                links -= own.len();
                continue;
            }
            for listed in &own {
                if let Some(above) = listed_by.get_mut(*listed) {
                    above.push(at);
                }
            }
            if let Some(place) = lists.get_mut(at) {
                *place = own;
            }
        }
        let filtered =
            (0..roles.len()).filter(|at| matches!(roles.get(*at).map(|it| &it.kind), Some(Kind::Filtered(_))));
        let set = RoleSet { filtered: filtered.collect(), roles, by_name, lists, listed_by, role_dn };
        set.report_circles(told);
        set
    }

    fn report_circles(&self, told: &mut dyn FnMut(String)) {
        let mut reported: HashSet<usize> = HashSet::new();
        for _ in 0..CIRCLES_MAX {
            let starts: Vec<usize> = (0..self.roles.len()).filter(|at| !reported.contains(at)).collect();
            let next = |at: usize| {
                let own = self.lists.get(at).map(Vec::as_slice).unwrap_or_default();
                own.iter().copied().filter(|listed| !reported.contains(listed)).collect::<Vec<_>>()
            };
            let Some(found) = circle::find(&starts, |at| Ok::<_, Infallible>(next(at))).unwrap_or_default() else {
                return;
            };
            let names = found.iter().filter_map(|at| self.roles.get(*at)).map(|role| &*role.dn);
            told(format!(
                "Roles contain each other in a circle: {}. Whoever has one of them has all of them; remove one from \
                 another's nsRoleDN to end it",
                circle::shown(names, " contains ")
            ));
            reported.extend(found);
        }
    }

    /// The roles of an entry, ascending.
    fn of(&self, at: &dyn Shows, entry: &EntryView<'_>) -> Result<Vec<usize>, StoreError> {
        let mut name = Vec::new();
        if !at.entries().put_form(&entry.record, &mut name)? {
            return Ok(Vec::new());
        }
        let mut found = Found { set: self, name: &name, seen: vec![false; self.roles.len()], roles: Vec::new() };
        let mut parsed = NormalizedDn::default();
        each_stored(entry, self.role_dn, &mut |value| {
            if parsed.parse_into(&at.entries().facts().schema, value).is_ok()
                && let Some(role) = self.by_name.get(parsed.as_bytes())
                && self.roles.get(*role).is_some_and(|role| matches!(role.kind, Kind::Managed))
            {
                found.add(*role);
            }
            ControlFlow::Continue(())
        })?;
        let mut scratch = FilterScratch::default();
        for role in &self.filtered {
            let Some((own, filter)) = self.roles.get(*role).and_then(|own| Some((own, own.filter()?))) else {
                continue;
            };
            if own.covers(&name) && at.entries().matches_stored(entry, filter, &mut scratch)? {
                found.add(*role);
            }
        }
        let mut next = 0;
        while let Some(role) = found.roles.get(next).copied() {
            self.listed_by.get(role).into_iter().flatten().for_each(|above| found.add(*above));
            next += 1;
        }
        let mut roles = found.roles;
        roles.sort_unstable();
        Ok(roles)
    }

    /// The managed and filtered roles that a role comes to.
    fn leaves(&self, role: usize) -> Vec<&Role> {
        let mut seen = HashSet::from([role]);
        let mut open = vec![role];
        let mut leaves = Vec::new();
        while let Some(at) = open.pop() {
            match self.roles.get(at) {
                Some(Role { kind: Kind::Nested(_), .. }) => {
                    let own = self.lists.get(at).into_iter().flatten();
                    open.extend(own.filter(|listed| seen.insert(**listed)));
                }
                Some(leaf) => leaves.push(leaf),
                None => {}
            }
        }
        leaves
    }
}

/// The roles of one entry so far.
struct Found<'s> {
    set: &'s RoleSet,
    name: &'s [u8],
    seen: Vec<bool>,
    roles: Vec<usize>,
}

impl Found<'_> {
    /// Adds a role unless it is there, or does not hold here.
    fn add(&mut self, at: usize) {
        let Some(seen) = self.seen.get_mut(at).filter(|seen| !**seen) else { return };
        *seen = true;
        if self.set.roles.get(at).is_some_and(|role| role.covers(self.name)) {
            self.roles.push(at);
        }
    }
}

impl ValueSource for RoleSet {
    fn is_costly(&self) -> bool {
        self.filtered.len() > FILTERED_FEW
    }

    fn supply(
        &self,
        at: &dyn Shows,
        _attribute: TypeIndex,
        entry: &EntryView<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Priority>, StoreError> {
        for role in self.of(at, entry)?.into_iter().filter_map(|role| self.roles.get(role)) {
            put_value(out, role.dn.as_bytes());
        }
        Ok(Some(Priority::LOWEST))
    }

    fn narrow(
        &self,
        _at: &dyn Shows,
        wanted: &ComputedAssertion<'_>,
        any: &mut Alternatives<'_>,
    ) -> Result<Narrowing, StoreError> {
        let leaves = match &wanted.item.test {
            Test::Equal(form) => match self.by_name.get(wanted.matcher.form(form)) {
                Some(role) => self.leaves(*role),
                None => return Ok(Narrowing::Nobody),
            },
            Test::Present => self.roles.iter().collect(),
            _ => return Ok(Narrowing::Everybody),
        };
        for leaf in leaves {
            if any.is_full() {
                return Ok(Narrowing::Everybody);
            }
            match &leaf.kind {
                Kind::Managed => any.equal_form(self.role_dn, leaf.name.as_bytes())?,
                Kind::Filtered(filter) => any.filter_below(filter, leaf.top())?,
                Kind::Nested(_) => {}
            }
        }
        Ok(Narrowing::Alternatives)
    }
}
