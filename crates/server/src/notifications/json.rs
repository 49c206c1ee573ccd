//! An event as programs get it.

use accounts::AccountEvent;
use serde_json::{Map, Value, json};

/// `{"type":…,"dn":…,"time":…,"message":…,"properties":{…}}`; the time is in milliseconds since 1970.
pub(super) fn json(event: &AccountEvent) -> Value {
    let properties = event.properties.iter().map(|(name, value)| ((*name).to_owned(), Value::from(value.as_str())));
    json!({
        "type": event.kind.name(),
        "dn": event.dn,
        "time": event.at.0,
        "message": event.message,
        "properties": properties.collect::<Map<_, _>>(),
    })
}
