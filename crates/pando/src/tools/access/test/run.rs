//! Runs the expectations of files, and tells which are not met.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use access::Right;
use access::explanation::Reason;
use clap::Args;
use directory::{Asked, Decision, Directory};
use serde_json::{Value, json};

use super::fault::{Fault, Faults};
use super::file::{Expected, FILE, parse};
use crate::failure::{Context, Failure, Outcome};
use crate::output::outln;
use crate::tools::access::client::{name_of, shown};
use crate::tools::access::names::is_wildcard;
use crate::tools::access::request::Operation;
use crate::tools::access::source::{Source, SourceOptions};
use crate::tools::access::text;

#[derive(Debug, Args)]
#[command(
    after_long_help = "A file of expectations:\n  [names]\n  ann = \"uid=ann,ou=People,dc=example,dc=com\"\n\n  \
        [[expect]]\n  name = \"passwords are secret\"\n  as = [\"anonymous\", \"ann\"]\n  op = \"read\"\n  dn = \
        \"ann\"\n  attr = \"userPassword\"\n  allowed = false\n\nThe exit status is 0 if every decision is as \
        expected, 1 if one is not, 2 if they could not be made (a file that is not valid, ...). \
        docs/access-tests.md says what an expectation may have."
)]
pub struct Options {
    /// The expectations [repeatable]
    #[arg(value_name = "FILE.toml", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    source: SourceOptions,
    /// Print JSON
    #[arg(long = "json")]
    json: bool,
    /// Print nothing but what is not as expected
    #[arg(short = 'Q', long = "quiet")]
    quiet: bool,
}

/// A decision that is not the expected one.
struct Difference {
    file: String,
    expected: Expected,
    decision: Decision,
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let mut expected = Vec::new();
    for file in &options.files {
        let name = file.display().to_string();
        let text = FILE.text(file).context(file.display())?;
        let found = parse(&name, &text).map_err(Failure::new)?;
        expected.extend(found.into_iter().map(|one| (name.clone(), one)));
    }
    let source = Source::open(directory, &options.source)?;
    check_names(&source.directory, &expected)?;
    let total = expected.len();
    let mut differences = Vec::new();
    for (file, one) in expected {
        let decision = decide(&source.directory, &one)
            .map_err(|failure| Failure::new(format_args!("{file}:{}: {failure}", one.line)))?;
        if !one.is_met(&decision) {
            differences.push(Difference { file, expected: one, decision });
        }
    }
    if options.json {
        print_json(total, &differences)?;
    } else {
        print_text(total, &differences, options.quiet);
    }
    Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Refuses expectations about attributes or entries that are not there: a mistyped name would be refused for ever, as
/// is expected of what is secret.
fn check_names(directory: &Directory, expected: &[(String, Expected)]) -> Result<(), Failure> {
    let root = directory.administrator_session(0, Instant::now());
    let mut faults: Vec<Fault> = Vec::new();
    let mut known: HashMap<&str, bool> = HashMap::new();
    for (file, one) in expected {
        let request = &one.request;
        let mut fault = |message: String| {
            let fault = Fault { file: file.clone(), line: one.line, message };
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        };
        if let Some(name) = request.attributes.iter().find(|name| is_wildcard(name)) {
            fault(format!("name the attributes: \"{name}\" is another list for each entry"));
        } else if let Err(failure) = request.check(&directory.schema()) {
            fault(failure.to_string());
        }
        if one.may_be_missing || !needs_entry(request.operation) {
            continue;
        }
        let exists = match known.get(request.dn.as_str()) {
            Some(exists) => *exists,
            None => {
                let asked = Asked::Right { dn: &request.dn, right: Right::Read, attribute: None };
                let exists = directory.explain(&root, asked, one.connection.unix_seconds())?.exists;
                known.insert(&request.dn, exists);
                exists
            }
        };
        if !exists {
            fault(format!("there is no entry \"{}\"; if that is meant, write missing = true", request.dn));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(Failure::new(Faults(faults))) }
}

/// Whether a request is about an entry that has to be there.
fn needs_entry(operation: Operation) -> bool {
    !matches!(operation, Operation::Add | Operation::Control | Operation::Extended)
}

fn decide(directory: &Directory, expected: &Expected) -> Result<Decision, Failure> {
    let session = expected.connection.session(directory, &expected.user)?;
    let now = expected.connection.unix_seconds();
    expected.request.decide(|asked| directory.explain(&session, asked, now).map_err(Failure::new))
}

impl Expected {
    fn is_met(&self, decision: &Decision) -> bool {
        let by = self.because.as_ref().is_none_or(|name| deciding(decision).contains(&name.as_str()));
        decision.granted == self.allowed && by
    }

    /// What is asked, in one line.
    fn question(&self) -> String {
        let request = &self.request;
        let attributes = match request.attributes.as_slice() {
            [] => String::new(),
            names => format!(" {} of", names.join(", ")),
        };
        let what = match &request.oid {
            Some(oid) => format!(" {oid}"),
            None => format!("{attributes} \"{}\"", request.dn),
        };
        let name = match self.name.as_str() {
            "" => String::new(),
            name => format!("{name}: "),
        };
        format!("{name}{}{what} as {}", operation_name(self), shown(name_of(&self.user)))
    }

    fn wanted(&self) -> String {
        let by = self.because.as_ref().map_or(String::new(), |name| format!(" by the instruction \"{name}\""));
        format!("{}{by}", if self.allowed { "granted" } else { "refused" })
    }
}

fn operation_name(expected: &Expected) -> String {
    format!("{:?}", expected.request.operation).to_lowercase()
}

/// The names of the instructions that decided.
fn deciding(decision: &Decision) -> Vec<&str> {
    let explanations = decision.needs.iter().filter_map(|need| need.explanation.as_ref());
    let decided = explanations.filter_map(|explanation| match explanation.reason {
        Reason::Allowed(at) | Reason::Denied(at) => explanation.instructions.get(at),
        _ => None,
    });
    decided.map(|considered| considered.name.as_str()).collect()
}

fn print_text(total: usize, differences: &[Difference], quiet: bool) {
    for Difference { file, expected, decision } in differences {
        outln!("{file}:{}: {}", expected.line, expected.question());
        outln!("    expected: {}", expected.wanted());
        text::rendered(decision, false).iter().for_each(|line| match line.as_str() {
            "" => outln!(""),
            line => outln!("    {line}"),
        });
        outln!("");
    }
    let mut by_place: HashMap<(&str, usize), usize> = HashMap::new();
    for difference in differences {
        *by_place.entry((&difference.file, difference.expected.line)).or_default() += 1;
    }
    match differences.len() {
        0 if quiet => {}
        0 if total == 1 => outln!("The decision is as expected."),
        0 => outln!("All {total} decisions are as expected."),
        count => {
            let noun = if by_place.len() == 1 { "expectation" } else { "expectations" };
            let decisions = if total == 1 { "decision" } else { "decisions" };
            let are = if count == 1 { "is" } else { "are" };
            outln!("{count} of {total} {decisions} {are} not as expected, in {} {noun}.", by_place.len());
        }
    }
}

fn print_json(total: usize, differences: &[Difference]) -> Result<(), Failure> {
    let mut different = Vec::new();
    for Difference { file, expected, decision } in differences {
        let decision: Value = serde_json::from_str(&decision.to_json()).map_err(Failure::new)?;
        different.push(json!({
            "file": file,
            "line": expected.line,
            "name": expected.name,
            "question": expected.question(),
            "expected": expected.wanted(),
            "decision": decision,
        }));
    }
    let value = json!({ "decisions": total, "different": different });
    outln!("{value:#}");
    Ok(())
}
