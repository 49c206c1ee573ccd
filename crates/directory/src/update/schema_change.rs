//! Modifications of `cn=schema`. The schema files of the instance are the truth that an administrator sees; every backend keeps a copy
//! that changes in the order of its log, so that a replay judges entries as they were judged.
//!
//! Order of a change: files, then backends, then readers. Whatever fails takes the steps before it back. A crash in between leaves files
//! that are newer than the backends' copies; opening brings these up to date.
//!
//! Knows files and backends; what a change would break is said by `schema` and by `apply`.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use ldap::{LdapResult, ModifyOperation, ModifyRequest, ResultCode};
use schema::{DefinitionKind, ModifiedSchema, Schema, SchemaChange};
use store::Rebound;
use store::index::SchemaTypes;

use super::controls::OwnedControls;
use super::{Cause, Decided, UpdateCallback, UpdateDone, conclude, report_of};
use crate::directory::Directory;
use crate::open::OpenError;
use access::Identity;
use change::apply::schema_text;
use change::proposal::{Flags, Kind};
use query::backend::Backend;
use query::error::{refuse, shown};

/// Who stands behind changes that no client asked for.
pub(crate) const SERVER_NAME: &str = "cn=Internal Client,cn=Root DNs,cn=config";

/// A modification that was read.
#[derive(Debug)]
pub(crate) struct SchemaModification {
    changes: Vec<SchemaChange>,
    identity: Identity,
    flags: Flags,
}

/// Reads a modify request of the subschema entry.
pub(super) fn read(
    identity: &Identity,
    flags: Flags,
    request: &ModifyRequest<'_>,
) -> Result<SchemaModification, LdapResult> {
    if !identity.is_root() {
        let message = "Only root users may change the schema";
        return Err(refuse(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, message));
    }
    let mut changes = Vec::new();
    for change in request.changes.iter() {
        let attribute = String::from_utf8_lossy(change.attribute.description);
        let Some(kind) = DefinitionKind::of_attribute(&attribute) else {
            let message = format!("Only definitions can be changed in cn=schema, not {}", shown(attribute.as_bytes()));
            return Err(refuse(ResultCode::CONSTRAINT_VIOLATION, message));
        };
        let is_add = match change.operation {
            ModifyOperation::Add => true,
            ModifyOperation::Delete if !change.attribute.values.is_empty() => false,
            _ => {
                let message =
                    format!("Add or delete single values of {attribute}: the schema is not replaced as a whole");
                return Err(refuse(ResultCode::UNWILLING_TO_PERFORM, message));
            }
        };
        for value in change.attribute.values.iter() {
            let value = std::str::from_utf8(value).map(str::to_owned).map_err(|_| {
                refuse(ResultCode::INVALID_ATTRIBUTE_SYNTAX, format!("A value of {attribute} is not UTF-8"))
            })?;
            changes.push(if is_add { SchemaChange::Add { kind, value } } else { SchemaChange::Delete { kind, value } });
        }
    }
    Ok(SchemaModification { changes, identity: identity.clone(), flags })
}

impl Directory {
    /// Makes a schema modification in files, backends and for readers.
    pub(super) fn change_schema(&self, modification: SchemaModification, done: UpdateCallback) {
        done(match self.try_change_schema(&modification) {
            Ok(finished) => finished,
            Err(result) => UpdateDone::refused(result),
        });
    }

    /// Waits for the backends: schema changes are rare, and two of them must not meet. Runs on a pool.
    fn try_change_schema(&self, modification: &SchemaModification) -> Result<UpdateDone, LdapResult> {
        let _only_one = self.updates.schema_change.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.schema();
        let modified =
            old.modified(&modification.changes).map_err(|error| refuse(error.result_code(), error.to_string()))?;
        let is_trial = modification.flags.has(Flags::NO_OP);
        let folder = self.config.instance.schema();
        if !is_trial {
            write_files(&folder, &modified.files, &modified.schema)?;
        }
        let result = self.propose_everywhere(&old, &modified, modification);
        match &result {
            Ok(_) if !is_trial => {
                self.set_schema(modified.schema).map_err(|error| query::error::store_failure(&error))?
            }
            Ok(_) => {}
            Err(_) if is_trial => {}
            Err(_) => write_files(&folder, &modified.files, &old)?,
        }
        result
    }

    fn propose_everywhere(
        &self,
        old: &Arc<Schema>,
        modified: &ModifiedSchema,
        modification: &SchemaModification,
    ) -> Result<UpdateDone, LdapResult> {
        let mut last = UpdateDone::refused(LdapResult::success());
        for (at, backend) in self.backends.iter().enumerate() {
            let done = self.propose_schema(at, backend, &modified.schema, &modification.identity, modification.flags);
            if done.result.is_success() {
                last = done;
                continue;
            }
            let _ = bind_schema(backend, old);
            for (at, backend) in self.backends.iter().enumerate().take(at) {
                let mut flags = Flags::default();
                flags.set(Flags::RELAX);
                // Back to what it was: nothing can have come to need the new definitions that the old ones do not have.
                let _ = self.propose_schema(at, backend, old, &modification.identity, flags);
            }
            return Err(done.result);
        }
        Ok(last)
    }

    /// Proposes a schema to one backend and waits. The backend's numbers and keys follow right behind the proposal: no update gets
    /// between the two.
    fn propose_schema(
        &self,
        at: usize,
        backend: &Backend,
        schema: &Arc<Schema>,
        identity: &Identity,
        flags: Flags,
    ) -> UpdateDone {
        let decided = Decided {
            backend: at,
            kind: Kind::ModifySchema,
            controls: OwnedControls { flags, ..OwnedControls::default() },
            op_bytes: schema_text(schema).into(),
            identity: identity.clone(),
            connection: 0,
            operation: 0,
            answer: None,
        };
        let (csn, proposal) = self.updates.intake.encode(&decided, [0; 16]);
        let intake = &self.updates.intake;
        if flags.has(Flags::NO_OP) {
            let outcome = intake.submit_and_wait(backend, Cause::Configuration, proposal);
            return conclude(report_of(outcome), csn, None);
        }
        let begun = Instant::now();
        let (sender, receiver) = std::sync::mpsc::channel();
        let done = Box::new(move |outcome| drop(sender.send(outcome)));
        let types = SchemaTypes::with_makers(schema, &backend.key_makers.load());
        let bound = backend.store.submit_and_rebind(proposal, done, types.clone(), types);
        let outcome = receiver.recv().unwrap_or(Err(store::StoreError::Closed));
        bound.wait();
        intake.count(Cause::Configuration, begun);
        conclude(report_of(outcome), csn, None)
    }

    /// Brings the backends' copies of the schema up to what the files say: after the files were edited, or after a crash in a change.
    pub(crate) fn settle_schema(&self) -> Result<(), OpenError> {
        let schema = self.schema();
        let text = schema_text(&schema);
        let identity = Identity::Root { dn: SERVER_NAME.into() };
        for (at, backend) in self.backends.iter().enumerate() {
            let failed = |error| OpenError::Store { backend: backend.id.clone(), error };
            let snapshot = backend.store.snapshot().map_err(failed)?;
            let view = snapshot.view();
            let kept = view.meta(change::apply::SCHEMA_KEY).map_err(failed)?.unwrap_or_default();
            if *kept == *text {
                continue;
            }
            let mut flags = Flags::default();
            flags.set(Flags::RELAX);
            let done = self.propose_schema(at, backend, &schema, &identity, flags);
            if !done.result.is_success() {
                return Err(OpenError::SchemaChange { backend: backend.id.clone(), reason: done.result.message });
            }
        }
        Ok(())
    }
}

/// Makes the backend's numbers and index keys follow a schema.
pub(crate) fn bind_schema(backend: &Backend, schema: &Arc<Schema>) -> Rebound {
    let types = SchemaTypes::with_makers(schema, &backend.key_makers.load());
    backend.store.rebind(types.clone(), types)
}

/// Held while a schema changes.
pub(super) type SchemaLock = Mutex<()>;

/// Writes user schema files so that a crash leaves the old or the new one.
fn write_files(folder: &Path, names: &[String], schema: &Schema) -> Result<(), LdapResult> {
    for name in names {
        durable::replace_file(&folder.join(name), schema.user_file_text(name).as_bytes(), None).map_err(|error| {
            let message = format!("The schema file {name} cannot be written ({error}): nothing was changed");
            refuse(ResultCode::UNWILLING_TO_PERFORM, message)
        })?;
    }
    Ok(())
}
