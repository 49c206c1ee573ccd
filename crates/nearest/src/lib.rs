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
            let is_part = |part: &str, whole: &str| part.len() >= 4 && whole.contains(part);
            let related = is_part(&wrong, &lower) || is_part(&lower, &wrong);
            // Of a short word little is left after two edits: every other short word would be near.
            let longer = wrong.chars().count().max(lower.chars().count());
            let is_near = distance <= 1 || (distance <= tolerance && distance * 2 < longer);
            (is_near || related).then_some((distance, name))
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

/// Edits (insert, remove, replace, exchange two neighbours) from one word to the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    let mut last = None;
    for (i, x) in a.chars().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        next.push(i + 1);
        for (j, y) in b.iter().enumerate() {
            let at = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX - 1);
            let replaced = at(&row, j) + usize::from(x != *y);
            let mut least = replaced.min(at(&row, j + 1) + 1).min(at(&next, j) + 1);
            let left = j.checked_sub(1).and_then(|left| b.get(left).map(|known| (left, *known)));
            if let (Some(last), Some((left, known))) = (last, left)
                && last == *y
                && known == x
            {
                least = least.min(at(&before, left) + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
        last = Some(x);
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
        assert_eq!((distance("emial", "mail"), distance("", "ab"), distance("ab", "ba")), (2, 2, 1));
        assert_eq!(nearest("emial", ["l", "mail", "sn"]), ["mail"]);
        assert!(nearest("foo", ["c-o", "co", "o", "title"]).is_empty());
        assert_eq!(nearest("fo", ["co", "o", "sn"]), ["co", "o"]);
        assert_eq!(nearest("acces", ["backendstat", "access", "setup"]), ["access"]);
        assert_eq!(nearest("stauts", ["start", "setup", "status"])[0], "status");
    }
}
