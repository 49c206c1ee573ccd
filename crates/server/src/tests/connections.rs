//! Connections: many, local, half closed, balanced.

use super::*;

#[test]
fn many_connections_at_once() {
    let server = TestServer::start();
    let mut clients: Vec<_> = (0..500).map(|_| server.client()).collect();
    for (id, client) in (1..).zip(&mut clients) {
        client.send(&search(id, "dc=x"));
    }
    for (id, client) in (1..).zip(&mut clients) {
        assert_eq!(client.expect().id, id);
    }
    let per_loop: Vec<u64> =
        server.server().metrics().iter().map(|metrics| metrics.network.connections_established.get()).collect();
    assert_eq!(per_loop.iter().sum::<u64>(), 500);
    assert!(per_loop.iter().all(|count| (240..=260).contains(count)), "{per_loop:?}");
    drop(clients);
    eventually(|| server.sum(|metrics| metrics.network.connections_closed.get()) == 500);
}

#[test]
fn a_client_that_closes_after_its_last_request() {
    let server = TestServer::start();
    let mut client = server.client();
    client.send(&[search(1, "dc=x"), search(2, "dc=x"), unbind(3), search(4, "never")].concat());
    assert_eq!((client.expect().id, client.expect().id, client.next()), (1, 2, None));
    let mut client = server.client();
    client.send(&search(1, "dc=x"));
    client.stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!((client.expect().id, client.next()), (1, None));
}

#[test]
fn running_searches_end_with_their_connection() {
    let server = TestServer::start();
    let mut client = server.client();
    client.send(&search(1, "stream:100000000"));
    client.expect();
    drop(client);
    eventually(|| server.sum(|metrics| metrics.network.connections_closed.get()) == 1);
    // The pool's threads are free again: more streams than it has places.
    for _ in 0..4 {
        assert_eq!(server.client().search(1, "stream:2").code, 0);
    }
}

/// Where access rules ask for the name of the host, the first request waits for it, but not forever.
#[test]
fn requests_wait_until_the_name_of_the_host_is_known() {
    let server = TestServer::naming_hosts(true, |_, _| ());
    let mut client = server.client();
    client.send(&search(1, "dc=x"));
    client.stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let early = client.stream.read(&mut [0; 1]);
    assert!(early.is_err(), "answered before the name was known");
    client.stream.set_read_timeout(Some(PATIENCE)).unwrap();
    server.gate.open();
    assert_eq!(client.expect().code, 0);

    let server = TestServer::naming_hosts(true, |_, _| ());
    assert_eq!(server.client().search(1, "dc=x").code, 0, "a name server that does not answer holds up for a while");
}

#[test]
fn local_sockets() {
    let server = TestServer::with(|settings, dir| {
        settings.listeners.push(LdapListener::new(ListenAt::Path(dir.join("ldapi"))));
    });
    let path = server.dir.path().join("ldapi");
    for _ in 0..3 {
        let stream = std::os::unix::net::UnixStream::connect(&path).unwrap();
        let mut client = Client::new(stream);
        assert_eq!(client.search(1, "dc=x").code, 0);
        client.send(&extended(2, "1.2.3.facts", None));
        assert_eq!(client.expect().rest, [b"(None, 71, None)".to_vec()]);
    }
    let lines = server.access_lines();
    let connect = lines.iter().find(|line| line.starts_with("CONNECT")).unwrap();
    assert!(
        connect.contains(&format!(",pid:{} to={} protocol=LDAPI", std::process::id(), path.display())),
        "{connect}"
    );
}
