//! Excerpts of each server's log, and lines of nobody's.

use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::opendj::{EtimeUnit, OpenDjLine, Part};
use super::{Line, LineReader};
use crate::clock::{Clock, written};
use crate::record::{Event, Kind, Outcome, Record, Request};

fn reader() -> LineReader {
    let clock = Clock::new(TimeZone::UTC, "2026-11-23T10:00:00Z".parse().unwrap());
    LineReader::new(EtimeUnit::Milliseconds, clock)
}

fn record<'l>(line: &'l str) -> Record<'l> {
    match reader().read(line.as_bytes()) {
        Line::Record(record) => record,
        other => panic!("{line}: {other:?}"),
    }
}

fn request<'l>(line: &'l str) -> Request<'l> {
    match record(line).event {
        Event::Request(request) => request,
        other => panic!("{line}: {other:?}"),
    }
}

fn outcome<'l>(line: &'l str) -> Outcome<'l> {
    match record(line).event {
        Event::Result(outcome) | Event::Whole(_, outcome) => outcome,
        other => panic!("{line}: {other:?}"),
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

// S3-09: the lines of document 003.
#[test]
fn lines_of_dsee() {
    let line = "[01/Apr/2008:15:41:05 +0200] conn=273450 op=0 msgId=4116 - RESULT err=0 tag=48 nentries=0 \
                etime=34.587640 csn=47f23c12000000290000";
    let found = record(line);
    assert_eq!((found.ids.connection, found.ids.operation, found.ids.message), (273_450, Some(0), 4116));
    assert_eq!(written(found.time.unwrap()), "01/Apr/2008:15:41:05");
    let found = outcome(line);
    assert_eq!((found.kind, found.code, found.entries), (Some(Kind::Unknown), 0, Some(0)));
    assert_eq!((found.etime.unwrap().ns, text(&found.csn)), (34_587_640_000, "47f23c12000000290000"));
    let found = request("[01/Apr/2008:15:40:30 +0200] conn=273450 op=0 msgId=4116 - MOD dn=\"cn=group1,o=customer\"");
    assert_eq!((found.kind, text(&found.dn)), (Kind::Modify, "cn=group1,o=customer"));
    // Cut by the authors.
    assert_eq!(request("[01/Apr/2008:15:41:06 +0200] conn=285358 op=0 msgId=179 - MOD dn=\"").kind, Kind::Modify);
    let found = "[26/Mar/2008:17:22:06 +0100] conn=38974 op=7 msgId=9 - DEL";
    assert_eq!(request(found).kind, Kind::Delete);
    for (line, code) in [("op=4116 msgId=-1 - closing - U1", "U1"), ("op=-1 msgId=-1 - closed.", "")] {
        let line = format!("[01/Apr/2008:15:40:45 +0200] conn=273450 {line}");
        assert_eq!(record(&line).event, Event::Closed { code: code.as_bytes().into() });
    }
    let found = outcome(
        "[26/Mar/2008:17:29:44 +0100] conn=1 op=2 msgId=3 - RESULT err=0 tag=101 nentries=2 \
                         etime=621.012380 notes=U,F",
    );
    assert_eq!((found.notes.letters().collect::<String>(), found.is_unindexed), ("FU".to_owned(), true));
    // F is a flag.
    let found = outcome(
        "[26/Mar/2008:17:29:44 +0100] conn=1 op=2 msgId=3 - RESULT err=0 tag=101 nentries=2 \
                         etime=512 notes=F",
    );
    assert_eq!((found.is_unindexed, found.etime.unwrap().digits), (false, 0));
}

#[test]
fn lines_of_389() {
    let at = "[21/Nov/2026:01:15:35.793808833 +0000]";
    let connected = format!("{at} conn=2 fd=64 slot=64 SSL connection from 2001:db8::1 to 2001:db8::2");
    assert_eq!(
        record(&connected).event,
        Event::Connect { client: b"2001:db8::1".as_slice().into(), protocol: b"LDAPS".as_slice().into() }
    );
    let line = format!(
        "{at} conn=3 op=1 RESULT err=0 tag=101 nentries=2 wtime=0.000062003 optime=0.008673764 etime=0.008733484 \
         notes=U details=\"Partially Unindexed Filter\""
    );
    let found = outcome(&line);
    assert_eq!((found.phases.queue, found.phases.work), (Some(62_003), Some(8_673_764)));
    assert_eq!((found.etime.unwrap().ns, found.is_unindexed, found.kind), (8_733_484, true, Some(Kind::Search)));
    let line = format!("{at} conn=1 op=14 fd=64 Disconnect - Cleanly Closed Connection - U1");
    assert_eq!(record(&line).event, Event::Closed { code: b"U1".as_slice().into() });
    for line in ["conn=Internal(0) op=0(1)(2) MOD dn=\"cn=g,o=x\"", "conn=5 (Internal) op=2(1)(2) MOD dn=\"cn=g,o=x\""]
    {
        let line = format!("{at} {line}");
        assert!(request(&line).is_internal);
        assert_eq!(record(&line).ids.message, 12);
    }
    let mut reader = reader();
    assert_eq!(reader.read(b"\t389-Directory/2.3.1 B2023.000.0000"), Line::Blank);
    assert_eq!(reader.read(b"389-Directory/2.3.1 B2023.000.0000"), Line::Blank);
}

#[test]
fn lines_of_slapd() {
    let at = "Nov 23 09:35:51 ldap1 slapd[771]:";
    let line = format!("{at} conn=1000 fd=12 ACCEPT from IP=127.0.0.1:54266 (IP=0.0.0.0:389)");
    assert_eq!(
        record(&line).event,
        Event::Connect { client: b"127.0.0.1".as_slice().into(), protocol: b"LDAP".as_slice().into() }
    );
    assert_eq!(written(record(&line).time.unwrap()), "23/Nov/2026:09:35:51");
    let line = format!("{at} conn=1000 op=1 SRCH base=\"dc=example,dc=com\" scope=2 deref=0 filter=\"(uid=a b)\"");
    let found = request(&line);
    assert_eq!((found.kind, text(&found.filter), text(&found.dn)), (Kind::Search, "(uid=a b)", "dc=example,dc=com"));
    let line =
        format!("{at} conn=1000 op=1 SEARCH RESULT tag=101 err=0 qtime=0.000013 etime=0.000246 nentries=1 text=x");
    let found = outcome(&line);
    assert_eq!((found.kind, found.entries, found.phases.queue), (Some(Kind::Search), Some(1), Some(13_000)));
    assert_eq!((found.etime.unwrap().ns, found.phases.work), (246_000, Some(233_000)));
    for line in [
        "conn=1000 op=1 SRCH attr=cn sn",
        "conn=1000 op=0 BIND dn=\"cn=admin,dc=example,dc=com\" mech=SIMPLE bind_ssf=0 ssf=0",
        "conn=1000 op=0 BIND anonymous mech=implicit bind_ssf=0 ssf=0",
        "slapd starting",
    ] {
        assert_eq!(record(&format!("{at} {line}")).event, Event::Other, "{line}");
    }
    let line = format!("{at} conn=1000 fd=12 closed (connection lost)");
    assert_eq!(record(&line).event, Event::Closed { code: b"connection lost".as_slice().into() });
    let line = format!("{at} <= mdb_equality_candidates: (employeeType) not indexed");
    let event = Event::NotIndexed { attribute: b"employeeType".as_slice().into(), index: "equality" };
    assert_eq!(record(&line).event, event);
    for prefix in [
        "6922d707.00000000 0x7f3c2a conn=1 op=0 UNBIND",
        "2025-11-23T09:42:31+00:00 ldap1 slapd[771]: conn=1 op=0 UNBIND",
        "<134>1 2025-11-23T09:42:31Z ldap1 slapd 771 - - conn=1 op=0 UNBIND",
    ] {
        let found = record(prefix);
        assert_eq!(written(found.time.unwrap()), "23/Nov/2025:09:42:31", "{prefix}");
        assert!(matches!(found.event, Event::Request(Request { kind: Kind::Unbind, .. })));
    }
}

#[test]
fn text_lines_of_opendj() {
    // S0-44
    let line = "[12/Sep/2016:14:25:31 +0200] SEARCH conn=10 op=1 msgID=2 base=\"dc=example,dc=com\" scope=sub \
                filter=\"(objectclass=*)\" attrs=\"+,*\" result=0 nentries=10003 unindexed etime=6542";
    let Event::Whole(asked, answered) = record(line).event else { panic!() };
    assert_eq!((text(&asked.dn), text(&asked.filter)), ("dc=example,dc=com", "(objectclass=*)"));
    assert_eq!((answered.etime.unwrap().ns, answered.is_unindexed), (6_542_000_000, true));
    let line = "[21/Nov/2026:15:24:23 +0000] MODIFY RES conn=12 op=7 msgID=8 result=0 queue=300 apply=1 sync=90 \
                etime=412";
    let found = outcome(line).phases;
    assert_eq!((found.queue, found.work, found.sync), (Some(300_000_000), Some(1_000_000), Some(90_000_000)));
    let line = "[21/Nov/2026:15:24:23 +0000] CONNECT conn=4 from=[2001:db8::1]:49708 to=[::1]:1389 protocol=LDAP";
    assert_eq!(
        record(line).event,
        Event::Connect { client: b"2001:db8::1".as_slice().into(), protocol: b"LDAP".as_slice().into() }
    );
    let line = "[21/Nov/2026:15:24:23 +0000] CONNECT conn=5 from=uid:1000,pid:77 to=inst/ldapi protocol=LDAPI";
    assert!(matches!(record(line).event, Event::Connect { client, .. } if client.as_ref() == b"uid:1000"));
    let line = "[21/Nov/2026:15:24:23 +0000] DISCONNECT conn=4 reason=\"Client Unbind\"";
    assert_eq!(record(line).event, Event::Closed { code: b"Client Unbind".as_slice().into() });
    let line = "[21/Nov/2026:15:24:23 +0000] MODIFY type=internal conn=7 op=2 msgID=-1 plugin=\"Referential \
         Integrity\" \
                dn=\"uid=a,o=x\" entries=7 references=7 result=0 etime=3";
    assert!(matches!(record(line).event, Event::Whole(Request { is_internal: true, .. }, _)));
    assert_eq!(record("[x] DROPPED lines=12 reason=\"the disk did not keep up\"").event, Event::Dropped(12));
}

#[test]
fn words_of_a_line() {
    let line = "[21/Nov/2026:15:24:23 +0000] SEARCH REQ conn=1 op=2 msgID=3 base=\"dc=example,dc=com\" scope=sub \
                filter=\"(&(cn=a b)(sn=\\22x))\" attrs=\"cn,sn\"";
    let words = OpenDjLine::parse(line.as_bytes()).unwrap();
    let clock = &mut Clock::new(TimeZone::UTC, "2026-11-23T10:00:00Z".parse().unwrap());
    assert_eq!(
        (words.kind, words.part, words.unix_seconds(clock)),
        (&b"SEARCH"[..], Part::Request, Some(1_795_274_663))
    );
    assert_eq!(words.get("filter"), Some("(&(cn=a b)(sn=\\22x))"));
    assert_eq!((words.number::<u64>("conn"), words.get("attrs"), words.get("etime")), (Some(1), Some("cn,sn"), None));
    let line = b"[x] BIND conn=5 op=0 type=SIMPLE dn=\"\" result=0 nentries=0 unindexed authDN=\"\" etime=1";
    let words = OpenDjLine::parse(line).unwrap();
    assert_eq!((words.part, words.unix_seconds(clock), words.get("authDN")), (Part::Whole, None, Some("")));
    for other in ["", "text", "[x]", "[x] lower case", "[x] é"] {
        assert!(OpenDjLine::parse(other.as_bytes()).is_none(), "{other}");
    }
}

const JSON: &str = r#"{"eventName":"DJ-LDAP","client":{"ip":"192.0.2.9","port":51234},"server":{"ip":"192.0.2.1",
"port":1389},"request":{"protocol":"LDAP","operation":"SEARCH","connId":7,"msgId":2,"dn":"dc=example,dc=com",
"scope":"sub","filter":"(cn=\"a\")","attrs":["ALL"]},"transactionId":"0","response":{"status":"SUCCESSFUL",
"statusCode":"0","elapsedTime":9,"elapsedTimeUnits":"MILLISECONDS","nentries":1,"additionalItems":
{"unindexed":null}},"userId":"uid=a,o=x","timestamp":"2018-03-01T10:00:00.123Z","_id":"x-1"}"#;

#[test]
fn json_and_csv_lines_of_opendj() {
    let line = JSON.replace('\n', "");
    let Event::Whole(asked, answered) = record(&line).event else { panic!() };
    assert_eq!((asked.kind, text(&asked.filter), text(&asked.dn)), (Kind::Search, "(cn=\"a\")", "dc=example,dc=com"));
    assert_eq!((answered.etime.unwrap().ns, answered.is_unindexed), (9_000_000, true));
    assert_eq!((record(&line).ids.connection, record(&line).ids.message), (7, 2));
    let mut reader = reader();
    let head = "\"_id\",\"timestamp\",\"client/ip\",\"request/operation\",\"request/connId\",\"request/msgId\",\
                \"request/filter\",\"request/oid\",\"request/attr\",\"response/statusCode\",\"response/elapsedTime\"";
    assert_eq!(reader.read(head.as_bytes()), Line::Blank);
    let row = "\"x\",\"2018-03-01T10:00:00.123Z\",\"192.0.2.9\",\
               \"SEARCH\",\"7\",\"2\",\"(cn=\"\"a\"\")\",,\"cn\",\"32\",\"9\"";
    let Line::Record(found) = reader.read(row.as_bytes()) else { panic!() };
    let Event::Whole(asked, answered) = found.event else { panic!() };
    assert_eq!((text(&asked.filter), text(&asked.detail), answered.code), ("(cn=\"a\")", "cn", 32));
    assert_eq!(answered.etime.unwrap().ns, 9_000_000);
    assert_eq!(reader.read(b"not,a,record"), Line::Bad);
    assert_eq!(reader.read(b"\"cut"), Line::Bad);
}

#[test]
fn what_is_no_line_is_bad() {
    for line in
        ["text", "root:x:0:0:root:/root:/bin/bash", "{}", "{\"a\":1}", "[x] lower", "[", "conn=", "PK\u{3}\u{4}"]
    {
        assert_eq!(reader().read(line.as_bytes()), Line::Bad, "{line}");
    }
    assert_eq!(reader().read(b""), Line::Blank);
}

proptest! {
    /// Nothing that a file may hold stops the reader.
    #[test]
    fn garbage_never_panics(lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20)) {
        let mut reader = reader();
        for line in &lines {
            reader.read(line);
        }
    }

    /// Nor do lines that are damaged: cut, with bytes exchanged, with pieces of other formats.
    #[test]
    fn damaged_lines_never_panic(which in 0..6_usize, cut in 0..300_usize, at in 0..300_usize, byte: u8) {
        let json = JSON.replace('\n', "");
        let lines = [
            "[01/Apr/2008:15:41:05 +0200] conn=273450 op=0 msgId=4116 - RESULT err=0 tag=48 nentries=0 etime=34.587640 \
             notes=U,F csn=47f23c12000000290000",
            "[21/Nov/2026:01:15:35.793808833 +0000] conn=5 (Internal) op=2(1)(1) SRCH base=\"o=x\" scope=2 \
             filter=\"(a=b)\"",
            "Nov 23 09:35:51 ldap1 slapd[771]: conn=1000 op=1 SEARCH RESULT tag=101 err=0 qtime=0.000013 \
             etime=0.000246",
            "6922d707.00000000 0x7f3c2a conn=1 fd=12 ACCEPT from IP=127.0.0.1:54266 (IP=0.0.0.0:389)",
            "[12/Sep/2016:14:25:31 +0200] SEARCH conn=10 op=1 msgID=2 base=\"dc=example\" scope=sub result=0 \
             etime=6542",
            &json,
        ];
        let mut line = lines[which].as_bytes().to_vec();
        line.truncate(cut);
        if let Some(place) = line.get_mut(at) {
            *place = byte;
        }
        reader().read(&line);
    }
}
