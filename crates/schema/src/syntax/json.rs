//! JSON values (RFC 8259): whether a text is one, and nothing of what it says.

/// Deepest nesting accepted; it bounds the stack.
const DEPTH_MAX: usize = 64;

/// Whether the value is one JSON text.
pub(super) fn is_json(value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return false };
    let mut rest = text.as_bytes();
    element(&mut rest, 0).is_some() && rest.is_empty()
}

/// A value with the space around it; `None` for a mistake.
fn element(rest: &mut &[u8], depth: usize) -> Option<()> {
    if depth > DEPTH_MAX {
        return None;
    }
    skip(rest);
    match rest.first()? {
        b'{' => sequence(rest, b'}', |rest| {
            skip(rest);
            string(rest)?;
            skip(rest);
            take(rest, b":")?;
            element(rest, depth + 1)
        })?,
        b'[' => sequence(rest, b']', |rest| element(rest, depth + 1))?,
        b'"' => string(rest)?,
        b't' => take(rest, b"true")?,
        b'f' => take(rest, b"false")?,
        b'n' => take(rest, b"null")?,
        _ => number(rest)?,
    }
    skip(rest);
    Some(())
}

/// Items separated by commas between the bracket that comes next and `close`.
fn sequence(rest: &mut &[u8], close: u8, mut item: impl FnMut(&mut &[u8]) -> Option<()>) -> Option<()> {
    *rest = rest.get(1..)?;
    skip(rest);
    if take(rest, &[close]).is_some() {
        return Some(());
    }
    loop {
        item(rest)?;
        skip(rest);
        if take(rest, &[close]).is_some() {
            return Some(());
        }
        take(rest, b",")?;
    }
}

fn string(rest: &mut &[u8]) -> Option<()> {
    take(rest, b"\"")?;
    loop {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        match byte {
            b'"' => return Some(()),
            0..=0x1F => return None,
            b'\\' => {
                let (escape, after) = rest.split_first()?;
                *rest = after;
                if *escape == b'u' {
                    let (digits, after) = rest.split_at_checked(4)?;
                    if !digits.iter().all(u8::is_ascii_hexdigit) {
                        return None;
                    }
                    *rest = after;
                } else if !b"\"\\/bfnrt".contains(escape) {
                    return None;
                }
            }
            _ => {}
        }
    }
}

/// `-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?`
fn number(rest: &mut &[u8]) -> Option<()> {
    let _ = take(rest, b"-");
    if take(rest, b"0").is_none() {
        digits(rest)?;
    }
    if take(rest, b".").is_some() {
        digits(rest)?;
    }
    if take(rest, b"e").or_else(|| take(rest, b"E")).is_some() {
        let _ = take(rest, b"+").or_else(|| take(rest, b"-"));
        digits(rest)?;
    }
    Some(())
}

fn digits(rest: &mut &[u8]) -> Option<()> {
    let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    *rest = rest.get(length..)?;
    (length > 0).then_some(())
}

fn take(rest: &mut &[u8], wanted: &[u8]) -> Option<()> {
    *rest = rest.strip_prefix(wanted)?;
    Some(())
}

fn skip(rest: &mut &[u8]) {
    while let Some((b' ' | b'\t' | b'\n' | b'\r', after)) = rest.split_first() {
        *rest = after;
    }
}
