//! Everything that follows updates, all at once: groups of every kind, Class of Service, references, unique values, constraints, transactions, two
//! backends, a crash, a fold. What entries, filters, chains and indexes say is compared with a computation from scratch that knows
//! names as texts only.
//!
//! Names are few and come again, references may lead to nobody, names that wait are followed bit by bit.

mod bed;
mod model;
mod steps;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use bed::{Bed, shown};
use model::{FOLLOWED, Kind, Manner, Model, Op, Qualifier, backend_of};
use steps::{Event, PLACES, events, planted, resolve};

fn run(bed: &mut Bed, model: &mut Model, event: &Event) {
    match event {
        Event::One(step) => {
            let Some(op) = resolve(model, step) else { return };
            let expected = model.apply(&op);
            assert_eq!(bed.send(&op, &[]), expected, "{op:?}");
        }
        Event::Transaction(steps, commit) => {
            let mut then = model.clone();
            let (mut ops, mut code) = (Vec::new(), 0);
            for step in steps {
                // What comes behind a refusal is meant for the entries before it.
                let Some(op) = resolve(&then, step) else { continue };
                let is_elsewhere = ops.first().is_some_and(|first: &Op| backend_of(first.dn()) != backend_of(op.dn()));
                if is_elsewhere || matches!(op, Op::Delete { subtree: true, .. }) {
                    continue;
                }
                if code == 0 {
                    code = then.apply(&op);
                }
                ops.push(op);
            }
            let expected = if *commit { code } else { 0 };
            assert_eq!(bed.transaction(&ops, *commit), expected, "{ops:?}");
            if *commit && code == 0 {
                *model = then;
            }
        }
        Event::Work { backend, count, is_finished } => {
            let done = bed.work(*backend, *count, *is_finished);
            model.bring_forward(*backend, &done);
            model.work(*backend, done.len(), *is_finished);
        }
        Event::Compare => compare(bed, model),
        Event::Crash => {
            *bed = bed.crashed();
            model.drain();
            compare(bed, model);
        }
        Event::Fold => {
            bed.fold();
            compare(bed, model);
        }
    }
}

fn compare(bed: &mut Bed, model: &Model) {
    let members = model.members();
    let groups_of = |dn: &String| -> BTreeSet<String> {
        members.iter().filter(|(_, members)| members.contains(dn)).map(|(group, _)| group.clone()).collect()
    };
    let found = bed.entries();
    let visible: BTreeSet<String> =
        model.entries.iter().filter(|(_, entry)| !entry.kind.is_hidden()).map(|(dn, _)| dn.clone()).collect();
    assert!(found.keys().eq(visible.iter()), "{:?} and not {visible:?}", found.keys());
    for (dn, entry) in &model.entries {
        let mut expected: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (name, values) in &entry.values {
            for value in values {
                let (name, value) = shown(name, value);
                expected.entry(name.to_owned()).or_default().insert(value);
            }
        }
        if entry.kind.is_hidden() {
            continue;
        }
        let places = model.places(dn);
        expected.remove("l");
        if !places.is_empty() {
            expected.insert("l".to_owned(), places);
        }
        let groups = groups_of(dn);
        for name in ["ismemberof", "memberof"] {
            if !groups.is_empty() {
                expected.insert(name.to_owned(), groups.clone());
            }
        }
        assert_eq!(compared(entry.kind, found[dn].clone()), expected, "{dn}");
    }
    for (group, own) in &members {
        let own: BTreeSet<String> = own.intersection(&visible).cloned().collect();
        assert_eq!(bed.matching(&format!("(memberOf={group})")), own, "members of {group}");
        let others: BTreeSet<String> = visible.difference(&own).cloned().collect();
        assert_eq!(bed.matching(&format!("(!(isMemberOf={group}))")), others, "all but the members of {group}");
    }
    let any: BTreeSet<String> = members.values().flatten().filter(|dn| visible.contains(*dn)).cloned().collect();
    assert_eq!(bed.matching("(memberOf=*)"), any);
    let names: Vec<&String> = visible.iter().collect();
    for (at, dn) in names.iter().copied().enumerate() {
        // Not everything of everybody each time: another part of it by the number of entries.
        let turn = at + names.len();
        let attribute = ["member", "manager", "seealso"][turn % 3];
        let chain = format!("({attribute}:1.2.840.113556.1.4.1941:={dn})");
        assert_eq!(bed.matching(&chain), model.chain(attribute, dn), "{chain}");
        let attribute = FOLLOWED[turn % FOLLOWED.len()];
        let mut expected = model.having(attribute, |value| value == dn);
        if attribute == "member" {
            let is_virtual = |group: &&String| model.entries[*group].kind == Kind::Virtual;
            let having = members.iter().filter(|(_, own)| own.contains(dn)).map(|(group, _)| group);
            expected.extend(having.filter(is_virtual).cloned());
        }
        assert_eq!(bed.matching(&format!("({attribute}={dn})")), expected, "({attribute}={dn})");
        if let Some(group) = members.keys().nth(turn % members.len().max(1)) {
            assert_eq!(bed.compares(dn, "memberOf", group), groups_of(dn).contains(group), "{dn} in {group}");
        }
    }
    let shows = |test: &dyn Fn(&str) -> bool| -> BTreeSet<String> {
        visible.iter().filter(|dn| model.places(dn).iter().any(|place| test(place))).cloned().collect()
    };
    for place in PLACES {
        let having = shows(&|it| it == place);
        assert_eq!(bed.matching(&format!("(l={place})")), having, "(l={place})");
        let start = &place[..2];
        assert_eq!(bed.matching(&format!("(l={start}*)")), shows(&|it| it.starts_with(start)), "(l={start}*)");
        let red: BTreeSet<String> =
            model.having("description", |it| it == "red").intersection(&having).cloned().collect();
        assert_eq!(bed.matching(&format!("(&(l={place})(description=red))")), red, "red ones with {place}");
        let others: BTreeSet<String> = visible.difference(&having).cloned().collect();
        assert_eq!(bed.matching(&format!("(!(l={place}))")), others, "(!(l={place}))");
        if let Some(dn) = names.iter().copied().find(|dn| model.entries[*dn].kind == Kind::Person) {
            assert_eq!(bed.compares(dn, "l", place), having.contains(dn), "{dn} compared with {place}");
        }
    }
    assert_eq!(bed.matching("(l=*)"), shows(&|_| true));
    for (attribute, value) in [("mail", "m1@example.com"), ("description", "red")] {
        let expected = model.having(attribute, |own| own == value);
        assert_eq!(bed.matching(&format!("({attribute}={value})")), expected);
    }
    bed.verify();
}

/// What of an entry's attributes the model knows.
fn compared(kind: Kind, mut attributes: BTreeMap<String, BTreeSet<String>>) -> BTreeMap<String, BTreeSet<String>> {
    attributes
        .retain(|name, _| name != "objectclass" && (kind != Kind::Person || !["cn", "sn"].contains(&name.as_str())));
    attributes
}

fn check(manner: Manner, events: &[Event]) {
    let (mut bed, mut model) = (Bed::new(manner), Model::new(manner));
    for op in planted() {
        assert_eq!((bed.send(&op, &[]), model.apply(&op)), (0, 0), "{op:?}");
    }
    for event in events {
        run(&mut bed, &mut model, event);
    }
    compare(&mut bed, &model);
    bed.drain();
    model.drain();
    compare(&mut bed, &model);
    // Nobody is named who is not there, unless somebody was named before he came or after he went.
    let mut bed = bed.crashed();
    compare(&mut bed, &model);
    bed.fold();
    compare(&mut bed, &model);
}

// S2-06, S2-10, S2-11, S2-12, S2-38, S2-42, S3-20, S3-22, S3-30
proptest! {
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 300, ..ProptestConfig::default() })]

    #[test]
    fn everything_is_what_it_would_be_from_scratch(
        at_once in any::<bool>(),
        checked in any::<bool>(),
        qualifier in prop::sample::select(vec![Qualifier::Default, Qualifier::Override, Qualifier::Merge]),
        events in events(),
    ) {
        check(Manner { at_once, checked, qualifier }, &events);
    }
}
