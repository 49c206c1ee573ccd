//! What can be wrong with a template.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// A fault of a template, with its place.
#[derive(Debug, Error)]
#[error("{}{fault}", self.place())]
pub struct TemplateError {
    /// The template as the caller named it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong.
    pub fault: Fault,
}

impl TemplateError {
    /// File and line; nothing for a template that could not be read, as the fault names it.
    fn place(&self) -> String {
        match &self.fault {
            Fault::Unreadable { path, .. } if path.as_os_str() == self.file.as_str() => String::new(),
            _ => format!("{}:{}: ", self.file, self.line),
        }
    }
}

/// The kinds of fault.
#[derive(Debug, Error)]
pub enum Fault {
    #[error("\"{0}\" is neither define, include, branch: nor template:, and no branch or template has begun")]
    Outside(String),
    #[error("a definition must be of the form: define name=value")]
    Define,
    #[error("\"{0}\" is not \"attribute: value\"")]
    NotALine(String),
    #[error("the branch needs a DN, such as branch: ou=People,dc=example,dc=com")]
    BranchWithoutDn,
    #[error("there is no template \"{0}\"")]
    UnknownTemplate(String),
    #[error("the template \"{0}\" is defined twice")]
    TwoTemplates(String),
    #[error("template \"{0}\" needs rdnAttr")]
    NoRdnAttribute(String),
    #[error("rdnAttr \"{0}\" has no line in the template")]
    RdnWithoutLine(String),
    #[error("a subordinate template must be of the form: subordinateTemplate: name:number")]
    Subordinate,
    #[error("templates nest in a circle through \"{0}\"")]
    Circle(String),
    #[error("{{{0}}} is used before the template has a line for it")]
    UnknownAttribute(String),
    #[error("\"{{{0}}}\" must be {{attribute}} or {{attribute:length}}")]
    Reference(String),
    #[error(
        "unknown tag <{0}>; known are dn, _dn, parentdn, _parentdn, rdn, file, first, last, guid, ifabsent, ifpresent, \
         list, presence, random, sequential, statictext"
    )]
    UnknownTag(String),
    #[error("<{tag}> must be of the form: {usage}")]
    Arguments { tag: String, usage: &'static str },
    #[error("<{0}> is used before the attributes of the RDN have their lines")]
    DnTooEarly(String),
    #[error("'{0}' is not closed; a '{0}' that is meant as text is written \\{0}")]
    Unclosed(char),
    #[error("there is no file {}", .0.display())]
    NoSuchFile(PathBuf),
    #[error("cannot read {}: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("{} has no lines", .0.display())]
    EmptyFile(PathBuf),
    #[error("includes nest deeper than {0}")]
    IncludesTooDeep(usize),
    #[error("the template has no branch")]
    NoBranch,
}
