//! The picture: lines of text from two samples, and the same as JSON.

use serde_json::{Value, json};

use super::sample::{Interval, Latencies, Sample, Times, number, text};
use crate::terminal::bytes_text;

/// Kinds of operations, as `cn=monitor` names them.
const KINDS: [&str; 9] = ["search", "bind", "modify", "add", "delete", "modifyDN", "compare", "extended", "abandon"];
/// Slow operations that are shown, the last ones.
const SLOW_SHOWN: usize = 5;
/// What follows a figure that is not there.
const NOTHING: &str = "-";

/// What the lower part shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Operations under way, and slow ones.
    Operations,
    /// Connections.
    Connections,
}

/// The order of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Those that wait longest for an answer, then those that asked last.
    Activity,
    /// By user.
    User,
    /// By number.
    Number,
}

impl Order {
    /// The one after it.
    pub fn next(self) -> Order {
        match self {
            Order::Activity => Order::User,
            Order::User => Order::Number,
            Order::Number => Order::Activity,
        }
    }

    /// For the line above.
    pub fn name(self) -> &'static str {
        match self {
            Order::Activity => "activity",
            Order::User => "user",
            Order::Number => "number",
        }
    }
}

/// An operation that is not answered yet, with its connection.
struct Waiting<'c> {
    connection: &'c Value,
    operation: &'c Value,
}

/// The lines of the picture. What comes from clients has no control characters.
pub fn lines(before: &Sample, now: &Sample, view: View, order: Order) -> Vec<String> {
    let interval = Interval::new(before, now);
    let mut lines = head(&interval, now);
    lines.extend(operations(&interval));
    lines.push(String::new());
    lines.push(pools(&interval, now));
    lines.push(String::new());
    lines.extend(backends(&interval, now));
    lines.push(String::new());
    let connections = now.objects("Client Connections", "connection");
    lines.extend(match view {
        View::Operations => waiting_lines(&connections, now),
        View::Connections => connection_lines(connections, now, order),
    });
    for line in &mut lines {
        *line = line.trim_end().chars().map(|char| if char.is_control() { '?' } else { char }).collect();
    }
    lines
}

fn head(interval: &Interval<'_>, now: &Sample) -> Vec<String> {
    let free = now.number("Process", "diskBytesFree");
    let free = if free > 0 { bytes_text(free) } else { NOTHING.to_owned() };
    let bytes = |name, attribute| bytes_text(interval.rate(name, attribute) as u64);
    vec![
        format!("{}, up {}", now.text("Version", "fullVersion"), now.text("monitor", "upTime")),
        format!(
            "Connections: {} now, {} at most, {:.1}/s new   Traffic: {}/s in, {}/s out",
            now.number("monitor", "currentConnections"),
            now.number("monitor", "maxConnections"),
            interval.rate("LDAP Statistics", "connectionsEstablished"),
            bytes("LDAP Statistics", "bytesRead"),
            bytes("LDAP Statistics", "bytesWritten"),
        ),
        format!(
            "Memory: {}   Disk: {free} free, {}/s read, {}/s written",
            bytes_text(now.number("Process", "residentMemoryBytes")),
            bytes("Process", "diskBytesRead"),
            bytes("Process", "diskBytesWritten"),
        ),
        String::new(),
    ]
}

/// Each kind that there was since the start.
fn operations(interval: &Interval<'_>) -> Vec<String> {
    let mut lines = vec![format!(
        "{:<10} {:>10} {:>12} {:>9} {:>9} {:>9} {:>9}",
        "Operation", "each s", "all", "mean ms", "p50 ms", "p99 ms", "p99.9 ms"
    )];
    for (kind, Times { rate, total, times }) in kinds(interval) {
        let ms = |pick: fn(&Latencies) -> f64| times.as_ref().map_or(NOTHING.to_owned(), |times| short(pick(times)));
        let (mean, p50) = (ms(|times| times.mean), ms(|times| times.p50));
        let (p99, p999) = (ms(|times| times.p99), ms(|times| times.p999));
        lines.push(format!("{kind:<10} {rate:>10.1} {total:>12} {mean:>9} {p50:>9} {p99:>9} {p999:>9}"));
    }
    lines
}

fn kinds<'i>(interval: &'i Interval<'_>) -> impl Iterator<Item = (&'static str, Times)> + 'i {
    KINDS.iter().map(|kind| (*kind, interval.operations(kind))).filter(|(_, times)| times.total > 0)
}

fn pools(interval: &Interval<'_>, now: &Sample) -> String {
    let queue = |attribute| now.number("Work Queue", attribute);
    format!(
        "Pools: {} searches wait, {} between turns; {} passwords wait, {}/s checked   Refused as busy: {:.1}/s   \
         Stalls: {}",
        queue("searchBacklog"),
        queue("searchesBetweenTurns"),
        queue("passwordBacklog"),
        queue("passwordsHashedPerSecond"),
        interval.rate("Work Queue", "requestsRejectedDueToQueueFull"),
        now.number("Stalls", "stalls"),
    )
}

fn backends(interval: &Interval<'_>, now: &Sample) -> Vec<String> {
    let mut lines = vec![format!(
        "{:<14} {:>9} {:<8} {:>6} {:>8} {:>8} {:>10} {:>6} {:>8} {:>11} {:>11}",
        "Backend",
        "changes/s",
        "writer",
        "queue",
        "sync ms",
        "a batch",
        "overlay",
        "folds",
        "fold ms",
        "log",
        "database"
    )];
    for (id, entry) in now.backends() {
        let name = format!("{id} Backend");
        let sync = interval.mean_between(&name, "commit-time-mean-us", "batches");
        let batches = interval.grown(&name, "batches");
        let batch = (batches > 0).then(|| interval.grown(&name, "proposals") as f64 / batches as f64);
        let of = |figure: Option<f64>| figure.map_or(NOTHING.to_owned(), short);
        lines.push(format!(
            "{:<14} {:>9.1} {:<8} {:>6} {:>8} {:>8} {:>10} {:>6} {:>8} {:>11} {:>11}",
            id,
            interval.rate(&name, "proposals-accepted"),
            text(entry, "writer-state"),
            number(entry, "writer-queue-length"),
            of(sync.map(|us| us / 1000.0)),
            of(batch),
            number(entry, "overlay-changes"),
            number(entry, "folds"),
            short(number(entry, "fold-time-last-us") as f64 / 1000.0),
            bytes_text(number(entry, "log-bytes")),
            bytes_text(number(entry, "database-bytes")),
        ));
        for trouble in ["log-trouble", "fold-trouble", "order-trouble", "updates-stopped"] {
            if !text(entry, trouble).is_empty() {
                lines.push(format!("  {trouble}: {}", text(entry, trouble)));
            }
        }
    }
    lines
}

fn waiting_lines(connections: &[Value], now: &Sample) -> Vec<String> {
    let mut waiting: Vec<Waiting<'_>> = Vec::new();
    for connection in connections {
        let operations = connection["operations"].as_array().into_iter().flatten();
        waiting.extend(operations.map(|operation| Waiting { connection, operation }));
    }
    waiting.sort_by_key(|one| std::cmp::Reverse(one.operation["time-us"].as_u64()));
    let mut lines = vec![format!("Operations under way: {}", waiting.len())];
    for Waiting { connection, operation } in waiting {
        lines.push(format!(
            "{:>10} ms  conn={} op={} {} in the {}, of {}: {}",
            short_us(&operation["time-us"]),
            connection["connection"],
            operation["operation"],
            word(&operation["kind"]),
            word(&operation["waits-for"]),
            user(connection),
            word(&operation["request"]),
        ));
    }
    let slow = now.objects("Stalls", "slow-operation");
    lines.push(format!("Slow operations, the last {}:", slow.len().min(SLOW_SHOWN)));
    for operation in slow.iter().rev().take(SLOW_SHOWN) {
        lines.push(format!(
            "{:>10} ms  conn={} op={} {}, {}: {}",
            short_us(&operation["time-us"]),
            operation["connection"],
            operation["operation"],
            word(&operation["kind"]),
            word(&operation["why"]),
            word(&operation["waits"]),
        ));
    }
    lines
}

fn connection_lines(mut connections: Vec<Value>, now: &Sample, order: Order) -> Vec<String> {
    let left_out = now.number("Client Connections", "connections-left-out");
    let longest = |one: &Value| {
        let operations = one["operations"].as_array().into_iter().flatten();
        operations.filter_map(|operation| operation["time-us"].as_u64()).max()
    };
    connections.sort_by_key(|one| one["connection"].as_u64());
    match order {
        Order::Activity => {
            connections.sort_by_key(|one| (std::cmp::Reverse(longest(one)), one["idle-ms"].as_u64()));
        }
        Order::User => connections.sort_by_key(|one| user(one).to_owned()),
        Order::Number => {}
    }
    let more = if left_out > 0 { format!(", and {left_out} that are not shown") } else { String::new() };
    let mut lines = vec![format!("Connections by {}: {}{more}", order.name(), connections.len())];
    for one in connections {
        let operations = one["operations"].as_array().map(Vec::as_slice).unwrap_or_default();
        let does = match operations {
            [] => format!("idle for {:.1} s", one["idle-ms"].as_u64().unwrap_or(0) as f64 / 1000.0),
            [first, ..] => format!("{} for {} ms", word(&first["kind"]), short_us(&first["time-us"])),
        };
        let tls = if one["tls"] == true { ", TLS" } else { "" };
        let more = if operations.len() > 1 { format!(" and {} more", operations.len() - 1) } else { String::new() };
        lines.push(format!("conn={} {}{tls}, {}: {does}{more}", one["connection"], word(&one["from"]), user(&one)));
    }
    lines
}

fn user(connection: &Value) -> &str {
    let dn = word(&connection["dn"]);
    if dn.is_empty() { "nobody" } else { dn }
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn short_us(value: &Value) -> String {
    short(value.as_u64().unwrap_or(0) as f64 / 1000.0)
}

/// Three digits that say something.
fn short(figure: f64) -> String {
    match figure {
        _ if figure >= 99.95 => format!("{figure:.0}"),
        _ if figure >= 9.995 => format!("{figure:.1}"),
        _ => format!("{figure:.2}"),
    }
}

/// One object for the interval.
pub fn json(before: &Sample, now: &Sample) -> Value {
    let interval = Interval::new(before, now);
    let rate = |name, attribute| interval.rate(name, attribute);
    let operations: serde_json::Map<String, Value> = kinds(&interval)
        .map(|(kind, Times { rate, total, times })| {
            let times =
                times.map(|times| json!({"mean": times.mean, "p50": times.p50, "p99": times.p99, "p99.9": times.p999}));
            (kind.to_owned(), json!({"perSecond": rate, "count": total, "milliseconds": times}))
        })
        .collect();
    let backends: serde_json::Map<String, Value> = now
        .backends()
        .map(|(id, entry)| {
            let name = format!("{id} Backend");
            let sync = interval.mean_between(&name, "commit-time-mean-us", "batches");
            let backend = json!({
                "changesPerSecond": interval.rate(&name, "proposals-accepted"),
                "writerState": text(entry, "writer-state"),
                "writerQueue": number(entry, "writer-queue-length"),
                "syncMilliseconds": sync.map(|us| us / 1000.0),
                "overlayChanges": number(entry, "overlay-changes"),
                "folds": number(entry, "folds"),
                "foldMilliseconds": number(entry, "fold-time-last-us") as f64 / 1000.0,
                "logBytes": number(entry, "log-bytes"),
                "databaseBytes": number(entry, "database-bytes"),
            });
            (id.to_owned(), backend)
        })
        .collect();
    json!({
        "time": now.text("monitor", "currentTime"),
        "seconds": interval.seconds(),
        "connections": {
            "now": now.number("monitor", "currentConnections"),
            "most": now.number("monitor", "maxConnections"),
            "newPerSecond": rate("LDAP Statistics", "connectionsEstablished"),
            "shown": now.objects("Client Connections", "connection"),
            "leftOut": now.number("Client Connections", "connections-left-out"),
        },
        "bytesPerSecond": {
            "in": rate("LDAP Statistics", "bytesRead"),
            "out": rate("LDAP Statistics", "bytesWritten"),
            "diskRead": rate("Process", "diskBytesRead"),
            "diskWritten": rate("Process", "diskBytesWritten"),
        },
        "memoryBytes": now.number("Process", "residentMemoryBytes"),
        "diskFreeBytes": now.number("Process", "diskBytesFree"),
        "operations": operations,
        "slowOperations": now.objects("Stalls", "slow-operation"),
        "pools": {
            "searchesWaiting": now.number("Work Queue", "searchBacklog"),
            "searchesBetweenTurns": now.number("Work Queue", "searchesBetweenTurns"),
            "passwordsWaiting": now.number("Work Queue", "passwordBacklog"),
        },
        "busyPerSecond": rate("Work Queue", "requestsRejectedDueToQueueFull"),
        "stalls": now.number("Stalls", "stalls"),
        "backends": backends,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits() {
        assert_eq!(
            [0.0, 0.123, 9.99, 9.996, 99.94, 99.96, 12345.6].map(short),
            ["0.00", "0.12", "9.99", "10.0", "99.9", "100", "12346"]
        );
    }

    #[test]
    fn busy_connections_come_first_and_names_cannot_paint() {
        let connections: Vec<Value> = [
            r#"{"connection":1,"from":"a:1","dn":"","tls":false,"idle-ms":20,"operations":[]}"#,
            r#"{"connection":2,"from":"b:1","dn":"uid=b\u001b[2J","tls":true,"idle-ms":10,"operations":[]}"#,
            r#"{"connection":3,"from":"c:1","dn":"uid=a","tls":false,"idle-ms":90,"operations":[
                {"operation":7,"kind":"SEARCH","time-us":1500,"waits-for":"pool","request":"base=\"\""},
                {"operation":8,"kind":"SEARCH","time-us":1200,"waits-for":"pool","request":""}]}"#,
        ]
        .map(|text| serde_json::from_str(text).unwrap())
        .into();
        let empty = Sample::of(Vec::new());
        let shown = connection_lines(connections.clone(), &empty, Order::Activity);
        assert_eq!(shown[1], "conn=3 c:1, uid=a: SEARCH for 1.50 ms and 1 more");
        assert_eq!(shown[3], "conn=1 a:1, nobody: idle for 0.0 s");
        let first = |order| connection_lines(connections.clone(), &empty, order)[1].clone();
        assert!(first(Order::User).contains("nobody") && first(Order::Number).starts_with("conn=1 "));
        let waiting = waiting_lines(&connections, &empty);
        assert_eq!(waiting[1], "      1.50 ms  conn=3 op=7 SEARCH in the pool, of uid=a: base=\"\"");
        let text = format!(r#"{}"#, connections[1]);
        let now = Sample::of(vec![crate::client::Found::of("Client Connections", &[("connection", &text)])]);
        let all = lines(&empty, &now, View::Connections, Order::Number).join("\n");
        assert!(all.contains("uid=b?[2J") && !all.contains('\x1b'), "{all}");
    }
}
