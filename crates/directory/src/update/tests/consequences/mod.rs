//! Everything that follows updates, all at once: groups of every kind, Class of Service, roles, collective attributes,
//! references, unique values, constraints, transactions, two backends, a crash, a fold. What entries, filters, chains
//! and indexes say is compared with a computation from scratch that knows names as texts only.
//!
//! Names are few and come again, references may lead to nobody, names that wait are followed bit by bit.

mod bed;
mod compare;
mod computed;
mod model;
mod steps;

use proptest::prelude::*;

use bed::Bed;
use compare::compare;
use model::{Conflict, Manner, Model, Op, Qualifier, backend_of};
use steps::{Event, events, planted, resolve};

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

/// `PROPTEST_CASES`, or as many as one waits for.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(8)
}

// S2-06, S2-10, S2-11, S2-12, S2-38, S2-42, S3-20, S3-22, S3-30
proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 300, ..ProptestConfig::default() })]

    #[test]
    fn everything_is_what_it_would_be_from_scratch(
        at_once in any::<bool>(),
        checked in any::<bool>(),
        indexed in any::<bool>(),
        qualifier in prop::sample::select(vec![Qualifier::Default, Qualifier::Override, Qualifier::Merge]),
        conflict in prop::sample::select(vec![Conflict::Real, Conflict::Virtual, Conflict::Merge]),
        events in events(),
    ) {
        check(Manner { at_once, checked, indexed, qualifier, conflict }, &events);
    }
}
