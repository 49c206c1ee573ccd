//! What undoing comes to: for each change the requests, and what stands in their way.

use change::undo::Rehearsed;

use super::find::{Found, Source};
use crate::failure::Failure;

/// All changes in the order in which they are undone.
pub struct Plan {
    /// With what undoes them.
    pub steps: Vec<(Found, Rehearsed)>,
}

impl Plan {
    /// Tries everything in memory.
    pub fn make(source: &mut Source<'_>, found: Vec<Found>) -> Result<Self, Failure> {
        let mut rehearsed: Vec<Option<Rehearsed>> = found.iter().map(|_| None).collect();
        // What happens in one backend depends on no other.
        for at in source.indices() {
            if !found.iter().any(|found| found.backend == at) {
                continue;
            }
            let mut rehearsal = source.rehearsal(at)?;
            for (found, place) in found.iter().zip(&mut rehearsed).filter(|(found, _)| found.backend == at) {
                *place = Some(rehearsal.undo(&found.step).map_err(Failure::new)?);
            }
        }
        Ok(Self {
            steps: found.into_iter().zip(rehearsed).map(|(found, how)| (found, how.unwrap_or_default())).collect(),
        })
    }

    /// Whether it can be done.
    pub fn is_possible(&self, is_forced: bool) -> bool {
        let mut obstacles = self.steps.iter().flat_map(|(_, rehearsed)| &rehearsed.obstacles);
        obstacles.all(|obstacle| is_forced && obstacle.can_be_forced)
    }

    /// Whether all of it is in one backend.
    pub fn is_in_one_backend(&self) -> bool {
        let mut backends = self.steps.iter().map(|(found, _)| found.backend);
        let first = backends.next();
        backends.all(|backend| Some(backend) == first)
    }

    /// All requests in order, each with the number of the change that it undoes.
    pub fn requests(&self) -> impl Iterator<Item = (u64, &ldap::ldif::LdifChange)> {
        self.steps.iter().flat_map(|(found, how)| how.requests.iter().map(|request| (found.step.number, request)))
    }
}
