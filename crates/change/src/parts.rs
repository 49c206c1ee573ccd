//! Byte strings in a row, each with its length: how reports, jobs and transactions are put together.

/// Appends a part.
pub fn put(out: &mut Vec<u8>, part: &[u8]) {
    out.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend_from_slice(part);
}

/// Takes the first part off; `None` when the bytes end early.
pub fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let (part, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *rest = after;
    Some(part)
}

/// The same of a text.
pub fn take_text(rest: &mut &[u8]) -> Option<String> {
    String::from_utf8(take(rest)?.to_vec()).ok()
}

/// Joins encoded proposals to the operation bytes of a transaction.
pub fn join(proposals: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut out = Vec::new();
    proposals.into_iter().for_each(|proposal| put(&mut out, &proposal));
    out
}

/// The proposals of a transaction.
pub fn split(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut parts = Vec::new();
    while !bytes.is_empty() {
        parts.push(take(&mut bytes)?);
    }
    Some(parts)
}
