//! Modifications of `cn=schema`. The schema files of the instance are the truth that an administrator sees; every
//! backend keeps a copy that changes in the order of its log, so that a replay judges entries as they were judged.
//!
//! Order of a change: files, then backends, then readers. Whatever fails takes the steps before it back. A crash in
//! between leaves files that are newer than the backends' copies; opening brings these up to date.
//!
//! Knows files and backends; what a change would break is said by `schema` and by `apply`.

use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use ldap::LdapResult;
use schema::{ModifiedSchema, Schema};
use store::Rebound;
use store::index::SchemaTypes;

use super::context::UpdateContext;
use super::controls::OwnedControls;
use super::decided::Decided;
use super::done::{UpdateCallback, UpdateDone, report_of, update_done};
use super::intake::Cause;
use crate::open_error::OpenError;
use crate::own::SchemaModification;
use crate::refusal::Refusal;
use crate::server_name::SERVER_NAME;
use access::Identity;
use change::apply::schema_text;
use change::judged::Judged;
use change::proposal::{Flags, Kind};
use query::backend::{Backend, BackendIndex, numbered};

impl UpdateContext<'_> {
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
        let refused = |error: schema::ModifySchemaError| Refusal::Schema {
            code: error.result_code(),
            problem: error.to_string(),
        };
        let modified = old.modified(&modification.changes).map_err(refused)?;
        let is_trial = modification.flags.has(Flags::NO_OP);
        let folder = self.instance.schema();
        if !is_trial {
            write_files(&folder, &modified.files, &modified.schema)?;
        }
        let result = self.propose_everywhere(&old, &modified, modification);
        match &result {
            Ok(_) if !is_trial => {
                self.in_force.set_schema(modified.schema).map_err(|error| query::error::store_failure(&error))?
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
        for (at, backend) in numbered(self.backends) {
            let done = self.propose_schema(at, backend, &modified.schema, &modification.identity, modification.flags);
            if done.result.is_success() {
                last = done;
                continue;
            }
            let _ = bind_schema(backend, old);
            for (at, backend) in numbered(self.backends).take(at.0) {
                let mut flags = Flags::default();
                flags.set(Flags::RELAX);
                // Back to what it was: nothing can have come to need the new definitions that the old ones do not have.
                let _ = self.propose_schema(at, backend, old, &modification.identity, flags);
            }
            return Err(done.result);
        }
        Ok(last)
    }

    /// Proposes a schema to one backend and waits. The backend's numbers and keys follow right behind the proposal: no
    /// update gets between the two.
    fn propose_schema(
        &self,
        at: BackendIndex,
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
            password: Vec::new(),
            policy: None,
            identity: identity.clone(),
            judged: Judged::Unneeded,
            review: None,
            connection: 0,
            operation: 0,
            answer: None,
        };
        let (csn, proposal) = self.updates.intake.encode(&decided, [0; 16]);
        let intake = &self.updates.intake;
        if flags.has(Flags::NO_OP) {
            let outcome = intake.submit_and_wait(backend, Cause::Configuration, proposal);
            return update_done(report_of(outcome), csn, None);
        }
        let begun = Instant::now();
        let (sender, receiver) = std::sync::mpsc::channel();
        let done = Box::new(move |outcome| drop(sender.send(outcome)));
        let types = SchemaTypes::with_makers(schema, &backend.key_makers.load());
        let bound = backend.store.submit_and_rebind(proposal, done, types.clone(), types);
        let outcome = receiver.recv().unwrap_or(Err(store::StoreError::Closed));
        bound.wait();
        intake.count(Cause::Configuration, begun);
        update_done(report_of(outcome), csn, None)
    }

    /// Brings the backends' copies of the schema up to what the files say: after the files were edited, or after a
    /// crash in a change.
    pub(crate) fn settle_schema(&self) -> Result<(), OpenError> {
        let schema = self.schema();
        let text = schema_text(&schema);
        let identity = Identity::Root { dn: SERVER_NAME.into() };
        for (at, backend) in numbered(self.backends) {
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

/// Writes user schema files so that a crash leaves the old or the new one.
fn write_files(folder: &Path, names: &[String], schema: &Schema) -> Result<(), LdapResult> {
    for name in names {
        durable::replace_file(&folder.join(name), schema.user_file_text(name).as_bytes(), None)
            .map_err(|error| Refusal::SchemaFile { name: name.clone(), error: error.to_string() })?;
    }
    Ok(())
}
