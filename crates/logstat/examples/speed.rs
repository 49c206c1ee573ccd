//! How many lines a second of CPU time reads, of the logs of each server:
//! `cargo run --release -p logstat --example speed`.

use std::fs;
use std::io::Write;

use logstat::analysis::Analysis;
use logstat::clock::Clock;
use logstat::input::lines::Lines;
use logstat::line::LineReader;
use logstat::line::opendj::EtimeUnit;
use logstat::settings::Settings;

/// Operations of a log, each two lines, or one in the combined format and in JSON.
const OPERATIONS: u64 = 500_000;

/// Writes an operation.
type Form = fn(&mut Vec<u8>, Fields) -> std::io::Result<()>;

/// What differs from one operation to the next.
#[derive(Clone, Copy)]
struct Fields {
    at: u64,
    connection: u64,
    operation: u64,
    user: u64,
    us: u64,
}

const FORMS: [(&str, Form); 5] = [
    ("Pando and OpenDJ, multi-line", |out, Fields { at, connection, operation, user, us }| {
        let (minute, second) = (at / 60 % 60, at % 60);
        let ids = format!("conn={connection} op={operation} msgID={}", operation + 1);
        writeln!(
            out,
            "[21/Nov/2026:15:{minute:02}:{second:02} +0000] SEARCH REQ {ids} \
             base=\"ou=People,dc=example,dc=com\" scope=sub filter=\"(&(objectClass=a)(uid=user.{user}))\" attrs=\"cn\""
        )?;
        let ms = us / 1000;
        writeln!(out, "[21/Nov/2026:15:{minute:02}:{second:02} +0000] SEARCH RES {ids} result=0 nentries=1 etime={ms}")
    }),
    ("Pando and OpenDJ, combined", |out, Fields { at, connection, operation, user, us }| {
        let (minute, second, message, ms) = (at / 60 % 60, at % 60, operation + 1, us / 1000);
        writeln!(
            out,
            "[21/Nov/2026:15:{minute:02}:{second:02} +0000] SEARCH conn={connection} op={operation} msgID={message} \
             base=\"ou=People,dc=example,dc=com\" scope=sub filter=\"(&(objectClass=person)(uid=user.{user}))\" \
             attrs=\"cn,sn,mail\" result=0 nentries=1 etime={ms}"
        )
    }),
    ("389 DS", |out, Fields { at, connection, operation, user, us }| {
        let (minute, second) = (at / 60 % 60, at % 60);
        let head = format!("[21/Nov/2026:15:{minute:02}:{second:02}.123456789 +0000] conn={connection} op={operation}");
        writeln!(
            out,
            "{head} SRCH base=\"dc=example,dc=com\" scope=2 filter=\"(&(objectClass=person)(uid=user.{user}))\" \
             attrs=\"cn sn mail\""
        )?;
        let etime = format!("0.{us:06}000");
        writeln!(out, "{head} RESULT err=0 tag=101 nentries=1 wtime=0.000062003 optime={etime} etime={etime}")
    }),
    ("slapd", |out, Fields { at, connection, operation, user, us }| {
        let (minute, second) = (at / 60 % 60, at % 60);
        let head = format!("Nov 21 15:{minute:02}:{second:02} ldap1 slapd[771]: conn={connection} op={operation}");
        writeln!(
            out,
            "{head} SRCH base=\"dc=example,dc=com\" scope=2 deref=0 filter=\"(&(objectClass=person)(uid=user.{user}))\""
        )?;
        writeln!(out, "{head} SEARCH RESULT tag=101 err=0 qtime=0.000013 etime=0.{us:06} nentries=1 text=")
    }),
    ("OpenDJ, JSON", |out, Fields { at, connection, operation, user, us }| {
        let (minute, second, message, ms) = (at / 60 % 60, at % 60, operation + 1, us / 1000);
        writeln!(
            out,
            "{{\"eventName\":\"DJ-LDAP\",\"client\":{{\"ip\":\"192.0.2.9\",\"port\":51234}},\"request\":{{\"protocol\":\
             \"LDAP\",\"operation\":\"SEARCH\",\"connId\":{connection},\"msgId\":{message},\"dn\":\
             \"dc=example,dc=com\",\"scope\":\"sub\",\"filter\":\"(uid=user.{user})\"}},\"response\":{{\"status\":\
             \"SUCCESSFUL\",\"statusCode\":\"0\",\"elapsedTime\":{ms},\"elapsedTimeUnits\":\
             \"MILLISECONDS\",\"nentries\":1}},\"timestamp\":\"2026-11-21T15:{minute:02}:{second:02}.123Z\"}}"
        )
    }),
];

/// What this thread has computed, as Linux counts it: others that use the machine do not matter.
fn cpu_seconds() -> std::io::Result<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    let ns: f64 = text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(f64::NAN);
    Ok(ns / 1e9)
}

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout();
    for (name, form) in FORMS {
        let mut log = Vec::new();
        for number in 0..OPERATIONS {
            let connection = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
            let us = 100 + number.wrapping_mul(0xbf58_476d_1ce4_e5b9) % 3000;
            let user = number.wrapping_mul(0x94d0_49bb_1331_11eb) % 100_000;
            form(&mut log, Fields { at: number / 10_000, connection, operation: number / 1024, user, us })?;
        }
        let mut analysis = Analysis::new(Settings::default(), LineReader::new(EtimeUnit::default(), Clock::default()));
        let begun = cpu_seconds()?;
        let (mut lines, mut source) = (Lines::default(), &log[..]);
        while lines.read(&mut source, &mut |line, _| analysis.line(line))? {}
        analysis.finish();
        let seconds = cpu_seconds()? - begun;
        let summary = analysis.summary();
        assert_eq!(summary.lines.bad, 0);
        let rate = summary.lines.all as f64 / seconds / 1e6;
        let bytes = log.len() as f64 / seconds / 1e6;
        writeln!(out, "{name:<30} {rate:5.2} million lines/s, {bytes:5.0} MB/s")?;
    }
    Ok(())
}
