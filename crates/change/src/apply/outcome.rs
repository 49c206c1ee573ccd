//! What `apply` reports to the proposer: as bytes, because it passes through the store, which does not look into it.
//!
//! Plain success, by far the most common, has no bytes at all.

use ldap::{ControlBuf, LdapResult, ResultCode, oids};

use super::plugins::queue::Tally;
use crate::parts::{put, take, take_text};

/// Bits of the flags of a report.
const HAS_MORE: u8 = 1;
const IS_JUDGED_ELSE: u8 = 2;

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
    /// Nothing was done: what the update is about is not what was judged, so it is to be judged again.
    pub is_judged_else: bool,
    /// What was done to references to names that changed, or waits; none for nothing.
    pub references: Option<ReferenceReport>,
}

/// References that followed names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReferenceReport {
    /// For each name that changed, or each job of a slice.
    pub jobs: Vec<Tally>,
    /// The names that changed; none for a slice, whose jobs have them.
    pub names: Vec<String>,
    /// The new name, if an entry was renamed.
    pub new_name: Option<String>,
    /// Something waits in the queue.
    pub is_queued: bool,
    /// Where the next slice begins; none when nothing is left.
    pub cursor: Option<Vec<u8>>,
}

impl ReferenceReport {
    /// What two slices of one update did.
    pub(super) fn join(first: Option<Self>, second: Option<Self>) -> Option<Self> {
        match (first, second) {
            (Some(mut first), Some(second)) => {
                first.jobs.extend(second.jobs);
                first.names.extend(second.names);
                first.is_queued |= second.is_queued;
                Some(first)
            }
            (first, second) => first.or(second),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = vec![u8::from(self.is_queued), u8::from(self.cursor.is_some())];
        put(&mut out, self.cursor.as_deref().unwrap_or_default());
        let mut tallies = Vec::with_capacity(self.jobs.len() * 16);
        for tally in &self.jobs {
            tallies.extend_from_slice(&tally.entries.to_le_bytes());
            tallies.extend_from_slice(&tally.references.to_le_bytes());
        }
        put(&mut out, &tallies);
        out.push(u8::from(self.new_name.is_some()));
        put(&mut out, self.new_name.as_deref().unwrap_or_default().as_bytes());
        self.names.iter().for_each(|name| put(&mut out, name.as_bytes()));
        out
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let ([is_queued, has_cursor], mut rest) = bytes.split_first_chunk::<2>()?;
        let cursor = take(&mut rest)?.to_vec();
        let (numbers, _) = take(&mut rest)?.as_chunks::<8>();
        let (tallies, _) = numbers.as_chunks::<2>();
        let tally = |[entries, references]: &[[u8; 8]; 2]| Tally {
            entries: u64::from_le_bytes(*entries),
            references: u64::from_le_bytes(*references),
        };
        let jobs = tallies.iter().map(tally).collect();
        let new_name = match take_entry(&mut rest)? {
            Some(name) => Some(String::from_utf8(name).ok()?),
            None => None,
        };
        let mut names = Vec::new();
        while !rest.is_empty() {
            names.push(take_text(&mut rest)?);
        }
        Some(Self { jobs, names, new_name, is_queued: *is_queued == 1, cursor: (*has_cursor == 1).then_some(cursor) })
    }
}

impl Report {
    /// A result without entries.
    #[must_use]
    pub fn of(result: LdapResult) -> Self {
        let (has_more, is_judged_else) = (false, false);
        Self { result, pre_read: None, post_read: None, has_more, is_judged_else, references: None }
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
        if plain && self.pre_read.is_none() && self.post_read.is_none() && !self.has_more && self.references.is_none() {
            return Vec::new();
        }
        let mut out = self.result.code.as_i32().to_le_bytes().to_vec();
        out.push((u8::from(self.has_more) * HAS_MORE) | (u8::from(self.is_judged_else) * IS_JUDGED_ELSE));
        put(&mut out, self.result.matched_dn.as_bytes());
        put(&mut out, self.result.message.as_bytes());
        for entry in [&self.pre_read, &self.post_read] {
            out.push(u8::from(entry.is_some()));
            put(&mut out, entry.as_deref().unwrap_or_default());
        }
        let references = self.references.as_ref().map(ReferenceReport::encode);
        out.push(u8::from(references.is_some()));
        put(&mut out, references.as_deref().unwrap_or_default());
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
        let (flags, mut rest) = rest.split_first()?;
        let matched = take_text(&mut rest)?;
        let message = take_text(&mut rest)?;
        let pre_read = take_entry(&mut rest)?;
        let post_read = take_entry(&mut rest)?;
        let references = match take_entry(&mut rest)? {
            Some(bytes) => Some(ReferenceReport::decode(&bytes)?),
            None => None,
        };
        let mut referrals = Vec::new();
        while !rest.is_empty() {
            referrals.push(take_text(&mut rest)?);
        }
        let result = LdapResult::new(ResultCode::from_i32(i32::from_le_bytes(*code)), message)
            .with_matched_dn(matched)
            .with_referrals(referrals);
        let (has_more, is_judged_else) = (flags & HAS_MORE != 0, flags & IS_JUDGED_ELSE != 0);
        Some(Self { result, pre_read, post_read, has_more, is_judged_else, references })
    }
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
            is_judged_else: false,
            references: Some(ReferenceReport {
                jobs: vec![Tally { entries: 1, references: 2 }, Tally::default()],
                names: vec!["dc=a".to_owned(), "dc=b".to_owned()],
                new_name: Some("dc=c".to_owned()),
                is_queued: true,
                cursor: Some(b"here".to_vec()),
            }),
        };
        assert_eq!(Report::decode(&full.encode()), Some(full.clone()));
        assert_eq!(full.controls().len(), 1);
        let again = Report { is_judged_else: true, ..Report::of(crate::Refusal::JudgedElse.into()) };
        assert_eq!(Report::decode(&again.encode()), Some(again));
        for end in 1..20 {
            assert_eq!(Report::decode(&full.encode()[..end]), None);
        }
    }
}
