//! Questions about access control, for tools and for the control: what can be said against its instructions, and how a
//! request would be decided.
//!
//! Does nothing of what it is asked about.

use std::sync::Arc;
use std::time::Instant;

use access::explanation::{Considered, Explanation, Outcome, Reason, name_of};
use access::inactive::inactive;
use access::limits::SearchLimit;
use access::lint::{Finding, Instruction, Presence, lint, wrong_names};
use access::{Identity, OidDecision, Rights};
use ldap::client::Search;
use ldap::{Controls, Filter, LdapResult, MadeSearch, Operation, ResultCode, Scope};
use query::backend::holder;
use query::entry_place::EntryPlace;
use query::error::store_failure;
use query::facts::Facts;
use schema::NormalizedDn;
use store::StoreError;

use crate::decision::kept::Kept;
use crate::decision::{Asked, Explainer, by_control, held};
use crate::directory::Directory;
use crate::needs::{Decision, Need, What};
use crate::presence::Holders;
use crate::search::{RequestTime, Worker};
use crate::session::Session;
use crate::subject::SubjectError;

impl Directory {
    /// What can be said against the access control instructions that are held, and the instructions.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn lint(&self) -> Result<(Vec<Instruction>, Vec<Finding>), StoreError> {
        let facts = self.facts();
        let instructions = held::instructions(&facts, &self.config().access_control.global_acis, &self.backends)?;
        let findings = lint(&facts, &instructions, &mut |name| self.presence(&facts, name))?;
        Ok((instructions, findings))
    }

    /// Whether an entry of that name is there.
    fn presence(&self, facts: &Facts, name: &NormalizedDn) -> Result<Presence, StoreError> {
        let (backends, in_force, history) = (&*self.backends, &self.in_force, self.history());
        Holders { facts, backends, in_force, history, roots: &self.roots.load() }.presence(name)
    }

    /// Notes what is wrong with names in conditions that are not true, and in instructions that deny: no such entry, no
    /// group.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn note_wrong_names(&self, decision: &mut Decision) -> Result<(), StoreError> {
        let facts = self.facts();
        let explanations = decision.needs.iter_mut().filter_map(|need| need.explanation.as_mut());
        for considered in explanations.flat_map(|explanation| &mut explanation.instructions) {
            let text = &considered.text;
            let wrong = |part: usize| -> Result<Vec<String>, StoreError> {
                let issues = wrong_names(&facts, text, part, &mut |name| self.presence(&facts, name))?;
                Ok(issues.iter().map(ToString::to_string).collect())
            };
            match &mut considered.outcome {
                Outcome::AllowsOthers(failed) | Outcome::DeniesOthers(failed) => {
                    for one in failed {
                        one.wrong_names = wrong(one.span.start)?;
                    }
                }
                Outcome::Denies => {
                    let Ok(parsed) = aci::parse_as(text, aci::Reading::Import) else { continue };
                    let denying = parsed.aci.permissions.iter().filter(|it| it.effect == aci::Effect::Deny);
                    let mut found = Vec::new();
                    for condition in denying.flat_map(|permission| permission.rule.conditions()) {
                        found.extend(wrong(condition.span.range().start)?);
                    }
                    considered.wrong_names = found;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The limits of a user's searches, and where they come from.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn search_limits(&self, identity: &Identity) -> Result<Vec<SearchLimit>, StoreError> {
        self.limits_finder(&self.facts()).search_limits(identity)
    }

    /// Whether the account of a user is out of use, so that it cannot bind.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn is_out_of_use(&self, identity: &Identity) -> Result<bool, StoreError> {
        let Identity::User { backend, entry, .. } = identity else { return Ok(false) };
        let Some(held) = self.backends.get(backend.0) else { return Ok(false) };
        let place = EntryPlace { backend: *backend, id: *entry };
        Ok(inactive(&self.reading, &self.facts(), place, &held.store.snapshot()?)?.is_some())
    }

    /// How a request of the session would be decided at that time, and why; nothing of it is done.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn explain(
        &self,
        session: &Session,
        asked: Asked<'_, '_>,
        now_unix_seconds: i64,
    ) -> Result<Decision, StoreError> {
        let rights = self.rights_of(session, now_unix_seconds)?;
        let mut decision = self.explain_with(Arc::clone(&rights), asked, now_unix_seconds)?;
        if let Asked::Control { .. } | Asked::Extended { .. } = asked {
            let explanation = self.explain_use(&rights, asked)?;
            decision.needs.iter_mut().for_each(|need| need.explanation.clone_from(&explanation));
        }
        if let Asked::Search { dn, within, filter: Some(filter), .. } = asked
            && decision.exists
            && let Some(base) = self.unindexed_base(session, dn, within, filter, now_unix_seconds)
        {
            decision.granted = false;
            decision.needs.insert(0, Need { what: What::Unindexed { base }, granted: false, explanation: None });
        }
        Ok(decision)
    }

    /// What rights alone say, those of whoever asks.
    pub(crate) fn explain_with(
        &self,
        rights: Arc<Rights>,
        asked: Asked<'_, '_>,
        now_unix_seconds: i64,
    ) -> Result<Decision, StoreError> {
        let explainer = Explainer {
            facts: self.facts(),
            in_force: &self.in_force,
            history: self.history(),
            monitor: self,
            reading: &self.reading,
            rights,
            now_unix_seconds,
        };
        explainer.explain(asked)
    }

    /// Which instruction decides about the use of a control or an extended operation.
    fn explain_use(&self, rights: &Rights, asked: Asked<'_, '_>) -> Result<Option<Explanation>, StoreError> {
        let schema = self.schema();
        let (decided, dn) = match asked {
            Asked::Control { oid, dn } => {
                let target = NormalizedDn::parse(&schema, dn.as_bytes()).unwrap_or_default();
                (rights.control_decision(oid, &target)?, dn.to_owned())
            }
            Asked::Extended { oid } => (rights.extended_decision(oid)?, rights.identity().dn().to_owned()),
            _ => return Ok(None),
        };
        if rights.bypasses_acl() {
            return Ok(Some(Explanation { granted: true, reason: Reason::BypassAcl, instructions: Vec::new() }));
        }
        let Some(decided) = decided else {
            return Ok(Some(Explanation { granted: false, reason: Reason::NobodyGrants, instructions: Vec::new() }));
        };
        let OidDecision { granted, holder_depth, position } = decided;
        let holder = (holder_depth > 0).then(|| upper_part(&dn, holder_depth));
        let global = &self.config().access_control.global_acis;
        let text = match &holder {
            None => global.get(position).cloned(),
            Some(holder) => {
                let wanted = NormalizedDn::parse(&schema, holder.as_bytes()).ok();
                let mut held = held::instructions(&self.facts(), &[], &self.backends)?.into_iter();
                held.by_ref().filter(|it| it.holder == wanted).nth(position).map(|it| it.text)
            }
        };
        let text = text.unwrap_or_default();
        let name = name_of(&text);
        let (outcome, reason) = match granted {
            true => (Outcome::Allows, Reason::Allowed(0)),
            false => (Outcome::Denies, Reason::Denied(0)),
        };
        let instructions = vec![Considered { holder, position, name, text, outcome, wrong_names: Vec::new() }];
        Ok(Some(Explanation { granted, reason, instructions }))
    }

    /// Where a search begins that is refused because no index answers its filter; none if it is not.
    fn unindexed_base(
        &self,
        session: &Session,
        dn: &str,
        within: Option<(&str, Scope)>,
        filter: &Filter<'_>,
        unix_seconds: i64,
    ) -> Option<String> {
        let name = NormalizedDn::parse(&self.schema(), dn.as_bytes()).ok()?;
        let suffix = holder(&self.backends, name.as_bytes()).map(|(_, suffix)| suffix.dn.as_str());
        let (base, scope) = within.or(suffix.map(|suffix| (suffix, Scope::WholeSubtree)))?;
        let filter = ldap::filter::parse(&filter.to_string()).ok()?;
        let made = MadeSearch::new(&Search::new(base, scope, &filter, &[]));
        let operation = made.operation().ok()?;
        let Operation::Search(request) = &operation else { return None };
        let time = RequestTime { started: Instant::now(), unix_seconds };
        let planned = self.plan_search(&mut Worker::default(), session, request, &Controls::none(), time);
        let refused =
            planned.err().filter(|done| done.unindexed && done.result.code == ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
        refused.map(|_| base.to_owned())
    }

    /// Takes a request with the control that asks why it would be granted or refused, to be explained on another
    /// thread; or says why it is not told. None where the request has no such control.
    pub fn explanation_by_control(
        &self,
        session: &Session,
        operation: &Operation<'_>,
        controls: &Controls<'_>,
        time: RequestTime,
    ) -> Option<Result<AskedExplanation, LdapResult>> {
        let control = by_control::find(controls)?;
        let take = || {
            if !self.rights_of(session, time.unix_seconds).map_err(failure)?.bypasses_acl() {
                return Err(by_control::Refusal::TakesBypass.into());
            }
            let session = match by_control::subject(&control)? {
                Some(name) => {
                    let unknown = |error: SubjectError| by_control::Refusal::NoSubject { reason: error.to_string() };
                    session.acting_as(self.identity_of(&name).map_err(unknown)?)
                }
                None => session.apart(),
            };
            let (asked, unix_seconds) = (by_control::kept(operation)?, time.unix_seconds);
            Ok(AskedExplanation { session: Box::new(session), asked, unix_seconds })
        };
        Some(take())
    }
}

/// The last RDNs of a name.
fn upper_part(dn: &str, rdns: usize) -> String {
    let parsed = ldap::Dn::parse(dn);
    let parts = parsed.map(|dn| dn.rdns().iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap_or_default();
    parts.get(parts.len().saturating_sub(rdns)..).unwrap_or_default().join(",")
}

/// A request to be explained. Takes long: not for event loops.
pub struct AskedExplanation {
    session: Box<Session>,
    asked: Kept,
    unix_seconds: i64,
}

impl AskedExplanation {
    /// How the request would be decided, and why, as JSON.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn explain(&self, directory: &Directory) -> Result<String, LdapResult> {
        self.asked.with(|asked| {
            let mut decision = directory.explain(&self.session, asked, self.unix_seconds).map_err(failure)?;
            directory.note_wrong_names(&mut decision).map_err(failure)?;
            Ok(decision.to_json())
        })
    }
}

fn failure(error: StoreError) -> LdapResult {
    store_failure(&error)
}
