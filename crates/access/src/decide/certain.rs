//! What is certain for all entries of all backends, or for all of the server's own, before any is looked at.
//!
//! A search of whom no instruction concerns below the base entries asks nothing else.

use aci::{Effect, Right, TargetScope};
use query::rights::{Answer, ReadRight};
use schema::{Schema, TypeIndex};

use super::concern::Concern;
use super::place::depth;
use crate::compiled::{Kinds, NamePattern, TypeSet};

/// The rights to read, in the order of the sets.
const READ: [Right; 3] = [Right::Search, Right::Read, Right::Compare];

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Certain {
    yes: [TypeSet; 3],
    possible: [TypeSet; 3],
    unknown: [Answers; 3],
    shows: Answers,
    is_begun: bool,
}

/// An answer while it is put together.
#[derive(Clone, Copy, Debug)]
struct Answers(Answer);

impl Default for Answers {
    fn default() -> Self {
        Answers(Answer::No)
    }
}

/// What instructions grant and deny to all entries at or below one name, and to some of them.
#[derive(Debug, Default)]
pub(crate) struct Spread {
    granted: [TypeSet; 3],
    denied: [TypeSet; 3],
    maybe_granted: [TypeSet; 3],
    maybe_denied: [TypeSet; 3],
    unknown: [Effects; 3],
    hidden: bool,
    maybe_hidden: bool,
}

/// Of attributes that the schema does not have.
#[derive(Clone, Copy, Debug, Default)]
struct Effects {
    granted: bool,
    denied: bool,
    maybe_granted: bool,
    maybe_denied: bool,
}

/// To which entries at or below a name an instruction of a holder at or above it applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    All,
    Some,
    None,
}

impl Spread {
    /// An instruction of a holder, whose name has `holder_depth` RDNs, at or above the entry `top` (a normalized name).
    pub fn add(&mut self, schema: &Schema, kinds: &Kinds, concern: &Concern, holder_depth: usize, top: &[u8]) {
        let reach = reach(schema, concern, holder_depth, top);
        let is_open = concern.rule.is_some() || concern.instruction.filter.is_some();
        match reach {
            Reach::None => {}
            Reach::All if !is_open => self.put(kinds, concern, false),
            Reach::All | Reach::Some => self.put(kinds, concern, true),
        }
    }

    /// An instruction of a holder below.
    pub fn add_below(&mut self, kinds: &Kinds, concern: &Concern) {
        self.put(kinds, concern, true);
    }

    fn put(&mut self, kinds: &Kinds, concern: &Concern, maybe: bool) {
        if concern.instruction.oids.is_some() {
            return;
        }
        let is_deny = concern.effect == Effect::Deny;
        if concern.instruction.is_invalid || (concern.instruction.is_about_entries() && is_deny) {
            let hides = concern.rights.contains(Right::Read);
            self.hidden |= hides && !maybe;
            self.maybe_hidden |= hides && maybe;
        }
        let Some(attributes) = &concern.instruction.attributes else { return };
        let sets = match (is_deny, maybe) {
            (false, false) => &mut self.granted,
            (true, false) => &mut self.denied,
            (false, true) => &mut self.maybe_granted,
            (true, true) => &mut self.maybe_denied,
        };
        let mut is_read = false;
        for ((set, unknown), right) in sets.iter_mut().zip(&mut self.unknown).zip(READ) {
            if !concern.rights.contains(right) {
                continue;
            }
            is_read = true;
            attributes.add_to(kinds, set);
            if attributes.contains_unknown() {
                match (is_deny, maybe) {
                    (false, false) => unknown.granted = true,
                    (true, false) => unknown.denied = true,
                    (false, true) => unknown.maybe_granted = true,
                    (true, true) => unknown.maybe_denied = true,
                }
            }
        }
        if is_read && !maybe {
            concern.instruction.hit();
        }
    }
}

impl Certain {
    /// And what holds for the entries of another place.
    pub fn and(&mut self, kinds: &Kinds, spread: Spread) {
        let Spread { granted, denied, maybe_granted, maybe_denied, unknown, hidden, maybe_hidden } = spread;
        let mut possible = granted.clone();
        let mut yes = granted;
        for at in 0..READ.len() {
            let (Some(yes), Some(possible)) = (yes.get_mut(at), possible.get_mut(at)) else { continue };
            if let (Some(denied), Some(maybe_denied), Some(maybe_granted)) =
                (denied.get(at), maybe_denied.get(at), maybe_granted.get(at))
            {
                yes.remove_all(denied);
                yes.remove_all(maybe_denied);
                possible.add_all(maybe_granted);
                possible.remove_all(denied);
            }
        }
        let [_, read, _] = &yes;
        let [_, maybe_read, _] = &possible;
        let shows = if hidden || maybe_read.is_empty() {
            Answer::No
        } else if !maybe_hidden && kinds.always_shown.iter().any(|it| read.contains(*it)) {
            Answer::Yes
        } else {
            Answer::Ask
        };
        let unknown = unknown.map(|it| match (it.denied, it.granted, it.maybe_denied || it.maybe_granted) {
            (true, ..) | (false, false, false) => Answer::No,
            (false, true, false) => Answer::Yes,
            (false, ..) => Answer::Ask,
        });
        if !self.is_begun {
            *self = Certain { yes, possible, unknown: unknown.map(Answers), shows: Answers(shows), is_begun: true };
            return;
        }
        self.yes.iter_mut().zip(&yes).for_each(|(own, other)| own.keep_all(other));
        self.possible.iter_mut().zip(&possible).for_each(|(own, other)| own.add_all(other));
        self.unknown.iter_mut().zip(unknown).for_each(|(own, other)| own.and(other));
        self.shows.and(shows);
    }

    #[inline]
    pub fn of_type(&self, right: ReadRight, attribute: TypeIndex) -> Answer {
        let at = place_of(right);
        let has = |sets: &[TypeSet; 3]| sets.get(at).is_some_and(|set| set.contains(attribute));
        if has(&self.yes) {
            Answer::Yes
        } else if has(&self.possible) {
            Answer::Ask
        } else {
            Answer::No
        }
    }

    pub fn of_unknown(&self, right: ReadRight) -> Answer {
        self.unknown.get(place_of(right)).map_or(Answer::No, |answer| answer.0)
    }

    pub fn shows(&self) -> Answer {
        self.shows.0
    }

    /// Whether nothing depends on an entry.
    pub fn is_fixed(&self) -> bool {
        self.shows.0 != Answer::Ask
            && self.unknown.iter().all(|it| it.0 != Answer::Ask)
            && self.yes.iter().zip(&self.possible).all(|(yes, possible)| {
                let mut open = possible.clone();
                open.remove_all(yes);
                open.is_empty()
            })
    }
}

impl Answers {
    fn and(&mut self, other: Answer) {
        if self.0 != other {
            self.0 = Answer::Ask;
        }
    }
}

fn place_of(right: ReadRight) -> usize {
    match right {
        ReadRight::Search => 0,
        ReadRight::Read => 1,
        ReadRight::Compare => 2,
    }
}

fn reach(schema: &Schema, concern: &Concern, holder_depth: usize, top: &[u8]) -> Reach {
    let instruction = &concern.instruction;
    let from = |above: usize| reach_of_scope(instruction.scope, depth(top).saturating_sub(above));
    let Some(target) = &instruction.target else { return from(holder_depth) };
    match (&target.value, target.negated) {
        (NamePattern::Exact(exact), false) if top.starts_with(exact) => from(depth(exact)),
        (NamePattern::Exact(exact), _) if exact.starts_with(top) => Reach::Some,
        (NamePattern::Exact(_), false) => Reach::None,
        (NamePattern::Exact(exact), true) if top.starts_with(exact) => Reach::None,
        (NamePattern::Exact(_), true) => from(holder_depth),
        (pattern, negated) => match (pattern.is_at_or_above(schema, top), negated) {
            (true, false) => from(holder_depth),
            (true, true) => Reach::None,
            (false, _) => Reach::Some,
        },
    }
}

/// How much of a subtree is in a scope, when the top of the subtree is so many RDNs below that of the scope.
fn reach_of_scope(scope: TargetScope, below: usize) -> Reach {
    match (scope, below) {
        (TargetScope::Subtree, _) | (TargetScope::Subordinate, 1..) => Reach::All,
        (TargetScope::Base, 0) | (TargetScope::OneLevel, 0 | 1) | (TargetScope::Subordinate, 0) => Reach::Some,
        (TargetScope::Base | TargetScope::OneLevel, _) => Reach::None,
    }
}
