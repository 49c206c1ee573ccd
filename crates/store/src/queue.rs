//! The proposals that wait for the writer, in the order in which they get their turn.
//!
//! Submitters (connections) take turns, each with its oldest proposal. So a single proposal waits for one of each other
//! submitter, not for all that another submitter sent before. The proposals of one submitter stay in their order. Does
//! not know what proposals say, and does not limit how many may wait.

use std::collections::VecDeque;
use std::collections::hash_map::{Entry, HashMap};

use crate::proposed::Proposed;
use crate::submitter::Submitter;

/// Empty lists that are kept for the next submitter, so that one proposal at a time costs no allocation.
const SPARES_MAX: usize = 64;

/// The proposals that wait.
#[derive(Default)]
pub(crate) struct Queue {
    /// Submitters with something in `waiting`, each once, the next one first.
    turns: VecDeque<Submitter>,
    waiting: HashMap<Submitter, VecDeque<Proposed>>,
    spares: Vec<VecDeque<Proposed>>,
}

impl Queue {
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Adds one, behind those that its submitter sent before.
    pub fn push(&mut self, proposed: Proposed) {
        let submitter = proposed.ticket.submitter();
        let own = self.waiting.entry(submitter).or_insert_with(|| self.spares.pop().unwrap_or_default());
        if own.is_empty() {
            self.turns.push_back(submitter);
        }
        own.push_back(proposed);
    }

    /// The next one.
    pub fn pop(&mut self) -> Option<Proposed> {
        let submitter = self.turns.pop_front()?;
        let Entry::Occupied(mut own) = self.waiting.entry(submitter) else { return None };
        let next = own.get_mut().pop_front();
        if !own.get().is_empty() {
            self.turns.push_back(submitter);
            return next;
        }
        let own = own.remove();
        if self.spares.len() < SPARES_MAX {
            self.spares.push(own);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposed::Ticket;

    fn queue(submitters: impl IntoIterator<Item = u64>) -> Queue {
        let mut queue = Queue::default();
        for (at, submitter) in submitters.into_iter().enumerate() {
            let proposal = (at as u64).to_le_bytes().to_vec();
            queue.push(Proposed { proposal, ticket: Ticket::new(Submitter(submitter), Box::new(|_| ())) });
        }
        queue
    }

    fn next(queue: &mut Queue) -> Option<(u64, u64)> {
        let proposed = queue.pop()?;
        Some((proposed.ticket.submitter().0, u64::from_le_bytes(proposed.proposal.try_into().unwrap())))
    }

    #[test]
    fn one_waits_behind_one_of_everybody() {
        // Ten connections with a hundred each, then one with one.
        let mut queue = queue((0..1000).map(|at| at % 10 + 1).chain([99]));
        let at = (0..).find(|_| next(&mut queue).unwrap().0 == 99).unwrap();
        assert!(at <= 10, "{at}");
    }

    proptest::proptest! {
        /// Nothing is lost, each submitter keeps its order, and between two turns of a submitter no other has two.
        #[test]
        fn submitters_take_turns(submitters in proptest::collection::vec(0u64..6, 0..200)) {
            let mut queue = queue(submitters.clone());
            let served: Vec<(u64, u64)> = std::iter::from_fn(|| next(&mut queue)).collect();
            proptest::prop_assert!(queue.is_empty() && queue.waiting.is_empty());
            for submitter in 0..6 {
                let own = |(by, _): &&(u64, u64)| *by == submitter;
                let numbers: Vec<u64> = served.iter().filter(own).map(|(_, number)| *number).collect();
                let sent = (0..submitters.len()).filter(|at| submitters[*at] == submitter);
                let sent: Vec<u64> = sent.map(|at| at as u64).collect();
                proptest::prop_assert_eq!(numbers, sent);
                let turns: Vec<usize> = (0..served.len()).filter(|at| served[*at].0 == submitter).collect();
                for pair in turns.windows(2) {
                    let mut others: Vec<u64> = served[pair[0] + 1..pair[1]].iter().map(|(by, _)| *by).collect();
                    others.sort_unstable();
                    others.dedup();
                    proptest::prop_assert_eq!(others.len(), pair[1] - pair[0] - 1);
                }
            }
        }
    }
}
