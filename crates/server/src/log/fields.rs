//! What a request says, kept for the logs: names of fields and their values as the client sent them, in one buffer that
//! is used again.
//!
//! Knows no form of a line; how values are made safe for one is for `format`.

use smallvec::SmallVec;

/// What a value stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// LDAP version of a bind.
    Version,
    /// `SIMPLE`, `SASL`, or the tag of another choice.
    AuthType,
    /// Of a SASL bind.
    Mechanism,
    /// The entry that the request is about.
    Dn,
    /// Where a search begins.
    Base,
    /// Scope of a search.
    Scope,
    /// Filter of a search, as text.
    Filter,
    /// One of the attributes that a search asks for.
    Wanted,
    /// Of a modify DN request.
    NewRdn,
    /// `true` or `false`.
    DeleteOldRdn,
    /// Of a modify DN request.
    NewSuperior,
    /// Of a comparison.
    Attribute,
    /// Message id of the request to abandon.
    IdToAbandon,
    /// What the extended operation is called.
    Name,
    /// Of an extended operation.
    Oid,
    /// `persistent`
    Options,
    /// What made an internal change.
    Plugin,
    /// The name that followed the old one.
    NewDn,
    /// Entries that an internal change changed.
    Entries,
    /// Values that it changed.
    References,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Fields {
    bytes: Vec<u8>,
    /// Each with the end of its value.
    items: SmallVec<[(Field, u32); 6]>,
}

impl Fields {
    /// Forgets everything.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.items.clear();
    }

    /// Whether nothing is known of the request.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Adds a value.
    pub fn push(&mut self, field: Field, value: &[u8]) {
        self.push_with(field, |out| out.extend_from_slice(value));
    }

    /// Adds what `write` appends.
    pub fn push_with(&mut self, field: Field, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        // No request is that long.
        self.items.push((field, u32::try_from(self.bytes.len()).unwrap_or(u32::MAX)));
    }

    /// All, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = (Field, &[u8])> {
        let mut start = 0;
        self.items.iter().map(move |&(field, end)| {
            let end = end as usize;
            let value = self.bytes.get(start..end).unwrap_or_default();
            start = end;
            (field, value)
        })
    }

    /// The first value of a field.
    pub fn get(&self, wanted: Field) -> Option<&[u8]> {
        self.iter().find(|(field, _)| *field == wanted).map(|(_, value)| value)
    }

    /// The entry that the request is about.
    pub fn target(&self) -> Option<&[u8]> {
        self.get(Field::Dn).or_else(|| self.get(Field::Base))
    }
}
