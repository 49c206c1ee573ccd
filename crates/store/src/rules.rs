//! The rules by which proposals are applied: implemented by `change`, called by the writer.

use crate::error::StoreError;
use crate::log::LogPlace;
use crate::txn::Txn;
use crate::waits::Phases;

/// The outcome of a proposal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// LDAP result code; logged, and compared when the proposal is replayed.
    pub code: i32,
    /// For the submitter; opaque to the store and not logged.
    pub response: Vec<u8>,
    /// Whether it changed anything. Only accepted proposals are logged, a refused one leaves nothing behind.
    pub accepted: bool,
    /// Where its time went; set by the writer.
    pub phases: Phases,
}

/// Receives the outcome of a proposal.
pub type Done = Box<dyn FnOnce(Result<Outcome, StoreError>) + Send>;

/// Applies proposals.
///
/// `apply` must be deterministic: the same proposals in the same order on the same data give the same changes and
/// outcomes, on any machine, today and when the log is replayed. So it reads no clock, no random number, no
/// environment, and iterates over no hash map.
pub trait Rules: Send {
    /// Version of what `apply` does. A log written by another version is not replayed.
    fn version(&self) -> u32;

    /// Applies one proposal. If the outcome is not accepted, everything done with `txn` is undone.
    ///
    /// A refusal is an outcome: it follows from the proposal and the data, so a replay gives the same one.
    ///
    /// # Errors
    /// When the data cannot be read (disk error, damage). What the proposal would have done is then unknown, so the
    /// backend applies no further proposals until it is opened anew; it goes on serving reads. Limits that follow from
    /// the data alone ([`StoreError::is_limit`]) are refusals, not errors.
    fn apply(&mut self, txn: &mut Txn<'_>, proposal: &[u8]) -> Result<Outcome, StoreError>;

    /// The batch of what was applied last is durable and visible (and the log goes on at that place), or (`None`) the
    /// log refused it. Not called for what is replayed.
    fn settled(&mut self, _place: Option<LogPlace>) {}

    /// Drop everything remembered from a [`Txn`]: the changes of the last batch were not made (the log refused them),
    /// or `apply` panicked, or the data was exchanged.
    fn forget(&mut self);
}
