//! What `access lint` finds in the directory with the change that is rehearsed, and not in the directory as it is.

use std::collections::HashSet;
use std::ops::Range;

use access::lint::{Finding, Instruction};
use schema::NormalizedDn;

use super::proposed::Both;
use crate::failure::Failure;
use crate::output::outln;
use crate::tools::access::lint::{json_of_findings, lines_of_findings};
use crate::tools::access::marked::columns;

/// See the module.
pub struct NewFindings {
    instructions: Vec<Instruction>,
    findings: Vec<Finding>,
}

/// What makes two findings the same, wherever their instruction stands among those of its holder.
type Key<'f> = (Option<&'f NormalizedDn>, &'f str, Option<&'f Range<usize>>, &'static str);

impl NewFindings {
    pub fn of(both: &Both) -> Result<NewFindings, Failure> {
        let (held, known) = both.now.lint()?;
        let known: HashSet<Key<'_>> = known.iter().filter_map(|finding| key(&held, finding)).collect();
        let (instructions, mut findings) = both.then.lint()?;
        findings.retain(|finding| key(&instructions, finding).is_some_and(|key| !known.contains(&key)));
        Ok(NewFindings { instructions, findings })
    }

    /// For people.
    pub fn print(&self) {
        if self.findings.is_empty() {
            return;
        }
        outln!("What pando access lint finds in the change:\n");
        lines_of_findings(&self.instructions, &self.findings, columns()).iter().for_each(|line| outln!("{line}"));
    }

    /// For programs.
    pub fn json(&self) -> Vec<serde_json::Value> {
        json_of_findings(&self.instructions, &self.findings)
    }
}

fn key<'f>(instructions: &'f [Instruction], finding: &'f Finding) -> Option<Key<'f>> {
    let instruction = instructions.get(finding.instruction)?;
    Some((instruction.holder.as_ref(), &instruction.text, finding.span.as_ref(), finding.issue.code()))
}
