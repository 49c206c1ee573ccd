//! The attributes by which an entry carries limits for whoever binds as it: `ds-rlim-*` of OpenDJ, those of Sun's and
//! 389's servers.
//!
//! Knows names; what values mean is for those who limit.

use schema::{Schema, TypeIndex};

/// Attribute and whether -1 is its way to say "no limit" (OpenDJ's is 0).
pub const NAMES: [[(&str, bool); 2]; 4] = [
    [("ds-rlim-size-limit", false), ("nsSizeLimit", true)],
    [("ds-rlim-time-limit", false), ("nsTimeLimit", true)],
    [("ds-rlim-lookthrough-limit", false), ("nsLookThroughLimit", true)],
    [("ds-rlim-idle-time-limit", false), ("nsIdleTimeout", true)],
];

/// The attribute types, looked up once per schema.
#[derive(Clone, Debug, Default)]
pub struct OwnLimitTypes(pub [[Option<TypeIndex>; 2]; 4]);

impl OwnLimitTypes {
    /// Looks them up.
    pub fn of(schema: &Schema) -> OwnLimitTypes {
        let index = |(name, _): (&str, bool)| schema.attribute_type(name.as_bytes()).map(|it| it.index);
        OwnLimitTypes(NAMES.map(|pair| pair.map(index)))
    }

    /// Those that the schema has.
    pub fn iter(&self) -> impl Iterator<Item = TypeIndex> {
        self.0.iter().flatten().copied().flatten()
    }
}
