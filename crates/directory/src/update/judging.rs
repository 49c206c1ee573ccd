//! Has requests judged before anything else is done with them.
//!
//! Knows sessions and requests; how a judgement comes about is said by `rights`.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use access::{Identity, Rights};
use change::judged::Judged;
use change::proposal::Kind;
use ldap::{EntryRequest, LdapResult, MadeUpdate};
use query::backend::BackendIndex;
use query::error::store_failure;
use query::facts::Facts;

use super::context::UpdateContext;
use super::controls::OwnedControls;
use super::order::Order;
use super::review::Review;
use super::rights::{End, Judge, MOST_BELOW_AT_ONCE, Matter, Told, TreePart, may_everything};
use crate::refusal::Refusal;

/// What of a request is judged.
pub(super) struct Asked<'a, 'm> {
    pub(super) backend: BackendIndex,
    pub(super) kind: Kind,
    pub(super) request: &'a EntryRequest<'m>,
    /// Who asks, by the name that its entry has now.
    pub(super) identity: &'a Identity,
}

/// What was judged, and what goes with the update because of that: nothing with those of whoever may do everything.
pub(super) type Reviewed = (Judged, Option<Box<Review>>);

impl UpdateContext<'_> {
    /// What the session may do now.
    pub(super) fn rights_of(&self, order: &Order<'_, '_>, facts: &Arc<Facts>) -> Result<Arc<Rights>, LdapResult> {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now_unix_seconds = i64::try_from(unix.as_secs()).unwrap_or(i64::MAX);
        let rights = self.access_control.rights_of(order.session, facts, self.reading, now_unix_seconds);
        rights.map_err(|error| store_failure(&error))
    }

    /// Judges a request; an assertion that was evaluated goes from the controls.
    pub(super) fn review(
        &self,
        order: &Order<'_, '_>,
        asked: &Asked<'_, '_>,
        controls: &mut OwnedControls,
    ) -> Result<Reviewed, End> {
        let facts = self.facts();
        let rights = self.rights_of(order, &facts)?;
        if may_everything(&rights) {
            return Ok((Judged::Unneeded, None));
        }
        let judge = Judge { rights, identity: asked.identity.clone(), facts, reading: self.reading.clone() };
        let tree = TreePart::first(controls.transaction.is_some());
        let matter = Matter {
            backend: asked.backend,
            kind: asked.kind,
            flags: controls.flags,
            request: asked.request,
            assertion: &controls.assertion,
            wants_pre_read: !controls.pre_read.is_empty(),
            most_below: if order.may_be_slow { usize::MAX } else { MOST_BELOW_AT_ONCE },
            tree,
        };
        let judged = judge.judge(matter);
        if self.shadow.is_on() {
            self.compare_judgement(order.session, &judge, matter, judged.as_ref().map(drop));
        }
        let verdict = judged?;
        let assertion = if verdict.is_asserted { std::mem::take(&mut controls.assertion) } else { Vec::new() };
        Ok((verdict.judged, Some(Box::new(Review::new(judge, verdict, assertion, tree)))))
    }

    /// The same of a modify request that was made for another one.
    pub(super) fn review_made(
        &self,
        order: &Order<'_, '_>,
        asked: (&Identity, BackendIndex, Kind),
        made: &MadeUpdate,
        controls: &mut OwnedControls,
    ) -> Result<Reviewed, Box<Told>> {
        let (identity, backend, kind) = asked;
        let update = made.update().map_err(|error| Refusal::MadeRequest { problem: error.to_string() })?;
        match self.review(order, &Asked { backend, kind, request: update.request(), identity }, controls) {
            Ok(reviewed) => Ok(reviewed),
            Err(End::Refused(told)) => Err(told),
            // Only deletes take long.
            Err(End::TakesLong) => Err(Refusal::BackendOut.into()),
        }
    }
}
