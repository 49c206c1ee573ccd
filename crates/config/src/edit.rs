//! Changing `pando.toml` in place: comments, order and everything that is not touched stay as they are.
//!
//! Knows the declarations and TOML. What is saved has been read back without faults; the version before is kept beside
//! it. Does not know whether a server runs.

use std::path::{Path, PathBuf};
use std::{fs, io};

use nearest::hint;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value as TomlValue};

use crate::array::{become_values, text_of};
use crate::config::Config;
use crate::declare::{Default, Property, Variant};
use crate::error::ConfigErrors;
use crate::lines::Lines;
use crate::reference::setting_line;
use crate::secret::HIDDEN;
use crate::step::{Step, class_of, title};
use crate::syntax::Syntax;
use crate::value::parse;

/// What becomes of the values of a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// They are these.
    Set,
    /// These come to them.
    Add,
    /// These go.
    Remove,
    /// They are not set any more: the default holds.
    Reset,
}

/// Why the file is not changed.
#[derive(Debug)]
pub enum EditError {
    /// It would have faults, or has some already.
    Faults(ConfigErrors),
    /// The change makes no sense; one sentence.
    Refused(String),
    /// Somebody else changed the file meanwhile.
    Changed(PathBuf),
    /// It cannot be written.
    Io(PathBuf, io::Error),
}

impl std::error::Error for EditError {}

impl std::fmt::Display for EditError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Faults(errors) => errors.fmt(out),
            Self::Refused(message) => out.write_str(message),
            Self::Changed(path) => {
                write!(out, "{} was changed by another program meanwhile: repeat the command", path.display())
            }
            Self::Io(path, error) => write!(out, "{}: {error}", path.display()),
        }
    }
}

impl From<ConfigErrors> for EditError {
    fn from(errors: ConfigErrors) -> Self {
        Self::Faults(errors)
    }
}

/// The file while it is being changed.
#[derive(Debug)]
pub struct Edit {
    file: PathBuf,
    /// What the file said when it was opened.
    before: String,
    document: DocumentMut,
}

impl Edit {
    /// Opens a file without faults.
    ///
    /// # Errors
    /// When it cannot be read or has faults.
    pub fn open(file: &Path) -> Result<Self, EditError> {
        let text = Config::text_of(file)?;
        Config::parse(&text, file)?;
        let document = text.parse().map_err(|error| EditError::Refused(format!("{}: {error}", file.display())))?;
        Ok(Self { file: file.to_owned(), before: text, document })
    }

    /// Makes an object with nothing set but its `type`, which is needed where a class has several kinds of object.
    ///
    /// # Errors
    /// When there is one of that name, no such type, or nothing that it could be in.
    pub fn create(&mut self, path: &[Step<'_>], type_name: Option<&str>) -> Result<(), EditError> {
        if self.find(path).is_some() {
            return Err(EditError::Refused(format!("{} exists already", title(path))));
        }
        let variant = variant_of(path, type_name)?;
        let Some(((class_name, name), above)) = path.split_last() else { return Ok(()) };
        let above_title = title(above);
        let parent = self.find(above);
        let Some(parent) = parent else { return Err(EditError::Refused(format!("there is no {above_title}"))) };
        if !parent.contains_key(class_name) {
            let mut objects = Table::new();
            objects.set_implicit(true);
            parent.insert(class_name, Item::Table(objects));
        }
        let objects = parent.get_mut(class_name).and_then(Item::as_table_like_mut);
        let Some(objects) = objects else {
            return Err(EditError::Refused(format!("\"{class_name}\" in {above_title} is not a table")));
        };
        // As its neighbours are written: each a line, or each a table.
        let by_line = !above.is_empty() && objects.iter().all(|(_, item)| !item.is_table());
        if by_line {
            if let Some(Item::Table(table)) = parent.get_mut(class_name) {
                table.set_implicit(false);
            }
            if let Some(objects) = parent.get_mut(class_name).and_then(Item::as_table_like_mut) {
                objects.insert(name, Item::Value(TomlValue::InlineTable(InlineTable::new())));
            }
        } else {
            objects.insert(name, Item::Table(Table::new()));
        }
        let need_not_be_written = |variant: &Variant| variant.type_name.is_empty() || variant.type_name == *class_name;
        if let Some(variant) = variant.filter(|variant| !need_not_be_written(variant))
            && let Some(table) = self.find(path)
        {
            table.insert("type", toml_edit::value(variant.type_name));
        }
        Ok(())
    }

    /// Properties of an object that have to be set and are not.
    #[must_use]
    pub fn missing(&mut self, path: &[Step<'_>]) -> Vec<&'static Property> {
        let Some(table) = self.find(path) else { return Vec::new() };
        let type_name = table.get("type").and_then(Item::as_str).map(str::to_owned);
        let set: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).collect();
        let Ok(Some(variant)) = variant_of(path, type_name.as_deref()) else { return Vec::new() };
        let mandatory = variant.properties.iter().filter(|own| matches!(own.default, Default::Mandatory));
        mandatory.filter(|own| !set.iter().any(|key| key == own.name)).collect()
    }

    /// Removes an object and everything in it.
    ///
    /// # Errors
    /// When there is none.
    pub fn delete(&mut self, path: &[Step<'_>]) -> Result<(), EditError> {
        if let [("password-policy", name)] = path
            && let Some(user) = self.config()?.user_of_policy(name)
        {
            let text = format!("{} is {user}: name another one there first", title(path));
            return Err(EditError::Refused(text));
        }
        let missing = || EditError::Refused(format!("there is no {}", title(path)));
        let Some(((class_name, name), above)) = path.split_last() else { return Ok(()) };
        let is_in_one_line = self.is_in_one_line(above, class_name);
        let parent = self.find(above);
        let objects = parent.and_then(|parent| parent.get_mut(class_name)).and_then(Item::as_table_like_mut);
        let objects = objects.ok_or_else(missing)?;
        let key = key_of(objects, name).ok_or_else(missing)?;
        let marker = self.marker();
        let parent = self.find(above).and_then(|parent| parent.get_mut(class_name));
        let Some(objects) = parent.and_then(Item::as_table_like_mut) else { return Err(missing()) };
        match objects.get_mut(&key) {
            Some(Item::Table(table)) if !table.is_dotted() => {
                table.clear();
                table.set_implicit(false);
                table.insert("marker", toml_edit::value(&marker));
                self.rewrite(&marker, Lines::without_table)
            }
            Some(item @ Item::Value(_)) if !is_in_one_line => {
                *item = toml_edit::value(&marker);
                self.rewrite(&marker, Lines::without_line_object)
            }
            _ => {
                objects.remove(&key);
                Ok(())
            }
        }
    }

    /// Changes the values of one property.
    ///
    /// # Errors
    /// When there is no such object, property or value, or more values than the property takes.
    pub fn change(
        &mut self,
        path: &[Step<'_>],
        property: &str,
        change: Change,
        values: &[String],
    ) -> Result<(), EditError> {
        let object = title(path);
        if let [(class_name, "")] = path
            && self.find(path).is_none()
        {
            self.document.insert(class_name, Item::Table(Table::new()));
        }
        let Some(table) = self.find(path) else { return Err(EditError::Refused(format!("there is no {object}"))) };
        let type_name = table.get("type").and_then(Item::as_str).map(str::to_owned);
        let declared = declared(path, type_name.as_deref(), property)?;
        let Some(table) = self.find(path) else { return Err(EditError::Refused(format!("there is no {object}"))) };
        let mut all = table.get(declared.name).map(texts_of).unwrap_or_else(|| match (change, &declared.default) {
            // What is in force is what values come to and go from.
            (Change::Add | Change::Remove, Default::Values(values)) if declared.multi_valued => {
                values.iter().map(ToString::to_string).collect()
            }
            _ => Vec::new(),
        });
        match change {
            Change::Set => all = values.to_vec(),
            Change::Reset => all.clear(),
            Change::Add => all.extend(values.iter().filter(|value| !has(&all, value)).cloned().collect::<Vec<_>>()),
            Change::Remove => {
                if let Some(unknown) = values.iter().find(|value| !has(&all, value)) {
                    let unknown = shown(declared, unknown);
                    return Err(EditError::Refused(format!("\"{property}\" of {object} has no value \"{unknown}\"")));
                }
                all.retain(|own| !has(values, own));
            }
        }
        let is_wrong = |value: &&String| parse(declared.syntax, value).is_none();
        if let Some(wrong) = values.iter().find(is_wrong).filter(|_| change != Change::Remove) {
            let (allowed, wrong) = (declared.syntax.allowed_instead_of(wrong), shown(declared, wrong));
            return Err(EditError::Refused(format!(
                "\"{property}\" of {object}: \"{wrong}\" is not valid; it must be {allowed}"
            )));
        }
        if all.len() > 1 && !declared.multi_valued {
            return Err(EditError::Refused(format!("\"{property}\" of {object} takes one value, not {}", all.len())));
        }
        match all.is_empty() {
            true => self.reset(path, declared),
            false => self.assign(path, declared, &all),
        }
    }

    /// The declaration of a property that an object of this kind has.
    ///
    /// # Errors
    /// When there is no such property; the sentence that says so.
    pub fn declared(path: &[Step<'_>], kind: Option<&str>, property: &str) -> Result<&'static Property, EditError> {
        declared(path, kind, property)
    }

    /// How the file names an object, for messages: `[backend.userRoot]`.
    #[must_use]
    pub fn title_of(path: &[Step<'_>]) -> String {
        title(path)
    }

    /// Sets a property to its final values.
    fn assign(&mut self, path: &[Step<'_>], declared: &'static Property, values: &[String]) -> Result<(), EditError> {
        let setting = setting_line(declared, values);
        let name = declared.name;
        let invalid = || EditError::Refused(format!("\"{name}\" of {} is not valid TOML", title(path)));
        let line: DocumentMut = setting.parse().map_err(|_| invalid())?;
        let Some(mut item) = line.as_table().get(name).cloned() else { return Ok(()) };
        let marker = self.marker();
        let one_line = self.inline(path).is_some();
        let Some(table) = self.find(path) else { return Ok(()) };
        if let Some(old) = table.get_mut(name) {
            let has_lines = old.to_string().contains('\n');
            if has_lines && let Some(one) = item.as_value().filter(|value| !value.is_array()).cloned() {
                item = toml_edit::value(Array::from_iter([one]));
            }
            if let (Some(old), Some(new)) = (old.as_array_mut(), item.as_array()) {
                become_values(old, new);
                return Ok(());
            }
            // In its place: the comment above belongs to the key, the one behind to the value.
            if let (Some(decor), Some(new)) = (old.as_value().map(|old| old.decor().clone()), item.as_value_mut()) {
                *new.decor_mut() = decor;
            }
            *old = item;
            return Ok(());
        }
        if one_line {
            table.insert(name, item);
            if let Some(table) = self.inline(path) {
                table.fmt();
            }
            return Ok(());
        }
        table.insert(name, toml_edit::value(&marker));
        let text = self.text();
        let there = Lines::find(&text, &marker).and_then(|lines| lines.at_commented_default(name, &setting));
        let there = there.and_then(|text| text.parse::<DocumentMut>().ok());
        if let Some(document) = there.filter(|document| Self::holds(document, path, declared, values)) {
            self.document = document;
            return Ok(());
        }
        if let Some(own) = self.find(path).and_then(|table| table.get_mut(name)) {
            *own = item;
        }
        Ok(())
    }

    /// Whether a property of an object has these values, and no other.
    fn holds(document: &DocumentMut, path: &[Step<'_>], declared: &Property, values: &[String]) -> bool {
        let mut document = document.clone();
        let table = find_in(&mut document, path);
        table.and_then(|table| table.get(declared.name)).is_some_and(|item| texts_of(item) == values)
    }

    /// Lets the default of a property hold.
    fn reset(&mut self, path: &[Step<'_>], declared: &'static Property) -> Result<(), EditError> {
        let marker = self.marker();
        let one_line = self.inline(path).is_some();
        let Some(table) = self.find(path) else { return Ok(()) };
        match table.get_mut(declared.name) {
            None => Ok(()),
            Some(_) if one_line => {
                table.remove(declared.name);
                Ok(())
            }
            Some(item) => {
                *item = toml_edit::value(&marker);
                let default = match declared.default {
                    Default::Values(values) => {
                        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                        Some(setting_line(declared, &values))
                    }
                    Default::Absent(_) | Default::Mandatory => None,
                };
                self.rewrite(&marker, |lines| lines.without_setting(default.as_deref()))
            }
        }
    }

    /// Changes the lines around the marker, and reads the text again.
    fn rewrite(&mut self, marker: &str, change: impl FnOnce(Lines) -> String) -> Result<(), EditError> {
        let Some(lines) = Lines::find(&self.text(), marker) else { return Ok(()) };
        let failed = |error| EditError::Refused(format!("{}: {error}", self.file.display()));
        self.document = change(lines).parse().map_err(failed)?;
        Ok(())
    }

    fn marker(&self) -> String {
        Lines::marker(&self.text())
    }

    /// Whether the objects of a class are all in one line: `index = { cn = { … }, sn = { … } }`.
    fn is_in_one_line(&mut self, above: &[Step<'_>], class_name: &str) -> bool {
        self.find(above).and_then(|parent| parent.get(class_name)).is_some_and(|objects| objects.is_inline_table())
    }

    /// The file as it would be.
    #[must_use]
    pub fn text(&self) -> String {
        self.document.to_string()
    }

    pub(crate) fn set_text(&mut self, text: &str) -> Result<(), EditError> {
        let failed = |error| EditError::Refused(format!("{}: {error}", self.file.display()));
        self.document = text.parse().map_err(failed)?;
        Ok(())
    }

    /// What the file would mean.
    ///
    /// # Errors
    /// When it would have faults.
    pub fn config(&self) -> Result<Config, EditError> {
        Ok(Config::parse(&self.text(), &self.file)?)
    }

    /// Writes the file so that a crash leaves the old or the new one whole; the old one stays as `pando.toml.bak`. Two
    /// programs that edit keep each other out by a lock of their own: here only a file that somebody saved meanwhile is
    /// noticed.
    ///
    /// # Errors
    /// When it would have faults, was changed since it was opened, or cannot be written.
    pub fn save(&self) -> Result<(), EditError> {
        self.check()?;
        self.write(&self.backup(), self.before.as_bytes())?;
        self.write(&self.file, self.text().as_bytes())
    }

    /// [`Edit::save`] without keeping what the file said before: it had a password in the clear.
    ///
    /// # Errors
    /// As there.
    pub fn save_without_backup(&self) -> Result<(), EditError> {
        self.check()?;
        self.write(&self.file, self.text().as_bytes())
    }

    fn check(&self) -> Result<(), EditError> {
        self.config()?;
        let now = fs::read(&self.file).map_err(|error| EditError::Io(self.file.clone(), error))?;
        if now == self.before.as_bytes() {
            return Ok(());
        }
        Err(EditError::Changed(self.file.clone()))
    }

    /// Only those may read what is written who may read the file: there are passwords in it.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), EditError> {
        let permissions = fs::metadata(&self.file).map(|metadata| metadata.permissions());
        permissions
            .and_then(|permissions| durable::replace_file(path, bytes, Some(permissions)))
            .map_err(|error| EditError::Io(path.to_owned(), error))
    }

    /// Writes what was there before [`Edit::save`]: the server did not take the change. The copy takes no room on a
    /// full disk.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn take_back(&self) -> Result<(), EditError> {
        let failed = |error| EditError::Io(self.file.clone(), error);
        match fs::read(self.backup()) {
            Ok(kept) if kept == self.before.as_bytes() => durable::rename(&self.backup(), &self.file).map_err(failed),
            _ => self.write(&self.file, self.before.as_bytes()),
        }
    }

    fn backup(&self) -> PathBuf {
        durable::beside(&self.file, ".bak")
    }

    /// The object, if it is written in one line; no comment can be in there.
    fn inline(&mut self, path: &[Step<'_>]) -> Option<&mut InlineTable> {
        let ((class_name, name), above) = path.split_last()?;
        let parent = self.find(above);
        let objects = parent?.get_mut(class_name)?.as_table_like_mut()?;
        let key = key_of(objects, name)?;
        objects.get_mut(&key)?.as_inline_table_mut()
    }

    pub(crate) fn find(&mut self, path: &[Step<'_>]) -> Option<&mut dyn TableLike> {
        find_in(&mut self.document, path)
    }
}

fn find_in<'d>(document: &'d mut DocumentMut, path: &[Step<'_>]) -> Option<&'d mut dyn TableLike> {
    let mut found: &mut dyn TableLike = document.as_table_mut();
    for (class_name, name) in path {
        let objects = found.get_mut(class_name)?.as_table_like_mut()?;
        if name.is_empty() {
            found = objects;
            continue;
        }
        let key = key_of(objects, name)?;
        found = objects.get_mut(&key)?.as_table_like_mut()?;
    }
    Some(found)
}

/// A value as messages show it.
fn shown<'v>(property: &Property, value: &'v str) -> &'v str {
    if matches!(property.syntax, Syntax::Password) { HIDDEN } else { value }
}

/// The key as the file spells it.
pub(crate) fn key_of(table: &dyn TableLike, name: &str) -> Option<String> {
    table.iter().map(|(key, _)| key).find(|key| key.eq_ignore_ascii_case(name)).map(str::to_owned)
}

fn has(values: &[String], value: &str) -> bool {
    values.iter().any(|own| own.eq_ignore_ascii_case(value))
}

/// The kind of an object that is, or will be, at the end of a path.
pub(crate) fn variant_of(path: &[Step<'_>], type_name: Option<&str>) -> Result<Option<&'static Variant>, EditError> {
    let Some(class) = class_of(path) else { return Ok(None) };
    if let (Some(unsaid), None) = (class.unsaid(), type_name) {
        return Ok(Some(unsaid));
    }
    let known: Vec<&str> = class.variants.iter().map(|variant| variant.type_name).collect();
    let Some(type_name) = type_name else {
        let message = format!("a {} needs a type: one of {}", class.name, known.join(", "));
        return Err(EditError::Refused(message));
    };
    let found = class.variant(type_name).map(Some);
    found.ok_or_else(|| {
        EditError::Refused(format!(
            "there is no {} of type \"{type_name}\": known are {}",
            class.name,
            known.join(", ")
        ))
    })
}

/// The declaration of a property.
fn declared(path: &[Step<'_>], type_name: Option<&str>, property: &str) -> Result<&'static Property, EditError> {
    let properties = variant_of(path, type_name)?.map_or(&[][..], |variant| variant.properties);
    let is_meant = |own: &&Property| own.name.eq_ignore_ascii_case(property);
    properties.iter().find(is_meant).ok_or_else(|| {
        let others = class_of(path).map_or(&[][..], |class| class.variants);
        if let Some(other) = others.iter().find(|other| other.properties.iter().any(|own| is_meant(&own))) {
            let (title, own, other) = (title(path), type_name.unwrap_or_default(), other.type_name);
            let message = format!("\"{property}\" belongs to type \"{other}\", and {title} has type \"{own}\"");
            return EditError::Refused(message);
        }
        let known: Vec<&str> = properties.iter().map(|own| own.name).collect();
        let hint = hint(property, &known);
        EditError::Refused(format!("unknown property \"{property}\" of {}: {hint}", title(path)))
    })
}

/// The values of an item as texts.
pub(crate) fn texts_of(item: &Item) -> Vec<String> {
    match item.as_value() {
        Some(TomlValue::Array(values)) => values.iter().map(text_of).collect(),
        Some(value) => vec![text_of(value)],
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# A comment.
[backend.userRoot] # about the backend
base-dn = \"dc=example,dc=com\"
index-entry-limit = 4000 # as ever

# Indexes.
[backend.userRoot.index]
cn  = { index-type = [\"equality\", \"substring\"] } # names
uid = { index-type = \"equality\" }

[global]
size-limit = 10
";

    fn edit() -> (tempfile::TempDir, Edit) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pando.toml");
        fs::write(&file, FILE).unwrap();
        let edit = Edit::open(&file).unwrap();
        (folder, edit)
    }

    const BACKEND: Step<'_> = ("backend", "userroot");

    fn texts(values: &[&str]) -> Vec<String> {
        values.iter().map(|value| (*value).to_owned()).collect()
    }

    #[test]
    fn only_what_is_meant_changes() {
        let (folder, mut edit) = edit();
        let sn = [BACKEND, ("index", "sn")];
        edit.create(&sn, None).unwrap();
        edit.change(&sn, "index-type", Change::Set, &texts(&["equality"])).unwrap();
        edit.change(&sn, "index-type", Change::Add, &texts(&["substring", "equality"])).unwrap();
        edit.change(&[BACKEND, ("index", "CN")], "index-type", Change::Remove, &texts(&["substring"])).unwrap();
        edit.change(&[BACKEND], "index-entry-limit", Change::Set, &texts(&["0"])).unwrap();
        edit.delete(&[BACKEND, ("index", "uid")]).unwrap();
        edit.save().unwrap();
        let text = fs::read_to_string(folder.path().join("pando.toml")).unwrap();
        let expected = FILE
            .replace("index-entry-limit = 4000 # as", "index-entry-limit = 0 # as")
            .replace("[\"equality\", \"substring\"] } # names", "\"equality\" } # names")
            .replace("uid = { index-type = \"equality\" }\n", "sn = { index-type = [\"equality\", \"substring\"] }\n");
        assert_eq!(text, expected);
        assert_eq!(fs::read_to_string(folder.path().join("pando.toml.bak")).unwrap(), FILE);
        assert!(!folder.path().join("pando.toml.new").exists());
        edit.change(&sn, "index-type", Change::Set, &texts(&["presence"])).unwrap();
        edit.change(&[BACKEND], "index-entry-limit", Change::Reset, &[]).unwrap();
        let config = edit.config().unwrap();
        assert_eq!((config.backends[0].indexes.len(), config.backends[0].index_entry_limit), (2, 4000));
    }

    #[test]
    fn values_of_which_each_has_a_line_keep_their_comments() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pando.toml");
        let one = "'(targetattr=\"cn\")(version 3.0; acl \"a\"; allow (read) userdn=\"ldap:///all\";)'";
        let text = format!("[access-control-handler]\nglobal-aci = [\n  # Names.\n  {one}, # a\n]\n");
        fs::write(&file, &text).unwrap();
        let mut edit = Edit::open(&file).unwrap();
        let two = one.trim_matches('\'').replace("cn", "sn");
        let handler = [("access-control-handler", "")];
        edit.change(&handler, "global-aci", Change::Add, &texts(&[&two])).unwrap();
        assert_eq!(edit.text(), text.replace("# a\n", &format!("# a\n  '{two}',\n")));
        edit.change(&handler, "global-aci", Change::Remove, &texts(&[&two])).unwrap();
        assert_eq!(edit.text(), text);
    }

    #[test]
    fn what_makes_no_sense_is_refused_and_changes_nothing() {
        let (folder, mut edit) = edit();
        let cn = [BACKEND, ("index", "cn")];
        for (result, word) in [
            (edit.create(&cn, None), "exists already"),
            (edit.create(&[("backend", "other"), ("index", "cn")], None), "no [backend.other]"),
            (edit.delete(&[BACKEND, ("index", "sn")]), "[backend.userroot.index.sn]"),
            (edit.change(&cn, "index-typ", Change::Set, &texts(&["equality"])), "did you mean index-type"),
            (edit.change(&cn, "substring-length", Change::Set, &texts(&["4", "5"])), "one value"),
            (edit.change(&cn, "index-type", Change::Remove, &texts(&["presence"])), "no value"),
            (edit.change(&cn, "index-type", Change::Set, &texts(&["sounds"])), "must be one of equality"),
            (edit.create(&[("plugin", "a")], None), "needs a type: one of referential-integrity"),
            (edit.create(&[("plugin", "a")], Some("overlay")), "no plugin of type \"overlay\""),
        ] {
            let message = result.unwrap_err().to_string();
            assert!(message.contains(word), "{message}");
        }
        assert_eq!(edit.text(), FILE);
        edit.change(&cn, "index-extensible-matching-rule", Change::Set, &texts(&["fr"])).unwrap();
        let message = edit.save().unwrap_err().to_string();
        assert!(message.contains("pando.toml:8:") && message.contains("\"extensible\""), "{message}");
        assert_eq!(fs::read_to_string(folder.path().join("pando.toml")).unwrap(), FILE);
        assert!(!folder.path().join("pando.toml.bak").exists());
    }

    #[test]
    fn objects_of_every_kind_come_and_go() {
        let (folder, mut edit) = edit();
        let rule = [("plugin", "Unique mail")];
        edit.create(&rule, Some("unique-attribute")).unwrap();
        assert_eq!(edit.missing(&rule).iter().map(|own| own.name).collect::<Vec<_>>(), ["attribute-type"]);
        edit.change(&rule, "attribute-type", Change::Set, &texts(&["mail", "cn"])).unwrap();
        assert!(edit.missing(&rule).is_empty());
        let message = edit.change(&rule, "check-references", Change::Set, &texts(&["true"])).unwrap_err().to_string();
        assert!(message.contains("belongs to type \"referential-integrity\""), "{message}");
        let list = [BACKEND, ("vlv-index", "people")];
        edit.create(&list, None).unwrap();
        for (name, value) in
            [("base-dn", "dc=example,dc=com"), ("scope", "whole-subtree"), ("filter", "(cn=*)"), ("sort-order", "+sn")]
        {
            edit.change(&list, name, Change::Set, &texts(&[value])).unwrap();
        }
        edit.change(&[("global", "")], "size-limit", Change::Reset, &[]).unwrap();
        edit.change(&[("global", "")], "time-limit", Change::Set, &texts(&["5 s"])).unwrap();
        edit.save().unwrap();
        let config = Config::load(&folder.path().join("pando.toml")).unwrap();
        assert_eq!((config.plugins.len(), config.backends[0].vlv_indexes[0].name.as_str()), (1, "people"));
        assert_eq!(config.global.time_limit, Some(std::time::Duration::from_secs(5)));
        let listed = config.list(&[], "plugin").unwrap();
        assert_eq!(
            (listed.len(), listed[0].name.as_str(), listed[0].type_name),
            (1, "Unique mail", "unique-attribute")
        );
        assert_eq!(config.list(&[BACKEND], "index").unwrap().len(), 2);
        assert_eq!(config.list(&[("backend", "other")], "index"), None);
        edit.delete(&rule).unwrap();
        edit.delete(&list).unwrap();
        edit.change(&[("global", "")], "time-limit", Change::Reset, &[]).unwrap();
        edit.change(&[("global", "")], "size-limit", Change::Set, &texts(&["10"])).unwrap();
        assert_eq!(edit.config().unwrap().plugins.len(), 0, "{}", edit.text());
    }

    #[test]
    fn what_somebody_else_saved_meanwhile_is_not_lost() {
        let (folder, mut edit) = edit();
        let file = folder.path().join("pando.toml");
        edit.change(&[("global", "")], "size-limit", Change::Set, &texts(&["20"])).unwrap();
        let other = FILE.replace("size-limit = 10", "size-limit = 10\ntime-limit = \"9 s\"");
        fs::write(&file, &other).unwrap();
        let refused = edit.save().unwrap_err().to_string();
        assert!(refused.contains("changed by another program meanwhile"), "{refused}");
        assert_eq!(fs::read_to_string(&file).unwrap(), other);
    }

    #[test]
    fn a_backend_without_indexes_gets_its_first() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pando.toml");
        fs::write(&file, "[backend.a]\nbase-dn = \"dc=a\"\n").unwrap();
        let mut edit = Edit::open(&file).unwrap();
        let cn = [("backend", "a"), ("index", "cn")];
        edit.create(&cn, None).unwrap();
        edit.change(&cn, "index-type", Change::Set, &texts(&["equality"])).unwrap();
        assert_eq!(edit.config().unwrap().backends[0].indexes.len(), 1, "{}", edit.text());
    }

    #[test]
    fn a_policy_that_is_in_force_without_being_named_is_not_deleted() {
        const USER: &str = "[root-dn-user.a]\nalternate-bind-dn = \"cn=a\"\npassword = \"secret12\"\n";
        let (folder, names) = (tempfile::tempdir().unwrap(), ["Default Password Policy", "Root Password Policy", "p"]);
        let file = folder.path().join("pando.toml");
        let delete = |more: &str, name: &str| {
            let policies: String = names.map(|name| format!("[password-policy.\"{name}\"]\n")).concat();
            fs::write(&file, format!("{more}{USER}{policies}")).unwrap();
            let mut edit = Edit::open(&file).unwrap();
            edit.delete(&[("password-policy", name)]).and_then(|()| edit.save()).map_err(|error| error.to_string())
        };
        let told = delete("", "default password policy").unwrap_err();
        assert!(told.contains("the policy of all users for whom nothing says another"), "{told}");
        assert!(delete("", "Root Password Policy").unwrap_err().contains("the policy of root users"));
        assert_eq!(delete("", "p"), Ok(()));
        let other = "[global]\ndefault-password-policy = \"p\"\n";
        assert_eq!(delete(other, "Default Password Policy"), Ok(()));
        assert!(delete(other, "p").is_err());
    }
}
