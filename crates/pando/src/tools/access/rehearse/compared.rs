//! One operation of the log, decided as things are and as they would be.
//!
//! A search is run on both, and what it shows is compared; of everything else the decisions are.

use std::collections::HashMap;

use access::Right;
use access::explanation::Reason;
use directory::{Asked, Decision, Directory, Need, Session};
use ldap::MadeUpdate;

use super::logged::{Client, Logged, Request, TLS_BITS};
use super::proposed::Both;
use super::written::Written;
use crate::failure::{Context, Failure};
use crate::tools::access::client::ConnectionOptions;
use crate::tools::access::searching::{self, search};
use crate::tools::access::text::place;

/// Entries of one search that are compared.
const ENTRIES_MAX: usize = 100_000;

/// What came of one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compared {
    Same,
    Different(Vec<Difference>),
    Untold(Untold),
}

/// Why one operation was not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Untold {
    /// There is no such user any more.
    UserGone,
    /// There is no such entry any more.
    EntryGone,
    /// Of a modify that was refused, nobody knows what it was to write.
    NotWritten,
    /// The search finds more entries than are compared.
    TooMany,
}

/// Something that would be otherwise.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// Whether it is granted now, and would not be.
    pub is_lost: bool,
    /// What.
    pub what: String,
    /// By which instruction.
    pub because: String,
}

/// Decides operations; what was asked before by the same client is not asked again.
pub struct Comparer<'b> {
    both: &'b Both,
    written: &'b Written,
    /// Whether some rule looks at the clock, so that each operation is decided at its own time.
    by_time: bool,
    known: HashMap<String, Compared>,
}

impl<'b> Comparer<'b> {
    pub fn new(both: &'b Both, written: &'b Written, by_time: bool) -> Self {
        Self { both, written, by_time, known: HashMap::new() }
    }

    /// Decides an operation on both.
    pub fn compare(&mut self, logged: &Logged, now: i64) -> Result<Compared, Failure> {
        let time = if self.by_time { logged.unix_seconds.unwrap_or(now) } else { now };
        let of_time = if self.by_time { time } else { 0 };
        let of_update = match logged.request {
            Request::Modify { .. } => (logged.connection, logged.operation),
            _ => (0, 0),
        };
        let key = format!("{:?} {:?} {of_time} {of_update:?}", logged.client, logged.request);
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let compared = self.decide(logged, time)?;
        self.known.insert(key, compared.clone());
        Ok(compared)
    }

    fn decide(&self, logged: &Logged, time: i64) -> Result<Compared, Failure> {
        let (Ok(now), Ok(then)) = (session(&self.both.now, &logged.client), session(&self.both.then, &logged.client))
        else {
            return Ok(Compared::Untold(Untold::UserGone));
        };
        let sides = Sides { now: (&self.both.now, now), then: (&self.both.then, then), time };
        match &logged.request {
            Request::Search(asked) => sides.search(asked),
            Request::Compare { dn, attribute } => sides.decisions(Asked::Compare { dn, attribute }),
            // The entry is there by now: the right to add it is asked of it as it is.
            Request::Add { dn } => sides.decisions(Asked::Right { dn, right: Right::Add, attribute: None }),
            Request::Extended { oid } => sides.decisions(Asked::Extended { oid }),
            Request::Delete { dn } => sides.update(&MadeUpdate::delete(dn.as_bytes())),
            Request::ModifyDn { dn, new_rdn, delete_old_rdn, new_superior } => {
                sides.update(&MadeUpdate::modify_dn(dn, new_rdn, *delete_old_rdn, new_superior.as_deref()))
            }
            Request::Modify { .. } => {
                match self.written.modify(logged.connection, logged.operation, logged.unix_seconds) {
                    Some(made) => sides.update(&made),
                    None => Ok(Compared::Untold(Untold::NotWritten)),
                }
            }
        }
    }
}

fn session(directory: &Directory, client: &Client) -> Result<Session, Failure> {
    let options = ConnectionOptions {
        ip: client.ip,
        ssf: if client.is_encrypted { TLS_BITS } else { 0 },
        auth: Some(client.authentication.clone()),
        ..ConnectionOptions::default()
    };
    options.session(directory, &client.dn)
}

/// Both directories, with a session of the client in each.
struct Sides<'b> {
    now: (&'b Directory, Session),
    then: (&'b Directory, Session),
    time: i64,
}

impl Sides<'_> {
    fn explain(&self, asked: Asked<'_, '_>) -> Result<(Decision, Decision), Failure> {
        let ((now, now_session), (then, then_session)) = (&self.now, &self.then);
        Ok((now.explain(now_session, asked, self.time)?, then.explain(then_session, asked, self.time)?))
    }

    fn update(&self, made: &MadeUpdate) -> Result<Compared, Failure> {
        let update = made.update().context("an update of the log")?;
        self.decisions(Asked::Update(update.request()))
    }

    fn decisions(&self, asked: Asked<'_, '_>) -> Result<Compared, Failure> {
        let (now, then) = self.explain(asked)?;
        if !now.exists && !then.exists {
            return Ok(Compared::Untold(Untold::EntryGone));
        }
        if now.granted == then.granted {
            return Ok(Compared::Same);
        }
        let what = if now.granted { "it would be refused" } else { "it would be granted" };
        Ok(Compared::Different(vec![difference(&now, &then, what.to_owned())]))
    }

    fn search(&self, asked: &searching::Asked) -> Result<Compared, Failure> {
        let ((now, now_session), (then, then_session)) = (&self.now, &self.then);
        let before = search(now, now_session, asked, self.time, ENTRIES_MAX)?;
        let after = search(then, then_session, asked, self.time, ENTRIES_MAX)?;
        if before.is_cut || after.is_cut {
            return Ok(Compared::Untold(Untold::TooMany));
        }
        let mut differences = Vec::new();
        let changed = |ours: &searching::Found, theirs: &searching::Found| {
            ours.entries.keys().filter(|dn| !theirs.entries.contains_key(*dn)).cloned().collect::<Vec<_>>()
        };
        for (entries, verb) in [(changed(&before, &after), "lost"), (changed(&after, &before), "found")] {
            if let Some(first) = entries.first() {
                let filter = ldap::filter::parse(&asked.filter).context("a filter of the log")?;
                let filter = filter.filter();
                let asked = Asked::Search { dn: first, filter: Some(&filter), attributes: &[] };
                let (now, then) = self.explain(asked)?;
                let what = format!("{} would be {verb}, such as \"{first}\"", count(entries.len(), "entry", "entries"));
                let is_lost = verb == "lost";
                differences.push(Difference { is_lost, ..difference(&now, &then, what) });
            }
        }
        let mut attributes: HashMap<(bool, String), Vec<String>> = HashMap::new();
        for (dn, names) in &before.entries {
            let Some(others) = after.entries.get(dn) else { continue };
            let lost = names.difference(others).map(|name| (true, name));
            let gained = others.difference(names).map(|name| (false, name));
            for (is_lost, name) in lost.chain(gained) {
                attributes.entry((is_lost, name.clone())).or_default().push(dn.clone());
            }
        }
        for ((is_lost, name), entries) in attributes {
            let Some(first) = entries.first() else { continue };
            let (now, then) = self.explain(Asked::Right { dn: first, right: Right::Read, attribute: Some(&name) })?;
            let verb = if is_lost { "would not be sent any more" } else { "would be sent" };
            let entries = count(entries.len(), "entry", "entries");
            let what = format!("{name} of {entries} {verb}, such as of \"{first}\"");
            differences.push(Difference { is_lost, ..difference(&now, &then, what) });
        }
        if before.result.code != after.result.code && differences.is_empty() {
            let what = format!("the result would be {} instead of {}", after.result.code, before.result.code);
            let because = after.result.message.clone();
            differences.push(Difference { is_lost: before.result.is_success(), what, because });
        }
        differences.sort();
        Ok(if differences.is_empty() { Compared::Same } else { Compared::Different(differences) })
    }
}

fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

/// The difference with the instruction that makes it.
fn difference(now: &Decision, then: &Decision, what: String) -> Difference {
    let is_lost = now.granted;
    let pairs = now.needs.iter().filter_map(|need| {
        let other = then.needs.iter().find(|other| other.what == need.what)?;
        (other.granted != need.granted).then_some((need, other))
    });
    let because = pairs.map(|(now, then)| because(now, then)).next();
    Difference { is_lost, what, because: because.unwrap_or_else(|| "another decision comes before".to_owned()) }
}

fn because(now: &Need, then: &Need) -> String {
    let by = |need: &Need, wanted: fn(Reason) -> Option<usize>| {
        let explanation = need.explanation.as_ref()?;
        let decided = explanation.instructions.get(wanted(explanation.reason)?)?;
        Some(format!("{} \"{}\"", place(decided), decided.name))
    };
    let allowed = |reason| if let Reason::Allowed(at) = reason { Some(at) } else { None };
    let denied = |reason| if let Reason::Denied(at) = reason { Some(at) } else { None };
    let found = match now.granted {
        true => by(then, denied)
            .map(|by| format!("{by} would deny it"))
            .or_else(|| by(now, allowed).map(|by| format!("{by} would grant it no more"))),
        false => by(then, allowed)
            .map(|by| format!("{by} would grant it"))
            .or_else(|| by(now, denied).map(|by| format!("{by} would deny it no more"))),
    };
    found.unwrap_or_else(|| "no instruction decides it".to_owned())
}
