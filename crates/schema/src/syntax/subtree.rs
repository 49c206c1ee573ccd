//! Subtree specifications (RFC 3672 §2.1), written in GSER: which entries a subentry is about.
//!
//! Knows the text: DNs and filters in it must be some, but mean nothing yet: which entries they cover depends on where
//! the subentry is.

use std::borrow::Cow;

use ldap::Dn;
use thiserror::Error;

/// Deepest nesting of refinements accepted.
const DEPTH_MAX: usize = 32;

/// A parsed subtree specification. DNs are as they were written, relative to each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubtreeSpecification {
    /// Root of the subtree, relative to the administrative point.
    pub base: String,
    /// Subtrees that are cut out.
    pub exclusions: Vec<Exclusion>,
    /// Entries nearer to the base than this are not in it.
    pub minimum: u32,
    /// Entries farther from the base than this are not in it.
    pub maximum: Option<u32>,
    /// Which of these entries are in it.
    pub filter: Option<SpecificationFilter>,
}

/// Which entries of a subtree count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpecificationFilter {
    /// Those of some object classes (RFC 3672).
    Classes(Refinement),
    /// Those that an LDAP filter matches, as text (Sun and OpenDJ).
    Filter(String),
}

/// An entry whose subtree is left out, relative to the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exclusion {
    /// It and everything below.
    Before(String),
    /// Everything below it.
    After(String),
}

/// A condition on the object classes of entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refinement {
    /// This class.
    Item(String),
    /// All of these.
    And(Vec<Refinement>),
    /// One of these.
    Or(Vec<Refinement>),
    /// Not this.
    Not(Box<Refinement>),
}

/// Where a specification stops making sense.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("expected {expected} at character {at}")]
pub struct SubtreeError {
    /// What the grammar wants.
    pub expected: &'static str,
    /// Byte offset.
    pub at: usize,
}

type Result<T> = std::result::Result<T, SubtreeError>;

impl SubtreeSpecification {
    /// Parses the GSER form, e.g. `{ base "ou=people", minimum 1 }`. Its parts may come in any order, each once.
    ///
    /// # Errors
    /// Text that is none; also a base or an exclusion that is no DN, and a filter that is none.
    pub fn parse(text: &str) -> Result<SubtreeSpecification> {
        const PARTS: [&str; 5] = ["base", "specificExclusions", "minimum", "maximum", "specificationFilter"];
        let mut parser = Parser { text, at: 0 };
        let mut it = SubtreeSpecification::default();
        let mut seen = [false; PARTS.len()];
        parser.symbol("{", "'{'")?;
        while !parser.take("}") {
            if seen.contains(&true) {
                parser.symbol(",", "',' or '}'")?;
            }
            let word = parser.word();
            let part = seen.iter_mut().zip(PARTS).find(|(_, part)| *part == word);
            match part {
                Some((seen, _)) if !*seen => *seen = true,
                Some(_) => return Err(parser.error("each part once")),
                None => {
                    return Err(parser.error("base, specificExclusions, minimum, maximum or specificationFilter"));
                }
            }
            match word {
                "base" => it.base = parser.local_name()?,
                "specificExclusions" => it.exclusions = parser.list(Parser::exclusion)?,
                "minimum" => it.minimum = parser.number()?,
                "maximum" => it.maximum = Some(parser.number()?),
                _ => it.filter = Some(parser.filter()?),
            }
        }
        parser.skip();
        if parser.rest().is_empty() { Ok(it) } else { Err(parser.error("the end")) }
    }
}

impl SpecificationFilter {
    /// The same as the text of an LDAP filter: conditions on object classes become assertions.
    #[must_use]
    pub fn as_filter(&self) -> Cow<'_, str> {
        match self {
            SpecificationFilter::Filter(text) => Cow::Borrowed(text),
            SpecificationFilter::Classes(refinement) => {
                let mut text = String::new();
                refinement.write_filter(&mut text);
                Cow::Owned(text)
            }
        }
    }
}

impl Refinement {
    /// The parser bounds the depth.
    fn write_filter(&self, out: &mut String) {
        let (sign, list) = match self {
            Refinement::Item(class) => {
                out.push_str("(objectClass=");
                out.push_str(class);
                out.push(')');
                return;
            }
            Refinement::And(list) => ('&', list.as_slice()),
            Refinement::Or(list) => ('|', list.as_slice()),
            Refinement::Not(one) => ('!', std::slice::from_ref(&**one)),
        };
        out.extend(['(', sign]);
        list.iter().for_each(|one| one.write_filter(out));
        out.push(')');
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn error(&self, expected: &'static str) -> SubtreeError {
        SubtreeError { expected, at: self.at }
    }

    fn skip(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn take(&mut self, symbol: &str) -> bool {
        self.skip();
        let found = self.rest().starts_with(symbol);
        self.at += if found { symbol.len() } else { 0 };
        found
    }

    fn symbol(&mut self, symbol: &str, expected: &'static str) -> Result<()> {
        if self.take(symbol) { Ok(()) } else { Err(self.error(expected)) }
    }

    fn word(&mut self) -> &'a str {
        self.skip();
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '.'))).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    fn number(&mut self) -> Result<u32> {
        self.word().parse().map_err(|_| self.error("a number"))
    }

    /// A quote inside is doubled.
    fn quoted(&mut self) -> Result<String> {
        self.symbol("\"", "a quoted string")?;
        let mut plain = String::new();
        loop {
            let end = self.rest().find('"').ok_or_else(|| self.error("a closing quote"))?;
            plain.push_str(self.rest().get(..end).unwrap_or_default());
            self.at += end + 1;
            if !self.rest().starts_with('"') {
                return Ok(plain);
            }
            plain.push('"');
            self.at += 1;
        }
    }

    /// A quoted DN.
    fn local_name(&mut self) -> Result<String> {
        self.skip();
        let start = self.at;
        let name = self.quoted()?;
        match Dn::parse(&name) {
            Ok(_) => Ok(name),
            Err(_) => Err(SubtreeError { expected: "a distinguished name", at: start }),
        }
    }

    /// `{ item, item … }`
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.symbol("{", "'{'")?;
        let mut list = Vec::new();
        while !self.take("}") {
            if !list.is_empty() {
                self.symbol(",", "',' or '}'")?;
            }
            list.push(item(self)?);
        }
        Ok(list)
    }

    fn exclusion(&mut self) -> Result<Exclusion> {
        let kind = self.word();
        self.symbol(":", "chopBefore: or chopAfter:")?;
        let name = self.local_name()?;
        match kind {
            "chopBefore" => Ok(Exclusion::Before(name)),
            "chopAfter" => Ok(Exclusion::After(name)),
            _ => Err(self.error("chopBefore: or chopAfter:")),
        }
    }

    fn filter(&mut self) -> Result<SpecificationFilter> {
        self.skip();
        let start = self.at;
        let filter = if self.rest().starts_with('"') {
            SpecificationFilter::Filter(self.quoted()?)
        } else {
            SpecificationFilter::Classes(self.refinement(0)?)
        };
        match ldap::filter::parse(&filter.as_filter()) {
            Ok(_) => Ok(filter),
            Err(_) => Err(SubtreeError { expected: "an LDAP filter of fewer than 4,096 parts", at: start }),
        }
    }

    fn refinement(&mut self, depth: usize) -> Result<Refinement> {
        if depth > DEPTH_MAX {
            return Err(self.error("fewer nested refinements"));
        }
        let kind = self.word();
        self.symbol(":", "item:, and:, or: or not:")?;
        match kind {
            "item" => {
                let class = self.word();
                if class.is_empty() {
                    Err(self.error("an object class"))
                } else {
                    Ok(Refinement::Item(class.to_owned()))
                }
            }
            "not" => Ok(Refinement::Not(Box::new(self.refinement(depth + 1)?))),
            "and" => Ok(Refinement::And(self.list(|parser| parser.refinement(depth + 1))?)),
            "or" => Ok(Refinement::Or(self.list(|parser| parser.refinement(depth + 1))?)),
            _ => Err(self.error("item:, and:, or: or not:")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications() {
        assert_eq!(SubtreeSpecification::parse(" {} ").unwrap(), SubtreeSpecification::default());
        let text = "{ base \"ou=a \\\"\"b\\\"\"\", specificExclusions { chopBefore:\"ou=x\", chopAfter:\"ou=y\" }, \
            minimum 1, \
                    maximum 2, specificationFilter and:{ item:2.5.6.6, not:or:{item:person,item:device} } }";
        let it = SubtreeSpecification::parse(text).unwrap();
        assert_eq!(it.base, "ou=a \\\"b\\\"");
        assert_eq!(it.exclusions, [Exclusion::Before("ou=x".into()), Exclusion::After("ou=y".into())]);
        assert_eq!((it.minimum, it.maximum), (1, Some(2)));
        let item = |class: &str| Refinement::Item(class.into());
        let not = Refinement::Not(Box::new(Refinement::Or(vec![item("person"), item("device")])));
        let both = SpecificationFilter::Classes(Refinement::And(vec![item("2.5.6.6"), not]));
        let as_filter = "(&(objectClass=2.5.6.6)(!(|(objectClass=person)(objectClass=device))))";
        assert_eq!(both.as_filter(), as_filter);
        assert_eq!(it.filter, Some(both));
        let it = SubtreeSpecification::parse("{specificationFilter \"(a=b)\", minimum 1}").unwrap();
        assert_eq!((it.filter, it.minimum), (Some(SpecificationFilter::Filter("(a=b)".into())), 1));
    }

    #[test]
    fn what_is_none_is_refused_where_it_goes_wrong() {
        let deep = format!("{{ specificationFilter {}item:person }}", "not:".repeat(40));
        for (bad, message) in [
            ("", "expected '{' at character 0"),
            ("{", "expected base, specificExclusions, minimum, maximum or specificationFilter at character 1"),
            ("{ base x }", "expected a quoted string at character 7"),
            ("{ base \"x }", "expected a closing quote at character 8"),
            ("{ base \"x\" }", "expected a distinguished name at character 7"),
            (
                "{ depth 1 }",
                "expected base, specificExclusions, minimum, maximum or specificationFilter at character 7",
            ),
            ("{} x", "expected the end at character 3"),
            ("{ minimum -1 }", "expected a number at character 12"),
            ("{ minimum 4294967296 }", "expected a number at character 20"),
            ("{ minimum 1 maximum 2 }", "expected ',' or '}' at character 12"),
            ("{ minimum 1, minimum 2 }", "expected each part once at character 20"),
            ("{ specificExclusions { chopOff:\"ou=x\" } }", "expected chopBefore: or chopAfter: at character 37"),
            ("{ specificExclusions { chopAfter:\"x\" } }", "expected a distinguished name at character 33"),
            ("{ specificationFilter \"(a=b\" }", "expected an LDAP filter of fewer than 4,096 parts at character 22"),
            ("{ specificationFilter item: }", "expected an object class at character 28"),
            (&deep, "expected fewer nested refinements at character 154"),
        ] {
            assert_eq!(
                SubtreeSpecification::parse(bad).map_err(|error| error.to_string()),
                Err(message.into()),
                "{bad}"
            );
        }
    }
}
