//! What the values of an attribute may be (OpenLDAP: slapo-constraint): how many, how long, of which form, of which set.
//!
//! New values are judged; those that are there stay as they are, and taking values away is always allowed.

use ldap::{LdapResult, ResultCode, Scope as SearchScope};
use store::{EntryId, View};

use super::super::draft::{Touched, failed};
use super::super::value_set::normal_form;
use super::super::work::Work;
use super::configured::{Constraint, ValueSource};
use super::judged::{Judged, new_values, shown_value};
use super::lookup::Lookup;
use super::scope::matches;
use query::error::refuse;
use query::locate::locate;

impl Constraint {
    pub(super) fn judge(&self, work: &Work<'_, '_>, judged: Judged<'_, '_>) -> Result<(), LdapResult> {
        if !self.scope.covers_name(judged.name) {
            return Ok(());
        }
        let draft = judged.draft;
        let is_own = |index| {
            let own = draft.schema.attribute_by_index(index);
            own.is_some_and(|own| self.attributes.iter().any(|asked| own.is_subtype_of(*asked)))
        };
        for touched in draft.touched.iter().filter(|touched| touched.type_index.is_some_and(is_own)) {
            let values = new_values(draft, touched);
            if values.is_empty() || !self.scope.matches(&work.facts, &work.view(), draft.id)? {
                continue;
            }
            self.judge_count(touched)?;
            for value in values {
                self.judge_value(work, draft.id, touched, value)?;
            }
        }
        Ok(())
    }

    fn judge_count(&self, touched: &Touched) -> Result<(), LdapResult> {
        match self.count {
            Some(most) if touched.len() > most => {
                let why = format!("may have {most} values at most, not {}", touched.len());
                Err(self.refusal(&touched.description, &why))
            }
            _ => Ok(()),
        }
    }

    fn judge_value(&self, work: &Work<'_, '_>, id: EntryId, touched: &Touched, value: &[u8]) -> Result<(), LdapResult> {
        let refused = |why: String| {
            let shown = shown_value(&work.facts, touched, value);
            Err(self.refusal(&touched.description, &format!("may not have {shown}: {why}")))
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

    fn refusal(&self, attribute: &str, why: &str) -> LdapResult {
        refuse(ResultCode::CONSTRAINT_VIOLATION, format!("By the plugin \"{}\", {attribute} {why}", self.name))
    }
}

impl ValueSource {
    /// Whether some entry but the one that is judged has the value. By index where there is one; else the entries of the scope are
    /// read one by one.
    fn has(&self, work: &Work<'_, '_>, judged: EntryId, value: &[u8]) -> Result<bool, LdapResult> {
        let view = work.view();
        let suffixes = work.rules.suffixes.iter();
        let suffix = suffixes.filter(|suffix| suffix.normalized.is_ancestor_or_equal(&self.base));
        let Some(suffix) = suffix.max_by_key(|suffix| suffix.normalized.as_bytes().len()) else { return Ok(false) };
        let path = locate(&view, &suffix.normalized, self.base.as_bytes()).map_err(failed)?;
        let Some(base) = path.found() else { return Ok(false) };
        for lookup in &self.attributes {
            let normal = normal_form(Some(lookup.rule), &work.facts.schema, value);
            let found = if lookup.is_indexed(&view) {
                self.has_by_index(work, &view, judged, lookup, base, &normal)?
            } else {
                self.has_by_walk(work, &view, judged, lookup, base, &normal)?
            };
            if found {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn has_by_index(
        &self,
        work: &Work<'_, '_>,
        view: &View<'_>,
        judged: EntryId,
        lookup: &Lookup,
        base: EntryId,
        normal: &[u8],
    ) -> Result<bool, LdapResult> {
        const AT_ONCE: usize = 64;
        let mut from = EntryId(0);
        loop {
            let holders = lookup.holders(&work.facts.schema, view, normal, from, AT_ONCE).map_err(failed)?;
            for id in holders.iter().filter(|id| **id != judged) {
                if self.is_in_scope(view, base, *id)? && self.matches(work, view, *id)? {
                    return Ok(true);
                }
            }
            match holders.last() {
                Some(last) if holders.len() == AT_ONCE => from = EntryId(last.0 + 1),
                _ => return Ok(false),
            }
        }
    }

    fn has_by_walk(
        &self,
        work: &Work<'_, '_>,
        view: &View<'_>,
        judged: EntryId,
        lookup: &Lookup,
        base: EntryId,
        normal: &[u8],
    ) -> Result<bool, LdapResult> {
        let mut waiting = vec![(base, 0u32)];
        while let Some((id, depth)) = waiting.pop() {
            let counts = match self.scope {
                SearchScope::BaseObject => depth == 0,
                SearchScope::SingleLevel => depth == 1,
                SearchScope::WholeSubtree => true,
                _ => depth > 0,
            };
            let has = || lookup.entry_has(&work.facts.schema, view, id, normal).map_err(failed);
            if counts && id != judged && has()? && self.matches(work, view, id)? {
                return Ok(true);
            }
            let goes_on = match self.scope {
                SearchScope::BaseObject => false,
                SearchScope::SingleLevel => depth == 0,
                _ => true,
            };
            if goes_on {
                waiting.extend(view.children(id).map_err(failed)?.iter().map(|child| (child, depth + 1)));
            }
        }
        Ok(false)
    }

    fn matches(&self, work: &Work<'_, '_>, view: &View<'_>, id: EntryId) -> Result<bool, LdapResult> {
        self.filter.as_ref().map_or(Ok(true), |filter| matches(&work.facts, filter, view, id))
    }

    fn is_in_scope(&self, view: &View<'_>, base: EntryId, id: EntryId) -> Result<bool, LdapResult> {
        let parent = |id: EntryId| -> Result<EntryId, LdapResult> {
            let Some(record) = view.entry(id).map_err(failed)? else { return Ok(EntryId::ROOT) };
            Ok(record.view().map_err(failed)?.parent())
        };
        match self.scope {
            SearchScope::BaseObject => Ok(id == base),
            SearchScope::SingleLevel => Ok(parent(id)? == base),
            _ => {
                let mut at = id;
                let mut is_below = self.scope == SearchScope::WholeSubtree;
                while at != EntryId::ROOT {
                    if at == base && is_below {
                        return Ok(true);
                    }
                    is_below = true;
                    at = parent(at)?;
                }
                Ok(false)
            }
        }
    }
}
