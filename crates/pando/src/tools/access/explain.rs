//! `access explain`: why a request would be granted or refused.

use std::path::Path;
use std::process::ExitCode;

use access::Right;
use clap::{Args, ValueEnum};
use directory::{Asked, Decision, Need};
use ldap::{FilterNode, MadeUpdate, ModifyOperation};
use schema::Schema;

use super::client::ConnectionOptions;
use super::names;
use super::source::{Source, SourceOptions};
use super::text;
use crate::failure::{Context, Failure, Outcome};
use crate::output::outln;

/// Exit status of a request that would be refused.
pub const REFUSED_STATUS: u8 = 1;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  pando access explain --as uid=bob,ou=People,dc=example,dc=com --op search \
    --dn uid=ann,ou=People,dc=example,dc=com --filter '(uid=ann)' --attr mail\n      does bob find ann by her uid, and \
    see her mail address?\n  pando access explain --as anonymous --op read --attr userPassword --dn \
    uid=ann,ou=People,dc=example,dc=com\n\nThe exit status is 0 if the request would be granted, 1 if it would be \
    refused.")]
pub struct Options {
    /// Who asks: a DN, or "anonymous"
    #[arg(long = "as", value_name = "DN")]
    user: String,
    /// What is asked for
    #[arg(long = "op", value_name = "OPERATION", value_enum)]
    operation: Operation,
    /// The entry
    #[arg(long = "dn", value_name = "DN", default_value = "")]
    dn: String,
    /// Attributes that are searched for, read, compared or written; * and + stand for those of the entry [repeatable]
    #[arg(long = "attr", value_name = "ATTRIBUTE,…", value_delimiter = ',')]
    attributes: Vec<String>,
    /// The value that is written [repeatable]; of an add, ATTRIBUTE=VALUE
    #[arg(long = "value", value_name = "VALUE")]
    values: Vec<String>,
    /// How values are written by a modify
    #[arg(long = "change", value_name = "HOW", value_enum, default_value = "add")]
    change: ChangeKind,
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

/// The operations that can be asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Operation {
    /// Find the entry and get attributes
    Search,
    /// Get attributes, however the entry is found
    Read,
    /// Compare an attribute
    Compare,
    /// Add the entry
    Add,
    /// Write attributes
    Modify,
    /// Delete the entry
    Delete,
    /// Rename or move the entry
    Moddn,
    /// Act as the user whose entry it is
    Proxy,
    /// Use a control
    Control,
    /// Use an extended operation
    Extended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ChangeKind {
    Add,
    Delete,
    Replace,
    Increment,
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let source = Source::open(directory, &options.source)?;
    let session = options.connection.session(&source.directory, &options.user)?;
    let now = options.connection.unix_seconds();
    let mut request = options.request();
    request.check(&source.directory.schema())?;
    request.attributes = names::expanded(&source.directory, &request.dn, &request.attributes)?;
    let decision = request.decide(|asked| source.directory.explain(&session, asked, now).map_err(Failure::new))?;
    if options.json {
        let value: serde_json::Value = serde_json::from_str(&decision.to_json()).map_err(Failure::new)?;
        outln!("{value:#}");
    } else {
        text::print(&decision, options.all);
    }
    Ok(if decision.granted { ExitCode::SUCCESS } else { ExitCode::from(REFUSED_STATUS) })
}

/// A request in words, as command lines and test files give it.
#[derive(Debug, Clone)]
pub struct Request {
    pub operation: Operation,
    pub dn: String,
    pub attributes: Vec<String>,
    pub values: Vec<String>,
    pub change: ChangeKind,
    pub filter: Option<String>,
    pub new_rdn: Option<String>,
    pub new_superior: Option<String>,
    pub keep_old_rdn: bool,
    pub oid: Option<String>,
}

impl Options {
    fn request(&self) -> Request {
        Request {
            operation: self.operation,
            dn: self.dn.clone(),
            attributes: self.attributes.clone(),
            values: self.values.clone(),
            change: self.change,
            filter: self.filter.clone(),
            new_rdn: self.new_rdn.clone(),
            new_superior: self.new_superior.clone(),
            keep_old_rdn: self.keep_old_rdn,
            oid: self.oid.clone(),
        }
    }
}

impl Request {
    /// Refuses attributes that the schema does not have.
    pub fn check(&self, schema: &Schema) -> Result<(), Failure> {
        let added = self.values.iter().filter(|_| self.operation == Operation::Add);
        let added = added.filter_map(|value| value.split_once('=')).map(|(name, _)| name);
        let named = self.attributes.iter().map(String::as_str);
        named.chain(added).try_for_each(|name| names::check_attribute(schema, name))?;
        let Some(filter) = self.filter()? else { return Ok(()) };
        let searched = filter.filter();
        let searched = searched.nodes().iter().filter_map(FilterNode::attribute);
        searched.map(String::from_utf8_lossy).try_for_each(|name| names::check_attribute(schema, &name))
    }

    fn filter(&self) -> Result<Option<ldap::filter::FilterBuf>, Failure> {
        let parse = |text: &str| ldap::filter::parse(text).context(format_args!("\"{text}\" is not a filter"));
        self.filter.as_deref().map(parse).transpose()
    }

    /// Has it decided: of several attributes each, so that the refusal of one does not hide the others.
    pub fn decide(&self, decide: impl Fn(Asked<'_, '_>) -> Result<Decision, Failure>) -> Result<Decision, Failure> {
        let each = matches!(self.operation, Operation::Read | Operation::Compare | Operation::Modify);
        if !each || self.attributes.is_empty() {
            return self.decide_once(decide).map(without_repetition);
        }
        let mut all: Option<Decision> = None;
        for attribute in &self.attributes {
            let one = Self { attributes: vec![attribute.clone()], ..self.clone() };
            let decision = one.decide_once(&decide)?;
            all = Some(match all {
                None => decision,
                Some(before) => both(before, decision),
            });
        }
        Ok(without_repetition(all.unwrap_or_default()))
    }

    fn decide_once(&self, decide: impl Fn(Asked<'_, '_>) -> Result<Decision, Failure>) -> Result<Decision, Failure> {
        let dn = self.dn.as_str();
        match self.operation {
            Operation::Search => {
                let filter = self.filter()?;
                let filter = filter.as_ref().map(|filter| filter.filter());
                decide(Asked::Search { dn, filter: filter.as_ref(), attributes: &self.attributes })
            }
            Operation::Read => decide(Asked::Right { dn, right: Right::Read, attribute: Some(self.attribute()?) }),
            Operation::Compare => decide(Asked::Compare { dn, attribute: self.attribute()? }),
            Operation::Proxy => decide(Asked::Right { dn, right: Right::Proxy, attribute: None }),
            Operation::Control => decide(Asked::Control { oid: self.oid()?, dn }),
            Operation::Extended => decide(Asked::Extended { oid: self.oid()? }),
            Operation::Add | Operation::Modify | Operation::Delete | Operation::Moddn => {
                let made = self.update()?;
                let update = made.update().context("the request")?;
                decide(Asked::Update(update.request()))
            }
        }
    }

    fn attribute(&self) -> Result<&str, Failure> {
        match self.attributes.as_slice() {
            [only] => Ok(only),
            _ => Err(Failure::new("name the attribute with --attr")),
        }
    }

    fn oid(&self) -> Result<&str, Failure> {
        self.oid.as_deref().ok_or_else(|| Failure::new("say which control or extended operation with --oid"))
    }

    fn update(&self) -> Result<MadeUpdate, Failure> {
        let dn = self.dn.as_bytes();
        Ok(match self.operation {
            Operation::Add => {
                let mut attributes: Vec<(&[u8], Vec<&[u8]>)> = Vec::new();
                for value in &self.values {
                    let Some((name, value)) = value.split_once('=') else {
                        return Err(Failure::new(format_args!(
                            "\"{value}\" is not ATTRIBUTE=VALUE: give the values of the new entry like --value sn=Long"
                        )));
                    };
                    match attributes.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes())) {
                        Some((_, values)) => values.push(value.as_bytes()),
                        None => attributes.push((name.as_bytes(), vec![value.as_bytes()])),
                    }
                }
                MadeUpdate::add(dn, attributes)
            }
            Operation::Delete => MadeUpdate::delete(dn),
            Operation::Moddn => {
                let own = self.dn.split(',').next().unwrap_or_default();
                let new_rdn = match (&self.new_rdn, &self.new_superior) {
                    (Some(new_rdn), _) => new_rdn.as_str(),
                    (None, Some(_)) => own,
                    (None, None) => return Err(Failure::new("give the new name with --newRDN or --newSuperior")),
                };
                MadeUpdate::modify_dn(&self.dn, new_rdn, !self.keep_old_rdn, self.new_superior.as_deref())
            }
            _ => {
                let how = match self.change {
                    ChangeKind::Add => ModifyOperation::Add,
                    ChangeKind::Delete => ModifyOperation::Delete,
                    ChangeKind::Replace => ModifyOperation::Replace,
                    ChangeKind::Increment => ModifyOperation::Increment,
                };
                if self.attributes.is_empty() {
                    return Err(Failure::new("name the attribute that is written with --attr"));
                }
                let values = || self.values.iter().map(String::as_bytes);
                MadeUpdate::modify(dn, self.attributes.iter().map(|name| (how, name.as_bytes(), values())))
            }
        })
    }
}

/// The decision about two parts of a request; the client is told of the first that is refused.
fn both(mut first: Decision, second: Decision) -> Decision {
    first.granted &= second.granted;
    first.exists &= second.exists;
    first.needs.extend(second.needs);
    first.told = first.told.or(second.told);
    first
}

/// Each need once.
fn without_repetition(mut decision: Decision) -> Decision {
    let mut needs: Vec<Need> = Vec::with_capacity(decision.needs.len());
    for need in decision.needs {
        if !needs.contains(&need) {
            needs.push(need);
        }
    }
    decision.needs = needs;
    decision
}
