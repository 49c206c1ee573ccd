//! One access control instruction: a name, what it is about, and who may do what.

use ldap::FilterBuf;

use crate::bind_rule::BindRule;
use crate::dn_pattern::DnPattern;
use crate::right::Rights;
use crate::span::Span;

/// `(targets)(version 3.0; acl "name"; allow (rights) rule;)`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aci {
    /// What people call it; need not be unique, and may be empty.
    pub name: String,
    /// What it is about.
    pub targets: Targets,
    /// Who may do what, and who may not; at least one.
    pub permissions: Vec<Permission>,
}

/// `allow (rights) rule;` or `deny (rights) rule;`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    /// From the word `allow` or `deny` to before the semicolon.
    pub span: Span,
    /// Whether it grants or refuses.
    pub effect: Effect,
    /// The rights; at least one.
    pub rights: Rights,
    /// Whom it is for.
    pub rule: BindRule,
}

/// What a permission does when its rule is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Grants the rights, unless another instruction refuses them.
    Allow,
    /// Refuses the rights, whatever grants them.
    Deny,
}

/// What an instruction is about; what is not written restricts nothing, but see [`Targets::attributes`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// `target`: these entries and all below them. Without it, the holder of the instruction.
    pub target: Option<TargetPart<DnPattern>>,
    /// `target_from`: where an entry may be moved away from (right `moddn`).
    pub target_from: Option<TargetPart<DnPattern>>,
    /// `target_to`: where an entry may be moved to (right `moddn`).
    pub target_to: Option<TargetPart<DnPattern>>,
    /// `targetattr`: these attributes. Without it, the instruction is about the entry, not about its attributes.
    pub attributes: Option<TargetPart<Vec<AttributeTarget>>>,
    /// `targetfilter`: entries that match.
    pub filter: Option<TargetPart<FilterBuf>>,
    /// `targattrfilters`: values that may be added and deleted.
    pub value_filters: Option<Spanned<ValueFilters>>,
    /// `targetscope`: how far below the target it reaches.
    pub scope: Option<Spanned<TargetScope>>,
    /// `targetcontrol`: request controls.
    pub controls: Option<TargetPart<Vec<OidTarget>>>,
    /// `extop`: extended operations.
    pub extended_operations: Option<TargetPart<Vec<OidTarget>>>,
}

/// A part of an instruction and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spanned<T> {
    /// From the keyword to the end of its value.
    pub span: Span,
    /// What is said.
    pub value: T,
}

/// A target that may be negated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetPart<T> {
    /// From the keyword to the end of its value.
    pub span: Span,
    /// Whether it was written with `!=`.
    pub negated: bool,
    /// What is said. A list is never empty, and any of it is enough.
    pub value: T,
}

/// Attributes that an instruction is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AttributeTarget {
    /// `*`: every user attribute.
    All,
    /// `+`: every operational attribute.
    AllOperational,
    /// An attribute type, by name or OID, as it was written.
    Named(String),
}

/// How far below the target an instruction reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TargetScope {
    /// `base`: the entry alone.
    Base,
    /// `onelevel`: its children, without the entry.
    OneLevel,
    /// `subtree`: the entry and all below.
    #[default]
    Subtree,
    /// `subordinate`: all below, without the entry.
    Subordinate,
}

impl TargetScope {
    /// Every scope, in the order in which messages list them.
    pub const ALL: [TargetScope; 4] =
        [TargetScope::Base, TargetScope::OneLevel, TargetScope::Subtree, TargetScope::Subordinate];

    /// The word for it in an instruction.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            TargetScope::Base => "base",
            TargetScope::OneLevel => "onelevel",
            TargetScope::Subtree => "subtree",
            TargetScope::Subordinate => "subordinate",
        }
    }
}

/// `add=a:F && b:F, del=c:F`; at least one list is not empty, and no list names an attribute twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueFilters {
    /// What added values must match.
    pub add: Vec<ValueFilter>,
    /// What deleted values must match.
    pub delete: Vec<ValueFilter>,
}

/// A filter on the values of one attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueFilter {
    /// The attribute type, by name or OID.
    pub attribute: String,
    /// The filter; it names no other attribute.
    pub filter: FilterBuf,
}

/// Controls or extended operations.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OidTarget {
    /// `*`
    Any,
    /// A numeric OID.
    Oid(String),
}
