//! Changes that no client asked for, in the access log: one line for what followed one operation, with that operation's
//! numbers.

use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use directory::{FollowedName, Identity, InternalLog};
use runtime::log::text::decimal;

use super::access::AccessLog;
use super::criteria::{Asked, Groups, record_of};
use super::event::{EndPoint, LoggedRequest, OperationIds, Origin, ResultFields};
use super::fields::Field;
use crate::metrics::OperationKind;

/// An end of all access logs of its own.
pub(crate) struct InternalAccessLog(Mutex<AccessLog>);

/// The server itself is in no group.
struct NoGroups;

impl Groups for NoGroups {
    fn is_in_group(&self, _: &Identity, _: &str) -> bool {
        false
    }
}

impl InternalAccessLog {
    pub(crate) fn new(log: AccessLog) -> Self {
        Self(Mutex::new(log))
    }
}

impl InternalLog for InternalAccessLog {
    fn name_followed(&self, name: &FollowedName<'_>) {
        let ids = OperationIds { connection: name.connection, operation: u64::from(name.operation), message: -1 };
        let mut request = LoggedRequest::default();
        let fields = &mut request.fields;
        fields.push(Field::Plugin, b"Referential Integrity");
        fields.push(Field::Dn, name.dn.as_bytes());
        if let Some(new_dn) = name.new_dn {
            fields.push(Field::NewDn, new_dn.as_bytes());
        }
        fields.push_with(Field::Entries, |out| decimal(out, name.tally.entries));
        fields.push_with(Field::References, |out| decimal(out, name.tally.references));
        let result = ResultFields { code: name.code.as_i32(), elapsed: name.elapsed, ..ResultFields::default() };
        let (from, to) = (EndPoint::Internal, EndPoint::Internal);
        let origin = Origin { connection: name.connection, from, to, protocol: "INTERNAL" };
        let asked = Asked {
            record: record_of(OperationKind::Modify),
            origin: &origin,
            user: Some(&Identity::Anonymous),
            target: Some(name.dn.as_bytes()),
            groups: &NoGroups,
        };
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        log.begin_turn(SystemTime::now());
        log.internal(OperationKind::Modify, ids, &asked, &mut request, &result);
    }
}
