//! Values that no two entries have (OpenDJ: unique attribute; OpenLDAP: slapo-unique).
//!
//! One writer applies one proposal after the other, so of two adds with the same value exactly one wins. An entry that
//! comes into a rule's scope by a new name or by what else it is now is judged with all its values.

use store::{Content, EntryId};

use super::configured::Unique;
use super::judged::Judged;
use crate::apply::draft::stored_type;
use crate::apply::error::ApplyError;
use crate::apply::value_set::normal_form;
use crate::apply::work::Work;
use crate::refusal::Refusal;
use query::error::shown;

impl Unique {
    pub(super) fn judge(&self, work: &Work<'_, '_>, judged: Judged<'_, '_>) -> Result<(), ApplyError> {
        if !self.scope.covers_name(judged.name) {
            return Ok(());
        }
        let is_new_here = judged.before.is_some_and(|before| !self.scope.covers_name(before));
        let draft = judged.draft;
        let schema = draft.schema;
        let is_own = |index| {
            let of_type = schema.attribute_by_index(index);
            of_type.is_some_and(|it| self.attributes.iter().any(|own| it.is_subtype_of(own.attribute)))
        };
        let touched = draft.touched.iter().filter(|touched| touched.type_index.is_some_and(is_own));
        let mut values: Vec<(String, Vec<u8>)> = Vec::new();
        for touched in touched {
            let name = &touched.description;
            values.extend(draft.new_values(touched).into_iter().map(|value| (name.clone(), value.to_vec())));
        }
        if is_new_here || self.scope.has_filter() {
            values.extend(self.stored(work, draft.id)?);
        }
        if values.is_empty() || !self.scope.matches(&work.facts, &work.view(), draft.id)? {
            return Ok(());
        }
        values.iter().try_for_each(|(attribute, value)| self.judge_value(work, draft.id, attribute, value))
    }

    /// The values of the entry that are in its record. Those of large attributes were judged when they came, or their
    /// entry moved with a million of them, which is too much for one proposal.
    fn stored(&self, work: &Work<'_, '_>, id: EntryId) -> Result<Vec<(String, Vec<u8>)>, ApplyError> {
        let (view, schema) = (work.view(), &work.facts.schema);
        let Some(found) = view.entry(id)? else { return Ok(Vec::new()) };
        let record = found.view()?;
        let mut values = Vec::new();
        let mut scratch = Vec::new();
        for lookup in &self.attributes {
            for desc in lookup.descriptions(schema, &record) {
                let own = stored_type(schema, record.tables(), desc);
                let name = own.map_or(lookup.name.as_str(), |own| own.name());
                if let Some(Content::Inline(inline)) = record.attribute(desc, &mut scratch).map(|it| it.content) {
                    values.extend(inline.iter().map(|value| (name.to_owned(), value.to_vec())));
                }
            }
        }
        Ok(values)
    }

    fn judge_value(&self, work: &Work<'_, '_>, id: EntryId, name: &str, value: &[u8]) -> Result<(), ApplyError> {
        let (view, schema) = (work.view(), &work.facts.schema);
        for lookup in &self.attributes {
            let normal = normal_form(Some(lookup.rule), schema, value);
            let mut from = EntryId(0);
            // Two at a time: the entry itself, and another one with the value.
            loop {
                let holders = lookup.holders(schema, &view, &normal, from, 2)?;
                for other in holders.iter().filter(|other| **other != id) {
                    let covered = self.scope.covers_name_of(schema, &view, *other)?
                        && self.scope.matches(&work.facts, &view, *other)?;
                    if covered {
                        return Err(self.refusal(work, *other, name, value)?.into());
                    }
                }
                match holders.last() {
                    Some(last) if holders.len() == 2 => from = EntryId(last.0 + 1),
                    _ => break,
                }
            }
        }
        Ok(())
    }

    /// Only root is told which entry has the value: others could learn of entries that they may not read.
    fn refusal(&self, work: &Work<'_, '_>, other: EntryId, name: &str, value: &[u8]) -> Result<Refusal, ApplyError> {
        let is_secret =
            work.facts.schema.attribute_type(name.as_bytes()).is_some_and(|it| work.facts.is_secret(it.index));
        let value = if is_secret { "of the value given".to_owned() } else { format!("\"{}\"", shown(value)) };
        let (plugin, attribute) = (self.name.clone(), name.to_owned());
        Ok(match work.proposal.authority.is_root() {
            true => {
                let dn = work.view().dn_of(other)?.unwrap_or_default();
                Refusal::NotUniqueBeside { plugin, attribute, value, dn }
            }
            false => Refusal::NotUnique { plugin, attribute, value },
        })
    }
}
