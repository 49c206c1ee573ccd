//! What the values of an attribute may be (OpenLDAP: slapo-constraint): how many, how long, of which form, of which
//! set.
//!
//! New values are judged; those that are there stay as they are, and taking values away is always allowed.

use store::EntryId;

use super::configured::Constraint;
use super::judged::{Judged, shown_value};
use super::set_expression::gives_something;
use crate::apply::draft::Touched;
use crate::apply::error::ApplyError;
use crate::apply::value_set::normal_form;
use crate::apply::work::Work;
use crate::refusal::Refusal;

impl Constraint {
    pub(super) fn judge(&self, work: &Work<'_, '_>, judged: Judged<'_, '_>) -> Result<(), ApplyError> {
        if !self.scope.covers_name(judged.name) {
            return Ok(());
        }
        let draft = judged.draft;
        let is_own = |index| {
            let own = draft.schema.attribute_by_index(index);
            own.is_some_and(|own| self.attributes.iter().any(|asked| own.is_subtype_of(*asked)))
        };
        let mut first = None;
        for touched in draft.touched.iter().filter(|touched| touched.type_index.is_some_and(is_own)) {
            let values = draft.new_values(touched);
            if values.is_empty() || !self.scope.matches(&work.facts, &work.view(), draft.id)? {
                continue;
            }
            self.judge_count(touched)?;
            for value in values {
                self.judge_value(work, draft.id, touched, value)?;
            }
            first = first.or(Some(touched));
        }
        first.map_or(Ok(()), |touched| self.judge_sets(work, draft.id, touched))
    }

    /// Whether the entry is what the set expressions ask for, once one of the attributes has a new value.
    fn judge_sets(&self, work: &Work<'_, '_>, id: EntryId, touched: &Touched) -> Result<(), ApplyError> {
        for asked in &self.sets {
            if gives_something(work, &asked.expression, id)? == asked.is_forbidden {
                let (plugin, attribute) = (self.name.clone(), touched.description.clone());
                let set = asked.text.clone();
                let refusal = match asked.is_forbidden {
                    true => Refusal::SetGivesSomething { plugin, attribute, set },
                    false => Refusal::SetGivesNothing { plugin, attribute, set },
                };
                return Err(refusal.into());
            }
        }
        Ok(())
    }

    fn judge_count(&self, touched: &Touched) -> Result<(), ApplyError> {
        match self.count {
            Some(most) if touched.len() > most => {
                let (plugin, attribute) = (self.name.clone(), touched.description.clone());
                Err(Refusal::TooManyValues { plugin, attribute, most, count: touched.len() }.into())
            }
            _ => Ok(()),
        }
    }

    fn judge_value(&self, work: &Work<'_, '_>, id: EntryId, touched: &Touched, value: &[u8]) -> Result<(), ApplyError> {
        let refused = |problem: String| {
            let (plugin, attribute) = (self.name.clone(), touched.description.clone());
            let value = shown_value(&work.facts, touched, value);
            Err(Refusal::ForbiddenValue { plugin, attribute, value, problem }.into())
        };
        if let Some(most) = self.size.filter(|most| value.len() as u64 > *most) {
            return refused(format!("it has {} bytes, and {most} are allowed", value.len()));
        }
        if let Some(pattern) = self.pattern.as_ref().filter(|pattern| !pattern.is_match(value)) {
            return refused(format!("it does not match {pattern}"));
        }
        if let Some(pattern) = self.forbidden_pattern.as_ref().filter(|pattern| pattern.is_match(value)) {
            return refused(format!("it matches {pattern}"));
        }
        let schema = &work.facts.schema;
        let rule = touched.type_index.and_then(|index| schema.attribute_by_index(index)).and_then(|it| it.equality);
        if !self.values.is_empty() {
            let normal = normal_form(rule, schema, value);
            if !self.values.iter().any(|allowed| normal_form(rule, schema, allowed) == normal) {
                return refused("it is none of those that are allowed".to_owned());
            }
        }
        if self.sources.is_empty() {
            return Ok(());
        }
        for source in &self.sources {
            if source.has(work, id, value)? {
                return Ok(());
            }
        }
        let sources: Vec<&str> = self.sources.iter().map(|source| source.text.as_str()).collect();
        refused(format!("nothing that {} finds has it", sources.join(" or ")))
    }
}
