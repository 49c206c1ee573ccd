//! What updates are refused for. Knows no entry: what a text names was made ready for people before.

use ldap::ResultCode;

ldap::refusals! {
    /// See the module.
    pub enum Refusal {
        // Who asks.
        NotAuthenticated { what: &'static str } = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "{what} needs authentication: bind first";
        NotAllowed { what: &'static str, user: String } = ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
            "{what} is not allowed to \"{user}\": only the server and its root users do that";

        NotJudged { user: String } = ResultCode::OTHER,
            "Nobody decided whether \"{user}\" may do this, so nothing was changed: please report this";
        JudgedElse = ResultCode::BUSY,
            "What this update is about changed while it was decided whether you may do it: send it again";

        // The proposal itself.
        MalformedRequest { problem: String } = ResultCode::PROTOCOL_ERROR, "{problem}";
        MalformedAssertion { problem: String } = ResultCode::PROTOCOL_ERROR,
            "The assertion control is malformed: {problem}";
        MalformedReadEntry { problem: String } = ResultCode::PROTOCOL_ERROR,
            "A read entry control is malformed: {problem}";
        UnreadableProposal { problem: String } = ResultCode::OTHER, "{problem}";
        DamagedProposal { of: &'static str } = ResultCode::OTHER, "The proposal of {of} is damaged";
        WrongKind = ResultCode::OTHER, "The proposal names another operation than it holds";
        UnreadableReport = ResultCode::OTHER, "The backend's answer is not readable";
        Slip { problem: &'static str } = ResultCode::OTHER,
            "By a fault of its own ({problem}) the server could not do this, and changed nothing: please report it";
        LostChange = ResultCode::OTHER, "The server lost track of a change";
        UnreadablePlugins { problem: String } = ResultCode::OTHER, "The plugins are not readable: {problem}";
        TooManySlices { most: usize } = ResultCode::ADMIN_LIMIT_EXCEEDED,
            "A transaction deletes at most {most} entries with their subtrees";
        NoOp = ResultCode::NO_OPERATION,
            "The no-op control was given: the request would have succeeded, and nothing was changed";
        AssertionFailed = ResultCode::ASSERTION_FAILED,
            "The entry does not match the filter of the assertion control: nothing was changed";

        // Names.
        RootDse = ResultCode::UNWILLING_TO_PERFORM, "The root DSE is there already and cannot be added";
        EntryExists { dn: String } = ResultCode::ENTRY_ALREADY_EXISTS, "The entry \"{dn}\" exists already";
        NoParent { dn: String, matched: String } = ResultCode::NO_SUCH_OBJECT,
            "There is no entry \"{dn}\": the deepest existing entry on the way is \"{matched}\"; add its parent first",
            matched_dn: matched;
        NoSuffixEntry = ResultCode::NO_SUCH_OBJECT, "The entry of the suffix does not exist yet: add it first";
        BelowAlias { dn: String } = ResultCode::ALIAS_PROBLEM,
            "\"{dn}\" cannot be added: its parent is an alias, which has no children";
        AliasAsSuperior { dn: String } = ResultCode::ALIAS_PROBLEM,
            "The new superior \"{dn}\" is an alias, which has no children";
        HasSomeChildren { dn: String } = ResultCode::NOT_ALLOWED_ON_NON_LEAF,
            "\"{dn}\" has entries below it: delete these first, or send the subtree delete control \
             (1.2.840.113556.1.4.805)";
        HasChildren { dn: String, count: u64 } = ResultCode::NOT_ALLOWED_ON_NON_LEAF,
            "\"{dn}\" has {count} entries right below it: delete these first, or send the subtree delete control \
             (1.2.840.113556.1.4.805)";
        SuffixRenamed { dn: String } = ResultCode::UNWILLING_TO_PERFORM,
            "\"{dn}\" is a suffix of the server, which cannot be renamed";
        HeldElsewhere { base: String } = ResultCode::AFFECTS_MULTIPLE_DSAS,
            "\"{base}\" is a base DN of its own, which holds this name: repeat the request";
        NameOfBaseDn { base: String } = ResultCode::AFFECTS_MULTIPLE_DSAS,
            "\"{base}\" is a base DN of its own: no entry can be renamed to it";
        NewNameAboveBaseDn { base: String } = ResultCode::AFFECTS_MULTIPLE_DSAS,
            "\"{base}\" is a base DN of its own, which would lie below the renamed entry: choose another name";
        AboveBaseDn { base: String } = ResultCode::AFFECTS_MULTIPLE_DSAS,
            "\"{base}\" is a base DN of its own, which lies below the entry and does not follow it: the entry keeps \
             its name";
        BelowItself { dn: String } = ResultCode::UNWILLING_TO_PERFORM, "\"{dn}\" cannot move below itself";
        NotOneRdn { rdn: String } = ResultCode::INVALID_DN_SYNTAX,
            "\"{rdn}\" is not a distinguished name: a new RDN is exactly one RDN";
        Referral { dn: String, urls: Vec<String> } = ResultCode::REFERRAL,
            "\"{dn}\" is a referral: ask the servers given, or send the ManageDsaIT control to change it",
            matched_dn: dn, referrals: urls;
        NamingWithoutEquality { attribute: String } = ResultCode::NAMING_VIOLATION,
            "{attribute} cannot name entries: it has no equality matching rule";
        NamedTwice { rdn: String, attribute: String } = ResultCode::NAMING_VIOLATION,
            "The RDN \"{rdn}\" has two values of {attribute}: one is allowed";
        PartOfName { value: String, attribute: String } = ResultCode::NOT_ALLOWED_ON_RDN,
            "The value \"{value}\" of {attribute} is part of the entry's name: use modify DN to change it";

        // Attributes and values.
        BadDescription { problem: String } = ResultCode::UNDEFINED_ATTRIBUTE_TYPE, "{problem}";
        UndefinedAttribute { attribute: String } = ResultCode::UNDEFINED_ATTRIBUTE_TYPE,
            "The schema has no attribute type \"{attribute}\": define it or correct the name";
        ServerMaintained { attribute: String } = ResultCode::CONSTRAINT_VIOLATION,
            "The attribute {attribute} is maintained by the server and cannot be written";
        NothingToAdd { attribute: String } = ResultCode::PROTOCOL_ERROR,
            "There is no value to add to {attribute}: give at least one";
        ValueExists { attribute: String, value: String } = ResultCode::ATTRIBUTE_OR_VALUE_EXISTS,
            "The attribute {attribute} has the value \"{value}\" already, or it is given twice";
        SecretExists { attribute: String } = ResultCode::ATTRIBUTE_OR_VALUE_EXISTS,
            "The attribute {attribute} has this value already, or it is given twice";
        NoAttribute { attribute: String } = ResultCode::NO_SUCH_ATTRIBUTE,
            "The entry has no attribute {attribute} to delete";
        NoValue { attribute: String, value: String } = ResultCode::NO_SUCH_ATTRIBUTE,
            "The attribute {attribute} has no value \"{value}\" to delete";
        NoSecret { attribute: String } = ResultCode::NO_SUCH_ATTRIBUTE,
            "The attribute {attribute} has no such value to delete";
        NotOneIncrement { attribute: String } = ResultCode::PROTOCOL_ERROR,
            "An increment of {attribute} needs exactly one value: the number to add";
        NotIncrementable { attribute: String } = ResultCode::CONSTRAINT_VIOLATION,
            "The attribute {attribute} has no integers as values, so it cannot be incremented";
        NotAnInteger { attribute: String, value: String } = ResultCode::CONSTRAINT_VIOLATION,
            "\"{value}\" is not an integer that {attribute} can be incremented by or from";
        NothingToIncrement { attribute: String } = ResultCode::NO_SUCH_ATTRIBUTE,
            "The entry has no attribute {attribute} to increment";
        TooManyToIncrement { attribute: String } = ResultCode::ADMIN_LIMIT_EXCEEDED,
            "The attribute {attribute} has too many values to be incremented";
        FromClassOfService { attribute: String } = ResultCode::UNWILLING_TO_PERFORM,
            "The attribute {attribute} of this entry comes from a class of service that overrides it, so it cannot be \
             written: change the template, or the definition";

        // What the entry becomes.
        SchemaViolation { code: ResultCode, problem: String } = *code, "{problem}";
        CollectiveAttribute { attribute: String } = ResultCode::OBJECT_CLASS_VIOLATION,
            "The attribute {attribute} is collective: write it to a collectiveAttributeSubentry above the entries that \
             shall have it";
        RoleFilter { value: String, problem: String } = ResultCode::INVALID_ATTRIBUTE_SYNTAX,
            "\"{value}\" cannot be an nsRoleFilter: it is not a filter, {problem}";
        BadInstruction { value: String, problem: String } = ResultCode::INVALID_ATTRIBUTE_SYNTAX,
            "\"{value}\" is not a valid access control instruction: {problem}";
        InstructionElsewhere { problem: String } = ResultCode::INVALID_ATTRIBUTE_SYNTAX, "{problem}";
        Definition { problem: String } = ResultCode::CONSTRAINT_VIOLATION,
            "The entry cannot give attributes to others: it {problem}";
        PasswordPolicy { problem: String } = ResultCode::CONSTRAINT_VIOLATION, "The password policy {problem}";
        StructuralClassChange { old: String, new: String } = ResultCode::OBJECT_CLASS_MODS_PROHIBITED,
            "The structural object class cannot change from {old} to {new}: delete the entry and add it again";
        BadSchema { problem: String } = ResultCode::CONSTRAINT_VIOLATION, "{problem}";
        SchemaInUse { name: String, dn: String } = ResultCode::UNWILLING_TO_PERFORM,
            "{name} is in use, for example by \"{dn}\": it cannot be deleted, nor can its syntax or rules change";

        // Plugins.
        BadReference { plugin: String, value: String, attribute: String, problem: &'static str } =
            ResultCode::CONSTRAINT_VIOLATION,
            "The plugin \"{plugin}\" refuses the value \"{value}\" of {attribute}: {problem}";
        NotUnique { plugin: String, attribute: String, value: String } = ResultCode::CONSTRAINT_VIOLATION,
            "The plugin \"{plugin}\" wants {attribute} {value} to be unique: another entry has it already";
        NotUniqueBeside { plugin: String, attribute: String, value: String, dn: String } =
            ResultCode::CONSTRAINT_VIOLATION,
            "The plugin \"{plugin}\" wants {attribute} {value} to be unique: \"{dn}\" has it already";
        SetGivesNothing { plugin: String, attribute: String, set: String } = ResultCode::CONSTRAINT_VIOLATION,
            "By the plugin \"{plugin}\", {attribute} may not be so: the set {set} gives nothing for the entry";
        SetGivesSomething { plugin: String, attribute: String, set: String } = ResultCode::CONSTRAINT_VIOLATION,
            "By the plugin \"{plugin}\", {attribute} may not be so: the set {set} gives something for the entry";
        SetTooCostly { what: String } = ResultCode::ADMIN_LIMIT_EXCEEDED,
            "A set expression of a constraint {what}: nothing was changed; make the expression narrower";
        TooManyValues { plugin: String, attribute: String, most: u64, count: u64 } = ResultCode::CONSTRAINT_VIOLATION,
            "By the plugin \"{plugin}\", {attribute} may have {most} values at most, not {count}";
        ForbiddenValue { plugin: String, attribute: String, value: String, problem: String } =
            ResultCode::CONSTRAINT_VIOLATION,
            "By the plugin \"{plugin}\", {attribute} may not have {value}: {problem}";

        // Dynamic entries (RFC 2589).
        NotDynamic { dn: String } = ResultCode::OBJECT_CLASS_VIOLATION,
            "\"{dn}\" is not of the class dynamicObject: only dynamic entries can be refreshed";
        DynamicElsewhere { plugin: String } = ResultCode::UNWILLING_TO_PERFORM,
            "The plugin \"{plugin}\" takes dynamic entries elsewhere: see dynamicSubtrees in the root DSE, or its \
             base-dn";
        TooManyDynamic { plugin: String, most: u64 } = ResultCode::UNWILLING_TO_PERFORM,
            "The plugin \"{plugin}\" allows {most} dynamic entries, and so many there are: wait until one's time is \
             over, or \
             raise max-dynamic-objects";
        DynamicAliasOrReferral = ResultCode::OBJECT_CLASS_VIOLATION,
            "Aliases and referrals live for ever: they cannot be of the class dynamicObject";
        StaysDynamic = ResultCode::OBJECT_CLASS_VIOLATION,
            "A dynamic entry stays one: the class dynamicObject cannot be taken away";
        StaysStatic = ResultCode::OBJECT_CLASS_VIOLATION,
            "An entry that is there does not become dynamic: add it anew with the class dynamicObject";
        StaticBelowDynamic { dn: String } = ResultCode::CONSTRAINT_VIOLATION,
            "\"{dn}\" cannot stand below a dynamic entry: it is not of the class dynamicObject";
        ..Query(query::error::Refusal);
    }
}
