//! What differs between two configurations and takes a restart.

use std::{borrow::Cow, collections::BTreeSet};

use crate::{
    declare::{Action, Property},
    load::Object,
};

/// What needs a restart: objects that came or went, and properties whose values differ, unless a running server takes them. Objects inside
/// a backend (its indexes) are always taken.
pub(crate) fn changed(old: &[Object], new: &[Object]) -> Vec<String> {
    let mut found = Vec::new();
    for object in old {
        match counterpart(object, new) {
            None => found.extend(whole(object)),
            Some(other) => properties(object, &other, &mut found),
        }
    }
    for object in new.iter().filter(|object| !old.iter().any(|other| is_same(object, other))) {
        match counterpart(object, old) {
            None => found.extend(whole(object)),
            Some(other) => properties(&other, object, &mut found),
        }
    }
    found
}

/// The object, unless a running server takes everything about it.
fn whole(object: &Object) -> Option<String> {
    (!object.variant.properties.iter().all(is_live)).then(|| object.title())
}

fn is_live(property: &Property) -> bool {
    matches!(property.action, Action::Reload | Action::Rebuild)
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

fn properties(old: &Object, new: &Object, found: &mut Vec<String>) {
    if old.variant.type_name != new.variant.type_name {
        if whole(old).or(whole(new)).is_some() {
            found.push(format!("{} type", new.title()));
        }
        return;
    }
    let names: BTreeSet<&str> = old.settings.keys().chain(new.settings.keys()).copied().collect();
    for name in names {
        let is_taken = new.variant.property(name).is_some_and(is_live);
        if !is_taken && old.values(name) != new.values(name) {
            found.push(format!("{} {name}", new.title()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::Config;

    #[test]
    fn only_what_a_running_server_cannot_take_is_named() {
        let config = |text: &str| Config::parse(text, Path::new("pando.toml")).unwrap();
        let backend = |more: &str| format!("[backend.a]\nbase-dn = \"dc=a\"\n{more}");
        let old = config(&format!("[global]\nsize-limit = 1000\n{}", backend("")));
        let rule = "[limits.a]\ntype = \"everyone\"\nsize-limit = 5\n";
        let index = "index-entry-limit = 5\n[backend.a.index.cn]\nindex-type = \"equality\"\n";
        assert_eq!(old.restart_needed_for(&config(&format!("{rule}{}", backend(index)))), Vec::<String>::new());
        let new = config(&format!(
            "[global]\nsize-limit = 7\ncheck-schema = false\n{}[backend.b]\nbase-dn = \"dc=b\"\n",
            backend("")
        ));
        assert_eq!(old.restart_needed_for(&new), ["[global] check-schema", "[backend.b]"]);
        assert_eq!(new.restart_needed_for(&old), ["[global] check-schema", "[backend.b]"]);
    }
}
