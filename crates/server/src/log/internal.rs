//! Changes that no client asked for, in the access log: one line for what followed one operation, with that operation's
//! numbers.

use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use directory::{FollowedName, InternalLog};
use runtime::log::text::{number_field, quoted_field};

use super::access::{AccessLog, OperationIds, ResultFields};
use crate::metrics::OperationKind;

/// An end of all access logs of its own.
pub(crate) struct InternalAccessLog(Mutex<AccessLog>);

impl InternalAccessLog {
    pub(crate) fn new(log: AccessLog) -> Self {
        Self(Mutex::new(log))
    }
}

impl InternalLog for InternalAccessLog {
    fn name_followed(&self, name: &FollowedName<'_>) {
        let ids = OperationIds { connection: name.connection, operation: u64::from(name.operation), message: -1 };
        let mut fields = Vec::new();
        quoted_field(&mut fields, "plugin", b"Referential Integrity");
        quoted_field(&mut fields, "dn", name.dn.as_bytes());
        if let Some(new_dn) = name.new_dn {
            quoted_field(&mut fields, "newDN", new_dn.as_bytes());
        }
        number_field(&mut fields, "entries", name.tally.entries);
        number_field(&mut fields, "references", name.tally.references);
        let result = ResultFields { code: name.code.as_i32(), elapsed: name.elapsed, ..ResultFields::default() };
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.set_time(SystemTime::now());
        log.internal(OperationKind::Modify, ids, &fields, &result);
    }
}
