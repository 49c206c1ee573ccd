//! Subtree specifications (RFC 3672 §2.1), written in GSER: which entries a subentry is about.

use thiserror::Error;

/// Deepest nesting of refinements accepted.
const DEPTH_MAX: usize = 32;

/// A parsed subtree specification. Names of DNs are left as written.
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
    /// Which entries are in it by object class, or by an LDAP filter (an extension of Sun and OpenDJ).
    pub filter: Option<Refinement>,
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
    /// An LDAP filter as text.
    Filter(String),
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
    /// Parses the GSER form, e.g. `{ base "ou=people", minimum 1 }`.
    pub fn parse(text: &str) -> Result<SubtreeSpecification> {
        let mut parser = Parser { text, at: 0 };
        let mut it = SubtreeSpecification::default();
        parser.symbol("{", "'{'")?;
        let mut first = true;
        while !parser.take("}") {
            if !first {
                parser.symbol(",", "',' or '}'")?;
            }
            first = false;
            match parser.word() {
                "base" => it.base = parser.quoted()?,
                "specificExclusions" => it.exclusions = parser.exclusions()?,
                "minimum" => it.minimum = parser.number()?,
                "maximum" => it.maximum = Some(parser.number()?),
                "specificationFilter" => it.filter = Some(parser.filter()?),
                _ => {
                    return Err(parser.error("base, specificExclusions, minimum, maximum or specificationFilter"));
                }
            }
        }
        parser.skip();
        if parser.rest().is_empty() { Ok(it) } else { Err(parser.error("the end")) }
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

    fn exclusions(&mut self) -> Result<Vec<Exclusion>> {
        self.symbol("{", "'{'")?;
        let mut list = Vec::new();
        while !self.take("}") {
            if !list.is_empty() {
                self.symbol(",", "',' or '}'")?;
            }
            let kind = self.word();
            self.symbol(":", "chopBefore: or chopAfter:")?;
            let name = self.quoted()?;
            list.push(match kind {
                "chopBefore" => Exclusion::Before(name),
                "chopAfter" => Exclusion::After(name),
                _ => return Err(self.error("chopBefore: or chopAfter:")),
            });
        }
        Ok(list)
    }

    fn filter(&mut self) -> Result<Refinement> {
        self.skip();
        if self.rest().starts_with('"') {
            return self.quoted().map(Refinement::Filter);
        }
        self.refinement(0)
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
            "and" => Ok(Refinement::And(self.refinements(depth + 1)?)),
            "or" => Ok(Refinement::Or(self.refinements(depth + 1)?)),
            _ => Err(self.error("item:, and:, or: or not:")),
        }
    }

    fn refinements(&mut self, depth: usize) -> Result<Vec<Refinement>> {
        self.symbol("{", "'{'")?;
        let mut list = Vec::new();
        while !self.take("}") {
            if !list.is_empty() {
                self.symbol(",", "',' or '}'")?;
            }
            list.push(self.refinement(depth)?);
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications() {
        assert_eq!(SubtreeSpecification::parse(" {} ").unwrap(), SubtreeSpecification::default());
        let text = "{ base \"ou=a \"\"b\"\"\", specificExclusions { chopBefore:\"ou=x\", chopAfter:\"ou=y\" }, minimum 1, \
                    maximum 2, specificationFilter and:{ item:2.5.6.6, not:or:{item:person,item:device} } }";
        let it = SubtreeSpecification::parse(text).unwrap();
        assert_eq!(it.base, "ou=a \"b\"");
        assert_eq!(it.exclusions, [Exclusion::Before("ou=x".into()), Exclusion::After("ou=y".into())]);
        assert_eq!((it.minimum, it.maximum), (1, Some(2)));
        let item = |class: &str| Refinement::Item(class.into());
        let not = Refinement::Not(Box::new(Refinement::Or(vec![item("person"), item("device")])));
        assert_eq!(it.filter, Some(Refinement::And(vec![item("2.5.6.6"), not])));
        let it = SubtreeSpecification::parse("{specificationFilter \"(a=b)\"}").unwrap();
        assert_eq!(it.filter, Some(Refinement::Filter("(a=b)".into())));
        for bad in ["", "{", "{ base x }", "{ depth 1 }", "{} x", "{ minimum -1 }", "{ minimum 1 maximum 2 }"] {
            assert!(SubtreeSpecification::parse(bad).is_err(), "{bad}");
        }
    }
}
