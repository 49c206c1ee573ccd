//! A line of our access log, in words: when, what kind, which fields.
//!
//! Reads both formats. Knows no operation.

use jiff::fmt::strtime;

/// How times are written unless the configuration says otherwise.
const TIME_FORMAT: &str = "%d/%b/%Y:%H:%M:%S %z";

/// Which part of an operation a line tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// `REQ`
    Request,
    /// `RES`
    Response,
    /// Both, in the combined format; connections have no parts.
    Whole,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine<'l> {
    /// Seconds since 1970; none when the time is written in another way.
    pub unix_seconds: Option<i64>,
    /// `SEARCH`, `CONNECT`, …
    pub kind: &'l str,
    pub part: Part,
    fields: Vec<(&'l str, &'l str)>,
}

impl<'l> LogLine<'l> {
    /// The words of a line; none if it is no line of an access log.
    pub fn parse(line: &'l str) -> Option<LogLine<'l>> {
        let (time, rest) = line.strip_prefix('[')?.split_once("] ")?;
        let (kind, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        if kind.is_empty() || !kind.bytes().all(|byte| byte.is_ascii_uppercase()) {
            return None;
        }
        let (part, rest) = match rest.split_once(' ').unwrap_or((rest, "")) {
            ("REQ", rest) => (Part::Request, rest),
            ("RES", rest) => (Part::Response, rest),
            _ => (Part::Whole, rest),
        };
        Some(LogLine { unix_seconds: seconds(time), kind, part, fields: fields(rest) })
    }

    /// The value of a field.
    pub fn get(&self, name: &str) -> Option<&'l str> {
        self.fields.iter().find(|(own, _)| *own == name).map(|(_, value)| *value)
    }

    /// The number in a field.
    pub fn number<N: std::str::FromStr>(&self, name: &str) -> Option<N> {
        self.get(name)?.parse().ok()
    }
}

fn seconds(time: &str) -> Option<i64> {
    Some(strtime::parse(TIME_FORMAT, time).ok()?.to_timestamp().ok()?.as_second())
}

/// `name=word` and `name="value"`; a value has no quotation mark inside, and words without `=` are left out.
fn fields(mut rest: &str) -> Vec<(&str, &str)> {
    let mut fields = Vec::new();
    loop {
        rest = rest.trim_start_matches(' ');
        if rest.is_empty() {
            return fields;
        }
        let end = rest.find([' ', '=']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let Some(value) = after.strip_prefix('=') else {
            rest = after;
            continue;
        };
        let (value, after) = match value.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => value.split_once(' ').unwrap_or((value, "")),
        };
        fields.push((name, value));
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_both_formats() {
        let line = "[21/Nov/2026:15:24:23 +0000] SEARCH REQ conn=1 op=2 msgID=3 base=\"dc=example,dc=com\" scope=sub \
                    filter=\"(&(cn=a b)(sn=\\22x))\" attrs=\"cn,sn\"";
        let words = LogLine::parse(line).unwrap();
        assert_eq!((words.kind, words.part, words.unix_seconds), ("SEARCH", Part::Request, Some(1_795_274_663)));
        assert_eq!(words.get("filter"), Some("(&(cn=a b)(sn=\\22x))"));
        assert_eq!(
            (words.number::<u64>("conn"), words.get("attrs"), words.get("etime")),
            (Some(1), Some("cn,sn"), None)
        );
        let line = "[x] BIND conn=5 op=0 type=SIMPLE dn=\"\" result=0 nentries=0 unindexed authDN=\"\" etime=1";
        let words = LogLine::parse(line).unwrap();
        assert_eq!((words.part, words.unix_seconds, words.get("authDN")), (Part::Whole, None, Some("")));
        assert_eq!(words.get("etime"), Some("1"));
        for other in ["", "text", "[x]", "[x] lower case", "[x] é"] {
            assert_eq!(LogLine::parse(other), None, "{other}");
        }
    }

    #[test]
    fn damaged_lines_do_no_harm() {
        for line in ["[x] SEARCH REQ base=\"dc", "[x] SEARCH REQ = =\" \"\"", "[x] SEARCH"] {
            assert!(LogLine::parse(line).is_some());
        }
    }
}
