//! Set expressions (OpenLDAP: the sets of slapd.access), such as `(this/givenName + [ ] + this/sn) & this/cn`: what
//! they say.
//!
//! ```text
//! expression  term { ( "&" | "|" | "+" ) term }                 from the left, all alike; parentheses group
//! term        ( "this" | "user" | "[" text "]" | "(" expression ")" ) { step }
//! step        ( "/" | "->" ) ( attribute [ "*" ] | "-" number | "-*" )
//! ```
//! Knows no schema and no entry: which attributes there are and what they hold is known to the code that evaluates it.

use std::fmt;
use std::str::FromStr;

/// Bytes of a whole expression.
const TEXT_BYTES_MAX: usize = 4096;
/// Parentheses in each other.
const DEPTH_MAX: usize = 32;
/// Parts: with them, how deep the tree of an expression can be.
const PARTS_MAX: usize = 256;

/// A set of texts: values, names of entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetExpression {
    /// The name of the entry that is judged.
    This,
    /// The name of who asks for the change.
    User,
    /// The text itself.
    Literal(String),
    /// The values of an attribute of the entries that are named.
    Values {
        /// Names, or LDAP URLs that find entries.
        of: Box<SetExpression>,
        /// The attribute.
        attribute: String,
        /// Its values are names in turn, and so on.
        is_closure: bool,
    },
    /// The names so many RDNs above.
    Above {
        /// Names.
        of: Box<SetExpression>,
        /// RDNs that are taken off.
        levels: usize,
    },
    /// The names, and all above them.
    Ancestors(Box<SetExpression>),
    /// Two sets together.
    Join {
        /// How.
        by: SetOperator,
        /// The first.
        left: Box<SetExpression>,
        /// The second.
        right: Box<SetExpression>,
    },
}

/// What becomes of two sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOperator {
    /// What is in both.
    And,
    /// What is in one of them.
    Or,
    /// Each text of the first followed by each of the second.
    Concatenate,
}

/// Why a text is no set expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SetExpressionError {
    /// Something else was expected.
    #[error("{expected} is expected at character {at}")]
    Expected {
        /// What.
        expected: &'static str,
        /// Counted from 1.
        at: usize,
    },
    /// Longer than is taken.
    #[error("it has more than {TEXT_BYTES_MAX} bytes")]
    TooLong,
    /// More parts, or parentheses in each other, than are taken.
    #[error("it has more than {PARTS_MAX} parts or {DEPTH_MAX} parentheses in each other")]
    TooDeep,
}

impl FromStr for SetExpression {
    type Err = SetExpressionError;

    fn from_str(text: &str) -> Result<Self, SetExpressionError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(SetExpressionError::TooLong);
        }
        let mut parser = Parser { text, at: 0, depth: 0, parts: 0 };
        let parsed = parser.expression()?;
        if parser.peek().is_some() { Err(parser.expected("an operator (& | +) or the end")) } else { Ok(parsed) }
    }
}

impl fmt::Display for SetOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SetOperator::And => "&",
            SetOperator::Or => "|",
            SetOperator::Concatenate => "+",
        })
    }
}

impl SetExpression {
    /// The attributes that it reads.
    #[must_use]
    pub fn attributes(&self) -> Vec<&str> {
        let mut found = Vec::new();
        let mut open = vec![self];
        while let Some(part) = open.pop() {
            match part {
                SetExpression::This | SetExpression::User | SetExpression::Literal(_) => {}
                SetExpression::Values { of, attribute, .. } => {
                    found.push(attribute.as_str());
                    open.push(of);
                }
                SetExpression::Above { of, .. } | SetExpression::Ancestors(of) => open.push(of),
                SetExpression::Join { left, right, .. } => open.extend([&**left, &**right]),
            }
        }
        found
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    parts: usize,
}

impl<'t> Parser<'t> {
    fn expression(&mut self) -> Result<SetExpression, SetExpressionError> {
        let mut left = self.term()?;
        while let Some(by) = self.operator() {
            let right = self.term()?;
            self.count()?;
            left = SetExpression::Join { by, left: Box::new(left), right: Box::new(right) };
        }
        Ok(left)
    }

    fn operator(&mut self) -> Option<SetOperator> {
        let by = match self.peek()? {
            '&' => SetOperator::And,
            '|' => SetOperator::Or,
            '+' => SetOperator::Concatenate,
            _ => return None,
        };
        self.at += 1;
        Some(by)
    }

    fn term(&mut self) -> Result<SetExpression, SetExpressionError> {
        self.count()?;
        let mut term = match self.peek() {
            Some('(') => {
                self.depth += 1;
                if self.depth > DEPTH_MAX {
                    return Err(SetExpressionError::TooDeep);
                }
                self.at += 1;
                let inner = self.expression()?;
                self.depth -= 1;
                if !self.takes(")") {
                    return Err(self.expected("an operator (& | +) or )"));
                }
                inner
            }
            Some('[') => {
                let rest = self.text.get(self.at + 1..).unwrap_or_default();
                let Some(end) = rest.find(']') else { return Err(self.expected("a ] after the [")) };
                self.at += end + 2;
                SetExpression::Literal(rest.get(..end).unwrap_or_default().to_owned())
            }
            _ => {
                let begin = self.at;
                match self.word() {
                    "this" => SetExpression::This,
                    "user" => SetExpression::User,
                    _ => {
                        self.at = begin;
                        return Err(self.expected("this, user, [text] or ("));
                    }
                }
            }
        };
        while self.takes("/") || self.takes("->") {
            self.count()?;
            term = self.step(term)?;
        }
        Ok(term)
    }

    fn step(&mut self, of: SetExpression) -> Result<SetExpression, SetExpressionError> {
        let of = Box::new(of);
        if self.takes("-*") {
            return Ok(SetExpression::Ancestors(of));
        }
        if self.takes("-") {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let levels = rest.get(..digits).and_then(|number| number.parse().ok());
            let Some(levels) = levels else { return Err(self.expected("a number of RDNs or *")) };
            self.at += digits;
            return Ok(SetExpression::Above { of, levels });
        }
        self.skip_spaces();
        let attribute = self.word().to_owned();
        if attribute.is_empty() {
            return Err(self.expected("an attribute, -NUMBER or -*"));
        }
        // Right behind the name.
        let is_closure = self.text.get(self.at..).is_some_and(|rest| rest.starts_with('*'));
        self.at += usize::from(is_closure);
        Ok(SetExpression::Values { of, attribute, is_closure })
    }

    /// A name of letters, digits, hyphens and dots; `->` behind it is not part of it.
    fn word(&mut self) -> &'t str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let is_of_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
        let mut end = rest.find(|c: char| !is_of_word(c)).unwrap_or(rest.len());
        if rest.get(..end).is_some_and(|word| word.ends_with('-')) {
            end -= 1;
        }
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    fn skip_spaces(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
    }

    fn peek(&mut self) -> Option<char> {
        self.skip_spaces();
        self.text.get(self.at..)?.chars().next()
    }

    fn takes(&mut self, what: &str) -> bool {
        self.skip_spaces();
        let is_there = self.text.get(self.at..).is_some_and(|rest| rest.starts_with(what));
        self.at += if is_there { what.len() } else { 0 };
        is_there
    }

    fn count(&mut self) -> Result<(), SetExpressionError> {
        self.parts += 1;
        if self.parts > PARTS_MAX { Err(SetExpressionError::TooDeep) } else { Ok(()) }
    }

    fn expected(&self, expected: &'static str) -> SetExpressionError {
        let at = self.text.get(..self.at).map_or(0, |before| before.chars().count()) + 1;
        SetExpressionError::Expected { expected, at }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// With parentheses wherever two sets are joined.
    fn shown(set: &SetExpression) -> String {
        match set {
            SetExpression::This => "this".to_owned(),
            SetExpression::User => "user".to_owned(),
            SetExpression::Literal(text) => format!("[{text}]"),
            SetExpression::Values { of, attribute, is_closure } => {
                format!("{}/{attribute}{}", shown(of), if *is_closure { "*" } else { "" })
            }
            SetExpression::Above { of, levels } => format!("{}/-{levels}", shown(of)),
            SetExpression::Ancestors(of) => format!("{}/-*", shown(of)),
            SetExpression::Join { by, left, right } => format!("({} {by} {})", shown(left), shown(right)),
        }
    }

    #[test]
    fn expressions_are_read_from_the_left() {
        for (text, read) in [
            ("this/cn", "this/cn"),
            (" ( this / givenName+[ ]+this/sn ) & this/cn", "((this/givenName + [ ]) + this/sn) & this/cn"),
            ("user & [cn=a]/member* | this/owner", "((user & [cn=a]/member*) | this/owner)"),
            ("this->x-y->-1->-* & user/-2/entryDN", "(this/x-y/-1/-* & user/-2/entryDN)"),
            (
                "[ldap:///dc=x??sub?(cn=a)]/member & (user | this)",
                "([ldap:///dc=x??sub?(cn=a)]/member & (user | this))",
            ),
            ("[]", "[]"),
        ] {
            let parsed = shown(&text.parse().unwrap());
            assert!(parsed == read || parsed == format!("({read})"), "{text}: {parsed}");
        }
        let set: SetExpression = "(this/a + user/b*) & [x]/c".parse().unwrap();
        let mut attributes = set.attributes();
        attributes.sort_unstable();
        assert_eq!(attributes, ["a", "b", "c"]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (text, why) in [
            ("", "this, user, [text] or ( is expected at character 1"),
            ("cn", "this, user, [text] or ( is expected at character 1"),
            ("this/cn &", "this, user, [text] or ( is expected at character 10"),
            ("this/cn this/sn", "an operator (& | +) or the end is expected at character 9"),
            ("(this/cn", "an operator (& | +) or ) is expected at character 9"),
            ("this/cn)", "an operator (& | +) or the end is expected at character 8"),
            ("[open", "a ] after the [ is expected at character 1"),
            ("this/", "an attribute, -NUMBER or -* is expected at character 6"),
            ("this/-x", "a number of RDNs or * is expected at character 7"),
        ] {
            assert_eq!(text.parse::<SetExpression>().unwrap_err().to_string(), why, "{text}");
        }
        let deep = format!("{}this{}", "(".repeat(33), ")".repeat(33));
        assert_eq!(deep.parse::<SetExpression>(), Err(SetExpressionError::TooDeep));
        assert_eq!("this|".repeat(600).parse::<SetExpression>(), Err(SetExpressionError::TooDeep));
        assert_eq!(" ".repeat(5000).parse::<SetExpression>(), Err(SetExpressionError::TooLong));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[thisuser/&|+()\\[\\]*\\- 1ä>]{0,60}") {
            let _ = text.parse::<SetExpression>();
        }
    }
}
