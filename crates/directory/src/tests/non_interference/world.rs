//! A random directory, and its twin: the same to the asker, and otherwise different.
//!
//! What shows is marked `employeeType: seen`; where `employeeType: open` stands beside it, private attributes may be
//! read and searched as well.

use super::chance::Chance;
use super::request::Request;

pub const BASE: &str = "dc=example,dc=com";

/// The rights of [`ByMark`](crate::search::tests::by_mark::ByMark) as access control instructions.
pub const INSTRUCTIONS: [&str; 3] = [
    "(targetattr!=\"sn || telephoneNumber || member || aliasedObjectName || userPassword\")\
     (targetfilter=\"(employeeType=seen)\")\
     (version 3.0; acl \"what shows\"; allow (read,search,compare) userdn=\"ldap:///anyone\";)",
    "(targetattr=\"+\")(targetfilter=\"(employeeType=seen)\")\
     (version 3.0; acl \"operational\"; allow (read,search,compare) userdn=\"ldap:///anyone\";)",
    "(targetattr=\"sn || telephoneNumber || member || aliasedObjectName\")\
     (targetfilter=\"(&(employeeType=seen)(employeeType=open))\")\
     (version 3.0; acl \"private\"; allow (read,search,compare) userdn=\"ldap:///anyone\";)",
];

const WORDS: [&str; 4] = ["frost", "tree", "moss", "fern"];
const BRANCHES: [&str; 4] = ["ou=b0", "ou=b1", "ou=b2", "ou=deep,ou=b1"];
/// Names that only hidden entries have.
const HIDDEN: usize = 8;

#[derive(Clone, Debug)]
pub struct World {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    dn: String,
    /// Attributes that a twin has, too, if the entry shows.
    public: Vec<(&'static str, String)>,
    /// Private ones.
    private: Vec<(&'static str, String)>,
    shows: bool,
    is_open: bool,
    /// Other entries are below it: it is there in the twin.
    is_branch: bool,
}

impl World {
    pub fn new(chance: &mut Chance) -> World {
        let mut world = World { entries: Vec::new() };
        let base_shows = chance.tenths(7);
        world.entries.push(branch(BASE.to_owned(), "domain", base_shows));
        for rdn in BRANCHES {
            let shows = chance.tenths(6);
            world.entries.push(branch(format!("{rdn},{BASE}"), "organizationalUnit", shows));
        }
        for number in 0..9 {
            let dn = person_dn(number);
            let (shows, is_open) = (true, chance.tenths(5));
            world.entries.push(person(chance, dn, number, shows, is_open));
        }
        for number in 0..3 {
            let is_open = chance.tenths(5);
            world.entries.push(group(chance, format!("cn=g{number},{BASE}"), true, is_open));
        }
        let url = format!("ldap:///{BASE}??sub?(sn={})", chance.of(&WORDS));
        let classes = vec![("objectClass", "groupOfURLs".to_owned()), ("memberURL", url)];
        world.entries.push(Entry { public: classes, ..branch(format!("cn=dynamic,{BASE}"), "", true) });
        for number in 0..2 {
            let is_open = chance.tenths(5);
            world.entries.push(alias(chance, format!("cn=a{number},{BASE}"), true, is_open));
            world.entries.push(referral(chance, format!("ou=r{number},{}", parent_of(number)), true));
        }
        world.hide_some(chance);
        world
    }

    /// The same to the asker.
    pub fn twin(&self, chance: &mut Chance) -> World {
        let kept = self.entries.iter().filter(|entry| entry.shows || entry.is_branch).cloned();
        let mut twin = World { entries: kept.collect() };
        for entry in twin.entries.iter_mut().filter(|entry| !(entry.shows && entry.is_open)) {
            for (name, value) in &mut entry.private {
                match *name {
                    "sn" => *value = chance.of(&WORDS).to_owned(),
                    "telephoneNumber" => *value = chance.below(5).to_string(),
                    // Who is in a group that shows may be told by isMemberOf: only hidden entries come and go.
                    "member" if entry.shows && !value.starts_with("uid=h") => {}
                    _ => *value = format!("uid=h{},{BASE}", chance.below(HIDDEN)),
                }
            }
        }
        twin.hide_some(chance);
        twin
    }

    /// Adds entries that do not show.
    fn hide_some(&mut self, chance: &mut Chance) {
        for number in 0..HIDDEN {
            if chance.tenths(5) {
                continue;
            }
            let above = parent(chance);
            let entry = match chance.below(6) {
                0 => group(chance, format!("cn=h{number},{above}"), false, false),
                1 => alias(chance, format!("cn=h{number},{above}"), false, false),
                2 => referral(chance, format!("ou=h{number},{above}"), false),
                _ => person(chance, format!("uid=h{number},{BASE}"), number, false, false),
            };
            // Wherever its number comes, so that numbers tell nothing; behind the branches.
            let at = 1 + BRANCHES.len() + chance.below(self.entries.len() - BRANCHES.len());
            self.entries.insert(at, entry);
        }
    }

    /// A random request; names come from both directories.
    pub fn request(&self, chance: &mut Chance, twin: &World) -> Request {
        let of = if chance.tenths(5) { self } else { twin };
        let mut dn = of.entries[chance.below(of.entries.len())].dn.clone();
        match chance.below(8) {
            0 => dn = format!("uid=nowhere,{dn}"),
            1 => dn = format!("cn=x,uid=h{},{BASE}", chance.below(HIDDEN)),
            2..=4 => dn = BASE.to_owned(),
            _ => {}
        }
        let other = of.entries[chance.below(of.entries.len())].dn.clone();
        Request::new(chance, dn, &other)
    }

    pub fn ldif(&self) -> String {
        let mut text = String::new();
        for entry in &self.entries {
            text.push_str(&format!("dn: {}\n", entry.dn));
            for (name, value) in entry.public.iter().chain(&entry.private) {
                text.push_str(&format!("{name}: {value}\n"));
            }
            if entry.shows {
                text.push_str("employeeType: seen\n");
            }
            if entry.is_open {
                text.push_str("employeeType: open\n");
            }
            text.push('\n');
        }
        text
    }
}

fn parent(chance: &mut Chance) -> String {
    if chance.tenths(3) { BASE.to_owned() } else { format!("{},{BASE}", chance.of(&BRANCHES)) }
}

/// The name of a person who shows.
pub fn person_dn(number: usize) -> String {
    match BRANCHES.get(number % (BRANCHES.len() + 1)) {
        Some(branch) => format!("uid=u{number},{branch},{BASE}"),
        None => format!("uid=u{number},{BASE}"),
    }
}

fn parent_of(number: usize) -> String {
    format!("{},{BASE}", BRANCHES[number])
}

fn branch(dn: String, class: &'static str, shows: bool) -> Entry {
    let public = vec![("objectClass", class.to_owned())];
    Entry { dn, public, private: Vec::new(), shows, is_open: false, is_branch: true }
}

fn person(chance: &mut Chance, dn: String, number: usize, shows: bool, is_open: bool) -> Entry {
    let public = vec![
        ("objectClass", "inetOrgPerson".to_owned()),
        ("cn", chance.of(&WORDS).to_owned()),
        ("description", format!("d{}", number % 3)),
        ("seeAlso", person_dn(chance.below(9))),
        ("seeAlso", format!("uid=h{},{}", chance.below(HIDDEN), BASE)),
    ];
    let private = vec![("sn", chance.of(&WORDS).to_owned()), ("telephoneNumber", chance.below(5).to_string())];
    Entry { dn, public, private, shows, is_open, is_branch: false }
}

fn group(chance: &mut Chance, dn: String, shows: bool, is_open: bool) -> Entry {
    let mut private = vec![("member", format!("uid=h{},{BASE}", chance.below(HIDDEN)))];
    for at in 0..3 {
        if chance.tenths(6) {
            private.push(("member", person_dn(3 * at + chance.below(3))));
        }
    }
    if chance.tenths(4) {
        private.push(("member", format!("cn=g{},{BASE}", chance.below(3))));
    }
    let public = vec![("objectClass", "groupOfNames".to_owned()), ("description", "d0".to_owned())];
    Entry { dn, public, private, shows, is_open, is_branch: false }
}

fn alias(chance: &mut Chance, dn: String, shows: bool, is_open: bool) -> Entry {
    let target = if chance.tenths(5) {
        format!("{},{BASE}", chance.of(&BRANCHES))
    } else {
        format!("uid=h{},{BASE}", chance.below(HIDDEN))
    };
    let public = vec![("objectClass", "alias".to_owned()), ("objectClass", "extensibleObject".to_owned())];
    let private = vec![("aliasedObjectName", target)];
    Entry { dn, public, private, shows, is_open, is_branch: false }
}

fn referral(chance: &mut Chance, dn: String, shows: bool) -> Entry {
    let public = vec![
        ("objectClass", "referral".to_owned()),
        ("objectClass", "extensibleObject".to_owned()),
        ("ref", format!("ldap://{}.example.com/ou=x", chance.of(&WORDS))),
    ];
    Entry { dn, public, private: Vec::new(), shows, is_open: false, is_branch: false }
}
