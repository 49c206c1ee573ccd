//! What updates wrote: the access log names the entry only, the history of changes has the rest of those that were
//! carried out.

use std::collections::HashMap;

use change::history::{Cause, Change, ChangeKind};
use change::undo::{EntryChange, Upkeep, upkeep};
use directory::Directory;
use ldap::{MadeUpdate, ModifyOperation};
use query::facts::Facts;

use crate::failure::{Context, Failure};

/// Updates that are kept in mind.
const UPDATES_MAX: usize = 1_000_000;

/// Connections are numbered anew when the server starts: a change belongs to the operation of its numbers that was
/// logged within so many seconds.
const SECONDS_APART_MAX: i64 = 60;

/// See the module. By connection and operation.
#[derive(Default)]
pub struct Written {
    changes: HashMap<(u64, u64), Vec<(i64, EntryChange)>>,
}

impl Written {
    /// Reads the history that the directory has.
    pub fn read(directory: &Directory) -> Result<Written, Failure> {
        let facts = directory.facts();
        let mut written = Written::default();
        let mut reader = directory.history().from(0);
        while let Some(change) = reader.next_change().context("the history of changes")? {
            written.add(&facts, &change);
            if written.changes.len() >= UPDATES_MAX {
                break;
            }
        }
        Ok(written)
    }

    fn add(&mut self, facts: &Facts, change: &Change<'_>) {
        if change.cause != Cause::Request || change.kind != ChangeKind::Modify {
            return;
        }
        let mut own = EntryChange::of(change);
        own.edits.retain(|edit| upkeep(facts, &edit.description) == Upkeep::Client);
        let seconds = i64::try_from(change.csn.time_us / 1_000_000).unwrap_or(i64::MAX);
        let key = (change.connection, u64::from(change.operation));
        self.changes.entry(key).or_default().push((seconds, own));
    }

    /// The modify request that was carried out.
    pub fn modify(&self, connection: u64, operation: u64, unix_seconds: Option<i64>) -> Option<MadeUpdate> {
        let found = self.changes.get(&(connection, operation))?;
        let is_near = |time: i64| unix_seconds.is_none_or(|logged| (logged - time).abs() <= SECONDS_APART_MAX);
        let (_, change) = found.iter().find(|(time, _)| is_near(*time))?;
        let changes = change.edits.iter().flat_map(|edit| {
            let name = edit.description.as_bytes();
            let removed =
                (!edit.removed.is_empty() || !edit.is_complete).then_some((ModifyOperation::Delete, &edit.removed));
            let added = (!edit.added.is_empty()).then_some((ModifyOperation::Add, &edit.added));
            removed.into_iter().chain(added).map(move |(how, values)| (how, name, slices(values)))
        });
        Some(MadeUpdate::modify(change.dn.as_bytes(), changes))
    }
}

fn slices(values: &[Vec<u8>]) -> Vec<&[u8]> {
    values.iter().map(Vec::as_slice).collect()
}
