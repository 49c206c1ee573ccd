//! By what the instructions that may concern an asker are found: a condition without which none of a holder's rules is
//! true or undefined.

use std::collections::BTreeSet;

use aci::{Effect, Right};

use crate::compiled::{EntryTestKind, Permission, Rule, Test};

/// A condition on the asker alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// No such condition: the rule may be true of anybody.
    Everybody,
    Authenticated,
    /// The user of that normalized name.
    User(Box<[u8]>),
    /// The members of the group of that normalized name.
    Group(Box<[u8]>),
    /// Who has the role of that normalized name.
    Role(Box<[u8]>),
}

/// What has to be found out about an asker to decide some rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    pub groups: bool,
    pub roles: bool,
    pub time: bool,
    pub host: bool,
}

impl Needs {
    pub fn of(rule: &Rule) -> Needs {
        let mut needs = Needs::default();
        rule.each_test(&mut |test| match test {
            Test::Group(_) => needs.groups = true,
            Test::Role(_) => needs.roles = true,
            Test::TimeOfDay(..) | Test::DayOfWeek(_) => needs.time = true,
            Test::Host(_) => needs.host = true,
            Test::Entry(test) => match test.kind {
                EntryTestKind::Group { .. } => needs.groups = true,
                EntryTestKind::Role => needs.roles = true,
                EntryTestKind::User | EntryTestKind::Url | EntryTestKind::Value(_) => {}
            },
            _ => {}
        });
        needs
    }

    pub fn with(self, other: Needs) -> Needs {
        Needs {
            groups: self.groups || other.groups,
            roles: self.roles || other.roles,
            time: self.time || other.time,
            host: self.host || other.host,
        }
    }
}

/// Adds the keys of a rule: it is false of whom none of them is about.
pub(crate) fn add_keys(permission: &Permission, keys: &mut BTreeSet<Key>) {
    let rule = &permission.rule;
    // What an entry that is to be added says is undefined, whoever asks, and then the rule refuses.
    let refuses_additions = permission.effect == Effect::Deny && permission.rights.contains(Right::Add);
    match keys_of(rule) {
        Some(own) if !(refuses_additions && asks_the_entry(rule)) => keys.extend(own),
        _ => {
            keys.insert(Key::Everybody);
        }
    }
}

fn asks_the_entry(rule: &Rule) -> bool {
    match rule {
        Rule::And(rules) | Rule::Or(rules) => rules.iter().any(asks_the_entry),
        Rule::Not(rule) => asks_the_entry(rule),
        Rule::Test(test) => matches!(test, Test::Entry(test) if test.levels.contains(0)),
    }
}

fn keys_of(rule: &Rule) -> Option<BTreeSet<Key>> {
    match rule {
        // All of them must be true: the narrowest is enough.
        Rule::And(rules) => rules.iter().filter_map(keys_of).min_by_key(|keys| {
            let has_wide = keys.contains(&Key::Authenticated);
            (has_wide, keys.len())
        }),
        Rule::Or(rules) => rules.iter().map(keys_of).try_fold(BTreeSet::new(), |mut all, keys| {
            all.extend(keys?);
            Some(all)
        }),
        Rule::Not(_) => None,
        Rule::Test(test) => Some(BTreeSet::from([match test {
            Test::Nobody => return Some(BTreeSet::new()),
            Test::User(name) => Key::User(name.clone()),
            Test::Group(name) => Key::Group(name.clone()),
            Test::Role(name) => Key::Role(name.clone()),
            Test::Authenticated
            | Test::OneSelf
            | Test::Parent
            | Test::UserPattern(_)
            | Test::UserUrl(_)
            | Test::Entry(_) => Key::Authenticated,
            Test::Anyone
            | Test::Address(_)
            | Test::Host(_)
            | Test::TimeOfDay(..)
            | Test::DayOfWeek(_)
            | Test::Method(_)
            | Test::Strength(..) => return None,
        }])),
    }
}
