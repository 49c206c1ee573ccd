//! The numbers that the store gives to entries, descriptions, indexes, lists, names and class sets.

use std::fmt;

/// Number of an entry: dense from 1, never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct EntryId(pub u64);

impl EntryId {
    /// The parent of every base entry; no entry has this number.
    pub const ROOT: EntryId = EntryId(0);
}

impl fmt::Display for EntryId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// Number of an attribute description (`cn`, `cn;lang-fr`) in [`Tables`](crate::Tables).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DescId(pub u32);

impl DescId {
    /// `objectClass`: kept as an interned set.
    pub const OBJECT_CLASS: DescId = DescId(0);
    /// `entryUUID`: 16 bytes of the record header.
    pub const ENTRY_UUID: DescId = DescId(1);
    /// `createTimestamp`: in the record header.
    pub const CREATE_TIMESTAMP: DescId = DescId(2);
    /// `modifyTimestamp`: in the record header.
    pub const MODIFY_TIMESTAMP: DescId = DescId(3);
    /// `creatorsName`: an interned name in the record header.
    pub const CREATORS_NAME: DescId = DescId(4);
    /// `modifiersName`: an interned name in the record header.
    pub const MODIFIERS_NAME: DescId = DescId(5);
    /// `entryCSN`: in the record header.
    pub const ENTRY_CSN: DescId = DescId(6);

    /// The descriptions every database knows from its first byte, in the order of their ids.
    pub const WELL_KNOWN: [&'static str; 7] =
        ["objectClass", "entryUUID", "createTimestamp", "modifyTimestamp", "creatorsName", "modifiersName", "entryCSN"];
}

/// Number of a posting index in the [`Registry`](crate::Registry).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IndexId(pub u16);

impl IndexId {
    /// Parent id (ordered) ‖ normalized RDN → the one child of that name.
    pub const DN: IndexId = IndexId(0);
    /// Parent id (ordered) → ids of its children.
    pub const CHILDREN: IndexId = IndexId(1);
    /// Empty key → all ids.
    pub const ALL: IndexId = IndexId(2);
    /// First number given to a configured index; those below belong to the store.
    pub const FIRST_CONFIGURED: IndexId = IndexId(16);
}

/// Number of a long posting list: the prefix of its rows in `chunks`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ListId(pub u64);

/// Number of an interned name (a DN of `creatorsName`, `modifiersName`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NameId(pub u32);

/// Number of an interned set of object classes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClassSetId(pub u32);
