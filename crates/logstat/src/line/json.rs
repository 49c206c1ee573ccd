//! OpenDJ's JSON access log: one object a line, request and answer together.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::audit::{Fields, record_of};
use crate::clock::Clock;
use crate::record::Record;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'l> {
    #[serde(borrow, default)]
    timestamp: Word<'l>,
    #[serde(borrow, default)]
    client: Client<'l>,
    #[serde(borrow)]
    request: Asked<'l>,
    #[serde(borrow, default)]
    response: Answer<'l>,
    #[serde(borrow, default)]
    user_id: Word<'l>,
}

#[derive(Deserialize, Default)]
struct Client<'l> {
    #[serde(borrow, default)]
    ip: Word<'l>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked<'l> {
    #[serde(borrow, default)]
    protocol: Word<'l>,
    #[serde(borrow)]
    operation: Word<'l>,
    #[serde(borrow, default)]
    conn_id: Word<'l>,
    #[serde(borrow, default)]
    op_id: Word<'l>,
    #[serde(borrow, default)]
    msg_id: Word<'l>,
    #[serde(borrow, default)]
    dn: Word<'l>,
    #[serde(borrow, default)]
    scope: Word<'l>,
    #[serde(borrow, default)]
    filter: Word<'l>,
    #[serde(borrow, default)]
    oid: Word<'l>,
    #[serde(borrow, default)]
    attr: Word<'l>,
    #[serde(borrow, default)]
    op_type: Word<'l>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Answer<'l> {
    #[serde(borrow, default)]
    status_code: Word<'l>,
    #[serde(borrow, default)]
    elapsed_time: Word<'l>,
    #[serde(borrow, default)]
    elapsed_time_units: Word<'l>,
    #[serde(borrow, default)]
    nentries: Word<'l>,
    #[serde(borrow, default)]
    additional_items: Word<'l>,
    #[serde(borrow, default)]
    reason: Word<'l>,
    #[serde(borrow, default)]
    csn: Word<'l>,
}

/// A text, or a number as its digits; of an object the names, which is all that is asked of additional items.
#[derive(Default, Clone)]
struct Word<'l>(Option<Cow<'l, str>>);

impl<'de: 'l, 'l> Deserialize<'de> for Word<'l> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(WordVisitor)
    }
}

struct WordVisitor;

impl<'de> Visitor<'de> for WordVisitor {
    type Value = Word<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Word<'de>, E> {
        Ok(Word(Some(Cow::Borrowed(text))))
    }

    fn visit_str<E>(self, text: &str) -> Result<Word<'de>, E> {
        Ok(Word(Some(Cow::Owned(text.to_owned()))))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Word<'de>, E> {
        Ok(Word(Some(Cow::Owned(number.to_string()))))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Word<'de>, E> {
        Ok(Word(Some(Cow::Owned(number.to_string()))))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Word<'de>, E> {
        Ok(Word(Some(Cow::Owned(number.to_string()))))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Word<'de>, E> {
        Ok(Word(Some(Cow::Borrowed(if value { "true" } else { "false" }))))
    }

    fn visit_unit<E>(self) -> Result<Word<'de>, E> {
        Ok(Word(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Word<'de>, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Word(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<Word<'de>, A::Error> {
        let mut names = String::new();
        while let Some((name, _)) = items.next_entry::<Cow<'de, str>, IgnoredAny>()? {
            names.push_str(&name);
            names.push(' ');
        }
        Ok(Word(Some(Cow::Owned(names))))
    }
}

/// What a line says; none if it is no such object.
pub(super) fn record<'l>(line: &'l [u8], clock: &mut Clock) -> Option<Record<'l>> {
    let line: Line<'l> = serde_json::from_slice(line).ok()?;
    let Line { timestamp, client, request, response, user_id } = line;
    record_of(
        Fields {
            timestamp: timestamp.0,
            client: client.ip.0,
            protocol: request.protocol.0,
            operation: request.operation.0,
            connection: request.conn_id.0,
            number: request.op_id.0,
            message: request.msg_id.0,
            dn: request.dn.0,
            scope: request.scope.0,
            filter: request.filter.0,
            detail: request.oid.0.or(request.attr.0),
            operation_type: request.op_type.0,
            code: response.status_code.0,
            elapsed: response.elapsed_time.0,
            units: response.elapsed_time_units.0,
            entries: response.nentries.0,
            items: response.additional_items.0,
            reason: response.reason.0,
            csn: response.csn.0,
            user: user_id.0,
        },
        clock,
    )
}
