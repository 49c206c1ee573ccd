//! Text as the rules look at it.

/// The characters from the last to the first.
pub(super) fn reversed(text: &str) -> String {
    text.chars().rev().collect()
}

/// The text with upper and lower case made the same, character for character.
pub(super) fn folded(text: &str) -> Vec<char> {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// How many characters have to be inserted, deleted or replaced to make one text of another (Levenshtein).
pub(super) fn difference(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (above, character) in one.chars().enumerate() {
        let mut diagonal = above;
        let mut left = above + 1;
        row[0] = left;
        for (cell, &theirs) in row[1..].iter_mut().zip(&other) {
            let replaced = diagonal + usize::from(character != theirs);
            diagonal = *cell;
            left = replaced.min(diagonal + 1).min(left + 1);
            *cell = left;
        }
    }
    row.last().copied().unwrap_or_default()
}
