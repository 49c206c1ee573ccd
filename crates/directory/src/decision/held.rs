//! The access control instructions of a whole directory, as text with their places: for those who look at them, not for
//! decisions.

use std::ops::ControlFlow;

use access::explanation::place;
use access::holders::each_holder;
use access::lint::Instruction;
use query::backend::Backend;
use query::entry::{DnParts, EntryView, each_stored};
use query::facts::Facts;
use schema::{NormalizedDn, TypeIndex};
use store::{EntryId, StoreError, View};

/// Those of the configuration, then those of the entries of every backend.
pub(crate) fn instructions(
    facts: &Facts,
    global: &[String],
    backends: &[Backend],
) -> Result<Vec<Instruction>, StoreError> {
    let global = (1..).zip(global).map(|(number, text)| Instruction {
        holder: None,
        place: place(None, number),
        text: text.clone(),
    });
    let mut found: Vec<Instruction> = global.collect();
    let Some(aci) = facts.schema.attribute_type(b"aci").map(|known| known.index) else { return Ok(found) };
    for backend in backends {
        let snapshot = backend.store.snapshot()?;
        let view = snapshot.view();
        each_holder(&view, aci, |id| read(facts, &view, aci, id, &mut found))?;
    }
    Ok(found)
}

fn read(
    facts: &Facts,
    view: &View<'_>,
    aci: TypeIndex,
    id: EntryId,
    found: &mut Vec<Instruction>,
) -> Result<(), StoreError> {
    let Some(record) = view.entry(id)? else { return Ok(()) };
    let entry = EntryView { id, record: record.view()?, dn: DnParts::default(), source: view };
    let mut texts = Vec::new();
    each_stored(&entry, aci, &mut |value| {
        texts.push(String::from_utf8_lossy(value).into_owned());
        ControlFlow::Continue(())
    })?;
    if texts.is_empty() {
        return Ok(());
    }
    let dn = view.dn_of(id)?.unwrap_or_default();
    let holder = NormalizedDn::parse(&facts.schema, dn.as_bytes()).unwrap_or_default();
    found.extend((1..).zip(texts).map(|(number, text)| Instruction {
        holder: Some(holder.clone()),
        place: place(Some(&dn), number),
        text,
    }));
    Ok(())
}
