//! The kinds of index that an operator may ask for.

/// OpenDJ's smallest `substring-length`.
pub const SUBSTRING_LENGTH_MIN: usize = 3;

/// One kind of index (`index-type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IndexKind {
    /// `(cn=Maria Meier)`
    Equality,
    /// `(cn=*)`
    Presence,
    /// `(cn=*aria*)`
    Substring,
    /// `(cn>=m)`
    Ordering,
    /// `(cn~=Mayer)`
    Approximate,
    /// `(cn:caseExactMatch:=Maria Meier)`, with the rules of [`IndexConfig::extensible_rules`].
    Extensible,
}

impl IndexKind {
    /// The word of the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Equality => "equality",
            Self::Presence => "presence",
            Self::Substring => "substring",
            Self::Ordering => "ordering",
            Self::Approximate => "approximate",
            Self::Extensible => "extensible",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let all =
            [Self::Equality, Self::Presence, Self::Substring, Self::Ordering, Self::Approximate, Self::Extensible];
        all.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name))
    }
}
