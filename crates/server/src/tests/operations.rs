//! Operations that overlap: binds, abandon, cancel, panics, lost jobs, streams.

use super::*;

#[test]
fn bind_changes_who_asks() {
    let server = TestServer::start();
    let mut client = server.client();
    let who = |client: &mut Client<TcpStream>| {
        client.send(&extended(9, "1.2.3.who", None));
        client.expect().rest[0].clone()
    };
    assert_eq!(who(&mut client), b"");
    assert_eq!(client.bind(1, "cn=a", "secret").code, 0);
    assert_eq!(who(&mut client), b"cn=a");
    assert_eq!(client.bind(2, "cn=b", "wrong").code, 49);
    assert_eq!(who(&mut client), b"", "a failed bind leaves nobody (RFC 4511 4.2.1)");
    assert_eq!(server.sum(|metrics| metrics.binds_failed.get()), 1);
}

#[test]
fn guessing_passwords_becomes_slow_and_nothing_else_does() {
    let server = TestServer::with(|settings, _| settings.limits.bind_failure_delay = PATIENCE * 10);
    let mut client = server.client();
    for id in 1..=5 {
        assert_eq!(client.bind(id, "cn=a", "wrong").code, 49);
    }
    assert_eq!(client.bind(6, "cn=a", "secret").code, 0, "a right one ends the count");
    for id in 11..=15 {
        assert_eq!(client.bind(id, "cn=a", "wrong").code, 49);
    }
    client.send(&[bind(16, "cn=a", "wrong"), search(17, "dc=x")].concat());
    eventually(|| server.sum(|metrics| metrics.binds_failed.get()) == 11);
    client.stream.set_nonblocking(true).unwrap();
    assert_eq!(client.stream.read(&mut [0]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    assert_eq!(server.client().bind(1, "cn=a", "secret").code, 0);
    // And the answer does come.
    let server = TestServer::with(|settings, _| settings.limits.bind_failure_delay = Duration::from_millis(1));
    let mut client = server.client();
    for id in 1..=10 {
        assert_eq!(client.bind(id, "cn=a", "wrong").code, 49);
    }
    assert_eq!(client.search(11, "dc=x").code, 0);
}

#[test]
fn nothing_runs_beside_a_bind() {
    let server = TestServer::start();
    let mut client = server.client();
    client.send(&[bind(1, "cn=slow", "secret"), extended(2, "1.2.3.who", None), search(3, "dc=x")].concat());
    // Another connection is served meanwhile.
    assert_eq!(server.client().search(1, "dc=x").code, 0);
    server.gate.open();
    let answers: Vec<Response> = (0..3).map(|_| client.expect()).collect();
    assert_eq!(answers.iter().map(|answer| answer.id).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(answers[1].rest[0], b"cn=slow");
}

#[test]
fn a_bind_stops_searches_and_waits_for_updates() {
    let server = TestServer::start();
    let mut client = server.client();
    client.send(&[search(1, "wait"), delete(2, "cn=gate"), bind(3, "cn=a", "secret"), search(4, "dc=x")].concat());
    let stopped = client.expect();
    assert_eq!((stopped.id, stopped.code), (1, 118));
    server.gate.open();
    assert_eq!([client.expect().id, client.expect().id, client.expect().id], [2, 3, 4]);
}

#[test]
fn abandon_and_cancel() {
    let server = TestServer::start();
    let mut client = server.client();
    // Abandoned: no answer at all.
    client.send(&[search(1, "wait"), abandon(2, 1), search(3, "dc=x")].concat());
    assert_eq!(client.expect().id, 3);
    eventually(|| server.sum(|metrics| metrics.abandoned.get()) == 1);
    // Cancelled: both are answered, the operation first.
    client.send(&[search(4, "wait"), cancel(5, 4)].concat());
    let (cancelled, canceller) = (client.expect(), client.expect());
    assert_eq!((cancelled.id, cancelled.code), (4, 118));
    assert_eq!((canceller.id, canceller.code, canceller.tag), (5, 0, encode::tags::EXTENDED));
    // Nothing to cancel, an update that is being written, a value that is none.
    client.send(&cancel(6, 99));
    assert_eq!(client.expect().code, 119);
    client.send(&[delete(7, "cn=gate"), cancel(8, 7), extended(9, "1.3.6.1.1.8", Some(b"x"))].concat());
    assert_eq!((client.expect().code, client.expect().code), (120, 2));
    server.gate.open();
    assert_eq!(client.expect().id, 7);
}

#[test]
fn abandoned_operations_are_answered_when_configured() {
    let server = TestServer::with(|settings, _| settings.limits.notify_abandoned = true);
    let mut client = server.client();
    client.send(&[search(1, "wait"), abandon(2, 1)].concat());
    let answer = client.expect();
    assert_eq!((answer.id, answer.code), (1, 118));
}

#[test]
fn a_panic_costs_one_answer() {
    let server = TestServer::start();
    let mut client = server.client();
    client.send(&[search(1, "dc=x"), search(2, "panic"), search(3, "dc=x")].concat());
    let codes: Vec<i64> = (0..3).map(|_| client.expect().code).collect();
    assert_eq!(codes, [0, 80, 0]);
    assert_eq!(client.search(4, "lose").code, 80, "a job that gets lost is answered too");
    assert_eq!(server.sum(|metrics| metrics.network.panics.get()), 1);
    server.server().flush_logs();
    let errors = lines_of(server.dir.path().join("errors"));
    assert!(errors.iter().any(|line| line.contains("conn=1 op=1 msgID=2: ") && line.contains("expected in this test")));
}

#[test]
fn a_panic_of_a_loop_does_not_end_it() {
    let server = TestServer::with(|settings, _| settings.loops = 1);
    let mut other = server.client();
    assert_eq!(other.search(1, "dc=x").code, 0);
    let mut client = server.client();
    client.send(&search(1, "break"));
    assert_eq!(client.next(), None, "its connection pays for it");
    assert_eq!(server.sum(|metrics| metrics.network.panics.get()), 1);
    assert_eq!(other.search(2, "dc=x").code, 0);
    assert_eq!(server.client().search(1, "dc=x").code, 0);
}

#[test]
fn message_ids_in_use_are_refused() {
    let server = TestServer::start();
    let mut client = server.client();
    client.send(&[search(1, "wait"), search(1, "dc=x")].concat());
    assert_eq!(client.expect().code, 2);
    server.gate.open();
    assert_eq!(client.expect().code, 0);
}

#[test]
fn streams_arrive_whole_and_stop_for_a_client_that_does_not_read() {
    let server = TestServer::start();
    let mut slow = server.client();
    slow.send(&search(1, "stream:500"));
    // 30 MB: far more than the sockets and the server hold for one connection. Others are not disturbed.
    let mut other = server.client();
    assert_eq!(other.search(1, "stream:20").code, 0);
    assert_eq!(other.search(2, "dc=x").code, 0);
    let mut entries = 0;
    loop {
        let response = slow.expect();
        if response.tag != encode::tags::SEARCH_ENTRY {
            break;
        }
        entries += 1;
    }
    assert_eq!(entries, 500);
}

#[test]
fn many_slow_readers_do_not_use_up_the_pool() {
    let server = TestServer::start();
    // The pool runs two jobs at once.
    let mut slow: Vec<_> = (0..4).map(|_| server.client()).collect();
    for client in &mut slow {
        client.send(&search(1, "stream:500"));
        assert_eq!(client.expect().tag, encode::tags::SEARCH_ENTRY);
    }
    assert_eq!(server.client().search(1, "stream:10").code, 0);
    for client in &mut slow {
        assert_eq!(client.done(1).code, 0);
    }
}

#[test]
fn connection_id_and_unknown_critical_controls() {
    let server = TestServer::start();
    let mut client = server.client();
    client.send(&extended(1, "1.3.6.1.4.1.26027.1.6.2", None));
    let answer = client.expect();
    assert_eq!(answer.rest, [b"1.3.6.1.4.1.26027.1.6.2".to_vec(), b"\x02\x01\x01".to_vec()]);
    let with_control = request(2, |writer| {
        let op = writer.begin(0x77);
        writer.octets(0x80, b"1.3.6.1.4.1.26027.1.6.2");
        writer.end(op);
        let controls = writer.begin(0xa0);
        let control = writer.begin(SEQUENCE);
        writer.octets(OCTET_STRING, b"1.2.3.4");
        writer.boolean(ber::BOOLEAN, true);
        writer.end(control);
        writer.end(controls);
    });
    client.send(&with_control);
    assert_eq!(client.expect().code, 12);
}
