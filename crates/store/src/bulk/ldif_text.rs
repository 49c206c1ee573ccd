//! Writing LDIF lines (RFC 2849): base64 where a value needs it, folding where it is asked for.

/// Appends `name: value` (or `name:: base64`), folded at `wrap` columns; 0 does not fold.
pub(super) fn put_line(name: &str, value: &[u8], wrap: usize, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(name.as_bytes());
    if is_safe(value) {
        out.extend_from_slice(if value.is_empty() { b":" } else { b": " });
        out.extend_from_slice(value);
    } else {
        out.extend_from_slice(b":: ");
        put_base64(value, out);
    }
    if wrap > 1 && out.len() - start > wrap {
        fold(start, wrap, out);
    }
    out.push(b'\n');
}

/// RFC 2849 SAFE-STRING; also no blank at the end, which readers are wont to lose.
fn is_safe(value: &[u8]) -> bool {
    let (Some(first), Some(last)) = (value.first(), value.last()) else { return true };
    let plain = value
        .iter()
        .fold(true, |plain, byte| plain & (*byte < 0x80) & (*byte != b'\n') & (*byte != b'\r') & (*byte != 0));
    plain && !matches!(first, b' ' | b':' | b'<') && *last != b' '
}

fn put_base64(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for triple in bytes.chunks(3) {
        let mut three = [0; 3];
        for (to, from) in three.iter_mut().zip(triple) {
            *to = *from;
        }
        let [a, b, c] = three;
        let sixes = [a >> 2, (a & 3) << 4 | b >> 4, (b & 15) << 2 | c >> 6, c & 63];
        for (at, six) in sixes.iter().enumerate() {
            out.push(if at <= triple.len() { DIGITS[usize::from(*six)] } else { b'=' });
        }
    }
}

/// Breaks the line that begins at `start` and ends the buffer.
fn fold(start: usize, wrap: usize, out: &mut Vec<u8>) {
    let line = out.split_off(start);
    let (head, tail) = line.split_at(wrap.min(line.len()));
    out.extend_from_slice(head);
    // A continuation line begins with a blank, which counts.
    for piece in tail.chunks(wrap - 1) {
        out.extend_from_slice(b"\n ");
        out.extend_from_slice(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::super::ldif_record::LdifRecord;
    use super::*;
    use proptest::prelude::*;

    fn line(value: &[u8], wrap: usize) -> String {
        let mut out = Vec::new();
        put_line("cn", value, wrap, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn plain_base64_empty_and_folded() {
        assert_eq!(line(b"a b", 0), "cn: a b\n");
        assert_eq!(line(b"", 0), "cn:\n");
        for (value, encoded) in [
            (&b" a"[..], "IGE="),
            (b"a ", "YSA="),
            (b":", "Og=="),
            (b"<", "PA=="),
            (b"\xc3\xa4b", "w6Ri"),
            (b"a\nb", "YQpi"),
        ] {
            assert_eq!(line(value, 0), format!("cn:: {encoded}\n"));
        }
        assert_eq!(line(b"0123456789abcdef", 10), "cn: 012345\n 6789abcde\n f\n");
        assert_eq!(line(b"012345", 10), "cn: 012345\n");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(value in prop::collection::vec(any::<u8>(), 0..200), wrap in 0usize..40) {
            let text = format!("dn: cn=a\n{}", line(&value, wrap));
            prop_assert!(wrap < 2 || text.lines().skip(1).all(|line| line.len() <= wrap));
            let mut record = LdifRecord::default();
            record.parse(text.as_bytes(), 1).unwrap();
            let (_, place) = record.lines().next().unwrap();
            prop_assert_eq!(record.value(&place), &value[..]);
        }
    }
}
