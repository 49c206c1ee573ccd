//! Who submits proposals.

/// Who submits: proposals of one source are applied in the order in which they came. A number of the caller's choice,
/// such as a connection's; [`Submitter::SERVER`] is the server itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Submitter(pub u64);

impl Submitter {
    /// What no client asked for.
    pub const SERVER: Submitter = Submitter(0);
}
