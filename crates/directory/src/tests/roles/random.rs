//! Random updates of roles and of who has them: after each the roles of every entry, and what filters on them find, are
//! those of a computation that knows names as texts only.

use std::collections::BTreeSet;

use ldap::{Message, ModifyOperation, client};
use proptest::prelude::*;

use super::*;

/// Where people and roles are.
const PLACES: [&str; 4] =
    [BASE, "ou=sales,dc=example,dc=com", "ou=lab,dc=example,dc=com", "ou=annex,ou=lab,dc=example,dc=com"];
const COLOURS: [&str; 3] = ["red", "blue", "green"];
const PEOPLE: usize = 4;
const ROLES: [&str; 8] = ["Managed", "Managed", "Filtered", "Filtered", "Nested", "Nested", "Nested", "Nested"];
/// A nested role lists something always: that.
const NOTHING: &str = "cn=nothing,dc=example,dc=com";

#[derive(Clone, Debug)]
enum Change {
    /// A person names a role, or no longer.
    Give(usize, usize),
    /// A nested role lists a role, or no longer.
    List(usize, usize),
    Colour(usize, usize),
    Refilter(usize, usize),
    /// The scope of a nested role; none in the end.
    Scope(usize, usize),
    Rename(usize),
    Move(usize, usize),
    Delete(usize),
}

fn change() -> impl Strategy<Value = Change> {
    let any = || 0..PEOPLE + ROLES.len();
    let (role, colour) = (|| 0..ROLES.len(), || 0..COLOURS.len());
    prop_oneof![
        4 => (0..PEOPLE, role()).prop_map(|(person, role)| Change::Give(person, role)),
        5 => (role(), role()).prop_map(|(nested, role)| Change::List(nested, role)),
        2 => (0..PEOPLE, colour()).prop_map(|(person, colour)| Change::Colour(person, colour)),
        1 => (role(), colour()).prop_map(|(role, colour)| Change::Refilter(role, colour)),
        1 => (role(), 0..=PLACES.len()).prop_map(|(role, place)| Change::Scope(role, place)),
        1 => any().prop_map(Change::Rename),
        1 => (any(), 0..PLACES.len()).prop_map(|(at, place)| Change::Move(at, place)),
        1 => any().prop_map(Change::Delete),
    ]
}

/// A person or a role.
#[derive(Clone, Debug)]
struct Thing {
    rdn: String,
    place: usize,
    lives: bool,
    /// What it names in `nsRoleDN`.
    named: BTreeSet<String>,
    /// Of a person; of a filtered role that which it asks for.
    colour: usize,
    scope: Option<usize>,
}

/// Everything as texts; people first.
struct Model {
    things: Vec<Thing>,
    renames: usize,
}

fn is_below(dn: &str, top: &str) -> bool {
    dn == top || dn.ends_with(&format!(",{top}"))
}

impl Model {
    fn new() -> Model {
        let thing = |rdn: String, at: usize| Thing {
            rdn,
            place: at % PLACES.len(),
            lives: true,
            named: BTreeSet::new(),
            colour: at % COLOURS.len(),
            scope: None,
        };
        let people = (0..PEOPLE).map(|at| thing(format!("uid=p{at}"), at));
        let roles = (0..ROLES.len()).map(|at| thing(format!("cn=r{at}"), at / 2));
        Model { things: people.chain(roles).collect(), renames: 0 }
    }

    fn dn(&self, at: usize) -> String {
        format!("{},{}", self.things[at].rdn, PLACES[self.things[at].place])
    }

    fn kind(at: usize) -> &'static str {
        ROLES[at - PEOPLE]
    }

    fn ldif(&self) -> String {
        let mut text = String::new();
        for (at, thing) in self.things.iter().enumerate() {
            let name = &thing.rdn[thing.rdn.find('=').unwrap() + 1..];
            let colour = COLOURS[thing.colour];
            let (place, filter) = (PLACES[thing.place], format!("nsRoleFilter: (description={colour})"));
            text += &match at.checked_sub(PEOPLE).map(|role| ROLES[role]) {
                None => person(name, place, &[&format!("description: {colour}")]),
                Some("Managed") => role(name, place, "Managed", &[]),
                Some("Filtered") => role(name, place, "Filtered", &[&filter]),
                Some(kind) => role(name, place, kind, &[&format!("nsRoleDN: {NOTHING}")]),
            };
        }
        ldif(&text)
    }

    fn covers(&self, role: usize, person: usize) -> bool {
        let it = &self.things[role];
        let dn = self.dn(person);
        let extended = it.scope.filter(|_| Self::kind(role) == "Nested");
        is_below(&dn, PLACES[it.place]) || extended.is_some_and(|place| is_below(&dn, PLACES[place]))
    }

    /// The names of a person's roles: the least set that satisfies what roles are.
    fn roles_of(&self, person: usize) -> BTreeSet<String> {
        let mut has: BTreeSet<String> = BTreeSet::new();
        loop {
            let before = has.len();
            for role in (PEOPLE..self.things.len()).filter(|role| self.things[*role].lives) {
                let is_given = match Self::kind(role) {
                    "Managed" => self.things[person].named.contains(&self.dn(role)),
                    "Filtered" => self.things[person].colour == self.things[role].colour,
                    _ => !self.things[role].named.is_disjoint(&has),
                };
                if is_given && self.covers(role, person) {
                    has.insert(self.dn(role));
                }
            }
            if has.len() == before {
                return has;
            }
        }
    }

    /// Makes the change, here and there.
    fn apply(&mut self, it: &Fixture, change: &Change) {
        let (at, attribute, operation, value) = match *change {
            Change::Give(at, role) => match self.toggle(at, PEOPLE + role) {
                Some((operation, value)) => (at, "nsRoleDN", operation, value),
                None => return,
            },
            Change::List(at, role) => match self.toggle(PEOPLE + at, PEOPLE + role) {
                Some((operation, value)) if ROLES[at] == "Nested" => (PEOPLE + at, "nsRoleDN", operation, value),
                _ => return,
            },
            Change::Colour(at, colour) => {
                self.things[at].colour = colour;
                (at, "description", ModifyOperation::Replace, COLOURS[colour].to_owned())
            }
            Change::Refilter(at, colour) => {
                if ROLES[at] != "Filtered" {
                    return;
                }
                self.things[PEOPLE + at].colour = colour;
                let filter = format!("(&(objectClass=person)(description={}))", COLOURS[colour]);
                (PEOPLE + at, "nsRoleFilter", ModifyOperation::Replace, filter)
            }
            Change::Scope(at, place) => {
                let at = PEOPLE + at;
                if !self.things[at].lives {
                    return;
                }
                self.things[at].scope = (place < PLACES.len()).then_some(place);
                let mut bytes = Vec::new();
                let value = self.things[at].scope.map(|place| PLACES[place].as_bytes());
                let change = (ModifyOperation::Replace, &b"nsRoleScopeDN"[..], value);
                client::modify(&mut bytes, 1, &self.dn(at), [change], &[]);
                return it.update(&Message::decode(&bytes).unwrap());
            }
            Change::Rename(at) | Change::Move(at, _) | Change::Delete(at) => {
                return self.move_or_delete(it, at, change);
            }
        };
        if self.things[at].lives {
            modify(it, &self.dn(at), operation, attribute, &value);
        }
    }

    fn toggle(&mut self, at: usize, role: usize) -> Option<(ModifyOperation, String)> {
        if !self.things[at].lives || !self.things[role].lives || (at >= PEOPLE && Self::kind(at) != "Nested") {
            return None;
        }
        let dn = self.dn(role);
        let named = &mut self.things[at].named;
        let operation = if named.remove(&dn) {
            ModifyOperation::Delete
        } else {
            named.insert(dn.clone());
            ModifyOperation::Add
        };
        Some((operation, dn))
    }

    fn move_or_delete(&mut self, it: &Fixture, at: usize, change: &Change) {
        if !self.things[at].lives {
            return;
        }
        let old = self.dn(at);
        let mut bytes = Vec::new();
        if let Change::Delete(_) = change {
            self.things[at].lives = false;
            client::delete(&mut bytes, 1, &old, &[]);
            return it.update(&Message::decode(&bytes).unwrap());
        }
        let before = self.things[at].clone();
        if let Change::Move(_, place) = change {
            self.things[at].place = *place;
        } else {
            self.renames += 1;
            let attribute = if at < PEOPLE { "uid" } else { "cn" };
            // Few names, so that one comes again for another entry.
            self.things[at].rdn = format!("{attribute}=n{}", self.renames % 3);
        }
        let new = self.dn(at);
        let is_taken =
            (0..self.things.len()).any(|other| other != at && self.things[other].lives && self.dn(other) == new);
        if is_taken || new == old {
            self.things[at] = before;
            return;
        }
        let superior = matches!(change, Change::Move(..)).then(|| PLACES[self.things[at].place]);
        client::modify_dn(&mut bytes, 1, &old, &self.things[at].rdn, true, superior, &[]);
        it.update(&Message::decode(&bytes).unwrap());
    }
}

fn sorted(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = names.into_iter().collect();
    names.sort();
    names
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn roles_are_those_of_a_computation_from_scratch(
        changes in proptest::collection::vec(change(), 1..40),
        is_indexed in any::<bool>(),
    ) {
        let mut model = Model::new();
        let indexes = if is_indexed { indexes() } else { default_indexes() };
        let mut it = Fixture::new(&[BASE], indexes, &model.ldif());
        for (at, change) in changes.iter().enumerate() {
            model.apply(&it, change);
            if at % 4 != 0 && at + 1 != changes.len() {
                continue;
            }
            let after = format!("after {:?}", &changes[..=at]);
            let people: Vec<usize> = (0..PEOPLE).filter(|at| model.things[*at].lives).collect();
            let roles: Vec<BTreeSet<String>> = people.iter().map(|at| model.roles_of(*at)).collect();
            for (person, own) in people.iter().zip(&roles) {
                prop_assert_eq!(sorted(roles_of(&mut it, &model.dn(*person))), sorted(own.iter().cloned()), "{}",
                    &after);
            }
            let with = |is: &dyn Fn(&BTreeSet<String>) -> bool| {
                let found = people.iter().zip(&roles).filter(|(_, own)| is(own));
                sorted(found.map(|(person, _)| model.dn(*person)))
            };
            let names: Vec<String> = (PEOPLE..model.things.len()).map(|role| model.dn(role)).collect();
            for name in &names {
                let filter = format!("(nsRole={name})");
                prop_assert_eq!(it.dns(&Asked::new(BASE, &filter)), with(&|own| own.contains(name)), "{} {}", filter,
                    &after);
            }
            // Some of the other ways to ask the same.
            let (one, other) = (&names[4], &names[5]);
            let both = it.dns(&Asked::new(BASE, &format!("(&(nsRole={one})(nsRole={other}))")));
            prop_assert_eq!(both, with(&|own| own.contains(one) && own.contains(other)), "{}", &after);
            let either = it.dns(&Asked::new(BASE, &format!("(|(nsRole={one})(nsRole={other}))")));
            prop_assert_eq!(either, with(&|own| own.contains(one) || own.contains(other)), "{}", &after);
            let neither = it.dns(&Asked::new(BASE,
                &format!("(&(objectClass=person)(!(|(nsRole={one})(nsRole={other}))))")));
            prop_assert_eq!(neither, with(&|own| !own.contains(one) && !own.contains(other)), "{}", &after);
            let any = it.dns(&Asked::new(BASE, "(nsRole=*)"));
            prop_assert_eq!(any, with(&|own| !own.is_empty()), "{}", &after);
        }
    }
}
