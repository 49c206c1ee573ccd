//! From the text of `pando.toml` to checked objects, with every fault and its place.
//!
//! Knows the declarations and TOML. Does not know what the properties do, nor which objects must exist (see
//! `crate::check`).

use std::ops::Range;

use nearest::hint;
use toml_edit::{Document, Item, TableLike, Value as TomlValue};

use crate::declarations::{CLASSES, class};
use crate::declare::{Class, Default, Property, Variant};
use crate::error::{ConfigError, Places};
use crate::object::{Object, Setting, quoted};
use crate::syntax::Syntax;
use crate::value::{Value, parse};

/// Longest file that is read. A real one has some kilobytes.
pub(crate) const FILE_BYTES_MAX: usize = 16 << 20;

/// Reads the text; gives what could be read and every fault.
pub(crate) fn objects(text: &str) -> (Vec<Object>, Vec<ConfigError>) {
    let places = Places(text);
    if text.len() > FILE_BYTES_MAX {
        let message = format!("the file has {} bytes; at most {FILE_BYTES_MAX} are allowed", text.len());
        return (Vec::new(), vec![places.at(0, message)]);
    }
    let document = match Document::parse(text) {
        Ok(document) => document,
        Err(error) => {
            let offset = error.span().map_or(0, |span| span.start);
            return (
                Vec::new(),
                vec![places.at(offset, format!("this is not TOML: {}", error.message().replace('\n', "; ")))],
            );
        }
    };
    let mut reader = Reader { places, errors: Vec::new() };
    let mut objects = Vec::new();
    let table = document.as_table();
    for (name, item) in table.iter() {
        let offset = start(table.key(name).and_then(toml_edit::Key::span));
        match class(name) {
            Some(class) => reader.class(class, item, offset, &mut objects),
            None => reader.unknown(
                offset,
                &format!("unknown table or key \"{name}\""),
                name,
                &CLASSES.map(|class| class.name),
            ),
        }
    }
    (objects, reader.errors)
}

struct Reader<'a> {
    places: Places<'a>,
    errors: Vec<ConfigError>,
}

impl Reader<'_> {
    fn fault(&mut self, offset: usize, message: impl Into<String>) {
        self.errors.push(self.places.at(offset, message));
    }

    /// Reports an unknown name with those that look like it, or with all.
    fn unknown(&mut self, offset: usize, what: &str, name: &str, known: &[&str]) {
        self.fault(offset, format!("{what}: {}", hint(name, known)));
    }

    /// All objects of a class: one table, or a table of named tables.
    fn class(&mut self, class: &'static Class, item: &Item, offset: usize, objects: &mut Vec<Object>) {
        let Some(table) = item.as_table_like() else {
            let shape =
                if class.named_by.is_some() { format!("[{}.NAME]", class.name) } else { format!("[{}]", class.name) };
            return self.fault(offset, format!("\"{}\" must be a table: write {shape}", class.name));
        };
        let Some(named_by) = class.named_by else {
            return objects.extend(self.object(class, String::new(), table, offset));
        };
        for (name, item) in table.iter() {
            let offset = start(key_span(table, name));
            if let Some(fault) = fault_of_name(name) {
                let name = quoted(name);
                self.fault(offset, format!("[{}.{name}]: {fault}; the name is {named_by}", class.name));
                continue;
            }
            match item.as_table_like() {
                Some(table) => objects.extend(self.object(class, name.to_owned(), table, offset)),
                None => self.fault(
                    offset,
                    format!(
                        "\"{name}\" stands directly in [{0}]; it must stand in [{0}.NAME], where NAME is {named_by}",
                        class.name
                    ),
                ),
            }
        }
    }

    fn object(&mut self, class: &'static Class, name: String, table: &dyn TableLike, offset: usize) -> Option<Object> {
        let variant = self.variant(class, table, offset)?;
        let mut object = Object { offset, ..Object::with_defaults(class, variant, &name) };
        for (key, item) in table.iter() {
            let key_offset = start(key_span(table, key));
            if key == "type" && !variant.type_name.is_empty() {
                continue;
            }
            if let Some(child) = class.child(key) {
                let mut children = Vec::new();
                self.class(child, item, key_offset, &mut children);
                object.children.append(&mut children);
                continue;
            }
            match variant.property(key) {
                Some(property) => {
                    if let Some(setting) = self.setting(property, item, key_offset) {
                        object.settings.insert(property.name, setting);
                    }
                }
                None => {
                    let what = self.unknown_property(class, variant, key, &object.title());
                    let mut known: Vec<&str> = variant.properties.iter().map(|property| property.name).collect();
                    known.extend(class.children.iter().map(|class| class.name));
                    self.unknown(key_offset, &what, key, &known);
                }
            }
        }
        for property in variant.properties.iter().filter(|property| matches!(property.default, Default::Mandatory)) {
            if !table.contains_key(property.name) {
                self.fault(
                    offset,
                    format!("{} needs \"{}\": {}", object.title(), property.name, property.syntax.allowed()),
                );
            }
        }
        Some(object)
    }

    /// The sentence about an unknown key; one that another type has deserves to be told so.
    fn unknown_property(&self, class: &Class, variant: &Variant, key: &str, title: &str) -> String {
        let elsewhere = class.variants.iter().find(|other| other.property(key).is_some());
        match elsewhere {
            Some(other) => format!(
                "\"{key}\" belongs to type \"{}\", and {title} has type \"{}\"",
                other.type_name, variant.type_name
            ),
            None => format!("unknown property \"{key}\" in {title}"),
        }
    }

    fn variant(&mut self, class: &'static Class, table: &dyn TableLike, offset: usize) -> Option<&'static Variant> {
        if let Some(unsaid) = class.unsaid()
            && (unsaid.type_name.is_empty() || !table.contains_key("type"))
        {
            return Some(unsaid);
        }
        let known: Vec<&str> = class.variants.iter().map(|variant| variant.type_name).collect();
        let Some(item) = table.get("type") else {
            self.fault(offset, format!("this {} needs \"type\": one of {}", class.name, known.join(", ")));
            return None;
        };
        let value_offset = start(item.span());
        let name = item.as_str().unwrap_or_default();
        let found = class.variant(name);
        if found.is_none() {
            self.unknown(value_offset, &format!("unknown type \"{name}\" of {}", class.name), name, &known);
        }
        found
    }

    fn setting(&mut self, property: &'static Property, item: &Item, key_offset: usize) -> Option<Setting> {
        let Some(value) = item.as_value() else {
            self.fault(key_offset, format!("\"{}\" must be {}, not a table", property.name, property.syntax.allowed()));
            return None;
        };
        let faults_before = self.errors.len();
        let mut values = Vec::new();
        match value.as_array() {
            Some(array) if property.multi_valued => {
                for element in array.iter() {
                    values.extend(self.value(property, element));
                }
                if array.is_empty() && matches!(property.default, Default::Mandatory) {
                    self.fault(
                        start(value.span()),
                        format!("\"{}\" needs at least one value: {}", property.name, property.syntax.allowed()),
                    );
                }
            }
            Some(_) => self.fault(
                start(value.span()),
                format!("\"{}\" takes one value: {}", property.name, property.syntax.allowed()),
            ),
            None => values.extend(self.value(property, value)),
        }
        (self.errors.len() == faults_before).then_some(Setting { values })
    }

    fn value(&mut self, property: &'static Property, value: &TomlValue) -> Option<(Value, usize)> {
        let offset = start(value.span());
        let text = match value {
            TomlValue::String(text) => text.value().clone(),
            // A number of TOML may be octal itself: 0o640.
            TomlValue::Integer(number) if matches!(property.syntax, Syntax::Mode) => {
                let written = value.span().and_then(|span| self.places.0.get(span));
                let digits = written.map_or_else(|| number.value().to_string(), str::to_owned);
                digits.strip_prefix("0o").unwrap_or(&digits).to_owned()
            }
            TomlValue::Integer(number) => number.value().to_string(),
            TomlValue::Boolean(yes) if matches!(property.syntax, Syntax::Boolean) => yes.value().to_string(),
            TomlValue::Float(number) if matches!(property.syntax, Syntax::Size { .. } | Syntax::Duration { .. }) => {
                number.display_repr().into_owned()
            }
            _ => String::new(),
        };
        let parsed = parse(property.syntax, &text);
        if parsed.is_none() {
            let (name, allowed) = (property.name, property.syntax.allowed_instead_of(&text));
            self.fault(
                offset,
                match property.syntax {
                    Syntax::Password => format!("\"{name}\" is not valid; it must be {allowed}"),
                    _ => format!("\"{name}\" is {}; it must be {allowed}", value.to_string().trim()),
                },
            );
        }
        parsed.map(|parsed| (parsed, offset))
    }
}

/// What is wrong with the name of an object, which stands in commands and messages, and in names of entries.
fn fault_of_name(name: &str) -> Option<&'static str> {
    let faults = [
        (name.trim().is_empty(), "a name must not be empty"),
        (name != name.trim(), "a name must not begin or end with a blank"),
        (name.chars().any(char::is_control), "a name must not have control characters"),
    ];
    faults.into_iter().find_map(|(is_wrong, fault)| is_wrong.then_some(fault))
}

fn key_span(table: &dyn TableLike, name: &str) -> Option<Range<usize>> {
    table.key(name).and_then(toml_edit::Key::span)
}

fn start(span: Option<Range<usize>>) -> usize {
    span.map_or(0, |span| span.start)
}
