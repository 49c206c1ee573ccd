//! The order of proposals: which one the writer applies next.
//!
//! The writer offers what is submitted here and applies what it is given, one position after the other. Of one server
//! alone, [`LocalOrder`] is the order: each proposal is given back as it was offered. In a cluster a replicated log is:
//! own proposals come back when they have their position, others' between them, and every server applies the same
//! sequence.
//!
//! The order does not make anything durable here (the log does) and does not know what a proposal says.
//!
//! Invariants:
//! (1) What was offered comes back exactly once, with its ticket, unless [`Order::next`] fails before.
//! (2) Positions ascend by one. The writer stops updates when one is left out or comes twice.
//! (3) No method waits: the writer has others to serve. An order that gets something to give later, or whose health
//!     changes, calls its [`Waker`](crate::Waker).
//! (4) How much is offered and not given back yet is bounded: the order is [`OrderHealth::Full`] then.

use crate::error::StoreError;
use crate::proposed::{Proposed, Ticket};

/// Decides in which order proposals are applied.
pub trait Order: Send {
    /// A position once given holds, also when the log of this server refuses the proposal: the writer must not go on
    /// without it and stops updates. Otherwise the refused proposal is forgotten and the next one is applied.
    const IS_BINDING: bool;

    /// Takes a proposal that is to have a position. Called only while the order is [`OrderHealth::Ready`].
    fn offer(&mut self, proposed: Proposed);

    /// The next proposal, if its position is known by now.
    ///
    /// # Errors
    /// When it never will be. The writer then stops updates and asks no more.
    fn next(&mut self) -> Result<Option<Ordered>, StoreError>;

    /// Everything up to this position was applied, and is durable and visible here.
    fn applied(&mut self, position: Position);

    /// Whether proposals can be offered at this moment.
    fn health(&self) -> OrderHealth;
}

/// A place in the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

impl Position {
    /// The one behind it.
    #[inline]
    #[must_use]
    pub fn next(self) -> Position {
        Position(self.0 + 1)
    }
}

/// A proposal that has its position.
#[derive(Debug)]
pub struct Ordered {
    /// Where it stands.
    pub position: Position,
    /// What is proposed.
    pub proposal: Vec<u8>,
    /// Who waits for it here; none when another server proposed it.
    pub ticket: Option<Ticket>,
}

/// Whether an order takes proposals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrderHealth {
    /// It takes at least one more.
    Ready,
    /// As much as it takes is on its way; what waits is offered later.
    Full,
    /// No position is given at this moment: proposals are answered with this error, and nothing of them was done.
    Unavailable(StoreError),
}

/// The order of a server that is alone: proposals are applied as they are offered.
#[derive(Debug, Default)]
pub struct LocalOrder {
    offered: Option<Proposed>,
    last: Position,
}

impl Order for LocalOrder {
    const IS_BINDING: bool = false;

    #[inline]
    fn offer(&mut self, proposed: Proposed) {
        debug_assert!(self.offered.is_none(), "offered to a full order");
        self.offered = Some(proposed);
    }

    #[inline]
    fn next(&mut self) -> Result<Option<Ordered>, StoreError> {
        let Some(Proposed { proposal, ticket }) = self.offered.take() else { return Ok(None) };
        self.last = self.last.next();
        Ok(Some(Ordered { position: self.last, proposal, ticket: Some(ticket) }))
    }

    #[inline]
    fn applied(&mut self, _position: Position) {}

    #[inline]
    fn health(&self) -> OrderHealth {
        if self.offered.is_none() { OrderHealth::Ready } else { OrderHealth::Full }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::submitter::Submitter;

    #[test]
    fn the_local_order_gives_back_what_was_offered_without_a_copy() {
        let mut order = LocalOrder::default();
        for count in 1..=3 {
            assert_eq!(order.health(), OrderHealth::Ready);
            let proposal = vec![count; 100];
            let bytes = proposal.as_ptr();
            order.offer(Proposed { proposal, ticket: Ticket::new(Submitter(7), Box::new(|_| ())) });
            assert_eq!(order.health(), OrderHealth::Full);
            let ordered = order.next().unwrap().unwrap();
            assert_eq!((ordered.position, ordered.proposal.as_ptr()), (Position(u64::from(count)), bytes));
            assert_eq!(ordered.ticket.unwrap().submitter(), Submitter(7));
            assert!(order.next().unwrap().is_none());
        }
    }
}
