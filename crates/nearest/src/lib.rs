//! Which known names look like a mistyped one, for messages that say what may have been meant.
//!
//! Names are words; what they name is for whoever asks.

/// How many suggestions help; more would be a list to read.
const SUGGESTIONS_MAX: usize = 3;

/// The known names closest to `wrong`, best first; none if nothing is close.
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wrong = wrong.to_ascii_lowercase();
    let tolerance = (wrong.chars().count() / 3).max(2);
    let mut scored: Vec<(usize, &str)> = known
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_ascii_lowercase();
            let distance = distance(&wrong, &lower);
            let related = wrong.len() >= 4 && (lower.contains(&wrong) || wrong.contains(&lower));
            (distance <= tolerance || related).then_some((distance, name))
        })
        .collect();
    scored.sort_unstable();
    scored.dedup();
    scored.into_iter().take(SUGGESTIONS_MAX).map(|(_, name)| name).collect()
}

/// What to write instead of an unknown name: those that look like it, or all.
pub fn hint(wrong: &str, known: &[&str]) -> String {
    let close = nearest(wrong, known.iter().copied());
    match close.is_empty() {
        true => format!("known are {}", known.join(", ")),
        false => format!("did you mean {}?", close.join(", ")),
    }
}

/// Edits (insert, remove, replace) from one word to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, y) in row.iter_mut().skip(1).zip(&b) {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = *cell;
            *cell = replaced.min(diagonal + 1).min(left + 1);
            left = *cell;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_mistakes_find_their_name() {
        let known = ["size-limit", "time-limit", "lookthrough-limit", "idle-time-limit", "check-schema"];
        assert_eq!(nearest("sise-limit", known)[0], "size-limit");
        assert_eq!(nearest("lookthru-limit", known)[0], "lookthrough-limit");
        assert_eq!(nearest("schema", known), ["check-schema"]);
        assert!(nearest("favourite-colour", known).is_empty());
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
