//! What binds, compares, updates and the controls of all requests are refused for. Knows no request.

use ldap::ResultCode;
use query::error::shown;

ldap::refusals! {
    /// See the module.
    pub(crate) enum Refusal {
        // Controls.
        CriticalControl { oid: String } = ResultCode::UNAVAILABLE_CRITICAL_EXTENSION,
            "The control {oid} is critical, and this operation does not take it";
        ControlNotAllowed { oid: String } = ResultCode::UNAVAILABLE_CRITICAL_EXTENSION,
            "You have no right to use the control {oid} here, and it is critical";
        ExtendedControlNotAllowed { oid: String } = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You have no right to use the control {oid} here, and it is critical";
        ExtendedNotAllowed { oid: String } = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You have no right to use the extended operation {oid}";
        NotProxied = ResultCode::AUTHORIZATION_DENIED,
            "You may not act as this identity: it takes the privilege proxied-auth, the right proxy to its entry, and \
            an account in use";
        ProxiedNotCritical = ResultCode::PROTOCOL_ERROR, "A proxied authorization control must be critical";
        TwoProxiedAuthorizations = ResultCode::PROTOCOL_ERROR,
            "A request has one proxied authorization control at most";
        PagesAndListView = ResultCode::CONSTRAINT_VIOLATION,
            "The paged results control and the virtual list view control exclude each other";
        RealAndVirtualOnly = ResultCode::CONSTRAINT_VIOLATION,
            "The real attributes only control and the virtual attributes only control exclude each other";
        PersistentInParts = ResultCode::PROTOCOL_ERROR,
            "A persistent search tells changes as they come: it has no pages, no order and no list view";
        RelaxedByUser = ResultCode::INSUFFICIENT_ACCESS_RIGHTS, "The relax rules control is for root users";
        PolicyControlValue = ResultCode::PROTOCOL_ERROR, "The password policy control of a request has no value";
        UsabilityControlValue = ResultCode::PROTOCOL_ERROR, "The account usability control of a request has no value";
        NoTransactionIdentifier = ResultCode::PROTOCOL_ERROR, "The transaction control has no identifier";
        GuessesWait = ResultCode::BUSY, "Too many binds of this account wait: try again later";
        PasswordServerUnavailable = ResultCode::UNAVAILABLE,
            "The server that checks this password cannot be asked now; try again later";
        StateNotWritten = ResultCode::UNWILLING_TO_PERFORM, "The state of the account cannot be written now";
        MustChangePassword = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You must change your password before anything else is done for you on this connection";
        AssertionFailed = ResultCode::ASSERTION_FAILED, "The entry does not match the filter of the assertion control";

        AssertionNotAllowed = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You may not search by all attributes in the filter of the assertion control";

        // Binds.
        ProtocolVersion { version: i64 } = ResultCode::PROTOCOL_ERROR, "LDAP version {version} is not spoken here: \
            use 3";
        SaslMechanism { mechanism: String } = ResultCode::AUTH_METHOD_NOT_SUPPORTED,
            "The SASL mechanism {mechanism} is not offered here: supportedSASLMechanisms of the root DSE has those \
            that are";
        AuthenticationChoice { tag: u32 } = ResultCode::AUTH_METHOD_NOT_SUPPORTED,
            "The authentication choice {tag:#04x} is not offered here: use a simple bind or a SASL mechanism";
        SaslAborted = ResultCode::AUTH_METHOD_NOT_SUPPORTED, "The SASL bind is aborted: it names no mechanism";
        SaslNeedsEncryption { mechanism: String } = ResultCode::CONFIDENTIALITY_REQUIRED,
            "The SASL mechanism {mechanism} is offered over TLS and local sockets only: use ldaps or StartTLS";
        NameWithoutPassword = ResultCode::UNWILLING_TO_PERFORM, "A bind with a name needs a password";

        // Compares.
        NoAttribute { attribute: String } = ResultCode::NO_SUCH_ATTRIBUTE, "The entry has no attribute {attribute}";
        NotComparable { attribute: String } = ResultCode::INVALID_ATTRIBUTE_SYNTAX,
            "The value is not one that {attribute} can be compared with";
        UnknownType { attribute: String } = ResultCode::UNDEFINED_ATTRIBUTE_TYPE,
            "The schema has no attribute type {attribute}";
        NotComparedByYou { attribute: String } = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You may not compare values of {attribute}";
        AccessChanges = ResultCode::BUSY,
            "The access control instructions changed each time that the entry was looked at: try again";
        NoEquality { attribute: String } = ResultCode::INAPPROPRIATE_MATCHING,
            "The attribute type {attribute} has no equality matching rule";

        // All updates.
        NoPasswordPolicy { value: String } = ResultCode::CONSTRAINT_VIOLATION,
            "\"{value}\" is no password policy: ds-pwp-password-policy-dn has the name of one of the configuration \
            (cn=NAME,cn=Password Policies,cn=config) or of an entry of the class pwdPolicy";
        NoPasswordValidator { value: String } = ResultCode::CONSTRAINT_VIOLATION,
            "\"{value}\" is no password validator: ds-cfg-password-validator has the name of one of the configuration \
            (cn=NAME,cn=Password Validators,cn=config)";
        UpdatesOff = ResultCode::UNWILLING_TO_PERFORM,
            "Updates are switched off (writability-mode in pando.toml)";
        MadeRequest { problem: String } = ResultCode::PROTOCOL_ERROR, "The request is malformed: {problem}";
        BackendOut = ResultCode::UNAVAILABLE, "The backend is not in service";
        NoRandomBytes = ResultCode::UNAVAILABLE,
            "The operating system gave no random bytes for an entryUUID";
        OtherBackend { dn: String } = ResultCode::AFFECTS_MULTIPLE_DSAS,
            "\"{dn}\" is in another backend: entries move within one only";
        NotAscii { plugin: String, attribute: String } = ResultCode::CONSTRAINT_VIOLATION,
            "By the plugin \"{plugin}\", {attribute} may have ASCII characters only";

        // Entries that lie in no backend.
        OwnEntries { title: String } = ResultCode::UNWILLING_TO_PERFORM, "{title} cannot be changed this way";

        // The configuration.
        ConfigurationByUser = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You do not have sufficient privileges to change cn=config (config-write)";
        ConfigurationRight { dn: String } = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You do not have the right to change {dn} in this way";
        ConfigurationInTransaction = ResultCode::UNWILLING_TO_PERFORM,
            "The configuration is changed outside of transactions";
        ConfigurationControl { oid: String } = ResultCode::UNAVAILABLE_CRITICAL_EXTENSION,
            "Changes of cn=config do not take the control {oid}";
        NoConfigurationName { dn: String } = ResultCode::NAMING_VIOLATION,
            "\"{dn}\" is no name that an object of the configuration can have: \
            docs/changing-the-configuration.md has those";
        ConfigurationBranch { dn: String } = ResultCode::UNWILLING_TO_PERFORM,
            "\"{dn}\" only holds other entries, and stays as it is";
        ConfigurationStays { dn: String } = ResultCode::UNWILLING_TO_PERFORM,
            "There is always exactly one \"{dn}\": delete attributes of it, and their defaults hold";
        ConfigurationNonLeaf { dn: String } = ResultCode::NOT_ALLOWED_ON_NON_LEAF,
            "\"{dn}\" has objects below it: delete these first, or send the subtree delete control";
        ConfigurationNameStays { dn: String } = ResultCode::UNWILLING_TO_PERFORM,
            "\"{dn}\" keeps its name, which its data depends on";
        ConfigurationMoves { dn: String } = ResultCode::UNWILLING_TO_PERFORM,
            "\"{dn}\" stays where it is: only its own name can be another one";
        ConfigurationExists { dn: String } = ResultCode::ENTRY_ALREADY_EXISTS, "There is \"{dn}\" already";
        ConfigurationKind { dn: String, classes: String } = ResultCode::OBJECT_CLASS_VIOLATION,
            "The attribute objectClass has to say which kind of object \"{dn}\" is: one of {classes}";
        ConfigurationClass { class: String, classes: String } = ResultCode::OBJECT_CLASS_VIOLATION,
            "The object does not have the class {class}; its classes are {classes}";
        ConfigurationKindStays = ResultCode::UNWILLING_TO_PERFORM,
            "An object stays of its kind: delete it, and add one of the other kind";
        ConfigurationNaming { attribute: String } = ResultCode::NAMING_VIOLATION,
            "The object is named by one value of {attribute}, which its entry has, too";
        ConfigurationRdn { attribute: String } = ResultCode::NOT_ALLOWED_ON_RDN,
            "{attribute} names the object: rename the entry instead";
        ConfigurationNeeds { attribute: String, allowed: String } = ResultCode::OBJECT_CLASS_VIOLATION,
            "{attribute} has to be set; it must be {allowed}";
        ConfigurationUnknown { attribute: String, hint: String } = ResultCode::UNDEFINED_ATTRIBUTE_TYPE,
            "There is no attribute type {attribute}: {hint}";
        ConfigurationForeign { attribute: String, hint: String } = ResultCode::OBJECT_CLASS_VIOLATION,
            "The object does not have {attribute}: {hint}";
        ConfigurationSecret { attribute: String } = ResultCode::UNWILLING_TO_PERFORM,
            "Values of {attribute} are never shown, so they are only replaced";
        ConfigurationValueThere { attribute: String, value: String } = ResultCode::ATTRIBUTE_OR_VALUE_EXISTS,
            "{attribute} has the value \"{value}\" already";
        ConfigurationNoValue { attribute: String, value: String } = ResultCode::NO_SUCH_ATTRIBUTE,
            "{attribute} has no value \"{value}\"";
        ConfigurationNoNumber { attribute: String } = ResultCode::CONSTRAINT_VIOLATION,
            "{attribute} is not a number that could be incremented";
        ConfigurationNotUtf8 { attribute: String } = ResultCode::INVALID_ATTRIBUTE_SYNTAX,
            "A value of {attribute} is not UTF-8";
        ConfigurationValue { problem: String } = ResultCode::CONSTRAINT_VIOLATION, "{problem}";
        ConfigurationRefused { problem: String } = ResultCode::UNWILLING_TO_PERFORM, "{problem}";
        ConfigurationBusy { problem: String } = ResultCode::BUSY, "{problem}";
        ConfigurationNotWritten { problem: String } = ResultCode::OTHER,
            "The configuration cannot be written, and nothing was changed: {problem}";
        NoConfigurationKeeper = ResultCode::UNWILLING_TO_PERFORM,
            "The configuration can be changed here when the server is ready";

        // The schema.
        SchemaByUser = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You do not have sufficient privileges to change the schema: it takes update-schema";
        SchemaAttribute { attribute: String } = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You do not have the right to change {attribute} of the schema";
        SchemaOtherwise = ResultCode::UNWILLING_TO_PERFORM,
            "The schema cannot be changed this way: only modify requests of cn=schema can";
        NoDefinition { attribute: String } = ResultCode::CONSTRAINT_VIOLATION,
            "Only definitions can be changed in cn=schema, not {attribute}";
        SchemaAsAWhole { attribute: String } = ResultCode::UNWILLING_TO_PERFORM,
            "Add or delete single values of {attribute}: the schema is not replaced as a whole";
        DefinitionNotUtf8 { attribute: String } = ResultCode::INVALID_ATTRIBUTE_SYNTAX,
            "A value of {attribute} is not UTF-8";
        SchemaInTransaction = ResultCode::UNWILLING_TO_PERFORM, "The schema is changed outside of transactions";
        Schema { code: ResultCode, problem: String } = *code, "{problem}";
        SchemaFile { name: String, error: String } = ResultCode::UNWILLING_TO_PERFORM,
            "The schema file {name} cannot be written ({error}): nothing was changed";

        // Tasks.
        TaskPrivilege { privilege: &'static str } = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You do not have sufficient privileges for this task: it takes {privilege}";
        TasksByUser = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You do not have sufficient privileges to see the tasks: it takes config-read, or a privilege that a task \
            takes";
        TaskRight = ResultCode::INSUFFICIENT_ACCESS_RIGHTS, "You do not have the right to do this with the task";
        TaskControls = ResultCode::UNAVAILABLE_CRITICAL_EXTENSION,
            "Tasks are not part of transactions, and are scheduled without controls: leave them out";
        TaskPlace = ResultCode::NO_SUCH_OBJECT,
            "Tasks are ds-task-id=ID,cn=Scheduled Tasks,cn=tasks and ds-recurring-task-id=ID,cn=Recurring \
            Tasks,cn=tasks";
        TaskName = ResultCode::NAMING_VIOLATION,
            "The id of a task is text of 1 to 128 bytes, the same in its name and in its attributes";
        TaskOtherwise = ResultCode::UNWILLING_TO_PERFORM,
            "Of a task, ds-task-state can be set to CANCELED_BEFORE_STARTING or STOPPED_BY_ADMINISTRATOR, which \
            cancels it, and ds-task-scheduled-start-time can be replaced: delete it and add another one";
        TaskValue { attribute: String } = ResultCode::INVALID_ATTRIBUTE_SYNTAX, "A value of {attribute} is not UTF-8";
        TaskOfServer { attribute: String } = ResultCode::CONSTRAINT_VIOLATION,
            "{attribute} is written by the server: leave it out";
        TaskStart { value: String } = ResultCode::INVALID_ATTRIBUTE_SYNTAX,
            "\"{value}\" is no time: write YYYYMMDDhhmmss, with Z at its end for UTC, or 0 for now";
        TaskAction { value: String } = ResultCode::CONSTRAINT_VIOLATION,
            "\"{value}\" cannot be ds-task-failed-dependency-action: write process, cancel or disable";
        NoTask { id: String } = ResultCode::NO_SUCH_OBJECT, "There is no task \"{id}\"";
        Task { code: ResultCode, problem: String } = *code, "{problem}";

        // Passwords.
        RootPassword = ResultCode::UNWILLING_TO_PERFORM,
            "The passwords of root users are in pando.toml: change them there";
        AnonymousPassword = ResultCode::UNWILLING_TO_PERFORM,
            "Nobody is authenticated: say whose password to change, or bind first";
        AnonymousWithoutOld = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "Who is not authenticated changes a password with the old one: send it, or bind first";
        UserPasswordsOff = ResultCode::UNWILLING_TO_PERFORM,
            "Users may not change their passwords (allow-user-password-changes is off)";
        NoSuchUser { user: String } = ResultCode::NO_SUCH_OBJECT, "There is no user \"{user}\"";
        TooManyWrongPasswords { seconds: u64 } = ResultCode::BUSY,
            "Too many wrong passwords came from your address or for this name: try again in {seconds} s";
        WrongOldPassword = ResultCode::INVALID_CREDENTIALS, "The old password is wrong";
        AccountOff = ResultCode::UNWILLING_TO_PERFORM,
            "The account is disabled or not in use at this time: enable it first";
        AccountLocked = ResultCode::UNWILLING_TO_PERFORM,
            "The account is locked: wait, or have an administrator reset the password";
        PasswordExpired = ResultCode::UNWILLING_TO_PERFORM,
            "The password has expired (allow-expired-password-changes is off): have an administrator reset it";
        InsecureOld = ResultCode::CONFIDENTIALITY_REQUIRED,
            "Passwords are sent over encrypted connections only (require-secure-authentication): use TLS";
        InsecureChange = ResultCode::CONFIDENTIALITY_REQUIRED,
            "Passwords are changed over encrypted connections only (require-secure-password-changes): use TLS";
        PasswordTooYoung { seconds: u64 } = ResultCode::UNWILLING_TO_PERFORM,
            "The password was changed a short time ago (min-password-age): change it again in {seconds} seconds";
        PasswordElsewhere = ResultCode::UNWILLING_TO_PERFORM,
            "The password of this account is kept by another server: change it there";
        OldPasswordNeeded = ResultCode::UNWILLING_TO_PERFORM,
            "The old password is needed to change it (password-change-requires-current-password): send it, too, or \
            delete it in the same request";
        PasswordRules { problem: String } = ResultCode::CONSTRAINT_VIOLATION, "{problem}";
        UsedBefore = ResultCode::CONSTRAINT_VIOLATION,
            "The password was used before: choose one that is new";
        NoSuchPassword = ResultCode::NO_SUCH_ATTRIBUTE,
            "The value of userPassword that is to be deleted is not there: give the present password";
        SamePassword = ResultCode::ATTRIBUTE_OR_VALUE_EXISTS, "The entry has this password already: choose another one";
        SeveralPasswords = ResultCode::CONSTRAINT_VIOLATION,
            "An entry has one password (allow-multiple-password-values is off): replace it";
        PasswordOptions { attribute: String } = ResultCode::CONSTRAINT_VIOLATION,
            "Passwords have no options: write userPassword, not {attribute}";
        PasswordIncrement = ResultCode::CONSTRAINT_VIOLATION, "A password is no number: replace it";
        EmptyPassword = ResultCode::UNWILLING_TO_PERFORM, "The new password must not be empty";
        EncodedPassword = ResultCode::CONSTRAINT_VIOLATION,
            "A password must be sent in clear; the server hashes it (allow-pre-encoded-passwords is off)";
        NoPasswordMade { problem: String } = ResultCode::UNAVAILABLE, "The server can make no password now: {problem}";
        PasswordNotStored { problem: String } = ResultCode::CONSTRAINT_VIOLATION,
            "This password cannot be stored: {problem}";

        // The state of accounts.
        AccountStateByUser = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You may not see or change the state of accounts: it takes the privilege password-reset";
        RootAccountState = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "The accounts of root users are part of the configuration: to see their state takes the privilege \
            config-read as well, to change it config-write";
        // One-time codes.
        SecondFactorOfOther = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "You may not manage the one-time codes of others: it takes the privilege password-reset";
        SecondFactorNotFresh = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "Your own one-time codes are changed on a connection that was bound with your password (simple bind or \
             PLAIN) less than five minutes ago: bind again";
        RootSecondFactor = ResultCode::UNWILLING_TO_PERFORM,
            "The accounts of root users have no entry, and no one-time codes";
        BadToken { problem: String } = ResultCode::CONSTRAINT_VIOLATION,
            "The token is not valid: {problem}";
        OtherDigits { digits: u64 } = ResultCode::CONSTRAINT_VIOLATION,
            "The account has tokens whose codes have {digits} digits: all its tokens must have as many";
        TokenInUse { name: String } = ResultCode::ATTRIBUTE_OR_VALUE_EXISTS,
            "The account has a token \"{name}\" that is in use: remove it first, or choose another name";
        TooManyTokens = ResultCode::UNWILLING_TO_PERFORM,
            "The account has eight tokens, and that is the most: remove one first";
        SecretLength = ResultCode::CONSTRAINT_VIOLATION,
            "A secret has 16 to 64 bytes: leave it out, and the server makes one";
        NoSuchToken { name: String } = ResultCode::NO_SUCH_ATTRIBUTE,
            "The account has no token \"{name}\"";
        WrongCode { name: String } = ResultCode::CONSTRAINT_VIOLATION,
            "That is no code that the token \"{name}\" shows now, or it was shown before: wait for the next one";
        NotSealed { problem: String } = ResultCode::OTHER,
            "The secret cannot be kept: {problem}";
        UnknownStateOperation { number: i64 } = ResultCode::CONSTRAINT_VIOLATION,
            "There is no operation {number} on the state of an account: send one from 0 to 40";
        StateBoolean { number: i64 } = ResultCode::CONSTRAINT_VIOLATION,
            "Operation {number} on the state of an account takes one value, true or false";
        StateTime { number: i64, value: String } = ResultCode::CONSTRAINT_VIOLATION,
            "Operation {number} on the state of an account takes a time since 1970 such as 20261122094913.380Z, not \
            \"{value}\"";
        StateValues { number: i64 } = ResultCode::CONSTRAINT_VIOLATION,
            "Operation {number} on the state of an account has more values than it takes: send one, or none";

        // Dynamic entries.
        NotDynamic { remedy: &'static str } = ResultCode::PROTOCOL_ERROR,
            "Entries are not dynamic in this server: {remedy}";
        DynamicClass { remedy: &'static str } = ResultCode::OBJECT_CLASS_VIOLATION,
            "The class dynamicObject is not supported: {remedy}, or leave the class out";
        NoLifetime { most: u64 } = ResultCode::PROTOCOL_ERROR, "A time to live is 1 to {most} seconds";
        LifetimeTooLong { most: u64, asked: u64 } = ResultCode::SIZE_LIMIT_EXCEEDED,
            "An entry may live for {most} seconds at most (max-ttl), not {asked}";

        // Transactions.
        OpenTransaction = ResultCode::UNWILLING_TO_PERFORM,
            "The connection has an open transaction: end it first (transactions do not nest)";
        NoTransaction { identifier: String } = ResultCode::UNWILLING_TO_PERFORM,
            "There is no open transaction \"{identifier}\" on this connection";
        SameMessageId = ResultCode::PROTOCOL_ERROR, "Another update of the transaction has the same message id";
        PasswordInTransaction = ResultCode::UNWILLING_TO_PERFORM,
            "In a transaction the server makes no passwords: send the new one";
        TransactionAcrossBackends = ResultCode::AFFECTS_MULTIPLE_DSAS,
            "The transaction's other updates are in another backend: a transaction is within one";
        TransactionTooLarge { updates: usize, mib: usize } = ResultCode::ADMIN_LIMIT_EXCEEDED,
            "A transaction has at most {updates} updates and {mib} MiB";
    }
}

impl Refusal {
    /// A critical control that an operation does not take (RFC 4511 §4.1.11).
    pub(crate) fn critical_control(oid: &[u8]) -> Self {
        Self::CriticalControl { oid: shown(oid) }
    }

    /// No transaction of that identifier.
    pub(crate) fn no_transaction(identifier: &[u8]) -> Self {
        Self::NoTransaction { identifier: shown(identifier) }
    }
}
