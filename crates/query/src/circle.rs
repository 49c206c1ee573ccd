//! Circles in what contains what: groups in groups, roles in roles. Found and named; never followed twice.
//!
//! Knows no directory: whoever asks says what comes after what.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::hash::Hash;

/// Names of a circle that are shown.
const SHOWN_MAX: usize = 10;

/// One circle among everything that is reached from `starts`, if there is one: each member once, the least first, so
/// that the same circle looks the same whoever comes upon it. `after` gives what comes after one.
///
/// # Errors
/// What `after` fails with.
pub fn find<N, A, E>(starts: &[N], mut after: impl FnMut(N) -> Result<A, E>) -> Result<Option<Vec<N>>, E>
where
    N: Copy + Eq + Hash + Ord,
    A: AsRef<[N]>,
{
    let mut done: HashSet<N> = HashSet::new();
    for start in starts {
        if done.contains(start) {
            continue;
        }
        // A walk in depth; `way` is where it stands: each with what comes after it and how much of that was tried.
        let mut way: Vec<(N, A, usize)> = vec![(*start, after(*start)?, 0)];
        let mut on_way: HashMap<N, usize> = HashMap::from([(*start, 0)]);
        while let Some((at, nexts, tried)) = way.last_mut() {
            let at = *at;
            let next = nexts.as_ref().get(*tried).copied();
            *tried += 1;
            match next {
                Some(next) => match on_way.get(&next) {
                    Some(from) => {
                        let mut circle: Vec<N> = way.iter().skip(*from).map(|(at, ..)| *at).collect();
                        let least = circle.iter().enumerate().min_by_key(|(_, it)| **it).map_or(0, |(at, _)| at);
                        circle.rotate_left(least);
                        return Ok(Some(circle));
                    }
                    None if !done.contains(&next) => {
                        on_way.insert(next, way.len());
                        let nexts = after(next)?;
                        way.push((next, nexts, 0));
                    }
                    None => {}
                },
                None => {
                    done.insert(at);
                    on_way.remove(&at);
                    way.pop();
                }
            }
        }
    }
    Ok(None)
}

/// The names of a circle in quotes, with `between` between them, back to the first; of a long one only the beginning.
pub fn shown<'n>(names: impl Iterator<Item = &'n str> + Clone, between: &str) -> String {
    let mut out = String::new();
    for (at, name) in names.clone().chain(names.take(1)).take(SHOWN_MAX).enumerate() {
        if at > 0 {
            out.push_str(between);
        }
        // Writing to a text does not fail.
        let _ = write!(out, "\"{name}\"");
    }
    out
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn find_in(edges: &[(u8, u8)]) -> Option<Vec<u8>> {
        let starts: Vec<u8> = edges.iter().map(|(from, _)| *from).collect();
        let after = |at: u8| -> Result<Vec<u8>, Infallible> {
            Ok(edges.iter().filter(|(from, _)| *from == at).map(|(_, to)| *to).collect())
        };
        find(&starts, after).unwrap()
    }

    #[test]
    fn a_circle_begins_with_its_least() {
        assert_eq!(find_in(&[(5, 3), (3, 4), (4, 2), (2, 3)]), Some(vec![2, 3, 4]));
        assert_eq!(find_in(&[(1, 1)]), Some(vec![1]));
        assert_eq!(find_in(&[(1, 2), (1, 3), (2, 4), (3, 4)]), None);
    }

    #[test]
    fn long_circles_are_cut() {
        assert_eq!(shown(["a", "b"].into_iter(), " in "), "\"a\" in \"b\" in \"a\"");
        let many: Vec<String> = (0..30).map(|at| at.to_string()).collect();
        assert_eq!(shown(many.iter().map(String::as_str), ",").matches(',').count(), SHOWN_MAX - 1);
    }
}
