//! A proposal before it is applied, and the ticket of the caller who waits for its outcome. Does not know what a
//! proposal says.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use crate::error::StoreError;
use crate::rules::{Done, Outcome};
use crate::submitter::Submitter;

/// A proposal that was submitted here.
#[derive(Debug)]
pub struct Proposed {
    /// What is proposed.
    pub proposal: Vec<u8>,
    /// Answers the caller who waits for the outcome.
    pub ticket: Ticket,
}

/// Answers the caller who waits for the outcome of a proposal. Every caller gets an answer: a ticket that is dropped
/// answers [`StoreError::OutcomeUnknown`].
pub struct Ticket {
    submitter: Submitter,
    submitted: Instant,
    done: Option<Done>,
}

impl Ticket {
    /// `done` is called once.
    #[inline]
    pub fn new(submitter: Submitter, done: Done) -> Ticket {
        Ticket { submitter, submitted: Instant::now(), done: Some(done) }
    }

    /// Who submitted the proposal.
    #[inline]
    pub fn submitter(&self) -> Submitter {
        self.submitter
    }

    /// When it was submitted.
    #[inline]
    pub fn submitted(&self) -> Instant {
        self.submitted
    }

    /// Gives the answer.
    #[inline]
    pub fn answer(mut self, result: Result<Outcome, StoreError>) {
        self.call(result);
    }

    fn call(&mut self, result: Result<Outcome, StoreError>) {
        if let Some(done) = self.done.take() {
            // A callback that panics must not end the writer.
            let _ = catch_unwind(AssertUnwindSafe(move || done(result)));
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.done.is_some() {
            self.call(Err(StoreError::OutcomeUnknown));
        }
    }
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Ticket({})", self.submitter.0)
    }
}
