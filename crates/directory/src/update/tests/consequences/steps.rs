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
    /// A value of `st`, its own.
    State {
        at: usize,
        which: usize,
    },
    /// `nsRoleDN`: an entry has a role, a nested role lists one.
    Assign {
        at: usize,
        to: Target,
    },
    /// Who has a filtered role.
    Refilter {
        at: usize,
        which: usize,
    },
    /// `nsRoleScopeDN`
    Rescope {
        at: usize,
        to: usize,
    },
    /// `nsAccountLock` of a role or of a person; without a value the one that is there goes.
    Lock {
        at: usize,
        value: Option<bool>,
    },
    /// `collectiveExclusions`, likewise.
    Exclude {
        at: usize,
        which: Option<usize>,
    },
    /// Another subtree.
    Specification {
        at: usize,
        of: usize,
    },
    /// What a subentry gives.
    Give {
        at: usize,
        which: usize,
        collective: bool,
    },
}

#[derive(Clone, Copy, Debug)]
pub enum Target {
    Living(usize),
    /// A person, or role, of that name, whether there is one or not.
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
/// Values of `st` and `c-st`.
pub const STATES: [&str; 3] = ["north", "south", "norwich"];
/// What a filtered role, or a subtree specification, may ask for.
const FILTERS: [&str; 3] = ["description=red", "st=north", "description=blue"];
const EXCLUSIONS: [&str; 3] = ["st", "c-st", "excludeallcollectiveattributes"];
const ROLES: [Kind; 3] = [Kind::Managed, Kind::Filtered, Kind::Nested];
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
        1 => Just(Kind::Lock),
        1 => Just(Kind::Managed),
        1 => Just(Kind::Filtered),
        2 => Just(Kind::Nested),
        1 => Just(Kind::Collective),
        1 => Just(Kind::FromDn),
        1 => Just(Kind::FromRdn),
    ];
    let target = || {
        prop_oneof![
            5 => at().prop_map(Target::Living),
            1 => (at(), 0..NAMES).prop_map(|(under, name)| Target::Named(under, name)),
        ]
    };
    let lock = prop::option::weighted(0.8, prop::bool::weighted(0.8));
    let computed = prop_oneof![
        2 => (at(), 0..STATES.len()).prop_map(|(at, which)| Step::State { at, which }),
        6 => (at(), target()).prop_map(|(at, to)| Step::Assign { at, to }),
        1 => (at(), 0..FILTERS.len()).prop_map(|(at, which)| Step::Refilter { at, which }),
        1 => (at(), at()).prop_map(|(at, to)| Step::Rescope { at, to }),
        2 => (at(), lock).prop_map(|(at, value)| Step::Lock { at, value }),
        2 => (at(), prop::option::weighted(0.7, 0..EXCLUSIONS.len()))
            .prop_map(|(at, which)| Step::Exclude { at, which }),
        2 => (at(), at()).prop_map(|(at, of)| Step::Specification { at, of }),
        1 => (at(), 0..STATES.len(), any::<bool>())
            .prop_map(|(at, which, collective)| Step::Give { at, which, collective }),
    ];
    prop_oneof![
        12 => computed,
        12 => (kind, at(), 0..NAMES, at()).prop_map(|(kind, under, name, of)| Step::Add { kind, under, name, of }),
        2 => (at(), prop::bool::weighted(0.2)).prop_map(|(at, subtree)| Step::Delete { at, subtree }),
        2 => (at(), 0..NAMES).prop_map(|(at, name)| Step::Rename { at, name }),
        2 => (at(), at()).prop_map(|(at, under)| Step::Move { at, under }),
        9 => (at(), prop::bool::weighted(0.75), target(), prop::bool::weighted(0.1))
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
        2 => (vec(step(), 1..6), prop::bool::weighted(0.8))
            .prop_map(|(steps, commit)| Event::Transaction(steps, commit)),
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
                Kind::Filtered => drop(values.insert("rolefilter", [FILTERS[*of % FILTERS.len()].to_owned()].into())),
                Kind::Collective => {
                    let attribute = if *of % 2 == 0 { "st;collective" } else { "c-st" };
                    values.insert(attribute, [STATES[*of % STATES.len()].to_owned()].into());
                }
                Kind::FromDn if *of % 3 == 0 => drop(values.insert("inheritfromdnparent", ["1".to_owned()].into())),
                Kind::FromRdn => drop(values.insert("inheritfrombaserdn", [format!("ou=n{}", *of % NAMES)].into())),
                _ => {}
            }
            if kind.is_collective() {
                values.insert("subtreespecification", [specification(*of)].into());
            }
            let attribute = match kind {
                Kind::Unit => "ou",
                Kind::Person => "uid",
                _ => "cn",
            };
            let dn = format!("{attribute}={}{name},{}", letter(*kind), pick(&above, *under)?);
            if *kind == Kind::Nested {
                values.insert("nsroledn", [SUFFIXES[backend_of(&dn)].to_owned()].into());
            }
            if *kind == Kind::Template && is_given(model, &dn) {
                return None;
            }
            Some(Op::Add { dn, entry: Entry { kind: *kind, values } })
        }
        Step::Delete { at, subtree } => Some(Op::Delete { dn: choose(&below, *at)?, subtree: *subtree }),
        Step::Rename { at, name } => {
            let dn = choose(&below, *at)?;
            let letter = letter(model.entries[&dn].kind);
            let (rdn, superior) = (format!("{}={letter}{name}", naming(&dn).0), parent_of(&dn).to_owned());
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
            let mut all: Vec<(&String, &'static str, &String)> = Vec::new();
            for (dn, entry) in &model.entries {
                for attribute in super::model::FOLLOWED {
                    // A nested role has to list something: a name that stays and is no role's.
                    let can_go = |value: &&String| attribute != "nsroledn" || !SUFFIXES.contains(&value.as_str());
                    all.extend(entry.values(attribute).filter(can_go).map(|value| (dn, attribute, value)));
                }
            }
            let (dn, attribute, value) = *all.get((at * 64 + which) % all.len().max(1))?;
            Some(Op::Take { dn: dn.clone(), attribute, value: value.clone() })
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
        Step::State { at, which } => {
            let dn = pick(&[Kind::Person, Kind::Unit], *at)?;
            Some(Op::Replace { dn, attribute: "st", value: STATES[*which].to_owned() })
        }
        Step::Assign { at, to } => {
            let dn = pick(&[Kind::Person, Kind::Unit, Kind::Nested], *at)?;
            let value = match to {
                Target::Living(to) => pick(&ROLES, *to)?,
                Target::Named(under, name) => format!("cn=r{name},{}", pick(&above, *under)?),
            };
            Some(Op::Put { dn, attribute: "nsroledn", value })
        }
        Step::Refilter { at, which } => {
            let value = FILTERS[*which].to_owned();
            Some(Op::Replace { dn: pick(&[Kind::Filtered], *at)?, attribute: "rolefilter", value })
        }
        Step::Rescope { at, to } => {
            let value = pick(&above, *to)?;
            Some(Op::Replace { dn: pick(&[Kind::Nested], *at)?, attribute: "nsrolescopedn", value })
        }
        Step::Lock { at, value } => {
            let dn = choose(&|it| *it == Kind::Person || it.is_role(), *at)?;
            put_or_take(model, dn, "nsaccountlock", value.map(|value| value.to_string()))
        }
        Step::Exclude { at, which } => {
            let dn = pick(&[Kind::Person, Kind::Unit], *at)?;
            put_or_take(model, dn, "collectiveexclusions", which.map(|which| EXCLUSIONS[which].to_owned()))
        }
        Step::Specification { at, of } => {
            let dn = choose(&|it| it.is_collective(), *at)?;
            Some(Op::Replace { dn, attribute: "subtreespecification", value: specification(*of) })
        }
        Step::Give { at, which, collective } => {
            let attribute = if *collective { "c-st" } else { "st;collective" };
            let value = STATES[*which].to_owned();
            Some(Op::Replace { dn: pick(&[Kind::Collective], *at)?, attribute, value })
        }
    }
}

/// Gives an attribute one value, or takes one that it has.
fn put_or_take(model: &Model, dn: String, attribute: &'static str, value: Option<String>) -> Option<Op> {
    match value {
        Some(value) => Some(Op::Replace { dn, attribute, value }),
        None => {
            let value = model.entries[&dn].values(attribute).next()?.clone();
            Some(Op::Take { dn, attribute, value })
        }
    }
}

/// What names of a kind begin with: few names in all, and not all taken.
fn letter(kind: Kind) -> char {
    match kind {
        kind if kind.is_role() => 'r',
        kind if kind.is_collective() || kind == Kind::Lock => 's',
        _ => 'n',
    }
}

/// A subtree specification as the model writes it.
fn specification(of: usize) -> String {
    let base = ["", "", "ou=n0", "ou=n1,ou=n0"][of % 4];
    let cut = ["", "ou=n1", "uid=n1", ""][of / 4 % 4];
    let filter = [FILTERS[0], FILTERS[1], "", ""][of / 16 % 4];
    format!("{base}|{cut}|{filter}")
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

/// What is there at first, so that steps have something to meet: units within units, groups within groups, and
/// definitions whose trees overlap.
pub fn planted() -> Vec<Op> {
    let first = SUFFIXES[0];
    let (outer, inner) = (format!("ou=n0,{first}"), format!("ou=n1,ou=n0,{first}"));
    let add = |dn: String, kind: Kind, values: &[(&'static str, &str)]| {
        let values = values.iter().map(|(name, value)| (*name, [(*value).to_owned()].into())).collect();
        Op::Add { dn, entry: Entry { kind, values } }
    };
    let put = |dn: &str, attribute: &'static str, value: &str| Op::Put {
        dn: dn.to_owned(),
        attribute,
        value: value.to_owned(),
    };
    let (ann, ben, cid) = (format!("uid=n0,{outer}"), format!("uid=n1,{inner}"), format!("uid=n2,{inner}"));
    let template = |n: usize| format!("cn=n{n},{first}");
    let crew = format!("cn=n0,{inner}");
    let role = |n: usize, above: &str| format!("cn=r{n},{above}");
    vec![
        add(outer.clone(), Kind::Unit, &[]),
        add(inner.clone(), Kind::Unit, &[]),
        add(ann.clone(), Kind::Person, &[("employeetype", "n1"), ("st", STATES[0])]),
        add(ben.clone(), Kind::Person, &[("employeetype", "n2"), ("manager", &ann), ("st", STATES[1])]),
        add(cid.clone(), Kind::Person, &[("employeetype", "n1"), ("manager", &ben), ("description", "red")]),
        add(template(0), Kind::Template, &[("l", PLACES[0]), ("cospriority", "40")]),
        add(template(1), Kind::Template, &[("l", PLACES[1]), ("cospriority", "20")]),
        add(template(2), Kind::Template, &[("l", PLACES[2]), ("cospriority", "30")]),
        add(format!("cn=n3,{outer}"), Kind::Pointer, &[("costemplatedn", &template(0))]),
        add(format!("cn=n3,{inner}"), Kind::Pointer, &[("costemplatedn", &template(1))]),
        add(format!("cn=n2,{outer}"), Kind::Classic, &[("costemplatedn", first)]),
        add(format!("cn=n1,{inner}"), Kind::Indirect, &[]),
        add(role(0, &outer), Kind::Managed, &[("nsaccountlock", "true")]),
        add(role(1, &outer), Kind::Filtered, &[("rolefilter", FILTERS[0])]),
        add(role(2, first), Kind::Nested, &[("nsroledn", first)]),
        add(role(3, &inner), Kind::Nested, &[("nsroledn", first), ("nsrolescopedn", &outer)]),
        add(format!("cn=s0,{outer}"), Kind::Lock, &[]),
        add(
            format!("cn=s1,{first}"),
            Kind::Collective,
            &[("c-st", STATES[1]), ("subtreespecification", &specification(34))],
        ),
        add(format!("cn=s2,{outer}"), Kind::FromDn, &[("subtreespecification", &specification(32))]),
        add(
            format!("cn=s3,{first}"),
            Kind::FromRdn,
            &[("inheritfrombaserdn", "ou=n1,ou=n0"), ("subtreespecification", &specification(32))],
        ),
        add(crew.clone(), Kind::Names, &[("member", &ben)]),
        add(format!("cn=n0,{}", SUFFIXES[1]), Kind::Unique, &[("uniquemember", &crew)]),
        add(format!("cn=n1,{}", SUFFIXES[1]), Kind::Dynamic, &[("base", &outer)]),
        put(&ann, "nsroledn", &role(0, &outer)),
        put(&ben, "nsroledn", &role(0, &outer)),
        put(&role(3, &inner), "nsroledn", &role(0, &outer)),
        put(&ben, "collectiveexclusions", EXCLUSIONS[1]),
        put(&role(2, first), "nsroledn", &role(0, &outer)),
        put(&role(2, first), "nsroledn", &role(1, &outer)),
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
