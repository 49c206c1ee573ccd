//! What is proposed, and whether anything is.
//!
//! Knows settings; not what is compared.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use access::{AccessControl, AccessError, AccessSettings};
use arc_swap::ArcSwapOption;
use query::monitor_entry::MonitorEntry;
use store::StoreError;

use super::entries::ProposedEntries;
use super::observed::Numbering;
use super::tally::{LeftOut, Tally};
use crate::search::advice::ShapeTable;

/// The settings that are tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Proposal {
    /// Those that it is compared with.
    pub(crate) in_force: AccessSettings,
    /// Those that are tried.
    pub(crate) settings: AccessSettings,
    /// How many of its global instructions are those in force; the proposed ones follow.
    pub(crate) kept: usize,
    /// Proposed instructions of entries.
    pub(crate) entries: Option<Arc<ProposedEntries>>,
}

/// Access control by what is proposed, and what came of comparing it.
pub(crate) struct Proposed {
    proposal: Proposal,
    pub(crate) control: Arc<AccessControl>,
    /// Shapes of its searches, of which nobody is told.
    pub(crate) shapes: Arc<[ShapeTable]>,
    pub(crate) tally: Tally,
}

/// See the module.
pub(crate) struct Shadow {
    is_on: AtomicBool,
    /// The last one, also when nothing is proposed any more.
    last: ArcSwapOption<Proposed>,
    backends: usize,
}

impl Proposed {
    /// What is proposed for entries.
    pub(crate) fn entries(&self) -> Option<&Arc<ProposedEntries>> {
        self.proposal.entries.as_ref()
    }

    /// How its global instructions are numbered.
    pub(crate) fn numbering(&self) -> Numbering {
        Numbering::Proposed { kept: self.proposal.kept }
    }

    /// Runs a comparison. Whatever goes wrong is counted, and nobody else is told.
    pub(crate) fn guard(&self, compare: impl FnOnce() -> Result<(), StoreError>) {
        if !matches!(catch_unwind(AssertUnwindSafe(compare)), Ok(Ok(()))) {
            self.tally.left_out(LeftOut::Failed);
        }
    }
}

impl Shadow {
    /// Of a directory with so many backends; nothing is proposed.
    pub(crate) fn new(backends: usize) -> Self {
        Self { is_on: AtomicBool::new(false), last: ArcSwapOption::empty(), backends }
    }

    /// Whether something is proposed: all that a request looks at while nothing is.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// What is proposed.
    pub(crate) fn proposed(&self) -> Option<Arc<Proposed>> {
        if self.is_on() { self.last.load_full() } else { None }
    }

    /// Takes another proposal, or none. The counts begin anew when the proposal or what it is compared with changes,
    /// and stay when nothing is proposed any more. `load` has everything read that is needed, so that no request waits
    /// for it. Returns whether what is proposed changed. Called by one at a time.
    ///
    /// # Errors
    /// When an instruction is not valid; then nothing changes.
    pub(crate) fn set(
        &self,
        access: &AccessControl,
        proposal: Option<Proposal>,
        load: impl FnOnce(&AccessControl),
    ) -> Result<bool, AccessError> {
        let before = self.proposed();
        let Some(proposal) = proposal else {
            self.is_on.store(false, Ordering::Relaxed);
            return Ok(before.is_some());
        };
        if before.as_ref().is_some_and(|before| before.proposal == proposal) {
            return Ok(false);
        }
        let is_other = |before: &Arc<Proposed>| {
            before.proposal.settings != proposal.settings || before.proposal.entries != proposal.entries
        };
        let differs = before.as_ref().is_none_or(is_other);
        let instructions = proposal.entries.as_ref().map(|entries| entries.instructions.clone()).unwrap_or_default();
        let control = access.with_other(proposal.settings.clone(), self.backends, &instructions)?;
        load(&control);
        let shapes = (0..self.backends).map(|_| ShapeTable::default()).collect();
        self.last.store(Some(Arc::new(Proposed { proposal, control, shapes, tally: Tally::begun_now() })));
        self.is_on.store(true, Ordering::Release);
        Ok(differs)
    }

    /// `cn=Proposed Access Control,cn=monitor`, once something was proposed.
    pub(crate) fn monitor_entry(&self) -> Option<MonitorEntry> {
        let last = self.last.load_full()?;
        let proposed = last.proposal.settings.global_acis.len() - last.proposal.kept;
        let entry = MonitorEntry::new("Proposed Access Control")
            .with("shadow-mode", if self.is_on() { "on" } else { "off" })
            .with("proposed-global-instructions", proposed)
            .with("proposed-entries", last.proposal.entries.as_ref().map_or(0, |it| it.instructions.len()));
        Some(last.tally.put(entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACI: &str = r#"(targetattr="cn")(version 3.0; acl "a"; allow (read) userdn="ldap:///all";)"#;

    fn proposal(text: &str) -> Proposal {
        let settings = AccessSettings { global_acis: vec![text.to_owned()], ..AccessSettings::default() };
        Proposal { in_force: AccessSettings::default(), settings, kept: 0, entries: None }
    }

    fn set(shadow: &Shadow, access: &AccessControl, proposal: Option<Proposal>) -> Result<bool, AccessError> {
        shadow.set(access, proposal, |_| {})
    }

    fn counted(shadow: &Shadow, name: &str) -> String {
        let entry = shadow.monitor_entry().unwrap();
        entry.attributes.into_iter().find(|(own, _)| own == name).unwrap().1.concat()
    }

    #[test]
    fn counts_begin_anew_with_another_proposal_and_stay_without_one() {
        let access = AccessControl::new(AccessSettings::default()).unwrap();
        let shadow = Shadow::new(1);
        assert!(!set(&shadow, &access, None).unwrap() && !shadow.is_on());
        assert_eq!(shadow.monitor_entry(), None);

        assert!(set(&shadow, &access, Some(proposal(ACI))).unwrap());
        shadow.proposed().unwrap().tally.compared(Vec::new());
        assert!(!set(&shadow, &access, Some(proposal(ACI))).unwrap(), "the same again");
        assert_eq!(counted(&shadow, "compared-requests"), "1");

        assert!(set(&shadow, &access, Some(proposal("nonsense"))).is_err());
        assert_eq!(counted(&shadow, "compared-requests"), "1", "what is not valid changes nothing");

        assert!(set(&shadow, &access, None).unwrap());
        assert!(shadow.proposed().is_none());
        assert_eq!(
            (counted(&shadow, "shadow-mode"), counted(&shadow, "compared-requests")),
            ("off".into(), "1".into())
        );

        assert!(set(&shadow, &access, Some(proposal(&ACI.replace("cn", "sn")))).unwrap());
        assert_eq!((counted(&shadow, "shadow-mode"), counted(&shadow, "compared-requests")), ("on".into(), "0".into()));
    }

    #[test]
    fn filters_can_ask_for_what_the_monitor_says() {
        let access = AccessControl::new(AccessSettings::default()).unwrap();
        let shadow = Shadow::new(1);
        set(&shadow, &access, Some(proposal(ACI))).unwrap();
        let schema = schema::Schema::standard();
        for (name, _) in shadow.monitor_entry().unwrap().attributes {
            assert!(schema.attribute_type(name.as_bytes()).is_some(), "{name} is not in 06-monitor.ldif");
        }
        for name in ["difference-count", "difference-example"] {
            assert!(schema.attribute_type(name.as_bytes()).is_some(), "{name} is not in 06-monitor.ldif");
        }
    }

    /// A fault of the comparison is counted, and goes no further.
    #[test]
    fn faults_are_counted_and_go_no_further() {
        let access = AccessControl::new(AccessSettings::default()).unwrap();
        let shadow = Shadow::new(1);
        set(&shadow, &access, Some(proposal(ACI))).unwrap();
        let proposed = shadow.proposed().unwrap();
        proposed.guard(|| Err(StoreError::Closed));
        proposed.guard(|| panic!("a defect"));
        proposed.guard(|| Ok(()));
        assert_eq!(counted(&shadow, "left-out-failed"), "2");
    }
}
