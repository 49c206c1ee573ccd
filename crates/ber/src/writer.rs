//! Writes BER elements into a buffer that the caller keeps and reuses. Lengths are always minimal.

use crate::Tag;

/// Where an element was begun; given back to [`Writer::end`].
#[derive(Debug)]
#[must_use = "an element that is begun must be ended"]
pub struct Mark(usize);

/// Appends elements to a buffer.
#[derive(Debug)]
pub struct Writer<'b> {
    out: &'b mut Vec<u8>,
}

impl<'b> Writer<'b> {
    /// Appends to `out`.
    #[inline]
    pub fn new(out: &'b mut Vec<u8>) -> Self {
        Self { out }
    }

    /// Begins a constructed element whose length is not known yet.
    #[inline]
    pub fn begin(&mut self, tag: Tag) -> Mark {
        self.out.extend_from_slice(&[tag, 0]);
        Mark(self.out.len())
    }

    /// Ends the element: its length is filled in, the content moved when the length needs more than one byte.
    #[inline]
    pub fn end(&mut self, mark: Mark) {
        let length = self.out.len() - mark.0;
        let extra = length_size(length) - 1;
        if extra > 0 {
            let end = self.out.len();
            self.out.resize(end + extra, 0);
            self.out.copy_within(mark.0..end, mark.0 + extra);
        }
        write_length(&mut self.out[mark.0 - 1..mark.0 + extra], length);
    }

    /// A primitive element with `content`.
    #[inline]
    pub fn octets(&mut self, tag: Tag, content: &[u8]) {
        put_header(self.out, tag, content.len());
        self.out.extend_from_slice(content);
    }

    /// An INTEGER or ENUMERATED, in as few bytes as it takes.
    #[inline]
    pub fn integer(&mut self, tag: Tag, value: i64) {
        let bytes = value.to_be_bytes();
        let redundant =
            bytes.windows(2).take_while(|w| (w[0] == 0 && w[1] < 0x80) || (w[0] == 0xff && w[1] >= 0x80)).count();
        self.octets(tag, &bytes[redundant..]);
    }

    /// A BOOLEAN; true is 0xff (RFC 4511 §5.1).
    #[inline]
    pub fn boolean(&mut self, tag: Tag, value: bool) {
        self.octets(tag, &[if value { 0xff } else { 0 }]);
    }

    /// A NULL.
    #[inline]
    pub fn null(&mut self, tag: Tag) {
        self.octets(tag, &[]);
    }

    /// Elements that are encoded already.
    #[inline]
    pub fn raw(&mut self, elements: &[u8]) {
        self.out.extend_from_slice(elements);
    }

    /// The buffer, for what this writer has no method for.
    #[inline]
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        self.out
    }
}

/// Bytes that the length octets of `length` take.
#[inline]
pub const fn length_size(length: usize) -> usize {
    match length {
        0..=0x7f => 1,
        0x80..=0xff => 2,
        0x100..=0xffff => 3,
        0x1_0000..=0xff_ffff => 4,
        _ => 5,
    }
}

/// Bytes that an element with `content` bytes of content takes, tag and length included.
#[inline]
pub const fn element_size(content: usize) -> usize {
    1 + length_size(content) + content
}

/// Tag and length of an element whose length is known beforehand; the caller appends the content.
#[inline]
pub fn put_header(out: &mut Vec<u8>, tag: Tag, length: usize) {
    if length < 0x80 {
        out.extend_from_slice(&[tag, length as u8]);
        return;
    }
    let size = length_size(length);
    let mut header = [tag, 0, 0, 0, 0, 0];
    write_length(&mut header[1..=size], length);
    out.extend_from_slice(&header[..=size]);
}

/// Fills `octets`, which are exactly as many as `length` needs. Lengths are below 4 GiB: no message is ever larger.
#[inline]
fn write_length(octets: &mut [u8], length: usize) {
    if let [only] = octets {
        *only = length as u8;
        return;
    }
    let count = octets.len() - 1;
    octets[0] = 0x80 | count as u8;
    octets[1..].copy_from_slice(&(length as u32).to_be_bytes()[4 - count..]);
}
