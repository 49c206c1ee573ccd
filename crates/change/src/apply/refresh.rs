//! Refreshing a dynamic entry (RFC 2589): its time begins anew.

use ldap::ModifyRequest;
use query::class_flags::ClassFlags;
use query::error::shown;

use super::error::ApplyError;
use super::modify;
use super::work::Work;
use crate::refusal::Refusal;

/// A dynamic entry gets more time, or less: the request sets its end.
pub(super) fn refresh(work: &mut Work<'_, '_>, request: &ModifyRequest<'_>) -> Result<(), ApplyError> {
    let judged = work.judged_entry()?;
    let target = work.find(request.object, judged)?;
    if !target.classes.flags.has(ClassFlags::DYNAMIC) {
        return Err(Refusal::NotDynamic { dn: shown(request.object) }.into());
    }
    modify::modify(work, request)
}
