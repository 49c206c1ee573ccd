//! The change that is rehearsed: LDIF with `aci` values, other changes of entries, and global instructions. Gives the
//! directory twice, as it is and with the change.
//!
//! Entries are changed in memory by the rules of the server, so what it would refuse is refused here.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use change::TriedChanges;
use config::{BackendConfig, Config};
use directory::Directory;
use ldap::ldif::{LdifChange, LdifEntry, LdifModification, LdifOperation, Reader, Record};
use ldap::{ModifyOperation, ResultCode};
use store::Trial;

use crate::failure::{Context, Failure};
use crate::instance;
use crate::owner::Owner;

/// The entry that has the global instructions in OpenDJ, and the attribute.
const HANDLER: &str = "cn=Access Control Handler,cn=config";
const GLOBAL: &str = "ds-cfg-global-aci";

/// The attribute of entries.
const ACI: &str = "aci";

/// The directory as it is, and as it would be.
pub struct Both {
    pub now: Directory,
    pub then: Directory,
    /// Records of the file.
    pub changes: usize,
}

impl Both {
    /// Opens the instance, and tries the changes of the file.
    pub fn open(directory: &Path, file: &Path) -> Result<Both, Failure> {
        let config = instance::open(directory)?;
        let owner = Owner::of(directory)?;
        let schema = instance::schema(&config)?;
        let records = records(file)?;
        let changes = records.len();
        let mut changed = config.clone();
        let handler = instance::normalized(&schema, HANDLER)?;
        let mut of_backends: HashMap<String, Vec<Record>> = HashMap::new();
        for record in records {
            let name = instance::normalized(&schema, dn_of(&record)).map_err(|failure| at(file, &record, failure))?;
            if name == handler {
                change_global(&mut changed.access_control.global_acis, &record)
                    .map_err(|why| at(file, &record, why))?;
                continue;
            }
            let backend = instance::backend_above(&config, &schema, dn_of(&record));
            let backend = backend.map_err(|failure| at(file, &record, failure))?;
            of_backends.entry(backend.id.clone()).or_default().push(record);
        }
        let root = config.root_users.first().and_then(|user| user.bind_dns.first()).map_or("", String::as_str);
        let (mut now, mut then) = (HashMap::new(), HashMap::new());
        for backend in config.backends.iter().filter(|backend| is_there(backend)) {
            let mut reader = instance::reader(&config, backend, &schema)?;
            let mut tried = Vec::new();
            let mut trial = reader.trial()?;
            let mut changes = TriedChanges::new(root);
            for record in of_backends.remove(&backend.id).unwrap_or_default() {
                let accepted = attempt(&mut trial, &mut changes, &record)?;
                tried.push(accepted.map_err(|why| at(file, &record, why))?);
            }
            drop(trial);
            let [plain, with] = reader.into_backends([Vec::new(), tried])?;
            now.insert(backend.id.clone(), plain);
            then.insert(backend.id.clone(), with);
        }
        if let Some(record) = of_backends.into_values().flatten().next() {
            return Err(at(file, &record, "its backend has no data yet"));
        }
        owner.settle(directory)?;
        Ok(Both { now: opened(&config, now)?, then: opened(&changed, then)?, changes })
    }
}

fn is_there(backend: &BackendConfig) -> bool {
    backend.enabled && store::database_path(&backend.directory).exists()
}

fn opened(config: &Config, mut backends: HashMap<String, store::Backend>) -> Result<Directory, Failure> {
    Directory::open_for_reading(config, |backend| Ok(backends.remove(&backend.id)))
}

fn records(file: &Path) -> Result<Vec<Record>, Failure> {
    let mut reader = Reader::new(BufReader::new(File::open(file).context(file.display())?));
    let mut records = Vec::new();
    while let Some(record) = reader.next_record().context(file.display())? {
        records.push(record);
    }
    match records.is_empty() {
        true => Err(Failure::new(format_args!("{} changes nothing", file.display()))),
        false => Ok(records),
    }
}

fn dn_of(record: &Record) -> &str {
    match record {
        Record::Entry(entry) => &entry.dn,
        Record::Change(change) => &change.dn,
    }
}

fn at(file: &Path, record: &Record, why: impl std::fmt::Display) -> Failure {
    let line = match record {
        Record::Entry(entry) => entry.line,
        Record::Change(change) => change.line,
    };
    Failure::new(format_args!("{}:{line}: \"{}\": {why}", file.display(), dn_of(record)))
}

/// Applies a record; the proposal, or why it is refused. The record of an entry that is there gives it other
/// instructions.
fn attempt(
    trial: &mut Trial<'_>,
    changes: &mut TriedChanges,
    record: &Record,
) -> Result<Result<Vec<u8>, String>, Failure> {
    let change = match record {
        Record::Change(change) => change.clone(),
        Record::Entry(entry) => addition(entry),
    };
    let mut outcome = changes.apply(trial, &change)?;
    if let (Record::Entry(entry), Err(refused)) = (record, &outcome)
        && refused.code == ResultCode::ENTRY_ALREADY_EXISTS
    {
        outcome = changes.apply(trial, &new_instructions(entry))?;
    }
    Ok(outcome.map_err(|refused| refused.to_string()))
}

fn addition(entry: &LdifEntry) -> LdifChange {
    let operation = LdifOperation::Add(entry.attributes.clone());
    LdifChange { dn: entry.dn.clone(), line: entry.line, controls: Vec::new(), operation }
}

fn new_instructions(entry: &LdifEntry) -> LdifChange {
    let modification = LdifModification {
        operation: ModifyOperation::Replace,
        line: entry.line,
        description: ACI.to_owned(),
        values: values_of(entry, ACI),
    };
    let operation = LdifOperation::Modify(vec![modification]);
    LdifChange { dn: entry.dn.clone(), line: entry.line, controls: Vec::new(), operation }
}

fn values_of(entry: &LdifEntry, name: &str) -> Vec<Vec<u8>> {
    let lines = entry.attributes.iter().filter(|line| line.description.eq_ignore_ascii_case(name.as_bytes()));
    lines.map(|line| line.value.to_vec()).collect()
}

/// Changes the list of global instructions as a modify request of OpenDJ's entry says.
fn change_global(acis: &mut Vec<String>, record: &Record) -> Result<(), String> {
    let text = |value: &Vec<u8>| String::from_utf8(value.clone()).map_err(|_| "a value is not UTF-8".to_owned());
    let modifications = match record {
        Record::Entry(entry) => {
            *acis = values_of(entry, GLOBAL).iter().map(text).collect::<Result<_, _>>()?;
            return Ok(());
        }
        Record::Change(LdifChange { operation: LdifOperation::Modify(modifications), .. }) => modifications,
        Record::Change(_) => return Err("it can be modified only".to_owned()),
    };
    for modification in modifications {
        if !modification.description.eq_ignore_ascii_case(GLOBAL) {
            return Err(format!("only {GLOBAL} of it can be rehearsed, not {}", modification.description));
        }
        let values = modification.values.iter().map(text).collect::<Result<Vec<_>, _>>()?;
        match modification.operation {
            ModifyOperation::Add => acis.extend(values),
            ModifyOperation::Replace => *acis = values,
            ModifyOperation::Delete if values.is_empty() => acis.clear(),
            ModifyOperation::Delete => {
                for value in values {
                    match acis.iter().position(|aci| *aci == value) {
                        Some(place) => drop(acis.remove(place)),
                        None => return Err(format!("there is no global instruction {value}")),
                    }
                }
            }
            ModifyOperation::Increment => return Err("instructions cannot be incremented".to_owned()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(ldif: &str) -> Result<Vec<String>, String> {
        let record = Reader::new(ldif.as_bytes()).next_record().unwrap().unwrap();
        let mut acis = vec!["one".to_owned(), "two".to_owned()];
        change_global(&mut acis, &record).map(|()| acis)
    }

    #[test]
    fn global_instructions_change_as_a_modify_says() {
        let modify = |changes: &str| changed(&format!("dn: {HANDLER}\nchangetype: modify\n{changes}"));
        assert_eq!(modify("add: ds-cfg-global-aci\nds-cfg-global-aci: three\n").unwrap(), ["one", "two", "three"]);
        assert_eq!(
            modify(
                "delete: ds-cfg-global-aci\nds-cfg-global-aci: one\n-\nadd: ds-cfg-global-aci\n\
                    ds-cfg-global-aci: 1\n"
            )
            .unwrap(),
            ["two", "1"]
        );
        assert_eq!(modify("replace: ds-cfg-global-aci\n").unwrap(), [""; 0]);
        assert!(modify("delete: ds-cfg-global-aci\nds-cfg-global-aci: x\n").unwrap_err().contains("there is no"));
        assert!(modify("add: ds-cfg-enabled\nds-cfg-enabled: true\n").unwrap_err().contains("ds-cfg-enabled"));
        assert_eq!(changed(&format!("dn: {HANDLER}\nds-cfg-global-aci: only\n")).unwrap(), ["only"]);
    }
}
