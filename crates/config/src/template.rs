//! Templates of attribute values: text with names of attributes in braces, `{uid}@{domain|example.com}` (ForgeRock DS:
//! user-template virtual attributes).
//!
//! Knows the text only: neither which attributes there are nor their values.

use std::fmt;

use crate::syntax::Syntax;
use crate::value::parse;

/// Most attributes that one template may name.
const ATTRIBUTES_MAX: usize = 16;

/// Text with placeholders; no two texts next to each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template {
    parts: Vec<TemplatePart>,
}

/// One part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplatePart {
    /// Text that stands for itself; not empty.
    Text(String),
    /// `{name}` or `{name|default}`: the values of an attribute.
    Attribute {
        /// Name or OID of the attribute type.
        name: String,
        /// What stands there when the entry has none of it.
        default: Option<String>,
    },
}

/// Why text is no template, in words that follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplateFault {
    /// There is nothing.
    Empty,
    /// An opening brace without a closing one.
    Open,
    /// What is in braces is no name of an attribute.
    Name,
    /// More attributes than a template may name.
    TooMany,
}

impl fmt::Display for TemplateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TemplateFault::Empty => "is empty",
            TemplateFault::Open => "has a '{' without its '}': write \\{ for the character itself",
            TemplateFault::Name => {
                "has something else in braces than the name of an attribute: write \\{ for the character itself"
            }
            TemplateFault::TooMany => "names more than 16 attributes",
        })
    }
}

impl Template {
    /// Reads a template. `\{` is the character itself; a backslash anywhere else is one, and so is a `}` outside of
    /// braces.
    ///
    /// # Errors
    /// Text that is none; more than 16 attributes.
    pub fn parse(text: &str) -> Result<Template, TemplateFault> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        let mut named = 0;
        while let Some(at) = rest.find('{') {
            let (before, from) = rest.split_at(at);
            if let Some(before) = before.strip_suffix('\\') {
                plain.push_str(before);
                plain.push('{');
                rest = from.get(1..).unwrap_or_default();
                continue;
            }
            plain.push_str(before);
            let (inside, after) = from.split_once('}').ok_or(TemplateFault::Open)?;
            let inside = inside.get(1..).unwrap_or_default();
            let (name, default) = match inside.split_once('|') {
                Some((name, default)) => (name, Some(default.to_owned())),
                None => (inside, None),
            };
            parse(Syntax::AttributeType, name).ok_or(TemplateFault::Name)?;
            named += 1;
            if named > ATTRIBUTES_MAX {
                return Err(TemplateFault::TooMany);
            }
            if !plain.is_empty() {
                parts.push(TemplatePart::Text(std::mem::take(&mut plain)));
            }
            parts.push(TemplatePart::Attribute { name: name.to_owned(), default });
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(TemplatePart::Text(plain));
        }
        if parts.is_empty() { Err(TemplateFault::Empty) } else { Ok(Template { parts }) }
    }

    /// The parts, as they follow each other.
    #[must_use]
    pub fn parts(&self) -> &[TemplatePart] {
        &self.parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> TemplatePart {
        TemplatePart::Text(text.to_owned())
    }

    fn attribute(name: &str, default: Option<&str>) -> TemplatePart {
        TemplatePart::Attribute { name: name.to_owned(), default: default.map(str::to_owned) }
    }

    #[test]
    fn templates_are_text_and_attributes() {
        for (template, parts) in [
            ("No placeholders", vec![text("No placeholders")]),
            (
                "{uid}@{domain|example.com}",
                vec![attribute("uid", None), text("@"), attribute("domain", Some("example.com"))],
            ),
            ("{2.5.4.3}{sn|}", vec![attribute("2.5.4.3", None), attribute("sn", Some(""))]),
            ("{cn|a|b} x", vec![attribute("cn", Some("a|b")), text(" x")]),
            // As ForgeRock documents it: only an opening brace is escaped.
            ("This is \\{uid}", vec![text("This is {uid}")]),
            ("This is \\{uid\\}", vec![text("This is {uid\\}")]),
            ("C:\\a\\{b}{uid}\\", vec![text("C:\\a{b}"), attribute("uid", None), text("\\")]),
        ] {
            assert_eq!(Template::parse(template).map(|it| it.parts), Ok(parts), "{template}");
        }
    }

    #[test]
    fn what_is_no_template_says_why() {
        let many = "{uid}".repeat(17);
        for (bad, fault) in [
            ("", TemplateFault::Empty),
            ("{uid", TemplateFault::Open),
            ("{}", TemplateFault::Name),
            ("{|x}", TemplateFault::Name),
            ("{u i}", TemplateFault::Name),
            ("{{uid}", TemplateFault::Name),
            (&many, TemplateFault::TooMany),
        ] {
            assert_eq!(Template::parse(bad), Err(fault), "{bad}");
        }
    }
}
