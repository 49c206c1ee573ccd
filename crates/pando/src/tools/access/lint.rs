//! `access lint`: what can be said against the access control instructions before they do harm.

use std::collections::HashSet;
use std::path::Path;
use std::process::ExitCode;

use access::explanation::place;
use access::lint::{Finding, Instruction, Issue, Severity};
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use ldap::Scope;

use super::marked::{columns, marked};
use super::source::{Source, SourceOptions};
use crate::client::Client;
use crate::failure::{Failure, Outcome};
use crate::instance;
use crate::output::outln;

/// Where the server counts what instructions are used.
const MONITOR: &str = "cn=Access Control,cn=monitor";

/// Exit status when something was found.
pub const FOUND_STATUS: u8 = 1;

#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  pando access lint\n      looks at the instructions of the configuration and \
    of every entry\n  pando access lint --ldif new.ldif --fail-on error\n      looks at those of a file; only what \
    does not do what it says fails\n\nThe exit status is 0 if nothing was found that is as bad as --fail-on, 1 if \
    something was, 2 if that could not be found out."
)]
pub struct Options {
    #[command(flatten)]
    source: SourceOptions,
    /// Ask the running server, too: note what took part in no decision since the start, or since it was written
    #[arg(long = "unused", conflicts_with = "ldif")]
    unused: bool,
    /// How bad a finding must be for the exit status 1
    #[arg(long = "fail-on", value_name = "SEVERITY", value_enum, default_value = "warning")]
    fail_on: FailOn,
    /// Leave out findings of this kind, such as all-but-listed [repeatable]
    #[arg(long = "ignore", value_name = "KIND", hide_possible_values = true,
          value_parser = PossibleValuesParser::new(Issue::CODES))]
    ignored: Vec<String>,
    /// Print JSON
    #[arg(long = "json")]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Note,
    Warning,
    Error,
}

impl FailOn {
    const fn severity(self) -> Severity {
        match self {
            FailOn::Note => Severity::Note,
            FailOn::Warning => Severity::Warning,
            FailOn::Error => Severity::Error,
        }
    }
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let source = Source::open(directory, &options.source)?;
    let (instructions, mut findings) = source.directory.lint()?;
    if options.unused {
        let unused = unused(directory)?;
        let found = instructions.iter().enumerate().filter(|(_, it)| unused.contains(&it.place));
        findings.extend(found.map(|(instruction, _)| Finding { instruction, span: None, issue: Issue::NeverUsed }));
        findings.sort_by_key(|finding| finding.instruction);
    }
    findings.retain(|finding| !options.ignored.iter().any(|code| code == finding.issue.code()));
    if options.json {
        let found = json_of_findings(&instructions, &findings);
        outln!("{:#}", serde_json::json!({ "instructions": instructions.len(), "findings": found }));
    } else {
        lines(&instructions, &findings, columns()).iter().for_each(|line| outln!("{line}"));
    }
    let is_bad = findings.iter().any(|finding| finding.issue.severity() >= options.fail_on.severity());
    Ok(if is_bad { ExitCode::from(FOUND_STATUS) } else { ExitCode::SUCCESS })
}

/// Where the instructions stand that the running server has not used.
fn unused(directory: &Path) -> Result<HashSet<String>, Failure> {
    let config = instance::open(directory)?;
    let Some(process) = instance::running(&config.instance) else {
        let instance = config.instance.directory().display();
        return Err(Failure::new(format_args!("no server runs on {instance}, so --unused cannot ask it")));
    };
    let mut client = Client::of_administrator(&config.instance, process)?;
    let found = client.search(MONITOR, Scope::BaseObject, "(objectClass=*)", &[])?;
    let uses = found.iter().flat_map(|entry| entry.values("instruction-uses"));
    Ok(uses.filter_map(|value| unused_place(value)).collect())
}

/// The place in `HOLDER#NUMBER: HITS`, if there is no hit.
fn unused_place(value: &str) -> Option<String> {
    let (which, hits) = value.rsplit_once(": ")?;
    let (holder, number) = which.rsplit_once('#')?;
    let holder = Some(holder).filter(|holder| *holder != "global-aci");
    (hits == "0").then(|| number.parse().ok()).flatten().map(|number| place(holder, number))
}

/// Each instruction with what was found, its text with the part at fault marked.
pub(super) fn lines_of_findings(instructions: &[Instruction], findings: &[Finding], width: usize) -> Vec<String> {
    let mut out = Vec::new();
    for found in findings.chunk_by(|one, other| one.instruction == other.instruction) {
        let Some(instruction) = found.first().and_then(|it| instructions.get(it.instruction)) else { continue };
        out.push(instruction.place.clone());
        let parts: Vec<_> = found.iter().filter_map(|finding| finding.span.clone()).collect();
        let room = width.saturating_sub(4);
        out.extend(marked(&instruction.text, &parts, room).into_iter().map(|line| format!("    {line}")));
        for Finding { issue, .. } in found {
            out.push(format!("  {}: {issue} [{}]", issue.severity().as_str(), issue.code()));
        }
        out.push(String::new());
    }
    out
}

/// The same with the counts at the end.
fn lines(instructions: &[Instruction], findings: &[Finding], width: usize) -> Vec<String> {
    let mut out = lines_of_findings(instructions, findings, width);
    let count = |severity| findings.iter().filter(|finding| finding.issue.severity() == severity).count();
    out.push(format!(
        "Instructions: {}; errors: {}, warnings: {}, notes: {}",
        instructions.len(),
        count(Severity::Error),
        count(Severity::Warning),
        count(Severity::Note)
    ));
    out
}

pub(super) fn json_of_findings(instructions: &[Instruction], findings: &[Finding]) -> Vec<serde_json::Value> {
    let found = findings.iter().filter_map(|finding| {
        let instruction = instructions.get(finding.instruction)?;
        let part = finding.span.clone().and_then(|span| instruction.text.get(span));
        Some(serde_json::json!({
            "severity": finding.issue.severity().as_str(),
            "kind": finding.issue.code(),
            "message": finding.issue.to_string(),
            "place": instruction.place,
            "instruction": instruction.text,
            "part": part,
        }))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_counts_leads_to_the_instruction() {
        assert_eq!(unused_place("global-aci#3: 0").as_deref(), Some("global-aci number 3 of the configuration"));
        assert_eq!(unused_place("cn=a: #1,dc=x#12: 0").as_deref(), Some("aci number 12 of \"cn=a: #1,dc=x\""));
        assert_eq!(unused_place("dc=x#1: 70"), None);
    }
}
