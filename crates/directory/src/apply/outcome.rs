//! What `apply` tells the one who proposed: as bytes, because it passes through the store, which does not look into it.
//!
//! Plain success, by far the most common, has no bytes at all.

use ldap::{ControlBuf, LdapResult, ResultCode, oids};

/// What became of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Result code, matched DN, message, referrals.
    pub result: LdapResult,
    /// The entry before, as a pre-read response carries it (RFC 4527).
    pub pre_read: Option<Vec<u8>>,
    /// The entry after.
    pub post_read: Option<Vec<u8>>,
    /// A part was done: the same proposal is to be made again for the rest.
    pub has_more: bool,
}

impl Report {
    /// A result without entries.
    #[must_use]
    pub fn of(result: LdapResult) -> Self {
        Self { result, pre_read: None, post_read: None, has_more: false }
    }

    /// The response controls.
    #[must_use]
    pub fn controls(&self) -> Vec<ControlBuf> {
        let read =
            |oid: &str, entry: &Option<Vec<u8>>| entry.as_ref().map(|bytes| ControlBuf::new(oid, Some(bytes.clone())));
        let controls = [read(oids::control::PRE_READ, &self.pre_read), read(oids::control::POST_READ, &self.post_read)];
        controls.into_iter().flatten().collect()
    }

    /// The bytes; none for plain success.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let plain = self.result.is_success() && self.result.message.is_empty() && self.result.matched_dn.is_empty();
        if plain && self.pre_read.is_none() && self.post_read.is_none() && !self.has_more {
            return Vec::new();
        }
        let mut out = self.result.code.as_i32().to_le_bytes().to_vec();
        out.push(u8::from(self.has_more));
        put(&mut out, self.result.matched_dn.as_bytes());
        put(&mut out, self.result.message.as_bytes());
        for entry in [&self.pre_read, &self.post_read] {
            out.push(u8::from(entry.is_some()));
            put(&mut out, entry.as_deref().unwrap_or_default());
        }
        for url in &self.result.referrals {
            put(&mut out, url.as_bytes());
        }
        out
    }

    /// Reads [`Report::encode`]; `None` when it is not that.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self::of(LdapResult::success()));
        }
        let (code, rest) = bytes.split_first_chunk::<4>()?;
        let (has_more, mut rest) = rest.split_first()?;
        let matched = take_text(&mut rest)?;
        let message = take_text(&mut rest)?;
        let pre_read = take_entry(&mut rest)?;
        let post_read = take_entry(&mut rest)?;
        let mut referrals = Vec::new();
        while !rest.is_empty() {
            referrals.push(take_text(&mut rest)?);
        }
        let result = LdapResult::new(ResultCode::from_i32(i32::from_le_bytes(*code)), message)
            .with_matched_dn(matched)
            .with_referrals(referrals);
        Some(Self { result, pre_read, post_read, has_more: *has_more == 1 })
    }
}

fn put(out: &mut Vec<u8>, part: &[u8]) {
    out.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(part);
}

fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let (part, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *rest = after;
    Some(part)
}

fn take_text(rest: &mut &[u8]) -> Option<String> {
    String::from_utf8(take(rest)?.to_vec()).ok()
}

fn take_entry(rest: &mut &[u8]) -> Option<Option<Vec<u8>>> {
    let (present, after) = rest.split_first()?;
    *rest = after;
    let entry = take(rest)?;
    Some((*present == 1).then(|| entry.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_come_back() {
        let success = Report::of(LdapResult::success());
        assert!(success.encode().is_empty());
        assert_eq!(Report::decode(&[]), Some(success));
        let full = Report {
            result: LdapResult::new(ResultCode::REFERRAL, "over there")
                .with_matched_dn("dc=example,dc=com")
                .with_referrals(vec!["ldap://a.example/".to_owned(), "ldap://b.example/".to_owned()]),
            pre_read: Some(vec![1, 2]),
            post_read: None,
            has_more: true,
        };
        assert_eq!(Report::decode(&full.encode()), Some(full.clone()));
        assert_eq!(full.controls().len(), 1);
        for end in 1..20 {
            assert_eq!(Report::decode(&full.encode()[..end]), None);
        }
    }
}
