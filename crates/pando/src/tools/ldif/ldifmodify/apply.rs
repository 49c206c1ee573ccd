//! The entries of a file, and what changes do to them.
//!
//! Entries that were touched lie over those of the file. A deletion does not look at what is below the entry, because
//! OpenDJ's `ldifdiff` deletes parents first; what is left without its parent is found at the end.

use std::collections::BTreeMap;
use std::ops::Bound;

use ldap::ldif::{LdifEntry, LdifModification, LdifOperation, Record};
use ldap::{Dn, Rdn};
use query::referral::leaf_rdns;
use schema::{NormalizedDn, Schema};
use thiserror::Error;

use super::edited::{EditError, Edited};
use crate::failure::Failure;
use crate::tools::ldif::described::Descriptions;
use crate::tools::ldif::sorted::{ByName, Stored};

/// Why a change cannot be made.
#[derive(Debug, Error)]
pub enum ApplyError {
    /// The name of the entry, or the new one.
    #[error("\"{0}\" is not a DN")]
    NotADn(String),
    /// To add, or to rename to.
    #[error("the entry {0} is there already")]
    Exists(String),
    /// To change.
    #[error("there is no entry {0}")]
    Missing(String),
    /// The root cannot be renamed.
    #[error("the entry {0} has no name that could be changed")]
    Nameless(String),
    /// The new parent is the entry or below it.
    #[error("the entry {0} cannot be moved below itself")]
    BelowItself(String),
    /// Of the entry.
    #[error("the entry {dn}: {error}")]
    Edit {
        /// Its name.
        dn: String,
        /// What is wrong.
        error: EditError,
    },
}

/// See the module.
pub struct Entries {
    stored: ByName,
    /// By name; none: it is gone.
    touched: BTreeMap<NormalizedDn, Option<Edited>>,
    descriptions: Descriptions,
}

/// `Ok(Err(…))` is a change that cannot be made.
type Applied = Result<Result<(), ApplyError>, Failure>;

impl Entries {
    pub fn new(stored: ByName, descriptions: Descriptions) -> Entries {
        Entries { stored, touched: BTreeMap::new(), descriptions }
    }

    /// Makes a change; a content record is an entry to add.
    pub fn apply(&mut self, record: Record) -> Applied {
        let (dn, operation) = match record {
            Record::Entry(entry) => (entry.dn, LdifOperation::Add(entry.attributes)),
            Record::Change(change) => (change.dn, change.operation),
        };
        let Some(name) = self.name(&dn) else { return Ok(Err(ApplyError::NotADn(dn))) };
        let existing = self.get(&name)?;
        match (operation, existing) {
            (LdifOperation::Add(_), Some(_)) => Ok(Err(ApplyError::Exists(dn))),
            (LdifOperation::Add(attributes), None) => {
                self.touched.insert(name, Some(Edited::new(dn, &attributes)));
                Ok(Ok(()))
            }
            (_, None) => Ok(Err(ApplyError::Missing(dn))),
            (LdifOperation::Delete, Some(_)) => {
                self.touched.insert(name, None);
                Ok(Ok(()))
            }
            (LdifOperation::Modify(changes), Some(entry)) => Ok(self.modify(name, entry, &changes)),
            (LdifOperation::ModifyDn { new_rdn, delete_old_rdn, new_superior }, Some(entry)) => {
                self.rename(&name, entry, &new_rdn, delete_old_rdn, new_superior.as_deref())
            }
        }
    }

    fn schema(&self) -> &Schema {
        self.descriptions.schema()
    }

    fn name(&self, dn: &str) -> Option<NormalizedDn> {
        NormalizedDn::parse(self.schema(), dn.as_bytes()).ok()
    }

    /// The entry as it is now.
    fn get(&mut self, name: &NormalizedDn) -> Result<Option<Edited>, Failure> {
        if let Some(touched) = self.touched.get(name) {
            return Ok(touched.clone());
        }
        let source = self.stored.source().to_owned();
        self.stored.get(name)?.map(|stored| edited(&source, stored)).transpose()
    }

    fn modify(
        &mut self,
        name: NormalizedDn,
        mut entry: Edited,
        changes: &[LdifModification],
    ) -> Result<(), ApplyError> {
        for change in changes {
            let made = entry.modify(&mut self.descriptions, change);
            made.map_err(|error| ApplyError::Edit { dn: entry.dn.clone(), error })?;
        }
        self.touched.insert(name, Some(entry));
        Ok(())
    }

    /// Renames an entry and all below it.
    fn rename(
        &mut self,
        name: &NormalizedDn,
        mut entry: Edited,
        new_rdn: &str,
        deletes_old: bool,
        new_superior: Option<&str>,
    ) -> Applied {
        let old_dn = entry.dn.clone();
        let not_a_dn = |text: &str| Ok(Err(ApplyError::NotADn(text.to_owned())));
        let (Ok(old), Ok(rdn)) = (Dn::parse(&old_dn), Rdn::parse(new_rdn)) else { return not_a_dn(new_rdn) };
        let Some(old_rdn) = old.rdn() else { return Ok(Err(ApplyError::Nameless(old_dn))) };
        let parent = match new_superior {
            Some(superior) => superior.trim().to_owned(),
            None => old.parent().map(|parent| parent.to_string()).unwrap_or_default(),
        };
        let new_dn = if parent.is_empty() { new_rdn.trim().to_owned() } else { format!("{},{parent}", new_rdn.trim()) };
        let Some(new_name) = self.name(&new_dn) else { return not_a_dn(&new_dn) };
        if name.is_ancestor_of(&new_name) {
            return Ok(Err(ApplyError::BelowItself(old_dn)));
        }
        if new_name != *name && self.get(&new_name)?.is_some() {
            return Ok(Err(ApplyError::Exists(new_dn)));
        }
        let below = if new_name == *name { Vec::new() } else { self.below(name)? };
        entry.rename(&mut self.descriptions, new_dn.clone(), deletes_old.then_some(old_rdn), &rdn);
        self.touched.insert(name.clone(), None);
        self.touched.insert(new_name.clone(), Some(entry));
        for (old_name, mut child) in below {
            child.dn = format!("{}{new_dn}", leaf_rdns(&child.dn, old_name.len() - name.len()));
            let Some(child_name) = self.name(&child.dn) else { return not_a_dn(&child.dn) };
            self.touched.insert(old_name, None);
            self.touched.insert(child_name, Some(child));
        }
        Ok(Ok(()))
    }

    /// The entries below a name.
    fn below(&mut self, name: &NormalizedDn) -> Result<Vec<(NormalizedDn, Edited)>, Failure> {
        let mut below: BTreeMap<NormalizedDn, Edited> = BTreeMap::new();
        let source = self.stored.source().to_owned();
        let mut at = name.as_bytes().to_vec();
        while let Some(stored) = self.stored.after(&at)?.filter(|stored| stored.name.starts_with(name.as_bytes())) {
            at = stored.name.to_vec();
            let found = NormalizedDn::from_bytes(at.clone());
            if !self.touched.contains_key(&found) {
                below.insert(found, edited(&source, stored)?);
            }
        }
        let behind = (Bound::Excluded(name.clone()), Bound::Unbounded);
        let touched = self.touched.range(behind).take_while(|(found, _)| name.is_ancestor_of(found));
        below.extend(touched.filter_map(|(found, entry)| Some((found.clone(), entry.clone()?))));
        Ok(below.into_iter().collect())
    }

    /// What is wrong with entries whose parent the changes have deleted.
    pub fn orphans(&mut self) -> Result<Vec<String>, Failure> {
        let gone: Vec<NormalizedDn> =
            self.touched.iter().filter(|(_, entry)| entry.is_none()).map(|(name, _)| name.clone()).collect();
        let mut found = Vec::new();
        for name in gone {
            if let Some(child) = self.child(&name)? {
                found.push(format!("the entry {child} is left below one that the changes delete"));
            }
        }
        Ok(found)
    }

    /// The name of an entry right below a name.
    fn child(&mut self, parent: &NormalizedDn) -> Result<Option<String>, Failure> {
        let is_child = |name: &NormalizedDn| name.len() == parent.len() + 1;
        let behind = (Bound::Excluded(parent.clone()), Bound::Unbounded);
        let mut touched = self.touched.range(behind).take_while(|(name, _)| parent.is_ancestor_of(name));
        if let Some(child) = touched.find_map(|(name, entry)| entry.as_ref().filter(|_| is_child(name))) {
            return Ok(Some(child.dn.clone()));
        }
        let source = self.stored.source().to_owned();
        let mut at = parent.as_bytes().to_vec();
        while let Some(stored) = self.stored.after(&at)?.filter(|stored| stored.name.starts_with(parent.as_bytes())) {
            at = stored.name.to_vec();
            let name = NormalizedDn::from_bytes(at.clone());
            if is_child(&name) && !self.touched.contains_key(&name) {
                return Ok(Some(edited(&source, stored)?.dn));
            }
        }
        Ok(None)
    }

    /// All entries in the order of their names, parents before children.
    pub fn each(&mut self, mut take: impl FnMut(&Edited) -> Result<(), Failure>) -> Result<(), Failure> {
        let source = self.stored.source().to_owned();
        let mut touched = std::mem::take(&mut self.touched).into_iter().peekable();
        let mut next = self.stored.first()?.map(|stored| (stored.name.to_vec(), edited(&source, stored)));
        while let Some((name, entry)) = next {
            while let Some((_, new)) = touched.next_if(|(new, _)| new.as_bytes() < name.as_slice()) {
                new.as_ref().map_or(Ok(()), &mut take)?;
            }
            match touched.next_if(|(new, _)| new.as_bytes() == name.as_slice()) {
                Some((_, Some(new))) => take(&new)?,
                Some((_, None)) => {}
                None => take(&entry?)?,
            }
            next = self.stored.after(&name)?.map(|stored| (stored.name.to_vec(), edited(&source, stored)));
        }
        touched.filter_map(|(_, entry)| entry).try_for_each(|entry| take(&entry))
    }
}

fn edited(source: &str, stored: Stored<'_>) -> Result<Edited, Failure> {
    let mut entry = LdifEntry::default();
    stored.parse_into(source, &mut entry)?;
    Ok(Edited::of(&entry))
}
