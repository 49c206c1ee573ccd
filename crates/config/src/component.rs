//! What a configuration tool calls the declared objects: `backend-vlv-index`, its plural, the options that name one
//! (OpenDJ's words for what OpenDJ has). Made from the declarations, so that a class that is declared can be listed,
//! created, shown, changed and deleted.
//!
//! Knows names only.

use crate::declarations::CLASSES;
use crate::declare::{Class, Default, Property, Variant};

/// A class and those that its objects are in.
#[derive(Debug, Clone)]
pub struct Component {
    /// The outermost first, the class itself last.
    classes: Vec<&'static Class>,
}

impl Component {
    /// Everything that is declared, each class followed by those in it.
    #[must_use]
    pub fn all() -> Vec<Component> {
        fn add(above: &[&'static Class], class: &'static Class, all: &mut Vec<Component>) {
            let classes = [above, &[class]].concat();
            all.push(Component { classes: classes.clone() });
            class.children.iter().for_each(|child| add(&classes, child, all));
        }
        let mut all = Vec::new();
        CLASSES.iter().for_each(|class| add(&[], class, &mut all));
        all
    }

    /// The classes on the way to an object, the outermost first.
    #[must_use]
    pub fn classes(&self) -> &[&'static Class] {
        &self.classes
    }

    /// The class itself.
    #[must_use]
    pub fn class(&self) -> &'static Class {
        self.classes.last().copied().unwrap_or(CLASSES[0])
    }

    /// Whether there is exactly one object, which has no name.
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.class().named_by.is_none()
    }

    /// The word in subcommands: `plugin`, `backend-vlv-index`, `global-configuration`.
    #[must_use]
    pub fn name(&self) -> String {
        let names: Vec<&str> = self.classes.iter().map(|class| class.name).collect();
        match names.as_slice() {
            ["global"] => "global-configuration".to_owned(),
            ["limits"] => "limits-rule".to_owned(),
            // Said as in OpenDJ, without what they are in.
            [_, criteria @ "access-log-filtering-criteria"] => (*criteria).to_owned(),
            names => names.join("-"),
        }
    }

    /// The word for several: `plugins`, `backend-vlv-indexes`, `log-rotation-policies`.
    #[must_use]
    pub fn plural(&self) -> String {
        plural(&self.name())
    }

    /// The word as people write it: `Backend VLV Index`.
    #[must_use]
    pub fn title(&self) -> String {
        titled(&self.name())
    }

    /// The options that name an object of each class on the way: `backend-name`, `index-name`.
    #[must_use]
    pub fn name_options(&self) -> Vec<(&'static Class, String)> {
        let option = |class: &&'static Class| match class.name {
            "virtual-attribute" => "name".to_owned(),
            "limits" => "rule-name".to_owned(),
            name => format!("{}-name", name.rsplit('-').next().unwrap_or(name)),
        };
        let named = self.classes.iter().filter(|class| class.named_by.is_some());
        named.map(|class| (*class, option(class))).collect()
    }

    /// The properties that a list of objects shows: those that every kind of object has, if they say whether it is in
    /// force or have to be set.
    #[must_use]
    pub fn listed(&self) -> Vec<&'static Property> {
        let [first, others @ ..] = self.class().variants else { return Vec::new() };
        let is_common = |property: &&Property| others.iter().all(|variant| variant.property(property.name).is_some());
        let tells = |property: &&Property| property.name == "enabled" || matches!(property.default, Default::Mandatory);
        first.properties.iter().filter(is_common).filter(tells).collect()
    }

    /// The kinds of object, if there are several or the one has a name.
    pub fn types(&self) -> impl Iterator<Item = &'static Variant> {
        self.class().variants.iter().filter(|variant| !variant.type_name.is_empty())
    }
}

/// A word of subcommands as people write it: `Backend VLV Index`.
pub(crate) fn titled(word: &str) -> String {
    let part = |part: &str| match part {
        "vlv" | "dn" => part.to_uppercase(),
        _ => capitalized(part),
    };
    word.split('-').map(part).collect::<Vec<_>>().join(" ")
}

/// Several of what a word of subcommands names: `log-rotation-policies`.
pub(crate) fn plural(word: &str) -> String {
    if word.ends_with("criteria") {
        // It is a plural already.
        return word.to_owned();
    }
    match (word.strip_suffix('y'), word.ends_with(['x', 's'])) {
        (Some(stem), _) => format!("{stem}ies"),
        (None, true) => format!("{word}es"),
        (None, false) => format!("{word}s"),
    }
}

/// The text with a capital at its beginning, if it begins with a letter of ASCII.
#[must_use]
pub fn capitalized(text: &str) -> String {
    text.get(..1).map(str::to_uppercase).unwrap_or_default() + text.get(1..).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_called_as_in_opendj() {
        let all = Component::all();
        let find = |name: &str| all.iter().find(|component| component.name() == name).unwrap();
        for (name, plural, title, options) in [
            ("plugin", "plugins", "Plugin", "plugin-name"),
            ("virtual-attribute", "virtual-attributes", "Virtual Attribute", "name"),
            ("backend-index", "backend-indexes", "Backend Index", "backend-name index-name"),
            ("backend-vlv-index", "backend-vlv-indexes", "Backend VLV Index", "backend-name index-name"),
            ("log-rotation-policy", "log-rotation-policies", "Log Rotation Policy", "policy-name"),
            ("connection-handler", "connection-handlers", "Connection Handler", "handler-name"),
            ("root-dn-user", "root-dn-users", "Root DN User", "user-name"),
            ("limits-rule", "limits-rules", "Limits Rule", "rule-name"),
            (
                "access-log-filtering-criteria",
                "access-log-filtering-criteria",
                "Access Log Filtering Criteria",
                "publisher-name criteria-name",
            ),
        ] {
            let component = find(name);
            let names: Vec<String> = component.name_options().into_iter().map(|(_, option)| option).collect();
            assert_eq!(
                (component.plural(), component.title(), names.join(" ")),
                (plural.into(), title.into(), options.into())
            );
        }
        assert!(find("global-configuration").is_single() && !find("plugin").is_single());
        let listed = |name| find(name).listed().iter().map(|property| property.name).collect::<Vec<_>>();
        assert_eq!(listed("plugin"), ["enabled"]);
        assert_eq!(listed("backend"), ["enabled", "base-dn"]);
    }

    /// One word where the plural is the singular.
    fn words_of(one: &Component) -> Vec<String> {
        let mut words = vec![one.name(), one.plural()];
        words.dedup();
        words
    }

    #[test]
    fn no_two_components_share_a_word() {
        let mut words: Vec<String> = Component::all().iter().flat_map(words_of).collect();
        words.sort();
        let count = words.len();
        words.dedup();
        assert_eq!(words.len(), count);
    }
}
