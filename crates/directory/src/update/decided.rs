//! A decided update: all of a proposal but its CSN and the `entryUUID`.
//!
//! Knows what a proposal needs; not where the request came from, nor what becomes of it.

use std::borrow::Cow;

use ldap::LdapResult;
use ldap::controls::PasswordPolicyResponse;

use super::controls::OwnedControls;
use super::done::{ExtendedAnswer, out_of_service};
use super::review::Review;
use super::rights::{LogNote, Told};
use crate::refusal::Refusal;
use crate::server_name::SERVER_NAME;
use access::Identity;
use change::apply::Report;
use change::csn::Csn;
use change::judged::Judged;
use change::proposal::{Authority, Kind, Proposal};
use query::backend::{Backend, BackendIndex};
use query::error::store_failure;

/// A decided update, but for the time.
#[derive(Debug)]
pub(crate) struct Decided<'m> {
    pub(crate) backend: BackendIndex,
    pub(crate) kind: Kind,
    pub(crate) controls: OwnedControls,
    pub(crate) op_bytes: Cow<'m, [u8]>,
    /// What follows from a new password, as [`change::password_change::PasswordChange::encode`] wrote it; empty:
    /// nothing.
    pub(crate) password: Vec<u8>,
    pub(crate) identity: Identity,
    /// What was judged of it, if not everything is allowed.
    pub(crate) judged: Judged,
    /// How it is judged again, and what of its result may be told; none for whoever may do everything.
    pub(crate) review: Option<Box<Review>>,
    pub(crate) connection: u64,
    pub(crate) operation: u32,
    /// What the password policy control says; none where no password is set.
    pub(crate) policy: Option<PasswordPolicyResponse>,
    /// What the response says if the update succeeds.
    pub(crate) answer: Option<ExtendedAnswer>,
}

impl<'m> Decided<'m> {
    /// A change that the server makes by itself.
    pub(crate) fn by_server(backend: BackendIndex, kind: Kind, op_bytes: Vec<u8>) -> Self {
        Self {
            backend,
            kind,
            controls: OwnedControls::default(),
            op_bytes: op_bytes.into(),
            password: Vec::new(),
            identity: Identity::Root { dn: SERVER_NAME.into() },
            judged: Judged::Unneeded,
            review: None,
            connection: 0,
            operation: 0,
            policy: None,
            answer: None,
        }
    }
}

impl Decided<'_> {
    /// The same, without the request's bytes.
    pub(super) fn owned(self) -> Decided<'static> {
        Decided { op_bytes: Cow::Owned(self.op_bytes.into_owned()), ..self }
    }

    pub(super) fn proposal(&self, csn: Csn, entry_uuid: [u8; 16]) -> Proposal<'_> {
        let authority = match &self.identity {
            Identity::Anonymous => Authority::Anonymous { judged: self.judged },
            // A root user who may not do everything is like others.
            Identity::Root { dn } if self.review.is_some() => Authority::User { dn, entry: 0, judged: self.judged },
            Identity::Root { dn } => Authority::Root { dn },
            Identity::User { dn, backend, entry } => {
                let entry = if *backend == self.backend { entry.0 } else { 0 };
                Authority::User { dn, entry, judged: self.judged }
            }
        };
        Proposal {
            kind: self.kind,
            flags: self.controls.flags,
            csn,
            entry_uuid,
            connection: self.connection,
            operation: self.operation,
            authority,
            assertion: &self.controls.assertion,
            pre_read: &self.controls.pre_read,
            post_read: &self.controls.post_read,
            operation_bytes: &self.op_bytes,
            password: &self.password,
        }
    }
}

impl Decided<'_> {
    /// Judges again what changed since it was judged.
    pub(super) fn judge_again(&mut self) -> Result<(), Box<Told>> {
        if let Some(review) = &mut self.review {
            self.judged = review.judge_again(self.backend, self.kind, &self.controls, &self.op_bytes)?;
        }
        Ok(())
    }

    /// It cannot be judged again now.
    pub(super) fn too_much_changes(&self) -> Told {
        match &self.review {
            Some(review) => review.changed_again(),
            None => Told::open(out_of_service()),
        }
    }

    /// A refusal as the asker is told.
    pub(super) fn tell(&self, result: LdapResult) -> Told {
        match &self.review {
            Some(review) => review.tell(result),
            None => Told::open(result),
        }
    }

    /// What became of the update as the asker is told, and what only the log is.
    pub(super) fn disclose(&self, report: Result<Report, LdapResult>) -> (Result<Report, LdapResult>, LogNote) {
        match &self.review {
            Some(review) => review.disclose(self.backend, report),
            None => (report, LogNote::default()),
        }
    }
}

/// The `entryUUID` that a proposal brings: only an added entry needs one.
pub(super) fn uuid_for(kind: Kind) -> Result<[u8; 16], LdapResult> {
    if kind == Kind::Add { random_uuid() } else { Ok([0; 16]) }
}

/// A random UUID (RFC 9562 §5.4).
fn random_uuid() -> Result<[u8; 16], LdapResult> {
    let mut uuid = [0u8; 16];
    getrandom::fill(&mut uuid).map_err(|_| Refusal::NoRandomBytes)?;
    uuid[6] = uuid[6] & 0x0f | 0x40;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    Ok(uuid)
}

/// A backend's snapshot, or why there is none.
pub(crate) fn snapshot(backend: &Backend) -> Result<store::Snapshot, LdapResult> {
    backend.store.snapshot().map_err(|error| store_failure(&error))
}
