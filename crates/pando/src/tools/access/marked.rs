//! Text with some of its parts marked, in lines of a terminal: carets stand below what is marked.

use std::ops::Range;

use crate::terminal;

/// Columns of a text that no terminal shows.
const COLUMNS: usize = 110;

/// Columns of what is printed.
pub fn columns() -> usize {
    terminal::columns().unwrap_or(COLUMNS)
}

/// Lines of `width` columns; below each that has a marked part, one with carets.
pub fn marked(text: &str, parts: &[Range<usize>], width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let is_marked = |at: usize| parts.iter().any(|part| part.contains(&at));
    let characters: Vec<(usize, char)> = text.char_indices().collect();
    for row in characters.chunks(width.max(1)) {
        // A control character would break the line.
        lines.push(row.iter().map(|(_, one)| if one.is_control() { ' ' } else { *one }).collect());
        if row.iter().any(|(at, _)| is_marked(*at)) {
            let carets: String = row.iter().map(|(at, _)| if is_marked(*at) { '^' } else { ' ' }).collect();
            lines.push(carets.trim_end().to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;

    #[test]
    fn carets_stand_below_the_parts_in_every_line() {
        let text = "allow (read) userdn=\"x\";";
        assert_eq!(marked(text, from_ref(&(13..23)), 80), [text, "             ^^^^^^^^^^"]);
        assert_eq!(marked(text, &[], 80), [text]);
        assert_eq!(
            marked(text, from_ref(&(13..23)), 16),
            ["allow (read) use", "             ^^^", "rdn=\"x\";", "^^^^^^^"]
        );
        assert_eq!(marked("é\n\"", from_ref(&(2..3)), 80), ["é \"", " ^"]);
    }
}
