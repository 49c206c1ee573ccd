//! Finds the entry that a request is about, and asks for each thing that the request needs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use access::explanation::{Considered, Explanation, Outcome, Reason};
use access::{EntryRights, Question, Right, Rights};
use ldap::{EntryRequest, Filter, FilterNode};
use query::backend::holder;
use query::entry::{DnParts, EntryView};
use query::facts::Facts;
use query::filter::{Matcher, Truth};
use query::locate::locate;
use query::read_moment::ReadContext;
use query::rights::{ReadRight, Reader, Unrestricted};
use schema::{AttributeDescription, MatchContext, NormalizedDn, TypeIndex};
use store::StoreError;

use super::asked::Asked;
use crate::in_force::InForce;
use crate::needs::{Decision, FilterTruth, Need, What};
use crate::own::MonitorSource;
use crate::update::{End, Judge, Matter, Notes, TreePart, privilege_to_write};
use change::history::History;
use change::proposal::{Flags, Kind};

/// See the module.
pub(crate) struct Explainer<'d> {
    pub(crate) facts: Arc<Facts>,
    pub(crate) in_force: &'d InForce,
    pub(crate) history: &'d Arc<History>,
    pub(crate) monitor: &'d dyn MonitorSource,
    pub(crate) reading: &'d ReadContext,
    pub(crate) rights: Arc<Rights>,
    pub(crate) now_unix_seconds: i64,
}

/// Where an instruction stands: its holder, and its position there.
type HeldAt = (Option<String>, usize);

/// How an instruction counts for one of several attributes (the least is told), and what comes of it there.
type Nearest = ((usize, usize), Considered);

/// An entry that is asked about.
struct Case<'c, 'm> {
    facts: &'c Facts,
    rights: &'c EntryRights<'m>,
    asker: &'c Rights,
    entry: &'c EntryView<'c>,
    now_unix_seconds: i64,
    needs: Vec<Need>,
}

impl Explainer<'_> {
    /// Decides about a request.
    ///
    /// # Errors
    /// When something cannot be read.
    pub(crate) fn explain(&self, asked: Asked<'_, '_>) -> Result<Decision, StoreError> {
        let decision = match asked {
            Asked::Search { dn, filter, attributes, .. } => {
                self.of_entry(dn, |case| case.search(filter, attributes))?
            }
            Asked::Compare { dn, attribute } => self.of_entry(dn, |case| case.compare(attribute))?,
            Asked::Right { dn, right, attribute } => {
                self.of_entry(dn, |case| case.right_and_privilege(right, attribute))?
            }
            Asked::Update(request) => self.of_update(request)?,
            Asked::Control { oid, dn } => {
                let target = NormalizedDn::parse(&self.facts.schema, dn.as_bytes()).unwrap_or_default();
                let granted = self.rights.may_use_control(oid, &target)?;
                self.without_entry(dn, What::Control(oid.to_owned()), granted)
            }
            Asked::Extended { oid } => {
                let granted = self.rights.may_use_extended(oid)?;
                self.without_entry("", What::Extended(oid.to_owned()), granted)
            }
        };
        Ok(Decision { asker: self.rights.identity().dn().to_owned(), ..decision })
    }

    /// Has the update judged, with every question to the asker noted.
    fn of_update(&self, request: &EntryRequest<'_>) -> Result<Decision, StoreError> {
        let shown = String::from_utf8_lossy(request.entry()).into_owned();
        let missing = Decision { dn: shown.clone(), ..Decision::default() };
        let Ok(name) = NormalizedDn::parse(&self.facts.schema, request.entry()) else { return Ok(missing) };
        // What the entries show does not depend on the connection as far as rights are concerned.
        let stranger = access::Session::anonymous(0);
        let about = (&*self.facts, &stranger);
        let own =
            self.in_force.ask_own_entries(self.history, self.monitor, about, &name, |tree, _| tree.write_privilege());
        if let Some(privilege) = own {
            let granted = self.rights.has(privilege);
            return Ok(self.without_entry(&shown, What::Privilege(privilege), granted));
        }
        let Some((backend, _)) = holder(&self.reading.backends, name.as_bytes()) else { return Ok(missing) };
        let judge = Judge {
            rights: Arc::clone(&self.rights),
            identity: self.rights.identity().clone(),
            facts: Arc::clone(&self.facts),
            reading: self.reading.clone(),
        };
        let matter = Matter {
            backend,
            kind: kind_of(request),
            flags: Flags::default(),
            request,
            assertion: b"",
            wants_pre_read: false,
            most_below: usize::MAX,
            tree: TreePart::first(false),
        };
        let notes = Notes::default();
        let told = match judge.explain(matter, &notes) {
            Ok(_) | Err(End::TakesLong) => None,
            Err(End::Refused(told)) => Some(told.result),
        };
        let mut needs = notes.needs.into_inner();
        // Judged again, to find what is missing besides.
        if needs.iter().any(|need| !need.granted) {
            let notes = Notes { goes_on: true, ..Notes::default() };
            let _ = judge.explain(matter, &notes);
            needs = notes.needs.into_inner();
        }
        let granted = !needs.is_empty() && needs.iter().all(|need: &Need| need.granted);
        // An entry that is there already does not make an add a matter of rights.
        let told = told.filter(|_| !granted);
        let exists = granted || told.as_ref().is_none_or(|_| !needs.is_empty());
        Ok(Decision { granted, dn: shown, exists, needs, told, ..Decision::default() })
    }

    fn without_entry(&self, dn: &str, what: What, granted: bool) -> Decision {
        let needs = vec![Need { what, granted, explanation: None }];
        Decision { granted, dn: dn.to_owned(), exists: true, needs, ..Decision::default() }
    }

    /// Looks the entry up and asks about it.
    fn of_entry(
        &self,
        dn: &str,
        ask: impl FnOnce(&mut Case<'_, '_>) -> Result<(), StoreError>,
    ) -> Result<Decision, StoreError> {
        let missing = Decision { dn: dn.to_owned(), ..Decision::default() };
        let Ok(name) = NormalizedDn::parse(&self.facts.schema, dn.as_bytes()) else { return Ok(missing) };
        let stranger = access::Session::anonymous(0);
        let about = (&*self.facts, &stranger);
        let own = self.in_force.ask_own_entries(self.history, self.monitor, about, &name, |tree, context| {
            tree.entry(context, &name, dn.as_bytes())
        });
        if let Some(found) = own {
            let Ok(Some(entry)) = found else { return Ok(missing) };
            return self.about(entry.dn(), &entry.view()?, &self.rights.of_own_entries(), ask);
        }
        let Some((at, suffix)) = holder(&self.reading.backends, name.as_bytes()) else { return Ok(missing) };
        let Some(backend) = self.reading.backends.get(at.0) else { return Ok(missing) };
        let snapshot = backend.store.snapshot()?;
        let view = snapshot.view();
        let Some(id) = locate(&view, &suffix.normalized, name.as_bytes())?.found() else { return Ok(missing) };
        let (Some(record), Some(stored)) = (view.entry(id)?, view.dn_of(id)?) else { return Ok(missing) };
        let moment = self.reading.moment(&self.facts, self.now_unix_seconds);
        let source = moment.at(at, view);
        let rights = self.rights.at(source)?;
        let entry = EntryView { id, record: record.view()?, dn: DnParts::whole(stored.as_bytes()), source: &source };
        self.about(&stored, &entry, &rights, ask)
    }

    fn about(
        &self,
        dn: &str,
        entry: &EntryView<'_>,
        rights: &EntryRights<'_>,
        ask: impl FnOnce(&mut Case<'_, '_>) -> Result<(), StoreError>,
    ) -> Result<Decision, StoreError> {
        let now_unix_seconds = self.now_unix_seconds;
        let mut case =
            Case { facts: &self.facts, rights, asker: &self.rights, entry, now_unix_seconds, needs: Vec::new() };
        ask(&mut case)?;
        let granted = case.needs.iter().all(|need| need.granted);
        Ok(Decision { granted, dn: dn.to_owned(), exists: true, needs: case.needs, ..Decision::default() })
    }
}

impl Case<'_, '_> {
    /// Whether the entry is sent, then each attribute.
    fn search(&mut self, filter: Option<&Filter<'_>>, attributes: &[String]) -> Result<(), StoreError> {
        self.shows()?;
        match filter {
            Some(filter) => self.filter(filter)?,
            None => self.filter(&ldap::FilterBuf::every_entry().filter())?,
        }
        for name in attributes {
            match name.as_str() {
                "*" | "+" | "1.1" => {}
                name => drop(self.right(Right::Read, Some(name))?),
            }
        }
        Ok(())
    }

    fn compare(&mut self, attribute: &str) -> Result<(), StoreError> {
        self.shows()?;
        self.right(Right::Compare, Some(attribute)).map(drop)
    }

    /// What the filter says by what the asker may search, and the right to each attribute of it.
    fn filter(&mut self, filter: &Filter<'_>) -> Result<(), StoreError> {
        let mut matcher = Matcher::default();
        matcher.compile(self.facts, filter, MatchContext { now_unix_seconds: self.now_unix_seconds });
        let truth = matcher.matches_one(self.facts, self.entry, ReadRight::Search, self.rights)?;
        let of_all = matcher.matches_one(self.facts, self.entry, ReadRight::Search, &Unrestricted)?;
        let truth = match (truth, of_all) {
            (Truth::True, _) => FilterTruth::Matches,
            (_, Truth::True) => FilterTruth::MatchesForOthers,
            _ => FilterTruth::NoMatch,
        };
        let is_match = truth == FilterTruth::Matches;
        let begin = self.needs.len();
        self.needs.push(Need { what: What::Filter(truth), granted: is_match, explanation: None });
        let names: BTreeSet<&[u8]> = filter.nodes().iter().filter_map(FilterNode::attribute).collect();
        for name in names {
            self.right(Right::Search, Some(&String::from_utf8_lossy(name)))?;
        }
        // Items that may not be searched do no harm where the others are enough.
        if is_match {
            let after = self.needs.split_off(begin + 1);
            self.needs.extend(after.into_iter().filter(|need| need.granted));
        }
        Ok(())
    }

    /// A right by the name of the attribute. An attribute that the schema does not know is granted to nobody.
    fn right(&mut self, right: Right, attribute: Option<&str>) -> Result<bool, StoreError> {
        let known = attribute.map(|name| {
            let parsed = AttributeDescription::parse_request(&self.facts.schema, name.as_bytes()).ok();
            parsed.and_then(|parsed| parsed.attribute)
        });
        match known {
            None => self.right_of_type(right, None),
            Some(Some(attribute)) => self.right_of_type(right, Some(attribute)),
            Some(None) => {
                let what = self.what(right, attribute.map(str::to_owned));
                self.needs.push(Need { what, granted: false, explanation: None });
                Ok(false)
            }
        }
    }

    /// The right, and the privilege that it takes to write some attributes.
    fn right_and_privilege(&mut self, right: Right, attribute: Option<&str>) -> Result<(), StoreError> {
        self.right(right, attribute)?;
        if !matches!(right, Right::Write | Right::SelfWrite) {
            return Ok(());
        }
        let known = attribute.and_then(|name| self.facts.schema.type_of_description(name.as_bytes()));
        let own = NormalizedDn::parse(&self.facts.schema, self.asker.identity().dn().as_bytes());
        let entry = NormalizedDn::parse(&self.facts.schema, self.dn().as_bytes());
        let is_own = !self.asker.identity().is_anonymous() && own.is_ok() && own.ok() == entry.ok();
        let privilege = known.and_then(|known| privilege_to_write(self.facts, known.index, is_own));
        self.needs.extend(privilege.map(|privilege| Need {
            what: What::Privilege(privilege),
            granted: self.asker.has(privilege),
            explanation: None,
        }));
        Ok(())
    }

    fn right_of_type(&mut self, right: Right, attribute: Option<TypeIndex>) -> Result<bool, StoreError> {
        let question = Question { right, attribute, value: None };
        let explanation = self.rights.explain(self.facts, self.entry, question)?;
        let granted = explanation.granted;
        let name = attribute.and_then(|it| self.facts.schema.attribute_by_index(it)).map(|it| it.name().to_owned());
        let what = self.what(right, name);
        self.needs.push(Need { what, granted, explanation: Some(explanation) });
        Ok(granted)
    }

    fn what(&self, right: Right, attribute: Option<String>) -> What {
        What::Right { right, dn: self.dn(), attribute, value: None }
    }

    fn dn(&self) -> String {
        let mut dn = Vec::new();
        self.entry.dn.put(&mut dn);
        String::from_utf8_lossy(&dn).into_owned()
    }

    /// Whether the entry shows, with the instruction that hides it, or those that let an attribute be read.
    fn shows(&mut self) -> Result<(), StoreError> {
        let granted = Reader { facts: self.facts, rights: self.rights }.shows(self.entry)?;
        let whole = self.rights.explain(self.facts, self.entry, Question::entry(Right::Read))?;
        let explanation = match whole.reason {
            Reason::Denied(_) | Reason::BypassAcl => whole,
            _ => self.of_any_attribute(granted)?,
        };
        self.needs.push(Need { what: What::Shows { dn: self.dn() }, granted, explanation: Some(explanation) });
        Ok(())
    }

    /// Why some attribute, or none, may be read: of each instruction what brought it nearest to a grant.
    fn of_any_attribute(&self, granted: bool) -> Result<Explanation, StoreError> {
        let record = &self.entry.record;
        let mut types: Vec<TypeIndex> = Vec::new();
        record.for_each(&mut Vec::new(), |stored| types.extend(record.tables().type_of(stored.desc).map(TypeIndex)));
        // What is computed is shown, too.
        types.extend(self.facts.virtual_types().iter().map(|(index, _)| *index).filter(|_| granted));
        types.dedup();
        let mut nearest: BTreeMap<HeldAt, Nearest> = BTreeMap::new();
        let mut is_any_grant_denied = false;
        for attribute in types {
            let question = Question::attribute(Right::Read, attribute);
            let explanation = self.rights.explain(self.facts, self.entry, question)?;
            if granted && explanation.granted {
                return Ok(explanation);
            }
            // What denies an attribute that another instruction grants is what hides the entry.
            let is_grant_denied = explanation.instructions.iter().any(|it| it.outcome == Outcome::Allows);
            is_any_grant_denied |= is_grant_denied;
            let rank = |outcome: &Outcome| match outcome {
                Outcome::Denies | Outcome::Invalid(_) if is_grant_denied => (0, 0),
                other => (1, distance(other)),
            };
            for considered in explanation.instructions {
                let key = (considered.holder.clone(), considered.position);
                let own = rank(&considered.outcome);
                match nearest.get_mut(&key) {
                    Some((known, _)) if *known <= own => {}
                    Some(known) => *known = (own, considered),
                    None => drop(nearest.insert(key, (own, considered))),
                }
            }
        }
        let instructions: Vec<Considered> = nearest.into_values().map(|(_, considered)| considered).collect();
        let is_about = |it: &Considered| !matches!(it.outcome, Outcome::IsAboutOther(_));
        let reason = match instructions.iter().any(is_about) {
            _ if is_any_grant_denied && !granted => Reason::GrantsAreDenied,
            true => Reason::NobodyGrants,
            false => Reason::NothingApplies,
        };
        Ok(Explanation { granted, reason, instructions })
    }
}

fn kind_of(request: &EntryRequest<'_>) -> Kind {
    match request {
        EntryRequest::Add(_) => Kind::Add,
        EntryRequest::Delete(_) => Kind::Delete,
        EntryRequest::Modify(_) => Kind::Modify,
        EntryRequest::ModifyDn(_) => Kind::ModifyDn,
    }
}

/// How far an instruction is from granting: 0 grants.
fn distance(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Allows => 0,
        Outcome::AllowsOthers(failed) => failed.len(),
        Outcome::IsAboutOther(_) => 1_000,
        Outcome::DeniesOthers(_) => 2_000,
        Outcome::Denies | Outcome::Invalid(_) => 3_000,
    }
}
