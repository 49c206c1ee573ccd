//! Filters over texts, with three truth values; none is undefined.

use std::fmt::{self, Display};

use super::model::Attributes;

#[derive(Clone, Debug)]
pub enum Filter {
    And(Vec<Filter>),
    Or(Vec<Filter>),
    Not(Box<Filter>),
    Present(&'static str),
    Equal(&'static str, String),
    /// Values that begin so.
    Begins(&'static str, String),
    /// A type that no schema has.
    Unknown,
}

impl Filter {
    /// As a part of an instruction or of a URL: an item of an unknown type is false, so that its negation is true.
    pub fn is_true(&self, attributes: &Attributes) -> bool {
        self.truth(attributes, &|_| true, Some(false)) == Some(true)
    }

    /// As the filter of a search: an item is undefined when its attribute may not be searched, or is unknown.
    pub fn finds(&self, attributes: &Attributes, may_search: &dyn Fn(&str) -> bool) -> bool {
        self.truth(attributes, may_search, None) == Some(true)
    }

    fn truth(&self, attributes: &Attributes, may_search: &dyn Fn(&str) -> bool, unknown: Option<bool>) -> Option<bool> {
        let item = |kind: &str, test: &dyn Fn(&str) -> bool| {
            let values = attributes.get(kind).map_or(&[][..], Vec::as_slice);
            may_search(kind).then(|| values.iter().any(|value| test(value)))
        };
        match self {
            Filter::And(parts) => all(parts.iter().map(|part| part.truth(attributes, may_search, unknown))),
            Filter::Or(parts) => any(parts.iter().map(|part| part.truth(attributes, may_search, unknown))),
            Filter::Not(part) => part.truth(attributes, may_search, unknown).map(|truth| !truth),
            Filter::Present(kind) => item(kind, &|_| true),
            Filter::Equal(kind, wanted) => item(kind, &|value| value == wanted),
            Filter::Begins(kind, start) => item(kind, &|value| value.starts_with(start.as_str())),
            Filter::Unknown => unknown,
        }
    }
}

/// False if one is, else undefined if one is, else true.
pub fn all(truths: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    any(truths.map(|truth| truth.map(|truth| !truth))).map(|truth| !truth)
}

/// True if one is, else undefined if one is, else false.
pub fn any(truths: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let truths: Vec<Option<bool>> = truths.collect();
    if truths.contains(&Some(true)) { Some(true) } else { (!truths.contains(&None)).then_some(false) }
}

impl Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, sign: char, parts: &[Filter]| {
            let parts: String = parts.iter().map(ToString::to_string).collect();
            write!(f, "({sign}{parts})")
        };
        match self {
            Filter::And(parts) => list(f, '&', parts),
            Filter::Or(parts) => list(f, '|', parts),
            Filter::Not(part) => write!(f, "(!{part})"),
            Filter::Present(kind) => write!(f, "({kind}=*)"),
            Filter::Equal(kind, value) => write!(f, "({kind}={value})"),
            Filter::Begins(kind, start) => write!(f, "({kind}={start}*)"),
            Filter::Unknown => f.write_str("(nosuchattribute=x)"),
        }
    }
}
