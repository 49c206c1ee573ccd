//! Round trips, limits and hostile bytes.

use proptest::prelude::*;

use super::*;

fn written(f: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    f(&mut Writer::new(&mut out));
    out
}

#[test]
fn integers_take_as_few_bytes_as_they_can() {
    for (value, bytes) in [
        (0i64, &[2u8, 1, 0][..]),
        (127, &[2, 1, 127]),
        (128, &[2, 2, 0, 128]),
        (-1, &[2, 1, 255]),
        (-128, &[2, 1, 128]),
        (-129, &[2, 2, 255, 127]),
        (i64::MAX, &[2, 8, 127, 255, 255, 255, 255, 255, 255, 255]),
        (i64::MIN, &[2, 8, 128, 0, 0, 0, 0, 0, 0, 0]),
    ] {
        assert_eq!(written(|w| w.integer(INTEGER, value)), bytes);
        assert_eq!(Reader::new(bytes).integer(), Ok(value));
    }
}

#[test]
fn integers_of_no_or_nine_bytes_are_refused() {
    assert_eq!(Reader::new(&[2, 0]).integer(), Err(Error::BadValue { offset: 0 }));
    assert_eq!(Reader::new(&[2, 9, 0, 0, 0, 0, 0, 0, 0, 0, 1]).integer(), Err(Error::BadValue { offset: 0 }));
    assert_eq!(Reader::new(&[1, 2, 0, 0]).boolean(), Err(Error::BadValue { offset: 0 }));
}

#[test]
fn headers_that_ldap_does_not_use_are_refused() {
    let bad = Err(Error::BadHeader { offset: 0 });
    assert_eq!(Reader::new(&[0x30, 0x80, 0, 0]).element(), bad, "indefinite length");
    assert_eq!(Reader::new(&[0x30, 0x85, 0, 0, 0, 0, 0]).element(), bad, "five length octets");
    assert_eq!(Reader::new(&[0x30, 0xff]).element(), bad, "reserved");
    assert_eq!(Reader::new(&[0x1f, 0x81, 0]).element(), bad, "tag of several bytes");
    assert_eq!(Reader::new(&[0x30]).element(), Err(Error::Truncated { offset: 0 }));
    assert_eq!(Reader::new(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]).element(), Err(Error::Truncated { offset: 0 }));
}

#[test]
fn offsets_count_from_the_outermost_slice() {
    let bytes = [0x30, 5, 2, 1, 7, 4, 9];
    let mut outer = Reader::new(&bytes);
    let mut inner = outer.sequence().unwrap();
    assert_eq!(inner.integer(), Ok(7));
    assert_eq!(inner.octets(), Err(Error::Truncated { offset: 5 }));
    assert_eq!(inner.boolean(), Err(Error::UnexpectedTag { offset: 5, expected: BOOLEAN, found: OCTET_STRING }));
    assert_eq!(inner.finish(), Err(Error::TrailingBytes { offset: 5, remaining: 2 }));
}

#[test]
fn what_later_versions_append_is_passed_over() {
    assert_eq!(Reader::new(&[]).finish_extensible(&[]), Ok(()));
    assert_eq!(Reader::new(&[0x85, 1, 7, 0xa6, 0]).finish_extensible(&[0x80]), Ok(()));
    let left = |offset, remaining| Err(Error::TrailingBytes { offset, remaining });
    assert_eq!(Reader::new(&[0x85, 0, 0x80, 0]).finish_extensible(&[0x80]), left(2, 2), "a second copy");
    assert_eq!(Reader::new(&[4, 0]).finish_extensible(&[]), left(0, 2), "extensions have context tags");
    assert_eq!(Reader::new(&[0x85, 1]).finish_extensible(&[]), Err(Error::Truncated { offset: 0 }));
}

#[test]
fn frames_are_judged_by_their_first_bytes() {
    assert_eq!(frame(&[], 100), Ok(Frame::NeedMore));
    assert_eq!(frame(&[0x30], 100), Ok(Frame::NeedMore));
    assert_eq!(frame(&[0x30, 3, 0], 100), Ok(Frame::NeedMore));
    assert_eq!(frame(&[0x30, 3, 0, 0, 0, 9], 100), Ok(Frame::Complete(5)));
    assert_eq!(frame(&[0x30, 0x82, 1], 1000), Ok(Frame::NeedMore));
    assert_eq!(frame(&[0x30, 98], 100), Ok(Frame::NeedMore), "exactly the limit");
    assert_eq!(frame(&[0x30, 99], 100), Err(FrameError::TooLarge { announced: 101, limit: 100 }));
    assert_eq!(
        frame(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff], 100),
        Err(FrameError::TooLarge { announced: 0x1_0000_0005, limit: 100 })
    );
    for bytes in [&b"GET / HTTP/1.1"[..], &[0x16, 3, 1], &[0x30, 0x80], &[0x30, 0x85, 0], &[0]] {
        assert_eq!(frame(bytes, 100), Err(FrameError::Malformed));
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(content in proptest::collection::vec(any::<u8>(), 0..70_000), number: i64, flag: bool) {
        let bytes = written(|w| {
            let outer = w.begin(SEQUENCE);
            w.integer(INTEGER, number);
            w.octets(OCTET_STRING, &content);
            w.boolean(BOOLEAN, flag);
            w.end(outer);
        });
        prop_assert_eq!(frame(&bytes, usize::MAX), Ok(Frame::Complete(bytes.len())));
        let mut r = Reader::new(&bytes).sequence().unwrap();
        prop_assert_eq!(r.integer().unwrap(), number);
        prop_assert_eq!(r.octets().unwrap(), &content[..]);
        prop_assert_eq!(r.boolean().unwrap(), flag);
        prop_assert!(r.finish().is_ok());
        // A header known beforehand is the same header.
        let mut direct = Vec::new();
        put_header(&mut direct, OCTET_STRING, content.len());
        direct.extend_from_slice(&content);
        prop_assert_eq!(direct.len(), element_size(content.len()));
        prop_assert_eq!(direct, written(|w| w.octets(OCTET_STRING, &content)));
    }

    #[test]
    fn no_bytes_panic_and_progress_is_made(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = frame(&bytes, 50);
        let mut r = Reader::new(&bytes);
        let mut left = bytes.len();
        while let Ok((_, content)) = r.element() {
            prop_assert!(content.len() + 2 <= left && r.rest().len() < left);
            left = r.rest().len();
            let mut inner = Reader::new(content);
            let _ = (inner.integer(), inner.boolean(), inner.octets(), inner.sequence().is_ok());
        }
    }
}
