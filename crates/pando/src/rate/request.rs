//! Requests that are encoded once and sent many times, with other values each time. Nothing is allocated to send one.

use ber::{Reader, SEQUENCE, Tag, Writer};

use super::template::value_of_mark;

/// What distinguishes constructed elements (X.690 §8.1.2.5).
const CONSTRUCTED: Tag = 0x20;

/// A request with places for values.
#[derive(Debug)]
pub struct RequestTemplate(Vec<Element>);

#[derive(Debug)]
enum Element {
    /// Elements that are always the same.
    Fixed(Vec<u8>),
    /// A text with values in it.
    Text(Tag, Vec<Piece>),
    /// Elements, of which some have values in them.
    Constructed(Tag, Vec<Element>),
}

#[derive(Debug)]
enum Piece {
    Bytes(Vec<u8>),
    Value(usize),
}

impl RequestTemplate {
    /// From a message that `write` encodes, with marks where values stand ([`super::template::Template::marked`]).
    pub fn new(write: impl FnOnce(i32, &mut Vec<u8>)) -> RequestTemplate {
        let mut message = Vec::new();
        write(1, &mut message);
        let body = || -> Result<Vec<Element>, ber::Error> {
            let mut body = Reader::new(&message).sequence()?;
            body.integer()?;
            elements(body)
        };
        // The message was encoded just now.
        RequestTemplate(body().unwrap_or_else(|error| unreachable!("a request that was encoded: {error}")))
    }

    /// Appends the request with these values.
    pub fn put(&self, id: i32, values: &[String], out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        let mark = writer.begin(SEQUENCE);
        writer.integer(ber::INTEGER, i64::from(id));
        self.0.iter().for_each(|element| put_element(element, values, &mut writer));
        writer.end(mark);
    }
}

fn elements(mut reader: Reader<'_>) -> Result<Vec<Element>, ber::Error> {
    let mut all = Vec::new();
    while !reader.is_empty() {
        let mut inside = reader;
        let (tag, whole) = reader.raw_element()?;
        match has_mark(whole) {
            false => match all.last_mut() {
                Some(Element::Fixed(bytes)) => bytes.extend_from_slice(whole),
                _ => all.push(Element::Fixed(whole.to_vec())),
            },
            true if tag & CONSTRUCTED != 0 => all.push(Element::Constructed(tag, elements(inside.enter(tag)?)?)),
            true => all.push(Element::Text(tag, pieces(inside.element()?.1))),
        }
    }
    Ok(all)
}

fn has_mark(bytes: &[u8]) -> bool {
    bytes.utf8_chunks().any(|chunk| chunk.valid().chars().any(|one| value_of_mark(one).is_some()))
}

fn pieces(bytes: &[u8]) -> Vec<Piece> {
    let (mut pieces, mut rest) = (Vec::new(), Vec::new());
    for chunk in bytes.utf8_chunks() {
        for one in chunk.valid().chars() {
            match value_of_mark(one) {
                Some(value) => pieces.extend([Piece::Bytes(std::mem::take(&mut rest)), Piece::Value(value)]),
                None => rest.extend_from_slice(one.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        rest.extend_from_slice(chunk.invalid());
    }
    pieces.push(Piece::Bytes(rest));
    pieces
}

fn put_element(element: &Element, values: &[String], writer: &mut Writer<'_>) {
    match element {
        Element::Fixed(bytes) => writer.raw(bytes),
        Element::Constructed(tag, inside) => {
            let mark = writer.begin(*tag);
            inside.iter().for_each(|element| put_element(element, values, writer));
            writer.end(mark);
        }
        Element::Text(tag, pieces) => {
            let mark = writer.begin(*tag);
            for piece in pieces {
                match piece {
                    Piece::Bytes(bytes) => writer.raw(bytes),
                    Piece::Value(at) => writer.raw(values.get(*at).map_or(&[], |value| value.as_bytes())),
                }
            }
            writer.end(mark);
        }
    }
}
