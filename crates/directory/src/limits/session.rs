//! The limits of a session: found out when it binds, kept with it, looked at again once a second while it searches.
//!
//! A changed configuration holds from the next search on. A changed entry, group or name takes effect for who is bound within a
//! second, and costs one read of the entry a second at most: nothing on the way of a search.

use std::time::{Duration, Instant};

use schema::{MatchContext, NormalizedDn};
use store::{EntryId, Snapshot, StoreError};

use super::rules::Subject;
use super::{OwnLimits, SessionLimits};
use crate::access::Access;
use crate::backend::holder;
use crate::directory::Directory;
use crate::entry::{DnParts, EntryView};
use crate::facts::Facts;
use crate::filter::{FilterScratch, Matcher, Truth};
use crate::groups::Place;
use crate::locate::locate;
use crate::session::{Identity, Session};

/// How long a session goes by what was read.
const READ_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Attributes that name a group's members.
const MEMBER_ATTRIBUTES: [&[u8]; 2] = [b"member", b"uniqueMember"];

/// What a session keeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    limits: SessionLimits,
    /// `None`: not yet.
    read_at: Option<Instant>,
}

impl Default for Kept {
    fn default() -> Self {
        Kept { limits: SessionLimits::UNLIMITED, read_at: None }
    }
}

/// What a bind makes of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Who it is from now on.
    pub identity: Identity,
    /// What it may spend.
    pub limits: SessionLimits,
}

impl Session {
    /// Takes over what a bind decided, at `now`.
    pub fn take(&mut self, bound: Bound, now: Instant) {
        self.identity = bound.identity;
        self.transaction.borrow_mut().abort();
        self.limits.set(Kept { limits: bound.limits, read_at: Some(now) });
    }

    /// Silence after which the connection is closed, as of its last bind or search; `None` is never.
    #[must_use]
    pub fn idle_limit(&self) -> Option<Duration> {
        self.limits.get().limits.idle
    }
}

impl Directory {
    /// A session of a client that has just come, at `now`.
    #[must_use]
    pub fn session(&self, connection: u64, now: Instant) -> Session {
        let mut session = Session::anonymous(connection);
        session.take(self.nobody(), now);
        session
    }

    /// What a failed bind leaves of a session.
    #[must_use]
    pub fn nobody(&self) -> Bound {
        Bound { identity: Identity::Anonymous, limits: self.limits.rules().anonymous() }
    }

    /// What a session may spend now.
    pub(crate) fn limits_of(&self, session: &Session, now: Instant) -> SessionLimits {
        let kept = session.limits.get();
        let is_fresh = |at: Instant| now.saturating_duration_since(at) < READ_AGAIN_AFTER;
        match (kept.read_at, &session.identity) {
            _ if kept.limits.generation != self.limits.generation() => self.read_again(session, now),
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

    fn find_limits(&self, identity: &Identity) -> Result<SessionLimits, StoreError> {
        let facts = self.facts();
        let rules = self.limits.rules();
        match identity {
            Identity::Anonymous => Ok(rules.anonymous()),
            Identity::Root { dn } => self.limits_by_rules(&facts, dn, None, true),
            Identity::User { backend, entry, dn } => {
                let at = *backend;
                let Some(backend) = self.backends.get(at) else {
                    return self.limits_by_rules(&facts, dn, None, false);
                };
                let snapshot = backend.store.snapshot()?;
                let view = snapshot.view();
                // Whoever was deleted keeps the connection, and what rules give to the name.
                let Some(record) = view.entry(*entry)? else {
                    return self.limits_by_rules(&facts, dn, None, false);
                };
                let own = match self.given_limits(&facts, Place { backend: at, id: *entry }, &snapshot)? {
                    Some(own) => own,
                    None => OwnLimits::read(&facts.own_limits, &view, &record.view()?)?,
                };
                if rules.is_empty() {
                    return Ok(own.over(rules.without_rules(false)));
                }
                let renamed = view.dn_of(*entry)?;
                let shown = renamed.as_deref().unwrap_or(dn);
                Ok(own.over(self.limits_by_rules(&facts, shown, None, false)?))
            }
        }
    }

    /// What rules and global limits give to the client of that name.
    pub(crate) fn limits_by_rules(
        &self,
        facts: &Facts,
        shown: &str,
        name: Option<&NormalizedDn>,
        is_root: bool,
    ) -> Result<SessionLimits, StoreError> {
        let rules = self.limits.rules();
        if rules.is_empty() {
            return Ok(rules.without_rules(is_root));
        }
        let parsed;
        let name = match name {
            Some(name) => name,
            None => {
                parsed = NormalizedDn::parse(&facts.schema, shown.as_bytes()).unwrap_or_default();
                &parsed
            }
        };
        let subject = Subject { name, shown, is_root };
        rules.of(&subject, &mut |group| self.is_member(facts, group, shown))
    }

    /// Groups that rules name and that do not exist: rule and group. Until they do, the rules speak of nobody.
    ///
    /// # Errors
    /// When a database cannot be read.
    pub fn missing_limit_groups(&self) -> Result<Vec<(String, String)>, StoreError> {
        let rules = self.limits.rules();
        let mut missing = Vec::new();
        for (rule, shown, group) in rules.groups() {
            if self.find_group(group)?.is_none() {
                missing.push((rule.to_owned(), shown.to_owned()));
            }
        }
        Ok(missing)
    }

    /// Whether the entry `group` lists `dn` as a member. One look-up per attribute, however many members there are; groups in
    /// groups and dynamic groups do not count.
    fn is_member(&self, facts: &Facts, group: &NormalizedDn, dn: &str) -> Result<bool, StoreError> {
        match self.find_group(group)? {
            Some((snapshot, id)) => lists_member(facts, &snapshot, id, dn),
            None => Ok(false),
        }
    }

    fn find_group(&self, group: &NormalizedDn) -> Result<Option<(Snapshot, EntryId)>, StoreError> {
        let Some((at, suffix)) = holder(&self.backends, group.as_bytes()) else { return Ok(None) };
        let Some(backend) = self.backends.get(at) else { return Ok(None) };
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
        matcher.compile_one(facts, Access::Root, attribute, Some(dn.as_bytes()), context);
        if matcher.matches(facts, &entry, &mut FilterScratch::default())? == Truth::True {
            return Ok(true);
        }
    }
    Ok(false)
}
