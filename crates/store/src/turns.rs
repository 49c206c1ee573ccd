//! Whose turn it is in the writer: what waits here is offered to the order, and what has its position comes back to be
//! applied.
//!
//! Invariants:
//! (1) A proposal is refused only before it is offered: what has its position is applied.
//! (2) What is given is one position after the other.

use std::sync::Arc;

use crate::error::StoreError;
use crate::order::{Order, OrderHealth, Ordered, Position};
use crate::proposed::{Proposed, Ticket};
use crate::queue::Queue;
use crate::stats::Meters;

/// What the writer does next.
pub(crate) enum Turn {
    /// It applies this.
    Apply(Ordered),
    /// It answers this without having done anything.
    Refuse(Ticket, StoreError),
}

/// What waits, and what the order has.
pub(crate) struct Turns<O> {
    queue: Queue,
    /// None when updates have stopped.
    order: Option<O>,
    /// Offered and not given back yet.
    on_the_way: usize,
    /// Given last.
    last: Option<Position>,
    meters: Arc<Meters>,
    /// The meters say that the order takes nothing.
    is_unavailable: bool,
}

impl<O: Order> Turns<O> {
    pub fn new(order: O, meters: Arc<Meters>) -> Turns<O> {
        let queue = Queue::default();
        Turns { queue, order: Some(order), on_the_way: 0, last: None, meters, is_unavailable: false }
    }

    /// Takes in what was submitted.
    #[inline]
    pub fn push(&mut self, proposed: Proposed) {
        self.queue.push(proposed);
    }

    /// Whether something waits to be offered.
    #[inline]
    pub fn has_waiting(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Whether everything that was submitted has come back from the order.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.on_the_way == 0
    }

    /// The next turn, if there is one by now. With a `refusal` nothing is offered or applied, and what waits is
    /// refused.
    ///
    /// # Errors
    /// When the order fails or is out of order. [`Turns::stop`] must follow.
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

    /// What was given is durable and visible.
    #[inline]
    pub fn applied(&mut self) {
        if let (Some(order), Some(position)) = (&mut self.order, self.last) {
            order.applied(position);
        }
    }

    /// Nothing is applied any more: whoever has a proposal in the order learns that its outcome is not known.
    pub fn stop(&mut self) {
        self.order = None;
        self.on_the_way = 0;
        self.note(None);
    }

    /// The next one that waits.
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

    /// Shows why the order takes nothing, or that it does again.
    #[inline]
    fn note(&mut self, trouble: Option<&StoreError>) {
        if self.is_unavailable != trouble.is_some() {
            self.is_unavailable = trouble.is_some();
            self.meters.set_order_trouble(trouble.cloned());
        }
    }
}
