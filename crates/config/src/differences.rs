//! What differs between two configurations, object by object: for the audit log and `pando config diff`. Secrets are
//! named, and their values are not shown.
//!
//! Knows the declarations; prints nothing.

use crate::config::Config;
use crate::declarations::CLASSES;
use crate::declare::{Class, Property, Variant};
use crate::mapping::{dn_of, is_secret};
use crate::secret::HIDDEN;
use crate::step::{Step, title};

/// What became of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is new.
    Added,
    /// Some of its values are others.
    Changed,
    /// It is gone.
    Removed,
}

/// An object that differs.
#[derive(Debug, Clone)]
pub struct Difference {
    /// How the file names it: `[global]`.
    pub title: String,
    /// How its entry is named.
    pub dn: String,
    /// Its class.
    pub class: &'static Class,
    /// Its kind; of one that changed its kind, the new one.
    pub variant: &'static Variant,
    /// What became of it.
    pub fate: Fate,
    /// The properties that differ; of a new object those that are set, of one that is gone those that were.
    pub values: Vec<ValueDifference>,
}

/// A property that differs.
#[derive(Debug, Clone)]
pub struct ValueDifference {
    /// Which one.
    pub property: &'static Property,
    /// The values that it had, defaults included.
    pub before: Vec<String>,
    /// The values that it has.
    pub after: Vec<String>,
}

/// What differs, in the order of the declarations.
#[must_use]
pub fn differences(old: &Config, new: &Config) -> Vec<Difference> {
    let mut found = Vec::new();
    CLASSES.iter().for_each(|class| compare(old, new, &[], class, &mut found));
    found
}

fn compare(old: &Config, new: &Config, above: &[Step<'_>], class: &'static Class, found: &mut Vec<Difference>) {
    let mut names: Vec<String> = match class.named_by {
        None => vec![String::new()],
        Some(_) => old.list(above, class.name).unwrap_or_default().into_iter().map(|object| object.name).collect(),
    };
    for object in new.list(above, class.name).unwrap_or_default() {
        if class.named_by.is_some() && !names.iter().any(|name| name.eq_ignore_ascii_case(&object.name)) {
            names.push(object.name);
        }
    }
    for name in &names {
        let path: Vec<Step<'_>> = [above, &[(class.name, name.as_str())]].concat();
        found.extend(one(old, new, &path, class));
        class.children.iter().for_each(|child| compare(old, new, &path, child, found));
    }
}

fn one(old: &Config, new: &Config, path: &[Step<'_>], class: &'static Class) -> Option<Difference> {
    let (before, after) = (old.variant_of(path), new.variant_of(path));
    let (variant, fate) = match (before, after) {
        (None, None) => return None,
        (None, Some(variant)) => (variant, Fate::Added),
        (Some(variant), None) => (variant, Fate::Removed),
        (Some(one), Some(other)) if one.type_name != other.type_name => (other, Fate::Added),
        (Some(_), Some(variant)) => (variant, Fate::Changed),
    };
    let all = |config: &Config| config.properties_of(path).unwrap_or_default();
    let (old_values, new_values) = (all(old), all(new));
    let of = |values: &[(&str, Vec<String>)], name: &str| {
        values.iter().find(|(own, _)| *own == name).map(|(_, values)| values.clone()).unwrap_or_default()
    };
    let mut values = Vec::new();
    for property in variant.properties {
        let (mut before, mut after) = (of(&old_values, property.name), of(&new_values, property.name));
        let differs = match fate {
            Fate::Changed if is_secret(property) => !old.has_same_values(new, path, property.name),
            Fate::Changed => before != after,
            Fate::Added => new.sets(path, property.name),
            Fate::Removed => old.sets(path, property.name),
        };
        if !differs {
            continue;
        }
        match fate {
            Fate::Added => before.clear(),
            Fate::Removed => after.clear(),
            Fate::Changed => {}
        }
        if is_secret(property) {
            before.iter_mut().chain(&mut after).for_each(|value| HIDDEN.clone_into(value));
        }
        values.push(ValueDifference { property, before, after });
    }
    if fate == Fate::Changed && values.is_empty() {
        return None;
    }
    Some(Difference { title: title(path), dn: dn_of(path), class, variant, fate, values })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn what_came_went_and_changed_is_told_without_secrets() {
        let parse = |text: &str| Config::parse(text, Path::new("pando.toml")).unwrap();
        let user = |password: &str| {
            format!("[root-dn-user.a]\nalternate-bind-dn = \"cn=a\"\npassword = \"{{SSHA512}}{password}\"\n")
        };
        let old = parse(&format!("[global]\nsize-limit = 7\n{}[limits.a]\ntype = \"everyone\"\n", user("b25l")));
        let new = parse(&format!("[limits.b]\ntype = \"everyone\"\nsize-limit = 5\n{}", user("dHdv")));
        let told: Vec<String> = differences(&old, &new)
            .into_iter()
            .map(|it| {
                let values = it
                    .values
                    .iter()
                    .map(|one| format!("{} {}>{}", one.property.name, one.before.join(","), one.after.join(",")));
                format!("{:?} {} {}", it.fate, it.title, values.collect::<Vec<_>>().join(" "))
            })
            .collect();
        assert_eq!(
            told,
            [
                "Changed [global] size-limit 7>1000",
                "Removed [limits.a] ",
                "Added [limits.b] size-limit >5",
                "Changed [root-dn-user.a] password ********>********",
            ]
        );
        assert!(differences(&old, &old).is_empty());
    }
}
