//! An entry as a search shows it: its name, and the attributes and values that its reader asked for and may read.
//!
//! What a search hands to whoever takes its entries. Knows no protocol: [`message`](super::message) makes LDAP of it.

use std::ops::ControlFlow;
use std::sync::Arc;

use ldap::controls::{AccountUsability, NamedValues};
use store::{StoreError, Values};

use super::layout::{Body, Layout, Piece};
use crate::entry::{DnParts, EntryView};

/// See the module.
pub struct ShownEntry<'s, 'e> {
    pub(super) layout: &'s Layout<'e>,
    pub(super) view: &'s EntryView<'e>,
    /// Values that were computed.
    pub(super) scratch: &'s [u8],
    /// The change that the entry is shown for, where a persistent search asks to be told.
    pub change: Option<EntryChange<'s>>,
    /// What entries are like that this one names, where that is asked for (draft-masarati-ldap-deref).
    pub dereferenced: &'s [Dereferenced],
    /// Whether its account could be used, where that is asked for.
    pub usability: Option<AccountUsability>,
}

/// A value that names an entry, and what is shown of that entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dereferenced {
    /// The attribute that has the value.
    pub attribute: Arc<str>,
    /// The value.
    pub value: Vec<u8>,
    /// Names and values of what is shown; empty when nothing may be read, or there is no such entry.
    pub attributes: Vec<NamedValues>,
}

/// A change of an entry, as it is told beside the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryChange<'s> {
    /// add 1, delete 2, modify 4, modify DN 8.
    pub change_type: u8,
    /// The name before a modify DN.
    pub previous_dn: Option<&'s str>,
    /// Its number in the changelog.
    pub number: Option<i64>,
}

/// One attribute of an entry that is shown.
pub struct ShownAttribute<'s, 'e> {
    of: &'s ShownEntry<'s, 'e>,
    piece: &'s Piece<'e>,
}

impl<'s, 'e> ShownEntry<'s, 'e> {
    /// An entry that was laid out; `scratch` is what was given to its layout.
    #[must_use]
    pub fn new(layout: &'s Layout<'e>, view: &'s EntryView<'e>, scratch: &'s [u8]) -> Self {
        Self { layout, view, scratch, change: None, dereferenced: &[], usability: None }
    }

    /// Its name.
    #[must_use]
    pub fn dn(&self) -> DnParts<'_> {
        self.view.dn
    }

    /// Its attributes, in the order in which they are shown.
    pub fn attributes(&self) -> impl Iterator<Item = ShownAttribute<'_, 'e>> {
        self.layout.pieces.iter().map(|piece| ShownAttribute { of: self, piece })
    }
}

impl<'s> ShownAttribute<'s, '_> {
    /// The attribute's description, without the range that it may be a part of.
    #[must_use]
    pub fn description(&self) -> &'s [u8] {
        self.piece.description
    }

    /// The option that says which of the values are shown (`;range=0-999`), where that was asked.
    #[must_use]
    pub fn range(&self) -> Option<&'s str> {
        self.piece.range.as_deref()
    }

    /// Calls `each` with the values, wherever they are stored, until it says stop. There are none when only types are
    /// asked for.
    ///
    /// # Errors
    /// When values that are stored outside of the record cannot be read.
    pub fn each_value(&self, each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), StoreError> {
        let mut values = |body| {
            // Whether it was stopped is known to whoever stopped it.
            let _ = Values::new(0, body).iter().try_for_each(&mut *each);
        };
        match &self.piece.body {
            Body::Stored(body) => values(body),
            Body::Computed(start) => {
                values(self.of.scratch.get(*start..*start + self.piece.values).unwrap_or_default())
            }
            Body::Large(part) => return part.each(self.of.view, &mut |_, value| each(value)),
        }
        Ok(())
    }
}
