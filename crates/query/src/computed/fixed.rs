//! Values that the definition itself has: of a table of type `user-defined`, or of a subentry.

use schema::TypeIndex;
use store::StoreError;
use store::record::put_value;

use super::alternatives::{Alternatives, Narrowing};
use super::definition::{ComputedAssertion, Priority, Shows, ValueSource};
use crate::entry::EntryView;

/// The same values for everybody.
#[derive(Debug, Clone)]
pub struct Given {
    /// In wire form.
    body: Box<[u8]>,
}

impl Given {
    /// These values.
    pub fn new<'v>(values: impl IntoIterator<Item = &'v [u8]>) -> Given {
        let mut body = Vec::new();
        values.into_iter().for_each(|value| put_value(&mut body, value));
        Given { body: body.into() }
    }
}

impl ValueSource for Given {
    fn supply(
        &self,
        _at: &dyn Shows,
        _attribute: TypeIndex,
        _entry: &EntryView<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Priority>, StoreError> {
        out.extend_from_slice(&self.body);
        Ok(Some(Priority::LOWEST))
    }

    fn narrow(
        &self,
        _at: &dyn Shows,
        wanted: &ComputedAssertion<'_>,
        _any: &mut Alternatives<'_>,
    ) -> Result<Narrowing, StoreError> {
        Ok(if wanted.accepts_one_of(&self.body) { Narrowing::Everybody } else { Narrowing::Nobody })
    }
}
