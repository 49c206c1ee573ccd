//! One operation of the log, decided as things are and as they would be, and in words what differs.
//!
//! The directory decides and compares.

use std::collections::HashMap;
use std::time::Instant;

use access::Right;
use access::explanation::Reason;
use directory::{Asked, Bounds, Change, Comparison, Decision, Directory, FilterTruth, Need, RequestTime, Session};
use directory::{Side, Sides, What};
use ldap::{MadeUpdate, Operation};

use super::logged::{Client, Logged, Request, TLS_BITS};
use super::proposed::Both;
use super::written::Written;
use crate::failure::{Context, Failure};
use crate::tools::access::client::ConnectionOptions;
use crate::tools::access::searching;
use crate::tools::access::text::{missing, place_and_name};

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
        let sides = &Sides {
            now: Side::new(&self.both.now, now),
            then: Side::new(&self.both.then, then),
            time: RequestTime { started: Instant::now(), unix_seconds: time },
            bounds: Bounds { entries_max: ENTRIES_MAX, until: None },
        };
        match &logged.request {
            Request::Search(asked) => search(sides, asked),
            Request::Compare { dn, attribute } => decisions(sides, Asked::Compare { dn, attribute }),
            // The entry is there by now: the right to add it is asked of it as it is.
            Request::Add { dn } => decisions(sides, Asked::Right { dn, right: Right::Add, attribute: None }),
            Request::Extended { oid } => decisions(sides, Asked::Extended { oid }),
            Request::Delete { dn } => update(sides, &MadeUpdate::delete(dn.as_bytes())),
            Request::ModifyDn { dn, new_rdn, delete_old_rdn, new_superior } => {
                update(sides, &MadeUpdate::modify_dn(dn, new_rdn, *delete_old_rdn, new_superior.as_deref()))
            }
            Request::Modify { .. } => {
                match self.written.modify(logged.connection, logged.operation, logged.unix_seconds) {
                    Some(made) => update(sides, &made),
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

/// Decides a request twice, and puts into words what differs.
fn decisions(sides: &Sides<'_>, asked: Asked<'_, '_>) -> Result<Compared, Failure> {
    Ok(worded(sides.decide(asked)?))
}

fn update(sides: &Sides<'_>, made: &MadeUpdate) -> Result<Compared, Failure> {
    let update = made.update().context("an update of the log")?;
    decisions(sides, Asked::Update(update.request()))
}

fn search(sides: &Sides<'_>, asked: &searching::Asked) -> Result<Compared, Failure> {
    let made = asked.request()?;
    let operation = made.operation().context("the search")?;
    let Operation::Search(request) = &operation else { return Err(Failure::new("the search is none")) };
    Ok(worded(sides.search(request)?))
}

fn worded(comparison: Comparison) -> Compared {
    match comparison {
        Comparison::Same => Compared::Same,
        Comparison::Different(differences) => {
            let mut differences: Vec<Difference> = differences.iter().map(difference).collect();
            differences.sort();
            Compared::Different(differences)
        }
        Comparison::Untold(directory::Untold::EntryGone) => Compared::Untold(Untold::EntryGone),
        Comparison::Untold(_) => Compared::Untold(Untold::TooMany),
    }
}

fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

/// A difference with the instruction that makes it.
fn difference(found: &directory::Difference) -> Difference {
    let is_lost = found.is_lost;
    let what = match &found.change {
        Change::Request => format!("it would be {}", if is_lost { "refused" } else { "granted" }),
        Change::Entries { count: number, first } => {
            let verb = if is_lost { "lost" } else { "found" };
            format!("{} would be {verb}, such as \"{first}\"", count(*number, "entry", "entries"))
        }
        Change::Attribute { name, count: number, first } => {
            let verb = if is_lost { "would not be sent any more" } else { "would be sent" };
            format!("{name} of {} {verb}, such as of \"{first}\"", count(*number, "entry", "entries"))
        }
        Change::Result { before, after } => format!("the result would be {} instead of {}", after.code, before.code),
    };
    let because = match (&found.change, found.needs()) {
        (Change::Result { after, .. }, _) => after.message.clone(),
        (_, Some((now, then))) => because(now, then),
        (_, None) => otherwise(found),
    };
    Difference { is_lost, what, because }
}

/// Why, where no right is decided otherwise: what the change writes besides instructions, or what is missing on the
/// side that refuses.
fn otherwise(found: &directory::Difference) -> String {
    let directory::Difference { change, now, then, .. } = found;
    let is_unmatched = |it: &Decision| it.needs.iter().any(|need| need.what == What::Filter(FilterTruth::NoMatch));
    let refused = now.refused().chain(then.refused()).next();
    match (now.exists, then.exists) {
        (false, true) => "the change adds the entry".to_owned(),
        (true, false) => "the change deletes the entry".to_owned(),
        _ if is_unmatched(now) && !is_unmatched(then) => "the change writes values that the filter matches".to_owned(),
        _ if is_unmatched(then) && !is_unmatched(now) => {
            "the change writes values that the filter no longer matches".to_owned()
        }
        _ => match (change, refused) {
            (Change::Attribute { name, .. }, None) => format!("the change writes {name} of the entry"),
            (_, None) => "the change writes the entry".to_owned(),
            (_, Some(need)) if found.is_lost => format!("with the change {}", missing(need)),
            (_, Some(need)) => format!("without the change {}", missing(need)),
        },
    }
}

fn because(now: &Need, then: &Need) -> String {
    let by = |need: &Need, wanted: fn(Reason) -> Option<usize>| {
        let explanation = need.explanation.as_ref()?;
        let decided = explanation.instructions.get(wanted(explanation.reason)?)?;
        Some(place_and_name(decided))
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
