//! Kinds of messages of the error log: each has a number that operators search for, the part of the server that speaks,
//! a severity, and one meaning.
//!
//! Here are those of the runtime; a protocol has a table of its own, made with
//! [`message_kinds!`](crate::message_kinds).

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Severity {
    /// Something failed and needs attention.
    Error,
    /// Something is wrong, the server goes on.
    Warning,
    /// An event worth knowing: start, stop, a new certificate.
    Notice,
    /// Details of normal work.
    Info,
    /// Details for developers.
    Debug,
}

impl Severity {
    pub(super) const ALL: [Self; 5] = [Self::Error, Self::Warning, Self::Notice, Self::Info, Self::Debug];

    /// The word in the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Warning => "WARNING",
            Self::Notice => "NOTICE",
            Self::Info => "INFO",
            Self::Debug => "DEBUG",
        }
    }
}

/// Which part of the server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are OpenDJ's and say it")]
pub enum Category {
    AccessControl,
    Admin,
    AdminTool,
    Backend,
    Config,
    Core,
    Extensions,
    Log,
    Plugin,
    Protocol,
    Schema,
    Sync,
    Task,
    Util,
    Version,
}

impl Category {
    pub(super) const ALL: [Self; 15] = [
        Self::AccessControl,
        Self::Admin,
        Self::AdminTool,
        Self::Backend,
        Self::Config,
        Self::Core,
        Self::Extensions,
        Self::Log,
        Self::Plugin,
        Self::Protocol,
        Self::Schema,
        Self::Sync,
        Self::Task,
        Self::Util,
        Self::Version,
    ];

    /// The word in the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::AccessControl => "ACCESS_CONTROL",
            Self::Admin => "ADMIN",
            Self::AdminTool => "ADMIN_TOOL",
            Self::Backend => "BACKEND",
            Self::Config => "CONFIG",
            Self::Core => "CORE",
            Self::Extensions => "EXTENSIONS",
            Self::Log => "LOG",
            Self::Plugin => "PLUGIN",
            Self::Protocol => "PROTOCOL",
            Self::Schema => "SCHEMA",
            Self::Sync => "SYNC",
            Self::Task => "TASK",
            Self::Util => "UTIL",
            Self::Version => "VERSION",
        }
    }
}

/// A kind of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageKind {
    /// The number in the log; it never changes, and is never used for anything else.
    pub id: u32,
    /// Who speaks.
    pub category: Category,
    /// How bad it is.
    pub severity: Severity,
    /// What it means, for people.
    pub meaning: &'static str,
}

/// Declares kinds of messages and a table of them:
/// `message_kinds! { pub TABLE; NAME = id, Category, Severity, "meaning"; … }`
#[macro_export]
macro_rules! message_kinds {
    ($visible:vis $table:ident; $($name:ident = $id:literal, $category:ident, $severity:ident, $meaning:literal;)+) => {
        $(
            #[doc = $meaning]
            $visible const $name: $crate::log::message::MessageKind = $crate::log::message::MessageKind {
                id: $id,
                category: $crate::log::message::Category::$category,
                severity: $crate::log::message::Severity::$severity,
                meaning: $meaning,
            };
        )+

        /// All of them.
        $visible const $table: &[$crate::log::message::MessageKind] = &[$($name),+];
    };
}

message_kinds! {
    pub RUNTIME_MESSAGES;
    LISTENING = 10, Protocol, Notice, "A listener accepts connections.";
    ACCEPT_FAILED = 11, Core, Error, "Accepting connections failed; the server tries again.";
    POLL_FAILED = 17, Core, Error, "An event loop failed to wait for its connections; it tries again.";
    REGISTER_FAILED = 18, Core, Error, "An accepted connection was not registered with its event loop; it is closed.";
    CERTIFICATE_LOADED = 20, Protocol, Notice, "A new certificate is served from now on.";
    CERTIFICATE_BAD = 21, Protocol, Error, "A new certificate is not usable; the one before is served.";
    CERTIFICATE_EXPIRES = 22, Protocol, Warning, "A certificate expires; reported 30, 7 and 1 days before.";
    CERTIFICATE_EXPIRED = 23, Protocol, Error, "A certificate has expired, and clients refuse it; reported once a day.";
    LOOP_PANIC = 32, Core, Error, "An event loop failed by a defect of the server; the connection that it served is \
        closed.";
    LINES_DROPPED = 40, Log, Warning, "Lines of a log are missing because the disk did not keep up.";
}
