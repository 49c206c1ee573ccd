//! Refreshing a dynamic entry (RFC 2589): its time begins anew.

use ldap::{ModifyRequest, ResultCode};
use query::class_flags::ClassFlags;
use query::error::shown;

use super::error::{ApplyError, refuse};
use super::modify;
use super::work::Work;

/// A dynamic entry gets more time, or less: the request sets its end.
pub(super) fn refresh(work: &mut Work<'_, '_>, request: &ModifyRequest<'_>) -> Result<(), ApplyError> {
    work.require_root("Refreshing an entry")?;
    let target = work.find(request.object)?;
    if !target.classes.flags.has(ClassFlags::DYNAMIC) {
        let message = format!(
            "\"{}\" is not of the class dynamicObject: only dynamic entries can be refreshed",
            shown(request.object)
        );
        return Err(refuse(ResultCode::OBJECT_CLASS_VIOLATION, message));
    }
    modify::modify(work, request)
}
