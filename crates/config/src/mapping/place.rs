//! DNs: of objects and of the entries that hold them, both ways.
//!
//! Knows names; whether there is such an object is asked elsewhere.

use ldap::Dn;
use ldap::dn::Rdn;

use super::names::{CONFIG_DN, entry_name, naming_attribute};
use crate::declarations::{CLASSES, class};
use crate::declare::Class;
use crate::dn::escaped;
use crate::step::Step;

/// What a name below `cn=config` stands for, whether or not there is such an object.
#[derive(Debug, Clone)]
pub enum Place {
    /// An object: the classes and names on the way to it.
    Object(Vec<(&'static Class, String)>),
    /// The entry that holds the objects of a class, in an object or at the top.
    Container {
        /// The way to the object that it is in; empty at the top.
        above: Vec<(&'static Class, String)>,
        /// The class of what it holds.
        class: &'static Class,
    },
}

impl Place {
    /// The way to the object, for what takes steps; none for a container.
    #[must_use]
    pub fn path(&self) -> Option<Vec<Step<'_>>> {
        match self {
            Self::Object(path) => Some(path.iter().map(|(class, name)| (class.name, name.as_str())).collect()),
            Self::Container { .. } => None,
        }
    }
}

/// The DN of an object: `ds-cfg-attribute=cn,cn=Index,ds-cfg-backend-id=userRoot,cn=Backends,cn=config`.
#[must_use]
pub fn dn_of(path: &[Step<'_>]) -> String {
    let (mut dn, mut found) = (CONFIG_DN.to_owned(), None::<&'static Class>);
    for (class_name, name) in path {
        let next = found.map_or_else(|| class(class_name), |above| above.child(class_name));
        let Some(class) = next else { return dn };
        found = Some(class);
        if class.name == CLASSES[0].name {
            continue;
        }
        dn = format!("cn={},{dn}", entry_name(class));
        if class.named_by.is_some() {
            dn = format!("{}={},{dn}", naming_attribute(class), escaped(name));
        }
    }
    dn
}

/// The DN of the entry that holds the objects of a class.
#[must_use]
pub fn container_dn(above: &[Step<'_>], class: &Class) -> String {
    format!("cn={},{}", entry_name(class), dn_of(above))
}

/// What a name stands for; none for a name that nothing can have.
#[must_use]
pub fn place_of(dn: &Dn<'_>) -> Option<Place> {
    let mut rdns = dn.rdns().iter().rev();
    if !value_of(rdns.next()?, "cn")?.eq_ignore_ascii_case("config") {
        return None;
    }
    let mut above: Vec<(&'static Class, String)> = Vec::new();
    let mut classes: &[&'static Class] = &CLASSES;
    loop {
        let Some(holding) = rdns.next() else {
            return Some(Place::Object(if above.is_empty() { vec![(CLASSES[0], String::new())] } else { above }));
        };
        let entry = value_of(holding, "cn")?;
        let is_called = |class: &&&'static Class| entry_name(class).eq_ignore_ascii_case(&entry);
        // `cn=config,cn=config` is nothing.
        let mut called = classes.iter().filter(is_called).filter(|class| class.name != CLASSES[0].name);
        let (single, several): (Vec<&'static Class>, Vec<&'static Class>) =
            called.by_ref().partition(|class| class.named_by.is_none());
        let holds = several.first().copied();
        let Some(named) = rdns.next() else {
            return match (single.first(), holds) {
                (Some(single), _) => Some(Place::Object(vec![(single, String::new())])),
                (None, Some(class)) => Some(Place::Container { above, class }),
                (None, None) => None,
            };
        };
        let class = holds?;
        above.push((class, value_of(named, naming_attribute(class))?));
        classes = class.children;
    }
}

/// The value of an RDN that has this attribute and no other.
fn value_of(rdn: &Rdn<'_>, attribute: &str) -> Option<String> {
    let [only] = rdn.avas() else { return None };
    let value = String::from_utf8(only.value.to_vec()).ok()?;
    only.attribute.eq_ignore_ascii_case(attribute).then(|| value.trim().to_owned())
}
