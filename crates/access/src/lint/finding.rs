//! What can be said against an instruction.

use std::ops::Range;

use aci::{Right, Rights};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It does no harm, and may be a mistake.
    Note,
    /// It may allow more, or less, than was meant.
    Warning,
    /// It does not do what it says.
    Error,
}

impl Severity {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// Something that can be said against an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Position among the instructions that were looked at.
    pub instruction: usize,
    /// The part of its text that it is about; all of it, if none.
    pub span: Option<Range<usize>>,
    /// What.
    pub issue: Issue,
}

/// What can be said against an instruction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Issue {
    /// It cannot be read.
    #[error("it is not valid, so it denies everything in its scope: {0}")]
    Invalid(String),
    /// The target lies outside the holder.
    #[error("the target is not at or below the entry that holds it, so it never matches")]
    ForeignTarget,
    /// Everybody may change something.
    #[error("everybody, anonymous clients included, gets {}", listed(*.0))]
    AnyoneMayWrite(Rights),
    /// Everybody gets at passwords.
    #[error(
        "everybody, anonymous clients included, gets {} on passwords ({attribute}); list attributes without them",
        listed(*.rights)
    )]
    AnyoneSeesSecrets {
        /// The rights.
        rights: Rights,
        /// A secret attribute.
        attribute: String,
    },
    /// A user other than the owner gets at passwords.
    #[error("users other than the owner get {} on passwords ({attribute})", listed(*.rights))]
    UsersSeeSecrets {
        /// The rights.
        rights: Rights,
        /// A secret attribute.
        attribute: String,
    },
    /// Some clients get at passwords that are not their own.
    #[error(
        "clients for whom the rule is true get {} on passwords of others ({attribute}); if that is not meant, list \
         attributes without them",
        listed(*.rights)
    )]
    OthersSeeSecrets {
        /// The rights.
        rights: Rights,
        /// A secret attribute.
        attribute: String,
    },
    /// The rule is true of anonymous clients only because something is negated.
    #[error("the negation is true of anonymous clients, too; add: and userdn=\"ldap:///all\"")]
    NegationAdmitsAnonymous,
    /// `and` beside `or`.
    #[error("\"and\" and \"or\" are mixed without parentheses; they are read from the right: a and (b or c)")]
    MixedOperators,
    /// Another remark of the parser.
    #[error("{0}")]
    Remarked(aci::Remark),
    /// `targetattr!=`
    #[error("it grants all attributes but those listed: also every attribute that the schema gets later")]
    AllButListed,
    /// No such attribute.
    #[error("the schema has no attribute {0}")]
    UnknownAttribute(String),
    /// No such entry.
    #[error("there is no entry \"{name}\", so {effect}")]
    Missing {
        /// The name.
        name: String,
        /// What comes of it.
        effect: String,
    },
    /// A name that no backend would hold.
    #[error("no backend of this server holds \"{name}\", so {effect}")]
    HeldNowhere {
        /// The name.
        name: String,
        /// What comes of it.
        effect: String,
    },
    /// A `groupdn` that names something else.
    #[error("\"{name}\" is not a group, so {effect}")]
    NoGroup {
        /// The name.
        name: String,
        /// What comes of it.
        effect: String,
    },
    /// A condition that nothing makes true, or two that contradict each other.
    #[error("this is never true")]
    NeverTrue,
    /// A condition that restricts nothing.
    #[error("this condition is always true")]
    AlwaysTrue,
    /// A deny of `read` that hides values badly.
    #[error("it denies read and leaves search: values can be found out by filters; deny search, too")]
    DenyLeavesSearch,
    /// A deny of `read` that is about entries.
    #[error("without targetattr, a deny of read hides whole entries; with targetattr it hides attributes")]
    HidesEntries,
    /// `targetattr` where all rights are about the entry.
    #[error("targetattr has no effect: {} is about the whole entry", listed(*.0))]
    AttributesWithoutEffect(Rights),
    /// Rights other than `read` on controls and extended operations.
    #[error("{} has no effect with targetcontrol and extop: only the right read counts there", listed(*.0))]
    RightsOfNoControl(Rights),
    /// `search`, where nothing may be read.
    #[error("it grants search, and no instruction at this entry, above it or below it grants read: nothing is shown")]
    SearchWithoutRead,
    /// `read`, where nothing may be searched.
    #[error("it grants read, and no instruction at this entry, above it or below it grants search: no filter matches")]
    ReadWithoutSearch,
    /// Rights on attributes without `targetattr`.
    #[error("without targetattr it grants no {}; it is about the entry, not about its attributes", listed(*.0))]
    NoAttributes(Rights),
    /// Writing what access control itself is made of.
    #[error("whoever may write {0} can get every other right")]
    WritesAccessControl(&'static str),
    /// `selfwrite` where no name stands.
    #[error("selfwrite is about values that are names of entries; those of {0} are not")]
    SelfWriteOfNoName(String),
    /// A deny leaves nothing of it.
    #[error("nothing is granted: {0} denies it")]
    Shadowed(String),
    /// It took part in no decision; found by whoever asks a running server.
    #[error("it took part in no decision since the server was started, or since it was written")]
    NeverUsed,
    /// Another one says the same.
    #[error("{0} says the same")]
    Duplicate(String),
}

impl Issue {
    /// A word by which it can be left out.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Issue::Invalid(_) => "invalid",
            Issue::ForeignTarget => "foreign-target",
            Issue::AnyoneMayWrite(_) => "anyone-may-write",
            Issue::AnyoneSeesSecrets { .. } => "anyone-sees-passwords",
            Issue::UsersSeeSecrets { .. } => "users-see-passwords",
            Issue::OthersSeeSecrets { .. } => "others-see-passwords",
            Issue::NegationAdmitsAnonymous => "negation-admits-anonymous",
            Issue::MixedOperators => "mixed-operators",
            Issue::Remarked(_) => "unclear",
            Issue::AllButListed => "all-but-listed",
            Issue::UnknownAttribute(_) => "unknown-attribute",
            Issue::Missing { .. } => "missing-entry",
            Issue::HeldNowhere { .. } => "foreign-name",
            Issue::NoGroup { .. } => "no-group",
            Issue::NeverTrue => "never-true",
            Issue::AlwaysTrue => "always-true",
            Issue::DenyLeavesSearch => "deny-leaves-search",
            Issue::HidesEntries => "hides-entries",
            Issue::AttributesWithoutEffect(_) => "targetattr-without-effect",
            Issue::RightsOfNoControl(_) => "rights-without-effect",
            Issue::SearchWithoutRead => "search-without-read",
            Issue::ReadWithoutSearch => "read-without-search",
            Issue::NoAttributes(_) => "no-targetattr",
            Issue::WritesAccessControl(_) => "writes-access-control",
            Issue::SelfWriteOfNoName(_) => "selfwrite-of-no-name",
            Issue::Shadowed(_) => "shadowed",
            Issue::NeverUsed => "never-used",
            Issue::Duplicate(_) => "duplicate",
        }
    }

    /// All of the codes.
    pub const CODES: [&'static str; 28] = [
        "invalid",
        "foreign-target",
        "anyone-may-write",
        "anyone-sees-passwords",
        "users-see-passwords",
        "others-see-passwords",
        "negation-admits-anonymous",
        "mixed-operators",
        "unclear",
        "all-but-listed",
        "unknown-attribute",
        "missing-entry",
        "foreign-name",
        "no-group",
        "never-true",
        "always-true",
        "deny-leaves-search",
        "hides-entries",
        "targetattr-without-effect",
        "rights-without-effect",
        "search-without-read",
        "read-without-search",
        "no-targetattr",
        "writes-access-control",
        "selfwrite-of-no-name",
        "shadowed",
        "never-used",
        "duplicate",
    ];

    /// How bad it is.
    #[must_use]
    pub const fn severity(&self) -> Severity {
        match self {
            Issue::Invalid(_) | Issue::ForeignTarget => Severity::Error,
            Issue::OthersSeeSecrets { .. }
            | Issue::DenyLeavesSearch
            | Issue::HidesEntries
            | Issue::AllButListed
            | Issue::NeverUsed
            | Issue::Duplicate(_) => Severity::Note,
            _ => Severity::Warning,
        }
    }
}

/// Rights as an instruction lists them, for a sentence.
fn listed(rights: Rights) -> String {
    rights.iter().map(Right::as_str).collect::<Vec<_>>().join(", ")
}
