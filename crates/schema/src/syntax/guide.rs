//! The search guides of X.520: `Guide` (RFC 4517 §3.3.14) and `Enhanced Guide` (§3.3.10).

use super::text::is_oid;

/// Deepest nesting of criteria accepted; guides are obsolete and real ones have two or three levels.
const DEPTH_MAX: usize = 32;

/// `[class#]criteria`
pub(super) fn is_guide(value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return false };
    match text.split_once('#') {
        Some((class, criteria)) => is_class(class) && is_criteria(criteria),
        None => is_criteria(text),
    }
}

/// `class#criteria#subset`
pub(super) fn is_enhanced_guide(value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return false };
    let parts: Vec<&str> = text.split('#').collect();
    let [class, criteria, subset] = parts.as_slice() else { return false };
    let subsets = ["baseobject", "oneLevel", "wholeSubtree"];
    is_class(class) && is_criteria(criteria) && subsets.iter().any(|known| known.eq_ignore_ascii_case(subset.trim()))
}

fn is_class(class: &str) -> bool {
    is_oid(class.trim().as_bytes(), false)
}

fn is_criteria(text: &str) -> bool {
    let mut rest = text.trim();
    criteria(&mut rest, 0) && rest.is_empty()
}

/// Terms joined by `&` and `|`; the two differ in what they mean, not in where they may stand.
fn criteria(rest: &mut &str, depth: usize) -> bool {
    if depth > DEPTH_MAX {
        return false;
    }
    loop {
        *rest = rest.trim_start().trim_start_matches('!');
        if !term(rest, depth) {
            return false;
        }
        *rest = rest.trim_start();
        match rest.strip_prefix(['&', '|']) {
            Some(after) => *rest = after,
            None => return true,
        }
    }
}

fn term(rest: &mut &str, depth: usize) -> bool {
    for constant in ["?true", "?false"] {
        if let Some(after) = rest.strip_prefix(constant) {
            *rest = after;
            return true;
        }
    }
    if let Some(inside) = rest.strip_prefix('(') {
        *rest = inside;
        if !criteria(rest, depth + 1) {
            return false;
        }
        let Some(after) = rest.trim_start().strip_prefix(')') else { return false };
        *rest = after;
        return true;
    }
    let Some((attribute, after)) = rest.split_once('$') else { return false };
    let kinds = ["EQ", "SUBSTR", "GE", "LE", "APPROX"];
    let Some(kind) = kinds.into_iter().find(|kind| after.starts_with(kind)) else { return false };
    *rest = after.strip_prefix(kind).unwrap_or_default();
    is_oid(attribute.trim().as_bytes(), false)
}
