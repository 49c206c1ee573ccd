//! The way to an object: its class and name, after those of the objects that it is in.
//!
//! Knows the declarations; opens no file.

use crate::declarations::class;
use crate::declare::Class;
use crate::object::quoted;

/// One step to an object: its class and its name, which is empty for the only one of its class.
pub type Step<'p> = (&'static str, &'p str);

/// `[backend.userRoot.index.sn]`
pub(crate) fn title(path: &[Step<'_>]) -> String {
    let step = |(class, name): &Step<'_>| match *name {
        "" => (*class).to_owned(),
        name => format!("{class}.{}", quoted(name)),
    };
    let steps: Vec<String> = path.iter().map(step).collect();
    format!("[{}]", steps.join("."))
}

/// The class at the end of a path.
pub(crate) fn class_of(path: &[Step<'_>]) -> Option<&'static Class> {
    let mut classes = path.iter().map(|(class_name, _)| *class_name);
    let first: Option<&'static Class> = classes.next().and_then(class);
    classes.try_fold(first, |above, name| Some(above?.child(name))).flatten()
}
