//! What a task is to do, read from the attributes of its entry: OpenDJ's classes and attributes.
//!
//! What is not obeyed is refused, and so is what the class of the task does not know.

use crate::attributes::Attributes;

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Writes a backend as LDIF.
    Export,
    /// Builds indexes anew.
    Rebuild,
    /// Stops the server, or starts it again.
    Shutdown,
    /// Ends a connection.
    Disconnect,
    /// Serves nobody but administrators of this machine.
    EnterLockdown,
    /// Serves everybody again.
    LeaveLockdown,
}

/// How a kind is written.
struct Row {
    kind: Kind,
    /// `ds-task-class-name`.
    class_name: &'static str,
    /// What people call it.
    title: &'static str,
    /// The object class of its entry beside `ds-task`.
    object_class: Option<&'static str>,
    /// The attributes that it obeys.
    attributes: &'static [&'static str],
}

const KINDS: [Row; 6] = [
    Row {
        kind: Kind::Export,
        class_name: "org.opends.server.tasks.ExportTask",
        title: "Export",
        object_class: Some("ds-task-export"),
        attributes: &[
            "ds-task-export-ldif-file",
            "ds-task-export-backend-id",
            "ds-task-export-append-to-ldif",
            "ds-task-export-include-branch",
            "ds-task-export-exclude-branch",
            "ds-task-export-include-attribute",
            "ds-task-export-exclude-attribute",
            "ds-task-export-include-filter",
            "ds-task-export-exclude-filter",
            "ds-task-export-wrap-column",
            "ds-task-export-compress-ldif",
            "ds-task-export-include-operational-attributes",
        ],
    },
    Row {
        kind: Kind::Rebuild,
        class_name: "org.opends.server.tasks.RebuildTask",
        title: "Rebuild Index",
        object_class: Some("ds-task-rebuild"),
        attributes: &["ds-task-rebuild-base-dn", "ds-task-rebuild-index"],
    },
    Row {
        kind: Kind::Shutdown,
        class_name: "org.opends.server.tasks.ShutdownTask",
        title: "Shutdown",
        object_class: Some("ds-task-shutdown"),
        attributes: &["ds-task-restart-server"],
    },
    Row {
        kind: Kind::Disconnect,
        class_name: "org.opends.server.tasks.DisconnectClientTask",
        title: "Disconnect Client",
        object_class: Some("ds-task-disconnect"),
        attributes: &[
            "ds-task-disconnect-connection-id",
            "ds-task-disconnect-message",
            "ds-task-disconnect-notify-client",
        ],
    },
    Row {
        kind: Kind::EnterLockdown,
        class_name: "org.opends.server.tasks.EnterLockdownModeTask",
        title: "Enter Lockdown Mode",
        object_class: None,
        attributes: &[],
    },
    Row {
        kind: Kind::LeaveLockdown,
        class_name: "org.opends.server.tasks.LeaveLockdownModeTask",
        title: "Leave Lockdown Mode",
        object_class: None,
        attributes: &[],
    },
];

/// Attributes that entries of every kind may have.
const COMMON: [&str; 8] = [
    "objectClass",
    "ds-task-id",
    "ds-task-class-name",
    "ds-task-scheduled-start-time",
    "ds-task-dependency-id",
    "ds-task-failed-dependency-action",
    "ds-recurring-task-id",
    "ds-recurring-task-schedule",
];

/// What this server does not do, as long as it is asked not to.
const ONLY_FALSE: [&str; 6] = [
    "ds-task-import-is-encrypted",
    "ds-task-import-skip-dn-validation",
    "ds-task-import-append",
    "ds-task-import-replace-existing",
    "ds-task-export-encrypt-ldif",
    "ds-task-export-sign-hash",
];

/// Why attributes are no task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkFault {
    /// A class of tasks that is not there.
    #[error("\"{0}\" is not a class of tasks that this server has: it has {known}", known = class_names())]
    UnknownClass(String),
    /// The class does not know the attribute.
    #[error("a task of the class {class} has no attribute {attribute}")]
    NotOfClass {
        /// Which.
        attribute: String,
        /// Of which class.
        class: &'static str,
    },
    /// Something is not given.
    #[error("give {0}")]
    Missing(&'static str),
    /// A value cannot be.
    #[error("\"{value}\" cannot be {attribute}: write {expected}")]
    Value {
        /// Of which attribute.
        attribute: String,
        /// Which.
        value: String,
        /// What can be.
        expected: &'static str,
    },
    /// More than one value.
    #[error("{0} takes one value")]
    Several(String),
    /// This server does not do so.
    #[error("this server does not do what {attribute} \"{value}\" asks for: leave it out")]
    NotDone {
        /// Which.
        attribute: String,
        /// Its value.
        value: String,
    },
}

fn class_names() -> String {
    KINDS.map(|row| row.class_name.rsplit('.').next().unwrap_or_default()).join(", ")
}

impl Kind {
    fn row(self) -> Option<&'static Row> {
        KINDS.iter().find(|row| row.kind == self)
    }

    /// What people call it.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.row().map_or("", |row| row.title)
    }

    /// The value of `ds-task-class-name`.
    #[must_use]
    pub fn class_name(self) -> &'static str {
        self.row().map_or("", |row| row.class_name)
    }

    /// The object class of its entries beside `ds-task`.
    #[must_use]
    pub fn object_class(self) -> Option<&'static str> {
        self.row().and_then(|row| row.object_class)
    }

    /// Reads `ds-task-class-name`, with or without the package.
    ///
    /// # Errors
    /// When there is no such class.
    pub fn parse(class_name: &str) -> Result<Kind, WorkFault> {
        let bare = |name: &str| name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        let row = KINDS.iter().find(|row| bare(row.class_name) == bare(class_name));
        row.map(|row| row.kind).ok_or_else(|| WorkFault::UnknownClass(class_name.to_owned()))
    }

    /// The kind that a task's attributes name.
    ///
    /// # Errors
    /// When they name none.
    pub fn of(attributes: &Attributes) -> Result<Kind, WorkFault> {
        Kind::parse(attributes.first("ds-task-class-name").ok_or(WorkFault::Missing("ds-task-class-name"))?)
    }
}

/// What is taken of a backend's entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Only entries below these.
    pub include_branches: Vec<String>,
    /// Without those below these.
    pub exclude_branches: Vec<String>,
    /// Only these attributes.
    pub include_attributes: Vec<String>,
    /// Without these.
    pub exclude_attributes: Vec<String>,
    /// Only entries that match one of these.
    pub include_filters: Vec<String>,
    /// Without those that match one of these.
    pub exclude_filters: Vec<String>,
}

/// What an export is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportWork {
    /// The file.
    pub file: String,
    /// The backend.
    pub backend: String,
    /// The file is continued.
    pub append: bool,
    /// Which entries.
    pub part: Part,
    /// Where lines are folded; 0: nowhere.
    pub wrap_column: usize,
    /// With gzip.
    pub compress: bool,
    /// Operational attributes, too.
    pub operational: bool,
}

/// Which indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RebuildWhich {
    /// All.
    All,
    /// Those that are new or out of date.
    Degraded,
    /// These.
    Named(Vec<String>),
}

/// What a task is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// See [`Kind::Export`].
    Export(ExportWork),
    /// See [`Kind::Rebuild`].
    Rebuild {
        /// A base DN of the backend.
        base_dn: String,
        /// Which indexes.
        which: RebuildWhich,
    },
    /// See [`Kind::Shutdown`].
    Shutdown {
        /// The server starts again.
        restart: bool,
    },
    /// See [`Kind::Disconnect`].
    Disconnect {
        /// Whose.
        connection: u64,
        /// For the client.
        message: Option<String>,
        /// Whether it is told.
        notify: bool,
    },
    /// See [`Kind::EnterLockdown`].
    EnterLockdown,
    /// See [`Kind::LeaveLockdown`].
    LeaveLockdown,
}

impl Work {
    /// Reads the attributes of a task.
    ///
    /// # Errors
    /// Says which of them is missing, unknown or not valid.
    pub fn read(attributes: &Attributes) -> Result<Work, WorkFault> {
        let kind = Kind::of(attributes)?;
        let read = Reading { attributes };
        read.known(kind)?;
        Ok(match kind {
            Kind::Export => Work::Export(ExportWork {
                file: read.needed("ds-task-export-ldif-file")?,
                backend: read.needed("ds-task-export-backend-id")?,
                append: read.flag("ds-task-export-append-to-ldif", false)?,
                part: read.part("export"),
                wrap_column: read.number("ds-task-export-wrap-column")?.unwrap_or(0) as usize,
                compress: read.flag("ds-task-export-compress-ldif", false)?,
                operational: read.flag("ds-task-export-include-operational-attributes", true)?,
            }),
            Kind::Rebuild => {
                let base_dn = read.needed("ds-task-rebuild-base-dn")?;
                let names = attributes.values("ds-task-rebuild-index");
                let is = |word: &str| matches!(names, [only] if only.eq_ignore_ascii_case(word));
                let which = match names {
                    [] => return Err(WorkFault::Missing("ds-task-rebuild-index")),
                    _ if is("REBUILD_ALL") => RebuildWhich::All,
                    _ if is("REBUILD_DEGRADED") => RebuildWhich::Degraded,
                    names => RebuildWhich::Named(names.to_vec()),
                };
                Work::Rebuild { base_dn, which }
            }
            Kind::Shutdown => Work::Shutdown { restart: read.flag("ds-task-restart-server", false)? },
            Kind::Disconnect => Work::Disconnect {
                connection: read
                    .number("ds-task-disconnect-connection-id")?
                    .ok_or(WorkFault::Missing("ds-task-disconnect-connection-id"))?,
                message: read.one("ds-task-disconnect-message")?,
                notify: read.flag("ds-task-disconnect-notify-client", false)?,
            },
            Kind::EnterLockdown => Work::EnterLockdown,
            Kind::LeaveLockdown => Work::LeaveLockdown,
        })
    }

    /// What kind it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Work::Export(_) => Kind::Export,
            Work::Rebuild { .. } => Kind::Rebuild,
            Work::Shutdown { .. } => Kind::Shutdown,
            Work::Disconnect { .. } => Kind::Disconnect,
            Work::EnterLockdown => Kind::EnterLockdown,
            Work::LeaveLockdown => Kind::LeaveLockdown,
        }
    }
}

struct Reading<'a> {
    attributes: &'a Attributes,
}

impl Reading<'_> {
    /// Refuses what the kind does not obey.
    fn known(&self, kind: Kind) -> Result<(), WorkFault> {
        let Some(row) = kind.row() else { return Ok(()) };
        let class = row.object_class.unwrap_or("ds-task");
        for (name, values) in self.attributes.iter() {
            let is = |known: &&str| known.eq_ignore_ascii_case(name);
            if COMMON.iter().chain(row.attributes).any(is) {
                continue;
            }
            let of_class = name.to_ascii_lowercase().starts_with(&format!("{class}-"));
            if !of_class && !name.to_ascii_lowercase().starts_with("ds-task-notify-") {
                return Err(WorkFault::NotOfClass { attribute: name.to_owned(), class });
            }
            let harmless = ONLY_FALSE.iter().any(is);
            if let Some(value) = values.iter().find(|value| !harmless || !value.eq_ignore_ascii_case("false")) {
                return Err(WorkFault::NotDone { attribute: name.to_owned(), value: value.clone() });
            }
        }
        for value in self.attributes.values("objectClass") {
            let fits = ["top", "ds-task", "ds-recurring-task", "extensibleObject", class];
            if !fits.iter().any(|fit| fit.eq_ignore_ascii_case(value)) {
                return Err(WorkFault::Value {
                    attribute: "objectClass".to_owned(),
                    value: value.clone(),
                    expected: "the classes of ds-task-class-name",
                });
            }
        }
        Ok(())
    }

    fn part(&self, kind: &str) -> Part {
        let values = |what: &str| self.attributes.values(&format!("ds-task-{kind}-{what}")).to_vec();
        Part {
            include_branches: values("include-branch"),
            exclude_branches: values("exclude-branch"),
            include_attributes: values("include-attribute"),
            exclude_attributes: values("exclude-attribute"),
            include_filters: values("include-filter"),
            exclude_filters: values("exclude-filter"),
        }
    }

    fn one(&self, name: &'static str) -> Result<Option<String>, WorkFault> {
        match self.attributes.values(name) {
            [] => Ok(None),
            [only] => Ok(Some(only.clone())),
            _ => Err(WorkFault::Several(name.to_owned())),
        }
    }

    fn needed(&self, name: &'static str) -> Result<String, WorkFault> {
        self.one(name)?.ok_or(WorkFault::Missing(name))
    }

    fn flag(&self, name: &'static str, default: bool) -> Result<bool, WorkFault> {
        let Some(value) = self.one(name)? else { return Ok(default) };
        match value.to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(WorkFault::Value { attribute: name.to_owned(), value, expected: "TRUE or FALSE" }),
        }
    }

    fn number(&self, name: &'static str) -> Result<Option<u64>, WorkFault> {
        let Some(value) = self.one(name)? else { return Ok(None) };
        let number = value.parse::<u64>();
        number.map(Some).map_err(|_| WorkFault::Value { attribute: name.to_owned(), value, expected: "a number" })
    }
}
