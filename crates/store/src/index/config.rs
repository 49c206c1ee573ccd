//! What an operator asks for: the `backend-index` objects of the configuration.

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
}

/// The indexes of one attribute (`backend-index`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexConfig {
    /// Name or OID of the attribute type; its subtypes and options are indexed with it.
    pub attribute: String,
    /// Which kinds.
    pub kinds: Vec<IndexKind>,
    /// Length of the windows of a substring index, in bytes of the normalised value.
    pub substring_length: usize,
    /// Most entries of a key that the planner uses; 0 is no limit.
    pub entry_limit: u32,
}

/// OpenDJ's `substring-length`.
pub const DEFAULT_SUBSTRING_LENGTH: usize = 6;

/// OpenDJ's smallest `substring-length`.
pub const SUBSTRING_LENGTH_MIN: usize = 3;

/// OpenDJ's `index-entry-limit`.
pub const DEFAULT_ENTRY_LIMIT: u32 = 4000;

impl IndexConfig {
    /// The indexes `kinds` of `attribute` with the default window length and limit.
    #[must_use]
    pub fn new(attribute: &str, kinds: &[IndexKind]) -> Self {
        Self {
            attribute: attribute.to_owned(),
            kinds: kinds.to_vec(),
            substring_length: DEFAULT_SUBSTRING_LENGTH,
            entry_limit: DEFAULT_ENTRY_LIMIT,
        }
    }
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
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Equality, Self::Presence, Self::Substring, Self::Ordering, Self::Approximate];
        all.into_iter().find(|kind| kind.name().eq_ignore_ascii_case(name))
    }
}

/// The indexes that OpenDJ gives a new backend.
#[must_use]
pub fn default_indexes() -> Vec<IndexConfig> {
    use IndexKind::{Equality, Ordering, Presence, Substring};
    let both = [Equality, Substring];
    vec![
        IndexConfig::new("aci", &[Presence]),
        IndexConfig::new("cn", &both),
        IndexConfig::new("ds-sync-conflict", &[Equality]),
        IndexConfig::new("ds-sync-hist", &[Ordering]),
        IndexConfig::new("entryUUID", &[Equality]),
        IndexConfig::new("givenName", &both),
        IndexConfig::new("mail", &both),
        IndexConfig::new("member", &[Equality]),
        IndexConfig::new("objectClass", &[Equality]),
        IndexConfig::new("sn", &both),
        IndexConfig::new("telephoneNumber", &both),
        IndexConfig::new("uid", &[Equality]),
        IndexConfig::new("uniqueMember", &[Equality]),
    ]
}
