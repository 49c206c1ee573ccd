//! Substring assertions: pieces that a value begins with, contains in order, and ends with.
//!
//! In the compact form of `prep` a value has no spaces at its ends. RFC 4518 §2.6.1 acts as if it had one at either
//! end and two between words, so that `foo *` matches `foo` and `*foo * bar*` matches `foo bar`. Pieces without a space
//! at an edge match alike in both forms, and almost all pieces are such; for the others the RFC's form is made on the
//! spot.

use std::borrow::Cow;

use memchr::memmem::Finder;

use super::invalid_value::InvalidValue;
use super::matching_rule::{Form, MatchingRule};
use super::{collation, structured};
use crate::prep::{self, Case, Edges};

/// Where in the value a piece must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Position {
    /// At its beginning.
    Initial,
    /// After the piece before it.
    Any,
    /// At its end.
    Final,
}

/// A prepared substring assertion.
#[derive(Debug, Clone)]
pub struct Substrings {
    initial: Option<Vec<u8>>,
    any: Vec<Finder<'static>>,
    last: Option<Vec<u8>>,
    /// The pieces are in the RFC's form, and values have to be brought into it.
    expand: bool,
    /// The bare pieces say all that the assertion does.
    is_plain: bool,
    /// The initial piece in the compact form, without edge spaces.
    bare_initial: Option<Vec<u8>>,
    /// All pieces likewise, as the keys of a substring index have them.
    bare: Vec<(Position, Vec<u8>)>,
}

impl MatchingRule {
    /// Appends the prepared form of one piece of a substring assertion (see [`Substrings`] for what edge spaces mean).
    pub fn normalize_piece(&self, piece: &[u8], position: Position, out: &mut Vec<u8>) -> Result<(), InvalidValue> {
        if self.is_ia5 && !piece.is_ascii() {
            return Err(InvalidValue::NotA("an IA5 string, which has ASCII characters only"));
        }
        let start = out.len();
        let result = normalize_piece(self.form, piece, position, out);
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    /// What of a normal form the keys of a substring index are made from. Telephone numbers lose their `+` there, as in
    /// OpenDJ, so that its figures hold; equality and matching itself keep it (RFC 4517 §4.2.29). So such keys are
    /// candidates, no more.
    pub fn substring_form<'n>(&self, normal: &'n [u8]) -> Cow<'n, [u8]> {
        if self.form == Form::Telephone && normal.contains(&b'+') {
            return normal.iter().copied().filter(|byte| *byte != b'+').collect();
        }
        Cow::Borrowed(normal)
    }
}

impl Substrings {
    /// Prepares the pieces, in the order of the assertion, under a rule.
    pub fn new<'p>(
        rule: &MatchingRule,
        pieces: impl IntoIterator<Item = (Position, &'p [u8])>,
    ) -> Result<Substrings, InvalidValue> {
        let mut prepared = Vec::new();
        for (position, piece) in pieces {
            let mut form = Vec::with_capacity(piece.len());
            rule.normalize_piece(piece, position, &mut form)?;
            prepared.push((position, form));
        }
        let expand = has_spaces(rule.form) && prepared.iter().any(|(_, piece)| trim(piece).len() != piece.len());
        let trimmed = || prepared.iter().map(|(position, piece)| (*position, trim_for(rule.form, piece)));
        let bare_initial = trimmed().find(|(position, _)| *position == Position::Initial);
        let bare_initial = bare_initial.map(|(_, piece)| piece.to_vec());
        let bare = trimmed().map(|(position, piece)| (position, rule.substring_form(piece).into_owned())).collect();
        // Where values lose something in the substring form, matching it is not matching the value.
        let is_plain = !expand && rule.form != Form::Telephone;
        let mut it = Substrings { initial: None, any: Vec::new(), last: None, expand, is_plain, bare_initial, bare };
        for (position, mut piece) in prepared {
            if expand {
                piece = expanded_piece(&piece, position);
            }
            match position {
                Position::Initial => it.initial = Some(piece),
                Position::Any => it.any.push(Finder::new(&piece).into_owned()),
                Position::Final => it.last = Some(piece),
            }
        }
        Ok(it)
    }

    /// Parses a substring assertion in its string form, `initial*any*final` with `\2A` and `\5C` (RFC 4517 §3.3.30).
    pub fn parse(rule: &MatchingRule, assertion: &[u8]) -> Result<Substrings, InvalidValue> {
        let parts: Vec<Vec<u8>> =
            assertion.split(|byte| *byte == b'*').map(|part| structured::unescape(part, b"2A", b'*')).collect();
        let last = parts.len() - 1;
        if last == 0 {
            return Err(InvalidValue::NotA("a substring assertion such as a*b*c"));
        }
        let pieces = parts.iter().enumerate().filter(|(_, piece)| !piece.is_empty()).map(|(at, piece)| {
            let position = match at {
                0 => Position::Initial,
                at if at == last => Position::Final,
                _ => Position::Any,
            };
            (position, piece.as_slice())
        });
        Substrings::new(rule, pieces)
    }

    /// Whether the value with this normal form matches.
    pub fn matches(&self, normal_form: &[u8]) -> bool {
        if self.expand { self.matches_form(&expanded_value(normal_form)) } else { self.matches_form(normal_form) }
    }

    /// What the normal form of every matching value begins with: a range of an equality index.
    pub fn index_initial(&self) -> Option<&[u8]> {
        self.bare_initial.as_deref().filter(|piece| !piece.is_empty())
    }

    /// The pieces as they must occur in the [substring form](MatchingRule::substring_form) of every matching value:
    /// what the keys of a substring index are made from.
    pub fn index_pieces(&self) -> impl Iterator<Item = (Position, &[u8])> {
        self.bare.iter().filter(|(_, piece)| !piece.is_empty()).map(|(position, piece)| (*position, piece.as_slice()))
    }

    /// The piece, if there is but one and a value matches exactly if its [substring form](MatchingRule::substring_form)
    /// begins with it, contains it, or ends with it.
    pub fn only_piece(&self) -> Option<(Position, &[u8])> {
        match self.bare.as_slice() {
            [(position, piece)] if self.is_plain && !piece.is_empty() => Some((*position, piece)),
            _ => None,
        }
    }

    fn matches_form(&self, value: &[u8]) -> bool {
        let mut rest = value;
        if let Some(initial) = &self.initial {
            let Some(after) = rest.strip_prefix(initial.as_slice()) else { return false };
            rest = after;
        }
        if let Some(last) = &self.last {
            let Some(before) = rest.strip_suffix(last.as_slice()) else { return false };
            rest = before;
        }
        for piece in &self.any {
            let found = piece.find(rest).and_then(|at| rest.get(at + piece.needle().len()..));
            let Some(after) = found else { return false };
            rest = after;
        }
        true
    }
}

pub(super) fn normalize_piece(
    form: Form,
    piece: &[u8],
    position: Position,
    out: &mut Vec<u8>,
) -> Result<(), InvalidValue> {
    let edges = Edges { keep_leading: position != Position::Initial, keep_trailing: position != Position::Final };
    match form {
        Form::CaseIgnore | Form::DoubleMetaphone => Ok(prep::prepare_edges(piece, Case::Ignore, edges, out)?),
        Form::CaseExact => Ok(prep::prepare_edges(piece, Case::Exact, edges, out)?),
        Form::Numeric if !piece.iter().all(|byte| byte.is_ascii_digit() || *byte == b' ') => {
            Err(InvalidValue::NotA("a numeric string, which has digits and spaces only"))
        }
        Form::Numeric => Ok(prep::prepare_numeric(piece, out)?),
        Form::Telephone => Ok(prep::prepare_telephone(piece, out)?),
        Form::CaseIgnoreList => structured::normalize_list_piece(piece, edges, out),
        Form::CollationPieces(locale) => collation::normalize_pieces(locale, piece, edges, out),
        Form::Octets => {
            out.extend_from_slice(piece);
            Ok(())
        }
        _ => Err(InvalidValue::NotComparable("substrings")),
    }
}

fn has_spaces(form: Form) -> bool {
    matches!(form, Form::CaseIgnore | Form::CaseExact | Form::CaseIgnoreList)
}

fn trim_for(form: Form, piece: &[u8]) -> &[u8] {
    if has_spaces(form) { trim(piece) } else { piece }
}

/// Drops the space at either edge. A leading space that carries a combining mark stays, as it is not one.
fn trim(piece: &[u8]) -> &[u8] {
    let piece = match piece.strip_prefix(b" ") {
        Some(rest) if !starts_with_mark(rest) => rest,
        _ => piece,
    };
    piece.strip_suffix(b" ").unwrap_or(piece)
}

fn starts_with_mark(bytes: &[u8]) -> bool {
    if bytes.first().is_none_or(u8::is_ascii) {
        return false;
    }
    let head = bytes.get(..bytes.len().min(4)).unwrap_or_default();
    let first = head.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
    first.is_some_and(unicode_normalization::char::is_combining_mark)
}

/// One space at either end, two where there is one.
fn expanded_value(value: &[u8]) -> Vec<u8> {
    if value == b" " {
        return b"  ".to_vec();
    }
    let mut out = Vec::with_capacity(value.len() + 16);
    out.push(b' ');
    double_inner(value, &mut out);
    out.push(b' ');
    out
}

fn expanded_piece(piece: &[u8], position: Position) -> Vec<u8> {
    let bare = trim(piece);
    if bare.is_empty() {
        return b" ".to_vec();
    }
    let leading = position == Position::Initial || (piece.first() == Some(&b' ') && bare.first() != Some(&b' '));
    let trailing = position == Position::Final || piece.last() == Some(&b' ');
    let mut out = Vec::with_capacity(piece.len() + 8);
    if leading {
        out.push(b' ');
    }
    double_inner(bare, &mut out);
    if trailing {
        out.push(b' ');
    }
    out
}

fn double_inner(text: &[u8], out: &mut Vec<u8>) {
    for (at, byte) in text.iter().enumerate() {
        out.push(*byte);
        if *byte == b' ' && !starts_with_mark(text.get(at + 1..).unwrap_or_default()) {
            out.push(b' ');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;

    fn check(assertion: &str, value: &str) -> bool {
        let rule = MatchingRule::find("caseIgnoreSubstringsMatch").unwrap();
        let mut form = Vec::new();
        rule.normalize(&Schema::empty(), value.as_bytes(), &mut form).unwrap();
        Substrings::parse(rule, assertion.as_bytes()).unwrap().matches(&form)
    }

    #[test]
    fn pieces_in_order() {
        for (assertion, value) in [
            ("*", "anything"),
            ("foo*", "Foobar"),
            ("*BAR", "foobar"),
            ("f*o*b*r", "foobar"),
            ("*o*o*", "foobar"),
            ("a\\2ab*", "A*BC"),
            ("foo*bar", "foo bar"),
            ("foo  bar*", " foo bar baz"),
            // Spaces at the edges of a piece, as RFC 4518 counts them.
            ("foo *", "foo bar"),
            ("foo *", "foo"),
            ("* bar", "foo bar"),
            ("* foo*", "foo"),
            ("*foo * bar*", "foo bar"),
            ("*o b*", "foo bar"),
            (" *", "foo"),
            ("* *", "foo"),
        ] {
            assert!(check(assertion, value), "{assertion} {value}");
        }
        for (assertion, value) in [
            ("foo*", "afoo"),
            ("*foo", "fooa"),
            ("*oo*oo*", "foo"),
            ("foo*oo", "foo"),
            ("foo *", "foobar"),
            ("* bar*", "foobar"),
            ("*o * * *b*", "foo bar"),
            ("*ob*", "foo bar"),
        ] {
            assert!(!check(assertion, value), "{assertion} {value}");
        }
    }

    #[test]
    fn index_pieces_have_no_edge_spaces() {
        let rule = MatchingRule::find("caseIgnoreSubstringsMatch").unwrap();
        let it = Substrings::parse(rule, b"foo * *x y *end").unwrap();
        let pieces: Vec<_> = it.index_pieces().collect();
        let expected: [(Position, &[u8]); 3] =
            [(Position::Initial, b"foo"), (Position::Any, b"x y"), (Position::Final, b"end")];
        assert_eq!(pieces, expected);
    }
}
