//! Requests that this program makes itself: they own their bytes, and give the same values as requests that a client
//! sent.
//!
//! Knows how requests are written; not who makes them, nor why.

use ber::Writer;

use crate::client::{Search, add_op, modify_dn_op, modify_op, search_op};
use crate::message::{EntryUpdate, ModifyOperation, SearchRequest, tags};
use crate::{DecodeError, Operation, Update};

/// An add, modify, delete or modify DN.
#[derive(Debug)]
pub struct MadeUpdate(Vec<u8>);

/// A search.
#[derive(Debug)]
pub struct MadeSearch(Vec<u8>);

impl MadeUpdate {
    /// An add: per attribute its description and values.
    pub fn add<'c, V>(dn: &[u8], attributes: impl IntoIterator<Item = (&'c [u8], V)>) -> Self
    where
        V: IntoIterator<Item = &'c [u8]>,
    {
        Self(written(|w| add_op(w, dn, attributes)))
    }

    /// A modify: per change what to do, to which attribute, with which values.
    pub fn modify<'c, V>(dn: &[u8], changes: impl IntoIterator<Item = (ModifyOperation, &'c [u8], V)>) -> Self
    where
        V: IntoIterator<Item = &'c [u8]>,
    {
        Self(written(|w| modify_op(w, dn, changes)))
    }

    /// A delete.
    #[must_use]
    pub fn delete(dn: &[u8]) -> Self {
        Self(written(|w| w.octets(tags::DELETE, dn)))
    }

    /// A rename or move.
    #[must_use]
    pub fn modify_dn(dn: &str, new_rdn: &str, delete_old_rdn: bool, new_superior: Option<&str>) -> Self {
        Self(written(|w| modify_dn_op(w, dn, new_rdn, delete_old_rdn, new_superior)))
    }

    /// The update. An error when it is none that a client may send, such as an add of an attribute without values.
    pub fn update(&self) -> Result<EntryUpdate<'_>, DecodeError> {
        EntryUpdate::decode(&self.0)
    }

    /// The same as an operation.
    pub fn operation(&self) -> Result<Operation<'_>, DecodeError> {
        Ok(Operation::Update(Update::Entry(self.update()?)))
    }

    /// The request as a log keeps it.
    #[must_use]
    pub fn into_encoded(self) -> Vec<u8> {
        self.0
    }
}

impl MadeSearch {
    /// What `search` asks for.
    #[must_use]
    pub fn new(search: &Search<'_>) -> Self {
        Self(written(|w| search_op(w, search)))
    }

    /// The operation.
    pub fn operation(&self) -> Result<Operation<'_>, DecodeError> {
        Ok(Operation::Search(SearchRequest::decode(&self.0)?))
    }
}

fn written(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    // Room for a usual entry, so that the bytes are not moved while they are written.
    let mut out = Vec::with_capacity(1024);
    write(&mut Writer::new(&mut out));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DerefAliases, EntryRequest, Message, Scope, client, filter};

    /// What a front that speaks no LDAP hands in is what the same request in an LDAP message gives.
    #[test]
    fn an_operation_needs_no_message() {
        let said = |operation: &Operation<'_>| format!("{operation:?}");
        let mut message = Vec::new();
        let values = || [(ModifyOperation::Replace, &b"sn"[..], [&b"Frost"[..]])];
        client::modify(&mut message, 1, "uid=ann", values(), &[]);
        let made = MadeUpdate::modify(b"uid=ann", values());
        assert_eq!(said(&made.operation().unwrap()), said(&Message::decode(&message).unwrap().operation));

        message.clear();
        let filter = filter::parse("(&(sn=F*)(uid=ann))").unwrap();
        let search = Search {
            base: "dc=example",
            scope: Scope::SingleLevel,
            deref_aliases: DerefAliases::Never,
            size_limit: 5,
            time_limit_seconds: 0,
            types_only: false,
            filter: &filter,
            attributes: &["cn", "+"],
        };
        client::search(&mut message, 1, &search, &[]);
        let made = MadeSearch::new(&search);
        assert_eq!(said(&made.operation().unwrap()), said(&Message::decode(&message).unwrap().operation));
    }

    #[test]
    fn what_no_client_may_send_is_not_made() {
        let none: [&[u8]; 0] = [];
        assert!(MadeUpdate::add(b"uid=ann", [(&b"sn"[..], none)]).update().is_err());
        let renamed = MadeUpdate::modify_dn("uid=ann", "uid=bea", true, Some("dc=c"));
        let EntryRequest::ModifyDn(rename) = *renamed.update().unwrap().request() else { panic!() };
        assert_eq!((rename.new_rdn, rename.new_superior), (&b"uid=bea"[..], Some(&b"dc=c"[..])));
        let deleted = MadeUpdate::delete(b"uid=ann");
        assert_eq!(deleted.update().unwrap().request().entry(), b"uid=ann");
    }
}
