//! Random directories, instructions and askers.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use super::evaluate::{MADE_BY_SERVER, World};
use super::filter::Filter;
use super::instruction::{
    AttributeTarget, Condition, Effect, Holds, Instruction, NamePattern, PartPattern, Right, Rule, Scope, Sign, User,
    ValueFilter,
};
use super::model::{Asker, Attributes, Name, Tree, Url, UrlScope};
use super::random::Random;
use super::roles::ROLES;

pub const BASE: &str = "dc=example,dc=com";
const PLACES: [&str; 5] = [
    BASE,
    "ou=people,dc=example,dc=com",
    "ou=deep,ou=people,dc=example,dc=com",
    "ou=other,dc=example,dc=com",
    "ou=groups,dc=example,dc=com",
];
const PEOPLE: [&str; 6] = [
    "uid=ann,ou=people,dc=example,dc=com",
    "uid=ben,ou=people,dc=example,dc=com",
    "uid=cora,ou=people,dc=example,dc=com",
    "uid=dan,ou=deep,ou=people,dc=example,dc=com",
    "uid=eve,ou=other,dc=example,dc=com",
    "uid=abel,ou=other,dc=example,dc=com",
];
const DEVICES: [&str; 2] =
    ["cn=phone,uid=ann,ou=people,dc=example,dc=com", "cn=phone,uid=eve,ou=other,dc=example,dc=com"];
const GROUPS: [&str; 4] = [
    "cn=static,ou=groups,dc=example,dc=com",
    "cn=nested,ou=groups,dc=example,dc=com",
    "cn=dynamic,ou=groups,dc=example,dc=com",
    "cn=virtual,ou=groups,dc=example,dc=com",
];
/// Attributes that people have, with values.
pub const TEXTS: [(&str, &[&str]); 4] = [
    ("description", &["abc", "axe", "dog", "dim"]),
    ("title", &["boss", "clerk"]),
    ("l", &["north", "south"]),
    ("sn", &["ash", "birch"]),
];
/// Types in `targetattr` and how they may be spelled.
const SPELLINGS: [(&str, &str); 16] = [
    ("cn", "cn"),
    ("cn", "commonName"),
    ("cn", "2.5.4.3"),
    ("sn", "sn"),
    ("sn", "SURNAME"),
    ("description", "description"),
    ("title", "Title"),
    ("l", "localityName"),
    ("uid", "uid"),
    ("manager", "manager"),
    ("seealso", "seeAlso"),
    ("member", "member"),
    ("objectclass", "objectClass"),
    ("entryuuid", "entryUUID"),
    ("createtimestamp", "createTimestamp"),
    ("aci", "aci"),
];

/// A moment of some day.
pub fn now() -> i64 {
    1_790_000_000
}

pub fn askers(random: &mut Random) -> Vec<Asker> {
    let mut names = vec![None];
    names.extend(random.some_of(&PEOPLE, 3).into_iter().map(|name| Some(Name::of(name))));
    let asker = |name: Option<Name>, random: &mut Random| Asker {
        is_simple: name.is_some() && random.chance(80),
        name,
        address: random.one_of(&[
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7)),
            IpAddr::V6(std::net::Ipv6Addr::LOCALHOST),
        ]),
        ssf: random.one_of(&[0, 128, 256]),
        host: random.one_of(&[None, Some("client.example.com"), Some("client.example.org")]),
        is_proxied: random.chance(30),
    };
    names.into_iter().map(|name| asker(name, random)).collect()
}

pub fn world(random: &mut Random) -> World {
    let mut tree = Tree::default();
    let mut urls = BTreeMap::new();
    for place in PLACES {
        let name = Name::of(place);
        let (kind, value) = name.0[0].clone();
        let class = if kind == "dc" { "domain" } else { "organizationalunit" };
        tree.entries.insert(name, entry(random, class, &[(&kind, value)], &["description", "l"]));
    }
    for person in PEOPLE {
        let name = Name::of(person);
        let uid = name.0[0].1.clone();
        let sn = random.one_of(TEXTS[3].1).to_owned();
        let fixed = [("uid", uid.clone()), ("cn", uid), ("sn", sn)];
        let mut attributes = entry(random, "inetorgperson", &fixed, &["description", "title", "l"]);
        names_in(random, &mut attributes, "manager");
        if random.chance(50) {
            let roles = random.some_of(&ROLES, 2).into_iter().map(str::to_owned).collect();
            attributes.insert("nsroledn".to_owned(), roles);
        }
        tree.entries.insert(name, attributes);
    }
    for device in DEVICES {
        let attributes = entry(random, "device", &[("cn", "phone".to_owned())], &["description", "l"]);
        tree.entries.insert(Name::of(device), attributes);
    }
    for (at, group) in GROUPS.into_iter().enumerate() {
        let name = Name::of(group);
        let class = ["groupofnames", "groupofnames", "groupofurls", "groupofentries"][at];
        let cn = name.0[0].1.clone();
        let mut attributes = entry(random, class, &[("cn", cn)], &["description"]);
        if at == 2 {
            attributes.remove("seealso");
            let url = url_of_people(random);
            attributes.insert("memberurl".to_owned(), vec![url.to_string()]);
            urls.insert(name.clone(), url);
        } else if at == 3 {
            attributes.get_mut("objectclass").unwrap().push("ds-virtual-static-group".to_owned());
            attributes.insert("ds-target-group-dn".to_owned(), vec![GROUPS[random.below(3)].to_owned()]);
        } else {
            let mut members: Vec<String> = random.some_of(&PEOPLE, 3).into_iter().map(str::to_owned).collect();
            if at == 1 {
                members.push(GROUPS[random.below(3)].to_owned());
            }
            attributes.insert("member".to_owned(), members);
        }
        tree.entries.insert(name, attributes);
    }
    let count = 1 + random.below(7);
    let mut instructions: Vec<Instruction> = (0..count).map(|at| instruction(random, at)).collect();
    if random.chance(60) {
        instructions.push(everybody_reads(random));
    }
    for attributes in tree.entries.values_mut() {
        attributes.extend(MADE_BY_SERVER.map(|kind| (kind.to_owned(), vec!["made by the server".to_owned()])));
    }
    World { tree, urls, instructions: Vec::new() }.with(instructions)
}

fn entry(random: &mut Random, class: &str, fixed: &[(&str, String)], optional: &[&str]) -> Attributes {
    let mut attributes = Attributes::from([("objectclass".to_owned(), vec![class.to_owned()])]);
    for (kind, value) in fixed {
        attributes.insert((*kind).to_owned(), vec![value.clone()]);
    }
    for (kind, values) in TEXTS.iter().filter(|(kind, _)| optional.contains(kind)) {
        if random.chance(60) {
            let values = random.some_of(values, 2).into_iter().map(str::to_owned).collect();
            attributes.insert((*kind).to_owned(), values);
        }
    }
    if class != "domain" || random.chance(50) {
        names_in(random, &mut attributes, "seealso");
    }
    attributes
}

fn names_in(random: &mut Random, attributes: &mut Attributes, kind: &str) {
    if random.chance(60) {
        let name = match random.below(10) {
            0..=5 => random.one_of(&PEOPLE),
            6..=8 => random.one_of(&GROUPS),
            _ => random.one_of(&ROLES),
        };
        attributes.insert(kind.to_owned(), vec![name.to_owned()]);
    }
}

fn everybody_reads(random: &mut Random) -> Instruction {
    let rights = vec![Right::Read, Right::Search, Right::Compare];
    let user = random.one_of(&[User::Anyone, User::All]);
    Instruction {
        holder: random.chance(50).then(|| Name::of(BASE)),
        label: "everybody reads".to_owned(),
        target: None,
        attributes: Some((Sign::Is, vec![AttributeTarget::User])),
        filter: None,
        scope: None,
        value_filters: Vec::new(),
        pairs: vec![(Effect::Allow, rights, Rule::Test(Sign::Is, Condition::UserDn(vec![user])))],
    }
}

fn instruction(random: &mut Random, at: usize) -> Instruction {
    let holder = match random.below(10) {
        0 | 1 => None,
        2..=4 => Some(BASE),
        5..=7 => Some(random.one_of(&PLACES)),
        _ => Some(random.one_of(&PEOPLE)),
    };
    let holder = holder.map(Name::of);
    let attributes = random.chance(80).then(|| (sign(random), attribute_targets(random)));
    let target = random.chance(25).then(|| target(random, holder.as_ref()));
    // What a scope is measured from is said of a target that is a name, and without `!=`.
    let may_have_scope = !matches!(target, Some((Sign::IsNot, _)));
    let pairs = 1 + usize::from(random.chance(20));
    let filter = random.chance(25).then(|| (sign(random), filter(random, 1)));
    let value_filters = if random.chance(12) { value_filters(random) } else { Vec::new() };
    // Which of both decides is said where they speak of the same attribute.
    let attributes = match (attributes, value_filters.first()) {
        (Some((_, mut targets)), Some(_)) => {
            targets.extend(value_filters.iter().map(|it| AttributeTarget::Named(it.kind, it.kind)));
            Some((Sign::Is, targets))
        }
        (attributes, _) => attributes,
    };
    let pairs = (0..pairs).map(|_| pair(random, value_filters.is_empty())).collect();
    let scope = (may_have_scope && random.chance(20))
        .then(|| random.one_of(&[Scope::Base, Scope::OneLevel, Scope::Subtree, Scope::Subordinate]));
    Instruction { holder, label: format!("number {at}"), target, attributes, filter, scope, value_filters, pairs }
}

fn pair(random: &mut Random, may_deny: bool) -> (Effect, Vec<Right>, Rule) {
    use Right::{Add, All, Compare, Delete, Export, Import, Read, Search, SelfWrite, Write};
    let rights = random.one_of(&[
        vec![Read, Search, Compare],
        vec![Read, Search, Compare],
        vec![Read, Search],
        vec![Read],
        vec![Search],
        vec![Compare],
        vec![Write],
        vec![Write],
        vec![Read, Write],
        vec![SelfWrite],
        vec![Add, Delete],
        vec![Add],
        vec![Delete],
        vec![Import, Export, Write],
        vec![Import],
        vec![Export],
        vec![All],
        vec![All, Import, Export],
    ]);
    let effect = if may_deny && random.chance(25) { Effect::Deny } else { Effect::Allow };
    (effect, rights, rule(random, 2))
}

fn sign(random: &mut Random) -> Sign {
    if random.chance(18) { Sign::IsNot } else { Sign::Is }
}

fn attribute_targets(random: &mut Random) -> Vec<AttributeTarget> {
    match random.below(10) {
        0..=3 => vec![AttributeTarget::User],
        4 => vec![AttributeTarget::Operational],
        5 => vec![AttributeTarget::User, AttributeTarget::Operational],
        _ => {
            let some = random.some_of(&SPELLINGS, 4);
            some.into_iter().map(|(kind, spelled)| AttributeTarget::Named(kind, spelled)).collect()
        }
    }
}

fn target(random: &mut Random, holder: Option<&Name>) -> (Sign, NamePattern) {
    let sign = sign(random);
    if random.chance(45) {
        return (sign, pattern(random));
    }
    let all = [&PLACES[..], &PEOPLE[..], &DEVICES[..], &GROUPS[..]].concat();
    let below: Vec<Name> =
        all.into_iter().map(Name::of).filter(|it| holder.is_none_or(|top| it.is_at_or_below(top))).collect();
    let name = random.one_of(&below);
    (sign, exact(random, name))
}

fn exact(random: &mut Random, name: Name) -> NamePattern {
    let text = name.to_string();
    let spelled = if random.chance(20) { text.replace("ou=", "OU = ").replace(',', ", ") } else { text };
    NamePattern::Exact(name, spelled)
}

fn pattern(random: &mut Random) -> NamePattern {
    let part = |kind, value: &str| PartPattern::Part(kind, value.to_owned());
    let (any, many) = (PartPattern::AnyPart, PartPattern::AnyParts);
    let (example, com) = (part(Some("dc"), "example"), part(Some("dc"), "com"));
    let leaf = random.one_of(&[
        part(Some("uid"), "a*"),
        part(Some("uid"), "*"),
        part(Some("uid"), "*e*"),
        part(None, "*"),
        part(Some("cn"), "*"),
        any.clone(),
    ]);
    let middle = random.one_of(&[
        vec![part(Some("ou"), "people")],
        vec![part(Some("ou"), "*")],
        vec![many.clone()],
        vec![many, part(Some("ou"), "people")],
        vec![any],
        vec![],
    ]);
    NamePattern::Parts([vec![leaf], middle, vec![example, com]].concat())
}

pub fn filter(random: &mut Random, depth: usize) -> Filter {
    let shape = if depth == 0 { 0 } else { random.below(10) };
    let parts = |random: &mut Random| (0..1 + random.below(3)).map(|_| filter(random, depth - 1)).collect();
    match shape {
        0..=5 => item(random),
        6 => Filter::Not(Box::new(filter(random, depth - 1))),
        7 | 8 => Filter::Or(parts(random)),
        _ => Filter::And(parts(random)),
    }
}

fn item(random: &mut Random) -> Filter {
    let (kind, values) = random.one_of(&TEXTS);
    let value = random.one_of(values);
    match random.below(12) {
        0 => Filter::Unknown,
        1 | 2 => Filter::Present(kind),
        3 | 4 => Filter::Begins(kind, value[..1].to_owned()),
        5 => Filter::Present(random.one_of(&["objectclass", "cn", "uid", "manager", "seealso", "entryuuid"])),
        6 => Filter::Equal("objectclass", random.one_of(&["inetorgperson", "device", "groupofnames"]).to_owned()),
        7 => Filter::Equal("manager", random.one_of(&PEOPLE).to_owned()),
        _ => Filter::Equal(kind, value.to_owned()),
    }
}

fn value_filters(random: &mut Random) -> Vec<ValueFilter> {
    let of = |random: &mut Random, adds| {
        let (kind, values) = random.one_of(&TEXTS[..3]);
        let filter = Filter::Begins(kind, random.one_of(values)[..1].to_owned());
        ValueFilter { adds, kind, filter }
    };
    match random.below(3) {
        0 => vec![of(random, true)],
        1 => vec![of(random, false)],
        _ => vec![of(random, true), of(random, false)],
    }
}

fn rule(random: &mut Random, depth: usize) -> Rule {
    let shape = if depth == 0 { 0 } else { random.below(10) };
    match shape {
        0..=5 => Rule::Test(sign(random), condition(random)),
        6 => Rule::Not(Box::new(rule(random, depth - 1))),
        7 => Rule::Or(Box::new(rule(random, depth - 1)), Box::new(rule(random, depth - 1))),
        _ => Rule::And(Box::new(rule(random, depth - 1)), Box::new(rule(random, depth - 1))),
    }
}

fn condition(random: &mut Random) -> Condition {
    match random.below(21) {
        20 => Condition::RoleDn(random.some_of(&ROLES, 2).into_iter().map(Name::of).collect()),
        0..=8 => {
            let users = (0..1 + random.below(2)).map(|_| user(random)).collect();
            Condition::UserDn(users)
        }
        9 | 10 => {
            let names = [&GROUPS[..], &["cn=missing,ou=groups,dc=example,dc=com"]].concat();
            Condition::GroupDn(random.some_of(&names, 2).into_iter().map(Name::of).collect())
        }
        11..=14 => user_attr(random),
        15 => Condition::Ip(
            random.one_of(&[Ipv4Addr::LOCALHOST, Ipv4Addr::new(192, 0, 2, 7)]),
            random.one_of(&[8, 24, 32]),
        ),
        16 => Condition::Dns(random.one_of(&["example.com", "example.org"])),
        17 => random.one_of(&[Condition::IsSimple, Condition::AnyMethod]),
        18 => Condition::Ssf(random.one_of(&[1, 128, 256])),
        _ => {
            random.one_of(&[Condition::Time(true), Condition::Time(false), Condition::Day(true), Condition::Day(false)])
        }
    }
}

fn user(random: &mut Random) -> User {
    match random.below(10) {
        0 | 1 => User::Anyone,
        2 | 3 => User::All,
        4 => User::OneSelf,
        5 => User::Parent,
        6 => User::Name(pattern(random)),
        7 => User::Url(url(random)),
        _ => {
            let name = Name::of(random.one_of(&PEOPLE));
            User::Name(exact(random, name))
        }
    }
}

fn user_attr(random: &mut Random) -> Condition {
    let levels = random.one_of(&[vec![], vec![], vec![0], vec![1], vec![0, 1], vec![1, 2]]);
    let kind = random.one_of(&["manager", "seealso", "member"]);
    match random.below(6) {
        5 => Condition::UserAttr { levels, kind, holds: Holds::RoleDn },
        0 => {
            let (kind, values) = random.one_of(&TEXTS[..3]);
            Condition::UserAttr { levels, kind, holds: Holds::Value(random.one_of(values).to_owned()) }
        }
        1 => Condition::UserAttr { levels, kind, holds: Holds::GroupDn(None) },
        2 => {
            let base = Name::of(random.one_of(&["ou=groups,dc=example,dc=com", "ou=people,dc=example,dc=com"]));
            // A base stands before an attribute, not before levels.
            Condition::UserAttr { levels: Vec::new(), kind, holds: Holds::GroupDn(Some(base)) }
        }
        _ => Condition::UserAttr { levels, kind, holds: Holds::UserDn },
    }
}

/// Of a dynamic group: whether a group that a URL finds is nested in it is not said.
fn url_of_people(random: &mut Random) -> Url {
    let url = url(random);
    let is_person = Filter::Equal("objectclass", "inetorgperson".to_owned());
    Url { filter: Filter::And(vec![is_person, url.filter]), ..url }
}

fn url(random: &mut Random) -> Url {
    let base = Name::of(random.one_of(&PLACES[..4]));
    let scope = random.one_of(&[UrlScope::Base, UrlScope::One, UrlScope::Sub, UrlScope::Sub]);
    Url { base, scope, filter: filter(random, 0) }
}
