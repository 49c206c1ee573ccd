//! What updates are refused for because of who asks. Knows no request: names and texts were made ready for people
//! before.

use ldap::ResultCode;

ldap::refusals! {
    /// See the module.
    pub(crate) enum Refusal {
        MayNotWrite { attribute: String, dn: String } = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You do not have the right to make this change of {attribute} in \"{dn}\"";
        MayNotAdd { dn: String } = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You do not have the right to add \"{dn}\"";
        MayNotDelete { dn: String } = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You do not have the right to delete \"{dn}\"";
        MayNotDeleteBelow { dn: String } = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You do not have the right to delete everything below \"{dn}\": nothing was deleted";
        MayNotDeleteRest { dn: String } = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You do not have the right to delete an entry that came or changed below \"{dn}\" while the others went";
        MayNotRename { dn: String, attribute: String } = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You do not have the right to write {attribute}, which the new name of \"{dn}\" changes";
        MayNotMove { dn: String, superior: String } = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You do not have the rights to move \"{dn}\" below \"{superior}\" (export there, import here)";
        NameNotFree { dn: String, rdn: String } = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You do not have the right to give \"{dn}\" the name \"{rdn}\"";
        MayNotAssert { attribute: String } = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You do not have the right to search {attribute}, which the assertion control names";
        AssertionFailed = ResultCode::ASSERTION_FAILED,
            "The entry does not match the filter of the assertion control: nothing was changed";
        ResetPassword = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You do not have sufficient privileges to reset user passwords (password-reset)";
        NeedsPrivilege { attribute: String, privilege: String } = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You do not have sufficient privileges to write {attribute}: it takes {privilege}";
        WriteSubentry = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You do not have sufficient privileges to change subentries: it takes subentry-write";
        UnknownPrivilege { problem: String } = ResultCode::CONSTRAINT_VIOLATION, "{problem}";
        ChangedAgain { times: usize } = ResultCode::BUSY,
            "What this update is about changed {times} times while your rights were decided: send it again";
        OncePerTransaction { dn: String } = ResultCode::UNWILLING_TO_PERFORM,
            "Your rights to change \"{dn}\" depend on what it holds: in a transaction it can be changed once";
        ..Change(change::Refusal);
    }
}

impl From<query::error::Refusal> for Refusal {
    fn from(refusal: query::error::Refusal) -> Self {
        Self::Change(refusal.into())
    }
}
