//! What a rate tool asks of the server: the seam between the engine and each tool.

use ldap::ResultCode;

use crate::makeldif::Random;

/// What is asked, by all threads.
pub trait Workload: Sync {
    /// What one thread of the engine asks, on places of the numbers below `places`.
    fn asker(&self, places: usize) -> Box<dyn Asker + '_>;

    /// The time is over. True: there is something to do still, after which the askers have nothing more to ask.
    fn wind_down(&self) -> bool {
        false
    }
}

/// What one thread asks. A place has one operation at a time, of one request or several.
pub trait Asker {
    /// Appends the first request of an operation, with this message id; false when there is nothing more to ask.
    fn put_request(&mut self, place: usize, random: &mut Random, id: i32, out: &mut Vec<u8>) -> bool;

    /// An entry has come.
    fn entry(&mut self, _place: usize, _dn: &[u8]) {}

    /// A request has been answered.
    fn answered(&mut self, answer: &Answer<'_>, random: &mut Random, id: i32, out: &mut Vec<u8>) -> Then;

    /// The operation ended without an answer.
    fn lost(&mut self, _place: usize) {}

    /// Whether `entry` has to be told; otherwise entries are counted only.
    fn wants_entries(&self) -> bool {
        false
    }
}

/// An answer.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// Whose.
    pub place: usize,
    /// How the request ended.
    pub code: ResultCode,
    /// Entries that came before it.
    pub entries: u64,
    /// What the operation has taken until now, in microseconds.
    pub took_us: u64,
    /// The whole message.
    pub message: &'a [u8],
}

/// What comes after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// The operation has ended.
    Ended {
        /// Not as it should.
        is_error: bool,
        /// What the last column counts: entries, adds, time of binds.
        extra: u64,
    },
    /// It goes on with the request that was written.
    GoesOn,
}
