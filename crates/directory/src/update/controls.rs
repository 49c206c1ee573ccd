//! Controls of updates: which are taken with which operation, and the answer to a critical one that is not (RFC 4511
//! §4.1.11).

use ldap::oids::control;
use ldap::{Controls, LdapResult, controls as codec};

use crate::refusal::Refusal;
use access::{Identity, SessionLimits};
use change::proposal::{Flags, Kind};
use query::error::malformed_control;

/// What the controls of an update ask for.
#[derive(Debug, Default)]
pub(super) struct UpdateControls<'c> {
    pub(super) flags: Flags,
    assertion: &'c [u8],
    pre_read: &'c [u8],
    post_read: &'c [u8],
    /// The transaction that the update is part of (RFC 5805).
    pub(super) transaction: Option<&'c [u8]>,
}

/// The same, kept.
#[derive(Debug, Default)]
pub(crate) struct OwnedControls {
    pub(crate) flags: Flags,
    pub(crate) assertion: Vec<u8>,
    pub(crate) pre_read: Vec<u8>,
    pub(crate) post_read: Vec<u8>,
    pub(crate) transaction: Option<Vec<u8>>,
}

impl OwnedControls {
    /// Bytes of their values.
    pub(super) fn value_bytes(&self) -> usize {
        self.assertion.len() + self.pre_read.len() + self.post_read.len()
    }
}

impl<'c> UpdateControls<'c> {
    /// Reads the controls of a request of that kind.
    pub(super) fn read(
        controls: &Controls<'c>,
        kind: Kind,
        identity: &Identity,
        limits: &dyn Fn() -> SessionLimits,
    ) -> Result<Self, LdapResult> {
        let mut wanted = Self::default();
        for item in controls.iter() {
            let oid = std::str::from_utf8(item.oid).unwrap_or_default();
            let value = item.value;
            match (oid, kind) {
                (control::MANAGE_DSA_IT, _) => wanted.flags.set(Flags::MANAGE_DSA_IT),
                // This server is no copy (RFC 6171 §3).
                (control::DONT_USE_COPY, _) => {}
                (control::NO_OP | control::NO_OP_OPENLDAP, _) => wanted.flags.set(Flags::NO_OP),
                (control::RELAX, _) if identity.is_root() => wanted.flags.set(Flags::RELAX),
                (control::RELAX, _) => {
                    return Err(Refusal::RelaxedByUser.into());
                }
                (control::PERMISSIVE_MODIFY, Kind::Modify) => wanted.flags.set(Flags::PERMISSIVE_MODIFY),
                (control::SUBTREE_DELETE, Kind::Delete) => wanted.flags.set(Flags::SUBTREE_DELETE),
                (control::TRANSACTION_SPECIFICATION, kind) if kind != Kind::Refresh => {
                    wanted.transaction = Some(value.ok_or(Refusal::NoTransactionIdentifier)?);
                }
                (control::ASSERTION, _) => {
                    let filter = codec::decode_assertion(value).map_err(malformed_control("assertion"))?;
                    limits().check_filters([&filter])?;
                    wanted.assertion = value.unwrap_or_default();
                }
                (control::PRE_READ, Kind::Modify | Kind::Delete | Kind::ModifyDn) => {
                    codec::decode_read_entry(value).map_err(malformed_control("pre-read"))?;
                    wanted.pre_read = value.unwrap_or_default();
                }
                (control::POST_READ, Kind::Modify | Kind::Add | Kind::ModifyDn) => {
                    codec::decode_read_entry(value).map_err(malformed_control("post-read"))?;
                    wanted.post_read = value.unwrap_or_default();
                }
                (control::PASSWORD_POLICY, Kind::Add | Kind::Modify | Kind::PasswordModify) => {
                    check_password_policy_request(value)?;
                }
                _ if item.critical => {
                    return Err(Refusal::critical_control(item.oid).into());
                }
                _ => {}
            }
        }
        Ok(wanted)
    }

    /// Whether none of them was given that an update of what is no backend's entry could not obey.
    pub(super) fn asks_nothing(&self) -> bool {
        let asks = [Flags::NO_OP, Flags::SUBTREE_DELETE].into_iter().any(|flag| self.flags.has(flag));
        let values = [self.assertion, self.pre_read, self.post_read];
        !asks && values.iter().all(|value| value.is_empty()) && self.transaction.is_none()
    }

    pub(super) fn owned(&self) -> OwnedControls {
        OwnedControls {
            flags: self.flags,
            assertion: self.assertion.to_vec(),
            pre_read: self.pre_read.to_vec(),
            post_read: self.post_read.to_vec(),
            transaction: self.transaction.map(<[u8]>::to_vec),
        }
    }
}

/// The request control of the password policy has no value.
fn check_password_policy_request(value: Option<&[u8]>) -> Result<(), Refusal> {
    if value.is_some() { Err(Refusal::PolicyControlValue) } else { Ok(()) }
}
