//! A random directory, and its twin: the same to the asker, and otherwise different.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::chance::Chance;
use super::given;
use super::rights::{AGENT, Form};

pub const BASE: &str = "dc=example,dc=com";
/// The base of the second backend.
pub const SECOND: &str = "dc=example,dc=net";
/// What a persistent search ends with.
pub const SENTINEL: &str = "uid=sentinel,dc=example,dc=com";

pub const WORDS: [&str; 4] = ["frost", "tree", "moss", "fern"];
const BRANCHES: [&str; 4] = ["ou=b0", "ou=b1", "ou=b2", "ou=deep,ou=b1"];
/// Names that only hidden entries have.
pub const HIDDEN: usize = 8;

/// Attributes that the asker may see of open entries only.
const PRIVATE: [&str; 5] = ["sn", "telephoneNumber", "member", "roleOccupant", "aliasedObjectName"];

#[derive(Clone, Debug)]
pub struct World {
    pub form: Form,
    /// `ds-rlim-lookthrough-limit` of the asker.
    pub lookthrough: Option<usize>,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub dn: String,
    pub attributes: Vec<(&'static str, String)>,
    pub shows: bool,
    pub is_open: bool,
    /// It is there in the twin, also if it does not show: others are below it, or show what it defines.
    stays: bool,
}

impl World {
    pub fn new(chance: &mut Chance, form: Form, lookthrough: Option<usize>) -> World {
        let mut world = World { form, lookthrough, entries: Vec::new() };
        let (base_shows, second_shows) = (chance.tenths(7), chance.tenths(7));
        world.entries.push(branch(BASE.to_owned(), "domain", base_shows));
        world.entries.push(branch(SECOND.to_owned(), "domain", second_shows));
        for rdn in BRANCHES {
            let shows = chance.tenths(6);
            world.entries.push(branch(format!("{rdn},{BASE}"), "organizationalUnit", shows));
        }
        world.entries.extend(given::definitions(chance));
        for number in 0..9 {
            // The asker may not be deleted or renamed.
            let is_open = number > 0 && chance.tenths(5);
            world.entries.push(person(chance, person_dn(number), number, true, is_open));
        }
        world.entries.push(person(chance, SENTINEL.to_owned(), 0, true, false));
        let mut agent = person(chance, AGENT.to_owned(), 0, true, false);
        agent.attributes.push(("ds-privilege-name", "proxied-auth".to_owned()));
        world.entries.push(agent);
        let mut askers = branch(format!("cn=askers,{BASE}"), "groupOfNames", chance.tenths(5));
        askers.attributes.push(("member", person_dn(0)));
        world.entries.push(askers);
        for number in 0..3 {
            let is_open = chance.tenths(5);
            let base = if number == 2 { SECOND } else { BASE };
            world.entries.push(group(chance, format!("cn=g{number},{base}"), true, is_open));
        }
        for (name, attribute) in [("dynamic", "sn"), ("listed", "description")] {
            let value = if attribute == "sn" { chance.of(&WORDS).to_owned() } else { "d1".to_owned() };
            let url = format!("ldap:///{BASE}?mail,telephoneNumber?sub?({attribute}={value})");
            let mut group = branch(format!("cn={name},{BASE}"), "groupOfURLs", true);
            group.is_open = chance.tenths(5);
            group.attributes.push(("memberURL", url));
            world.entries.push(group);
        }
        let (shows, is_open) = (chance.tenths(7), chance.tenths(5));
        world.entries.push(role_holder(chance, format!("cn=keepers,{BASE}"), shows, is_open));
        for (number, branch) in BRANCHES.iter().take(2).enumerate() {
            let is_open = chance.tenths(5);
            world.entries.push(alias(chance, format!("cn=a{number},{BASE}"), true, is_open));
            world.entries.push(referral(chance, format!("ou=r{number},{branch},{BASE}"), true));
        }
        world.hide_some(chance);
        world
    }

    /// The same to the asker; so many tenths of what does not show are otherwise.
    pub fn twin(&self, chance: &mut Chance, tenths: usize) -> World {
        let mut twin = self.with_others_hidden(chance, tenths);
        for entry in &mut twin.entries {
            if !(entry.shows && entry.is_open) && chance.tenths(tenths) {
                change_private(chance, entry);
            }
        }
        twin
    }

    /// The same to the asker, with other entries that do not show; those that show are as they are.
    pub fn with_others_hidden(&self, chance: &mut Chance, tenths: usize) -> World {
        let mut kept = |entry: &&Entry| entry.shows || entry.stays || !chance.tenths(tenths);
        let mut twin = World { entries: self.entries.iter().filter(|it| kept(it)).cloned().collect(), ..*self };
        twin.hide_some(chance);
        twin
    }

    /// Adds entries that do not show.
    fn hide_some(&mut self, chance: &mut Chance) {
        let stays = self.entries.iter().filter(|entry| entry.stays).count();
        for number in 0..HIDDEN {
            let is_there = self.entries.iter().any(|it| !it.shows && !it.stays && it.has_number(number));
            if is_there || chance.tenths(5) {
                continue;
            }
            let above = parent(chance);
            let entry = match chance.below(9) {
                0 => group(chance, format!("cn=h{number},{above}"), false, false),
                1 => alias(chance, format!("cn=h{number},{above}"), false, false),
                2 => referral(chance, format!("ou=h{number},{above}"), false),
                3 => role_holder(chance, format!("cn=h{number},{above}"), false, false),
                4 | 5 => given::hidden_definition(chance, number, &above),
                _ => person(chance, hidden_dn(number), number, false, false),
            };
            // Wherever its number comes, so that numbers tell nothing; behind the branches.
            let at = stays + chance.below(self.entries.len() - stays);
            self.entries.insert(at, entry);
        }
    }

    pub fn entry(&self, dn: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.dn == dn)
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// A name, mostly of an entry of this world.
    pub fn some_name(&self, chance: &mut Chance) -> String {
        let dn = self.entries[chance.below(self.entries.len())].dn.clone();
        match chance.below(8) {
            0 => format!("uid=nowhere,{dn}"),
            1 => format!("cn=x,{}", hidden_dn(chance.below(HIDDEN))),
            2..=4 => BASE.to_owned(),
            _ => dn,
        }
    }

    /// The name of an entry that is there in the twin, too.
    pub fn branch(&self, chance: &mut Chance) -> String {
        format!("{},{BASE}", chance.of(&BRANCHES))
    }

    /// All that an entry has stored.
    pub fn stored(&self, entry: &Entry) -> Vec<(&'static str, String)> {
        let mut all = entry.attributes.clone();
        let mut marks = Vec::new();
        if entry.shows {
            marks.push("seen");
        }
        if entry.is_open {
            marks.push("open");
        }
        all.extend(marks.into_iter().map(|mark| ("employeeType", mark.to_owned())));
        if self.form == Form::Owner {
            let owner = if entry.shows { person_dn(0) } else { hidden_dn(0) };
            all.push(("owner", owner));
        }
        if entry.dn == person_dn(0)
            && let Some(limit) = self.lookthrough
        {
            all.push(("ds-rlim-lookthrough-limit", limit.to_string()));
        }
        all.extend(self.form.of_entry(entry.shows, entry.is_open).into_iter().map(|aci| ("aci", aci)));
        // The same name may have been drawn twice.
        let mut seen = BTreeSet::new();
        all.retain(|line| seen.insert(line.clone()));
        all
    }

    /// The entries of both backends.
    pub fn ldif(&self) -> String {
        let mut texts = [String::new(), String::new()];
        for entry in &self.entries {
            let text = &mut texts[usize::from(entry.dn.ends_with(SECOND))];
            writeln!(text, "dn: {}", entry.dn).unwrap();
            self.stored(entry).iter().for_each(|(name, value)| writeln!(text, "{name}: {value}").unwrap());
            text.push('\n');
        }
        texts.join("####\n")
    }
}

impl Entry {
    /// One with the attribute of its name, which may have any attribute.
    pub fn new(dn: String, class: &'static str) -> Entry {
        let rdn = dn.split(',').next().unwrap_or_default();
        let (kind, value) = rdn.split_once('=').unwrap_or_default();
        let kind = ["uid", "cn", "ou", "dc"].into_iter().find(|it| *it == kind).expect("a kind of name");
        let value = value.to_owned();
        let classes = [class, "extensibleObject"].map(|class| ("objectClass", class.to_owned()));
        let attributes = classes.into_iter().chain([(kind, value)]).collect();
        Entry { dn, attributes, shows: false, is_open: false, stays: false }
    }

    pub fn staying(self, shows: bool) -> Entry {
        Entry { shows, stays: true, ..self }
    }

    /// Whether it is named like the hidden entry of that number.
    fn has_number(&self, number: usize) -> bool {
        self.dn.split_once('=').is_some_and(|(_, value)| value.starts_with(&format!("h{number},")))
    }

    pub fn with(mut self, lines: &[(&'static str, &str)]) -> Entry {
        self.attributes.extend(lines.iter().map(|(name, value)| (*name, (*value).to_owned())));
        self
    }
}

/// Other values of what the asker may not see of an entry that is there in both.
fn change_private(chance: &mut Chance, entry: &mut Entry) {
    let is_askers = entry.dn.starts_with("cn=askers,");
    for (name, value) in entry.attributes.iter_mut().filter(|(name, _)| PRIVATE.contains(name)) {
        match *name {
            "sn" => *value = chance.of(&WORDS).to_owned(),
            "telephoneNumber" => *value = chance.below(5).to_string(),
            // Who is in a group that shows may be told by isMemberOf: only hidden entries come and go.
            "member" | "roleOccupant" if is_askers || (entry.shows && !value.starts_with("uid=h")) => {}
            _ => *value = hidden_dn(chance.below(HIDDEN)),
        }
    }
}

fn parent(chance: &mut Chance) -> String {
    match chance.below(10) {
        0..=2 => BASE.to_owned(),
        3 => SECOND.to_owned(),
        _ => format!("{},{BASE}", chance.of(&BRANCHES)),
    }
}

/// The name of a person who shows.
pub fn person_dn(number: usize) -> String {
    match BRANCHES.get(number % (BRANCHES.len() + 2)) {
        Some(branch) => format!("uid=u{number},{branch},{BASE}"),
        None if number.is_multiple_of(2) => format!("uid=u{number},{BASE}"),
        None => format!("uid=u{number},{SECOND}"),
    }
}

/// The name of a person who does not show, if there is one of that number.
pub fn hidden_dn(number: usize) -> String {
    format!("uid=h{number},{BASE}")
}

fn branch(dn: String, class: &'static str, shows: bool) -> Entry {
    Entry::new(dn, class).staying(shows)
}

fn person(chance: &mut Chance, dn: String, number: usize, shows: bool, is_open: bool) -> Entry {
    let mut entry = Entry { shows, is_open, ..Entry::new(dn, "inetOrgPerson") };
    let managed = chance.tenths(4);
    entry.attributes.extend([
        ("cn", chance.of(&WORDS).to_owned()),
        ("description", format!("d{}", number % 3)),
        ("mail", format!("m{}@example.com", number % 4)),
        ("seeAlso", person_dn(chance.below(9))),
        ("seeAlso", hidden_dn(chance.below(HIDDEN))),
        ("sn", chance.of(&WORDS).to_owned()),
        ("telephoneNumber", chance.below(5).to_string()),
    ]);
    given::of_person(chance, &mut entry.attributes, managed);
    entry
}

fn group(chance: &mut Chance, dn: String, shows: bool, is_open: bool) -> Entry {
    let mut entry = Entry { shows, is_open, ..Entry::new(dn, "groupOfNames") };
    entry.attributes.push(("description", "d0".to_owned()));
    entry.attributes.push(("member", hidden_dn(chance.below(HIDDEN))));
    for at in 0..3 {
        if chance.tenths(6) {
            entry.attributes.push(("member", person_dn(3 * at + chance.below(3))));
        }
    }
    if chance.tenths(4) {
        entry.attributes.push(("member", format!("cn=g{},{BASE}", chance.below(3))));
    }
    entry
}

fn role_holder(chance: &mut Chance, dn: String, shows: bool, is_open: bool) -> Entry {
    let mut entry = Entry { shows, is_open, ..Entry::new(dn, "organizationalRole") };
    entry.attributes.push(("roleOccupant", person_dn(chance.below(9))));
    entry.attributes.push(("roleOccupant", hidden_dn(chance.below(HIDDEN))));
    entry
}

fn alias(chance: &mut Chance, dn: String, shows: bool, is_open: bool) -> Entry {
    let target =
        if chance.tenths(5) { format!("{},{BASE}", chance.of(&BRANCHES)) } else { hidden_dn(chance.below(HIDDEN)) };
    let mut entry = Entry { shows, is_open, ..Entry::new(dn, "alias") };
    entry.attributes.push(("aliasedObjectName", target));
    entry
}

fn referral(chance: &mut Chance, dn: String, shows: bool) -> Entry {
    let mut entry = Entry { shows, ..Entry::new(dn, "referral") };
    entry.attributes.push(("ref", format!("ldap://{}.example.com/ou=x", chance.of(&WORDS))));
    entry
}
