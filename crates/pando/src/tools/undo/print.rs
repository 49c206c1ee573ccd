//! What the operator sees: LDIF on standard output, what it means and what stands in its way on standard error; or
//! JSON.

use std::io::{self, Write};

use change::history::ChangeKind;
use jiff::Timestamp;
use ldap::ldif::Writer;

use super::apply::Applied;
use super::find::Found;
use super::plan::Plan;
use crate::failure::{Context, Failure};
use crate::output::{Output, errln, outln, reader_is_gone};

/// For people.
pub fn text(plan: &Plan, is_possible: bool, applied: Option<&Applied>) -> Result<(), Failure> {
    let (steps, requests) = (plan.steps.len(), plan.requests().count());
    let changes = count(steps, "change");
    if !is_possible {
        for (found, rehearsed) in &plan.steps {
            for obstacle in &rehearsed.obstacles {
                errln!("change {}: {}", found.step.number, obstacle.message);
            }
        }
        let all_can = plan.steps.iter().flat_map(|(_, how)| &how.obstacles).all(|obstacle| obstacle.can_be_forced);
        errln!(
            "Nothing was done: entries are not as {changes} left them. {}",
            if all_can {
                "--force overwrites what was changed since."
            } else {
                "--force does not help with all of that."
            }
        );
        return Ok(());
    }
    if let Some(applied) = applied {
        return print_applied(plan, applied);
    }
    match print_ldif(plan, Output) {
        Err(_) if reader_is_gone() => {}
        printed => printed.context("standard output")?,
    }
    let forced = plan.steps.iter().any(|(_, rehearsed)| !rehearsed.obstacles.is_empty());
    errln!(
        "{changes} would be undone by {}{}. Nothing was done: repeat it with --apply, or give the LDIF to ldapmodify.",
        count(requests, "request"),
        if forced { ", which overwrite what was changed since" } else { "" },
    );
    Ok(())
}

fn print_ldif(plan: &Plan, out: impl Write) -> io::Result<()> {
    let mut writer = Writer::new(out).with_wrap(None);
    for (found, rehearsed) in &plan.steps {
        let mut requests = rehearsed.requests.iter();
        writer.comment(&title(found));
        for obstacle in &rehearsed.obstacles {
            writer.comment(&format!("Although: {}", obstacle.message));
        }
        match requests.next() {
            Some(first) => writer.change(first)?,
            None => {
                writer.comment("There is nothing to do.");
                writer.end()?;
            }
        }
        requests.try_for_each(|request| writer.change(request))?;
    }
    writer.finish()?.flush()
}

/// Which change it is.
fn title(found: &Found) -> String {
    let number = found.step.number;
    let why = if found.step.follows { ", which followed a change above" } else { "" };
    format!("Undo change {number}{why}: {}", what(found))
}

fn what(found: &Found) -> String {
    let entry_change = &found.step.entry_change;
    let did = match entry_change.kind {
        ChangeKind::Add => format!("\"{}\" was added", entry_change.dn),
        ChangeKind::Modify => format!("\"{}\" was modified", entry_change.dn),
        ChangeKind::Delete => format!("\"{}\" was deleted", entry_change.dn),
        ChangeKind::ModifyDn => format!("\"{}\" was renamed to \"{}\"", entry_change.dn, entry_change.new_dn),
    };
    let by = match (found.user.as_str(), found.connection) {
        (user, 0) => user.to_owned(),
        (user, connection) => format!("{user} (conn={connection} op={})", found.operation),
    };
    format!("{did} at {} by {by}", time_text(found.time_us))
}

fn print_applied(plan: &Plan, applied: &Applied) -> Result<(), Failure> {
    let requests: Vec<u64> = plan.requests().map(|(number, _)| number).collect();
    let total = requests.len();
    let Some(failure) = &applied.failure else {
        for (found, _) in &plan.steps {
            outln!("Undone: change {}: {}", found.step.number, what(found));
        }
        let how = if applied.in_transaction { "in one transaction" } else { "one after the other" };
        outln!("{} undone by {}, {how}.", count(plan.steps.len(), "change"), count(total, "request"));
        return Ok(());
    };
    let Some(stopped) = requests.get(applied.done).filter(|_| !applied.in_transaction) else {
        return Err(Failure::new(format_args!("nothing was done: {failure}")));
    };
    for (found, _) in plan.steps.iter().take_while(|(found, _)| found.step.number != *stopped) {
        outln!("Undone: change {}: {}", found.step.number, what(found));
    }
    Err(Failure::new(format_args!(
        "{} of {total} requests were done, then one failed: {failure}; resolve that, then undo the rest",
        applied.done
    )))
}

/// For programs.
pub fn json(plan: &Plan, is_possible: bool, applied: Option<&Applied>) {
    let change = |(found, rehearsed): &(Found, change::undo::Rehearsed)| {
        let entry_change = &found.step.entry_change;
        let requests: Vec<String> = rehearsed.requests.iter().map(ldif).collect();
        let conflicts = rehearsed
            .obstacles
            .iter()
            .map(|obstacle| serde_json::json!({ "message": obstacle.message, "canBeForced": obstacle.can_be_forced }));
        serde_json::json!({
            "changeNumber": found.step.number,
            "time": time_text(found.time_us),
            "user": found.user,
            "connection": found.connection,
            "operation": found.operation,
            "kind": match entry_change.kind {
                ChangeKind::Add => "add",
                ChangeKind::Modify => "modify",
                ChangeKind::Delete => "delete",
                ChangeKind::ModifyDn => "modrdn",
            },
            "dn": entry_change.dn,
            "newDN": (entry_change.kind == ChangeKind::ModifyDn).then_some(&entry_change.new_dn),
            "follows": found.step.follows,
            "conflicts": conflicts.collect::<Vec<_>>(),
            "requests": requests,
        })
    };
    let value = serde_json::json!({
        "changes": plan.steps.iter().map(change).collect::<Vec<_>>(),
        "isPossible": is_possible,
        "applied": applied.map(|applied| serde_json::json!({
            "requests": applied.done,
            "inTransaction": applied.in_transaction,
            "failure": applied.failure,
        })),
    });
    outln!("{value:#}");
}

fn ldif(request: &ldap::ldif::LdifChange) -> String {
    let mut writer = Writer::new(Vec::new()).with_wrap(None);
    // Into memory: it cannot fail.
    let written = writer.change(request).and_then(|()| writer.finish()).unwrap_or_default();
    String::from_utf8_lossy(&written).into_owned()
}

/// `1 change`, `2 changes`
fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn time_text(time_us: u64) -> String {
    let time = Timestamp::from_microsecond(i64::try_from(time_us).unwrap_or(i64::MAX)).unwrap_or_default();
    format!("{time:.3}")
}
