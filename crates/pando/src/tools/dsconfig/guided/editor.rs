//! The properties of one object, changed one after the other; nothing is changed before the end.
//!
//! Knows properties and their values; doors and commands are for whoever opened the editor.

use config::{Change, Default as Unset, HIDDEN, Property, Syntax};

use super::menu::{Answer, Menu, key, pause, text};
use crate::failure::Failure;
use crate::output::errln;
use crate::table::Table;
use crate::terminal;
use crate::tools::dsconfig::changes::PropertyChange;
use crate::tools::dsconfig::properties::{letters, syntax};

/// The names of the objects that a property of this class may refer to.
pub type Names<'n> = dyn FnMut(&'static str) -> Result<Vec<String>, Failure> + 'n;

/// The values of an object while they are changed.
#[derive(Debug)]
pub struct Editor {
    title: String,
    help: &'static str,
    /// Each property with what it had and what it shall have.
    properties: Vec<Edited>,
}

#[derive(Debug)]
struct Edited {
    property: &'static Property,
    before: Vec<String>,
    now: Vec<String>,
}

/// How an editor ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// What was changed shall be so.
    Finish,
    /// Nothing shall change.
    Cancel,
    /// Nor is anything else asked.
    Quit,
}

impl Editor {
    /// Of an object that has these values.
    pub fn new(title: String, help: &'static str, values: Vec<(&'static Property, Vec<String>)>) -> Self {
        let mut properties: Vec<Edited> = values
            .into_iter()
            .map(|(property, values)| Edited { property, before: values.clone(), now: values })
            .collect();
        properties.sort_by_key(|edited| edited.property.name);
        Self { title, help, properties }
    }

    /// Takes a value as if it had been entered.
    pub fn enter(&mut self, property: &str, values: &[String]) {
        if let Some(edited) = self.properties.iter_mut().find(|own| own.property.name.eq_ignore_ascii_case(property)) {
            edited.now = values.to_vec();
        }
    }

    /// Asks for the values that have to be set and are not.
    pub fn ask_missing(&mut self, names: &mut Names<'_>) -> Result<(), Failure> {
        let is_missing = |edited: &&mut Edited| edited.is_mandatory() && edited.now.is_empty();
        for edited in self.properties.iter_mut().filter(is_missing) {
            edited.introduce();
            while edited.now.is_empty() {
                edited.add(names)?;
            }
        }
        Ok(())
    }

    /// Shows the properties and changes the chosen ones, until nothing more shall change.
    pub fn run(&mut self, finish: &str, names: &mut Names<'_>) -> Result<Ending, Failure> {
        loop {
            let width = self.properties.iter().map(|own| own.property.name.len()).max().unwrap_or(0);
            let row = |own: &Edited| format!("{:width$}  {}", own.property.name, shown(&own.now));
            let heading = format!("Configure the properties of the {}", self.title);
            let menu = Menu {
                heading: &heading,
                choices: self.properties.iter().map(row).collect(),
                keys: vec![
                    key('?', "help"),
                    key('f', &format!("finish - {finish}")),
                    key('c', "cancel"),
                    key('q', "quit"),
                ],
                default: Some("f"),
                ..Menu::default()
            };
            match menu.ask()? {
                Answer::Choice(at) => {
                    if let Some(edited) = self.properties.get_mut(at)
                        && edited.edit(names)? == Ending::Quit
                    {
                        return Ok(Ending::Quit);
                    }
                }
                Answer::Key('?') => self.explain()?,
                Answer::Key('c') => return Ok(Ending::Cancel),
                Answer::Key('q') => return Ok(Ending::Quit),
                Answer::Key(_) => return Ok(Ending::Finish),
            }
        }
    }

    fn explain(&self) -> Result<(), Failure> {
        errln!("\n\nComponent name: {}\n\n{}\n", self.title, self.help);
        let mut table = Table::new(&["Property", "Options", "Syntax"]);
        for edited in &self.properties {
            let property = edited.property;
            table.row(vec![property.name.to_owned(), letters(property), syntax(property)]);
        }
        table.print();
        pause()
    }

    /// What has to be done so that the object is as it was left.
    pub fn changes(&self) -> Vec<PropertyChange> {
        self.properties.iter().flat_map(Edited::changes).collect()
    }
}

impl Edited {
    fn is_mandatory(&self) -> bool {
        matches!(self.property.default, Unset::Mandatory)
    }

    fn default(&self) -> Vec<String> {
        match self.property.default {
            Unset::Values(values) => values.iter().map(ToString::to_string).collect(),
            Unset::Absent(_) | Unset::Mandatory => Vec::new(),
        }
    }

    fn introduce(&self) {
        let property = self.property;
        errln!("\n\n>>>> Configuring the \"{}\" property\n\n    {}", property.name, property.help);
        if let Unset::Absent(meaning) = property.default {
            errln!("    Not set: {meaning}");
        }
        errln!("\n    Syntax:  {}", property.syntax.allowed());
    }

    /// Asks what becomes of the property.
    fn edit(&mut self, names: &mut Names<'_>) -> Result<Ending, Failure> {
        self.introduce();
        loop {
            let offers = self.offers();
            let question = format!("Do you want to modify the \"{}\" property?", self.property.name);
            let menu = Menu {
                question: &question,
                choices: offers.iter().map(|offer| self.words(offer)).collect(),
                keys: vec![key('?', "help"), key('q', "quit")],
                default: Some("1"),
                ..Menu::default()
            };
            let offer = match menu.ask()? {
                Answer::Choice(at) => offers.get(at).unwrap_or(&Offer::Keep),
                Answer::Key('q') => return Ok(Ending::Quit),
                Answer::Key(_) => {
                    self.introduce();
                    continue;
                }
            };
            match offer {
                Offer::Keep => return Ok(Ending::Finish),
                Offer::Become(word) => self.now = vec![(*word).to_owned()],
                Offer::Change => {
                    self.now.clear();
                    self.add(names)?;
                }
                Offer::Add => self.add(names)?,
                Offer::Remove => self.remove()?,
                Offer::Reset => self.now = self.default(),
                Offer::Revert => self.now = self.before.clone(),
            }
            if !self.property.multi_valued {
                return Ok(Ending::Finish);
            }
        }
    }

    fn offers(&self) -> Vec<Offer> {
        let property = self.property;
        let mut offers = vec![Offer::Keep];
        let words: &[&'static str] = match property.syntax {
            Syntax::Boolean => &["false", "true"],
            Syntax::Choice(words) => words,
            _ => &[],
        };
        let is_now = |word: &&&'static str| self.now.iter().any(|own| own.eq_ignore_ascii_case(word));
        match (property.multi_valued, words) {
            (false, []) => offers.push(Offer::Change),
            (false, words) => offers.extend(words.iter().filter(|word| !is_now(word)).map(|word| Offer::Become(word))),
            (true, _) => {
                offers.push(Offer::Add);
                offers.extend((!self.now.is_empty()).then_some(Offer::Remove));
            }
        }
        offers.extend((!self.is_mandatory() && self.now != self.default()).then_some(Offer::Reset));
        offers.extend((self.now != self.before).then_some(Offer::Revert));
        offers
    }

    fn words(&self, offer: &Offer) -> String {
        match offer {
            Offer::Keep if self.now.is_empty() => "Leave undefined".to_owned(),
            Offer::Keep if self.now != self.before => format!("Use the value: {}", shown(&self.now)),
            Offer::Keep if self.now == self.default() => format!("Keep the default value: {}", shown(&self.now)),
            Offer::Keep => format!("Keep the value: {}", shown(&self.now)),
            Offer::Become(word) => format!("Change it to the value: {word}"),
            Offer::Change => "Change the value".to_owned(),
            Offer::Add => "Add one or more values".to_owned(),
            Offer::Remove => "Remove one or more values".to_owned(),
            Offer::Reset => match self.default().as_slice() {
                [] => "Leave undefined".to_owned(),
                values => format!("Reset to the default value: {}", shown(values)),
            },
            Offer::Revert => "Revert changes".to_owned(),
        }
    }

    /// Asks for values until no more come; one where the property has one.
    fn add(&mut self, names: &mut Names<'_>) -> Result<(), Failure> {
        let choices = match self.property.syntax {
            Syntax::Reference(class) => names(class)?,
            Syntax::Choice(words) => words.iter().map(ToString::to_string).collect(),
            Syntax::Boolean => vec!["false".to_owned(), "true".to_owned()],
            _ => Vec::new(),
        };
        let left: Vec<String> = choices.into_iter().filter(|choice| !self.has(choice)).collect();
        if !left.is_empty() {
            let question = format!("Select a value for the \"{}\" property:", self.property.name);
            let keys = vec![key('c', "cancel")];
            let menu = Menu { question: &question, choices: left.clone(), keys, default: Some("c"), ..Menu::default() };
            if let Answer::Choice(at) = menu.ask()? {
                self.now.extend(left.get(at).cloned());
            }
            return Ok(());
        }
        let name = self.property.name;
        let (question, end) = match self.property.multi_valued {
            true => (format!("Enter a value for the \"{name}\" property (RETURN to end)"), true),
            false => (format!("Enter a value for the \"{name}\" property"), false),
        };
        loop {
            let value = match self.property.syntax {
                Syntax::Password => terminal::ask_password(&question)?,
                _ => text(&question)?,
            };
            // An empty base DN is a value; written as in the file.
            if value.is_empty() && (end || !self.before.is_empty()) {
                if self.now.is_empty() {
                    self.now = self.before.clone();
                }
                return Ok(());
            }
            let value = if value == "\"\"" { String::new() } else { value };
            if !self.property.takes(&value) {
                let told = if matches!(self.property.syntax, Syntax::Password) { HIDDEN } else { &value };
                let allowed = self.property.syntax.allowed_instead_of(&value);
                errln!("\nThe value \"{told}\" is not valid for the \"{name}\" property: it must be {allowed}");
                continue;
            }
            if !self.has(&value) {
                self.now.push(value);
            }
            if !self.property.multi_valued {
                return Ok(());
            }
        }
    }

    fn has(&self, value: &str) -> bool {
        self.now.iter().any(|own| own.eq_ignore_ascii_case(value))
    }

    fn remove(&mut self) -> Result<(), Failure> {
        let keys = vec![key('c', "cancel")];
        let question = "Select the value you wish to remove:";
        let menu = Menu { question, choices: self.now.clone(), keys, default: Some("c"), ..Menu::default() };
        if let Answer::Choice(at) = menu.ask()? {
            self.now.remove(at);
        }
        Ok(())
    }

    fn changes(&self) -> Vec<PropertyChange> {
        let change =
            |change, values: Vec<String>| PropertyChange { property: self.property.name.to_owned(), change, values };
        if self.now == self.before {
            return Vec::new();
        }
        if self.now.is_empty() || self.now == self.default() {
            return vec![change(Change::Reset, Vec::new())];
        }
        let added: Vec<String> = self.now.iter().filter(|value| !self.before.contains(value)).cloned().collect();
        let removed: Vec<String> = self.before.iter().filter(|value| !self.now.contains(value)).cloned().collect();
        // What the default has is not in the file, where values are added to.
        match (self.property.multi_valued && self.before != self.default(), added.is_empty(), removed.is_empty()) {
            (true, false, true) => vec![change(Change::Add, added)],
            (true, true, false) => vec![change(Change::Remove, removed)],
            _ => vec![change(Change::Set, self.now.clone())],
        }
    }
}

/// What can be done with a property.
#[derive(Debug)]
enum Offer {
    Keep,
    Become(&'static str),
    Change,
    Add,
    Remove,
    Reset,
    Revert,
}

fn shown(values: &[String]) -> String {
    if values.is_empty() { "-".to_owned() } else { values.join(", ") }
}
