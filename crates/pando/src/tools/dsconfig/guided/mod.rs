//! Questions instead of options: what to configure, which object, what becomes of its properties. The menus are those
//! of OpenDJ's tool.
//!
//! Knows components and doors. Every change is one command, which is done at the end of its questions or not at all.

mod editor;
mod menu;
mod recording;

use std::process::ExitCode;

use config::{Component, Default as Unset, Listed, Property, Step, Variant};

use super::commands::{OutputOptions, run_one};
use super::door::{Deed, Door, Proposed};
use super::request::{ObjectRequest, Verb, components};
use crate::failure::{Failure, Outcome};
use crate::output::{errln, outln};
use editor::{Editor, Ending};
use menu::{Answer, Menu, key, pause, text, yes_or_no};
use recording::words_of;

pub use recording::Recording;

/// Exit status of a command whose questions were left without an answer, as in OpenDJ.
const CANCELLED: u8 = 1;

/// See the module.
pub struct Guide<'g> {
    door: &'g mut dyn Door,
    output: OutputOptions,
    recording: &'g Recording,
}

/// What comes after a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The command was done.
    Done,
    /// It was left.
    Cancelled,
    /// All is left.
    Quit,
}

impl<'g> Guide<'g> {
    /// For a person at the terminal.
    pub fn new(door: &'g mut dyn Door, output: OutputOptions, recording: &'g Recording) -> Result<Self, Failure> {
        recording.begin()?;
        Ok(Self { door, output, recording })
    }

    /// Asks for what a command lacks, and does it.
    pub fn complete(&mut self, asked: &ObjectRequest) -> Outcome {
        match self.command(asked.clone())? {
            Next::Done => Ok(ExitCode::SUCCESS),
            Next::Cancelled | Next::Quit => {
                errln!("\nNothing was changed.");
                Ok(ExitCode::from(CANCELLED))
            }
        }
    }

    /// Asks for one command after the other.
    pub fn main_menu(&mut self) -> Outcome {
        let components = components();
        loop {
            let menu = Menu {
                heading: "Pando configuration console main menu",
                question: "What do you want to configure?",
                choices: components.iter().map(|component| component.title()).collect(),
                keys: vec![key('q', "quit")],
                ..Menu::default()
            };
            let Answer::Choice(at) = menu.ask()? else { return Ok(ExitCode::SUCCESS) };
            if let Some(component) = components.get(at)
                && self.manage(component)? == Next::Quit
            {
                return Ok(ExitCode::SUCCESS);
            }
        }
    }

    /// The menu of one component.
    fn manage(&mut self, component: &'static Component) -> Result<Next, Failure> {
        let title = component.title();
        let verbs: Vec<(Verb, String)> = match component.is_single() {
            true => vec![(Verb::Set, format!("View and edit the {title}"))],
            false => vec![
                (Verb::List, format!("List existing {title} objects")),
                (Verb::Create, format!("Create a new {title}")),
                (Verb::Set, format!("View and edit an existing {title}")),
                (Verb::Delete, format!("Delete an existing {title}")),
            ],
        };
        let heading = format!("{title} management menu");
        loop {
            let menu = Menu {
                heading: &heading,
                question: "What would you like to do?",
                choices: verbs.iter().map(|(_, words)| words.clone()).collect(),
                keys: vec![key('b', "back"), key('q', "quit")],
                default: Some("b"),
            };
            let verb = match menu.ask()? {
                Answer::Choice(at) => verbs.get(at).map_or(Verb::List, |(verb, _)| *verb),
                Answer::Key('q') => return Ok(Next::Quit),
                Answer::Key(_) => return Ok(Next::Done),
            };
            match self.command(ObjectRequest::bare(component, verb)) {
                Ok(Next::Quit) => return Ok(Next::Quit),
                Ok(Next::Done) => pause()?,
                Ok(Next::Cancelled) => {}
                // The menu goes on; whoever ends the input is answered by the next question.
                Err(failure) => {
                    errln!("\n{failure}");
                    pause()?;
                }
            }
        }
    }

    /// One command, its gaps filled by questions.
    fn command(&mut self, mut asked: ObjectRequest) -> Result<Next, Failure> {
        if asked.verb == Verb::Create
            && asked.variant().is_none()
            && let next @ (Next::Cancelled | Next::Quit) = ask_kind(&mut asked)?
        {
            return Ok(next);
        }
        if let next @ (Next::Cancelled | Next::Quit) = self.ask_names(&mut asked)? {
            return Ok(next);
        }
        match asked.verb {
            Verb::Create => self.create(&asked),
            Verb::Set if asked.changes.all()?.is_empty() => self.edit(&asked),
            verb => {
                let question = format!("Are you sure that you want to delete the {}?", asked.title());
                if verb == Verb::Delete && !yes_or_no(&question, false)? {
                    return Ok(Next::Cancelled);
                }
                run_one(self.door, &asked, self.output)?;
                let changes = asked.changes.all()?;
                self.recording.done(&[asked.words(), words_of(&changes)].concat())?;
                Ok(Next::Done)
            }
        }
    }

    /// Chooses the objects on the way that are not named, and asks for the name of a new one.
    fn ask_names(&mut self, asked: &mut ObjectRequest) -> Result<Next, Failure> {
        let classes = asked.component.classes();
        let mut path: Vec<(&'static str, String)> = Vec::new();
        let mut place = 0;
        for (depth, class) in classes.iter().enumerate() {
            if class.named_by.is_none() {
                path.push((class.name, String::new()));
                continue;
            }
            let Some(given) = asked.names.get(place).cloned() else { break };
            let title = component_of(&classes[..=depth]).map_or_else(|| class.name.to_owned(), Component::title);
            let name = match given {
                Some(name) => name,
                None if asked.verb == Verb::Create && depth + 1 == classes.len() => ask_name(&title, asked)?,
                None => {
                    let objects = self.door.list(&steps(&path), class.name)?.unwrap_or_default();
                    match choose(&title, &objects)? {
                        Ok(name) => name,
                        Err(next) => return Ok(next),
                    }
                }
            };
            if let Some(own) = asked.names.get_mut(place) {
                *own = Some(name.clone());
            }
            path.push((class.name, name));
            place += 1;
        }
        Ok(Next::Done)
    }

    fn create(&mut self, asked: &ObjectRequest) -> Result<Next, Failure> {
        let Some(variant) = asked.variant() else { return Ok(Next::Cancelled) };
        let defaults = |property: &'static Property| {
            let values = match property.default {
                Unset::Values(values) => values.iter().map(ToString::to_string).collect(),
                Unset::Absent(_) | Unset::Mandatory => Vec::new(),
            };
            (property, values)
        };
        let values = variant.properties.iter().map(defaults).collect();
        let mut editor = Editor::new(asked.title(), help_of(asked.component, variant), values);
        asked.changes.all()?.iter().for_each(|change| editor.enter(&change.property, &change.values));
        let door = &mut *self.door;
        editor.ask_missing(&mut |class| names_of(door, class))?;
        let finish = format!("create the new {}", asked.component.title());
        self.finish(asked, &mut editor, &finish, Deed::Create(asked.type_name.as_deref()), "was created")
    }

    fn edit(&mut self, asked: &ObjectRequest) -> Result<Next, Failure> {
        let path = asked.path()?;
        let Some(seen) = self.door.seen(&path)? else {
            return Err(Failure::new(format_args!("there is no {}", asked.title())));
        };
        let mut editor = Editor::new(asked.title(), help_of(asked.component, seen.variant), seen.values);
        let finish = format!("apply any changes to the {}", asked.title());
        self.finish(asked, &mut editor, &finish, Deed::Set, "has changed")
    }

    /// Edits, and does what comes of it. What is refused can be mended: the editor comes again.
    fn finish(
        &mut self,
        asked: &ObjectRequest,
        editor: &mut Editor,
        finish: &str,
        deed: Deed<'_>,
        done: &str,
    ) -> Result<Next, Failure> {
        loop {
            let door = &mut *self.door;
            match editor.run(finish, &mut |class| names_of(door, class))? {
                Ending::Finish => {}
                Ending::Cancel => return Ok(Next::Cancelled),
                Ending::Quit => return Ok(Next::Quit),
            }
            let changes = editor.changes();
            if deed == Deed::Set && changes.is_empty() {
                outln!("\nThe {} is as before.", asked.title());
                return Ok(Next::Done);
            }
            let words = [asked.words(), words_of(&changes)].concat();
            let proposed = Proposed { component: asked.component, path: asked.path()?, deed, changes };
            match self.door.change(&proposed) {
                Ok(told) => {
                    outln!("\nThe {} {done}.", asked.title());
                    told.iter().for_each(|line| outln!("{line}"));
                    self.recording.done(&words)?;
                    return Ok(Next::Done);
                }
                Err(failure) => {
                    errln!("\n{failure}");
                    pause()?;
                }
            }
        }
    }
}

/// Asks which kind of object comes.
fn ask_kind(asked: &mut ObjectRequest) -> Result<Next, Failure> {
    let kinds: Vec<&'static Variant> = asked.component.types().collect();
    let heading = format!("Select the type of {} that you want to create:", asked.component.title());
    loop {
        let menu = Menu {
            heading: &heading,
            choices: kinds.iter().map(|variant| variant.type_name.to_owned()).collect(),
            keys: vec![key('?', "help"), key('c', "cancel"), key('q', "quit")],
            default: Some("c"),
            ..Menu::default()
        };
        match menu.ask()? {
            Answer::Choice(at) => {
                asked.type_name = kinds.get(at).map(|variant| variant.type_name.to_owned());
                return Ok(Next::Done);
            }
            Answer::Key('?') => {
                kinds.iter().for_each(|variant| errln!("\n{}\n    {}", variant.type_name, variant.help));
                pause()?;
            }
            Answer::Key('q') => return Ok(Next::Quit),
            Answer::Key(_) => return Ok(Next::Cancelled),
        }
    }
}

/// Asks how a new object is called.
fn ask_name(title: &str, asked: &ObjectRequest) -> Result<String, Failure> {
    let named_by = asked.component.class().named_by.unwrap_or("its name");
    loop {
        let name = text(&format!(">>>> Enter a name for the {title} that you want to create ({named_by})"))?;
        match name.trim() {
            "" => errln!("\nA {title} needs a name"),
            name => return Ok(name.to_owned()),
        }
    }
}

/// Chooses one of some objects; the only one has to be confirmed.
fn choose(title: &str, objects: &[Listed]) -> Result<Result<String, Next>, Failure> {
    match objects {
        [] => Err(Failure::new(format_args!("there is no {title}"))),
        [only] => {
            let question = format!(
                ">>>> There is only one {title}: \"{}\". Are you sure that this is the correct one?",
                only.name
            );
            Ok(if yes_or_no(&question, true)? { Ok(only.name.clone()) } else { Err(Next::Cancelled) })
        }
        several => {
            let heading = format!("Select the {title} from the following list:");
            let menu = Menu {
                heading: &heading,
                choices: several.iter().map(|object| object.name.clone()).collect(),
                keys: vec![key('c', "cancel"), key('q', "quit")],
                default: Some("c"),
                ..Menu::default()
            };
            Ok(match menu.ask()? {
                Answer::Choice(at) => several.get(at).map(|object| object.name.clone()).ok_or(Next::Cancelled),
                Answer::Key('q') => Err(Next::Quit),
                Answer::Key(_) => Err(Next::Cancelled),
            })
        }
    }
}

/// The names of the objects of a class at the top.
fn names_of(door: &mut dyn Door, class: &'static str) -> Result<Vec<String>, Failure> {
    let objects = door.list(&[], class)?.unwrap_or_default();
    Ok(objects.into_iter().map(|object| object.name).collect())
}

fn steps<'p>(path: &'p [(&'static str, String)]) -> Vec<Step<'p>> {
    path.iter().map(|(class, name)| (*class, name.as_str())).collect()
}

/// The component at the end of these classes.
fn component_of(classes: &[&'static config::Class]) -> Option<&'static Component> {
    let is_it = |component: &&&'static Component| {
        component.classes().iter().map(|class| class.name).eq(classes.iter().map(|class| class.name))
    };
    components().iter().find(is_it).copied()
}

fn help_of(component: &'static Component, variant: &'static Variant) -> &'static str {
    if variant.help.is_empty() { component.class().help } else { variant.help }
}
