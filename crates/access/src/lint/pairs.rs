//! What is said of an instruction beside others: it says the same, or a deny leaves nothing of it.

use std::collections::HashMap;

use aci::{Aci, BindRule, Condition, ConditionTest, Effect, Permission, Right, TargetScope, Targets, UserDn};
use query::facts::Facts;
use schema::NormalizedDn;

use super::attributes::Attributes;
use super::finding::{Finding, Issue};
use super::instruction::Read;

/// Instructions by the entry that holds them.
pub(super) struct Held<'r> {
    facts: &'r Facts,
    all: Vec<(&'r Read<'r>, &'r Aci)>,
    /// Positions in `all` of those that deny something.
    denying: HashMap<NormalizedDn, Vec<usize>>,
    /// The first with each text, without names.
    said: HashMap<(NormalizedDn, String), usize>,
}

impl<'r> Held<'r> {
    pub(super) fn new(facts: &'r Facts, read: &'r [Read<'r>]) -> Self {
        let all: Vec<_> = read.iter().filter_map(|it| Some((it, it.parsed.as_ref().ok()?))).collect();
        let mut held = Held { facts, all, denying: HashMap::new(), said: HashMap::new() };
        for (position, (it, aci)) in held.all.iter().enumerate() {
            if aci.permissions.iter().any(|permission| permission.effect == Effect::Deny) {
                held.denying.entry(it.holder()).or_default().push(position);
            }
            held.said.entry((it.holder(), nameless(aci))).or_insert(position);
        }
        held
    }

    /// Looks at each beside those at its holder and above.
    pub(super) fn look(&self, out: &mut Vec<Finding>) {
        for (position, (read, aci)) in self.all.iter().enumerate() {
            if let Some(other) = self.same(position, read, aci) {
                out.push(Finding { instruction: read.at, span: None, issue: Issue::Duplicate(other.to_owned()) });
                continue;
            }
            for permission in aci.permissions.iter().filter(|permission| permission.effect == Effect::Allow) {
                if let Some(other) = self.denial(position, read, aci, permission) {
                    let span = Some(permission.span.range());
                    out.push(Finding { instruction: read.at, span, issue: Issue::Shadowed(other.to_owned()) });
                } else if let Some(issue) = self.half(position, read, aci, permission) {
                    out.push(Finding { instruction: read.at, span: Some(permission.span.range()), issue });
                }
            }
            for permission in aci.permissions.iter().filter(|permission| permission.effect == Effect::Deny) {
                if self.leaves_search(position, read, aci, permission) {
                    let span = Some(permission.span.range());
                    out.push(Finding { instruction: read.at, span, issue: Issue::DenyLeavesSearch });
                }
            }
        }
    }

    /// What is missing where only one of the rights `read` and `search` is granted: a search takes both.
    fn half(&self, position: usize, read: &Read<'_>, aci: &Aci, allowed: &Permission) -> Option<Issue> {
        let (missing, issue) = match (allowed.rights.contains(Right::Read), allowed.rights.contains(Right::Search)) {
            (true, false) => (Right::Search, Issue::ReadWithoutSearch),
            (false, true) => (Right::Read, Issue::SearchWithoutRead),
            _ => return None,
        };
        let grants =
            |permission: &Permission| permission.effect == Effect::Allow && permission.rights.contains(missing);
        let mut all = self.all.iter().enumerate();
        let is_granted = all.any(|(at, (other, it))| {
            let is_here = at == position || is_near(read, other);
            is_here && of_attributes(&it.targets) && it.permissions.iter().any(grants)
        });
        (of_attributes(&aci.targets) && !is_granted).then_some(issue)
    }

    /// Whether a deny hides values that may still be searched for.
    fn leaves_search(&self, position: usize, read: &Read<'_>, aci: &Aci, denied: &Permission) -> bool {
        if !denied.rights.contains(Right::Read) || denied.rights.contains(Right::Search) || !of_attributes(&aci.targets)
        {
            return false;
        }
        let Some(hidden) = Attributes::of(self.facts, &aci.targets) else { return false };
        let grants = |it: &Permission| it.effect == Effect::Allow && it.rights.contains(Right::Search);
        let is_granted = self.all.iter().any(|(other, it)| {
            is_near(read, other)
                && of_attributes(&it.targets)
                && it.permissions.iter().any(grants)
                && Attributes::of(self.facts, &it.targets).is_some_and(|granted| granted.overlap(&hidden))
        });
        let search = Permission { rights: [Right::Search].into_iter().collect(), ..denied.clone() };
        is_granted
            && !aci.permissions.iter().any(|own| denies_all(own, &search))
            && self.denial(position, read, aci, &search).is_none()
    }

    /// Where another one stands that says the same for all of the holder's subtree.
    fn same(&self, position: usize, read: &Read<'_>, aci: &Aci) -> Option<&str> {
        let text = nameless(aci);
        let reaches_down = aci.targets.target.is_none() && reaches_all_below(&aci.targets);
        let mut key = (read.holder(), text);
        loop {
            if let Some(other) = self.said.get(&key).filter(|other| **other != position) {
                return self.all.get(*other).map(|(read, _)| read.held.place.as_str());
            }
            if !reaches_down {
                return None;
            }
            key.0 = key.0.parent()?;
        }
    }

    /// Where an instruction stands that denies all that the permission allows, whoever asks.
    fn denial(&self, position: usize, read: &Read<'_>, aci: &Aci, allowed: &Permission) -> Option<&str> {
        let mut holder = read.holder();
        loop {
            for other in self.denying.get(&holder).into_iter().flatten().filter(|other| **other != position) {
                let Some((denying, denial)) = self.all.get(*other) else { continue };
                if self.covers(&denial.targets, &aci.targets)
                    && denial.permissions.iter().any(|denied| denies_all(denied, allowed))
                {
                    return Some(&denying.held.place);
                }
            }
            holder = holder.parent()?;
        }
    }

    /// Whether what stands at the same entry or above is about all that `other` is about.
    fn covers(&self, targets: &Targets, other: &Targets) -> bool {
        let is_of_entries =
            |it: &Targets| it.controls.is_none() && it.extended_operations.is_none() && it.value_filters.is_none();
        let same_place = match (&targets.target, &other.target) {
            (None, _) => true,
            (one, two) => one == two,
        };
        let same_filter = targets.filter.is_none() || targets.filter == other.filter;
        let attributes = match (Attributes::of(self.facts, targets), Attributes::of(self.facts, other)) {
            (None, None) => true,
            (Some(one), Some(two)) => one.cover(&two),
            _ => false,
        };
        is_of_entries(targets)
            && is_of_entries(other)
            && same_place
            && same_filter
            && attributes
            && reaches_all_below(targets)
    }
}

fn of_attributes(targets: &Targets) -> bool {
    targets.attributes.is_some() && targets.controls.is_none() && targets.extended_operations.is_none()
}

/// Whether one is held at, above or below the entry that holds the other.
fn is_near(one: &Read<'_>, other: &Read<'_>) -> bool {
    let (one, other) = (one.holder(), other.holder());
    one.is_ancestor_or_equal(&other) || other.is_ancestor_or_equal(&one)
}

fn denies_all(denied: &Permission, allowed: &Permission) -> bool {
    denied.effect == Effect::Deny
        && denied.rights.intersection(allowed.rights) == allowed.rights
        && (is_for_anyone(&denied.rule) || denied.rule == allowed.rule)
}

fn is_for_anyone(rule: &BindRule) -> bool {
    matches!(rule, BindRule::Test(Condition { negated: false, test: ConditionTest::UserDn(users), .. })
        if users.contains(&UserDn::Anyone))
}

fn reaches_all_below(targets: &Targets) -> bool {
    targets.scope.as_ref().is_none_or(|scope| scope.value == TargetScope::Subtree)
}

/// The text without the name, which says nothing of what it does.
fn nameless(aci: &Aci) -> String {
    Aci { name: String::new(), ..aci.clone() }.to_string()
}
