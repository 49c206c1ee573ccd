//! A change as the log has it: who, when, which entry, and what was there before and after.
//!
//! Everything is borrowed from the record of the log, whose proposal says what was asked for and whose trace (see
//! [`trace`](super::trace)) what came of it. Knows the layout of both; not who wants to know.

use ldap::message::Strings;
use ldap::{Dn, EntryRequest};
use store::log::LogRecord;
use store::{EntryId, varint};

use super::kind::{Cause, ChangeKind};
use super::trace::{self, Body};
use crate::csn::Csn;
use crate::proposal::{Authority, Kind, Proposal};
use query::backend::BackendIndex;

/// How an entry got another name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rename<'a> {
    /// As requested.
    pub new_rdn: &'a str,
    /// As requested.
    pub delete_old_rdn: bool,
    /// As requested.
    pub new_superior: Option<&'a str>,
    /// The whole new name.
    pub new_dn: String,
}

/// One change of one entry.
#[derive(Clone, Debug)]
pub struct Change<'a> {
    /// Its number: ascending over all backends, never given twice; not without gaps.
    pub number: u64,
    /// When it was proposed. `entryCSN` of an entry added or changed by it.
    pub csn: Csn,
    /// Which backend it is in.
    pub backend: BackendIndex,
    /// Number of the log record in that backend. Changes of one proposal have the same and became true together.
    pub sequence: u64,
    /// What became of the entry.
    pub kind: ChangeKind,
    /// The entry's number in its backend.
    pub entry: EntryId,
    /// `entryUUID`; zeros for an entry that has none.
    pub entry_uuid: [u8; 16],
    /// Its name; before the change, when that renames it. As in the request, if the request names it.
    pub dn: &'a str,
    /// The entry that the request names, as it names it; empty where the server acts by itself. Of a subtree delete not
    /// always `dn`.
    pub target: &'a str,
    /// The new name of a renamed entry.
    pub rename: Option<Rename<'a>>,
    /// Who asked for it, or for what it follows.
    pub authority: Authority<'a>,
    /// The connection on which it was asked for; 0 when the server did it by itself.
    pub connection: u64,
    /// The request's number on the connection.
    pub operation: u32,
    /// What set it off.
    pub cause: Cause<'a>,
    attributes: &'a [u8],
    request: Option<ldap::message::Attributes<'a>>,
}

/// One attribute of a change.
#[derive(Clone, Copy, Debug)]
pub struct AttributeChange<'a> {
    /// Name and options, spelled as they are stored.
    pub description: &'a str,
    /// Whether all removed values are here. Of a large attribute that was replaced as a whole, or went with its
    /// entry, they may be too many to be kept: then none is here, and what was added is all that the attribute has now.
    pub is_complete: bool,
    removed: &'a [u8],
    added: &'a [u8],
    /// Values that were added come first from here.
    request: Option<Strings<'a>>,
}

/// An [`AttributeChange`] with values of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Type and options.
    pub description: String,
    /// Whether all values that went are known; if not, none is.
    pub is_complete: bool,
    /// Values that went.
    pub removed: Vec<Vec<u8>>,
    /// Values that came.
    pub added: Vec<Vec<u8>>,
}

impl<'a> Change<'a> {
    /// The change whose body begins at `at` in the trace of a record, with its number; `None` when the bytes are
    /// damaged.
    pub(super) fn decode(backend: BackendIndex, record: LogRecord<'a>, at: usize, number: u64) -> Option<Self> {
        let body = Body::decode(record.trace, at)?;
        let mut proposal = Proposal::decode(record.proposal).ok()?;
        if proposal.kind == Kind::Transaction {
            let part = crate::parts::split(proposal.operation_bytes)?.into_iter().nth(body.part)?;
            proposal = Proposal::decode(part).ok()?;
        }
        // What the server does by itself has no request that names an entry.
        let request = EntryRequest::decode(proposal.operation_bytes).ok();
        let named = request.as_ref().map_or(&b""[..], EntryRequest::entry);
        let target = std::str::from_utf8(named).ok()?;
        let dn = std::str::from_utf8(if body.dn.is_empty() { named } else { body.dn }).ok()?;
        let rename = match &request {
            Some(EntryRequest::ModifyDn(request)) if body.kind == ChangeKind::ModifyDn => {
                let new_rdn = std::str::from_utf8(request.new_rdn).ok()?;
                let new_superior = request.new_superior.map(std::str::from_utf8).transpose().ok()?;
                let new_dn = new_name(dn, new_rdn, new_superior);
                Some(Rename { new_rdn, delete_old_rdn: request.delete_old_rdn, new_superior, new_dn })
            }
            _ => None,
        };
        let (connection, operation) = body.origin.unwrap_or((proposal.connection, proposal.operation));
        Some(Self {
            number,
            csn: proposal.csn,
            backend,
            sequence: record.seq,
            kind: body.kind,
            entry: body.entry,
            entry_uuid: body.entry_uuid,
            dn,
            target,
            rename,
            authority: proposal.authority,
            connection,
            operation,
            cause: body.cause,
            attributes: body.attributes,
            request: match request {
                Some(EntryRequest::Add(request)) => Some(request.attributes),
                _ => None,
            },
        })
    }

    /// The attributes that changed, those that the server writes itself included. Of an added entry all it has, of a
    /// deleted one all it had.
    pub fn attributes(&self) -> impl Iterator<Item = AttributeChange<'a>> + use<'a> {
        let (mut rest, request) = (self.attributes, self.request);
        std::iter::from_fn(move || {
            let coded = trace::Attribute::decode(&mut rest)?;
            let from_request = coded.request.and_then(|index| request?.iter().nth(index));
            Some(AttributeChange {
                description: coded.description,
                is_complete: coded.is_complete,
                removed: coded.removed,
                added: coded.added,
                request: from_request.map(|attribute| attribute.values),
            })
        })
    }

    /// What changed of the attribute of that description, as it is stored; letter case aside.
    #[must_use]
    pub fn attribute(&self, description: &str) -> Option<AttributeChange<'a>> {
        self.attributes().find(|attribute| attribute.description.eq_ignore_ascii_case(description))
    }

    /// Its name after the change.
    #[must_use]
    pub fn dn_now(&self) -> &str {
        self.rename.as_ref().map_or(self.dn, |rename| &rename.new_dn)
    }

    /// Who changed the entry: a plugin, or who asked for it; empty when it was anonymous.
    #[must_use]
    pub fn initiator(&self) -> &'a str {
        match self.cause {
            Cause::Request | Cause::AccountState => self.authority.dn(),
            Cause::Plugin { name } => name,
        }
    }
}

impl<'a> AttributeChange<'a> {
    /// Values that it had and has no more, byte by byte.
    pub fn removed(&self) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        coded_values(self.removed)
    }

    /// Values that it has now and had not.
    pub fn added(&self) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        self.request.into_iter().flat_map(Strings::iter).chain(coded_values(self.added))
    }

    /// The same to keep when the record of the log is gone.
    #[must_use]
    pub fn to_edit(&self) -> Edit {
        Edit {
            description: self.description.to_owned(),
            is_complete: self.is_complete,
            removed: self.removed().map(<[u8]>::to_vec).collect(),
            added: self.added().map(<[u8]>::to_vec).collect(),
        }
    }
}

fn coded_values(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    std::iter::from_fn(move || {
        let length = varint::take(&mut rest)?.checked_sub(1)?;
        varint::take_bytes(&mut rest, usize::try_from(length).ok()?)
    })
}

/// The name of an entry after a rename, as text.
fn new_name(dn: &str, new_rdn: &str, new_superior: Option<&str>) -> String {
    let above = match new_superior {
        Some(superior) => superior.to_owned(),
        None => Dn::parse(dn)
            .map(|dn| {
                let rdns: Vec<String> = dn.rdns().iter().skip(1).map(ToString::to_string).collect();
                rdns.join(",")
            })
            .unwrap_or_default(),
    };
    if above.is_empty() { new_rdn.to_owned() } else { format!("{new_rdn},{above}") }
}
