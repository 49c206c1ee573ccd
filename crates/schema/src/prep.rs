//! String preparation for matching (RFC 4518), on current Unicode.
//!
//! Two deliberate differences from the letter of the RFC. Characters that Unicode 3.2 did not know are accepted, since
//! a name in a newer script is a name. And the form of spaces is compact: RFC 4518 §2.6.1 puts one space at either end
//! and two between words, we put none and one. That says the same in fewer bytes; substring assertions, where the
//! difference shows at the edges of a piece, are put right by `rule::substring`.
//!
//! It knows nothing of attributes or rules.

use thiserror::Error;
use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// Mapping may create what another mapping removes; two rounds settle all known text, four bound the work.
const ROUNDS_MAX: usize = 4;

/// Why a value has no prepared form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PrepError {
    /// Not UTF-8.
    #[error("is not valid UTF-8")]
    NotUtf8,
    /// RFC 4518 §2.4: private use, not a character, or U+FFFD.
    #[error("contains the prohibited character U+{:04X}", u32::from(*.0))]
    Prohibited(char),
}

/// Whether letters are folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Folded.
    Ignore,
    /// Kept.
    Exact,
}

/// Which edges of the text lose their spaces; inner runs always become one space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edges {
    pub(crate) keep_leading: bool,
    pub(crate) keep_trailing: bool,
}

/// The edges of a whole value.
pub(crate) const WHOLE: Edges = Edges { keep_leading: false, keep_trailing: false };

const DELETE: u8 = 0;
const NOT_ASCII: u8 = 0x80;
/// No ASCII byte has it.
const NOT_ASCII_BIT: u8 = 0x80;

const fn ascii_table(case: Case) -> [u8; 256] {
    let mut table = [DELETE; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            0x09..=0x0D | b' ' => b' ',
            0x00..=0x08 | 0x0E..=0x1F | 0x7F => DELETE,
            upper @ b'A'..=b'Z' if matches!(case, Case::Ignore) => upper + 32,
            ascii @ 0x21..=0x7E => ascii,
            _ => NOT_ASCII,
        };
        byte += 1;
    }
    table
}

static IGNORE_TABLE: [u8; 256] = ascii_table(Case::Ignore);
static EXACT_TABLE: [u8; 256] = ascii_table(Case::Exact);

/// Appends the prepared form of a whole value.
pub fn prepare(value: &[u8], case: Case, out: &mut Vec<u8>) -> Result<(), PrepError> {
    prepare_edges(value, case, WHOLE, out)
}

/// Appends the prepared form of a value or of a piece of a substring assertion.
pub(crate) fn prepare_edges(value: &[u8], case: Case, edges: Edges, out: &mut Vec<u8>) -> Result<(), PrepError> {
    let start = out.len();
    if !ascii(value, case, edges, out) {
        out.truncate(start);
        let text = std::str::from_utf8(value).map_err(|_| PrepError::NotUtf8)?;
        let mapped = map_and_normalize(text, case);
        squeeze(&mapped, edges, out)?;
    }
    if out.len() == start {
        // Nothing but spaces: RFC 4518 keeps them significant, so that the form is never empty.
        out.push(b' ');
    }
    Ok(())
}

/// Appends the text without spaces (numeric strings).
pub fn prepare_numeric(value: &[u8], out: &mut Vec<u8>) -> Result<(), PrepError> {
    strip(value, Case::Exact, |c| c == ' ', out)
}

/// Appends the text without spaces and hyphens, folded (telephone numbers).
pub fn prepare_telephone(value: &[u8], out: &mut Vec<u8>) -> Result<(), PrepError> {
    let insignificant =
        |c| matches!(c, ' ' | '-' | '\u{058A}' | '\u{2010}' | '\u{2011}' | '\u{2212}' | '\u{FE63}' | '\u{FF0D}');
    strip(value, Case::Ignore, insignificant, out)
}

fn strip(value: &[u8], case: Case, insignificant: impl Fn(char) -> bool, out: &mut Vec<u8>) -> Result<(), PrepError> {
    if value.is_ascii() {
        let table = table(case);
        out.extend(
            value
                .iter()
                .map(|byte| table[usize::from(*byte)])
                .filter(|byte| *byte != DELETE && !insignificant(char::from(*byte))),
        );
        return Ok(());
    }
    let text = std::str::from_utf8(value).map_err(|_| PrepError::NotUtf8)?;
    let mapped = map_and_normalize(text, case);
    let mut chars = mapped.chars().peekable();
    while let Some(c) = chars.next() {
        prohibit(c)?;
        if !insignificant(c) || chars.peek().is_some_and(|next| is_combining_mark(*next)) {
            push(c, out);
        }
    }
    Ok(())
}

fn table(case: Case) -> &'static [u8; 256] {
    match case {
        Case::Ignore => &IGNORE_TABLE,
        Case::Exact => &EXACT_TABLE,
    }
}

/// One pass over ASCII; false if there is anything else. Nothing in the loop depends on what the branch predictor
/// thinks of names: every byte is written, and the length moves on or not.
fn ascii(value: &[u8], case: Case, edges: Edges, out: &mut Vec<u8>) -> bool {
    let table = table(case);
    let start = out.len();
    out.resize(start + value.len(), 0);
    let Some(room) = out.get_mut(start..) else { return false };
    let mut length = 0;
    let mut after_space = !edges.keep_leading;
    let mut all_bits = 0;
    for byte in value {
        let mapped = table[usize::from(*byte)];
        all_bits |= mapped;
        let is_space = mapped == b' ';
        let is_deleted = mapped == DELETE;
        room[length] = mapped;
        length += usize::from(!is_deleted & !(is_space & after_space));
        after_space = (is_deleted & after_space) | is_space;
    }
    if all_bits & NOT_ASCII_BIT != 0 {
        return false;
    }
    if !edges.keep_trailing && length > 0 && room[length - 1] == b' ' {
        length -= 1;
    }
    out.truncate(start + length);
    true
}

/// RFC 4518 §2.2 and §2.3: map, then NFKC, until nothing changes.
fn map_and_normalize(text: &str, case: Case) -> String {
    let mut current = map(text, case);
    for _ in 0..ROUNDS_MAX {
        if is_nfkc_quick(current.chars()) == IsNormalized::Yes {
            break;
        }
        let normal: String = current.nfkc().collect();
        if normal == current {
            break;
        }
        // NFKC may bring letters to fold and characters to drop: a letter-like symbol, a space with a mark.
        let next = map(&normal, case);
        let settled = next == normal;
        current = next;
        if settled {
            break;
        }
    }
    current
}

fn map(text: &str, case: Case) -> String {
    let mut mapped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            match table(case)[c as usize & 0x7F] {
                DELETE => {}
                byte => mapped.push(char::from(byte)),
            }
        } else if is_mapped_to_space(c) {
            mapped.push(' ');
        } else if !is_mapped_to_nothing(c) {
            match case {
                Case::Exact => mapped.push(c),
                Case::Ignore => fold(c, &mut mapped),
            }
        }
    }
    mapped
}

/// Full case folding: lower, upper, lower. The dotless i must not become an i on the way (Unicode folds it to itself).
fn fold(c: char, out: &mut String) {
    if c == '\u{131}' {
        out.push(c);
        return;
    }
    for lower in c.to_lowercase() {
        for upper in lower.to_uppercase() {
            out.extend(upper.to_lowercase());
        }
    }
}

fn is_mapped_to_space(c: char) -> bool {
    matches!(c, '\u{09}'..='\u{0D}' | '\u{20}' | '\u{85}' | '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}'
        | '\u{2028}' | '\u{2029}' | '\u{202F}' | '\u{205F}' | '\u{3000}')
}

/// Soft hyphens, joiners, variation selectors, controls and format characters.
fn is_mapped_to_nothing(c: char) -> bool {
    matches!(c, '\u{00}'..='\u{08}' | '\u{0E}'..='\u{1F}' | '\u{7F}'..='\u{84}' | '\u{86}'..='\u{9F}' | '\u{AD}'
        | '\u{34F}' | '\u{6DD}' | '\u{70F}' | '\u{1806}' | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}'
        | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}'
        | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFC}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0001}' | '\u{E0020}'..='\u{E007F}'
        | '\u{E0100}'..='\u{E01EF}')
}

/// RFC 4518 §2.4, except the code points that were unassigned in Unicode 3.2.
fn prohibit(c: char) -> Result<(), PrepError> {
    let code = u32::from(c);
    let private = matches!(code, 0xE000..=0xF8FF | 0xF_0000..=0xF_FFFD | 0x10_0000..=0x10_FFFD);
    let not_a_character = matches!(code, 0xFDD0..=0xFDEF) || code & 0xFFFE == 0xFFFE;
    if private || not_a_character || code == 0xFFFD {
        return Err(PrepError::Prohibited(c));
    }
    Ok(())
}

/// RFC 4518 §2.4 and §2.6.1. A space that carries a combining mark is no space.
fn squeeze(text: &str, edges: Edges, out: &mut Vec<u8>) -> Result<(), PrepError> {
    let start = out.len();
    let mut space = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        prohibit(c)?;
        if c == ' ' && !chars.peek().is_some_and(|next| is_combining_mark(*next)) {
            space = true;
            continue;
        }
        if space && (out.len() > start || edges.keep_leading) {
            out.push(b' ');
        }
        space = false;
        push(c, out);
    }
    if space && edges.keep_trailing && out.len() > start {
        out.push(b' ');
    }
    Ok(())
}

fn push(c: char, out: &mut Vec<u8>) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn prepared(value: &str, case: Case) -> Result<String, PrepError> {
        let mut out = Vec::new();
        prepare(value.as_bytes(), case, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn examples() {
        let cases = [
            ("foo bar  ", "foo bar"),
            ("  Foo \t\r\n BAR", "foo bar"),
            ("", " "),
            ("   ", " "),
            ("a\u{0}b\u{7f}c", "abc"),
            ("Stra\u{df}e", "strasse"),
            ("STRA\u{1e9e}E", "strasse"),
            ("\u{3a3}\u{3af}\u{3c3}\u{3c5}\u{3c6}\u{3bf}\u{3c2}", "\u{3c3}\u{3af}\u{3c3}\u{3c5}\u{3c6}\u{3bf}\u{3c3}"),
            ("e\u{301}", "\u{e9}"),
            ("\u{212b}ngstr\u{f6}m", "\u{e5}ngstr\u{f6}m"),
            ("\u{210c}", "h"),
            ("\u{fb01}n", "fin"),
            ("a\u{ad}b\u{200b}c\u{feff}", "abc"),
            ("a\u{3000}\u{a0}b", "a b"),
            ("\u{ff21}\u{ff22}", "ab"),
            ("\u{131}", "\u{131}"),
            // Unassigned in Unicode 3.2 and welcome: an emoji, a letter of Unicode 5.
            ("\u{1f600}", "\u{1f600}"),
            // A space with a combining mark is not a space.
            ("\u{a8}x", " \u{308}x"),
        ];
        for (value, expected) in cases {
            assert_eq!(prepared(value, Case::Ignore).unwrap(), expected, "{value:?}");
        }
        assert_eq!(prepared(" A  b ", Case::Exact).unwrap(), "A b");
        assert_eq!(prepared("\u{e000}", Case::Exact), Err(PrepError::Prohibited('\u{e000}')));
        assert_eq!(prepared("\u{fffd}x", Case::Exact), Err(PrepError::Prohibited('\u{fffd}')));
        assert_eq!(prepare(b"\xff", Case::Exact, &mut Vec::new()), Err(PrepError::NotUtf8));
    }

    #[test]
    fn numbers_and_telephones() {
        let mut out = Vec::new();
        prepare_numeric(b"  123  456  ", &mut out).unwrap();
        assert_eq!(out, b"123456");
        out.clear();
        prepare_telephone(" -123\u{2010}456 -EXT".as_bytes(), &mut out).unwrap();
        assert_eq!(out, b"123456ext");
        out.clear();
        prepare_telephone(b"---", &mut out).unwrap();
        assert_eq!(out, b"");
    }

    #[test]
    fn pieces_keep_the_edges_that_count() {
        let piece = |text: &str, keep_leading, keep_trailing| {
            let mut out = Vec::new();
            prepare_edges(text.as_bytes(), Case::Ignore, Edges { keep_leading, keep_trailing }, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(piece("  foo bar  ", true, true), " foo bar ");
        assert_eq!(piece("  foo bar  ", false, true), "foo bar ");
        assert_eq!(piece("  f\u{f6}o bar  ", true, false), " f\u{f6}o bar");
        assert_eq!(piece("   ", true, true), " ");
    }

    proptest! {
        #[test]
        fn preparing_twice_changes_nothing(text in "\\PC*", exact in any::<bool>()) {
            let case = if exact { Case::Exact } else { Case::Ignore };
            if let Ok(once) = prepared(&text, case) {
                prop_assert_eq!(prepared(&once, case), Ok(once.clone()));
            }
        }

        #[test]
        fn ascii_and_unicode_paths_agree(text in "[ -~\t]{0,20}") {
            let mapped = map_and_normalize(&text, Case::Ignore);
            let mut slow = Vec::new();
            squeeze(&mapped, WHOLE, &mut slow).unwrap();
            let fast = prepared(&text, Case::Ignore).unwrap();
            prop_assert_eq!(fast.trim(), String::from_utf8(slow).unwrap());
        }
    }
}
