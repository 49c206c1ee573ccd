//! Differences put together by user and cause, with examples.

use std::collections::BTreeMap;

use serde_json::json;

use super::compared::{Compared, Difference, Untold};
use super::logged::{LeftOut, Logged, Request};
use crate::output::outln;
use crate::tools::access::client::shown;

/// Operations that one group shows.
const EXAMPLES_MAX: usize = 3;

/// What all operations came to.
#[derive(Debug, Default)]
pub struct Report {
    compared: u64,
    different: u64,
    untold: BTreeMap<Untold, u64>,
    groups: BTreeMap<Key, Group>,
}

/// What a group has in common.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    user: String,
    is_lost: bool,
    because: String,
}

#[derive(Debug, Default)]
struct Group {
    operations: u64,
    /// The last one of them, by its number.
    last: Option<u64>,
    examples: Vec<Example>,
}

#[derive(Debug)]
struct Example {
    request: String,
    what: String,
}

impl Report {
    /// Takes what one operation came to.
    pub fn add(&mut self, logged: &Logged, compared: Compared) {
        let differences = match compared {
            Compared::Untold(why) => {
                *self.untold.entry(why).or_default() += 1;
                return;
            }
            Compared::Same => Vec::new(),
            Compared::Different(differences) => differences,
        };
        self.compared += 1;
        self.different += u64::from(!differences.is_empty());
        for Difference { is_lost, what, because } in differences {
            let key = Key { user: logged.client.dn.clone(), is_lost, because };
            let group = self.groups.entry(key).or_default();
            // Several attributes of one operation may differ by the same cause.
            if group.last != Some(self.compared) {
                group.last = Some(self.compared);
                group.operations += 1;
            }
            if group.examples.len() < EXAMPLES_MAX && !group.examples.iter().any(|known| known.what == what) {
                group.examples.push(Example { request: request_text(logged), what });
            }
        }
    }

    /// Whether some operation would be decided otherwise.
    pub fn has_differences(&self) -> bool {
        self.different > 0
    }

    /// For people.
    pub fn print(&self, left_out: LeftOut) {
        outln!("{} operations were decided; {} would be decided otherwise.", self.compared, self.different);
        for (key, group) in &self.groups {
            let verb = if key.is_lost { "loses" } else { "gains" };
            let noun = if group.operations == 1 { "operation" } else { "operations" };
            outln!("\n{} {verb} in {} {noun}: {}", shown(&key.user), group.operations, key.because);
            for example in &group.examples {
                outln!("    {}", example.request);
                outln!("        -> {}", example.what);
            }
        }
        let notes = self.notes(left_out);
        if !notes.is_empty() {
            outln!("\nNot decided:");
            notes.iter().for_each(|(count, why)| outln!("  {count:>8}  {why}"));
        }
        outln!(
            "\nThe log holds neither compared values, nor what refused updates were to write, nor the bits of \
             encryption (TLS counts as 256). Entries, groups and users are those of now."
        );
    }

    fn notes(&self, left_out: LeftOut) -> Vec<(u64, &'static str)> {
        let untold = self.untold.iter().map(|(why, count)| (*count, sentence(*why)));
        let left_out = [
            (left_out.unknown_client, "operations of connections that began before the log does"),
            (left_out.cut_filter, "searches whose filter is too long for the log"),
            (left_out.other_lines, "lines that are none of an access log"),
        ];
        untold.chain(left_out).filter(|(count, _)| *count > 0).collect()
    }

    /// For programs.
    pub fn print_json(&self, left_out: LeftOut, findings: &[serde_json::Value]) {
        let groups: Vec<_> = self
            .groups
            .iter()
            .map(|(key, group)| {
                let examples: Vec<_> = group
                    .examples
                    .iter()
                    .map(|example| json!({ "request": example.request, "difference": example.what }))
                    .collect();
                json!({
                    "user": key.user,
                    "change": if key.is_lost { "loses" } else { "gains" },
                    "because": key.because,
                    "operations": group.operations,
                    "examples": examples,
                })
            })
            .collect();
        let notes: Vec<_> =
            self.notes(left_out).into_iter().map(|(count, why)| json!({ "count": count, "what": why })).collect();
        let value = json!({
            "operations": self.compared,
            "different": self.different,
            "groups": groups,
            "notDecided": notes,
            "findings": findings,
        });
        outln!("{value:#}");
    }
}

fn sentence(why: Untold) -> &'static str {
    match why {
        Untold::UserGone => "operations of users that are not there any more",
        Untold::EntryGone => "operations on entries that are not there any more",
        Untold::NotWritten => "modifications of which neither log nor history say what they write",
        Untold::TooMany => "searches that find more than 100,000 entries",
    }
}

/// The request as the log has it, shorter.
fn request_text(logged: &Logged) -> String {
    let what = match &logged.request {
        Request::Search(asked) => {
            let attributes = match asked.attributes.as_slice() {
                [] => String::new(),
                names => format!(" for {}", names.join(",")),
            };
            format!("search below \"{}\" with {}{attributes}", asked.base, asked.filter)
        }
        Request::Compare { dn, attribute } => format!("compare {attribute} of \"{dn}\""),
        Request::Add { dn } => format!("add \"{dn}\""),
        Request::Modify { dn } => format!("modify \"{dn}\""),
        Request::Delete { dn } => format!("delete \"{dn}\""),
        Request::ModifyDn { dn, new_rdn, new_superior, .. } => {
            let below = new_superior.as_ref().map_or(String::new(), |above| format!(" below \"{above}\""));
            format!("rename \"{dn}\" to {new_rdn}{below}")
        }
        Request::Extended { oid } => format!("extended operation {oid}"),
    };
    format!("conn={} op={}: {what}", logged.connection, logged.operation)
}
