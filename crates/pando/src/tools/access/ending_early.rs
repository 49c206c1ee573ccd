//! The limits that end a search early, with where each comes from and the result that the client gets.

use access::limits::{LimitKind, LimitSource, SearchLimit};
use ldap::ResultCode;
use serde_json::{Value, json};

/// Lines for people; none where nothing is limited.
pub fn lines(limits: &[SearchLimit]) -> Vec<String> {
    let line = |limit: &SearchLimit| {
        let result = result(limit.kind).as_i32();
        format!("    {}: result {result} ({})", most(limit), source(limit))
    };
    let heading = "A search that reaches one of these limits ends early, with a part of the entries:".to_owned();
    let heading = (!limits.is_empty()).then_some(heading);
    heading.into_iter().chain(limits.iter().map(line)).collect()
}

/// The same for programs.
pub fn json(limits: &[SearchLimit]) -> Value {
    let object = |limit: &SearchLimit| {
        let (name, result) = (property(limit.kind), result(limit.kind).as_i32());
        json!({ "limit": name, "most": shown(limit), "result": result, "source": source(limit) })
    };
    limits.iter().map(object).collect()
}

/// The number; of times in seconds.
fn shown(limit: &SearchLimit) -> u64 {
    if limit.kind == LimitKind::Time { limit.most.div_ceil(1_000) } else { limit.most }
}

fn most(limit: &SearchLimit) -> String {
    let number = shown(limit);
    let entries = if number == 1 { "entry" } else { "entries" };
    match limit.kind {
        LimitKind::Size => format!("{number} {entries} sent"),
        LimitKind::Time => format!("{number} {}", if number == 1 { "second" } else { "seconds" }),
        LimitKind::Lookthrough => format!("{number} {entries} looked at"),
    }
}

fn source(limit: &SearchLimit) -> String {
    match &limit.source {
        LimitSource::Entry(attribute) => format!("{attribute} of the client's entry"),
        LimitSource::Rule(rule) => format!("{} of [limits.\"{rule}\"]", property(limit.kind)),
        LimitSource::Global => format!("{} of [global]", property(limit.kind)),
    }
}

const fn property(kind: LimitKind) -> &'static str {
    match kind {
        LimitKind::Size => "size-limit",
        LimitKind::Time => "time-limit",
        LimitKind::Lookthrough => "lookthrough-limit",
    }
}

const fn result(kind: LimitKind) -> ResultCode {
    match kind {
        LimitKind::Size => ResultCode::SIZE_LIMIT_EXCEEDED,
        LimitKind::Time => ResultCode::TIME_LIMIT_EXCEEDED,
        LimitKind::Lookthrough => ResultCode::ADMIN_LIMIT_EXCEEDED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_has_its_result_and_its_source() {
        let limit = |kind, most, source| SearchLimit { kind, most, source };
        let limits = [
            limit(LimitKind::Size, 1, LimitSource::Rule("help desk".to_owned())),
            limit(LimitKind::Time, 60_000, LimitSource::Global),
            limit(LimitKind::Lookthrough, 3, LimitSource::Entry("ds-rlim-lookthrough-limit")),
        ];
        assert_eq!(
            lines(&limits)[1..],
            [
                "    1 entry sent: result 4 (size-limit of [limits.\"help desk\"])",
                "    60 seconds: result 3 (time-limit of [global])",
                "    3 entries looked at: result 11 (ds-rlim-lookthrough-limit of the client's entry)",
            ]
        );
        assert_eq!(lines(&[]), [""; 0]);
    }
}
