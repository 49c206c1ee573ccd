//! `access what-can`: what one user may do, with the entries to which the same holds put together.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use access::Right;
use access::explanation::Reason;
use clap::Args;
use directory::{Asked, Directory, Need, Session, What};
use ldap::Scope;
use serde_json::json;

use super::client::{ConnectionOptions, name_of, shown};
use super::searching::{self, search};
use super::source::{Source, SourceOptions};
use super::{names, text};
use crate::failure::{Failure, Outcome};
use crate::output::outln;

/// Entries that are looked at unless it is said otherwise.
const ENTRIES: usize = 1_000;

/// Rights to attributes that are asked about.
const OF_ATTRIBUTES: [Right; 4] = [Right::Read, Right::Search, Right::Compare, Right::Write];

/// Rights to entries that are asked about.
const OF_ENTRIES: [Right; 5] = [Right::Add, Right::Delete, Right::Import, Right::Export, Right::Proxy];

#[derive(Debug, Args)]
pub struct Options {
    /// The user: a DN, or "anonymous"
    #[arg(value_name = "DN")]
    user: String,
    /// Look at the entries at and below this one [default: all]
    #[arg(long = "below", value_name = "DN")]
    below: Option<String>,
    /// Ask about operational attributes, too
    #[arg(long = "operational")]
    operational: bool,
    /// Look at so many entries
    #[arg(long = "entries", value_name = "NUMBER", default_value_t = ENTRIES)]
    entries: usize,
    #[command(flatten)]
    connection: ConnectionOptions,
    #[command(flatten)]
    source: SourceOptions,
    /// Print JSON
    #[arg(long = "json")]
    json: bool,
}

/// What may be done with an entry: rights, and of those to attributes which.
type Rights = BTreeMap<Right, BTreeSet<String>>;

/// What may be done with an entry, and whether it shows.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Able {
    rights: Rights,
    /// Why it does not show; none if it does.
    hidden: Option<String>,
}

/// Entries with which the same may be done.
struct Alike {
    able: Able,
    entries: Vec<String>,
}

/// What was found, and how many entries there are if not all of them were looked at.
struct Looked {
    alike: Vec<Alike>,
    cut_of: Option<usize>,
}

impl Looked {
    fn entries(&self) -> usize {
        self.alike.iter().map(|alike| alike.entries.len()).sum()
    }
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let source = Source::open(directory, &options.source)?;
    let session = options.connection.session(&source.directory, &options.user)?;
    if let Some(below) = &options.below {
        names::check_dn(&source.directory.schema(), below)?;
    }
    let looked = look(&source.directory, &session, options)?;
    let user = shown(name_of(&options.user));
    if options.json {
        print_json(user, &looked);
    } else {
        print_text(user, &looked);
    }
    Ok(ExitCode::SUCCESS)
}

fn look(directory: &Directory, session: &Session, options: &Options) -> Result<Looked, Failure> {
    let now = options.connection.unix_seconds();
    let root = directory.administrator_session(0, Instant::now());
    let bases: Vec<String> = match &options.below {
        Some(below) => vec![below.clone()],
        None => {
            let suffixes = directory.backends().iter().flat_map(|backend| &backend.suffixes);
            suffixes.map(|suffix| suffix.dn.clone()).collect()
        }
    };
    let mut alike: BTreeMap<Able, Vec<String>> = BTreeMap::new();
    let (mut left, mut is_cut, mut asked_for) = (options.entries, false, Vec::new());
    for base in bases {
        let asked = searching::Asked {
            base,
            scope: Scope::WholeSubtree,
            filter: "(objectClass=*)".to_owned(),
            attributes: ["*", "+"]
                .iter()
                .take(1 + usize::from(options.operational))
                .map(|it| (*it).to_owned())
                .collect(),
        };
        let found = search(directory, &root, &asked, now, left)?;
        // A search that is ended here says that it was cancelled.
        if !found.is_cut && !found.result.is_success() {
            return Err(Failure::new(found.result));
        }
        is_cut |= found.is_cut;
        left = left.saturating_sub(found.entries.len());
        asked_for.push(asked);
        for (dn, attributes) in found.entries {
            let rights = rights(directory, session, &dn, &attributes, now)?;
            let hidden = if rights.is_empty() { None } else { hidden(directory, session, &dn, now)? };
            alike.entry(Able { rights, hidden }).or_default().push(dn);
        }
    }
    let mut alike: Vec<Alike> = alike.into_iter().map(|(able, entries)| Alike { able, entries }).collect();
    alike.sort_by_key(|alike| std::cmp::Reverse(alike.entries.len()));
    let counts = asked_for.iter().filter(|_| is_cut).map(|asked| searching::count(directory, &root, asked, now));
    let total = counts.sum::<Result<usize, Failure>>()?;
    Ok(Looked { alike, cut_of: is_cut.then_some(total) })
}

/// Why the entry does not show to the user, if it does not.
fn hidden(directory: &Directory, session: &Session, dn: &str, now: i64) -> Result<Option<String>, Failure> {
    let asked = Asked::Search { dn, within: None, filter: None, attributes: &[] };
    let decision = directory.explain(session, asked, now)?;
    let is_sight = |need: &&Need| !need.granted && matches!(need.what, What::Shows { .. });
    Ok(decision.needs.iter().find(is_sight).map(|need| {
        let explanation = need.explanation.as_ref();
        let is_denied = explanation.is_some_and(|it| matches!(it.reason, Reason::Denied(_) | Reason::GrantsAreDenied));
        let instructions = explanation.into_iter().flat_map(|it| &it.instructions).filter(|_| is_denied);
        let denials: Vec<String> =
            instructions.filter(|it| text::is_denial(&it.outcome)).map(text::place_and_name).collect();
        match denials.is_empty() {
            true => "no attribute of it may be read".to_owned(),
            false => format!("denied by {}", denials.join(", ")),
        }
    }))
}

fn rights(
    directory: &Directory,
    session: &Session,
    dn: &str,
    attributes: &BTreeSet<String>,
    now: i64,
) -> Result<Rights, Failure> {
    let mut rights = Rights::new();
    for right in OF_ATTRIBUTES {
        for name in attributes {
            let asked = Asked::Right { dn, right, attribute: Some(name) };
            if directory.explain(session, asked, now)?.granted {
                rights.entry(right).or_default().insert(name.clone());
            }
        }
    }
    for right in OF_ENTRIES {
        if directory.explain(session, Asked::Right { dn, right, attribute: None }, now)?.granted {
            rights.insert(right, BTreeSet::new());
        }
    }
    Ok(rights)
}

fn print_text(user: &str, looked: &Looked) {
    let total = looked.entries();
    outln!("What {user} may do with {total} {}:", if total == 1 { "entry" } else { "entries" });
    for Alike { able: Able { rights, hidden }, entries } in &looked.alike {
        let example = entries.first().map_or("", String::as_str);
        match entries.len() {
            1 => outln!("\n\"{example}\""),
            count => outln!("\n{count} entries, such as \"{example}\""),
        }
        if rights.is_empty() {
            outln!("    nothing: to {user} there is no such entry");
        }
        if let Some(why) = hidden {
            outln!("    does not show in searches: {why}");
        }
        lines_of(rights).iter().for_each(|line| outln!("    {line}"));
    }
    if let Some(all) = looked.cut_of {
        outln!("\nlooked at the first {total} of {all} entries; --entries looks at more");
    }
}

/// Rights that are to the same attributes are one line.
fn lines_of(rights: &Rights) -> Vec<String> {
    let mut by_names: Vec<(&BTreeSet<String>, Vec<&str>)> = Vec::new();
    for (right, names) in rights {
        match by_names.iter_mut().find(|(known, _)| *known == names) {
            Some((_, rights)) => rights.push(right.as_str()),
            None => by_names.push((names, vec![right.as_str()])),
        }
    }
    let line = |(names, rights): (&BTreeSet<String>, Vec<&str>)| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let names = if names.is_empty() { "the entry".to_owned() } else { names.join(", ") };
        format!("{}: {names}", rights.join(", "))
    };
    by_names.into_iter().map(line).collect()
}

fn print_json(user: &str, looked: &Looked) {
    let classes: Vec<_> = looked
        .alike
        .iter()
        .map(|Alike { able: Able { rights, hidden }, entries }| {
            let shows = !rights.is_empty() && hidden.is_none();
            let rights: serde_json::Map<String, serde_json::Value> =
                rights.iter().map(|(right, names)| (right.as_str().to_owned(), json!(names))).collect();
            json!({ "entries": entries, "rights": rights, "shows": shows, "hiddenBecause": hidden })
        })
        .collect();
    let (is_cut, all) = (looked.cut_of.is_some(), looked.cut_of.unwrap_or_else(|| looked.entries()));
    let value = json!({ "user": user, "classes": classes, "isCut": is_cut, "entriesInAll": all });
    outln!("{value:#}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_to_the_same_attributes_are_one_line() {
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let rights = Rights::from([
            (Right::Read, names(&["cn", "sn"])),
            (Right::Search, names(&["cn", "sn"])),
            (Right::Write, names(&["sn"])),
            (Right::Delete, names(&[])),
        ]);
        assert_eq!(lines_of(&rights), ["read, search: cn, sn", "write: sn", "delete: the entry"]);
    }
}
