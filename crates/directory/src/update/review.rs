//! What goes with an update that was judged: how it is judged again when what it is about changed meanwhile, and what
//! the asker is told in the end.
//!
//! Knows judgements and reports; what is judged is said by `rights`.

use change::apply::Report;
use change::judged::Judged;
use change::proposal::Kind;
use ldap::{EntryUpdate, LdapResult};
use query::backend::BackendIndex;

use super::controls::OwnedControls;
use super::rights::{
    Disclosure, End, Judge, LogNote, Matter, Readable, Refusal, Told, TreePart, Verdict, name_of, shown_of,
};
use crate::refusal::Refusal as OwnRefusal;

/// How often an update is judged before its asker is told to come again.
const JUDGED_MOST: usize = 8;

/// See the module. None goes with updates of whoever may do everything.
#[derive(Debug)]
pub(crate) struct Review {
    judge: Judge,
    disclosure: Disclosure,
    readable_before: Readable,
    /// The filter of the assertion control, in BER, which the judgement evaluates.
    assertion: Vec<u8>,
    tree: TreePart,
    times: usize,
}

impl Review {
    /// After the first judgement; `assertion` is what it evaluated.
    pub(super) fn new(judge: Judge, verdict: Verdict, assertion: Vec<u8>, tree: TreePart) -> Self {
        let Verdict { disclosure, readable_before, .. } = verdict;
        Self { judge, disclosure, readable_before, assertion, tree, times: 1 }
    }

    /// Judges the request again.
    pub(super) fn judge_again(
        &mut self,
        backend: BackendIndex,
        kind: Kind,
        controls: &OwnedControls,
        op_bytes: &[u8],
    ) -> Result<Judged, Box<Told>> {
        let changed_again = Refusal::ChangedAgain { times: self.times };
        if self.times >= JUDGED_MOST {
            return Err(Box::new(self.changed_again()));
        }
        // What the asker may do has changed perhaps.
        self.judge.renew()?;
        self.times += 1;
        let update =
            EntryUpdate::decode(op_bytes).map_err(|error| OwnRefusal::MadeRequest { problem: error.to_string() })?;
        let matter = Matter {
            backend,
            kind,
            flags: controls.flags,
            request: update.request(),
            assertion: &self.assertion,
            wants_pre_read: !controls.pre_read.is_empty(),
            most_below: usize::MAX,
            tree: self.tree,
        };
        match self.judge.judge(matter) {
            Ok(verdict) => {
                self.disclosure = verdict.disclosure;
                self.readable_before = verdict.readable_before;
                Ok(verdict.judged)
            }
            Err(End::Refused(told)) => Err(told),
            Err(End::TakesLong) => Err(changed_again.into()),
        }
    }

    /// The asker is told to come again.
    pub(super) fn changed_again(&self) -> Told {
        Told::from(Refusal::ChangedAgain { times: self.times })
    }

    /// A part was done: an assertion held when the update was begun, and is not made again.
    pub(super) fn go_on(&mut self) {
        self.assertion.clear();
        self.tree.is_begun = true;
        self.times = 0;
    }

    /// A result as the asker is told.
    pub(super) fn tell(&self, result: LdapResult) -> Told {
        self.disclosure.tell(result)
    }

    /// What became of the update as the asker is told, and what only the log is.
    pub(super) fn disclose(
        &self,
        at: BackendIndex,
        report: Result<Report, LdapResult>,
    ) -> (Result<Report, LdapResult>, LogNote) {
        let mut report = match report {
            Ok(report) => report,
            Err(result) => {
                let told = self.tell(result);
                return (Err(told.result), told.log);
            }
        };
        report.pre_read = report.pre_read.and_then(|entry| self.shown(&entry, &self.readable_before));
        report.post_read = report.post_read.and_then(|entry| {
            let readable = name_of(&entry).map(|dn| self.judge.readable_now(at, dn));
            // What cannot be told to be readable is not shown.
            self.shown(&entry, &readable.and_then(Result::ok).unwrap_or_default())
        });
        let told = self.tell(report.result);
        report.result = told.result;
        (Ok(report), told.log)
    }

    fn shown(&self, entry: &[u8], readable: &Readable) -> Option<Vec<u8>> {
        readable.0.as_ref().and_then(|types| shown_of(&self.judge.facts.schema, entry, types))
    }
}
