//! The shape of a declaration: a class of managed objects, its variants, their properties.
//!
//! Everything that is said about a property (parsing, error messages, the reference manual, the comments of a new
//! `pando.toml`) is said from these rows. Knows nothing of what any property does.

/// A kind of configurable thing: `global`, `backend`, `log-publisher` …
#[derive(Debug)]
pub struct Class {
    /// The table in `pando.toml`: `[global]`, `[backend.userRoot]`.
    pub name: &'static str,
    /// What the name of one object stands for; `None` if there is exactly one object of this class.
    pub named_by: Option<&'static str>,
    /// The kinds of object; one without a `type` key if there is a single variant.
    pub variants: &'static [Variant],
    /// Classes whose objects live inside an object of this one.
    pub children: &'static [&'static Class],
    /// One sentence.
    pub help: &'static str,
}

/// One kind of object in a class, chosen by the `type` key (what `dsconfig --type` names).
#[derive(Debug)]
pub struct Variant {
    /// Value of `type`; empty if the class has a single variant.
    pub type_name: &'static str,
    /// One sentence.
    pub help: &'static str,
    /// What can be set.
    pub properties: &'static [Property],
}

/// One thing that can be set.
#[derive(Debug)]
pub struct Property {
    /// OpenDJ's property name.
    pub name: &'static str,
    /// What a value looks like.
    pub syntax: Syntax,
    /// What holds when it is not set.
    pub default: Default,
    /// More than one value is allowed.
    pub multi_valued: bool,
    /// What has to happen before a change takes effect.
    pub action: Action,
    /// One sentence.
    pub help: &'static str,
}

/// What holds when a property is not set.
#[derive(Debug)]
pub enum Default {
    /// These values, written as in the file.
    Values(&'static [&'static str]),
    /// No value; the sentence says what that means.
    Absent(&'static str),
    /// The property must be set.
    Mandatory,
}

/// What a value looks like.
#[derive(Debug, Clone, Copy)]
pub enum Syntax {
    /// Any text.
    Text,
    /// A regular expression.
    Pattern,
    /// A distinguished name (RFC 4514).
    Dn,
    /// A whole number within bounds.
    Integer {
        /// Least value.
        min: i64,
        /// Greatest value.
        max: i64,
    },
    /// A number of bytes with a unit: `64 kb`, `5 mib`.
    Size {
        /// Least number of bytes.
        min: u64,
        /// Greatest number of bytes.
        max: u64,
    },
    /// A length of time with a unit: `60 seconds`, `1 d 12 h`.
    Duration {
        /// What a bare number counts.
        unit: Unit,
        /// Least length in milliseconds.
        min_ms: u64,
        /// Greatest length in milliseconds.
        max_ms: u64,
    },
    /// `true` or `false`.
    Boolean,
    /// One of some words.
    Choice(&'static [&'static str]),
    /// Name or OID of an attribute type.
    AttributeType,
    /// An IP address.
    Address,
    /// An IP address, a network (`10.0.0.0/8`) or an IPv4 pattern (`10.0.*.*`).
    AddressMask,
    /// A file or directory; a relative one starts at the instance directory.
    Path,
    /// Permission bits in octal: `640`.
    Mode,
    /// Hour and minute: `0230`.
    TimeOfDay,
    /// `CATEGORY=SEVERITY,…`
    SeverityOverride,
    /// An encoded or clear password.
    Password,
    /// The name of an object of this class.
    Reference(&'static str),
}

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// 1 ms
    Milliseconds,
    /// 1000 ms
    Seconds,
}

/// What has to happen before a change takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The server is started again.
    Restart,
    /// The server reads the file again (`pando reload`, SIGHUP).
    Reload,
    /// The server reads the file again (`pando reload`, SIGHUP); indexes that this changes are built in the background.
    Rebuild,
}

impl Class {
    /// The child class of that table name.
    #[must_use]
    pub fn child(&self, name: &str) -> Option<&'static Class> {
        self.children.iter().copied().find(|class| class.name == name)
    }

    /// The variant that a `type` value names.
    #[must_use]
    pub fn variant(&self, type_name: &str) -> Option<&'static Variant> {
        self.variants.iter().find(|variant| variant.type_name == type_name)
    }
}

impl Variant {
    /// The property of that name.
    #[must_use]
    pub fn property(&self, name: &str) -> Option<&'static Property> {
        self.properties.iter().find(|property| property.name == name)
    }
}

/// Starts a declaration: mandatory, single-valued; the methods below change that.
pub(crate) const fn property(name: &'static str, syntax: Syntax, help: &'static str) -> Property {
    Property { name, syntax, default: Default::Mandatory, multi_valued: false, action: Action::Restart, help }
}

/// Starts the declaration of a property that a running server takes.
pub(crate) const fn live(name: &'static str, syntax: Syntax, help: &'static str) -> Property {
    property(name, syntax, help).action(Action::Reload)
}

impl Property {
    pub(crate) const fn default(mut self, values: &'static [&'static str]) -> Self {
        self.default = Default::Values(values);
        self
    }

    pub(crate) const fn absent(mut self, meaning: &'static str) -> Self {
        self.default = Default::Absent(meaning);
        self
    }

    pub(crate) const fn multi(mut self) -> Self {
        self.multi_valued = true;
        self
    }

    pub(crate) const fn action(mut self, action: Action) -> Self {
        self.action = action;
        self
    }
}

impl Syntax {
    /// What is allowed, as the end of "must be …".
    #[must_use]
    pub fn allowed(&self) -> String {
        match self {
            Syntax::Text => "a text".into(),
            Syntax::Pattern => "a regular expression such as \"^uid=[^,]+,ou=People,\"".into(),
            Syntax::Dn => "a DN such as \"dc=example,dc=com\"".into(),
            Syntax::Integer { min, max } if *max == i64::from(i32::MAX) => format!("a whole number, at least {min}"),
            Syntax::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Syntax::Size { min, max } => bounded(
                "a size such as \"64 kb\" or \"5 mib\" (units b, kb, mb, gb, tb, kib, mib, gib, tib)",
                (*min > 1).then(|| crate::value::size_text(*min)),
                (*max < u64::MAX).then(|| crate::value::size_text(*max)),
            ),
            Syntax::Duration { unit, min_ms, max_ms } => {
                let bare = match unit {
                    Unit::Milliseconds => "milliseconds",
                    Unit::Seconds => "seconds",
                };
                bounded(
                    &format!(
                        "a duration such as \"60 seconds\" (units ms, s, m, h, d, w; a bare number counts {bare})"
                    ),
                    (*min_ms > 0).then(|| crate::value::duration_text(*min_ms)),
                    (*max_ms < u64::MAX).then(|| crate::value::duration_text(*max_ms)),
                )
            }
            Syntax::Boolean => "true or false".into(),
            Syntax::Choice(words) => format!("one of {}", words.join(", ")),
            Syntax::AttributeType => "the name or OID of an attribute type".into(),
            Syntax::Address => "an IP address such as \"127.0.0.1\" or \"::\"".into(),
            Syntax::AddressMask => {
                "an IP address, a network such as \"10.0.0.0/8\" or a pattern such as \"10.0.*.*\"".into()
            }
            Syntax::Path => "a path; a relative one starts at the instance directory".into(),
            Syntax::Mode => "permission bits in octal such as \"640\"".into(),
            Syntax::TimeOfDay => "an hour and minute such as \"0230\"".into(),
            Syntax::SeverityOverride => "CATEGORY=SEVERITY[,SEVERITY…]".into(),
            Syntax::Password => "a password, encoded as \"{SCHEME}…\"".into(),
            Syntax::Reference(class) => format!("the name of a {class}"),
        }
    }
}

fn bounded(what: &str, min: Option<String>, max: Option<String>) -> String {
    match (min, max) {
        (None, None) => what.to_owned(),
        (Some(min), None) => format!("{what}, at least {min}"),
        (None, Some(max)) => format!("{what}, at most {max}"),
        (Some(min), Some(max)) => format!("{what}, from {min} to {max}"),
    }
}
