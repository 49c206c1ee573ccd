//! Random updates on people, units and groups: afterwards every reference is what a computation from scratch says, the
//! indexes agree, and a replay of all proposals gives the same bytes.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;

use super::bed::{Bed, SUFFIX};

const AT_ONCE: &str =
    "[plugin.ri]\ntype = \"referential-integrity\"\nattribute-type = [\"member\", \"uniqueMember\", \"owner\"]\n";
const DELAYED: &str = "[plugin.ri]\ntype = \"referential-integrity\"\n\
                       attribute-type = [\"member\", \"uniqueMember\", \"owner\"]\nupdate-interval = \"1 m\"\n";
const ATTRIBUTES: [&str; 3] = ["member", "uniqueMember", "owner"];
const GROUPS: usize = 3;

#[derive(Clone, Debug)]
enum Step {
    /// A person in a unit.
    Add {
        unit: usize,
    },
    Delete {
        person: usize,
    },
    Rename {
        person: usize,
    },
    /// To another unit.
    Move {
        person: usize,
        unit: usize,
    },
    RenameUnit {
        unit: usize,
    },
    /// A reference from a group.
    Refer {
        group: usize,
        attribute: usize,
        person: usize,
    },
    /// The same to a unit.
    ReferUnit {
        group: usize,
        unit: usize,
    },
    /// What waits is done.
    Clean,
}

fn any_step() -> impl Strategy<Value = Step> {
    let at = 0..64usize;
    prop_oneof![
        4 => (0..2usize).prop_map(|unit| Step::Add { unit }),
        2 => at.clone().prop_map(|person| Step::Delete { person }),
        2 => at.clone().prop_map(|person| Step::Rename { person }),
        1 => (at.clone(), 0..2usize).prop_map(|(person, unit)| Step::Move { person, unit }),
        1 => (0..2usize).prop_map(|unit| Step::RenameUnit { unit }),
        6 => (0..GROUPS, 0..3usize, at).prop_map(|(group, attribute, person)| Step::Refer { group, attribute, person }),
        1 => (0..GROUPS, 0..2usize).prop_map(|(group, unit)| Step::ReferUnit { group, unit }),
        1 => Just(Step::Clean),
    ]
}

/// Who is referred to: references are to entries, not to names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Whom {
    Person(usize),
    Unit(usize),
}

/// What there must be. Every name is given once, so that an old name never means somebody new.
struct Model {
    names: usize,
    units: Vec<String>,
    /// Number of the person → unit and RDN.
    people: BTreeMap<usize, (usize, String)>,
    references: BTreeSet<(usize, usize, Whom)>,
}

impl Model {
    fn dn(&self, whom: Whom) -> Option<String> {
        match whom {
            Whom::Unit(unit) => Some(format!("{},{SUFFIX}", self.units[unit])),
            Whom::Person(person) => {
                let (unit, rdn) = self.people.get(&person)?;
                Some(format!("{rdn},{},{SUFFIX}", self.units[*unit]))
            }
        }
    }

    fn fresh(&mut self, attribute: &str) -> String {
        self.names += 1;
        format!("{attribute}=n{}", self.names)
    }

    fn pick(&self, at: usize) -> Option<usize> {
        let count = self.people.len();
        (count > 0).then(|| *self.people.keys().nth(at % count).unwrap())
    }

    fn run(&mut self, bed: &mut Bed, step: &Step) {
        match *step {
            Step::Add { unit } => {
                let rdn = self.fresh("uid");
                let number = self.names;
                self.people.insert(number, (unit, rdn));
                let dn = self.dn(Whom::Person(number)).unwrap();
                bed.add(&dn, "objectClass: inetOrgPerson\ncn: a\nsn: b").ok();
            }
            Step::Delete { person } => {
                let Some(person) = self.pick(person) else { return };
                bed.delete(&self.dn(Whom::Person(person)).unwrap()).ok();
                self.people.remove(&person);
                self.references.retain(|(_, _, whom)| *whom != Whom::Person(person));
            }
            Step::Rename { person } => {
                let Some(person) = self.pick(person) else { return };
                let (dn, rdn) = (self.dn(Whom::Person(person)).unwrap(), self.fresh("uid"));
                bed.rename(&dn, &rdn, true, None).ok();
                self.people.get_mut(&person).unwrap().1 = rdn;
            }
            Step::Move { person, unit } => {
                let Some(person) = self.pick(person) else { return };
                let (dn, rdn) = (self.dn(Whom::Person(person)).unwrap(), self.fresh("uid"));
                bed.rename(&dn, &rdn, true, Some(&self.dn(Whom::Unit(unit)).unwrap())).ok();
                self.people.insert(person, (unit, rdn));
            }
            Step::RenameUnit { unit } => {
                let (dn, rdn) = (self.dn(Whom::Unit(unit)).unwrap(), self.fresh("ou"));
                bed.rename(&dn, &rdn, true, None).ok();
                self.units[unit] = rdn;
            }
            Step::Refer { group, attribute, person } => {
                let Some(person) = self.pick(person) else { return };
                self.refer(bed, group, attribute, Whom::Person(person));
            }
            Step::ReferUnit { group, unit } => self.refer(bed, group, 0, Whom::Unit(unit)),
            Step::Clean => drop(bed.clean_references()),
        }
    }

    fn refer(&mut self, bed: &mut Bed, group: usize, attribute: usize, whom: Whom) {
        if self.references.insert((group, attribute, whom)) {
            let change = format!("add {}: {}", ATTRIBUTES[attribute], self.dn(whom).unwrap());
            bed.modify(&group_dn(group), &change).ok();
        }
    }

    fn compare(&self, bed: &Bed) {
        for group in 0..GROUPS {
            for (attribute, name) in ATTRIBUTES.iter().enumerate() {
                let own = self.references.iter().filter(|(of, by, _)| (*of, *by) == (group, attribute));
                let expected: BTreeSet<String> = own.filter_map(|(_, _, whom)| self.dn(*whom)).collect();
                let found: BTreeSet<String> = bed.values(&group_dn(group), name).into_iter().collect();
                assert_eq!(found, expected, "{name} of group {group}");
            }
        }
        bed.verify();
    }
}

fn group_dn(group: usize) -> String {
    format!("cn=g{group},ou=groups,{SUFFIX}")
}

fn check(plugins: &str, steps: &[Step]) {
    let mut bed = Bed::with_plugins(plugins);
    let mut model = Model { names: 0, units: Vec::new(), people: BTreeMap::new(), references: BTreeSet::new() };
    for _ in 0..2 {
        let rdn = model.fresh("ou");
        bed.add(&format!("{rdn},{SUFFIX}"), "objectClass: organizationalUnit").ok();
        model.units.push(rdn);
    }
    for group in 0..GROUPS {
        // Groups of any kind of member: the class that asks for none.
        bed.add(&group_dn(group), "objectClass: organizationalRole\nobjectClass: extensibleObject").ok();
    }
    for step in steps {
        model.run(&mut bed, step);
    }
    bed.clean_references();
    model.compare(&bed);
    let replayed = bed.replayed();
    assert!(replayed.picture() == bed.picture(), "a replay gives something else");
    model.compare(&bed.reopen());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn references_are_what_they_would_be_from_scratch(steps in vec(any_step(), 1..60)) {
        check(AT_ONCE, &steps);
    }

    #[test]
    fn delayed_references_are_what_they_would_be_from_scratch(steps in vec(any_step(), 1..60)) {
        check(DELAYED, &steps);
    }
}
