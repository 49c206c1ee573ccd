//! Entries as maps of texts, names as lists of texts, groups by looking at every value.
//!
//! Everything is in lower case, attribute types have their first name: whoever writes a text for the server may spell
//! it otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};

use super::filter::Filter;

/// Leaf first: type and value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Name(pub Vec<(String, String)>);

impl Name {
    pub fn of(text: &str) -> Name {
        let part = |part: &str| part.split_once('=').map(|(kind, value)| (kind.to_owned(), value.to_owned())).unwrap();
        Name(text.split(',').filter(|part| !part.is_empty()).map(part).collect())
    }

    pub fn parent(&self) -> Name {
        Name(self.0.iter().skip(1).cloned().collect())
    }

    pub fn is_at_or_below(&self, top: &Name) -> bool {
        self.0.ends_with(&top.0)
    }

    pub fn child(&self, kind: &str, value: &str) -> Name {
        let leaf = (kind.to_owned(), value.to_owned());
        Name(std::iter::once(leaf).chain(self.0.iter().cloned()).collect())
    }

    /// The name and those above it, up to the first part.
    pub fn and_ancestors(&self) -> impl Iterator<Item = Name> {
        (0..self.0.len()).map(|at| Name(self.0[at..].to_vec()))
    }
}

impl Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(|(kind, value)| format!("{kind}={value}")).collect();
        f.write_str(&parts.join(","))
    }
}

/// Attribute types with their values; options are left out.
pub type Attributes = BTreeMap<String, Vec<String>>;

/// Every entry there is, instructions aside.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    pub entries: BTreeMap<Name, Attributes>,
}

/// Who asks, and how connected.
#[derive(Clone, Debug)]
pub struct Asker {
    /// None for an anonymous one.
    pub name: Option<Name>,
    pub address: std::net::IpAddr,
    pub ssf: u32,
    pub is_simple: bool,
    /// What is known of the client's host name: nothing yet, or the name.
    pub host: Option<&'static str>,
    /// Somebody else is bound, and acts as the asker.
    pub is_proxied: bool,
}

/// Where a URL looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlScope {
    Base,
    One,
    Sub,
}

/// `ldap:///base??scope?filter`
#[derive(Clone, Debug)]
pub struct Url {
    pub base: Name,
    pub scope: UrlScope,
    pub filter: Filter,
}

impl Url {
    /// Whether a search by it finds the entry.
    pub fn finds(&self, name: &Name, attributes: &Attributes) -> bool {
        let is_in_scope = match self.scope {
            UrlScope::Base => *name == self.base,
            UrlScope::One => name.parent() == self.base,
            UrlScope::Sub => name.is_at_or_below(&self.base),
        };
        is_in_scope && self.filter.is_true(attributes)
    }
}

impl Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scope = match self.scope {
            UrlScope::Base => "base",
            UrlScope::One => "one",
            UrlScope::Sub => "sub",
        };
        write!(f, "ldap:///{}??{scope}?{}", self.base, self.filter)
    }
}

impl Tree {
    pub fn values(&self, name: &Name, kind: &str) -> &[String] {
        self.entries.get(name).and_then(|it| it.get(kind)).map_or(&[], Vec::as_slice)
    }

    /// The groups that the entry is in: by a member attribute, by a URL, or through another group.
    pub fn groups_of(&self, name: &Name, urls: &BTreeMap<Name, Url>) -> BTreeSet<Name> {
        let mut found = BTreeSet::new();
        let mut open = vec![name.clone()];
        while let Some(member) = open.pop() {
            let text = member.to_string();
            for (group, attributes) in &self.entries {
                // Whoever is in a group is in those that have it as their target.
                let is_named = ["member", "uniquemember", "ds-target-group-dn"]
                    .iter()
                    .any(|kind| attributes.get(*kind).is_some_and(|values| values.contains(&text)));
                let is_found = urls
                    .get(group)
                    .is_some_and(|url| self.entries.get(&member).is_some_and(|it| url.finds(&member, it)));
                if (is_named || is_found) && found.insert(group.clone()) {
                    open.push(group.clone());
                }
            }
        }
        found
    }
}
