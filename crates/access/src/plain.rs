//! Decisions with their reasons: every instruction at the entry, above it and of the configuration is read again and
//! evaluated as it is written, one by one. Nothing is compiled ahead, left out or remembered.

use aci::{Aci, BindRule, Condition, Effect, Permission, Reading, Right, Rights, TargetScope};
use query::backend::BackendIndex;
use query::entry::{DnParts, EntryView};
use query::facts::Facts;
use query::filter::Truth;
use store::{EntryId, StoreError, View};

use crate::about::is_about;
use crate::compiled::{Instruction, NamePattern, Rule};
use crate::decide::{Additions, OpenRule, Subject, depth};
use crate::decider::Decider;
use crate::entry_conditions::{Conditions, Looked};
use crate::explanation::{Considered, Explanation, FailedCondition, Outcome, Reason, TargetPart};
use crate::question::Question;
use crate::set::values_of;
use crate::visible::shows;

/// One instruction as it is written, and who holds it.
struct Written {
    /// None: the configuration.
    holder: Option<String>,
    /// How many RDNs the name of the holder has.
    depth: usize,
    position: usize,
    text: String,
}

/// Who asks what about which entry.
#[derive(Clone, Copy)]
struct Asked<'p> {
    decider: Decider<'p>,
    facts: &'p Facts,
    entry: &'p EntryView<'p>,
    /// Its normalized name.
    name: &'p [u8],
    question: Question<'p>,
}

/// See the module.
pub(crate) fn explain(
    decider: Decider<'_>,
    facts: &Facts,
    entry: &EntryView<'_>,
    question: Question<'_>,
) -> Result<Explanation, StoreError> {
    let name = decider.with_conditions(facts, entry, |conditions| conditions.name())?;
    let asked = Asked { decider, facts, entry, name: &name, question };
    let mut instructions = Vec::new();
    for written in asked.written()? {
        let (name, outcome) = asked.outcome(&written)?;
        let Written { holder, position, text, .. } = written;
        instructions.push(Considered { holder, position, name, text, outcome, wrong_names: Vec::new() });
    }
    let is = |wanted: fn(&Outcome) -> bool| instructions.iter().position(|it| wanted(&it.outcome));
    let denied = is(|it| matches!(it, Outcome::Denies | Outcome::Invalid(_)));
    let allowed = is(|it| matches!(it, Outcome::Allows));
    let concerns = is(|it| !matches!(it, Outcome::IsAboutOther(_)));
    let mut reason = match (denied, allowed) {
        _ if decider.rights.bypasses_acl() => Reason::BypassAcl,
        (Some(at), _) => Reason::Denied(at),
        (None, Some(at)) => Reason::Allowed(at),
        (None, None) if concerns.is_some() => Reason::NobodyGrants,
        (None, None) => Reason::NothingApplies,
    };
    // That an entry shows takes an attribute that it has, and no instruction tells that.
    let is_of_entry = matches!((question.right, question.attribute), (Right::Read, None));
    if is_of_entry && matches!(reason, Reason::Allowed(_)) && !shows(decider, facts, entry)? {
        reason = Reason::NobodyGrants;
    }
    if matches!((question.right, question.attribute), (Right::Search | Right::Compare, None))
        && reason != Reason::BypassAcl
    {
        reason = Reason::NothingApplies;
    }
    let granted = matches!(reason, Reason::Allowed(_) | Reason::BypassAcl);
    Ok(Explanation { granted, reason, instructions })
}

impl Asked<'_> {
    /// The instructions of the entry, of those above it, and of the configuration.
    fn written(&self) -> Result<Vec<Written>, StoreError> {
        let mut all = Vec::new();
        if let Some(stored) = self.decider.stored(self.entry) {
            // One that is to be added holds nothing yet.
            let (mut at, mut own_depth) = match self.entry.id {
                EntryId::ROOT => (self.entry.record.parent(), depth(self.name).saturating_sub(1)),
                id => (id, depth(self.name)),
            };
            while at != EntryId::ROOT {
                self.add_values((stored.backend, &stored.view), at, own_depth, &mut all)?;
                let Some(record) = stored.view.entry(at)? else { break };
                (at, own_depth) = (record.view()?.parent(), own_depth.saturating_sub(1));
            }
            self.add_above(stored.backend, &stored.view, &mut all)?;
        }
        for (position, text) in self.decider.rights.settings.global_acis.iter().enumerate() {
            all.push(Written { holder: None, depth: 0, position, text: text.clone() });
        }
        Ok(all)
    }

    fn add_above(&self, backend: BackendIndex, view: &View<'_>, all: &mut Vec<Written>) -> Result<(), StoreError> {
        let making = self.decider.making();
        let suffixes = making.context.backends.get(backend.0).map(|it| it.suffixes.as_slice()).unwrap_or_default();
        // The base DN that holds the entry: the longest.
        let holding = suffixes.iter().filter(|it| self.name.starts_with(it.normalized.as_bytes()));
        let Some(suffix) = holding.max_by_key(|it| it.normalized.as_bytes().len()) else { return Ok(()) };
        making.each_above(backend, view, suffix, &mut |at, there, id, own_depth| {
            self.add_values((at, there), id, own_depth, all)
        })
    }

    fn add_values(
        &self,
        (backend, view): (BackendIndex, &View<'_>),
        id: EntryId,
        own_depth: usize,
        all: &mut Vec<Written>,
    ) -> Result<(), StoreError> {
        let (Some(aci), Some(record)) = (self.facts.aci, view.entry(id)?) else { return Ok(()) };
        let entry = EntryView { id, record: record.view()?, dn: DnParts::default(), source: view };
        let mut values = values_of(&entry, aci)?;
        self.decider.rights.sets.proposed().apply(backend, id, &mut values);
        if values.is_empty() {
            return Ok(());
        }
        let holder = view.dn_of(id)?;
        for (position, value) in values.iter().enumerate() {
            let text = String::from_utf8_lossy(value).into_owned();
            all.push(Written { holder: holder.clone(), depth: own_depth, position, text });
        }
        Ok(())
    }

    /// The name of an instruction, and what comes of it.
    fn outcome(&self, written: &Written) -> Result<(String, Outcome), StoreError> {
        let most = self.decider.rights.settings.acis_per_entry_max;
        if written.holder.is_some() && written.position >= most {
            let why = format!("its entry holds more than {most} instructions");
            return Ok((String::new(), Outcome::Invalid(why)));
        }
        let aci = match aci::parse_as(&written.text, Reading::Import) {
            Ok(parsed) => parsed.aci,
            Err(error) => return Ok((String::new(), Outcome::Invalid(error.to_string()))),
        };
        let instruction = Instruction::of(self.facts, &aci, 0);
        let outcome = match self.other_target(written, &aci, &instruction)? {
            Some(part) => Outcome::IsAboutOther(part),
            None => self.of_permissions(&aci, &instruction)?,
        };
        Ok((aci.name, outcome))
    }

    /// The part by which it is about something else.
    fn other_target(
        &self,
        written: &Written,
        aci: &Aci,
        instruction: &Instruction,
    ) -> Result<Option<TargetPart>, StoreError> {
        if instruction.oids.is_some() {
            return Ok(Some(TargetPart::ControlOrExtension));
        }
        if instruction.moves.is_some() && self.question.right != Right::ModDn {
            return Ok(Some(TargetPart::Move));
        }
        let mut top = written.depth;
        if let Some(target) = &instruction.target {
            if target.value.is_at_or_above(&self.facts.schema, self.name) == target.negated {
                return Ok(Some(TargetPart::Target));
            }
            if let (NamePattern::Exact(exact), false) = (&target.value, target.negated) {
                top = depth(exact);
            }
        }
        let below = depth(self.name).checked_sub(top);
        let in_scope = match aci.targets.scope.as_ref().map(|it| it.value).unwrap_or_default() {
            TargetScope::Base => below == Some(0),
            TargetScope::OneLevel => below == Some(1),
            TargetScope::Subtree => below.is_some(),
            TargetScope::Subordinate => below.is_some_and(|below| below > 0),
        };
        Ok((!in_scope).then_some(TargetPart::Scope))
    }

    /// What its permissions make of it together: what denies counts before what grants.
    fn of_permissions(&self, aci: &Aci, instruction: &Instruction) -> Result<Outcome, StoreError> {
        let mut outcome = Outcome::IsAboutOther(TargetPart::Right);
        for permission in &aci.permissions {
            let own = self.of_permission(instruction, permission)?;
            if rank(&own) > rank(&outcome) {
                outcome = own;
            }
        }
        Ok(outcome)
    }

    fn of_permission(&self, instruction: &Instruction, permission: &Permission) -> Result<Outcome, StoreError> {
        let rights = match &instruction.moves {
            Some(_) => permission.rights.intersection(Rights::NONE.with(Right::ModDn)),
            None => permission.rights,
        };
        if !rights.contains(self.question.right) {
            return Ok(Outcome::IsAboutOther(TargetPart::Right));
        }
        if !is_about(self.facts, instruction, permission.effect, self.entry, self.question)? {
            let part =
                if instruction.value_filters.is_some() { TargetPart::ValueFilter } else { TargetPart::Attribute };
            return Ok(Outcome::IsAboutOther(part));
        }
        let mut truth = Truth::True;
        if let Some(filter) = &instruction.filter {
            let matches = self.with(|conditions| conditions.matches(&filter.value))?;
            truth = if filter.negated { matches.opposite() } else { matches };
            if truth == Truth::False {
                return Ok(Outcome::IsAboutOther(TargetPart::Filter));
            }
        }
        let mut failed = Vec::new();
        truth = truth.min(self.truth(&permission.rule, true, &mut failed)?);
        Ok(match (permission.effect, truth) {
            (Effect::Allow, Truth::True) => Outcome::Allows,
            (Effect::Allow, _) => Outcome::AllowsOthers(failed),
            (Effect::Deny, Truth::False) => Outcome::DeniesOthers(failed),
            (Effect::Deny, _) => Outcome::Denies,
        })
    }

    /// The truth of a rule, with the conditions that are not as they would have to be: true, or below an odd number of
    /// `not` false.
    fn truth(&self, rule: &BindRule, wanted: bool, failed: &mut Vec<FailedCondition>) -> Result<Truth, StoreError> {
        Ok(match rule {
            BindRule::And(rules) => {
                let mut truth = Truth::True;
                for rule in rules {
                    truth = truth.min(self.truth(rule, wanted, failed)?);
                }
                truth
            }
            BindRule::Or(rules) => {
                let mut truth = Truth::False;
                for rule in rules {
                    truth = truth.max(self.truth(rule, wanted, failed)?);
                }
                truth
            }
            BindRule::Not(rule) => self.truth(rule, !wanted, failed)?.opposite(),
            BindRule::Test(condition) => {
                let truth = self.of_condition(condition)?;
                if truth != Truth::from(wanted) {
                    let is_undefined = truth == Truth::Undefined;
                    let span = condition.span.range();
                    failed.push(FailedCondition { span, is_undefined, wrong_names: Vec::new() });
                }
                truth
            }
        })
    }

    fn of_condition(&self, condition: &Condition) -> Result<Truth, StoreError> {
        let rule = Rule::of_condition(self.facts, condition);
        let asker = &self.decider.rights.asker;
        let open = self.decider.making().with_entry(asker.place, |entry| {
            OpenRule::of(&rule, Subject { facts: self.facts, asker, entry }, Additions::Undefined, &mut false)
        })?;
        self.with(|conditions| open.truth(&mut |question| conditions.answer(question, &mut Looked::default())))
    }

    fn with<T>(&self, with: impl FnOnce(&Conditions<'_>) -> T) -> T {
        self.decider.with_conditions(self.facts, self.entry, with)
    }
}

fn rank(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::IsAboutOther(TargetPart::Right) => 0,
        Outcome::IsAboutOther(_) => 1,
        Outcome::AllowsOthers(_) | Outcome::DeniesOthers(_) => 2,
        Outcome::Allows => 3,
        Outcome::Denies | Outcome::Invalid(_) => 4,
    }
}
