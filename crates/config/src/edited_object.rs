//! What an edit asks of one object as a whole: the values that it has in the file, another name.
//!
//! Knows the declarations and TOML; writes no file.

use toml_edit::{Item, Key, TableLike};

use crate::component::Component;
use crate::declare::{Class, Default, Variant};
use crate::edit::{Change, Edit, EditError, key_of, texts_of, variant_of};
use crate::step::{Step, class_of, title};
use crate::syntax::Syntax;

/// Properties and their values.
type Values = Vec<(&'static str, Vec<String>)>;

impl Edit {
    /// Kind and values of an object: those of the file as they are written, else the defaults.
    ///
    /// # Errors
    /// When there is no such object.
    pub fn values_of(&mut self, path: &[Step<'_>]) -> Result<(&'static Class, &'static Variant, Values), EditError> {
        let missing = || EditError::Refused(format!("there is no {}", title(path)));
        let class = class_of(path).ok_or_else(missing)?;
        let table = self.find(path);
        let type_name = table.as_ref().and_then(|table| table.get("type")).and_then(Item::as_str).map(str::to_owned);
        if table.is_none() && class.named_by.is_some() {
            return Err(missing());
        }
        let variant = variant_of(path, type_name.as_deref())?.ok_or_else(missing)?;
        let values = variant.properties.iter().map(|property| {
            let set = table.as_ref().and_then(|table| table.get(property.name)).map(texts_of);
            let default = match property.default {
                Default::Values(values) => values.iter().map(ToString::to_string).collect(),
                Default::Absent(_) | Default::Mandatory => Vec::new(),
            };
            (property.name, set.unwrap_or(default))
        });
        Ok((class, variant, values.collect()))
    }

    /// Takes another text for that of the file.
    ///
    /// # Errors
    /// When it has faults.
    pub fn replace(&mut self, text: &str) -> Result<(), EditError> {
        self.set_text(text)?;
        self.config().map(drop)
    }

    /// Gives an object another name. What refers to it by its name follows.
    ///
    /// # Errors
    /// When there is no such object, or one of the new name.
    pub fn rename(&mut self, path: &[Step<'_>], new_name: &str) -> Result<(), EditError> {
        let missing = || EditError::Refused(format!("there is no {}", title(path)));
        let ((class_name, name), above) = path.split_last().ok_or_else(missing)?;
        let referring = self.referring(class_name, name)?;
        let parent = self.find(above).ok_or_else(missing)?;
        let objects = parent.get_mut(class_name).and_then(Item::as_table_like_mut).ok_or_else(missing)?;
        let old = key_of(objects, name).ok_or_else(missing)?;
        if key_of(objects, new_name).is_some_and(|key| key != old) {
            let renamed = [above, &[(*class_name, new_name)]].concat();
            return Err(EditError::Refused(format!("{} exists already", title(&renamed))));
        }
        rename_key(objects, &old, new_name);
        for (own, property, values) in referring {
            let values: Vec<String> = values
                .into_iter()
                .map(|value| if value.eq_ignore_ascii_case(name) { new_name.to_owned() } else { value })
                .collect();
            let own: Vec<Step<'_>> = own.iter().map(|(class, name)| (*class, name.as_str())).collect();
            self.change(&own, property, Change::Set, &values)?;
        }
        Ok(())
    }

    /// The objects that name another one: way, property, its values.
    fn referring(&mut self, class_name: &str, name: &str) -> Result<Vec<Referring>, EditError> {
        let config = self.config()?;
        let mut found = Vec::new();
        for component in Component::all().into_iter().filter(|component| component.classes().len() == 1) {
            let class = component.class();
            let listed = config.list(&[], class.name).unwrap_or_default();
            for object in listed {
                let path = [(class.name, object.name.as_str())];
                let Ok((_, variant, values)) = self.values_of(&path) else { continue };
                for (property, values) in values {
                    let refers = variant
                        .property(property)
                        .is_some_and(|own| matches!(own.syntax, Syntax::Reference(to) if to == class_name));
                    if refers && values.iter().any(|value| value.eq_ignore_ascii_case(name)) {
                        found.push((vec![(class.name, object.name.clone())], property, values));
                    }
                }
            }
        }
        Ok(found)
    }
}

/// Way, property and values.
type Referring = (Vec<(&'static str, String)>, &'static str, Vec<String>);

/// Gives a key another name, in its place and with its comments.
fn rename_key(objects: &mut dyn TableLike, old: &str, new_name: &str) {
    let keys: Vec<String> = objects.iter().map(|(key, _)| key.to_owned()).collect();
    for key in keys {
        let decor = objects.key(&key).map(|key| (key.leaf_decor().clone(), key.dotted_decor().clone()));
        let Some(item) = objects.remove(&key) else { continue };
        let mut made = Key::new(if key == old { new_name } else { &key });
        if let Some((leaf, dotted)) = decor {
            *made.leaf_decor_mut() = leaf;
            *made.dotted_decor_mut() = dotted;
        }
        match objects.entry_format(&made) {
            toml_edit::Entry::Vacant(entry) => _ = entry.insert(item),
            toml_edit::Entry::Occupied(mut entry) => _ = entry.insert(item),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# About a.
[log-rotation-policy.a] # daily
type = \"time-limit\"
rotation-interval = \"1 d\"

[log-rotation-policy.b]
type = \"time-limit\"
rotation-interval = \"2 d\"

[log-publisher.Errors]
type = \"file-based-error\"
rotation-policy = \"a\" # here
";

    #[test]
    fn a_renamed_object_stays_in_its_place_and_references_follow() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pando.toml");
        std::fs::write(&file, FILE).unwrap();
        let mut edit = Edit::open(&file).unwrap();
        edit.rename(&[("log-rotation-policy", "A")], "Every day").unwrap();
        let expected = FILE
            .replace("[log-rotation-policy.a]", "[log-rotation-policy.\"Every day\"]")
            .replace("rotation-policy = \"a\" # here", "rotation-policy = \"Every day\" # here");
        assert_eq!(edit.text(), expected);
        let refused = edit.rename(&[("log-rotation-policy", "b")], "every day").unwrap_err().to_string();
        assert_eq!(refused, "[log-rotation-policy.\"every day\"] exists already");
        assert_eq!(edit.text(), expected);
    }

    #[test]
    fn added_values_come_to_the_defaults() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pando.toml");
        std::fs::write(&file, "[plugin.a]\ntype = \"seven-bit-clean\"\n").unwrap();
        let mut edit = Edit::open(&file).unwrap();
        let path = [("plugin", "a")];
        edit.change(&path, "attribute-type", Change::Add, &["cn".to_owned()]).unwrap();
        let (_, _, values) = edit.values_of(&path).unwrap();
        let values = values.into_iter().find(|(name, _)| *name == "attribute-type").unwrap().1;
        assert_eq!(values, ["uid", "mail", "userPassword", "cn"]);
    }
}
