//! A request in words, as command lines and files of expectations give it.

use access::Right;
use clap::ValueEnum;
use directory::{Asked, Decision, Need};
use ldap::{FilterNode, MadeUpdate, ModifyOperation};
use schema::Schema;

use super::names;
use crate::failure::{Context, Failure};

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

/// How values are written by a modify.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ChangeKind {
    #[default]
    Add,
    Delete,
    Replace,
    Increment,
}

/// What a request may be given, beside who asks and over which connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Dn,
    Attributes,
    Values,
    Change,
    Filter,
    NewRdn,
    NewSuperior,
    KeepOldRdn,
    Oid,
}

impl Part {
    pub const ALL: [Part; 9] = [
        Part::Dn,
        Part::Attributes,
        Part::Values,
        Part::Change,
        Part::Filter,
        Part::NewRdn,
        Part::NewSuperior,
        Part::KeepOldRdn,
        Part::Oid,
    ];

    /// The option of the command line.
    pub const fn option(self) -> &'static str {
        match self {
            Part::Dn => "--dn",
            Part::Attributes => "--attr",
            Part::Values => "--value",
            Part::Change => "--change",
            Part::Filter => "--filter",
            Part::NewRdn => "--newRDN",
            Part::NewSuperior => "--newSuperior",
            Part::KeepOldRdn => "--keepOldRDN",
            Part::Oid => "--oid",
        }
    }

    /// The key in a file of expectations.
    pub const fn key(self) -> &'static str {
        match self {
            Part::Dn => "dn",
            Part::Attributes => "attr",
            Part::Values => "value",
            Part::Change => "change",
            Part::Filter => "filter",
            Part::NewRdn => "new-rdn",
            Part::NewSuperior => "new-superior",
            Part::KeepOldRdn => "keep-old-rdn",
            Part::Oid => "oid",
        }
    }
}

impl Operation {
    /// The word for it.
    pub fn name(self) -> String {
        self.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
    }

    /// What its requests are given.
    pub const fn parts(self) -> &'static [Part] {
        match self {
            Operation::Search => &[Part::Dn, Part::Filter, Part::Attributes],
            Operation::Read | Operation::Compare => &[Part::Dn, Part::Attributes],
            Operation::Add => &[Part::Dn, Part::Values],
            Operation::Modify => &[Part::Dn, Part::Attributes, Part::Change, Part::Values],
            Operation::Delete | Operation::Proxy => &[Part::Dn],
            Operation::Moddn => &[Part::Dn, Part::NewRdn, Part::NewSuperior, Part::KeepOldRdn],
            Operation::Control => &[Part::Oid, Part::Dn],
            Operation::Extended => &[Part::Oid],
        }
    }

    /// Whether no entry need be named.
    pub const fn may_be_without_dn(self) -> bool {
        matches!(self, Operation::Control | Operation::Extended)
    }
}

/// See the module.
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

impl Request {
    /// Refuses names and OIDs that are none, and attributes that the schema does not have.
    pub fn check(&self, schema: &Schema) -> Result<(), Failure> {
        let dns = [Some(&self.dn), self.new_superior.as_ref()].into_iter().flatten();
        dns.map(String::as_str).try_for_each(|dn| names::check_dn(schema, dn))?;
        if let Some(oid) = self.oid.as_ref().filter(|oid| !is_oid(oid)) {
            return Err(Failure::new(format_args!(
                "\"{oid}\" is not an OID: write numbers with dots, such as 1.2.840.113556.1.4.319"
            )));
        }
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
        let each = matches!(self.operation, Operation::Read | Operation::Compare);
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
                decide(Asked::Search { dn, within: None, filter: filter.as_ref(), attributes: &self.attributes })
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
                    return Err(Failure::new("name the attribute to be written: --attr"));
                }
                let values = || self.values.iter().map(String::as_bytes);
                MadeUpdate::modify(dn, self.attributes.iter().map(|name| (how, name.as_bytes(), values())))
            }
        })
    }
}

fn is_oid(text: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.contains('.') && text.split('.').all(is_number)
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
