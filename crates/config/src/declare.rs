//! The shape of a declaration: a class of managed objects, its variants, their properties.
//!
//! Everything that is said about a property (parsing, error messages, the reference manual, the comments of a new
//! `pando.toml`) is said from these rows, and also which field of the typed configuration holds it and who obeys a
//! change. Knows nothing of what any property does.

use crate::syntax::Syntax;
use crate::value::parse;

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
    /// Value of `type`; empty if the class has a single variant. One that is called as the class need not be written.
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
    /// The field of the typed configuration that holds the value: `GlobalConfig.size_limit`.
    pub field: &'static str,
    /// When a change takes effect, and who applies it.
    pub effect: Effect,
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

/// When a change takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// After a restart.
    AtStart,
    /// When the server reads the file again (`dsconfig`, `pando reload`, SIGHUP): this part of it applies the change.
    Live(Applier),
}

/// The parts of a running server that apply a changed configuration. Each says whether it had something to apply; a
/// test changes every property that is declared live and asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Applier {
    /// How much a search, a page or an idle connection may take.
    Limits,
    /// Root users, and what a failed bind is answered with.
    Binds,
    /// What new passwords cost.
    PasswordStorage,
    /// How users are found by their names.
    IdentityMappers,
    /// SASL mechanisms.
    Sasl,
    /// Password policies, validators and generators.
    PasswordPolicies,
    /// From where clients may connect, and how well a connection must be encrypted.
    Connections,
    /// Access control instructions of the configuration, and privileges.
    AccessControl,
    /// The indexes of the backends, which are built in the background.
    Indexes,
    /// What the changelog keeps.
    Changelog,
    /// The rules that updates are judged by.
    Plugins,
    /// Attributes that entries are given by tables.
    VirtualAttributes,
    /// Where requests for names that no suffix holds are referred to.
    Referrals,
    /// The reports of operations that wait.
    StallReports,
    /// Who is told what happens to accounts.
    Notifications,
    /// Other servers that check passwords.
    PasswordServers,
    /// Access, audit and error logs.
    Logs,
}

impl Class {
    /// The child class of that table name.
    #[must_use]
    pub fn child(&self, name: &str) -> Option<&'static Class> {
        self.children.iter().copied().find(|class| class.name == name)
    }

    /// The kind of an object without a `type` key: the only one, or the one that is called as the class.
    #[must_use]
    pub fn unsaid(&self) -> Option<&'static Variant> {
        match self.variants {
            [only] => Some(only),
            several => several.iter().find(|variant| variant.type_name == self.name),
        }
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

/// Starts a declaration: mandatory, single-valued, taken at the start; the methods below change that.
pub(crate) const fn property(name: &'static str, field: &'static str, syntax: Syntax, help: &'static str) -> Property {
    let (default, effect) = (Default::Mandatory, Effect::AtStart);
    Property { name, syntax, default, multi_valued: false, field, effect, help }
}

impl Property {
    /// Whether a running server takes a change.
    #[must_use]
    pub fn is_live(&self) -> bool {
        matches!(self.effect, Effect::Live(_))
    }

    /// Whether a text is one of its values.
    #[must_use]
    pub fn takes(&self, text: &str) -> bool {
        parse(self.syntax, text).is_some()
    }

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

    pub(crate) const fn live(mut self, applier: Applier) -> Self {
        self.effect = Effect::Live(applier);
        self
    }
}
