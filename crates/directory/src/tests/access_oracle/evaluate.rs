//! What instructions decide, as the reference says it, with nothing remembered and nothing skipped.

use std::collections::{BTreeMap, BTreeSet};

use super::filter::{all, any};
use super::instruction::{
    AttributeTarget, Condition, Effect, Holds, Instruction, NamePattern, PartPattern, Right, Rule, Scope, Sign, User,
};
use super::model::{Asker, Attributes, Name, Tree, Url};
use super::roles::ROLES;

/// Operational attributes that every entry has.
pub const MADE_BY_SERVER: [&str; 3] = ["entryuuid", "createtimestamp", "subschemasubentry"];
const OPERATIONAL: [&str; 6] =
    ["entryuuid", "createtimestamp", "subschemasubentry", "aci", "modifytimestamp", "nsroledn"];
/// Attributes whose values are names.
pub const NAMES: [&str; 3] = ["manager", "seealso", "member"];

/// Everything that decisions depend on but the asker.
#[derive(Clone, Debug)]
pub struct World {
    pub tree: Tree,
    /// What dynamic groups look for.
    pub urls: BTreeMap<Name, Url>,
    pub instructions: Vec<Instruction>,
}

impl World {
    /// The same with these instructions; their holders have the attribute `aci`.
    pub fn with(&self, instructions: Vec<Instruction>) -> World {
        let mut world = World { instructions, ..self.clone() };
        for (name, attributes) in &mut world.tree.entries {
            let is_holder = world.instructions.iter().any(|it| it.holder.as_ref() == Some(name));
            match is_holder {
                true => attributes.insert("aci".to_owned(), Vec::new()),
                false => attributes.remove("aci"),
            };
        }
        world
    }
}

/// What is asked of one asker.
pub struct Decider<'w> {
    pub world: &'w World,
    pub asker: &'w Asker,
    groups: BTreeSet<Name>,
}

/// An entry that is there, or is to be added.
#[derive(Clone, Copy)]
pub struct Target<'e> {
    pub name: &'e Name,
    pub attributes: &'e Attributes,
    pub is_new: bool,
}

/// A value of an attribute that comes or goes.
#[derive(Clone, Copy)]
pub struct Written<'v> {
    pub kind: &'v str,
    pub value: &'v str,
    pub comes: bool,
}

impl<'w> Decider<'w> {
    pub fn new(world: &'w World, asker: &'w Asker) -> Decider<'w> {
        let groups = asker.name.as_ref().map(|name| world.tree.groups_of(name, &world.urls)).unwrap_or_default();
        Decider { world, asker, groups }
    }

    /// Whether any attribute may be read, and nothing hides the entry as a whole.
    pub fn shows(&self, entry: Target<'_>) -> bool {
        let is_hidden = self.truths(entry, Right::Read, Effect::Deny, &|it| it.attributes.is_none());
        is_hidden.into_iter().all(|truth| truth == Some(false))
            && entry.attributes.keys().any(|kind| self.may_attribute(entry, Right::Read, kind))
    }

    /// Read, search or compare.
    pub fn may_attribute(&self, entry: Target<'_>, right: Right, kind: &str) -> bool {
        self.decide(entry, right, &|it| covers(it, kind))
    }

    /// Add, delete, import or export.
    pub fn may_entry(&self, entry: Target<'_>, right: Right) -> bool {
        self.decide(entry, right, &|it| {
            !matches!(right, Right::Add | Right::Delete) || values_match(it, entry.attributes, right == Right::Add)
        })
    }

    /// Writing one value; one's own name may be written by `selfwrite` too.
    pub fn may_write(&self, entry: Target<'_>, written: Written<'_>) -> bool {
        let covers_value = |it: &Instruction| {
            let filter = it.value_filters.iter().find(|it| it.adds == written.comes && it.kind == written.kind);
            match filter {
                Some(filter) => {
                    let value = BTreeMap::from([(written.kind.to_owned(), vec![written.value.to_owned()])]);
                    filter.filter.is_true(&value)
                }
                None => covers(it, written.kind),
            }
        };
        let own = self.asker.name.as_ref().map(ToString::to_string);
        let is_own_name = NAMES.contains(&written.kind) && own.as_deref() == Some(written.value);
        self.decide(entry, Right::Write, &covers_value)
            || is_own_name && self.decide(entry, Right::SelfWrite, &covers_value)
    }

    /// Refused if a deny is true or undefined; else granted if an allow is true.
    fn decide(&self, entry: Target<'_>, right: Right, covers: &dyn Fn(&Instruction) -> bool) -> bool {
        let denies = self.truths(entry, right, Effect::Deny, covers);
        let allows = self.truths(entry, right, Effect::Allow, covers);
        denies.into_iter().all(|truth| truth == Some(false)) && allows.contains(&Some(true))
    }

    /// The truth of each rule that speaks of the right, with this effect, for this entry.
    fn truths(
        &self,
        entry: Target<'_>,
        right: Right,
        effect: Effect,
        covers: &dyn Fn(&Instruction) -> bool,
    ) -> Vec<Option<bool>> {
        let mut found = Vec::new();
        for it in self.world.instructions.iter().filter(|it| is_about(it, entry) && covers(it)) {
            for (_, _, rule) in it.pairs.iter().filter(|pair| pair.0 == effect && names(&pair.1, right)) {
                found.push(self.rule(rule, entry));
            }
        }
        found
    }

    fn rule(&self, rule: &Rule, entry: Target<'_>) -> Option<bool> {
        match rule {
            Rule::And(left, right) => all([self.rule(left, entry), self.rule(right, entry)].into_iter()),
            Rule::Or(left, right) => any([self.rule(left, entry), self.rule(right, entry)].into_iter()),
            Rule::Not(rule) => self.rule(rule, entry).map(|truth| !truth),
            Rule::Test(sign, condition) => self.condition(condition, entry).map(|it| it == (*sign == Sign::Is)),
        }
    }

    fn condition(&self, condition: &Condition, entry: Target<'_>) -> Option<bool> {
        Some(match condition {
            Condition::UserDn(users) => users.iter().any(|user| self.is_user(user, entry)),
            Condition::GroupDn(groups) => groups.iter().any(|group| self.groups.contains(group)),
            Condition::RoleDn(roles) => roles.iter().any(|role| self.has_role(&role.to_string())),
            Condition::UserAttr { levels, kind, holds } => return self.user_attr(levels, kind, holds, entry),
            Condition::Ip(network, bits) => match self.asker.address {
                std::net::IpAddr::V4(address) => {
                    let drop = |it: std::net::Ipv4Addr| u64::from(it.to_bits()) >> (32 - bits);
                    drop(address) == drop(*network)
                }
                std::net::IpAddr::V6(_) => false,
            },
            Condition::Dns(suffix) => return self.asker.host.map(|host| host.ends_with(&format!(".{suffix}"))),
            Condition::IsSimple => self.asker.is_simple,
            Condition::AnyMethod => true,
            Condition::Ssf(bits) => self.asker.ssf >= *bits,
            Condition::Time(always) | Condition::Day(always) => *always,
        })
    }

    fn is_user(&self, user: &User, entry: Target<'_>) -> bool {
        let Some(own) = &self.asker.name else { return matches!(user, User::Anyone) };
        match user {
            User::Anyone | User::All => true,
            User::OneSelf => own == entry.name,
            User::Parent => *own == entry.name.parent(),
            User::Name(NamePattern::Exact(name, _)) => own == name,
            User::Name(NamePattern::Parts(parts)) => matches(parts, &own.0),
            User::Url(url) => self.world.tree.entries.get(own).is_some_and(|it| url.finds(own, it)),
        }
    }

    fn user_attr(&self, levels: &[usize], kind: &str, holds: &Holds, entry: Target<'_>) -> Option<bool> {
        if matches!(holds, Holds::Value(_) | Holds::RoleDn) && !levels.is_empty() {
            // The level is read as a part of an attribute name.
            return Some(false);
        }
        // Of who has no name, no group or not the value, no entry that is there can say so.
        let may_be = self.asker.name.as_ref().is_some_and(|own| match holds {
            Holds::UserDn | Holds::RoleDn => true,
            Holds::GroupDn(_) => !self.groups.is_empty(),
            Holds::Value(value) => self.world.tree.values(own, kind).contains(value),
        });
        let level = |level: &usize| {
            if *level == 0 && entry.is_new {
                return None;
            }
            if !may_be {
                return Some(false);
            }
            let place = entry.name.and_ancestors().nth(*level);
            let values = match &place {
                Some(name) if name == entry.name => entry.attributes.get(kind).map_or(&[][..], Vec::as_slice),
                Some(name) => self.world.tree.values(name, kind),
                None => &[],
            };
            Some(self.holds(kind, values, holds))
        };
        any(if levels.is_empty() { &[0] } else { levels }.iter().map(level))
    }

    /// Of managed roles: the asker's entry names them.
    fn has_role(&self, role: &str) -> bool {
        let own = self.asker.name.as_ref().map(|own| self.world.tree.values(own, "nsroledn"));
        ROLES.contains(&role) && own.is_some_and(|roles| roles.iter().any(|it| it == role))
    }

    fn holds(&self, kind: &str, values: &[String], holds: &Holds) -> bool {
        let Some(own) = &self.asker.name else { return false };
        match holds {
            Holds::UserDn => values.contains(&own.to_string()),
            Holds::RoleDn => values.iter().any(|value| self.has_role(value)),
            Holds::GroupDn(base) => self.groups.iter().any(|group| {
                values.contains(&group.to_string()) && base.as_ref().is_none_or(|base| group.is_at_or_below(base))
            }),
            Holds::Value(value) => values.contains(value) && self.world.tree.values(own, kind).contains(value),
        }
    }
}

/// Whether the targets of the instruction cover the entry, attributes aside.
fn is_about(it: &Instruction, entry: Target<'_>) -> bool {
    let holder = it.holder.clone().unwrap_or_default();
    let is_target = match &it.target {
        None => true,
        Some((sign, NamePattern::Exact(name, _))) => entry.name.is_at_or_below(name) == (*sign == Sign::Is),
        Some((sign, NamePattern::Parts(parts))) => {
            entry.name.and_ancestors().any(|name| matches(parts, &name.0)) == (*sign == Sign::Is)
        }
    };
    let top = match &it.target {
        Some((Sign::Is, NamePattern::Exact(name, _))) => name,
        _ => &holder,
    };
    let is_in_scope = match it.scope.unwrap_or(Scope::Subtree) {
        Scope::Base => entry.name == top,
        Scope::OneLevel => entry.name.parent() == *top && !entry.name.0.is_empty(),
        Scope::Subtree => entry.name.is_at_or_below(top),
        Scope::Subordinate => entry.name.is_at_or_below(top) && entry.name != top,
    };
    let passes =
        it.filter.as_ref().is_none_or(|(sign, filter)| filter.is_true(entry.attributes) == (*sign == Sign::Is));
    entry.name.is_at_or_below(&holder) && is_target && is_in_scope && passes
}

fn names(rights: &[Right], right: Right) -> bool {
    rights.contains(&right) || rights.contains(&Right::All) && !matches!(right, Right::Import | Right::Export)
}

/// Whether `targetattr` covers a type; without it, none is.
fn covers(it: &Instruction, kind: &str) -> bool {
    let Some((sign, targets)) = &it.attributes else { return false };
    let is_operational = OPERATIONAL.contains(&kind);
    let is_listed = targets.iter().any(|target| match target {
        AttributeTarget::User => !is_operational,
        AttributeTarget::Operational => is_operational,
        AttributeTarget::Named(named, _) => *named == kind,
    });
    if *sign == Sign::Is {
        return is_listed;
    }
    // A list of user attributes is about user attributes only, and one of operational ones about these.
    let speaks_of_kind = targets.iter().any(|target| match target {
        AttributeTarget::User => !is_operational,
        AttributeTarget::Operational => is_operational,
        AttributeTarget::Named(named, _) => OPERATIONAL.contains(named) == is_operational,
    });
    speaks_of_kind && !is_listed
}

/// Of adding and deleting entries: every value of an attribute that a filter is about matches it.
fn values_match(it: &Instruction, attributes: &Attributes, adds: bool) -> bool {
    it.value_filters.iter().filter(|it| it.adds == adds).all(|it| {
        attributes.get(it.kind).is_none_or(|values| {
            let one = |value: &String| BTreeMap::from([(it.kind.to_owned(), vec![value.clone()])]);
            values.iter().all(|value| it.filter.is_true(&one(value)))
        })
    })
}

fn matches(parts: &[PartPattern], name: &[(String, String)]) -> bool {
    match parts.split_first() {
        None => name.is_empty(),
        Some((PartPattern::AnyParts, rest)) => (1..=name.len()).any(|at| matches(rest, &name[at..])),
        Some((first, rest)) => name.split_first().is_some_and(|((kind, value), below)| {
            let is_part = match first {
                PartPattern::Part(wanted, pattern) => wanted.is_none_or(|it| it == kind) && is_like(pattern, value),
                PartPattern::AnyPart | PartPattern::AnyParts => true,
            };
            is_part && matches(rest, below)
        }),
    }
}

/// Whether a value matches a text with asterisks.
fn is_like(pattern: &str, value: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == value,
        Some((start, rest)) => value.strip_prefix(start).is_some_and(|value| {
            value.char_indices().map(|(at, _)| at).chain([value.len()]).any(|at| is_like(rest, &value[at..]))
        }),
    }
}
