//! Non-interference: what an asker observes does not depend on what it may not see.
//!
//! Two directories have the same of all that the asker may see, and anything else otherwise: entries, values, groups,
//! referrals and aliases that do not show. The same requests, with every control that reads, and refused updates, get
//! the same answers: codes, messages, matched DNs, entries and their order, references, counts, whether there is
//! another page. Rights are those of a test double, and the same rights as access control instructions.
//!
//! | file | what |
//! |---|---|
//! | `chance` | random choices from one number |
//! | `world` | a random directory and its twin |
//! | `request` | random requests, and what is observed of their answers |

mod chance;
mod request;
mod world;

use access::AccessSettings;
use config::default_indexes;
use proptest::prelude::*;
use query::backend::BackendIndex;
use query::locate::locate;
use schema::NormalizedDn;

use self::chance::Chance;
use self::request::observe;
use self::world::{BASE, INSTRUCTIONS, World, person_dn};
use crate::Identity;
use crate::search::tests::by_mark::ByMark;
use crate::search::tests::fixture::Fixture;

/// Requests to each pair of directories.
const REQUESTS: usize = 60;

/// A directory, and who asks.
fn opened(world: &World, with_instructions: bool) -> (Fixture, Identity) {
    let fixture = Fixture::new(&[BASE], default_indexes(), &world.ldif());
    if !with_instructions {
        return (fixture, ByMark::identity());
    }
    let global_acis = INSTRUCTIONS.iter().map(|it| (*it).to_owned()).collect();
    let settings = AccessSettings { global_acis, ..AccessSettings::default() };
    fixture.directory.access_control.set(settings).unwrap();
    let identity = user(&fixture, &person_dn(0));
    (fixture, identity)
}

/// Whoever is bound as an entry.
fn user(fixture: &Fixture, dn: &str) -> Identity {
    let backend = &fixture.directory.backends()[0];
    let name = NormalizedDn::parse(&fixture.directory.schema(), dn.as_bytes()).unwrap();
    let snapshot = backend.store.snapshot().unwrap();
    let path = locate(&snapshot.view(), &backend.suffixes[0].normalized, name.as_bytes()).unwrap();
    Identity::User { dn: dn.into(), backend: BackendIndex(0), entry: path.found().unwrap() }
}

fn check(seed: u64, with_instructions: bool) -> Result<(), TestCaseError> {
    let mut chance = Chance::new(seed);
    let world = World::new(&mut chance);
    let twin = world.twin(&mut chance);
    let (mut one, identity) = opened(&world, with_instructions);
    let (mut other, same_identity) = opened(&twin, with_instructions);
    for _ in 0..REQUESTS {
        let request = world.request(&mut chance, &twin);
        // Updates do not ask the double.
        if request.is_update() && !with_instructions {
            continue;
        }
        let seen = observe(&mut one, &identity, &request);
        let seen_by_twin = observe(&mut other, &same_identity, &request);
        prop_assert_eq!(seen, seen_by_twin, "{:?}\n{}\n---- twin\n{}", request, world.ldif(), twin.ldif());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, max_shrink_iters: 0, ..ProptestConfig::default() })]

    /// S0-07
    #[test]
    fn what_may_not_be_seen_does_not_show(seed: u64) {
        check(seed, false)?;
    }

    /// S0-07
    #[test]
    fn what_instructions_do_not_allow_does_not_show(seed: u64) {
        check(seed, true)?;
    }
}
