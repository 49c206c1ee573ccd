//! Where the figures come from: snapshots of a backend, renewed now and then, because LMDB cannot use pages anew that
//! one still sees.
//!
//! What a long reading says is therefore not of one moment beside a server that writes; of each key it is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use config::{BackendConfig, Config};
use jobs::files::Reader;
use schema::Schema;
use store::Snapshot;

use crate::failure::Failure;
use crate::instance;
use crate::output::errln;

/// A snapshot is held so long at most.
const HELD_MAX: Duration = Duration::from_secs(1);
/// Unless taking one costs much, which it does while the server has many changes in memory: then so many times its
/// cost.
const HELD_COSTS: u32 = 4;

/// A backend being read.
pub(super) struct Source {
    pub reader: Reader,
    pub snapshot: Snapshot,
    pub schema: Arc<Schema>,
    cost: Duration,
    held_max: Duration,
}

impl Source {
    pub(super) fn open(config: &Config, backend: &BackendConfig) -> Result<Self, Failure> {
        let schema = instance::schema(config)?;
        let mut reader = instance::reader(config, backend, &schema)?;
        let started = Instant::now();
        let snapshot = reader.snapshot()?;
        Ok(Self { reader, snapshot, schema, cost: started.elapsed(), held_max: HELD_MAX })
    }

    /// Whether the snapshot has been held long enough.
    pub(super) fn is_due(&self) -> bool {
        self.snapshot.age() > self.held_max.max(self.cost * HELD_COSTS)
    }

    /// Holds no snapshot longer than it must.
    #[cfg(test)]
    pub(super) fn renew_often(&mut self) {
        (self.held_max, self.cost) = (Duration::ZERO, Duration::ZERO);
    }

    /// Takes another snapshot if it is time.
    pub(super) fn renew(&mut self) -> Result<(), Failure> {
        if self.is_due() {
            let started = Instant::now();
            self.snapshot = self.reader.snapshot()?;
            self.cost = started.elapsed();
        }
        Ok(())
    }
}

/// The base DNs asked for, or all of the backend.
pub(super) fn base_dns(config: &Config, backend: &BackendConfig, asked: &[String]) -> Result<Vec<String>, Failure> {
    if asked.is_empty() {
        return Ok(backend.base_dns.clone());
    }
    let schema = instance::schema(config)?;
    for base_dn in asked {
        let holder = instance::backend_of_base(config, &schema, base_dn)?;
        if holder.id != backend.id {
            return Err(Failure::new(format_args!(
                "\"{base_dn}\" belongs to the backend \"{}\", not to \"{}\"",
                holder.id, backend.id
            )));
        }
    }
    Ok(asked.to_vec())
}

/// OpenDJ has trees for each base DN; ours are shared, which a sum of figures has to respect.
pub(super) fn warn_of_shared_trees(backend: &BackendConfig) {
    if backend.base_dns.len() > 1 {
        errln!(
            "The {} base DNs of \"{}\" share one set of trees: each figure counts the entries of all of them.",
            backend.base_dns.len(),
            backend.id
        );
    }
}
