//! Texts in which generated values stand: `uid=user.%d,ou=People,dc=example,dc=com`.
//!
//! `%d` and `%s` take the next value, `%1$s` the first, whichever it is; `%%` is a percent sign.

/// A text with places for values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    /// The number of the value, from 0.
    Value(usize),
}

/// The first of the characters that stand for values in texts that are encoded once; nobody else may use them.
const MARKS_BEGIN: u32 = 0x10_f000;
/// So many values can be told apart.
pub const VALUES_MAX: usize = 256;

/// Why a text is no template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// Something else after a percent sign.
    #[error("\"{0}\": after a % comes d, s, a number with $d or $s, or another %")]
    Place(String),
    /// One of the marks.
    #[error("\"{0}\": characters from U+10F000 to U+10F0FF are not valid here")]
    Mark(String),
    /// A value that nobody makes.
    #[error("\"{text}\" wants {wanted} values, and there are {given} generators: give one with --argument for each")]
    Values {
        /// The template.
        text: String,
        /// How many it needs.
        wanted: usize,
        /// How many there are.
        given: usize,
    },
}

impl Template {
    /// Reads a template for so many generators.
    pub fn parse(text: &str, generators: usize) -> Result<Template, TemplateError> {
        let place = || TemplateError::Place(text.to_owned());
        if text.chars().any(|one| value_of_mark(one).is_some()) {
            return Err(TemplateError::Mark(text.to_owned()));
        }
        let (mut parts, mut next, mut wanted) = (Vec::new(), 0, 0);
        let mut pieces = text.split('%');
        put_text(&mut parts, pieces.next().unwrap_or_default());
        while let Some(piece) = pieces.next() {
            if piece.is_empty() {
                // Two percent signs: what comes after the second is text.
                put_text(&mut parts, "%");
                put_text(&mut parts, pieces.next().ok_or_else(place)?);
                continue;
            }
            let digits = piece.len() - piece.trim_start_matches(|it: char| it.is_ascii_digit()).len();
            let (number, rest) = piece.split_at(digits);
            let (number, rest): (usize, _) = match number {
                "" => {
                    next += 1;
                    (next, rest)
                }
                _ => (number.parse().map_err(|_| place())?, rest.strip_prefix('$').ok_or_else(place)?),
            };
            let rest = rest.strip_prefix(['d', 's']).ok_or_else(place)?;
            wanted = wanted.max(number);
            parts.push(Part::Value(number.checked_sub(1).ok_or_else(place)?));
            put_text(&mut parts, rest);
        }
        if wanted > generators {
            return Err(TemplateError::Values { text: text.to_owned(), wanted, given: generators });
        }
        Ok(Template(parts))
    }

    /// The text with a mark where a value stands; [`value_of_mark`] knows which.
    pub fn marked(&self) -> String {
        let mut marked = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => marked.push_str(text),
                Part::Value(at) => {
                    let mark = u32::try_from(*at).ok().and_then(|at| char::from_u32(MARKS_BEGIN + at));
                    marked.push(mark.unwrap_or(char::REPLACEMENT_CHARACTER));
                }
            }
        }
        marked
    }

    /// Replaces `out` by the text with these values.
    pub fn fill(&self, values: &[String], out: &mut String) {
        out.clear();
        for part in &self.0 {
            out.push_str(match part {
                Part::Text(text) => text,
                Part::Value(at) => values.get(*at).map_or("", String::as_str),
            });
        }
    }
}

/// Which value a character stands for.
pub fn value_of_mark(one: char) -> Option<usize> {
    let at = u32::from(one).checked_sub(MARKS_BEGIN)? as usize;
    (at < VALUES_MAX).then_some(at)
}

fn put_text(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        Some(Part::Text(last)) => last.push_str(text),
        _ if text.is_empty() => {}
        _ => parts.push(Part::Text(text.to_owned())),
    }
}
