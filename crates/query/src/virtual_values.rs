//! The values of the operational attributes that the server computes.
//!
//! Knows one entry at a time.

use std::sync::Arc;

use accounts::{Account, Moment, PasswordPolicy};
use store::StoreError;
use store::record::{Timestamp, put_value};

use crate::account_state;
use crate::class_flags::ClassFlags;
use crate::dynamic_entry::expires_at;
use crate::entry::EntryView;
use crate::facts::Facts;
use crate::virtual_attributes::{SCHEMA_DN, VirtualAttribute};

impl VirtualAttribute {
    /// Appends the values in wire form; `false` when the entry has none.
    pub fn put(self, facts: &Facts, entry: &EntryView<'_>, out: &mut Vec<u8>) -> Result<bool, StoreError> {
        match self {
            VirtualAttribute::EntryDn => {
                ber::put_header(out, ber::OCTET_STRING, entry.dn.len());
                entry.dn.put(out);
            }
            VirtualAttribute::HasSubordinates => {
                let has = entry.source.has_children(entry.id)?;
                put_value(out, if has { b"TRUE" } else { b"FALSE" });
            }
            VirtualAttribute::NumSubordinates => put_number(out, entry.source.children_count(entry.id)?),
            VirtualAttribute::SubschemaSubentry => put_value(out, SCHEMA_DN.as_bytes()),
            VirtualAttribute::StructuralObjectClass => {
                let Some(class) = facts.structural_class(entry.record.object_classes()) else { return Ok(false) };
                put_value(out, class.as_bytes());
            }
            VirtualAttribute::IsMemberOf | VirtualAttribute::MemberOf => {
                let Some(groups) = entry.source.groups().filter(|groups| groups.offers(self)) else { return Ok(false) };
                return groups.put_groups(entry, out);
            }
            VirtualAttribute::EntryTtl => {
                let Some(until) = expires_at(facts, &entry.record) else { return Ok(false) };
                let now = entry.source.unix_seconds().and_then(|now| u64::try_from(now).ok());
                put_number(out, until.saturating_sub(now.unwrap_or(until)));
            }
            VirtualAttribute::PwdPolicySubentry => {
                let Some(policy) = policy_of(facts, entry)? else { return Ok(false) };
                put_value(out, policy.dn.as_bytes());
            }
            VirtualAttribute::PasswordExpirationTime => {
                let Some(policy) = policy_of(facts, entry)? else { return Ok(false) };
                let state = account_state::read(facts, entry, &policy)?;
                let now = entry.source.unix_seconds().and_then(|now| u64::try_from(now).ok()).unwrap_or_default();
                let account = Account { policy: &policy, state: &state, now: Moment(now.saturating_mul(1000)) };
                let Some(at) = account.expiry().at else { return Ok(false) };
                let mut text = Vec::new();
                Timestamp { ms: at.0, has_ms: true }.write(&mut text);
                put_value(out, &text);
            }
        }
        Ok(true)
    }
}

/// The password policy in force for an entry; subentries have none.
fn policy_of(facts: &Facts, entry: &EntryView<'_>) -> Result<Option<Arc<PasswordPolicy>>, StoreError> {
    if facts.class_flags(entry.record.object_classes()).has(ClassFlags::SUBENTRY) {
        return Ok(None);
    }
    entry.source.password_policy(entry)
}

/// A decimal number without allocating for it.
fn put_number(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        if let Some(digit) = digits.get_mut(at) {
            *digit = b'0' + (rest % 10) as u8;
        }
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    put_value(out, digits.get(at..).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal() {
        for number in [0, 7, 10, 4_000, u64::MAX] {
            let mut out = Vec::new();
            put_number(&mut out, number);
            assert_eq!(&out[2..], number.to_string().as_bytes());
        }
    }
}
