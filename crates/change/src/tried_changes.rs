//! Change records tried on a copy in memory, as a root user would send them.
//!
//! What judges is `apply` itself. Knows nothing of why they are tried.

use ber::Writer;
use ldap::ldif::{LdifChange, LdifOperation};
use ldap::oids::control;
use ldap::{LdapResult, client};
use store::{StoreError, Trial};

use crate::apply::Report;
use crate::csn::CsnClock;
use crate::proposal::{Authority, Flags, Kind, Proposal};
use crate::refusal::Refusal;

/// See the module.
#[derive(Debug)]
pub struct TriedChanges {
    clock: CsnClock,
    root_dn: String,
    added: u64,
}

impl TriedChanges {
    /// Changes of that root user.
    #[must_use]
    pub fn new(root_dn: &str) -> Self {
        Self { clock: CsnClock::default(), root_dn: root_dn.to_owned(), added: 0 }
    }

    /// Tries a change: its proposal where it is accepted, what the server would answer where it is refused.
    ///
    /// # Errors
    /// When the data cannot be read.
    pub fn apply(
        &mut self,
        trial: &mut Trial<'_>,
        request: &LdifChange,
    ) -> Result<Result<Vec<u8>, LdapResult>, StoreError> {
        let proposal = self.proposal(request);
        let outcome = trial.apply(&proposal)?;
        Ok(match Report::decode(&outcome.response) {
            _ if outcome.accepted => Ok(proposal),
            Some(report) => Err(report.result),
            None => Err(Refusal::UnreadableReport.into()),
        })
    }

    fn proposal(&mut self, request: &LdifChange) -> Vec<u8> {
        let mut bytes = Vec::new();
        client::change_op(&mut Writer::new(&mut bytes), request);
        let mut flags = Flags::default();
        for control in &request.controls {
            match control.oid.as_str() {
                control::RELAX => flags.set(Flags::RELAX),
                control::PERMISSIVE_MODIFY => flags.set(Flags::PERMISSIVE_MODIFY),
                _ => {}
            }
        }
        self.added += 1;
        let proposal = Proposal {
            kind: match request.operation {
                LdifOperation::Add(_) => Kind::Add,
                LdifOperation::Delete => Kind::Delete,
                LdifOperation::Modify(_) => Kind::Modify,
                LdifOperation::ModifyDn { .. } => Kind::ModifyDn,
            },
            flags,
            csn: self.clock.next(),
            // Any that no entry has: it is never seen.
            entry_uuid: (u128::MAX - u128::from(self.added)).to_be_bytes(),
            connection: 0,
            operation: 0,
            authority: Authority::Root { dn: &self.root_dn },
            assertion: b"",
            pre_read: b"",
            post_read: b"",
            operation_bytes: &bytes,
            password: &[],
        };
        proposal.encode()
    }
}
