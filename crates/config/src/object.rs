//! A managed object as the file has it: its class, its settings and their places in the text.
//!
//! Knows the declarations; reads no TOML. Defaults are filled in when a value is asked for.

use std::collections::BTreeMap;

use crate::declare::{Class, Default, Property, Variant};
use crate::value::{Value, parse};

/// One managed object as the file has it, defaults not filled in.
#[derive(Debug, Clone)]
pub struct Object {
    /// Its class.
    pub class: &'static Class,
    /// Its kind.
    pub variant: &'static Variant,
    /// Its name; empty for the one object of a class without names.
    pub name: String,
    /// What the file sets.
    pub settings: BTreeMap<&'static str, Setting>,
    /// Objects inside.
    pub children: Vec<Object>,
    /// Where the object begins in the text.
    pub offset: usize,
}

/// The values of one property.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Each value with its place in the text.
    pub values: Vec<(Value, usize)>,
}

impl Object {
    /// An object with nothing set, for classes that the file may leave out.
    pub(crate) fn with_defaults(class: &'static Class, variant: &'static Variant, name: &str) -> Self {
        Self { class, variant, name: name.to_owned(), settings: BTreeMap::new(), children: Vec::new(), offset: 0 }
    }

    /// How the file names the object: `[backend.userRoot]`.
    pub(crate) fn title(&self) -> String {
        match self.class.named_by {
            None => format!("[{}]", self.class.name),
            Some(_) => format!("[{}.{}]", self.class.name, quoted(&self.name)),
        }
    }

    /// The values of a property: those of the file, else the declared default, else none.
    pub(crate) fn values(&self, name: &str) -> Vec<Value> {
        if let Some(setting) = self.settings.get(name) {
            return setting.values.iter().map(|(value, _)| value.clone()).collect();
        }
        let property = self.variant.property(name);
        debug_assert!(property.is_some(), "{name} is not declared for {}", self.class.name);
        match property {
            Some(Property { default: Default::Values(texts), syntax, .. }) => {
                texts.iter().filter_map(|text| parse(*syntax, text)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The objects of that class inside.
    pub(crate) fn children_of(&self, class: &'static str) -> impl Iterator<Item = &Object> {
        self.children.iter().filter(move |child| child.class.name == class)
    }

    /// Adds what judges find in what the file sets of their properties, each with its place.
    pub(crate) fn judge(&self, judges: &[(&str, Judge)], faults: &mut Vec<(usize, String)>) {
        for (name, judge) in judges {
            for (value, offset) in self.settings.get(name).iter().flat_map(|setting| &setting.values) {
                if let Err(reason) = judge(&value.to_string()) {
                    let shown = toml_edit::Value::from(value.to_string());
                    faults.push((*offset, format!("\"{name}\" is {}: {reason}", shown.to_string().trim())));
                }
            }
        }
    }

    /// Where the first value of a property stands, else where the object begins.
    pub(crate) fn offset_of(&self, name: &str) -> usize {
        self.settings.get(name).and_then(|setting| setting.values.first()).map_or(self.offset, |(_, offset)| *offset)
    }
}

/// Says why the text of a value is not valid, in words that follow the value and a colon.
pub(crate) type Judge = fn(&str) -> Result<(), String>;

/// A name as a TOML key.
pub(crate) fn quoted(name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    if bare { name.to_owned() } else { toml_edit::Value::from(name).to_string() }
}
