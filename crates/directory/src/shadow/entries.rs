//! Proposed instructions of entries: an LDIF file with changes of `aci`, read against the entries that are there.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use access::{ACIS_PER_ENTRY_MAX, ProposedChange, ProposedInstructions};
use durable::ReadBound;
use ldap::ModifyOperation;
use ldap::ldif::{LdifModification, LdifOperation, Reader, Record};
use query::backend::{Backend, holder};
use query::entry::{DnParts, EntryView, each_stored};
use query::facts::Facts;
use query::locate::locate;
use schema::NormalizedDn;
use schema::instruction::check_target;
use store::StoreError;

/// The largest file.
const FILE: ReadBound = ReadBound::file(16 << 20);

/// The attribute.
const ACI: &str = "aci";

/// What a file proposes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProposedEntries {
    path: PathBuf,
    text: Vec<u8>,
    pub(crate) instructions: ProposedInstructions,
}

/// Why a file proposes nothing.
#[derive(Debug, thiserror::Error)]
pub enum ProposedEntriesError {
    /// It cannot be read.
    #[error("proposed-aci-file {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is no LDIF.
    #[error("proposed-aci-file {}: {reason}", path.display())]
    NotLdif {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        reason: String,
    },
    /// It proposes something that cannot be tried.
    #[error("proposed-aci-file {}:{line}: \"{dn}\": {reason}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// The line.
        line: u64,
        /// The entry.
        dn: String,
        /// Why.
        reason: String,
    },
}

/// A record of the file.
struct Change {
    dn: String,
    line: u64,
    modifications: Vec<LdifModification>,
}

/// Why a record cannot be tried: the line and what is wrong.
type Fault = (u64, String);

/// Where the entries are.
#[derive(Clone, Copy)]
pub(crate) struct Entries<'e> {
    pub(crate) facts: &'e Facts,
    pub(crate) backends: &'e [Backend],
}

impl ProposedEntries {
    /// Reads a file. What was read before is kept when the file has not changed: entries may have gone since.
    pub(crate) fn read(
        path: &Path,
        entries: Entries<'_>,
        before: Option<&ProposedEntries>,
    ) -> Result<ProposedEntries, ProposedEntriesError> {
        let unreadable = |error| ProposedEntriesError::Unreadable { path: path.to_owned(), error };
        let text = FILE.read(path).map_err(unreadable)?;
        if let Some(before) = before.filter(|before| before.path == path && before.text == text) {
            return Ok(before.clone());
        }
        let mut instructions = ProposedInstructions::default();
        let mut reader = Reader::new(text.as_slice());
        let not_ldif =
            |error: &dyn ToString| ProposedEntriesError::NotLdif { path: path.to_owned(), reason: error.to_string() };
        while let Some(record) = reader.next_record().map_err(|error| not_ldif(&error))? {
            let dn = match &record {
                Record::Entry(entry) => entry.dn.clone(),
                Record::Change(change) => change.dn.clone(),
            };
            let taken = change_of(record).and_then(|change| entries.take(&change, &mut instructions));
            taken.map_err(|(line, reason)| ProposedEntriesError::Record { path: path.to_owned(), line, dn, reason })?;
        }
        if instructions.is_empty() {
            return Err(not_ldif(&"it changes no instruction"));
        }
        Ok(ProposedEntries { path: path.to_owned(), text, instructions })
    }
}

/// A modification of `aci`; a whole entry has the instructions that it is to have.
fn change_of(record: Record) -> Result<Change, Fault> {
    let only_aci = "only its instructions can be proposed: write changetype: modify and changes of aci";
    match record {
        Record::Entry(entry) => {
            let is_aci = |name: &[u8]| name.eq_ignore_ascii_case(ACI.as_bytes());
            let lines = entry.attributes.iter().filter(|line| is_aci(line.description));
            let modification = LdifModification {
                operation: ModifyOperation::Replace,
                line: entry.line,
                description: ACI.to_owned(),
                values: lines.map(|line| line.value.to_vec()).collect(),
            };
            Ok(Change { dn: entry.dn, line: entry.line, modifications: vec![modification] })
        }
        Record::Change(change) => match change.operation {
            LdifOperation::Modify(modifications) => {
                match modifications.iter().find(|it| !it.description.eq_ignore_ascii_case(ACI)) {
                    Some(other) => Err((other.line, format!("{only_aci}, not of {}", other.description))),
                    None => Ok(Change { dn: change.dn, line: change.line, modifications }),
                }
            }
            _ => Err((change.line, only_aci.to_owned())),
        },
    }
}

impl Entries<'_> {
    /// Adds a change to what is proposed.
    fn take(self, change: &Change, proposed: &mut ProposedInstructions) -> Result<(), Fault> {
        let line = change.line;
        let fault = |reason: &dyn ToString| (line, reason.to_string());
        let unreadable = |error: StoreError| (line, error.to_string());
        let schema = &self.facts.schema;
        let name = NormalizedDn::parse(schema, change.dn.as_bytes()).map_err(|error| fault(&error))?;
        let nowhere =
            || fault(&"no base DN holds this name; global instructions are proposed with proposed-global-aci");
        let (at, suffix) = holder(self.backends, name.as_bytes()).ok_or_else(nowhere)?;
        let backend = self.backends.get(at.0).ok_or_else(nowhere)?;
        let snapshot = backend.store.snapshot().map_err(unreadable)?;
        let view = snapshot.view();
        let found = locate(&view, &suffix.normalized, name.as_bytes()).map_err(unreadable)?.found();
        let record = found.map(|id| view.entry(id)).transpose().map_err(unreadable)?.flatten();
        let (Some(id), Some(record)) = (found, record) else { return Err(fault(&"there is no such entry")) };
        let entry = EntryView { id, record: record.view().map_err(unreadable)?, dn: DnParts::default(), source: &view };
        let mut values: Vec<Vec<u8>> = Vec::new();
        if let Some(aci) = self.facts.aci {
            let mut push = |value: &[u8]| {
                values.push(value.to_vec());
                ControlFlow::Continue(())
            };
            each_stored(&entry, aci, &mut push).map_err(unreadable)?;
        }
        for modification in &change.modifications {
            for one in changes_of(modification)? {
                let mut now = values.clone();
                proposed.apply(at, id, &mut now);
                match &one {
                    ProposedChange::Add(value) => self.check(&name, value).map_err(|why| (modification.line, why))?,
                    ProposedChange::Delete(value) if !now.contains(value) => {
                        let text = String::from_utf8_lossy(value);
                        return Err((modification.line, format!("the entry has no instruction {text}")));
                    }
                    ProposedChange::Delete(_) | ProposedChange::DeleteAll => {}
                }
                proposed.push(at, id, one);
            }
        }
        proposed.apply(at, id, &mut values);
        match values.len() > ACIS_PER_ENTRY_MAX {
            true => Err(fault(&format_args!("an entry may hold {ACIS_PER_ENTRY_MAX} instructions"))),
            false => Ok(()),
        }
    }

    /// As the server checks an instruction that comes.
    fn check(self, name: &NormalizedDn, value: &[u8]) -> Result<(), String> {
        let text = std::str::from_utf8(value).map_err(|error| error.to_string())?;
        let parsed = aci::parse(text).map_err(|error| format!("{text} is not a valid instruction: {error}"))?;
        check_target(&self.facts.schema, name, &parsed).map_err(|error| error.to_string())
    }
}

fn changes_of(modification: &LdifModification) -> Result<Vec<ProposedChange>, Fault> {
    let adds = || modification.values.iter().cloned().map(ProposedChange::Add);
    Ok(match modification.operation {
        ModifyOperation::Add => adds().collect(),
        ModifyOperation::Replace => std::iter::once(ProposedChange::DeleteAll).chain(adds()).collect(),
        ModifyOperation::Delete if modification.values.is_empty() => vec![ProposedChange::DeleteAll],
        ModifyOperation::Delete => modification.values.iter().cloned().map(ProposedChange::Delete).collect(),
        ModifyOperation::Increment => {
            return Err((modification.line, "instructions cannot be incremented".to_owned()));
        }
    })
}
