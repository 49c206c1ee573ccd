//! An operation as it was asked for: what a request line said, kept until the answer comes or borrowed from the line.

use crate::record::{Ids, Kind, Moment, Request};

/// The operation.
#[derive(Debug, Clone, Copy)]
pub struct Operation<'a> {
    /// Which one.
    pub ids: Ids,
    /// When it was asked for.
    pub asked: Option<Moment>,
    /// What it does.
    pub kind: Kind,
    /// Entry, base or name; empty where the log has none.
    pub dn: &'a [u8],
    /// Of a search.
    pub filter: &'a [u8],
    /// The server did it by itself.
    pub is_internal: bool,
}

impl<'a> Operation<'a> {
    /// Of a line.
    #[must_use]
    pub fn of(ids: Ids, asked: Option<Moment>, request: &'a Request<'_>) -> Self {
        Self {
            ids,
            asked,
            kind: request.kind,
            dn: &request.dn,
            filter: &request.filter,
            is_internal: request.is_internal,
        }
    }

    /// One whose request is not in the log.
    #[must_use]
    pub fn unknown(ids: Ids, kind: Kind) -> Self {
        Self { ids, asked: None, kind, dn: b"", filter: b"", is_internal: false }
    }
}
