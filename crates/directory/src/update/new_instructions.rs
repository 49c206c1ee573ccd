//! Access control instructions that come with an update: what names nobody in them is told to the log, since it is most
//! often mistyped. The update goes on: the group may be added later.
//!
//! Knows what `access::lint` finds; the other findings are for `pando access lint`.

use std::sync::Arc;

use access::lint::{Instruction, Issue, lint};
use ldap::{EntryRequest, ModifyOperation};
use query::facts::Facts;
use query::notices::NoticeKind;
use schema::NormalizedDn;
use store::StoreError;

use super::context::UpdateContext;
use crate::presence::Holders;

/// Instructions of one update that are looked at.
const MOST: usize = 100;

/// Tells of names in the instructions of a request to which nothing belongs. Costs nothing without instructions.
pub(super) fn tell(context: &UpdateContext<'_>, facts: &Arc<Facts>, holder: &NormalizedDn, request: &EntryRequest<'_>) {
    let mut texts = Vec::new();
    let mut take = |attribute: &ldap::Attribute<'_>| {
        let known = facts.schema.type_of_description(attribute.description).map(|known| known.index);
        if known.is_some() && known == facts.aci {
            texts.extend(attribute.values.iter().map(|value| String::from_utf8_lossy(value).into_owned()));
        }
    };
    match request {
        EntryRequest::Add(add) => add.attributes.iter().for_each(|attribute| take(&attribute)),
        EntryRequest::Modify(modify) => {
            let brings = modify.changes.iter().filter(|change| change.operation != ModifyOperation::Delete);
            brings.for_each(|change| take(&change.attribute));
        }
        EntryRequest::Delete(_) | EntryRequest::ModifyDn(_) => {}
    }
    if texts.is_empty() {
        return;
    }
    let place = String::from_utf8_lossy(request.entry()).into_owned();
    let made = |text| Instruction { holder: Some(holder.clone()), place: place.clone(), text };
    let instructions: Vec<Instruction> = texts.into_iter().take(MOST).map(made).collect();
    let (backends, in_force, history) = (&**context.backends, context.in_force, context.history);
    let holders = Holders { facts, backends, in_force, history, roots: &context.roots.load() };
    let found: Result<_, StoreError> = lint(facts, &instructions, &mut |name| holders.presence(name));
    // What cannot be read is found out by the update itself.
    for finding in found.unwrap_or_default() {
        let Some(instruction) = instructions.get(finding.instruction) else { continue };
        if names_nothing(&finding.issue) {
            let text = finding.span.and_then(|span| instruction.text.get(span)).unwrap_or(&instruction.text);
            let sentence = format!("An instruction was written for \"{place}\", {text}: {}", finding.issue);
            context.notices.warn_once_of(NoticeKind::Instruction, sentence);
        }
    }
}

fn names_nothing(issue: &Issue) -> bool {
    matches!(
        issue,
        Issue::UnknownAttribute(_) | Issue::Missing { .. } | Issue::HeldNowhere { .. } | Issue::NoGroup { .. }
    )
}
