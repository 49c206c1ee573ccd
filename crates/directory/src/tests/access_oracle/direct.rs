//! Every right to every attribute of every entry, asked of the access control itself.

use access::{Question, Right as Asked, WrittenValue};
use query::backend::BackendIndex;
use query::entry::{DnParts, EntryView};
use store::EntryId;

use super::ask::Real;
use super::evaluate::{Decider, NAMES, Target, World, Written};
use super::generate::{self, TEXTS};
use super::instruction::Right;
use super::model::{Asker, Name};
use super::random::Random;

/// Types that are asked about, besides those of the entry.
const OTHERS: [&str; 3] = ["employeetype", "aci", "modifytimestamp"];

/// Asks everything for some askers; gives the number of decisions, or the first difference.
pub fn ask(world: &World, seed: u64) -> Result<usize, String> {
    let mut random = Random(seed ^ 0x00d1_4ec7);
    let real = Real::new(world);
    let mut count = 0;
    for asker in generate::askers(&mut random) {
        count += ask_for(world, &real, &asker)?;
    }
    Ok(count)
}

fn ask_for(world: &World, real: &Real, asker: &Asker) -> Result<usize, String> {
    let decider = Decider::new(world, asker);
    let directory = &real.it.directory;
    let (facts, now) = (directory.facts(), generate::now());
    let session = real.session(asker);
    let rights = directory.access_control.rights_of(&session, &facts, &directory.reading, now).unwrap();
    let moment = directory.reading.moment(&facts, now);
    let snapshot = directory.backends()[0].store.snapshot().unwrap();
    let view = snapshot.view();
    let seen = moment.at(BackendIndex(0), view);
    let rights = rights.at(seen).unwrap();
    let mut count = 0;
    for id in (0..).map(EntryId).skip(1).take(world.tree.entries.len() + 1) {
        let (Some(record), Some(dn)) = (view.entry(id).unwrap(), view.dn_of(id).unwrap()) else { continue };
        let entry = EntryView { id, record: record.view().unwrap(), dn: DnParts::whole(dn.as_bytes()), source: &seen };
        let name = Name::of(&dn);
        let Some(attributes) = world.tree.entries.get(&name) else { continue };
        let target = Target { name: &name, attributes, is_new: false };
        let mut same = |question: Question<'_>, expected: bool, said: &str| {
            count += 1;
            let answer = rights.may(&facts, &entry, question).unwrap();
            let complain = || format!("{said} of {name} for {asker:?}: server {answer}, evaluator {expected}");
            if answer == expected { Ok(()) } else { Err(complain()) }
        };
        for (asked, right) in [(Asked::Add, Right::Add), (Asked::Delete, Right::Delete)] {
            same(Question::entry(asked), decider.may_entry(target, right), right.text())?;
        }
        for (asked, right) in [(Asked::Import, Right::Import), (Asked::Export, Right::Export)] {
            same(Question::entry(asked), decider.may_entry(target, right), right.text())?;
        }
        same(Question::entry(Asked::Read), decider.shows(target), "that it shows")?;
        for kind in attributes.keys().map(String::as_str).chain(OTHERS) {
            let Some(known) = facts.schema.attribute_type(kind.as_bytes()) else { continue };
            for (asked, right) in
                [(Asked::Read, Right::Read), (Asked::Search, Right::Search), (Asked::Compare, Right::Compare)]
            {
                // Of an entry that is hidden as a whole nothing is read; comparing and searching are not stopped.
                let hidden = right == Right::Read && !decider.shows(target);
                let expected = !hidden && decider.may_attribute(target, right, kind);
                same(Question::attribute(asked, known.index), expected, &format!("{} {kind}", right.text()))?;
            }
        }
        let own = asker.name.as_ref().map_or_else(|| "cn=nobody".to_owned(), ToString::to_string);
        let names = NAMES.iter().map(|kind| (*kind, own.as_str()));
        let texts = TEXTS.iter().flat_map(|(kind, values)| values.iter().map(|value| (*kind, *value)));
        for (kind, value) in names.chain(texts) {
            let known = facts.schema.attribute_type(kind.as_bytes()).expect("a type").index;
            for comes in [true, false] {
                let bytes = value.as_bytes();
                let written = if comes { WrittenValue::Added(bytes) } else { WrittenValue::Deleted(bytes) };
                let expected = decider.may_write(target, Written { kind, value, comes });
                let said = format!("write {kind}={value} (comes: {comes})");
                same(Question::value(known, written), expected, &said)?;
            }
        }
    }
    Ok(count)
}
