//! The next proposal for the writer: waiting proposals are offered to the order, and those that have their position
//! come back to be applied.
//!
//! Invariants:
//! (1) A proposal is refused only before it is offered; one that has its position is applied.
//! (2) Proposals are given out in the order of their positions, without a gap.

use std::sync::Arc;

use crate::error::StoreError;
use crate::order::{Order, OrderHealth, Ordered, Position};
use crate::proposed::{Proposed, Ticket};
use crate::queue::Queue;
use crate::stats::Meters;

/// What the writer does next.
pub(crate) enum Turn {
    /// It applies this proposal.
    Apply(Ordered),
    /// It refuses a proposal of which nothing was done.
    Refuse(Ticket, StoreError),
}

/// The proposals that wait, and those that the order has.
pub(crate) struct OrderedQueue<O> {
    queue: Queue,
    /// None after updates have stopped.
    order: Option<O>,
    /// How many are offered and not given back yet.
    on_the_way: usize,
    /// The position given out last.
    last: Option<Position>,
    meters: Arc<Meters>,
    /// Whether the meters say that the order takes no proposals.
    is_unavailable: bool,
}

impl<O: Order> OrderedQueue<O> {
    pub fn new(order: O, meters: Arc<Meters>) -> OrderedQueue<O> {
        let queue = Queue::default();
        OrderedQueue { queue, order: Some(order), on_the_way: 0, last: None, meters, is_unavailable: false }
    }

    /// Adds a submitted proposal.
    #[inline]
    pub fn push(&mut self, proposed: Proposed) {
        self.queue.push(proposed);
    }

    /// Whether proposals wait to be offered.
    #[inline]
    pub fn has_waiting(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Whether everything that was submitted has come back from the order.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.on_the_way == 0
    }

    /// The next turn, if there is one by now. With a `refusal` nothing is offered or applied, and waiting proposals are
    /// refused.
    ///
    /// # Errors
    /// When the order fails or leaves out a position. [`OrderedQueue::stop`] must follow.
    #[inline]
    pub fn next(&mut self, refusal: Option<StoreError>) -> Result<Option<Turn>, StoreError> {
        if let Some(error) = refusal {
            return Ok(self.take().map(|proposed| Turn::Refuse(proposed.ticket, error)));
        }
        loop {
            let Some(order) = &mut self.order else { return Ok(None) };
            match order.health() {
                OrderHealth::Ready => {
                    let offered = self.queue.pop().map(|proposed| {
                        self.meters.left_queue(&proposed.proposal);
                        self.on_the_way += 1;
                        order.offer(proposed);
                    });
                    self.note(None);
                    if offered.is_none() {
                        break;
                    }
                }
                OrderHealth::Full => break,
                OrderHealth::Unavailable(error) => {
                    self.note(Some(&error));
                    match self.take() {
                        Some(proposed) => return Ok(Some(Turn::Refuse(proposed.ticket, error))),
                        None => break,
                    }
                }
            }
        }
        self.next_ordered().map(|ordered| ordered.map(Turn::Apply))
    }

    /// Why the order takes no proposals at this moment, if so.
    pub fn trouble(&self) -> Option<StoreError> {
        match self.order.as_ref()?.health() {
            OrderHealth::Unavailable(error) => Some(error),
            OrderHealth::Ready | OrderHealth::Full => None,
        }
    }

    /// Tells the order that everything given out is durable and visible.
    #[inline]
    pub fn applied(&mut self) {
        if let (Some(order), Some(position)) = (&mut self.order, self.last) {
            order.applied(position);
        }
    }

    /// Gives up the order: nothing is applied any more, and the outcome of proposals that it holds is answered as
    /// unknown.
    pub fn stop(&mut self) {
        self.order = None;
        self.on_the_way = 0;
        self.note(None);
    }

    /// The next waiting proposal.
    pub fn take(&mut self) -> Option<Proposed> {
        let proposed = self.queue.pop()?;
        self.meters.left_queue(&proposed.proposal);
        Some(proposed)
    }

    #[inline]
    fn next_ordered(&mut self) -> Result<Option<Ordered>, StoreError> {
        let Some(order) = &mut self.order else { return Ok(None) };
        let Some(ordered) = order.next()? else { return Ok(None) };
        if let Some(last) = self.last.filter(|last| last.next() != ordered.position) {
            return Err(StoreError::OutOfOrder { last: last.0, next: ordered.position.0 });
        }
        self.last = Some(ordered.position);
        if ordered.ticket.is_some() {
            self.on_the_way = self.on_the_way.saturating_sub(1);
        }
        Ok(Some(ordered))
    }

    /// Shows in the meters why the order takes no proposals, or that it does again.
    #[inline]
    fn note(&mut self, trouble: Option<&StoreError>) {
        if self.is_unavailable != trouble.is_some() {
            self.is_unavailable = trouble.is_some();
            self.meters.set_order_trouble(trouble.cloned());
        }
    }
}
