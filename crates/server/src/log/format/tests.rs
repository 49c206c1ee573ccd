//! Lines as they must be, to the octet.

use std::time::Duration;

use config::EtimeResolution;
use runtime::end::EndReason;
use runtime::log::clock::TimeFormat;

use super::*;
use crate::log::event::{EndPoint, LoggedRequest, OperationIds, Origin, ResultFields};
use crate::log::fields::Field;
use crate::metrics::OperationKind;

const IDS: OperationIds = OperationIds { connection: 10, operation: 1, message: 2 };
const PAGED: &str = "1.2.840.113556.1.4.319";
const ORIGIN: Origin<'static> = Origin {
    connection: 10,
    from: EndPoint::Process { uid: 1000, pid: 77 },
    to: EndPoint::Internal,
    protocol: "LDAPI",
};

fn formatter(form: Form, etime: EtimeResolution) -> Formatter {
    let ids = Arc::new(RecordIds::new("run".into()));
    Formatter::new(Shape { form, etime, control_oids: true }, &ids)
}

fn text(combined: bool, etime: EtimeResolution) -> Formatter {
    formatter(Form::Text { combined, time_format: TimeFormat::default() }, etime)
}

/// What is written of an event, 2016-09-12 12:25:31.007 UTC; text without its time.
fn written(formatter: &mut Formatter, event: Event<'_>) -> String {
    let mut out = Vec::new();
    formatter.write(&mut out, SystemTime::UNIX_EPOCH + Duration::from_millis(1_473_683_131_007), event);
    let line = String::from_utf8(out).unwrap();
    let line = line.strip_suffix('\n').unwrap();
    match formatter.shape().form {
        // `[dd/MMM/yyyy:HH:mm:ss +zzzz] ` is 29 characters.
        Form::Text { .. } => line[29..].to_owned(),
        Form::Json | Form::Csv(_) => line.to_owned(),
    }
}

fn request(fields: &[(Field, &str)], controls: &str) -> LoggedRequest {
    let mut request = LoggedRequest { controls: controls.into(), ..LoggedRequest::default() };
    fields.iter().for_each(|(field, value)| request.fields.push(*field, value.as_bytes()));
    request
}

fn search(controls: &str) -> LoggedRequest {
    let filter = "(objectclass=*)";
    request(
        &[
            (Field::Base, "dc=example,dc=com"),
            (Field::Scope, "sub"),
            (Field::Filter, filter),
            (Field::Wanted, "+"),
            (Field::Wanted, "*"),
        ],
        controls,
    )
}

fn scan() -> ResultFields<'static> {
    ResultFields {
        entries: Some(10003),
        is_unindexed: true,
        elapsed: Duration::from_micros(6_542_345),
        ..ResultFields::default()
    }
}

#[test]
fn combined_search_line_of_the_seed() {
    // S0-44
    let mut combined = text(true, EtimeResolution::Milliseconds);
    let line = written(&mut combined, Event::Response(OperationKind::Search, IDS, &ORIGIN, &search(""), &scan()));
    assert_eq!(
        line,
        "SEARCH conn=10 op=1 msgID=2 base=\"dc=example,dc=com\" scope=sub filter=\"(objectclass=*)\" attrs=\"+,*\" \
         result=0 nentries=10003 unindexed etime=6542"
    );
    assert!(!combined.has_request_lines(OperationKind::Search, false));
    assert!(combined.has_request_lines(OperationKind::Search, true));
    assert!(combined.has_request_lines(OperationKind::Unbind, false));
}

#[test]
fn multi_line_search_with_controls_and_microseconds() {
    // S3-10, S3-12
    let mut lines = text(false, EtimeResolution::Microseconds);
    let asked = search(&format!("{PAGED},2.16.840.1.113730.3.4.2"));
    let result = ResultFields {
        code: 50,
        message: "You do not have sufficient privileges to perform an unindexed search",
        entries: Some(0),
        response_controls: PAGED,
        ..scan()
    };
    assert_eq!(
        written(&mut lines, Event::Request(OperationKind::Search, IDS, &ORIGIN, &asked)),
        "SEARCH REQ conn=10 op=1 msgID=2 base=\"dc=example,dc=com\" scope=sub filter=\"(objectclass=*)\" \
         attrs=\"+,*\" requestControls=1.2.840.113556.1.4.319,2.16.840.1.113730.3.4.2"
    );
    assert_eq!(
        written(&mut lines, Event::Response(OperationKind::Search, IDS, &ORIGIN, &asked, &result)),
        "SEARCH RES conn=10 op=1 msgID=2 result=50 message=\"You do not have sufficient privileges to perform \
         an unindexed search\" nentries=0 unindexed responseControls=1.2.840.113556.1.4.319 etime=6542345"
    );
}

fn failed_bind() -> ResultFields<'static> {
    ResultFields {
        code: 49,
        auth_failure: Some("The provided password did not match"),
        auth_dn: Some("cn=My App,ou=Apps,dc=example,dc=com"),
        elapsed: Duration::from_nanos(1500),
        ..ResultFields::default()
    }
}

fn bind() -> LoggedRequest {
    let dn = "cn=My App,ou=Apps,dc=example,dc=com";
    request(&[(Field::Version, "3"), (Field::AuthType, "SIMPLE"), (Field::Dn, dn)], "")
}

#[test]
fn connection_lines_and_binds() {
    let mut lines = text(true, EtimeResolution::Nanoseconds);
    let [from, to] = ["127.0.0.1:49708", "127.0.0.1:1389"].map(|at| EndPoint::Address(at.parse().unwrap()));
    let tcp = Origin { connection: 4, from, to, protocol: "LDAP" };
    let local = Origin { to: EndPoint::Path("inst/ldapi".as_ref()), connection: 5, ..ORIGIN };
    let ids = OperationIds { connection: 5, operation: 0, message: 1 };
    let unbind = OperationIds { operation: 1, message: 2, ..ids };
    let nothing = LoggedRequest::default();
    for (event, expected) in [
        (Event::Connect(&tcp), "CONNECT conn=4 from=127.0.0.1:49708 to=127.0.0.1:1389 protocol=LDAP"),
        (Event::Connect(&local), "CONNECT conn=5 from=uid:1000,pid:77 to=inst/ldapi protocol=LDAPI"),
        (
            Event::Response(OperationKind::Bind, ids, &local, &bind(), &failed_bind()),
            "BIND conn=5 op=0 msgID=1 version=3 type=SIMPLE dn=\"cn=My App,ou=Apps,dc=example,dc=com\" result=49 \
             authFailureReason=\"The provided password did not match\" \
             authDN=\"cn=My App,ou=Apps,dc=example,dc=com\" etime=1500",
        ),
        (Event::Request(OperationKind::Unbind, unbind, &local, &nothing), "UNBIND REQ conn=5 op=1 msgID=2"),
        (Event::Disconnect(&local, EndReason::Goodbye, ""), "DISCONNECT conn=5 reason=\"Client Unbind\""),
        (
            Event::Disconnect(&tcp, EndReason::ProtocolError, "bad\nbytes"),
            "DISCONNECT conn=4 reason=\"Protocol Error\" msg=\"bad\\0abytes\"",
        ),
    ] {
        assert_eq!(written(&mut lines, event), expected);
    }
}

/// As OpenDJ 5.0.3 writes them, but for the order of keys, the times, and what `json` says it adds.
#[test]
fn json_records() {
    let mut records = formatter(Form::Json, EtimeResolution::Milliseconds);
    let [from, to] = ["127.0.0.1:60610", "127.0.0.1:52395"].map(|at| EndPoint::Address(at.parse().unwrap()));
    let origin = Origin { connection: 4, from, to, protocol: "LDAP" };
    let ids = OperationIds { connection: 4, operation: 1, message: 2 };
    let ends = r#""client":{"ip":"127.0.0.1","port":60610},"server":{"ip":"127.0.0.1","port":52395}"#;
    let result = ResultFields {
        code: 123,
        message: "No \"proxy\"\nhere",
        user: "cn=Directory Manager",
        response_controls: PAGED,
        ..scan()
    };
    let search = search(PAGED);
    assert_eq!(
        written(&mut records, Event::Response(OperationKind::Search, ids, &origin, &search, &result)),
        format!(
            concat!(
                r#"{{"eventName":"DJ-LDAP",{},"request":{{"protocol":"LDAP","operation":"SEARCH","connId":4,"#,
                r#""msgId":2,"controls":["1.2.840.113556.1.4.319"],"dn":"dc=example,dc=com","scope":"sub","#,
                r#""filter":"(objectclass=*)","attrs":["+","*"]}},"transactionId":"0","#,
                r#""response":{{"status":"FAILED","statusCode":"123","elapsedTime":6542,"#,
                r#""elapsedTimeUnits":"MILLISECONDS","detail":"No \"proxy\"\nhere","#,
                r#""controls":["1.2.840.113556.1.4.319"],"nentries":10003,"additionalItems":" unindexed"}},"#,
                r#""userId":"cn=Directory Manager","timestamp":"2016-09-12T12:25:31.007Z","_id":"run-1"}}"#
            ),
            ends
        )
    );
    assert_eq!(
        written(&mut records, Event::Response(OperationKind::Bind, ids, &origin, &bind(), &failed_bind())),
        format!(
            concat!(
                r#"{{"eventName":"DJ-LDAP",{},"request":{{"protocol":"LDAP","operation":"BIND","connId":4,"#,
                r#""msgId":2,"version":"3","authType":"Simple","dn":"cn=My App,ou=Apps,dc=example,dc=com"}},"#,
                r#""transactionId":"0","response":{{"status":"FAILED","statusCode":"49","elapsedTime":0,"#,
                r#""elapsedTimeUnits":"MILLISECONDS","failureReason":"The provided password did not match"}},"#,
                r#""userId":"cn=My App,ou=Apps,dc=example,dc=com","timestamp":"2016-09-12T12:25:31.007Z","#,
                r#""_id":"run-2"}}"#
            ),
            ends
        )
    );
    assert_eq!(
        written(&mut records, Event::Disconnect(&origin, EndReason::ClientDisconnect, "")),
        format!(
            concat!(
                r#"{{"eventName":"DJ-LDAP",{},"request":{{"protocol":"LDAP","operation":"DISCONNECT","#,
                r#""connId":4}},"transactionId":"0","response":{{"status":"SUCCESSFUL","statusCode":"0","#,
                r#""elapsedTime":0,"elapsedTimeUnits":"MILLISECONDS","reason":"Client Disconnect"}},"#,
                r#""timestamp":"2016-09-12T12:25:31.007Z","_id":"run-3"}}"#
            ),
            ends
        )
    );
}

#[test]
fn csv_rows() {
    let dialect = CsvDialect { quote: b'"', delimiter: b',', line_end: b"\n".to_vec() };
    let head = String::from_utf8(csv::head(&dialect)).unwrap();
    assert!(head.starts_with("\"_id\",\"timestamp\",\"eventName\",\"transactionId\",\"userId\",\"runAs\","), "{head}");
    assert!(head.ends_with("\"response.maskedMessage\",\"response.reason\"\n"), "{head}");
    let mut rows = formatter(Form::Csv(dialect), EtimeResolution::Milliseconds);
    let [from, to] = ["127.0.0.1:60610", "127.0.0.1:52395"].map(|at| EndPoint::Address(at.parse().unwrap()));
    let origin = Origin { connection: 4, from, to, protocol: "LDAP" };
    let ids = OperationIds { connection: 4, operation: 1, message: 2 };
    let result = ResultFields { entries: Some(0), elapsed: Duration::from_millis(6), ..ResultFields::default() };
    assert_eq!(
        written(&mut rows, Event::Response(OperationKind::Search, ids, &origin, &search(PAGED), &result)),
        concat!(
            r#""run-1","2016-09-12T12:25:31.007Z","DJ-LDAP","0",,,"127.0.0.1","52395",,"127.0.0.1","60610","LDAP","#,
            r#""SEARCH","4","2","dc=example,dc=com","sub","(objectclass=*)","[""+"",""*""]",,"#,
            r#""[""1.2.840.113556.1.4.319""]",,,,,,,,,,,"SUCCESSFUL","0",,"6","MILLISECONDS","0",,,,,,"#
        )
    );
    let dialect = CsvDialect { quote: b'\'', delimiter: b';', line_end: b"\r\n".to_vec() };
    let mut rows = formatter(Form::Csv(dialect), EtimeResolution::Milliseconds);
    let renamed = request(&[(Field::Dn, "cn=O'Neill\ndc=x"), (Field::NewRdn, "cn=\"b\"")], "");
    let mut out = Vec::new();
    rows.write(&mut out, SystemTime::UNIX_EPOCH, Event::Request(OperationKind::ModifyDn, ids, &origin, &renamed));
    let row = String::from_utf8(out).unwrap();
    assert!(row.contains("'MODIFYDN';'4';'2';'cn=O''Neill\\0adc=x';"), "{row}");
    assert!(row.contains(";'cn=\"b\"';") && row.ends_with(";\r\n"), "{row}");
}
