//! Distinguished names in settings.

/// Whether `text` is a DN that is not the root.
pub(crate) fn is_dn(text: &str) -> bool {
    let mut escaped = false;
    let rdns = text.split(|c| {
        let splits = c == ',' && !escaped;
        escaped = c == '\\' && !escaped;
        splits
    });
    let is_rdn = |rdn: &str| rdn.split_once('=').is_some_and(|(a, v)| !a.trim().is_empty() && !v.trim().is_empty());
    rdns.into_iter().all(is_rdn)
}
