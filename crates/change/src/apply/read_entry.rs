//! Assertion, pre-read and post-read controls (RFC 4528, RFC 4527): what they see is the state between the proposals
//! before and after.
//!
//! Everything is read as the server: whoever judged the update has restricted what is wanted to what the asker may
//! read, checked its right to assert, and restricts a post-read again when it is answered. Does not know what the
//! operation does.

use ldap::{Filter, Strings};
use schema::MatchContext;
use store::{DescId, EntryId, StoreError};

use super::error::ApplyError;
use super::stored_entry::with_entry;
use super::work::Work;
use crate::proposal::Proposal;
use crate::refusal::Refusal;
use query::encode::{Selection, entry_op};
use query::entry::{EachRow, EntrySource, EntryView};
use query::facts::Facts;
use query::filter::{Matcher, Truth};
use query::rights::{ReadRight, Reader, Unrestricted};

impl Work<'_, '_> {
    /// Checks the assertion, and reads for a pre-read control, before an entry is changed.
    pub(super) fn read_before(&mut self, id: EntryId) -> Result<(), ApplyError> {
        let wanted = self.proposal.pre_read;
        if self.proposal.assertion.is_empty() && wanted.is_empty() {
            return Ok(());
        }
        let view = self.txn.view();
        let read = with_entry(&view, id, |entry| {
            assert(&self.facts, self.proposal, entry)?;
            if wanted.is_empty() { Ok(None) } else { read(&self.facts, self.proposal, wanted, entry).map(Some) }
        })?;
        self.pre_read = read;
        Ok(())
    }

    /// The assertion of an add is about an entry that is not there yet, so it is evaluated on what was added.
    pub(super) fn read_before_add(&mut self, id: EntryId) -> Result<(), ApplyError> {
        if self.proposal.assertion.is_empty() {
            return Ok(());
        }
        let view = self.txn.view();
        with_entry(&view, id, |entry| assert(&self.facts, self.proposal, entry))
    }

    /// Reads for a post-read control.
    pub(super) fn read_after(&mut self, id: EntryId) -> Result<(), ApplyError> {
        let wanted = self.proposal.post_read;
        if wanted.is_empty() {
            return Ok(());
        }
        let view = self.txn.view();
        let read = with_entry(&view, id, |entry| read(&self.facts, self.proposal, wanted, entry))?;
        self.post_read = Some(read);
        Ok(())
    }
}

/// What an entry's record does not hold, at the time of the proposal.
struct Dated<'d> {
    source: &'d dyn EntrySource,
    unix_seconds: i64,
}

impl EntrySource for Dated<'_> {
    fn children_count(&self, id: EntryId) -> Result<u64, StoreError> {
        self.source.children_count(id)
    }

    fn large_rows(&self, id: EntryId, desc: DescId, behind: &[u8], each: EachRow<'_>) -> Result<(), StoreError> {
        self.source.large_rows(id, desc, behind, each)
    }

    fn large_contains(&self, id: EntryId, desc: DescId, normal_form: &[u8]) -> Result<bool, StoreError> {
        self.source.large_contains(id, desc, normal_form)
    }

    fn unix_seconds(&self) -> Option<i64> {
        Some(self.unix_seconds)
    }
}

fn unix_seconds(proposal: &Proposal<'_>) -> i64 {
    i64::try_from(proposal.csn.time_us / 1_000_000).unwrap_or(i64::MAX)
}

fn assert(facts: &Facts, proposal: &Proposal<'_>, entry: &EntryView<'_>) -> Result<(), ApplyError> {
    if proposal.assertion.is_empty() {
        return Ok(());
    }
    let mut reader = ber::Reader::new(proposal.assertion);
    let filter =
        Filter::decode(&mut reader).map_err(|error| Refusal::MalformedAssertion { problem: error.to_string() })?;
    let mut matcher = Matcher::default();
    let now_unix_seconds = unix_seconds(proposal);
    matcher.compile(facts, &filter, MatchContext { now_unix_seconds });
    match matcher.matches_one(facts, entry, ReadRight::Search, &Unrestricted)? {
        Truth::True => Ok(()),
        Truth::False | Truth::Undefined => Err(Refusal::AssertionFailed.into()),
    }
}

fn read(facts: &Facts, proposal: &Proposal<'_>, wanted: &[u8], entry: &EntryView<'_>) -> Result<Vec<u8>, ApplyError> {
    let selectors: Strings<'_> = ldap::controls::decode_read_entry(Some(wanted))
        .map_err(|error| Refusal::MalformedReadEntry { problem: error.to_string() })?;
    let mut selection = Selection::default();
    selection.restart(facts, selectors.iter(), false);
    let mut out = Vec::new();
    let source = Dated { source: entry.source, unix_seconds: unix_seconds(proposal) };
    let entry = &EntryView { source: &source, ..*entry };
    entry_op(Reader::server(facts), entry, &mut selection, &mut Vec::new(), &mut out)?;
    Ok(out)
}
