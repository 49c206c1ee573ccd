//! Random steps, made into updates that mean something where the model stands.

use proptest::collection::vec;
use proptest::prelude::*;

use super::model::{Attributes, Entry, Kind, Model, Op, Qualifier, SUFFIXES, backend_of, naming, parent_of};

/// What to do; numbers choose among what there is.
#[derive(Clone, Debug)]
pub enum Step {
    Add {
        kind: Kind,
        under: usize,
        name: usize,
        of: usize,
    },
    Delete {
        at: usize,
        subtree: bool,
    },
    Rename {
        at: usize,
        name: usize,
    },
    Move {
        at: usize,
        under: usize,
    },
    Refer {
        at: usize,
        attribute: bool,
        to: Target,
        identifier: bool,
    },
    Unrefer {
        at: usize,
        which: usize,
    },
    Mail {
        at: usize,
        which: usize,
    },
    Colour {
        at: usize,
        which: usize,
    },
    Retarget {
        at: usize,
        to: usize,
    },
    /// A value of `l`, its own.
    Place {
        at: usize,
        which: usize,
    },
    /// Which template a classic definition takes.
    Specify {
        at: usize,
        name: usize,
    },
    Rank {
        at: usize,
        rank: usize,
    },
    /// Another template.
    Redefine {
        at: usize,
        of: usize,
    },
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

/// Values of `l`.
pub const PLACES: [&str; 4] = ["aachen", "basel", "cadiz", "delft"];
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
        2 => Just(Kind::Template),
        1 => Just(Kind::Pointer),
        1 => Just(Kind::Classic),
        1 => Just(Kind::Indirect),
    ];
    let target = prop_oneof![
        5 => at().prop_map(Target::Living),
        1 => (at(), 0..NAMES).prop_map(|(under, name)| Target::Named(under, name)),
    ];
    prop_oneof![
        9 => (kind, at(), 0..NAMES, at()).prop_map(|(kind, under, name, of)| Step::Add { kind, under, name, of }),
        2 => (at(), prop::bool::weighted(0.2)).prop_map(|(at, subtree)| Step::Delete { at, subtree }),
        2 => (at(), 0..NAMES).prop_map(|(at, name)| Step::Rename { at, name }),
        2 => (at(), at()).prop_map(|(at, under)| Step::Move { at, under }),
        9 => (at(), prop::bool::weighted(0.75), target, prop::bool::weighted(0.1))
            .prop_map(|(at, attribute, to, identifier)| Step::Refer { at, attribute, to, identifier }),
        2 => (at(), at()).prop_map(|(at, which)| Step::Unrefer { at, which }),
        1 => (at(), 0..3usize).prop_map(|(at, which)| Step::Mail { at, which }),
        1 => (at(), 0..3usize).prop_map(|(at, which)| Step::Colour { at, which }),
        1 => (at(), at()).prop_map(|(at, to)| Step::Retarget { at, to }),
        3 => (at(), 0..PLACES.len()).prop_map(|(at, which)| Step::Place { at, which }),
        2 => (at(), 0..NAMES).prop_map(|(at, name)| Step::Specify { at, name }),
        1 => (at(), 0..64usize).prop_map(|(at, rank)| Step::Rank { at, rank }),
        1 => (at(), at()).prop_map(|(at, of)| Step::Redefine { at, of }),
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
    let choose = |is: &dyn Fn(&Kind) -> bool, at: usize| {
        let all: Vec<&String> = model.entries.iter().filter(|(_, it)| is(&it.kind)).map(|(dn, _)| dn).collect();
        (!all.is_empty()).then(|| all[at % all.len()].clone())
    };
    let pick = |kinds: &[Kind], at: usize| choose(&|it| kinds.contains(it), at);
    let above = [Kind::Suffix, Kind::Unit];
    let below = |it: &Kind| *it != Kind::Suffix;
    let groups = [Kind::Names, Kind::Unique, Kind::Dynamic, Kind::Virtual];
    match step {
        Step::Add { kind, under, name, of } => {
            let mut values = Attributes::new();
            match kind {
                Kind::Dynamic => drop(values.insert("base", [pick(&above, *of)?].into())),
                Kind::Virtual => drop(values.insert("ds-target-group-dn", [pick(&groups, *of)?].into())),
                Kind::Person if *of % 4 == 0 => drop(values.insert("mail", [mail(*of / 4)].into())),
                Kind::Template => {
                    values.insert("l", [PLACES[*of % PLACES.len()].to_owned()].into());
                    values.insert("cospriority", [rank(model, *of)?].into());
                }
                Kind::Pointer => drop(values.insert("costemplatedn", [choose(&|_| true, *of)?].into())),
                Kind::Classic => drop(values.insert("costemplatedn", [pick(&above, *of)?].into())),
                _ => {}
            }
            let attribute = match kind {
                Kind::Unit => "ou",
                Kind::Person => "uid",
                _ => "cn",
            };
            let dn = format!("{attribute}=n{name},{}", pick(&above, *under)?);
            if *kind == Kind::Template && is_given(model, &dn) {
                return None;
            }
            Some(Op::Add { dn, entry: Entry { kind: *kind, values } })
        }
        Step::Delete { at, subtree } => Some(Op::Delete { dn: choose(&below, *at)?, subtree: *subtree }),
        Step::Rename { at, name } => {
            let dn = choose(&below, *at)?;
            let (rdn, superior) = (format!("{}=n{name}", naming(&dn).0), parent_of(&dn).to_owned());
            Some(Op::Rename { dn, rdn, superior })
        }
        Step::Move { at, under } => {
            let (dn, superior) = (choose(&below, *at)?, pick(&above, *under)?);
            let rdn = dn.split(',').next()?.to_owned();
            (backend_of(&dn) == backend_of(&superior)).then_some(Op::Rename { dn, rdn, superior })
        }
        Step::Refer { at, attribute, to, identifier } => {
            let dn = choose(&|it| below(it) && !it.is_hidden() && *it != Kind::Template, *at)?;
            let entry = &model.entries[&dn];
            let attribute = match entry.kind {
                // Of several the first would count, and the model knows no order.
                Kind::Person if *attribute && entry.values.contains_key("manager") => return None,
                Kind::Person if *attribute => "manager",
                Kind::Names if *attribute => "member",
                Kind::Unique if *attribute => "uniquemember",
                _ => "seealso",
            };
            let mut value = match to {
                Target::Living(to) => choose(&|_| true, *to)?,
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
        Step::Place { at, which } => {
            let dn = pick(&[Kind::Person, Kind::Template, Kind::Unit], *at)?;
            (!is_given(model, &dn)).then(|| Op::Replace { dn, attribute: "l", value: PLACES[*which].to_owned() })
        }
        Step::Specify { at, name } => {
            Some(Op::Replace { dn: pick(&[Kind::Person], *at)?, attribute: "employeetype", value: format!("n{name}") })
        }
        Step::Rank { at, rank: wanted } => Some(Op::Replace {
            dn: pick(&[Kind::Template], *at)?,
            attribute: "cospriority",
            value: rank(model, *wanted)?,
        }),
        Step::Redefine { at, of } => {
            let dn = pick(&[Kind::Pointer, Kind::Classic], *at)?;
            let value = match model.entries[&dn].kind {
                Kind::Pointer => choose(&|_| true, *of)?,
                _ => pick(&above, *of)?,
            };
            Some(Op::Replace { dn, attribute: "costemplatedn", value })
        }
    }
}

/// Whether `l` is given there instead of what is stored: then it cannot be written.
fn is_given(model: &Model, dn: &str) -> bool {
    model.manner.qualifier == Qualifier::Override && model.definitions(dn).next().is_some()
}

/// A priority that no template has yet: of equal ones any may win.
fn rank(model: &Model, wanted: usize) -> Option<String> {
    let rank = wanted.to_string();
    model.having("cospriority", |taken| *taken == rank).is_empty().then_some(rank)
}

fn mail(which: usize) -> String {
    format!("m{}@example.com", which % 3)
}

/// What is there at first, so that steps have something to meet: units within units, groups within groups, and definitions whose trees
/// overlap.
pub fn planted() -> Vec<Op> {
    let first = SUFFIXES[0];
    let (outer, inner) = (format!("ou=n0,{first}"), format!("ou=n1,ou=n0,{first}"));
    let add = |dn: String, kind: Kind, values: &[(&'static str, &str)]| {
        let values = values.iter().map(|(name, value)| (*name, [(*value).to_owned()].into())).collect();
        Op::Add { dn, entry: Entry { kind, values } }
    };
    let (ann, ben, cid) = (format!("uid=n0,{outer}"), format!("uid=n1,{inner}"), format!("uid=n2,{inner}"));
    let template = |n: usize| format!("cn=n{n},{first}");
    let crew = format!("cn=n0,{inner}");
    vec![
        add(outer.clone(), Kind::Unit, &[]),
        add(inner.clone(), Kind::Unit, &[]),
        add(ann.clone(), Kind::Person, &[("employeetype", "n1")]),
        add(ben.clone(), Kind::Person, &[("employeetype", "n2"), ("manager", &ann)]),
        add(cid.clone(), Kind::Person, &[("manager", &ben), ("description", "red")]),
        add(template(0), Kind::Template, &[("l", PLACES[0]), ("cospriority", "40")]),
        add(template(1), Kind::Template, &[("l", PLACES[1]), ("cospriority", "20")]),
        add(template(2), Kind::Template, &[("l", PLACES[2]), ("cospriority", "30")]),
        add(format!("cn=n3,{outer}"), Kind::Pointer, &[("costemplatedn", &template(0))]),
        add(format!("cn=n3,{inner}"), Kind::Pointer, &[("costemplatedn", &template(1))]),
        add(format!("cn=n2,{outer}"), Kind::Classic, &[("costemplatedn", first)]),
        add(format!("cn=n1,{inner}"), Kind::Indirect, &[]),
        add(crew.clone(), Kind::Names, &[("member", &ben)]),
        add(format!("cn=n0,{}", SUFFIXES[1]), Kind::Unique, &[("uniquemember", &crew)]),
        add(format!("cn=n1,{}", SUFFIXES[1]), Kind::Dynamic, &[("base", &outer)]),
    ]
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
