//! Non-interference: what an asker observes does not depend on what it may not see.
//!
//! Two directories have the same of all that the asker may see, and anything else otherwise: entries, values, groups,
//! definitions, referrals and aliases that do not show. The same requests, with every control that reads, and updates,
//! allowed or not, get the same answers: codes, messages, matched DNs, entries and their order, references, counts,
//! whether there is another page. Then one of the two is changed where that does not show, and they are asked again.
//! Rights are those of a test double, and the same rights as access control instructions, in several forms.
//!
//! | file | what |
//! |---|---|
//! | `chance` | random choices from one number |
//! | `rights` | forms of instructions that come to the same |
//! | `world` | a random directory and its twin |
//! | `given` | definitions of computed attributes |
//! | `request` | random requests |
//! | `side` | one of the two directories, opened |
//! | `answer` | what is observed of a request |
//! | `watching` | what persistent searches tell |
//!
//! `PANDO_NON_INTERFERENCE_SEED` and `PANDO_NON_INTERFERENCE_ROUNDS` say which rounds are run (`scripts/soak`).

mod answer;
mod chance;
mod given;
mod request;
mod rights;
mod side;
mod watching;
mod world;

use std::sync::atomic::{AtomicU64, Ordering};

use ldap::ResultCode;

use self::answer::observe;
use self::chance::Chance;
use self::request::{Kind, Request};
use self::rights::Form;
use self::side::{Side, Who};
use self::world::World;

/// Rounds of a test run; each has its own directories.
const ROUNDS: u64 = 12;
/// Pairs of directories in a round.
const PAIRS: usize = 25;
/// Rounds that are run at the same time.
const THREADS: usize = 4;
/// Requests to each pair.
const REQUESTS: usize = 6;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Runs one round.
fn round(seed: u64) {
    let mut chance = Chance::new(seed);
    let who = chance.of(&[Who::Double, Who::User, Who::User, Who::User, Who::Anonymous, Who::Proxied]);
    let form = match who {
        Who::Double => Form::Filter,
        Who::Anonymous => chance.of(&Form::FOR_ANYONE),
        _ => Form::random(&mut chance),
    };
    let entry_limit = if chance.tenths(3) { Some(1 + chance.below(6) as u64) } else { None };
    let lookthrough = chance.tenths(2).then(|| 2 + chance.below(20));
    let world = World::new(&mut chance, form, lookthrough);
    let twin = world.twin(&mut chance, 10);
    let mut sides = [Side::new(world, who, entry_limit), Side::new(twin, who, entry_limit)];
    for pair in 0..PAIRS {
        if pair > 0 {
            let which = chance.below(2);
            let other = sides[which].world.twin(&mut chance, 3);
            sides[which].become_world(other);
        }
        for _ in 0..REQUESTS {
            let request = Request::new(&mut chance, &sides[pair % 2].world, who == Who::Proxied);
            // Updates do not ask the double.
            if who == Who::Double && matches!(request.kind, Kind::Update(_)) {
                continue;
            }
            let [one, other] = &mut sides;
            let (seen, seen_by_twin) = (observe(one, &request), observe(other, &request));
            assert!(
                seen == seen_by_twin,
                "seed {seed} pair {pair} {who:?} {form:?}\n{request:?}\n{seen:#?}\n---- twin\n{seen_by_twin:#?}\n{}\n\
                 ---- twin\n{}",
                one.world.ldif(),
                other.world.ldif()
            );
            if matches!(request.kind, Kind::Update(_)) && seen[0].code == ResultCode::SUCCESS {
                sides.iter().for_each(|side| side.put_back(&request));
            }
        }
    }
    watching::check(&mut chance, seed, who, &mut sides);
}

/// S0-07
#[test]
fn what_may_not_be_seen_does_not_show() {
    let first = number("PANDO_NON_INTERFERENCE_SEED", 1);
    let rounds = number("PANDO_NON_INTERFERENCE_ROUNDS", ROUNDS);
    let next = AtomicU64::new(first);
    // Most of the time goes by waiting for the disk.
    std::thread::scope(|scope| {
        let run = || {
            while let seed = next.fetch_add(1, Ordering::Relaxed)
                && seed < first + rounds
            {
                round(seed);
            }
        };
        (0..THREADS).map(|_| scope.spawn(run)).collect::<Vec<_>>().into_iter().for_each(|it| it.join().unwrap());
    });
    println!("{} pairs of directories, {REQUESTS} requests to each", rounds * PAIRS as u64);
}
