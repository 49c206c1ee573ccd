//! What differs between two configurations: what a running server takes, and what takes a restart.
//!
//! Knows the declarations; applies nothing.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use crate::declare::{Applier, Effect};
use crate::object::Object;

/// What differs between two configurations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The parts of a running server that have something to apply.
    pub live: BTreeSet<Applier>,
    /// What takes a restart, in the order of the file.
    pub at_restart: Vec<AtRestart>,
}

/// Something that takes a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AtRestart {
    /// A property, `[backend.userRoot] base-dn`, or an object that is new.
    Changed(String),
    /// An object that the file has no more.
    Removed(String),
}

impl fmt::Display for AtRestart {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed(what) => write!(out, "{what} takes effect after a restart"),
            Self::Removed(what) => write!(out, "{what} stays in service until the server is restarted"),
        }
    }
}

/// What differs.
pub(crate) fn changes(old: &[Object], new: &[Object]) -> Changes {
    let mut found = Changes::default();
    found.compare(old, new);
    found
}

impl Changes {
    fn compare(&mut self, old: &[Object], new: &[Object]) {
        for object in old {
            match counterpart(object, new) {
                None => self.whole(object, AtRestart::Removed),
                Some(other) => self.properties(object, &other),
            }
        }
        for object in new.iter().filter(|object| !old.iter().any(|other| is_same(object, other))) {
            match counterpart(object, old) {
                None => self.whole(object, AtRestart::Changed),
                Some(other) => self.properties(&other, object),
            }
        }
    }

    /// An object that came or went takes a restart, unless a running server takes everything about it.
    fn whole(&mut self, object: &Object, what: fn(String) -> AtRestart) {
        match object.variant.properties.iter().all(|property| property.is_live()) {
            true => self.live.extend(object.variant.properties.iter().filter_map(|property| applier(property.effect))),
            false => self.at_restart.push(what(object.title())),
        }
    }

    fn properties(&mut self, old: &Object, new: &Object) {
        if old.variant.type_name != new.variant.type_name {
            let is_live = |object: &Object| object.variant.properties.iter().all(|property| property.is_live());
            match is_live(old) && is_live(new) {
                true => self.whole(new, AtRestart::Changed),
                false => self.at_restart.push(AtRestart::Changed(format!("{} type", new.title()))),
            }
            return;
        }
        let names: BTreeSet<&str> = old.settings.keys().chain(new.settings.keys()).copied().collect();
        for name in names.into_iter().filter(|name| old.values(name) != new.values(name)) {
            match new.variant.property(name).and_then(|property| applier(property.effect)) {
                Some(applier) => _ = self.live.insert(applier),
                None => self.at_restart.push(AtRestart::Changed(format!("{} {name}", new.title()))),
            }
        }
        self.compare(&old.children, &new.children);
    }
}

fn applier(effect: Effect) -> Option<Applier> {
    match effect {
        Effect::AtStart => None,
        Effect::Live(applier) => Some(applier),
    }
}

/// The same object among others. The only one of its class is always there: left out, it has its defaults.
fn counterpart<'o>(object: &Object, others: &'o [Object]) -> Option<Cow<'o, Object>> {
    let found = others.iter().find(|other| is_same(object, other)).map(Cow::Borrowed);
    let is_single = object.class.named_by.is_none();
    found.or_else(|| is_single.then(|| Cow::Owned(Object::with_defaults(object.class, object.variant, ""))))
}

fn is_same(one: &Object, other: &Object) -> bool {
    one.class.name == other.class.name && one.name.eq_ignore_ascii_case(&other.name)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Config;

    fn config(text: &str) -> Config {
        Config::parse(text, Path::new("pando.toml")).unwrap()
    }

    fn at_restart(old: &Config, new: &Config) -> Vec<String> {
        old.changes_to(new).at_restart.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_a_running_server_cannot_take_is_named() {
        let backend = |more: &str| format!("[backend.a]\nbase-dn = \"dc=a\"\n{more}");
        let old = config(&format!("[global]\nsize-limit = 1000\n{}", backend("")));
        let rule = "[limits.a]\ntype = \"everyone\"\nsize-limit = 5\n";
        let index = "index-entry-limit = 5\n[backend.a.index.cn]\nindex-type = \"equality\"\n";
        let live = old.changes_to(&config(&format!("{rule}{}", backend(index))));
        assert_eq!(live, Changes { live: [Applier::Limits, Applier::Indexes].into(), at_restart: Vec::new() });
        let new = config(&format!(
            "[global]\nsize-limit = 7\ncheck-schema = false\n{}[backend.b]\nbase-dn = \"dc=b\"\n",
            backend("")
        ));
        let check = "[global] check-schema takes effect after a restart";
        assert_eq!(at_restart(&old, &new), [check, "[backend.b] takes effect after a restart"]);
        let gone = "[backend.b] stays in service until the server is restarted";
        assert_eq!(at_restart(&new, &old), [check, gone]);
        assert_eq!(new.changes_to(&old).live, [Applier::Limits].into());
        assert_eq!(old.changes_to(&old), Changes::default());
    }
}
