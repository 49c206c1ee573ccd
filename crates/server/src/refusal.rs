//! What the server itself refuses, before or beside the directory.

use ldap::{ExtendedFault, ResultCode};

ldap::refusals! {
    /// See the module.
    pub(crate) enum Refusal {
        // Of a connection.
        TooManyOperations = ResultCode::BUSY, "Too many operations of this connection wait for their end";
        MessageIdInUse = ResultCode::PROTOCOL_ERROR,
            "The message id is that of an operation that is not answered yet";
        ProtocolVersion = ResultCode::PROTOCOL_ERROR, "This LDAP version is not supported here; use version 3";
        RequestTooLarge { bytes_max: usize } = ResultCode::PROTOCOL_ERROR,
            "The request is larger than max-request-size ({bytes_max} bytes)";
        NotLdap = ResultCode::PROTOCOL_ERROR, "The bytes are not an LDAP message";
        WeakConnection { bits: u32, minimum: u32 } = ResultCode::CONFIDENTIALITY_REQUIRED,
            "The connection has {bits} bits of encryption and {minimum} are required here \
            (minimum-security-strength-factor): use StartTLS or LDAPS";
        ClearPassword = ResultCode::CONFIDENTIALITY_REQUIRED,
            "Passwords are taken over encrypted connections only (require-secure-authentication): use StartTLS or \
            LDAPS";
        LockedDown = ResultCode::UNWILLING_TO_PERFORM,
            "The server is in lockdown mode: it serves only users with the privilege bypass-lockdown, from its own \
            machine";
        Defect = ResultCode::OTHER,
            "The operation failed by a defect of the server; the error log has the details";

        // Of cancel requests (RFC 3909 §3).
        NothingToCancel = ResultCode::NO_SUCH_OPERATION, "No such operation is under way";
        BindNotCancelled = ResultCode::CANNOT_CANCEL, "A bind cannot be cancelled";
        CancelledAlready = ResultCode::CANNOT_CANCEL, "The operation is being cancelled already";
        UpdateTooFar = ResultCode::TOO_LATE, "The update is already being written";
        Ended = ResultCode::TOO_LATE, "The operation has ended already";

        // Of StartTLS (RFC 4511 §4.14.2).
        TlsAlready = ResultCode::OPERATIONS_ERROR, "TLS is already established";
        TlsBesideOthers = ResultCode::OPERATIONS_ERROR, "Other operations are under way on the connection";
        NoStartTls = ResultCode::PROTOCOL_ERROR, "StartTLS is not available here";

        // Of other extended operations.
        UnknownExtended = ResultCode::PROTOCOL_ERROR, "The server does not know this extended operation";
        ExtendedValue { problem: String } = ResultCode::PROTOCOL_ERROR, "{problem}";
        CriticalControl { oid: String } = ResultCode::UNAVAILABLE_CRITICAL_EXTENSION,
            "The control {oid} is critical, and this operation does not take it";
        NotAdministrator { privilege: &'static str } = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "This takes the privilege {privilege}, which root users and the local administrator have";
        NotLocalAdministrator = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "Only the local administrator, over admin.sock, may set the clock by which accounts are judged";
        Configuration { problem: String } = ResultCode::UNWILLING_TO_PERFORM, "{problem}";
        ConfigurationHeld { pid: String, path: String } = ResultCode::BUSY,
            "Process {pid} is changing the configuration (it holds {path}): try again when it has ended";

        // Of full queues.
        AdministratorsWait = ResultCode::BUSY,
            "Too many requests of administrators are waiting, or the server is stopping";
        SearchesWait = ResultCode::BUSY,
            "Too many long searches wait for their turn: try again later, or with a filter that an index answers";
        BindsWait = ResultCode::BUSY, "Too many passwords are waiting to be checked; try again later";
        PasswordsWait = ResultCode::BUSY, "Too many passwords are waiting to be hashed; try again later";
    }
}

impl From<ExtendedFault> for Refusal {
    fn from(fault: ExtendedFault) -> Self {
        match fault {
            ExtendedFault::Unknown => Self::UnknownExtended,
            ExtendedFault::Value(_) | ExtendedFault::HasValue => Self::ExtendedValue { problem: fault.to_string() },
        }
    }
}
