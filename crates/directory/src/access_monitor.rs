//! What access control says of itself: instructions that are not valid, and how often each was used.

use access::AciProblem;
use access::profiles::lacks_second_factor;
use query::monitor_entry::MonitorEntry;
use store::StoreError;

use crate::directory::Directory;

/// Instructions and problems that `cn=monitor` names one by one; the others are only counted.
const NAMED_MAX: usize = 1_000;

impl Directory {
    /// Instructions in entries that are not valid, so that everything in their scope is denied to whoever has no
    /// privilege bypass-acl.
    ///
    /// # Errors
    /// When something cannot be read.
    pub fn invalid_instructions(&self) -> Result<Vec<AciProblem>, StoreError> {
        self.access_control.problems(&self.facts(), &self.reading)
    }

    /// What an older `setup` did not let users do yet, for the administrator; none if nothing is lacking.
    #[must_use]
    pub fn lacking_instructions(&self) -> Option<String> {
        lacks_second_factor(self.config().access_control.global_acis.iter().map(String::as_str))
    }

    /// `cn=Access Control,cn=monitor`.
    pub(crate) fn access_monitor_entry(&self) -> MonitorEntry {
        let facts = self.facts();
        let entry = MonitorEntry::new("Access Control");
        let (problems, uses) = match (self.invalid_instructions(), self.access_control.uses(&facts, &self.reading)) {
            (Ok(problems), Ok(uses)) => (problems, uses),
            (Err(error), _) | (_, Err(error)) => return entry.with("failure", error),
        };
        let global = uses.iter().filter(|it| it.holder.is_none()).count();
        let mut entry = entry
            .with("global-instructions", global)
            .with("entry-instructions", uses.len() - global)
            .with("invalid-instructions", problems.len());
        let named = |it: &AciProblem| format!("{}: {}", it.holder, it.why);
        let invalid: Vec<String> = problems.iter().take(NAMED_MAX).map(named).collect();
        let used = uses.iter().take(NAMED_MAX).map(|it| {
            let holder = it.holder.as_deref().unwrap_or("global-aci");
            format!("{holder}#{}: {}", it.position + 1, it.hits)
        });
        let used: Vec<String> = used.collect();
        for (attribute, values) in [("invalid-instruction", invalid), ("instruction-uses", used)] {
            if !values.is_empty() {
                entry.attributes.push((attribute.to_owned(), values));
            }
        }
        entry
    }
}
