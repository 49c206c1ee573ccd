//! Random steps, made into updates that mean something where the model stands.

use proptest::collection::vec;
use proptest::prelude::*;

use super::model::{Attributes, Entry, Kind, Model, Op, SUFFIXES, backend_of, naming, parent_of};

/// What to do; numbers choose among what there is.
#[derive(Clone, Debug)]
pub enum Step {
    Add { kind: Kind, under: usize, name: usize, of: usize },
    Delete { at: usize, subtree: bool },
    Rename { at: usize, name: usize },
    Move { at: usize, under: usize },
    Refer { at: usize, attribute: bool, to: Target, identifier: bool },
    Unrefer { at: usize, which: usize },
    Mail { at: usize, which: usize },
    Colour { at: usize, which: usize },
    Retarget { at: usize, to: usize },
}

#[derive(Clone, Copy, Debug)]
pub enum Target {
    Living(usize),
    /// A person of that name, whether there is one or not.
    Named(usize, usize),
}

/// What happens to the directory as a whole.
#[derive(Clone, Debug)]
pub enum Event {
    One(Step),
    /// All or nothing, within one backend.
    Transaction(Vec<Step>, bool),
    /// Names of that backend's queue are followed; not in their own backend, unless finished.
    Work {
        backend: usize,
        count: usize,
        is_finished: bool,
    },
    Compare,
    /// The power goes, and comes again.
    Crash,
    Fold,
}

/// So few that names come again.
const NAMES: usize = 4;

fn step() -> impl Strategy<Value = Step> {
    let at = || 0..64usize;
    let kind = prop_oneof![
        3 => Just(Kind::Person),
        1 => Just(Kind::Unit),
        2 => Just(Kind::Names),
        1 => Just(Kind::Unique),
        1 => Just(Kind::Dynamic),
        1 => Just(Kind::Virtual),
    ];
    let target = prop_oneof![
        5 => at().prop_map(Target::Living),
        1 => (at(), 0..NAMES).prop_map(|(under, name)| Target::Named(under, name)),
    ];
    prop_oneof![
        6 => (kind, at(), 0..NAMES, at()).prop_map(|(kind, under, name, of)| Step::Add { kind, under, name, of }),
        2 => (at(), prop::bool::weighted(0.2)).prop_map(|(at, subtree)| Step::Delete { at, subtree }),
        2 => (at(), 0..NAMES).prop_map(|(at, name)| Step::Rename { at, name }),
        2 => (at(), at()).prop_map(|(at, under)| Step::Move { at, under }),
        9 => (at(), prop::bool::weighted(0.75), target, prop::bool::weighted(0.1))
            .prop_map(|(at, attribute, to, identifier)| Step::Refer { at, attribute, to, identifier }),
        2 => (at(), at()).prop_map(|(at, which)| Step::Unrefer { at, which }),
        1 => (at(), 0..3usize).prop_map(|(at, which)| Step::Mail { at, which }),
        1 => (at(), 0..3usize).prop_map(|(at, which)| Step::Colour { at, which }),
        1 => (at(), at()).prop_map(|(at, to)| Step::Retarget { at, to }),
    ]
}

pub fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        20 => step().prop_map(Event::One),
        2 => (vec(step(), 1..6), prop::bool::weighted(0.8)).prop_map(|(steps, commit)| Event::Transaction(steps, commit)),
        3 => (0..2usize, 1..4usize, any::<bool>())
            .prop_map(|(backend, count, is_finished)| Event::Work { backend, count, is_finished }),
        2 => Just(Event::Compare),
        1 => Just(Event::Crash),
        1 => Just(Event::Fold),
    ];
    vec(event, 1..90)
}

/// The update that a step means here; none if there is nothing for it.
pub fn resolve(model: &Model, step: &Step) -> Option<Op> {
    let is = |dn: &&String, kinds: &[Kind]| {
        kinds.is_empty() || model.entries.get(*dn).is_some_and(|it| kinds.contains(&it.kind))
    };
    let pick = |kinds: &[Kind], at: usize| {
        let all: Vec<&String> = model.entries.keys().filter(|dn| is(dn, kinds)).collect();
        (!all.is_empty()).then(|| all[at % all.len()].clone())
    };
    let above = [Kind::Suffix, Kind::Unit];
    let below: &[Kind] = &[Kind::Unit, Kind::Person, Kind::Names, Kind::Unique, Kind::Dynamic, Kind::Virtual];
    let groups = [Kind::Names, Kind::Unique, Kind::Dynamic, Kind::Virtual];
    match step {
        Step::Add { kind, under, name, of } => {
            let mut values = Attributes::new();
            match kind {
                Kind::Dynamic => drop(values.insert("base", [pick(&above, *of)?].into())),
                Kind::Virtual => drop(values.insert("ds-target-group-dn", [pick(&groups, *of)?].into())),
                Kind::Person if *of % 4 == 0 => drop(values.insert("mail", [mail(*of / 4)].into())),
                _ => {}
            }
            let attribute = match kind {
                Kind::Unit => "ou",
                Kind::Person => "uid",
                _ => "cn",
            };
            let dn = format!("{attribute}=n{name},{}", pick(&above, *under)?);
            Some(Op::Add { dn, entry: Entry { kind: *kind, values } })
        }
        Step::Delete { at, subtree } => Some(Op::Delete { dn: pick(below, *at)?, subtree: *subtree }),
        Step::Rename { at, name } => {
            let dn = pick(below, *at)?;
            let (rdn, superior) = (format!("{}=n{name}", naming(&dn).0), parent_of(&dn).to_owned());
            Some(Op::Rename { dn, rdn, superior })
        }
        Step::Move { at, under } => {
            let (dn, superior) = (pick(below, *at)?, pick(&above, *under)?);
            let rdn = dn.split(',').next()?.to_owned();
            (backend_of(&dn) == backend_of(&superior)).then_some(Op::Rename { dn, rdn, superior })
        }
        Step::Refer { at, attribute, to, identifier } => {
            let dn = pick(below, *at)?;
            let attribute = match model.entries[&dn].kind {
                Kind::Person if *attribute => "manager",
                Kind::Names if *attribute => "member",
                Kind::Unique if *attribute => "uniquemember",
                _ => "seealso",
            };
            let mut value = match to {
                Target::Living(to) => pick(&[], *to)?,
                Target::Named(under, name) => format!("uid=n{name},{}", pick(&above, *under)?),
            };
            if *identifier && attribute == "uniquemember" {
                value.push_str("#'01'B");
            }
            Some(Op::Put { dn, attribute, value })
        }
        Step::Unrefer { at, which } => {
            let has = |dn: &String| super::model::FOLLOWED.iter().any(|it| model.entries[dn].values.contains_key(it));
            let holders: Vec<&String> = model.entries.keys().filter(|dn| has(dn)).collect();
            let dn = (*holders.get(at % holders.len().max(1))?).clone();
            let entry = &model.entries[&dn];
            let all: Vec<(&'static str, &String)> = super::model::FOLLOWED
                .iter()
                .flat_map(|name| entry.values.get(name).into_iter().flatten().map(|value| (*name, value)))
                .collect();
            let (attribute, value) = all[which % all.len()];
            Some(Op::Take { attribute, value: value.clone(), dn })
        }
        Step::Mail { at, which } => {
            Some(Op::Replace { dn: pick(&[Kind::Person], *at)?, attribute: "mail", value: mail(*which) })
        }
        Step::Colour { at, which } => {
            let value = ["red", "blue", "green"][which % 3].to_owned();
            Some(Op::Replace { dn: pick(&[Kind::Person], *at)?, attribute: "description", value })
        }
        Step::Retarget { at, to } => {
            let (dn, value) = (pick(&[Kind::Virtual], *at)?, pick(&groups, *to)?);
            Some(Op::Replace { dn, attribute: "ds-target-group-dn", value })
        }
    }
}

fn mail(which: usize) -> String {
    format!("m{}@example.com", which % 3)
}

/// The suffixes as LDIF, for two backends.
pub fn ldif() -> String {
    let class = |suffix: &str| if suffix.starts_with("dc") { "domain" } else { "organization" };
    let entry = |suffix: &str| {
        let (attribute, value) = naming(suffix);
        format!("dn: {suffix}\nobjectClass: {}\n{attribute}: {value}\n\n", class(suffix))
    };
    SUFFIXES.map(entry).join("####\n")
}
