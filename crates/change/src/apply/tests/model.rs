//! What the RFCs say about updates, in the simplest code that says it: a map from names to attributes, scanned for
//! everything.
//!
//! All attributes here compare without regard to case, so that normal form is lower case. The model knows the few
//! classes that the property test uses; it knows no storage, no controls and no operational attributes.

use std::collections::{BTreeMap, BTreeSet};

/// `[(attribute, value)]` of one RDN, lower case, sorted.
pub type Rdn = BTreeSet<(String, String)>;
/// RDNs from the root down.
pub type Name = Vec<Rdn>;
/// Lower-case attribute → values as given, in order.
pub type Attributes = BTreeMap<String, Vec<String>>;

/// One update.
#[derive(Clone, Debug)]
pub enum Op {
    Add { name: Name, attributes: Attributes },
    Modify { name: Name, changes: Vec<(Change, String, Vec<String>)> },
    Delete { name: Name, subtree: bool },
    Rename { name: Name, rdn: Rdn, delete_old: bool, superior: Option<Name> },
}

/// What a modification does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Add,
    Delete,
    Replace,
}

/// The tree, the suffix included.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub entries: BTreeMap<Name, Attributes>,
}

const SINGLE_VALUED: [&str; 2] = ["employeenumber", "dc"];

impl Model {
    pub fn new(suffix: Name, attributes: Attributes) -> Self {
        Self { entries: BTreeMap::from([(suffix, attributes)]) }
    }

    /// Applies one update and says which result codes are right: several when the entry breaks several rules of the
    /// schema.
    pub fn apply(&mut self, op: &Op) -> Vec<i32> {
        match op {
            Op::Add { name, attributes } => self.add(name, attributes),
            Op::Modify { name, changes } => self.modify(name, changes),
            Op::Delete { name, subtree } => self.delete(name, *subtree),
            Op::Rename { name, rdn, delete_old, superior } => self.rename(name, rdn, *delete_old, superior.as_ref()),
        }
    }

    fn add(&mut self, name: &Name, attributes: &Attributes) -> Vec<i32> {
        if self.entries.contains_key(name) {
            return vec![68];
        }
        if name.len() > 1 && !self.entries.contains_key(&name[..name.len() - 1]) {
            return vec![32];
        }
        let mut entry = attributes.clone();
        for values in entry.values() {
            if has_duplicates(values) {
                return vec![20];
            }
        }
        for (attribute, value) in &name[name.len() - 1] {
            insert(&mut entry, attribute, value);
        }
        let codes = check(&entry);
        if codes == [0] {
            self.entries.insert(name.clone(), entry);
        }
        codes
    }

    fn modify(&mut self, name: &Name, changes: &[(Change, String, Vec<String>)]) -> Vec<i32> {
        let Some(entry) = self.entries.get(name) else {
            return vec![32];
        };
        let before = structural(entry);
        let mut entry = entry.clone();
        for (change, attribute, values) in changes {
            let code = change_attribute(&mut entry, *change, attribute, values);
            if code != 0 {
                return vec![code];
            }
        }
        let rdn_kept = name[name.len() - 1].iter().all(|(attribute, value)| contains(&entry, attribute, value));
        if !rdn_kept {
            return vec![67];
        }
        if let (Some(before), Some(after)) = (before, structural(&entry))
            && before != after
        {
            return vec![69];
        }
        let codes = check(&entry);
        if codes == [0] {
            self.entries.insert(name.clone(), entry);
        }
        codes
    }

    fn delete(&mut self, name: &Name, subtree: bool) -> Vec<i32> {
        if !self.entries.contains_key(name) {
            return vec![32];
        }
        let below: Vec<Name> = self.entries.keys().filter(|other| other.starts_with(name)).cloned().collect();
        if below.len() > 1 && !subtree {
            return vec![66];
        }
        for name in below {
            self.entries.remove(&name);
        }
        vec![0]
    }

    fn rename(&mut self, name: &Name, rdn: &Rdn, delete_old: bool, superior: Option<&Name>) -> Vec<i32> {
        if !self.entries.contains_key(name) {
            return vec![32];
        }
        if name.len() == 1 {
            return vec![53];
        }
        let parent = superior.cloned().unwrap_or_else(|| name[..name.len() - 1].to_vec());
        if !self.entries.contains_key(&parent) {
            return vec![32];
        }
        if parent.starts_with(name) {
            return vec![53];
        }
        let mut target = parent;
        target.push(rdn.clone());
        if target != *name && self.entries.contains_key(&target) {
            return vec![68];
        }
        let mut entry = self.entries[name].clone();
        for (attribute, value) in &name[name.len() - 1] {
            if delete_old && !rdn.contains(&(attribute.clone(), value.clone())) {
                remove(&mut entry, attribute, value);
            }
        }
        for (attribute, value) in rdn {
            insert(&mut entry, attribute, value);
        }
        let codes = check(&entry);
        if codes != [0] {
            return codes;
        }
        let moved: Vec<Name> = self.entries.keys().filter(|other| other.starts_with(name)).cloned().collect();
        let moved: Vec<(Name, Attributes)> =
            moved.into_iter().filter_map(|old| self.entries.remove(&old).map(|entry| (old, entry))).collect();
        for (old, attributes) in moved {
            let mut new = target.clone();
            new.extend_from_slice(&old[name.len()..]);
            self.entries.insert(new, attributes);
        }
        self.entries.insert(target, entry);
        vec![0]
    }
}

fn change_attribute(entry: &mut Attributes, change: Change, attribute: &str, values: &[String]) -> i32 {
    // A value deleted twice is not there the second time.
    if change != Change::Delete && has_duplicates(values) {
        return 20;
    }
    match change {
        Change::Add => {
            for value in values {
                if contains(entry, attribute, value) {
                    return 20;
                }
            }
            entry.entry(attribute.to_owned()).or_default().extend(values.iter().cloned());
        }
        Change::Delete if values.is_empty() => {
            if entry.remove(attribute).is_none() {
                return 16;
            }
        }
        Change::Delete => {
            for value in values {
                if !contains(entry, attribute, value) {
                    return 16;
                }
                remove(entry, attribute, value);
            }
        }
        Change::Replace if values.is_empty() => {
            entry.remove(attribute);
        }
        Change::Replace => {
            entry.insert(attribute.to_owned(), values.to_vec());
        }
    }
    0
}

/// 0, or whatever is wrong with the entry.
fn check(entry: &Attributes) -> Vec<i32> {
    let Some(class) = structural(entry) else {
        return vec![65];
    };
    let (must, may): (&[&str], &[&str]) = match class {
        "domain" => (&["dc"], &["description"]),
        "organizationalunit" => (&["ou"], &["description"]),
        _ => (&["cn", "sn"], &["description", "employeenumber", "uid", "ou"]),
    };
    let everything = contains(entry, "objectclass", "extensibleObject");
    let allowed = |name: &str| everything || name == "objectclass" || must.contains(&name) || may.contains(&name);
    let several = |name: &str| entry.get(name).is_some_and(|values| values.len() > 1);
    let mut codes = Vec::new();
    if must.iter().any(|attribute| !entry.contains_key(*attribute)) || !entry.keys().all(|name| allowed(name)) {
        codes.push(65);
    }
    if SINGLE_VALUED.iter().any(|attribute| several(attribute)) {
        codes.push(19);
    }
    if codes.is_empty() { vec![0] } else { codes }
}

fn structural(entry: &Attributes) -> Option<&'static str> {
    ["domain", "organizationalunit", "inetorgperson"].into_iter().find(|class| contains(entry, "objectclass", class))
}

fn contains(entry: &Attributes, attribute: &str, value: &str) -> bool {
    entry.get(attribute).is_some_and(|values| values.iter().any(|have| have.eq_ignore_ascii_case(value)))
}

fn insert(entry: &mut Attributes, attribute: &str, value: &str) {
    if !contains(entry, attribute, value) {
        entry.entry(attribute.to_owned()).or_default().push(value.to_owned());
    }
}

fn remove(entry: &mut Attributes, attribute: &str, value: &str) {
    if let Some(values) = entry.get_mut(attribute) {
        values.retain(|have| !have.eq_ignore_ascii_case(value));
        if values.is_empty() {
            entry.remove(attribute);
        }
    }
}

fn has_duplicates(values: &[String]) -> bool {
    let distinct: BTreeSet<String> = values.iter().map(|value| value.to_lowercase()).collect();
    distinct.len() != values.len()
}
