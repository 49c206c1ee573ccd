//! Random updates of groups: members, renames, deletes, circles. After each the groups of every entry, and what filters
//! on them find, are those of a computation that knows names as texts only.

use std::collections::{BTreeMap, BTreeSet};

use ldap::ModifyOperation;
use proptest::prelude::*;

use super::*;

const GROUPS: [(&str, &str); 6] = [
    ("g0", "groupOfNames"),
    ("g1", "groupOfUniqueNames"),
    ("g2", "groupOfEntries"),
    ("g3", "groupOfNames"),
    ("g4", "groupOfUniqueNames"),
    ("g5", "groupOfNames"),
];
const PEOPLE: [&str; 4] = ["p0", "p1", "p2", "p3"];

#[derive(Clone, Debug)]
enum Change {
    Add(usize, usize),
    Remove(usize, usize),
    /// The entry at that place gets another name; nobody updates who lists it.
    Rename(usize),
    Delete(usize),
    Colour(usize),
    Retarget(usize),
}

fn change() -> impl Strategy<Value = Change> {
    let entry = || 0..PEOPLE.len() + GROUPS.len();
    let of_group = || (0..GROUPS.len(), entry());
    prop_oneof![
        6 => of_group().prop_map(|(group, member)| Change::Add(group, member)),
        2 => of_group().prop_map(|(group, member)| Change::Remove(group, member)),
        1 => entry().prop_map(Change::Rename),
        1 => entry().prop_map(Change::Delete),
        2 => (0..PEOPLE.len()).prop_map(Change::Colour),
        1 => (0..GROUPS.len()).prop_map(Change::Retarget),
    ]
}

/// Everything as texts.
#[derive(Default)]
struct Model {
    /// By the number of an entry its name; none when it was deleted. People first.
    names: Vec<Option<String>>,
    lists: BTreeMap<usize, BTreeSet<String>>,
    red: BTreeSet<usize>,
    target: String,
    renames: usize,
}

impl Model {
    fn dn(&self, at: usize) -> Option<String> {
        let name = self.names[at].as_ref()?;
        Some(if at < PEOPLE.len() { person(name) } else { group(name) })
    }

    /// By group, the entries in it: the least sets that satisfy what membership is.
    fn members(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let living: BTreeSet<String> =
            (0..self.names.len()).filter_map(|at| self.dn(at)).chain(["red", "copy"].map(group)).collect();
        loop {
            let mut next = all.clone();
            for (at, list) in &self.lists {
                let Some(dn) = self.dn(*at) else { continue };
                let own = next.entry(dn).or_default();
                for listed in list.intersection(&living) {
                    own.insert(listed.clone());
                    own.extend(all.get(listed).cloned().unwrap_or_default());
                }
            }
            next.insert(group("red"), self.red.iter().filter_map(|at| self.dn(*at)).collect());
            next.insert(group("copy"), all.get(&self.target).cloned().unwrap_or_default());
            if next == all {
                return all;
            }
            all = next;
        }
    }
}

fn apply(it: &Fixture, model: &mut Model, change: &Change) {
    let attribute = |group: usize| if GROUPS[group].1 == "groupOfUniqueNames" { "uniqueMember" } else { "member" };
    let (operation, at, attribute, value) = match *change {
        Change::Add(group, member) | Change::Remove(group, member) => {
            let at = PEOPLE.len() + group;
            let (Some(_), Some(value)) = (model.dn(at), model.dn(member)) else { return };
            let list = model.lists.entry(at).or_default();
            match change {
                Change::Add(..) if list.insert(value.clone()) => (ModifyOperation::Add, at, attribute(group), value),
                Change::Remove(..) if list.remove(&value) => (ModifyOperation::Delete, at, attribute(group), value),
                _ => return,
            }
        }
        Change::Colour(at) => {
            if model.dn(at).is_none() {
                return;
            }
            let is_red = model.red.insert(at) || !model.red.remove(&at);
            (ModifyOperation::Replace, at, "description", if is_red { "red" } else { "blue" }.to_owned())
        }
        Change::Retarget(at) => {
            let Some(target) = model.dn(PEOPLE.len() + at) else { return };
            model.target = target.clone();
            return modify(it, &group("copy"), ModifyOperation::Replace, "ds-target-group-dn", &target);
        }
        Change::Rename(at) | Change::Delete(at) => {
            let Some(dn) = model.dn(at) else { return };
            let mut bytes = Vec::new();
            if matches!(change, Change::Delete(_)) {
                model.names[at] = None;
                client::delete(&mut bytes, 1, &dn, &[]);
            } else {
                model.renames += 1;
                let name = format!("n{}", model.renames % 3);
                let attribute = if at < PEOPLE.len() { "uid" } else { "cn" };
                if (0..model.names.len()).any(|it| model.names[it].as_deref() == Some(name.as_str())) {
                    return;
                }
                client::modify_dn(&mut bytes, 1, &dn, &format!("{attribute}={name}"), true, None, &[]);
                model.names[at] = Some(name);
            }
            return it.update(&Message::decode(&bytes).unwrap());
        }
    };
    let dn = model.dn(at).unwrap();
    modify(it, &dn, operation, attribute, &value);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn groups_are_those_of_a_computation_from_scratch(changes in proptest::collection::vec(change(), 1..40)) {
        let url = format!("memberURL: ldap:///ou=people,{BASE}??sub?(description=red)");
        let target = format!("ds-target-group-dn: {}", group("g0"));
        let mut groups: Vec<(&str, &str, &[&str])> = GROUPS.iter().map(|(name, class)| (*name, *class, &[][..]))
            .collect();
        let (urls, targets) = ([url.as_str()], ["objectClass: ds-virtual-static-group", target.as_str()]);
        groups.push(("red", "groupOfURLs", &urls));
        groups.push(("copy", "groupOfNames", &targets));
        let mut it = fixture(&ldif(&PEOPLE, &groups));
        let mut model = Model {
            names: PEOPLE.iter().copied().chain(GROUPS.iter().map(|(name, _)| *name)).map(|name| Some(name.to_owned()))
                .collect(),
            target: group("g0"),
            ..Model::default()
        };
        for (at, change) in changes.iter().enumerate() {
            apply(&it, &mut model, change);
            if at % 4 != 0 && at + 1 != changes.len() {
                continue;
            }
            let members = model.members();
            let living: Vec<String> = (0..model.names.len()).filter_map(|at| model.dn(at)).collect();
            for dn in &living {
                let groups = members.iter().filter(|(_, members)| members.contains(dn)).map(|(group, _)| group.clone());
                prop_assert_eq!(groups_by(&mut it, dn, "isMemberOf"), short(groups), "{} after {:?}", dn,
                    &changes[..=at]);
            }
            for (name, own) in &members {
                let filter = format!("(memberOf={name})");
                prop_assert_eq!(matching(&mut it, &filter), short(own.iter().cloned()), "{} after {:?}", filter,
                    &changes[..=at]);
            }
            // Some of the other ways to ask the same.
            let (one, other) = (group("g0"), group("g1"));
            let of = |name: &str| members.get(name).cloned().unwrap_or_default();
            let both = of(&one).intersection(&of(&other)).cloned().collect::<Vec<_>>();
            prop_assert_eq!(matching(&mut it, &format!("(&(memberOf={one})(isMemberOf={other}))")), short(both));
            let either = of(&one).union(&of(&other)).cloned().collect::<Vec<_>>();
            prop_assert_eq!(matching(&mut it, &format!("(|(memberOf={one})(isMemberOf={other}))")), short(either));
            let any: BTreeSet<String> = members.values().flatten().cloned().collect();
            prop_assert_eq!(matching(&mut it, "(memberOf=*)"), short(any.iter().cloned()));
            let nobodies = living.iter().filter(|dn| dn.starts_with("uid=") && !any.contains(*dn)).cloned();
            prop_assert_eq!(matching(&mut it, "(&(objectClass=person)(!(memberOf=*)))"), short(nobodies));
        }
    }
}
