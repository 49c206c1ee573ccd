//! The limits of a session: found out when it binds, kept with it, looked at again once a second while it searches.
//!
//! A changed configuration holds from the next search on. A changed entry, group or name takes effect for who is bound
//! within a second, and costs one read of the entry a second at most: nothing on the way of a search.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use query::backend::holder;
use query::entry::{DnParts, EntryView};
use query::entry_place::EntryPlace;
use query::facts::Facts;
use query::filter::Asker;
use query::filter::{FilterScratch, Matcher, Truth};
use query::locate::locate;
use query::read_moment::ReadContext;
use schema::{MatchContext, NormalizedDn};
use store::{EntryId, Snapshot, StoreError};

use super::kept::Kept;
use super::own::given_limits;
use super::rules::Subject;
use super::{Bound, LiveLimits, OwnLimits, SessionLimits};
use crate::identity::Identity;
use crate::session::Session;

/// How long a session goes by what was read.
const READ_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Attributes that name a group's members.
const MEMBER_ATTRIBUTES: [&[u8]; 2] = [b"member", b"uniqueMember"];

impl Session {
    /// Takes over what a bind decided, at `now`.
    pub fn take(&mut self, bound: Bound, now: Instant) {
        self.identity = bound.identity;
        self.authentication = bound.authentication;
        self.bound_at = Some(now);
        self.rights = RefCell::default();
        self.standing = bound.standing;
        self.limits.set(Kept { limits: bound.limits, read_at: Some(now) });
    }

    /// Silence after which the connection is closed, as of its last bind or search; `None` is never.
    #[must_use]
    pub fn idle_limit(&self) -> Option<Duration> {
        self.limits.get().limits.idle
    }
}

/// Finds out what sessions may spend: the rules in force, with what it takes to look entries and groups up.
#[derive(Clone, Copy)]
pub struct LimitsFinder<'d> {
    /// The rules.
    pub live: &'d LiveLimits,
    /// The schema.
    pub facts: &'d Arc<Facts>,
    /// Where entries are.
    pub context: &'d ReadContext,
}

impl LimitsFinder<'_> {
    /// What a session may spend now.
    #[inline]
    #[must_use]
    pub fn of_session(&self, session: &Session, now: Instant) -> SessionLimits {
        let kept = session.limits.get();
        let is_fresh = |at: Instant| now.saturating_duration_since(at) < READ_AGAIN_AFTER;
        match (kept.read_at, &session.identity) {
            _ if kept.limits.generation != self.live.generation() => self.read_again(session, now),
            (Some(at), Identity::User { .. }) if is_fresh(at) => kept.limits,
            (Some(_), Identity::Anonymous | Identity::Root { .. }) => kept.limits,
            _ => self.read_again(session, now),
        }
    }

    #[cold]
    fn read_again(&self, session: &Session, now: Instant) -> SessionLimits {
        // Where the database cannot be read, the search says so; until then nothing changes.
        let limits = self.find_limits(&session.identity).unwrap_or(session.limits.get().limits);
        session.limits.set(Kept { limits, read_at: Some(now) });
        limits
    }

    pub(super) fn find_limits(&self, identity: &Identity) -> Result<SessionLimits, StoreError> {
        let facts = self.facts;
        let rules = self.live.rules();
        match identity {
            Identity::Anonymous => Ok(rules.anonymous()),
            Identity::Root { dn } => self.by_rules(dn, None, true),
            Identity::User { backend, entry, dn } => {
                let at = *backend;
                let Some(backend) = self.context.backends.get(at.0) else {
                    return self.by_rules(dn, None, false);
                };
                let snapshot = backend.store.snapshot()?;
                let view = snapshot.view();
                // A client whose entry was deleted keeps its connection, and the limits that rules give to its name.
                let Some(record) = view.entry(*entry)? else {
                    return self.by_rules(dn, None, false);
                };
                let own = match given_limits(self.context, facts, EntryPlace { backend: at, id: *entry }, &snapshot)? {
                    Some(own) => own,
                    None => OwnLimits::read(&facts.own_limits, &view, &record.view()?)?,
                };
                if rules.is_empty() {
                    return Ok(own.over(rules.without_rules(false)));
                }
                let renamed = view.dn_of(*entry)?;
                let shown = renamed.as_deref().unwrap_or(dn);
                Ok(own.over(self.by_rules(shown, None, false)?))
            }
        }
    }

    /// What rules and global limits give to the client of that name.
    ///
    /// # Errors
    /// When a database cannot be read.
    pub fn by_rules(
        &self,
        shown: &str,
        name: Option<&NormalizedDn>,
        is_root: bool,
    ) -> Result<SessionLimits, StoreError> {
        let rules = self.live.rules();
        if rules.is_empty() {
            return Ok(rules.without_rules(is_root));
        }
        let parsed;
        let name = match name {
            Some(name) => name,
            None => {
                parsed = NormalizedDn::parse(&self.facts.schema, shown.as_bytes()).unwrap_or_default();
                &parsed
            }
        };
        let subject = Subject { name, shown, is_root };
        rules.of(&subject, &mut |group| self.is_member(group, shown))
    }

    /// Groups that rules name and that do not exist: rule and group. Until they do, the rules apply to nobody.
    ///
    /// # Errors
    /// When a database cannot be read.
    pub fn missing_groups(&self) -> Result<Vec<(String, String)>, StoreError> {
        let rules = self.live.rules();
        let mut missing = Vec::new();
        for (rule, shown, group) in rules.groups() {
            if self.find_group(group)?.is_none() {
                missing.push((rule.to_owned(), shown.to_owned()));
            }
        }
        Ok(missing)
    }

    /// Whether the entry `group` lists `dn` as a member. One look-up per attribute, however many members there are;
    /// groups in groups and dynamic groups do not count.
    pub(super) fn is_member(&self, group: &NormalizedDn, dn: &str) -> Result<bool, StoreError> {
        match self.find_group(group)? {
            Some((snapshot, id)) => lists_member(self.facts, &snapshot, id, dn),
            None => Ok(false),
        }
    }

    fn find_group(&self, group: &NormalizedDn) -> Result<Option<(Snapshot, EntryId)>, StoreError> {
        let Some((at, suffix)) = holder(&self.context.backends, group.as_bytes()) else { return Ok(None) };
        let Some(backend) = self.context.backends.get(at.0) else { return Ok(None) };
        let snapshot = backend.store.snapshot()?;
        let found = locate(&snapshot.view(), &suffix.normalized, group.as_bytes())?.found();
        Ok(found.map(|id| (snapshot, id)))
    }
}

fn lists_member(facts: &Facts, snapshot: &Snapshot, id: EntryId, dn: &str) -> Result<bool, StoreError> {
    let view = snapshot.view();
    let Some(record) = view.entry(id)? else { return Ok(false) };
    let record = record.view()?;
    let entry = EntryView { id, record, dn: DnParts::whole(b""), source: &view };
    let mut matcher = Matcher::default();
    let context = MatchContext { now_unix_seconds: 0 };
    for attribute in MEMBER_ATTRIBUTES {
        matcher.compile_one(facts, attribute, Some(dn.as_bytes()), context);
        if matcher.matches(facts, &entry, Asker::SERVER, &mut FilterScratch::default())? == Truth::True {
            return Ok(true);
        }
    }
    Ok(false)
}
