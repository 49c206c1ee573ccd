//! Schema files: LDIF with one `cn=schema` entry whose values are definitions, read with line numbers and written back.
//!
//! The general LDIF reader of `ldap` counts lines by record; here a mistake must be placed at the value.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use thiserror::Error;

use crate::definition::{Definition, DefinitionKind};

/// Columns of a written line (RFC 2849 leaves it open; this is what most tools use).
const LINE_COLUMNS: usize = 78;

/// Why a line is no LDIF.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FileProblem {
    /// No colon.
    #[error("the line has no \"attribute: value\"")]
    NoColon,
    /// A folded line with nothing to continue.
    #[error("a line that begins with a space continues nothing")]
    NothingToContinue,
    /// After `::`.
    #[error("the base64 value is malformed or not UTF-8 text")]
    BadBase64,
    /// `:<`
    #[error("values from files are not allowed in schema files")]
    FileUrl,
}

/// One `attribute: value`, unfolded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) number: u64,
    pub(crate) attribute: String,
    pub(crate) value: String,
}

/// Unfolds and splits the text; comments and blank lines vanish, errors come with their line.
pub(crate) fn lines(text: &str) -> Vec<Result<Line, (u64, FileProblem)>> {
    let mut logical: Vec<(u64, String)> = Vec::new();
    let mut lines = Vec::new();
    let mut in_comment = false;
    for (number, raw) in (1u64..).zip(text.split('\n')) {
        let raw = raw.strip_suffix('\r').unwrap_or(raw);
        if let Some(continuation) = raw.strip_prefix(' ') {
            match logical.last_mut() {
                _ if in_comment => {}
                Some((_, line)) if !line.is_empty() => line.push_str(continuation),
                _ if continuation.trim().is_empty() => {}
                _ => lines.push(Err((number, FileProblem::NothingToContinue))),
            }
            continue;
        }
        in_comment = raw.starts_with('#');
        if !in_comment {
            logical.push((number, raw.to_owned()));
        }
    }
    let parsed = logical.into_iter().filter(|(_, line)| !line.trim().is_empty());
    lines.extend(parsed.map(|(number, line)| split(number, &line).map_err(|problem| (number, problem))));
    lines
}

fn split(number: u64, line: &str) -> Result<Line, FileProblem> {
    let (attribute, value) = line.split_once(':').ok_or(FileProblem::NoColon)?;
    let value = if let Some(encoded) = value.strip_prefix(':') {
        let bytes = STANDARD.decode(encoded.trim()).map_err(|_| FileProblem::BadBase64)?;
        String::from_utf8(bytes).map_err(|_| FileProblem::BadBase64)?
    } else if value.starts_with('<') {
        return Err(FileProblem::FileUrl);
    } else {
        value.trim_start_matches(' ').to_owned()
    };
    Ok(Line { number, attribute: attribute.trim().to_owned(), value })
}

/// Writes definitions as a schema file: by kind, in the order given, folded between words where that is possible.
pub(crate) fn write<'a>(definitions: impl Iterator<Item = &'a Definition> + Clone) -> String {
    let mut text = String::from("dn: cn=schema\nobjectClass: top\nobjectClass: ldapSubentry\nobjectClass: subschema\n");
    for kind in DefinitionKind::ALL {
        for definition in definitions.clone().filter(|definition| definition.kind() == kind) {
            let mut definition = definition.clone();
            definition.head_mut().remove_extension(SCHEMA_FILE);
            let value = definition.to_string();
            if value.is_ascii() {
                fold(&format!("{}: {value}", kind.attribute()), &mut text);
            } else {
                fold(&format!("{}:: {}", kind.attribute(), STANDARD.encode(value)), &mut text);
            }
        }
    }
    text
}

/// The extension that names the file of a definition. It is shown to clients and not written to files.
pub(crate) const SCHEMA_FILE: &str = "X-SCHEMA-FILE";

/// The first space of a continuation is taken away on reading, so one that separates words must stay at the line's end
/// or follow that first one; the latter survives editors that trim lines.
fn fold(line: &str, out: &mut String) {
    let mut rest = line;
    let mut room = LINE_COLUMNS;
    while rest.len() > room {
        let head = rest.get(..room).unwrap_or(rest);
        let at = head.rfind(' ').filter(|at| *at > room / 2).unwrap_or(head.len());
        let (now, later) = rest.split_at_checked(at).unwrap_or((rest, ""));
        let _ = writeln!(out, "{now}");
        out.push(' ');
        rest = later;
        room = LINE_COLUMNS - 1;
    }
    let _ = writeln!(out, "{rest}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_places_values_and_mistakes() {
        let text = "# comment\n goes on\ndn: cn=schema\r\nattributeTypes: ( 1.2\n  NAME 'a' )\n\nnonsense\nx:: YWJj\n\
            y:: %\nz:<file:///etc/passwd\n";
        let lines = lines(text);
        let line = |number, attribute: &str, value: &str| {
            Ok(Line { number, attribute: attribute.into(), value: value.into() })
        };
        let expected = [
            line(3, "dn", "cn=schema"),
            line(4, "attributeTypes", "( 1.2 NAME 'a' )"),
            Err((7, FileProblem::NoColon)),
            line(8, "x", "abc"),
            Err((9, FileProblem::BadBase64)),
            Err((10, FileProblem::FileUrl)),
        ];
        assert_eq!(lines, expected);
        assert_eq!(super::lines(" x")[0], Err((1, FileProblem::NothingToContinue)));
    }

    #[test]
    fn what_is_written_reads_back() {
        let long =
            format!("( 1.2.3 NAME 'a' DESC '{}' X-ORIGIN 'x' X-SCHEMA-FILE '99-user.ldif' )", "word ".repeat(60));
        let accented = "( 1.2.4 NAME 'b' DESC 'd\u{e9}j\u{e0} vu' )";
        let parse = |text: &str| Definition::parse(DefinitionKind::AttributeType, text).unwrap();
        let mut definitions = [parse(&long), parse(accented)];
        let text = write(definitions.iter());
        assert!(text.lines().all(|line| line.len() <= LINE_COLUMNS), "{text}");
        let read: Vec<Definition> = lines(&text)
            .into_iter()
            .map(Result::unwrap)
            .filter(|line| line.attribute == "attributeTypes")
            .map(|line| parse(&line.value))
            .collect();
        definitions[0].head_mut().remove_extension(SCHEMA_FILE);
        assert_eq!(read, definitions);
    }
}
