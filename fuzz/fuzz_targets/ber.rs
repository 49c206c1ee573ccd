//! Frames and elements: nothing panics, everything read lies inside the input, and the reader moves on.
#![no_main]

use ber::{Frame, Reader, Writer, frame};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(Frame::Complete(length)) = frame(bytes, 1 << 20) {
        assert!((2..=bytes.len()).contains(&length));
        // What `frame` cuts is one element, and what is cut shorter is not complete.
        let mut reader = Reader::new(&bytes[..length]);
        reader.sequence().unwrap();
        assert!(reader.is_empty());
        assert_eq!(frame(&bytes[..length - 1], 1 << 20), Ok(Frame::NeedMore));
    }
    let mut open = vec![Reader::new(bytes)];
    while let Some(mut reader) = open.pop() {
        let mut left = reader.rest().len();
        while let Ok((tag, content)) = reader.element() {
            assert!(content.len() + 2 <= left && reader.rest().len() < left);
            left = reader.rest().len();
            let mut again = Vec::new();
            Writer::new(&mut again).octets(tag, content);
            assert_eq!(Reader::new(&again).expect(tag), Ok(content));
            if tag & 0x20 != 0 && open.len() < 64 {
                open.push(Reader::new(content));
            }
        }
        let _ = (reader.integer(), reader.enumerated(), reader.boolean(), reader.octets(), reader.raw_element());
    }
});
