//! `access explain`: why a request would be granted or refused.

use std::path::Path;
use std::process::ExitCode;

use access::Right;
use clap::Args;
use directory::{Decision, Directory, Need, What};
use ldap::ResultCode;

use super::client::{ConnectionOptions, shown};
use super::ending_early;
use super::names;
use super::outside::obstacles;
use super::request::{ChangeKind, Operation, Part, Request};
use super::source::{Source, SourceOptions};
use super::text;
use super::unsaid::unsaid;
use crate::failure::{Failure, Outcome};
use crate::output::outln;

/// Exit status of a request that would be refused.
pub const REFUSED_STATUS: u8 = 1;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  pando access explain --as uid=bob,ou=People,dc=example,dc=com --op search \
    --dn uid=ann,ou=People,dc=example,dc=com --filter '(uid=ann)' --attr mail\n      does bob find ann by her uid, and \
    see her mail address?\n  pando access explain --as anonymous --op read --attr userPassword --dn \
    uid=ann,ou=People,dc=example,dc=com\n\nThe exit status is 0 if the request would be granted, 1 if it would be \
    refused, 2 if that could not be found out (a command line that is not valid, no such user or entry, ...).")]
pub struct Options {
    /// Who asks: a DN, or "anonymous"
    #[arg(long = "as", value_name = "DN")]
    user: String,
    /// What is asked for
    #[arg(long = "op", value_name = "OPERATION", value_enum)]
    operation: Operation,
    /// The entry; "" is the root DSE, which of a control is taken where no entry is named
    #[arg(long = "dn", value_name = "DN")]
    dn: Option<String>,
    /// Attributes that are searched for, read, compared or written; * and + stand for those of the entry [repeatable]
    #[arg(long = "attr", value_name = "ATTRIBUTE,…", value_delimiter = ',')]
    attributes: Vec<String>,
    /// The value that is written [repeatable]; of an add, ATTRIBUTE=VALUE
    #[arg(long = "value", value_name = "VALUE")]
    values: Vec<String>,
    /// How values are written by a modify [default: add]
    #[arg(long = "change", value_name = "HOW", value_enum)]
    change: Option<ChangeKind>,
    /// The filter of a search [default: (objectClass=*)]
    #[arg(long = "filter", value_name = "FILTER")]
    filter: Option<String>,
    /// The new name of a moddn, such as uid=ann2
    #[arg(long = "newRDN", value_name = "RDN")]
    new_rdn: Option<String>,
    /// The new parent of a moddn
    #[arg(long = "newSuperior", value_name = "DN")]
    new_superior: Option<String>,
    /// A moddn keeps the values of the old name
    #[arg(long = "keepOldRDN")]
    keep_old_rdn: bool,
    /// The control or extended operation
    #[arg(long = "oid", value_name = "OID")]
    oid: Option<String>,
    #[command(flatten)]
    connection: ConnectionOptions,
    #[command(flatten)]
    source: SourceOptions,
    /// Show every instruction that was looked at
    #[arg(long = "all")]
    all: bool,
    /// Print JSON
    #[arg(long = "json")]
    json: bool,
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let mut request = options.request()?;
    let source = Source::open(directory, &options.source)?;
    let session = options.connection.session(&source.directory, &options.user)?;
    let now = options.connection.unix_seconds();
    request.check(&source.directory.schema())?;
    request.attributes = names::expanded(&source.directory, &request.dn, &request.attributes)?;
    let mut decision = request.decide(|asked| source.directory.explain(&session, asked, now).map_err(Failure::new))?;
    check_exists(&decision, options.operation)?;
    source.directory.note_wrong_names(&mut decision)?;
    let obstacles = obstacles(&source.directory, &session)?;
    let absent = absent(&source.directory, &request, &decision)?;
    let limits = match options.operation {
        Operation::Search if decision.granted => source.directory.search_limits(&session.identity)?,
        _ => Vec::new(),
    };
    if options.json {
        let mut value: serde_json::Value = serde_json::from_str(&decision.to_json()).map_err(Failure::new)?;
        if !obstacles.is_empty() {
            value["beforeRights"] = obstacles.clone().into();
        }
        if !absent.is_empty() {
            value["absent"] = absent.into();
        }
        if !limits.is_empty() {
            value["limits"] = ending_early::json(&limits);
        }
        outln!("{value:#}");
    } else {
        for obstacle in &obstacles {
            outln!("Refused to {} before rights are asked: {obstacle}", shown(&decision.asker));
        }
        if !obstacles.is_empty() {
            outln!("\nIf it came so far:\n");
        }
        text::print(&decision, options.all);
        let of_absent = absent.iter().map(|name| format!("The entry has no {name}."));
        let unsaid = unsaid(&decision, &session.identity, &options.connection);
        for lines in [of_absent.collect(), ending_early::lines(&limits), unsaid] {
            if !lines.is_empty() {
                outln!("");
                lines.iter().for_each(|line| outln!("{line}"));
            }
        }
    }
    Ok(if decision.granted && obstacles.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(REFUSED_STATUS) })
}

/// The attributes that are asked for and granted, of which the entry has no value.
fn absent(directory: &Directory, request: &Request, decision: &Decision) -> Result<Vec<String>, Failure> {
    if !matches!(request.operation, Operation::Search | Operation::Read | Operation::Compare) {
        return Ok(Vec::new());
    }
    let is_granted = |name: &String| {
        let is_it = |need: &Need| {
            matches!(&need.what, What::Right { attribute: Some(of), right, .. }
            if of.eq_ignore_ascii_case(name) && *right != Right::Search)
        };
        decision.needs.iter().any(|need| need.granted && is_it(need))
    };
    let mut absent = Vec::new();
    for name in request.attributes.iter().filter(|name| is_granted(name)) {
        if !names::is_held(directory, &decision.dn, name)? {
            absent.push(name.clone());
        }
    }
    Ok(absent)
}

/// Without an entry nothing is granted or refused.
fn check_exists(decision: &Decision, operation: Operation) -> Result<(), Failure> {
    match &decision.told {
        _ if decision.exists => Ok(()),
        Some(told) if told.code != ResultCode::NO_SUCH_OBJECT => {
            Err(Failure::new(format_args!("this is not decided by rights; every client is told: {told}")))
        }
        // What the client is told of it may leave out entries that do not show.
        _ if operation == Operation::Add => Err(Failure::new(format_args!(
            "there is no entry right above \"{}\", so it is not added, whoever asks",
            decision.dn
        ))),
        _ => Err(Failure::new(format_args!("there is no entry \"{}\"", decision.dn))),
    }
}

impl Options {
    fn is_given(&self, part: Part) -> bool {
        match part {
            Part::Dn => self.dn.is_some(),
            Part::Attributes => !self.attributes.is_empty(),
            Part::Values => !self.values.is_empty(),
            Part::Change => self.change.is_some(),
            Part::Filter => self.filter.is_some(),
            Part::NewRdn => self.new_rdn.is_some(),
            Part::NewSuperior => self.new_superior.is_some(),
            Part::KeepOldRdn => self.keep_old_rdn,
            Part::Oid => self.oid.is_some(),
        }
    }

    fn request(&self) -> Result<Request, Failure> {
        let (operation, parts) = (self.operation, self.operation.parts());
        if let Some(part) = Part::ALL.into_iter().find(|part| self.is_given(*part) && !parts.contains(part)) {
            let taken = parts.iter().map(|part| part.option()).collect::<Vec<_>>().join(", ");
            return Err(Failure::new(format_args!(
                "{} is not for --op {}, which takes {taken}",
                part.option(),
                operation.name()
            )));
        }
        if self.dn.is_none() && !operation.may_be_without_dn() {
            return Err(Failure::new(match operation {
                Operation::Search | Operation::Read | Operation::Compare => {
                    "name the entry with --dn; --dn \"\" is the root DSE"
                }
                _ => "name the entry with --dn",
            }));
        }
        Ok(Request {
            operation,
            dn: self.dn.clone().unwrap_or_default(),
            attributes: self.attributes.clone(),
            values: self.values.clone(),
            change: self.change.unwrap_or_default(),
            filter: self.filter.clone(),
            new_rdn: self.new_rdn.clone(),
            new_superior: self.new_superior.clone(),
            keep_old_rdn: self.keep_old_rdn,
            oid: self.oid.clone(),
        })
    }
}
