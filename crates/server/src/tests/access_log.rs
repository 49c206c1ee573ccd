//! What a connection leaves in the access log, line by line.

use super::*;

fn multi_line_form() -> Form {
    Form::Text { combined: false, time_format: TimeFormat::default() }
}

fn without_etime(line: &str) -> String {
    let (head, etime) = line.rsplit_once(" etime=").unwrap_or((line, "0"));
    assert!(etime.bytes().all(|byte| byte.is_ascii_digit()));
    head.to_owned()
}

fn talk(server: &TestServer) -> Vec<String> {
    let mut client = server.client();
    let from = client.stream.local_addr().unwrap();
    client.bind(1, "cn=a", "secret");
    client.bind(2, "cn=a", "wrong");
    client.search(3, "bytes:10");
    client.send(&delete(4, "cn=x,\ndc=x"));
    client.expect();
    client.send(&extended(5, "1.3.6.1.4.1.26027.1.6.2", None));
    client.expect();
    client.send(&[abandon(6, 77), unbind(7)].concat());
    assert_eq!(client.next(), None);
    let lines = server.access_lines();
    let connect = format!("CONNECT conn=1 from={from} to={} protocol=LDAP", server.address());
    assert_eq!(lines[0], connect);
    lines[1..].iter().map(|line| without_etime(line)).collect()
}

#[test]
fn combined() {
    // S0-44
    let server = TestServer::start();
    assert_eq!(
        talk(&server),
        [
            "BIND conn=1 op=0 msgID=1 version=3 type=SIMPLE dn=\"cn=a\" result=0 authDN=\"cn=a\"",
            "BIND conn=1 op=1 msgID=2 version=3 type=SIMPLE dn=\"cn=a\" result=49 \
             authFailureReason=\"wrong password\" authDN=\"cn=a\"",
            "SEARCH conn=1 op=2 msgID=3 base=\"bytes:10\" scope=sub filter=\"(objectClass=*)\" attrs=\"ALL\" result=0 \
             nentries=1 unindexed",
            "DELETE conn=1 op=3 msgID=4 dn=\"cn=x,\\0adc=x\" result=0",
            "EXTENDED conn=1 op=4 msgID=5 name=\"Get Connection ID\" oid=\"1.3.6.1.4.1.26027.1.6.2\" result=0",
            "ABANDON conn=1 op=5 msgID=6 idToAbandon=77 result=119",
            "UNBIND REQ conn=1 op=6 msgID=7",
            "DISCONNECT conn=1 reason=\"Client Unbind\"",
        ]
    );
}

#[test]
fn multi_line() {
    let server = TestServer::with(|settings, _| settings.logs.access[0].shape.form = multi_line_form());
    assert_eq!(
        talk(&server),
        [
            "BIND REQ conn=1 op=0 msgID=1 version=3 type=SIMPLE dn=\"cn=a\"",
            "BIND RES conn=1 op=0 msgID=1 result=0 authDN=\"cn=a\"",
            "BIND REQ conn=1 op=1 msgID=2 version=3 type=SIMPLE dn=\"cn=a\"",
            "BIND RES conn=1 op=1 msgID=2 result=49 authFailureReason=\"wrong password\" authDN=\"cn=a\"",
            "SEARCH REQ conn=1 op=2 msgID=3 base=\"bytes:10\" scope=sub filter=\"(objectClass=*)\" attrs=\"ALL\"",
            "SEARCH RES conn=1 op=2 msgID=3 result=0 nentries=1 unindexed",
            "DELETE REQ conn=1 op=3 msgID=4 dn=\"cn=x,\\0adc=x\"",
            "DELETE RES conn=1 op=3 msgID=4 result=0",
            "EXTENDED REQ conn=1 op=4 msgID=5 name=\"Get Connection ID\" oid=\"1.3.6.1.4.1.26027.1.6.2\"",
            "EXTENDED RES conn=1 op=4 msgID=5 result=0",
            "ABANDON REQ conn=1 op=5 msgID=6 idToAbandon=77",
            "ABANDON RES conn=1 op=5 msgID=6 result=119",
            "UNBIND REQ conn=1 op=6 msgID=7",
            "DISCONNECT conn=1 reason=\"Client Unbind\"",
        ]
    );
}

#[test]
fn operations_that_end_elsewhere_keep_their_fields() {
    let server = TestServer::start();
    let mut client = server.client();
    client.send(&[search(1, "wait"), delete(2, "cn=gate"), search(3, "dc=x")].concat());
    client.expect();
    client.send(&cancel(4, 1));
    assert_eq!((client.expect().id, client.expect().id), (1, 4));
    server.gate.open();
    assert_eq!(client.expect().id, 2);
    let lines: Vec<String> = server.access_lines()[1..].iter().map(|line| without_etime(line)).collect();
    assert_eq!(
        lines,
        [
            "SEARCH conn=1 op=2 msgID=3 base=\"dc=x\" scope=sub filter=\"(objectClass=*)\" attrs=\"ALL\" result=0 \
             nentries=0",
            "SEARCH conn=1 op=0 msgID=1 base=\"wait\" scope=sub filter=\"(objectClass=*)\" attrs=\"ALL\" result=118 \
             nentries=0",
            "EXTENDED conn=1 op=3 msgID=4 name=\"Cancel\" oid=\"1.3.6.1.1.8\" result=0",
            "DELETE conn=1 op=1 msgID=2 dn=\"cn=gate\" result=0",
        ]
    );
}
