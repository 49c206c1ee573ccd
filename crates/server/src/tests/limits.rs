//! Limits of connections: how many, how idle, how much is outstanding or unread.

use super::*;

#[test]
fn too_many_connections_are_told_so() {
    let server = TestServer::with(|settings, _| settings.limits.network.connections_max = 3);
    let mut kept: Vec<_> = (0..3).map(|_| server.client()).collect();
    kept.iter_mut().for_each(|client| assert_eq!(client.search(1, "dc=x").code, 0));
    server.client().expect_notice(51);
    assert_eq!(server.sum(|metrics| metrics.network.connections_rejected.get()), 1);
    drop(kept.pop());
    eventually(|| {
        let mut client = server.client();
        client.send(&search(1, "dc=x"));
        client.next().is_some_and(|answer| answer.code == 0)
    });
}

/// A configuration with these lines.
fn rules(text: &str) -> config::Config {
    config::Config::parse(text, std::path::Path::new("pando.toml")).unwrap()
}

/// Rules change while the server runs: they hold for the next connection, and for the next request.
#[test]
fn weak_connections_are_refused_everything_but_start_tls() {
    let connection_rules = Arc::new(crate::ConnectionRules::default());
    let server = TestServer::with(|settings, _| settings.connection_rules = Arc::clone(&connection_rules));
    let mut client = server.client();
    assert_eq!(client.bind(1, "cn=root", "secret").code, 0);
    connection_rules.set(&rules("[global]\nminimum-security-strength-factor = 128\n"));
    let refused = client.search(2, "dc=x");
    assert_eq!(refused.code, 13);
    assert!(refused.message.contains("0 bits of encryption and 128 are required"), "{}", refused.message);
    client.send(&cancel(3, 1));
    assert_eq!(client.expect().code, 13);
    client.send(&extended(4, "1.3.6.1.4.1.1466.20037", None));
    assert_eq!(client.expect().code, 2, "StartTLS itself: not offered here");
    connection_rules
        .set(&rules("[password-policy.\"Default Password Policy\"]\nrequire-secure-authentication = true\n"));
    assert_eq!(client.search(5, "dc=x").code, 0);
    client.send(&extended(6, "1.2.3.who", None));
    assert_eq!(client.expect().rest, [b"cn=root".to_vec()]);
    assert_eq!(client.bind(7, "cn=root", "secret").code, 13);
    client.send(&extended(8, "1.2.3.who", None));
    assert_eq!(client.expect().rest, [b"".to_vec()], "a refused bind leaves nobody");
    assert_eq!(client.bind(9, "", "").code, 49, "the executor of these tests has one password only");
    connection_rules.set(&rules(""));
    assert_eq!(client.bind(10, "cn=root", "secret").code, 0);
}

#[test]
fn addresses_that_may_not_connect() {
    let server = TestServer::with(|settings, _| {
        settings.connection_rules.set(&rules("[global]\ndenied-client = \"127.0.0.0/8\"\n"));
    });
    server.client().expect_notice(51);
    let lines = server.access_lines();
    assert!(lines[1].starts_with("DISCONNECT conn=1 reason=\"Client Connection Rejected\""), "{lines:?}");
}

#[test]
fn idle_connections_end_and_busy_ones_do_not() {
    let server = TestServer::start();
    let mut idle = server.client();
    let mut busy = server.client();
    let mut patient = server.client();
    // The limit is that of whoever has bound, not of the server.
    for client in [&mut idle, &mut busy] {
        assert_eq!(client.bind(1, "cn=restless", "secret").code, 0);
    }
    assert_eq!(patient.search(1, "dc=x").code, 0);
    busy.send(&search(2, "wait"));
    idle.expect_notice(11);
    assert_eq!(patient.search(2, "dc=x").code, 0);
    assert_eq!(server.sum(|metrics| metrics.network.connections_idle.get()), 1);
    server.gate.open();
    assert_eq!(busy.expect().code, 0, "a connection whose operation runs is not idle");
    let lines = server.access_lines();
    assert!(lines.iter().any(|line| line.ends_with(" reason=\"Idle Time Limit Exceeded\"")), "{lines:?}");
}

#[test]
fn searches_beyond_the_limit_are_refused_and_abandon_still_works() {
    let server = TestServer::with(|settings, _| settings.limits.outstanding_max = 3);
    let mut client = server.client();
    for id in 1..=3 {
        client.send(&search(id, "wait"));
    }
    assert_eq!(client.search(4, "dc=x").code, 51);
    client.send(&abandon(5, 2));
    eventually(|| server.sum(|metrics| metrics.abandoned.get()) == 1);
    assert_eq!(client.search(6, "dc=x").code, 0);
}

#[test]
fn updates_beyond_the_limit_wait_instead() {
    let server = TestServer::with(|settings, _| settings.limits.outstanding_max = 3);
    let mut client = server.client();
    let all: Vec<u8> = (1..=10).flat_map(|id| delete(id, "cn=gate")).collect();
    client.send(&all);
    eventually(|| server.sum(|metrics| metrics.of(crate::metrics::OperationKind::Delete).requests.get()) == 3);
    server.gate.open();
    let mut ids: Vec<i64> = (0..10).map(|_| client.expect().id).collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=10).collect::<Vec<_>>());
}

#[test]
fn output_of_a_client_that_does_not_read_is_bounded() {
    let server = TestServer::start();
    let mut client = server.client();
    client.stream.set_nonblocking(true).unwrap();
    // Answers of 100 kB for requests of 40 bytes, until nothing is taken any more.
    let mut id = 0;
    let mut unsent: Vec<u8> = Vec::new();
    let mut stalls = 0;
    while stalls < 50 {
        if unsent.is_empty() {
            id += 1;
            unsent = search(id, "bytes:100000");
        }
        match client.stream.write(&unsent) {
            Ok(sent) => {
                unsent.drain(..sent);
                stalls = 0;
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                stalls += 1;
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(error) => panic!("{error}"),
        }
        if id > 2_000_000 {
            panic!("the server reads without end");
        }
    }
    let executed = server.sum(|metrics| metrics.of(crate::metrics::OperationKind::Search).requests.get());
    assert!(executed < u64::try_from(id).unwrap(), "reading stopped before the last request");
    // And everything arrives once the client reads.
    client.stream.set_nonblocking(false).unwrap();
    for expected in 1..=i32::try_from(executed).unwrap() {
        assert_eq!(client.done(expected).code, 0);
    }
}

#[test]
fn a_client_that_never_reads_is_closed() {
    let server = TestServer::with(|settings, _| {
        settings.listeners[0].network.blocked_write_time = Duration::from_millis(50);
    });
    let mut client = server.client();
    client.send(&search(1, "stream:1000"));
    eventually(|| server.sum(|metrics| metrics.network.connections_closed.get()) == 1);
    let lines = server.access_lines();
    assert!(lines.iter().any(|line| line.starts_with("DISCONNECT conn=1 reason=\"I/O Timeout\"")), "{lines:?}");
}
