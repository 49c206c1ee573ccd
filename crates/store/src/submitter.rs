//! Who submits proposals.

/// Who submits a proposal. Proposals of one submitter are applied in the order in which they were submitted. The caller
/// chooses the number, for example that of a connection; [`Submitter::SERVER`] is the server itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Submitter(pub u64);

impl Submitter {
    /// The server itself, for updates that no client asked for.
    pub const SERVER: Submitter = Submitter(0);
}
