//! The subcommands, made from what is declared: `list-plugins`, `create-backend-vlv-index`,
//! `set-global-configuration-prop` …
//!
//! Knows declarations and the command line; what becomes of a request is not its business.

use std::sync::OnceLock;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};
use config::{Component, Default as Unset, Property, Step, Variant, capitalized};

use super::changes::Changes;

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
pub struct Request {
    pub verb: Verb,
    pub component: &'static Component,
    /// The names of the objects on the way that have one, the outermost first. What a list lists is not among them.
    names: Vec<String>,
    /// The kind of a new object.
    pub type_name: Option<String>,
    pub changes: Changes,
}

/// A subcommand.
struct Word {
    verb: Verb,
    component: &'static Component,
    name: &'static str,
    /// The options that name objects; a list has none for what it lists.
    options: Vec<(&'static str, &'static str)>,
}

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
            let arg = Arg::new(*option).long(*option).value_name("NAME").required(true);
            command = command.arg(arg.help(capitalized(named_by)));
        }
        let types: Vec<&'static Variant> = self.component.types().collect();
        if self.verb == Verb::Create && !types.is_empty() {
            let values = types.iter().map(|it| PossibleValue::new(it.type_name).help(it.help.trim_end_matches('.')));
            let arg = Arg::new("type")
                .short('t')
                .long("type")
                .value_name("TYPE")
                .required(self.component.class().unsaid().is_none());
            command = command.arg(arg.value_parser(PossibleValuesParser::new(values)).help("The kind of object"));
        } else if self.verb == Verb::Create {
            // OpenDJ names the one kind that there is.
            command = command.arg(Arg::new("type").short('t').long("type").value_name("TYPE").hide(true));
        }
        match self.verb {
            // The options bring a sentence of their own along.
            Verb::Create | Verb::Set => Changes::augment_args(command).about(about).after_help(self.properties()),
            Verb::List | Verb::Get | Verb::Delete => command,
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

impl Request {
    /// The way to the object; for a list, to the object that has those of the list.
    pub fn path(&self) -> Vec<Step<'_>> {
        let mut names = self.names.iter();
        let classes = self.component.classes();
        let classes = if self.verb == Verb::List { &classes[..classes.len() - 1] } else { classes };
        let name = |is_named: bool| if is_named { names.next().map_or("", String::as_str) } else { "" };
        let mut name = name;
        classes.iter().map(|class| (class.name, name(class.named_by.is_some()))).collect()
    }

    /// The object as people call it: `Plugin "Unique mail"`.
    pub fn title(&self) -> String {
        let title = self.component.title();
        match self.names.last() {
            Some(name) if self.verb != Verb::List => format!("{title} \"{name}\""),
            _ => title,
        }
    }

    /// The subcommand, and how a value that it lacks would be given.
    pub fn needs(&self, missing: &[&'static Property]) -> String {
        let word = words().iter().find(|word| word.verb == self.verb && word.component.name() == self.component.name());
        let wanted: Vec<String> = missing
            .iter()
            .map(|property| format!("--set {}:VALUE ({})", property.name, property.syntax.allowed()))
            .collect();
        format!("{} needs {}", word.map_or("this", |word| word.name), wanted.join(" and "))
    }
}

impl FromArgMatches for Request {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let missing = || Error::raw(ErrorKind::MissingSubcommand, "a subcommand is needed\n");
        let (name, own) = matches.subcommand().ok_or_else(missing)?;
        let word = words().iter().find(|word| word.name == name).ok_or_else(missing)?;
        let names =
            word.options.iter().map(|(option, _)| own.get_one::<String>(option).cloned().unwrap_or_default()).collect();
        let changes = match word.verb {
            Verb::Create | Verb::Set => Changes::from_arg_matches(own)?,
            Verb::List | Verb::Get | Verb::Delete => Changes::default(),
        };
        let has_types = word.component.types().next().is_some();
        let type_name =
            if word.verb == Verb::Create && has_types { own.get_one::<String>("type").cloned() } else { None };
        Ok(Self { verb: word.verb, component: word.component, names, type_name, changes })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for Request {
    fn augment_subcommands(command: Command) -> Command {
        command.subcommands(words().iter().map(Word::command))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        words().iter().any(|word| word.name == name)
    }
}
