//! The subcommands, made from what is declared: `list-plugins`, `create-backend-vlv-index`,
//! `set-global-configuration-prop` …
//!
//! Knows declarations and the command line; what becomes of a request is not its business.

use std::sync::OnceLock;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};
use config::{Component, Default as Unset, Property, Step, Variant, capitalized};

use super::changes::Changes;
use super::display::Display;
use super::door::{Deed, Proposed};
use super::properties;
use crate::failure::Failure;

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Create,
    List,
    Get,
    Set,
    Delete,
}

/// One subcommand as it was given.
#[derive(Debug)]
pub enum Request {
    /// It is about objects of the configuration.
    Objects(ObjectRequest),
    /// It asks which properties there are.
    Properties(properties::Options),
}

/// A subcommand about objects.
#[derive(Debug, Clone)]
pub struct ObjectRequest {
    pub verb: Verb,
    pub component: &'static Component,
    /// The names of the objects on the way that have one, the outermost first, as far as they were given. What a list
    /// lists is not among them.
    pub names: Vec<Option<String>>,
    /// The kind of a new object.
    pub type_name: Option<String>,
    pub changes: Changes,
    /// What is shown.
    pub display: Display,
    /// Each value has a line of its own.
    pub by_value: bool,
    /// Deleting what is not there succeeds.
    pub force: bool,
}

/// A subcommand.
struct Word {
    verb: Verb,
    component: &'static Component,
    name: &'static str,
    /// The options that name objects, and what the names stand for; a list has none for what it lists.
    options: Vec<(&'static str, &'static str)>,
}

/// The subcommand that is about no object.
const LIST_PROPERTIES: &str = "list-properties";

/// All subcommands. Made once: the command line keeps their names for as long as the program runs.
fn words() -> &'static [Word] {
    static WORDS: OnceLock<Vec<Word>> = OnceLock::new();
    static COMPONENTS: OnceLock<Vec<Component>> = OnceLock::new();
    WORDS.get_or_init(|| COMPONENTS.get_or_init(Component::all).iter().flat_map(words_of).collect())
}

fn words_of(component: &'static Component) -> Vec<Word> {
    let (name, plural) = (component.name(), component.plural());
    let all = [
        (Verb::List, format!("list-{plural}")),
        (Verb::Create, format!("create-{name}")),
        (Verb::Get, format!("get-{name}-prop")),
        (Verb::Set, format!("set-{name}-prop")),
        (Verb::Delete, format!("delete-{name}")),
    ];
    let fits = |verb: Verb| !component.is_single() || matches!(verb, Verb::Get | Verb::Set);
    let named = component.name_options();
    let word = |(verb, name): (Verb, String)| {
        let count = if verb == Verb::List { named.len() - 1 } else { named.len() };
        let options =
            named.iter().take(count).map(|(class, option)| (kept(option), class.named_by.unwrap_or_default()));
        Word { verb, component, name: kept(&name), options: options.collect() }
    };
    all.into_iter().filter(|(verb, _)| fits(*verb)).map(word).collect()
}

/// For the life of the program; called for the words of [`words`] only.
fn kept(word: &str) -> &'static str {
    word.to_owned().leak()
}

/// As it follows a colon: `A rule` is `a rule`, `LDAP` stays.
fn with_small_initial(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            first.to_lowercase().chain([second]).chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

impl Word {
    fn command(&self) -> Command {
        let title = self.component.title();
        let about = match self.verb {
            Verb::Create => format!("Create a {title}: {}", with_small_initial(self.component.class().help)),
            Verb::List => format!("List all {title} objects"),
            Verb::Get => format!("Show the properties of a {title}"),
            Verb::Set => format!("Change the properties of a {title}"),
            Verb::Delete => format!("Delete a {title}"),
        };
        let about = about.trim_end_matches('.').to_owned();
        let mut command = Command::new(self.name).about(about.clone());
        for (option, named_by) in &self.options {
            let arg = Arg::new(*option).long(*option).value_name("NAME");
            command = command.arg(arg.help(capitalized(named_by)));
        }
        let types: Vec<&'static Variant> = self.component.types().collect();
        if self.verb == Verb::Create && !types.is_empty() {
            let values = types.iter().map(|it| PossibleValue::new(it.type_name).help(it.help.trim_end_matches('.')));
            let arg = Arg::new("type").short('t').long("type").value_name("TYPE");
            command = command.arg(arg.value_parser(PossibleValuesParser::new(values)).help("The kind of object"));
        } else if self.verb == Verb::Create {
            // OpenDJ names the one kind that there is.
            command = command.arg(Arg::new("type").short('t').long("type").value_name("TYPE").hide(true));
        }
        match self.verb {
            // The options bring a sentence of their own along.
            Verb::Create | Verb::Set => Changes::augment_args(command).about(about).after_help(self.properties()),
            Verb::List => Display::augment_args(command).about(about),
            Verb::Get => Display::augment_args(command).arg(by_value()).about(about),
            Verb::Delete => command.arg(force()),
        }
    }

    /// What can be set, for the help.
    fn properties(&self) -> String {
        let mut text = String::new();
        for variant in self.component.class().variants {
            match variant.type_name {
                "" => text.push_str("Properties:\n"),
                name => text.push_str(&format!("Properties of type {name}:\n")),
            }
            for property in variant.properties {
                text.push_str(&format!("  {} ({})\n      {}\n", property.name, nature(property), property.help));
            }
        }
        text
    }
}

/// `Boolean, default true`
fn nature(property: &Property) -> String {
    let several = if property.multi_valued { ", several" } else { "" };
    let unset = match property.default {
        Unset::Mandatory => "must be set".to_owned(),
        Unset::Absent(meaning) => format!("not set: {}", meaning.trim_end_matches('.')),
        Unset::Values(values) => format!("default {}", values.join(", ")),
    };
    format!("{}{several}; {unset}", property.syntax.allowed())
}

fn by_value() -> Arg {
    let arg = Arg::new("record").short('E').long("record").action(ArgAction::SetTrue);
    arg.help("Give each value a line of its own")
}

fn force() -> Arg {
    let arg = Arg::new("force").short('f').long("force").action(ArgAction::SetTrue);
    arg.help("Succeed if there is no such object")
}

impl ObjectRequest {
    /// The way to the object; for a list, to the object that has those of the list.
    pub fn path(&self) -> Result<Vec<Step<'_>>, Failure> {
        let classes = self.component.classes();
        let classes = if self.verb == Verb::List { &classes[..classes.len() - 1] } else { classes };
        let mut names = self.names.iter().zip(self.word().map_or(&[][..], |word| &word.options));
        let mut path = Vec::new();
        for class in classes {
            let name = match class.named_by.and_then(|_| names.next()) {
                None => "",
                Some((Some(name), _)) => name.as_str(),
                Some((None, (option, named_by))) => {
                    return Err(Failure::new(format_args!("--{option} NAME is missing: it gives {named_by}")));
                }
            };
            path.push((class.name, name));
        }
        Ok(path)
    }

    /// Whether something is missing that a person could be asked for.
    pub fn lacks(&self) -> bool {
        let Ok(changes) = self.changes.all() else { return false };
        let has = |property: &Property| changes.iter().any(|own| own.property.eq_ignore_ascii_case(property.name));
        let lacks_values = match self.verb {
            Verb::Set => changes.is_empty(),
            Verb::Create => match self.variant() {
                Some(variant) => {
                    variant.properties.iter().any(|own| matches!(own.default, Unset::Mandatory) && !has(own))
                }
                None => true,
            },
            Verb::List | Verb::Get | Verb::Delete => false,
        };
        lacks_values || self.names.iter().any(Option::is_none)
    }

    /// The kind of a new object, if it is said or need not be.
    pub fn variant(&self) -> Option<&'static Variant> {
        let class = self.component.class();
        self.type_name.as_deref().map_or_else(|| class.unsaid(), |name| class.variant(name))
    }

    /// The change that is asked for.
    pub fn proposed(&self) -> Result<Proposed<'_>, Failure> {
        let path = self.path()?;
        let deed = match self.verb {
            Verb::Create => Deed::Create(self.kind()?),
            Verb::Set | Verb::List | Verb::Get => Deed::Set,
            Verb::Delete => Deed::Delete,
        };
        Ok(Proposed { component: self.component, path, deed, changes: self.changes.all()? })
    }

    fn kind(&self) -> Result<Option<&str>, Failure> {
        match &self.type_name {
            Some(name) => Ok(Some(name)),
            None if self.component.class().unsaid().is_some() => Ok(None),
            None => {
                let known: Vec<&str> = self.component.types().map(|variant| variant.type_name).collect();
                Err(Failure::new(format_args!("--type TYPE is missing: one of {}", known.join(", "))))
            }
        }
    }

    /// The object as people call it: `Plugin "Unique mail"`.
    pub fn title(&self) -> String {
        let title = self.component.title();
        match self.names.last() {
            Some(Some(name)) if self.verb != Verb::List => format!("{title} \"{name}\""),
            _ => title,
        }
    }

    /// The subcommand, and the options that name the object.
    pub fn words(&self) -> Vec<String> {
        let Some(word) = self.word() else { return Vec::new() };
        let mut words = vec![word.name.to_owned()];
        for ((option, _), name) in word.options.iter().zip(&self.names) {
            words.extend(name.iter().flat_map(|name| [format!("--{option}"), name.clone()]));
        }
        if let Some(type_name) = &self.type_name {
            words.extend(["--type".to_owned(), type_name.clone()]);
        }
        words
    }

    /// A request for something of this kind, without names.
    pub fn bare(component: &'static Component, verb: Verb) -> Self {
        let count = component.name_options().len();
        let named = if verb == Verb::List { count.saturating_sub(1) } else { count };
        Self {
            verb,
            component,
            names: vec![None; named],
            type_name: None,
            changes: Changes::default(),
            display: Display::default(),
            by_value: false,
            force: false,
        }
    }

    fn word(&self) -> Option<&'static Word> {
        words().iter().find(|word| word.verb == self.verb && word.component.name() == self.component.name())
    }
}

/// All components, in the order of the alphabet.
pub fn components() -> Vec<&'static Component> {
    let gets = words().iter().filter(|word| word.verb == Verb::Get);
    let mut all: Vec<&'static Component> = gets.map(|word| word.component).collect();
    all.sort_by_key(|component| component.title());
    all
}

/// What a subcommand is about.
pub fn component_of(subcommand: &str) -> Option<&'static Component> {
    words().iter().find(|word| word.name == subcommand).map(|word| word.component)
}

impl FromArgMatches for Request {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let missing = || Error::raw(ErrorKind::MissingSubcommand, "a subcommand is needed\n");
        let (name, own) = matches.subcommand().ok_or_else(missing)?;
        if name == LIST_PROPERTIES {
            return Ok(Self::Properties(properties::Options::from_arg_matches(own)?));
        }
        let word = words().iter().find(|word| word.name == name).ok_or_else(missing)?;
        let names = word.options.iter().map(|(option, _)| own.get_one::<String>(option).cloned()).collect();
        let is = |verbs: &[Verb]| verbs.contains(&word.verb);
        let has_types = word.component.types().next().is_some();
        Ok(Self::Objects(ObjectRequest {
            verb: word.verb,
            component: word.component,
            names,
            type_name: match is(&[Verb::Create]) && has_types {
                true => own.get_one::<String>("type").cloned(),
                false => None,
            },
            changes: match is(&[Verb::Create, Verb::Set]) {
                true => Changes::from_arg_matches(own)?,
                false => Changes::default(),
            },
            display: match is(&[Verb::List, Verb::Get]) {
                true => Display::from_arg_matches(own)?,
                false => Display::default(),
            },
            by_value: is(&[Verb::Get]) && own.get_flag("record"),
            force: is(&[Verb::Delete]) && own.get_flag("force"),
        }))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for Request {
    fn augment_subcommands(command: Command) -> Command {
        let about = "List the properties of everything that can be configured";
        let properties = properties::Options::augment_args(Command::new(LIST_PROPERTIES)).about(about);
        command.subcommands(words().iter().map(Word::command)).subcommand(properties)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        name == LIST_PROPERTIES || words().iter().any(|word| word.name == name)
    }
}
