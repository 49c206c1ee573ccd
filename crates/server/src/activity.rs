//! What a connection is and does, as JSON, for whoever watches the server.
//!
//! Made when somebody asks; nothing is noted for it before.

use std::time::{Duration, Instant};

use query::json::JsonWriter;
use runtime::connection::Peer;

use crate::client::{Client, Outstanding};
use crate::log::format::write_text_fields;

/// So much of a request is shown.
const REQUEST_BYTES: usize = 200;

/// `{"connection":12,"from":"127.0.0.1:4711","dn":"uid=…","tls":false,"idle-ms":3,"operations":[…]}`
pub(crate) fn describe(client: &Client, now: Instant) -> String {
    JsonWriter::object_text(|json| {
        json.key("connection").number(client.id());
        match client.peer() {
            Peer::Tcp { remote, local } => {
                json.key("from").text(&remote.to_string());
                json.key("to").text(&local.to_string());
            }
            Peer::Local(process) => json.key("from").text(&format!("process {} of user {}", process.pid, process.uid)),
        }
        json.key("dn").text(client.state.session.identity.dn());
        json.key("tls").truth(client.is_tls());
        json.key("idle-ms").number(millis(now.saturating_duration_since(client.last_request())));
        json.key("operations").list(|json| {
            for operation in &client.state.outstanding {
                json.object(|json| put_operation(json, operation, now));
            }
        });
    })
}

fn put_operation(json: &mut JsonWriter, operation: &Outstanding, now: Instant) {
    json.key("operation").number(operation.ids.operation);
    json.key("kind").text(operation.kind.log_name());
    let time = now.saturating_duration_since(operation.begun);
    json.key("time-us").number(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    // An update that the writer has cannot be stopped; everything else that is not answered at once is in a pool.
    json.key("waits-for").text(if operation.is_abortable { "pool" } else { "writer" });
    let mut written = Vec::new();
    write_text_fields(&mut written, &operation.request.fields);
    let request = written.trim_ascii();
    json.key("request").text(&String::from_utf8_lossy(request.get(..REQUEST_BYTES).unwrap_or(request)));
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
