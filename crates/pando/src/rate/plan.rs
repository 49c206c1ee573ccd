//! How much is asked of the server, on which connections, and for how long.

use std::time::Duration;

use super::connection::Access;

/// See the module.
#[derive(Clone)]
pub struct Plan {
    /// How connections are made.
    pub access: Access,
    /// Connections at a time.
    pub connections: usize,
    /// Requests at a time on each of them.
    pub requests: usize,
    /// What becomes of a connection after an operation.
    pub keeping: Keeping,
    /// Operations, all connections together; none: without end.
    pub operations: Option<u64>,
    /// None: without end.
    pub duration: Option<Duration>,
    /// What is measured in the beginning does not count.
    pub warm_up: Duration,
    /// Between two rows.
    pub interval: Duration,
    /// Operations a second, all connections together; none: as many as there can be.
    pub rate: Option<f64>,
    /// Of what is random.
    pub seed: u64,
}

/// What becomes of a connection after an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// It is closed.
    Never,
    /// It is bound again before the next one.
    Rebinding,
    /// It is used for the next one.
    Open,
}
