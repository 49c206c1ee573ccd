//! An update judged a second time, by proposed instructions: what differs is counted, and the update goes on as it was
//! judged the first time.
//!
//! Here and not later, because an update changes the entries that it is judged by.

use std::sync::Arc;

use access::Right;
use change::proposal::Kind;

use super::context::UpdateContext;
use super::rights::{End, Judge, Matter, Notes, Verdict};
use crate::needs::{Need, first_other};
use crate::one_moment::at_one_moment;
use crate::search::RequestTime;
use crate::session::Session;
use crate::shadow::{LeftOut, Observed, Request};

impl UpdateContext<'_> {
    /// Compares with how a request was judged.
    #[cold]
    pub(super) fn compare_judgement(
        &self,
        session: &Session,
        judge: &Judge,
        matter: Matter<'_, '_>,
        judged: Result<(), &End>,
    ) {
        let Some(proposed) = self.shadow.proposed().filter(|_| !judge.rights.bypasses_acl()) else { return };
        // It is judged again on a pool.
        if matches!(judged, Err(End::TakesLong)) {
            return;
        }
        proposed.guard(|| {
            let Judge { identity, facts, reading, .. } = judge;
            let now_unix_seconds = RequestTime::now().unix_seconds;
            let other = Judge {
                rights: proposed.control.rights_apart(session, facts, reading, now_unix_seconds)?,
                identity: identity.clone(),
                facts: Arc::clone(facts),
                reading: reading.clone(),
            };
            let is_granted = judged.is_ok();
            let mut would_be = other.judge(matter);
            if would_be.is_ok() != is_granted {
                let is_same = |(now, then): &(Result<Verdict, End>, Result<Verdict, End>)| now.is_ok() == then.is_ok();
                let both = || Ok((judge.judge(matter), other.judge(matter)));
                let ((_, again), _) = at_one_moment(&reading.backends, is_same, both)?;
                would_be = again;
            }
            if matches!(would_be, Err(End::TakesLong)) {
                proposed.tally.left_out(LeftOut::TookLong);
                return Ok(());
            }
            let mut differences = Vec::new();
            if would_be.is_ok() != is_granted {
                let entry = String::from_utf8_lossy(matter.request.entry());
                let of = Observed::of(session, request_of(matter.kind), (right_of(matter.kind), &entry));
                let of = Observed { is_lost: is_granted, ..of };
                let (now, then) = (needs(judge, matter), needs(&other, matter));
                differences.push(match first_other(&now, &then) {
                    Some(both) => of.decided(both, proposed.numbering()),
                    None => of,
                });
            }
            proposed.tally.compared(differences);
            Ok(())
        });
    }
}

/// What a judgement asks for, with reasons.
fn needs(judge: &Judge, matter: Matter<'_, '_>) -> Vec<Need> {
    let notes = Notes::default();
    // How it ends is known.
    let _ = judge.explain(matter, &notes);
    notes.needs.into_inner()
}

fn request_of(kind: Kind) -> Request {
    match kind {
        Kind::Add => Request::Add,
        Kind::Delete => Request::Delete,
        Kind::ModifyDn => Request::ModifyDn,
        Kind::PasswordModify => Request::PasswordModify,
        Kind::Refresh => Request::Refresh,
        _ => Request::Modify,
    }
}

/// What is needed first.
fn right_of(kind: Kind) -> Right {
    match kind {
        Kind::Add => Right::Add,
        Kind::Delete => Right::Delete,
        _ => Right::Write,
    }
}
