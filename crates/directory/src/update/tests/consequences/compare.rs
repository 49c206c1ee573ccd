//! What the directory says, against what the model comes to: every entry with what it shows, filters, chains, compares,
//! binds, and every index.
//!
//! Not everything of everybody each time: another part of it by the number of entries.

use std::collections::{BTreeMap, BTreeSet};

use super::bed::{Bed, shown};
use super::computed::Given;
use super::model::{FOLLOWED, Kind, Model};
use super::steps::{PLACES, STATES};

type Names = BTreeSet<String>;
/// By group or role, who is in it.
type Holders = BTreeMap<String, Names>;

/// What the model comes to, found once.
struct Truth<'m> {
    model: &'m Model,
    visible: Names,
    members: Holders,
    roles: Holders,
    /// By entry.
    given: BTreeMap<String, Given>,
}

pub fn compare(bed: &mut Bed, model: &Model) {
    let visible: Names = model.visible().map(|(dn, _)| dn.clone()).collect();
    let given = visible.iter().map(|dn| (dn.clone(), model.given(dn))).collect();
    let truth = Truth { model, visible, members: model.members(), roles: model.roles(), given };
    truth.entries(bed);
    truth.holders(bed, "memberOf", "isMemberOf", &truth.members);
    truth.holders(bed, "nsRole", "nsRole", &truth.roles);
    truth.names(bed);
    truth.places(bed);
    truth.states(bed);
    truth.locks(bed);
    for (attribute, value) in [("mail", "m1@example.com"), ("description", "red")] {
        assert_eq!(bed.matching(&format!("({attribute}={value})")), model.having(attribute, |own| own == value));
    }
    bed.verify();
}

impl Truth<'_> {
    /// Every entry with what it has and what it is given; subentries with what they have.
    fn entries(&self, bed: &mut Bed) {
        let (entries, subentries) = (bed.entries(false), bed.entries(true));
        assert!(entries.keys().eq(&self.visible), "{:?} and not {:?}", entries.keys(), self.visible);
        assert_eq!(entries.len() + subentries.len(), self.model.entries.len(), "{:?}", subentries.keys());
        for (dn, entry) in &self.model.entries {
            let mut expected: BTreeMap<String, Names> = BTreeMap::new();
            for (name, values) in &entry.values {
                for value in values {
                    let (name, value) = shown(name, value);
                    expected.entry(name.to_owned()).or_default().insert(value);
                }
            }
            let mut shows = |name: &str, values: Names| {
                expected.remove(name);
                if !values.is_empty() {
                    expected.insert(name.to_owned(), values);
                }
            };
            let groups = held(&self.members, dn);
            shows("ismemberof", groups.clone());
            shows("memberof", groups);
            let Some(given) = self.given.get(dn) else {
                assert_eq!(compared(entry.kind, subentries[dn].clone()), expected, "{dn}");
                continue;
            };
            shows("l", self.model.places(dn));
            shows("st", given.st.clone());
            shows("c-st", given.collective.clone());
            shows("collectiveattributesubentries", given.subentries.clone());
            shows("nsrole", held(&self.roles, dn));
            shows("nsaccountlock", self.model.locks(dn, &self.roles));
            assert_eq!(compared(entry.kind, entries[dn].clone()), expected, "{dn}");
        }
    }

    /// Filters and compares that ask for groups or roles.
    fn holders(&self, bed: &mut Bed, name: &str, other_name: &str, holders: &Holders) {
        let visible = |names: &Names| -> Names { names.intersection(&self.visible).cloned().collect() };
        for (at, (holder, own)) in holders.iter().enumerate() {
            let own = visible(own);
            assert_eq!(bed.matching(&format!("({name}={holder})")), own, "{name} {holder}");
            assert_eq!(bed.matching(&format!("(!({other_name}={holder}))")), self.others(&own), "all without {holder}");
            if let Some((next, others)) = holders.iter().nth(at + 1) {
                let both: Names = own.intersection(others).cloned().collect();
                assert_eq!(bed.matching(&format!("(&({name}={holder})({name}={next}))")), both, "{holder} and {next}");
                let either: Names = own.union(&visible(others)).cloned().collect();
                assert_eq!(bed.matching(&format!("(|({name}={holder})({name}={next}))")), either, "{holder} or {next}");
            }
        }
        let any: Names = holders.values().flat_map(visible).collect();
        assert_eq!(bed.matching(&format!("({name}=*)")), any);
        for (at, dn) in self.visible.iter().enumerate() {
            if let Some((holder, own)) = holders.iter().nth((at + self.visible.len()) % holders.len().max(1)) {
                assert_eq!(bed.compares(dn, name, holder), own.contains(dn), "{dn} compared with {holder}");
            }
        }
    }

    /// Filters and chains that ask for names of entries.
    fn names(&self, bed: &mut Bed) {
        for (at, dn) in self.model.entries.keys().enumerate() {
            let turn = at + self.model.entries.len();
            let attribute = ["member", "manager", "seealso", "nsroledn"][turn % 4];
            let chain = format!("({attribute}:1.2.840.113556.1.4.1941:={dn})");
            let expected = self.model.chain(attribute, dn).intersection(&self.visible).cloned().collect();
            assert_eq!(bed.matching(&chain), expected, "{chain}");
            let attribute = FOLLOWED[turn % FOLLOWED.len()];
            let mut expected = self.model.having(attribute, |value| value == dn);
            if attribute == "member" {
                let is_virtual = |group: &&String| self.model.entries[*group].kind == Kind::Virtual;
                let having = self.members.iter().filter(|(_, own)| own.contains(dn)).map(|(group, _)| group);
                expected.extend(having.filter(is_virtual).cloned());
            }
            let expected = expected.intersection(&self.visible).cloned().collect();
            assert_eq!(bed.matching(&format!("({attribute}={dn})")), expected, "({attribute}={dn})");
        }
    }

    /// Class of Service: `l`.
    fn places(&self, bed: &mut Bed) {
        let shows = |test: &dyn Fn(&str) -> bool| -> Names {
            self.visible.iter().filter(|dn| self.model.places(dn).iter().any(|place| test(place))).cloned().collect()
        };
        for place in PLACES {
            let having = shows(&|it| it == place);
            self.values(bed, "l", place, &having);
            let start = &place[..2];
            assert_eq!(bed.matching(&format!("(l={start}*)")), shows(&|it| it.starts_with(start)), "(l={start}*)");
        }
        assert_eq!(bed.matching("(l=*)"), shows(&|_| true));
    }

    /// Collective attributes: `st`, and `c-st`, which is a kind of `st`.
    fn states(&self, bed: &mut Bed) {
        let shows = |test: &dyn Fn(&Given) -> bool| -> Names {
            self.given.iter().filter(|(_, given)| test(given)).map(|(dn, _)| dn.clone()).collect()
        };
        let any = |given: &Given, test: &dyn Fn(&str) -> bool| given.st.union(&given.collective).any(|it| test(it));
        for state in STATES {
            self.values(bed, "st", state, &shows(&|it| any(it, &|value| value == state)));
            let narrower = shows(&|it| it.collective.contains(state));
            assert_eq!(bed.matching(&format!("(c-st={state})")), narrower, "(c-st={state})");
        }
        assert_eq!(bed.matching("(st=nor*)"), shows(&|it| any(it, &|value| value.starts_with("nor"))));
        assert_eq!(bed.matching("(st=*)"), shows(&|it| any(it, &|_| true)));
        assert_eq!(bed.matching("(c-st=*)"), shows(&|it| !it.collective.is_empty()));
        for subentry in self.model.entries.iter().filter(|(_, it)| it.kind.is_collective()).map(|(dn, _)| dn) {
            let filter = format!("(collectiveAttributeSubentries={subentry})");
            assert_eq!(bed.matching(&filter), shows(&|it| it.subentries.contains(subentry)), "{filter}");
        }
    }

    /// Equality, alone and with others, and compares.
    fn values(&self, bed: &mut Bed, attribute: &str, value: &str, having: &Names) {
        let filter = format!("({attribute}={value})");
        assert_eq!(bed.matching(&filter), *having, "{filter}");
        assert_eq!(bed.matching(&format!("(!{filter})")), self.others(having), "not {filter}");
        let red = self.model.having("description", |it| it == "red").intersection(having).cloned().collect();
        assert_eq!(bed.matching(&format!("(&{filter}(description=red))")), red, "red ones with {filter}");
        for dn in self.some_people() {
            assert_eq!(bed.compares(dn, attribute, value), having.contains(dn), "{dn} compared with {filter}");
        }
    }

    /// Who is locked out, by a filter and by a bind.
    fn locks(&self, bed: &mut Bed) {
        let is_locked = |dn: &&String| self.model.locks(dn, &self.roles).contains("true");
        let locked: Names = self.visible.iter().filter(is_locked).cloned().collect();
        assert_eq!(bed.matching("(nsAccountLock=true)"), locked);
        for dn in self.some_people() {
            assert_eq!(bed.bind(dn), if locked.contains(dn) { 53 } else { 0 }, "bind of {dn}");
        }
    }

    fn others(&self, own: &Names) -> Names {
        self.visible.difference(own).cloned().collect()
    }

    fn some_people(&self) -> impl Iterator<Item = &String> {
        let people = self.model.visible().filter(|(_, it)| it.kind == Kind::Person).map(|(dn, _)| dn);
        people.enumerate().filter(|(at, _)| (at + self.visible.len()).is_multiple_of(3)).map(|(_, dn)| dn)
    }
}

/// The groups, or roles, that somebody is in.
fn held(holders: &Holders, dn: &str) -> Names {
    holders.iter().filter(|(_, who)| who.contains(dn)).map(|(holder, _)| holder.clone()).collect()
}

/// What of an entry's attributes the model knows.
fn compared(kind: Kind, mut attributes: BTreeMap<String, Names>) -> BTreeMap<String, Names> {
    const FIXED: [&str; 10] = [
        "objectclass",
        "userpassword",
        "cosattribute",
        "cosspecifier",
        "cosindirectspecifier",
        "inheritattribute",
        "inheritfromdnattribute",
        "inheritfromrdnattribute",
        "inheritfromrdntype",
        "collectiveconflictbehavior",
    ];
    attributes.retain(|name, _| {
        !FIXED.contains(&name.as_str()) && (kind != Kind::Person || !["cn", "sn"].contains(&name.as_str()))
    });
    attributes
}
