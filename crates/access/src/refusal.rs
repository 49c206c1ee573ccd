//! What is refused because of who asks. Knows no request.

use ldap::ResultCode;

ldap::refusals! {
    /// See the module.
    pub enum Refusal {
        TooManyFilterParts { parts: usize, most: usize } = ResultCode::ADMIN_LIMIT_EXCEEDED,
            "The filter has {parts} parts, and you may send {most} (filter-part-limit): ask for less at a time, or let \
             the administrator raise the limit";
        NoPaging = ResultCode::ADMIN_LIMIT_EXCEEDED,
            "Paged results are not allowed to you: search without the control, for fewer entries";
        Changelog = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You do not have sufficient privileges to read cn=changelog (changelog-read)";
        Monitor = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You do not have sufficient privileges to read cn=monitor (monitor-read)";
        Configuration = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You do not have sufficient privileges to read cn=config (config-read)";
    }
}
