//! Random directories, instructions and askers: what the server lets them do is what an evaluator says that knows no
//! index, no compiled form and no cache: texts, looked through one by one. The evaluator is written from
//! the reference, not from the crate `access`.
//!
//! `PANDO_ACCESS_DECISIONS` gives the number of decisions, `PANDO_ACCESS_SEED` where to begin.

mod ask;
mod direct;
mod evaluate;
mod filter;
mod generate;
mod instruction;
mod model;
mod questions;
mod random;
mod roles;

use evaluate::World;
use random::Random;

const DECISIONS: usize = 6_000;

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).map_or(default, |text| text.parse().expect("a number"))
}

/// What asks one world: the number of decisions, or the first difference.
type Ask = fn(&World, u64) -> Result<usize, String>;

#[test]
fn rights_are_those_of_an_evaluator_that_knows_only_texts() {
    ask_random_worlds(direct::ask);
}

#[test]
fn requests_end_as_an_evaluator_says_that_knows_only_texts() {
    ask_random_worlds(questions::ask);
}

fn ask_random_worlds(ask: Ask) {
    let wanted = number("PANDO_ACCESS_DECISIONS", DECISIONS);
    let first = number("PANDO_ACCESS_SEED", 1) as u64;
    let mut decisions = 0;
    for seed in first.. {
        let world = generate::world(&mut Random(seed));
        match ask(&world, seed) {
            Ok(count) => decisions += count,
            Err(difference) => {
                let (least, difference) = shrunk(ask, world, seed, difference);
                panic!("seed {seed}: {difference}\n{}{}", global(&least), ask::ldif(&least));
            }
        }
        if decisions >= wanted {
            println!("{decisions} decisions of {} directories", seed - first + 1);
            break;
        }
    }
}

/// Takes away instructions and parts of them as long as some answer is still another one.
fn shrunk(ask: Ask, mut world: World, seed: u64, mut difference: String) -> (World, String) {
    let mut at = 0;
    'next: while at < world.instructions.len() {
        let mut less = world.instructions.clone();
        let one = less.remove(at);
        let less = world.with(less);
        let simpler = one.simpler().into_iter().map(|it| {
            let mut less = world.instructions.clone();
            less[at] = it;
            world.with(less)
        });
        let simpler: Vec<World> = simpler.collect();
        for less in std::iter::once(less).chain(simpler) {
            if let Err(other) = ask(&less, seed) {
                (world, difference) = (less, other);
                continue 'next;
            }
        }
        at += 1;
    }
    (world, difference)
}

fn global(world: &World) -> String {
    let global = world.instructions.iter().filter(|it| it.holder.is_none());
    global.map(|it| format!("# for every entry: {it}\n")).collect()
}
