//! Undoing what the history says happened gives the directory from before, whatever happened; and says what is in the
//! way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use schema::{NormalizedDn, Schema};
use store::{Content, View};

use super::bed::{Bed, SUFFIX};
use super::model::Op;
use super::random::{any_op, run};
use crate::apply::normal_form;
use crate::history::History;
use crate::undo::{Brief, EntryChange, Obstacle, Rehearsal, Step, Upkeep, choose, upkeep};
use query::backend::Suffix;
use query::facts::Facts;

type Contents = BTreeMap<NormalizedDn, BTreeSet<(String, Box<[u8]>)>>;

/// All entries, but for the stamps of their latest changes.
fn contents(view: &View<'_>, facts: &Facts) -> Contents {
    let schema = &facts.schema;
    let entry = |found: Result<_, store::StoreError>| {
        let (id, record): (_, store::RecordRef<'_>) = found.unwrap();
        let record = record.view().unwrap();
        let mut values = BTreeSet::new();
        record.for_each(&mut Vec::new(), |attribute| {
            let name = record.tables().description(attribute.desc).unwrap();
            let rule = schema.attribute_type(name.as_bytes()).and_then(|it| it.equality);
            let mut put = |value: &[u8]| {
                values.insert((name.to_owned(), normal_form(rule, schema, value)));
            };
            match attribute.content {
                _ if upkeep(facts, name) == Upkeep::Server => {}
                Content::Inline(inline) => inline.iter().for_each(put),
                Content::Large(_) => view.large_values(id, attribute.desc).unwrap().for_each(|it| put(&it.unwrap().1)),
            }
        });
        (NormalizedDn::parse(schema, view.dn_of(id).unwrap().unwrap().as_bytes()).unwrap(), values)
    };
    view.entries(store::EntryId(1)).unwrap().map(entry).collect()
}

fn facts() -> Arc<Facts> {
    Arc::new(Facts::new(Schema::standard()))
}

fn now(bed: &Bed) -> Contents {
    contents(&bed.backend.snapshot().unwrap().view(), &facts())
}

/// Undoes all changes from number `from` on that `is_wanted` says, in memory; what stood in the way, and what comes of
/// it.
fn undone(bed: Bed, is_wanted: impl Fn(u64) -> bool) -> (Vec<Obstacle>, Contents) {
    let (folder, mut files) = bed.closed();
    let history = History::of_files(vec![files.log().unwrap()]).unwrap();
    let mut briefs = Vec::new();
    let mut reader = history.from(0);
    while let Some(change) = reader.next_change().unwrap() {
        briefs.extend(Brief::of(&change, is_wanted(change.number)));
    }
    let chosen = choose(&briefs);
    let mut steps = BTreeMap::new();
    let mut reader = history.from(0);
    while let Some(change) = reader.next_change().unwrap() {
        if let Some(place) = chosen.iter().position(|chosen| chosen.number == change.number) {
            let follows = chosen[place].follows;
            steps.insert(
                place,
                Step { number: change.number, entry: change.entry, entry_change: EntryChange::of(&change), follows },
            );
        }
    }
    assert_eq!(steps.len(), chosen.len());
    let normalized = NormalizedDn::parse(&Schema::standard(), SUFFIX.as_bytes()).unwrap();
    let suffixes = vec![Suffix { dn: SUFFIX.to_owned(), normalized }];
    let mut rehearsal = Rehearsal::new(files.trial().unwrap(), facts(), suffixes, "cn=Directory Manager");
    let mut obstacles = Vec::new();
    for step in steps.values() {
        obstacles.extend(rehearsal.undo(step).unwrap().obstacles);
    }
    let after = rehearsal.look(|view| contents(view, &facts()));
    drop(folder);
    (obstacles, after)
}

fn last(bed: &Bed) -> u64 {
    bed.history.bounds().last
}

/// Each is an operation of its own.
fn one(bed: &mut Bed, op: &Op) {
    bed.operation += 1;
    run(bed, op);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, max_shrink_iters: 300, ..ProptestConfig::default() })]

    #[test]
    fn change_then_undo_gives_what_was_before(first in vec(any_op(), 0..15), then in vec(any_op(), 1..25)) {
        let mut bed = Bed::new();
        for op in &first {
            one(&mut bed, op);
        }
        let (before, number) = (now(&bed), last(&bed));
        for op in &then {
            one(&mut bed, op);
        }
        let (obstacles, after) = undone(bed, |it| it > number);
        prop_assert_eq!(obstacles, vec![]);
        prop_assert_eq!(after, before);
    }
}

#[test]
fn references_that_followed_come_back() {
    let mut bed = Bed::with_plugins("[plugin.ri]\ntype = \"referential-integrity\"\n");
    bed.person("ann");
    bed.person("ben");
    let dn = |uid: &str| format!("uid={uid},ou=people,{SUFFIX}");
    let members = format!("objectClass: groupOfNames\nmember: {}\nmember: {}", dn("ann"), dn("ben"));
    bed.add(&format!("cn=both,ou=groups,{SUFFIX}"), &members).ok();
    let (before, number) = (now(&bed), last(&bed));
    bed.operation += 1;
    bed.delete(&dn("ann")).ok();
    bed.operation += 1;
    bed.rename(&dn("ben"), "uid=benno", true, None).ok();
    bed.operation += 1;
    bed.rename(&format!("ou=people,{SUFFIX}"), "ou=staff", true, None).ok();
    let (obstacles, after) = undone(bed, |it| it > number);
    assert_eq!(obstacles, []);
    assert_eq!(after, before);
}

#[test]
fn what_happened_since_is_in_the_way_where_it_matters() {
    let messages = |bed: Bed, number: u64| {
        let (obstacles, _) = undone(bed, |it| it == number);
        obstacles.into_iter().map(|it| (it.message, it.can_be_forced)).collect::<Vec<_>>()
    };
    let ann = format!("uid=ann,ou=people,{SUFFIX}");
    let with_change = |change: &str, since: &dyn Fn(&mut Bed)| {
        let mut bed = Bed::new();
        bed.person("ann");
        bed.modify(&ann, change).ok();
        let number = last(&bed);
        since(&mut bed);
        messages(bed, number)
    };
    // Other values, and another name, are in nobody's way.
    assert_eq!(
        with_change("add mail: a@example.com", &|bed| drop(bed.modify(&ann, "add mail: b@example.com").ok())),
        []
    );
    assert_eq!(with_change("add mail: a@example.com", &|bed| drop(bed.rename(&ann, "uid=anna", true, None).ok())), []);
    let found =
        with_change("replace displayName: Ann", &|bed| drop(bed.modify(&ann, "replace displayName: Anna").ok()));
    assert!(found[0].0.contains("displayName has no value \"Ann\"") && found[0].1, "{found:?}");
    let found = with_change("add mail: a@example.com", &|bed| drop(bed.delete(&ann).ok()));
    assert!(found[0].0.contains("There is no entry") && !found[0].1, "{found:?}");

    let mut bed = Bed::new();
    bed.person("ann");
    let number = last(&bed);
    bed.modify(&ann, "add mail: a@example.com\nreplace sn: Other").ok();
    let found = messages(bed, number);
    assert!(
        found[0].0.contains("has mail: a@example.com") && found[0].0.contains("lost sn: example") && found[0].1,
        "{found:?}"
    );

    // Somebody else has the name now.
    let mut bed = Bed::new();
    bed.person("ann");
    bed.delete(&ann).ok();
    let number = last(&bed);
    bed.person("ann");
    let found = messages(bed, number);
    assert!(found[0].0.contains("exists already") && !found[0].1, "{found:?}");
}
