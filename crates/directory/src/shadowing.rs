//! Which requests are compared with what is proposed, and how: searches and compares beside the loops, on a thread that
//! the server gives; controls, extended operations and updates where they are decided, because an update changes what
//! it is decided by.
//!
//! Nothing that goes wrong here reaches an answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use access::{AccessError, AccessSettings, EntryRights, OidDecision, Question, Right, Rights};
use config::Config;
use ldap::{Controls, Operation, SearchRequest};
use query::entry::EntryView;
use query::error::shown;
use query::facts::Facts;
use query::notices::NoticeKind;
use query::read_moment::ReadAt;
use schema::NormalizedDn;
use store::StoreError;

use crate::access_settings::{access_settings, proposal};
use crate::comparison::{Bounds, Change, Comparison, Difference, Side, Sides, Untold};
use crate::decision::Asked;
use crate::decision::kept::KeptRead;
use crate::directory::Directory;
use crate::needs::{Need, What};
use crate::open_error::OpenError;
use crate::search::RequestTime;
use crate::session::Session;
use crate::shadow::{Entries, LeftOut, Observed, Proposal, Proposed, ProposedEntries, Request};

/// Bytes of a request that is kept to be compared.
const REQUEST_BYTES_MAX: usize = 64 * 1024;

/// Entries of one search that are compared.
const ENTRIES_MAX: usize = 1_000;

/// How long one comparison of a search may take.
const TIME_MAX: Duration = Duration::from_secs(2);

/// A request that waits to be compared.
pub struct ShadowRequest {
    proposed: Arc<Proposed>,
    session: Box<Session>,
    asked: KeptRead,
    unix_seconds: i64,
}

impl Directory {
    /// Whether instructions are proposed: all that a request costs while none are.
    #[inline]
    #[must_use]
    pub fn tries_proposed_instructions(&self) -> bool {
        self.shadow.is_on()
    }

    /// What a configuration proposes.
    ///
    /// # Errors
    /// When the file with instructions of entries cannot be tried.
    pub(crate) fn proposal(&self, config: &Config, in_force: &AccessSettings) -> Result<Option<Proposal>, OpenError> {
        let entries = match &config.access_control.proposed_aci_file {
            None => None,
            Some(path) => {
                let before = self.shadow.proposed();
                let before = before.as_ref().and_then(|before| before.entries());
                let entries = Entries { facts: &self.facts(), backends: &self.backends };
                Some(Arc::new(ProposedEntries::read(path, entries, before.map(|before| &**before))?))
            }
        };
        Ok(proposal(config, in_force, entries))
    }

    /// Tries a proposal from now on. Returns whether it is another one.
    ///
    /// # Errors
    /// When an instruction is not valid.
    pub(crate) fn propose(&self, proposal: Option<Proposal>) -> Result<bool, AccessError> {
        self.shadow.set(&self.access_control, proposal, |control| {
            // What cannot be read is counted when requests are compared.
            let _ = control.problems(&self.facts(), &self.reading);
        })
    }

    /// Tries what is configured when the directory opens. A file that cannot be tried any more keeps nobody from
    /// starting.
    ///
    /// # Errors
    /// When an instruction of the configuration is not valid.
    pub(crate) fn propose_at_start(&self, config: &Config) -> Result<(), OpenError> {
        let in_force = access_settings(config, &self.schema())?;
        let proposed = self.proposal(config, &in_force).unwrap_or_else(|error| {
            let sentence = format!("The proposed instructions of entries are not tried: {error}");
            self.notices.warn(NoticeKind::Proposal, &sentence);
            proposal(config, &in_force, None)
        });
        self.propose(proposed)?;
        Ok(())
    }

    /// A search or compare of somebody whom instructions are asked about, to be given to
    /// [`Directory::compare_with_proposed`] on another thread.
    #[must_use]
    pub fn shadow_request(
        &self,
        session: &Session,
        operation: &Operation<'_>,
        time: RequestTime,
    ) -> Option<ShadowRequest> {
        let proposed = self.shadow.proposed()?;
        let bytes = match operation {
            Operation::Search(search) => search.encoded().len(),
            Operation::Compare(compare) => compare.entry.len() + compare.attribute.len(),
            _ => return None,
        };
        // What cannot be read is told to the client by the request itself.
        if self.rights_of(session, time.unix_seconds).ok()?.bypasses_acl() {
            return None;
        }
        if bytes > REQUEST_BYTES_MAX {
            proposed.tally.left_out(LeftOut::TooLarge);
            return None;
        }
        let asked = KeptRead::of(operation)?;
        Some(ShadowRequest { proposed, session: Box::new(session.apart()), asked, unix_seconds: time.unix_seconds })
    }

    /// Decides a request by what is in force and by what is proposed, and counts what differs. Takes long: not for
    /// event loops.
    pub fn compare_with_proposed(&self, request: &ShadowRequest) {
        let proposed = &request.proposed;
        proposed.guard(|| {
            let started = Instant::now();
            let sides = Sides {
                now: Side::new(self, request.session.apart()),
                then: Side::with_other(self, (&proposed.control, &proposed.shapes), request.session.apart()),
                time: RequestTime { started, unix_seconds: request.unix_seconds },
                bounds: Bounds { entries_max: ENTRIES_MAX, until: Some(started + TIME_MAX) },
            };
            let (kind, comparison) = match &request.asked {
                KeptRead::Search(encoded) => {
                    let search = SearchRequest::decode(encoded).map_err(|_| StoreError::Closed)?;
                    (Request::Search, sides.search(&search)?)
                }
                KeptRead::Compare { dn, attribute } => {
                    let asked = Asked::Right { dn, right: Right::Compare, attribute: Some(attribute) };
                    (Request::Compare, sides.decide(asked)?)
                }
            };
            let differences = match comparison {
                Comparison::Same | Comparison::Untold(Untold::EntryGone) => Vec::new(),
                Comparison::Different(differences) => differences,
                Comparison::Untold(untold) => {
                    let is_late = untold == Untold::TookLong;
                    proposed.tally.left_out(if is_late { LeftOut::TookLong } else { LeftOut::TooLarge });
                    return Ok(());
                }
            };
            let observed = |difference: &Difference| observed(proposed, &request.session, kind, difference);
            proposed.tally.compared(differences.iter().map(observed).collect());
            Ok(())
        });
    }

    /// Compares the use of controls and of an extended operation, each by the name that decides about it.
    pub(crate) fn compare_uses(&self, session: &Session, rights: &Rights, uses: &Uses<'_, '_>, time: RequestTime) {
        let Some(proposed) = self.shadow.proposed().filter(|_| !rights.bypasses_acl()) else { return };
        proposed.guard(|| {
            let facts = self.facts();
            let then = proposed.control.rights_apart(session, &facts, &self.reading, time.unix_seconds)?;
            let mut differences = Vec::new();
            let mut note = |request, oid: String, now: Option<OidDecision>, would_be: Option<OidDecision>| {
                let is_granted = |decision: Option<OidDecision>| decision.is_some_and(|it| it.granted);
                if is_granted(now) != is_granted(would_be) {
                    let entry = String::from_utf8_lossy(uses.written);
                    let of = Observed::of(session, request, (Right::Read, &entry));
                    let of = Observed { is_lost: is_granted(now), attribute: Some(oid), ..of };
                    differences.push(of.used((rights, now), (&then, would_be), proposed.numbering()));
                }
            };
            if let Some(oid) = uses.extended {
                let oid = shown(oid);
                let (now, would_be) = (rights.extended_decision(&oid)?, then.extended_decision(&oid)?);
                note(Request::Extended, oid, now, would_be);
            }
            for item in uses.controls.iter() {
                let oid = shown(item.oid);
                let now = rights.control_decision(&oid, uses.target)?;
                let would_be = then.control_decision(&oid, uses.target)?;
                note(Request::Control, oid, now, would_be);
            }
            proposed.tally.compared(differences);
            Ok(())
        });
    }

    /// Compares the right to act as somebody else.
    pub(crate) fn compare_proxy(
        &self,
        (session, facts): (&Session, &Facts),
        (seen, entry): (ReadAt<'_>, &EntryView<'_>),
        is_granted: bool,
        time: RequestTime,
    ) {
        let Some(proposed) = self.shadow.proposed() else { return };
        proposed.guard(|| {
            let rights = self.rights_of(session, time.unix_seconds)?;
            if rights.bypasses_acl() {
                return Ok(());
            }
            let then = proposed.control.rights_apart(session, &self.facts(), &self.reading, time.unix_seconds)?;
            let mut dn = Vec::new();
            entry.dn.put(&mut dn);
            let dn = String::from_utf8_lossy(&dn).into_owned();
            let question = Question::entry(Right::Proxy);
            let (now, then) = (rights.at(seen)?, then.at(seen)?);
            let mut differences = Vec::new();
            if then.may(facts, entry, question)? != is_granted {
                let need = |rights: &EntryRights<'_>| {
                    let explanation = rights.explain(facts, entry, question)?;
                    let what = What::Right { right: Right::Proxy, dn: dn.clone(), attribute: None, value: None };
                    Ok::<_, StoreError>(Need { what, granted: explanation.granted, explanation: Some(explanation) })
                };
                let of = Observed::of(session, Request::ProxiedAuthorization, (Right::Proxy, &dn));
                let of = Observed { is_lost: is_granted, ..of };
                differences.push(of.decided((&need(&now)?, &need(&then)?), proposed.numbering()));
            }
            proposed.tally.compared(differences);
            Ok(())
        });
    }
}

/// Controls and an extended operation of one request.
pub(crate) struct Uses<'u, 'm> {
    pub(crate) extended: Option<&'u [u8]>,
    pub(crate) controls: Controls<'m>,
    /// The entry that the request is about, as it is written, and in its normal form.
    pub(crate) written: &'u [u8],
    pub(crate) target: &'u NormalizedDn,
}

impl ShadowRequest {
    /// There is no room for it.
    pub fn leave_out(&self) {
        self.proposed.tally.left_out(LeftOut::Busy);
    }
}

/// A difference of a search or compare as it is counted.
fn observed(proposed: &Proposed, session: &Session, request: Request, difference: &Difference) -> Observed {
    let (right, entry) = match (&difference.change, request) {
        (Change::Attribute { first, .. }, _) => (Right::Read, first.as_str()),
        (Change::Entries { first, .. }, _) => (Right::Search, first.as_str()),
        (_, Request::Compare) => (Right::Compare, difference.now.dn.as_str()),
        _ => (Right::Read, difference.now.dn.as_str()),
    };
    let of = Observed { is_lost: difference.is_lost, ..Observed::of(session, request, (right, entry)) };
    match difference.needs() {
        Some(needs) => of.decided(needs, proposed.numbering()),
        None => of,
    }
}
