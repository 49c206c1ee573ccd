//! The questions to one world: each is answered by the server and by the evaluator.

use std::collections::BTreeSet;

use ldap::{ModifyOperation, ResultCode, Scope};

use super::ask::{Found, Real};
use super::evaluate::{Decider, NAMES, Target, World, Written};
use super::generate::{self, BASE, TEXTS};
use super::instruction::Right;
use super::model::{Asker, Attributes, Name};
use super::random::Random;
use crate::Session;

const SUCCESS: ResultCode = ResultCode::SUCCESS;

/// Asks everything for some askers; gives the number of decisions, or the first difference.
pub fn ask(world: &World, seed: u64) -> Result<usize, String> {
    let mut random = Random(seed ^ 0x5eed);
    let mut real = Real::new(world);
    let mut count = 0;
    for asker in generate::askers(&mut random) {
        let session = real.session(&asker);
        let mut questions = Questions {
            world,
            asker: &asker,
            decider: Decider::new(world, &asker),
            session,
            real: &mut real,
            count: 0,
        };
        questions.reading()?;
        for _ in 0..6 {
            questions.filtered(&mut random)?;
        }
        for _ in 0..12 {
            questions.compare(&mut random)?;
        }
        questions.updates(&mut random)?;
        count += questions.count;
    }
    Ok(count)
}

struct Questions<'w, 'r> {
    world: &'w World,
    asker: &'w Asker,
    decider: Decider<'w>,
    session: Session,
    real: &'r mut Real,
    count: usize,
}

impl<'w> Questions<'w, '_> {
    fn target(&self, name: &'w Name) -> Target<'w> {
        Target { name, attributes: &self.world.tree.entries[name], is_new: false }
    }

    fn names(&self) -> Vec<&'w Name> {
        self.world.tree.entries.keys().collect()
    }

    /// Fails with both answers when they differ.
    fn same<T: PartialEq + std::fmt::Debug>(&self, question: &str, server: &T, evaluator: &T) -> Result<(), String> {
        if server == evaluator {
            return Ok(());
        }
        Err(format!("{question}, {:?}\n   server {server:?}\nevaluator {evaluator:?}", self.asker))
    }

    /// The code of a refusal: what does not show does not exist.
    fn refusal(&self, entry: Target<'_>) -> ResultCode {
        if self.decider.shows(entry) { ResultCode::INSUFFICIENT_ACCESS_RIGHTS } else { ResultCode::NO_SUCH_OBJECT }
    }

    /// The types of an entry that may be read, of those that the evaluator knows.
    fn readable(&mut self, entry: Target<'_>) -> BTreeSet<String> {
        self.count += entry.attributes.len();
        let kinds = entry.attributes.keys().filter(|kind| self.decider.may_attribute(entry, Right::Read, kind));
        kinds.cloned().collect()
    }

    fn known(&self, found: Found) -> Found {
        let known = |(name, kinds): (String, BTreeSet<String>)| {
            let entry = &self.world.tree.entries[&Name::of(&name)];
            (name, kinds.into_iter().filter(|kind| entry.contains_key(kind)).collect())
        };
        found.into_iter().map(known).collect()
    }

    /// Each entry by itself, then all at once.
    fn reading(&mut self) -> Result<(), String> {
        let mut all = Found::new();
        for name in self.names() {
            let entry = self.target(name);
            let found = self.real.search(&self.session, name, Scope::BaseObject, "(&)");
            let found = found.map(|found| self.known(found));
            self.count += 1;
            let expected = if self.decider.shows(entry) {
                let readable = self.readable(entry);
                all.insert(name.to_string(), readable.clone());
                Ok(Found::from([(name.to_string(), readable)]))
            } else {
                Err(ResultCode::NO_SUCH_OBJECT)
            };
            self.same(&format!("read {name}"), &found, &expected)?;
        }
        let base = Name::of(BASE);
        if all.contains_key(BASE) {
            let found = self.real.search(&self.session, &base, Scope::WholeSubtree, "(&)");
            let found = found.map(|found| self.known(found));
            self.count += all.values().map(BTreeSet::len).sum::<usize>();
            self.same("read everything", &found, &Ok(all))?;
        }
        Ok(())
    }

    fn filtered(&mut self, random: &mut Random) -> Result<(), String> {
        let names = self.names();
        let base = if random.chance(50) { &Name::of(BASE) } else { names[random.below(names.len())] };
        let top = names.iter().find(|name| **name == base).copied().expect("an entry");
        if !self.decider.shows(self.target(top)) {
            return Ok(());
        }
        let filter = generate::filter(random, 2);
        let mut expected = BTreeSet::new();
        for name in names.into_iter().filter(|name| name.is_at_or_below(top)) {
            let entry = self.target(name);
            self.count += 1;
            let may_search = |kind: &str| self.decider.may_attribute(entry, Right::Search, kind);
            if self.decider.shows(entry) && filter.finds(entry.attributes, &may_search) {
                expected.insert(name.to_string());
            }
        }
        let found = self.real.search(&self.session, top, Scope::WholeSubtree, &filter.to_string());
        let found = found.map(|found| found.into_keys().collect::<BTreeSet<_>>());
        self.same(&format!("find {filter} below {top}"), &found, &Ok(expected))
    }

    fn updates(&mut self, random: &mut Random) -> Result<(), String> {
        for _ in 0..12 {
            self.modify(random)?;
        }
        for _ in 0..3 {
            self.add(random)?;
            self.delete(random)?;
            self.rename(random)?;
        }
        Ok(())
    }

    fn compare(&mut self, random: &mut Random) -> Result<(), String> {
        let names = self.names();
        let name = names[random.below(names.len())];
        let entry = self.target(name);
        let (kind, values) = random.one_of(&TEXTS);
        let value = random.one_of(values);
        self.count += 1;
        let values = entry.attributes.get(kind);
        let expected = match values {
            _ if !self.decider.may_attribute(entry, Right::Compare, kind) => self.refusal(entry),
            // What is told of an entry that does not show, but may be compared, is not said.
            None if !self.decider.shows(entry) => return Ok(()),
            None => ResultCode::NO_SUCH_ATTRIBUTE,
            Some(values) if values.iter().any(|it| it == value) => ResultCode::COMPARE_TRUE,
            Some(_) => ResultCode::COMPARE_FALSE,
        };
        let code = self.real.compare(&self.session, name, kind, value);
        self.same(&format!("compare {kind}={value} of {name}"), &code, &expected)
    }

    /// Adds a value that is not there, or deletes one that is.
    fn modify(&mut self, random: &mut Random) -> Result<(), String> {
        let names = self.names();
        let name = names[random.below(names.len())];
        let entry = self.target(name);
        let own = self.asker.name.as_ref().map_or_else(|| BASE.to_owned(), ToString::to_string);
        let (kind, value) = match random.below(3) {
            0 if entry.attributes.contains_key("member") => ("member", own),
            0 => (random.one_of(&["seealso", "manager"]), own),
            _ => {
                let (kind, values) = random.one_of(&TEXTS[..3]);
                (kind, random.one_of(values).to_owned())
            }
        };
        let class = entry.attributes["objectclass"][0].as_str();
        let is_allowed = match kind {
            "manager" | "title" => class == "inetorgperson",
            "seealso" => !matches!(class, "groupofurls"),
            "l" => !matches!(class, "groupofnames" | "groupofurls" | "groupofentries"),
            _ => true,
        };
        let is_there = entry.attributes.get(kind).is_some_and(|values| values.contains(&value));
        if !is_allowed || kind == "member" && is_there {
            return Ok(());
        }
        let operation = if is_there { ModifyOperation::Delete } else { ModifyOperation::Add };
        self.count += 1;
        let written = Written { kind, value: &value, comes: !is_there };
        debug_assert!(NAMES.contains(&kind) || TEXTS.iter().any(|(it, _)| *it == kind));
        let expected = if self.decider.may_write(entry, written) { SUCCESS } else { self.refusal(entry) };
        let code = self.real.modify(&self.session, name, operation, kind, &value);
        if code == SUCCESS {
            let back = if is_there { ModifyOperation::Add } else { ModifyOperation::Delete };
            let root = Session::of(crate::search::tests::fixture::root(), 2);
            assert_eq!(self.real.modify(&root, name, back, kind, &value), SUCCESS, "{name}: {kind} is put back");
        }
        self.same(&format!("{operation:?} {kind}={value} in {name}"), &code, &expected)
    }

    fn add(&mut self, random: &mut Random) -> Result<(), String> {
        let names = self.names();
        let name = names[random.below(names.len())].child("uid", "newcomer");
        let mut attributes = Attributes::new();
        for (kind, value) in [("objectclass", "inetorgperson"), ("uid", "newcomer"), ("cn", "newcomer"), ("sn", "ash")]
        {
            attributes.insert(kind.to_owned(), vec![value.to_owned()]);
        }
        for (kind, values) in &TEXTS[..3] {
            if random.chance(50) {
                attributes.insert((*kind).to_owned(), vec![random.one_of(values).to_owned()]);
            }
        }
        if let Some(own) = self.asker.name.as_ref().filter(|_| random.chance(50)) {
            attributes.insert("manager".to_owned(), vec![own.to_string()]);
        }
        self.count += 1;
        let entry = Target { name: &name, attributes: &attributes, is_new: true };
        // A parent that does not show does not exist, and is answered as a missing one: by what shows above it.
        let mut above = name.and_ancestors().skip(1).map(|name| {
            let attributes = self.world.tree.entries.get(&name);
            attributes.is_some_and(|it| self.decider.shows(Target { name: &name, attributes: it, is_new: false }))
        });
        let expected = match (self.decider.may_entry(entry, Right::Add), above.next()) {
            (true, _) => SUCCESS,
            (false, Some(false)) if above.any(|shows| shows) => ResultCode::NO_SUCH_OBJECT,
            _ => ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
        };
        let code = self.real.add(&self.session, &name, &attributes);
        if code == SUCCESS {
            let root = Session::of(crate::search::tests::fixture::root(), 2);
            assert_eq!(self.real.delete(&root, &name), SUCCESS, "{name} is taken away");
        }
        self.same(&format!("add {name} with {attributes:?}"), &code, &expected)
    }

    fn delete(&mut self, random: &mut Random) -> Result<(), String> {
        let Some(name) = self.leaf(random) else { return Ok(()) };
        let entry = self.target(name);
        self.count += 1;
        let expected = if self.decider.may_entry(entry, Right::Delete) { SUCCESS } else { self.refusal(entry) };
        let code = self.real.delete(&self.session, name);
        if code == SUCCESS {
            self.real.restore(self.world, name);
        }
        self.same(&format!("delete {name}"), &code, &expected)
    }

    /// Renames an entry without children, or moves it.
    fn rename(&mut self, random: &mut Random) -> Result<(), String> {
        let Some(name) = self.leaf(random) else { return Ok(()) };
        let entry = self.target(name);
        let (kind, value) = name.0[0].clone();
        let superior = random.chance(50).then(|| Name::of(random.one_of(&["ou=other,dc=example,dc=com", BASE])));
        let new_value = if superior.is_some() && random.chance(50) { value.clone() } else { "renamed".to_owned() };
        let new = superior.clone().unwrap_or_else(|| name.parent()).child(&kind, &new_value);
        let delete_old = random.chance(60);
        if self.world.tree.entries.contains_key(&new) && new != *name {
            return Ok(());
        }
        let comes = Written { kind: &kind, value: &new_value, comes: true };
        let goes = Written { kind: &kind, value: &value, comes: false };
        let is_moved = superior.as_ref().is_none_or(|superior| {
            let superior = self.world.tree.entries.get_key_value(superior).expect("an entry");
            let above = Target { name: superior.0, attributes: superior.1, is_new: false };
            self.decider.may_entry(above, Right::Import) && self.decider.may_entry(entry, Right::Export)
        });
        self.count += 1;
        let granted = is_moved
            && self.decider.may_write(entry, comes)
            && (!delete_old || value == new_value || self.decider.may_write(entry, goes));
        let expected = if granted { SUCCESS } else { self.refusal(entry) };
        let code = self.real.rename(&self.session, name, &new, delete_old, superior.is_some());
        if code == SUCCESS {
            let root = Session::of(crate::search::tests::fixture::root(), 2);
            assert_eq!(self.real.delete(&root, &new), SUCCESS, "{new} is taken away");
            self.real.restore(self.world, name);
        }
        self.same(&format!("rename {name} to {new}, delete old {delete_old}"), &code, &expected)
    }

    /// An entry without children that is not the asker's.
    fn leaf(&self, random: &mut Random) -> Option<&'w Name> {
        let names = self.names();
        let is_leaf = |name: &&Name| {
            !names.iter().any(|other| other != name && other.is_at_or_below(name))
                && self.asker.name.as_ref() != Some(*name)
        };
        let leaves: Vec<&'w Name> = names.iter().copied().filter(is_leaf).collect();
        Some(leaves[random.below(leaves.len())])
    }
}
