//! The PROXY protocol from trusted and other addresses.

use super::*;

fn trusting(mask: &str) -> TestServer {
    TestServer::with(|settings, _| {
        settings.listeners[0].network.trusted_proxies = vec![config::AddressMask::parse(mask).unwrap()];
    })
}

const V2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x0c\xc0\x00\x02\x07\xc6\x33\x64\x01\xc7\x38\x01\x85";

#[test]
fn the_header_names_the_client() {
    let server = trusting("127.0.0.0/8");
    for (header, cut) in [(b"PROXY TCP4 192.0.2.7 198.51.100.1 51000 389\r\n".as_slice(), 9), (V2, 14), (V2, V2.len())]
    {
        let mut client = server.client();
        client.send(&header[..cut]);
        // With the first request in the same packet as the rest of the header.
        client.send(&[&header[cut..], &search(1, "dc=x")].concat());
        assert_eq!(client.expect().code, 0);
    }
    let lines = server.access_lines();
    let connects: Vec<_> = lines.iter().filter(|line| line.starts_with("CONNECT")).collect();
    assert_eq!(connects.len(), 3);
    for connect in connects {
        assert!(connect.ends_with(" from=192.0.2.7:51000 to=198.51.100.1:389 protocol=LDAP"), "{connect}");
    }
}

/// The client's address counts, not the proxy's: in rules about addresses, too.
#[test]
fn clients_behind_a_proxy_are_admitted_by_their_own_address() {
    let text = "[global]\nallowed-client = \"192.0.2.0/24\"\n";
    let rules = config::Config::parse(text, std::path::Path::new("pando.toml")).unwrap();
    let server = TestServer::with(|settings, _| {
        settings.listeners[0].network.trusted_proxies = vec![config::AddressMask::parse("127.0.0.0/8").unwrap()];
        settings.connection_rules.set(&rules);
    });
    let mut client = server.client();
    client.send(&[b"PROXY TCP4 192.0.2.7 198.51.100.1 51000 389\r\n".as_slice(), &search(1, "dc=x")].concat());
    assert_eq!(client.expect().code, 0);
    client.send(&extended(2, "1.2.3.facts", None));
    assert_eq!(client.expect().rest, [b"(Some(192.0.2.7), 0, None)".to_vec()], "what access rules look at");
    let mut client = server.client();
    client.send(&[b"PROXY TCP4 198.51.100.7 198.51.100.1 51000 389\r\n".as_slice(), &search(1, "dc=x")].concat());
    client.expect_notice(51);
    assert_eq!(server.sum(|metrics| metrics.network.connections_rejected.get()), 1);
}

#[test]
fn a_trusted_proxy_must_send_a_header() {
    let server = trusting("127.0.0.0/8");
    for bad in [search(1, "dc=x"), b"PROXY TCP4 nonsense\r\n".to_vec(), b"\r\n\r\n\0\r\nQUIT\n\x31\x11\0\0".to_vec()] {
        let mut client = server.client();
        client.send(&bad);
        assert_eq!(client.next(), None);
    }
    assert_eq!(server.sum(|metrics| metrics.network.protocol_errors.get()), 3);
    let lines = server.access_lines();
    assert!(lines.iter().any(|line| line.contains("reason=\"Security Problem\"")), "{lines:?}");
}

#[test]
fn others_are_not_believed() {
    let server = trusting("192.0.2.0/24");
    let mut client = server.client();
    client.send(b"PROXY TCP4 192.0.2.7 198.51.100.1 51000 389\r\n");
    client.expect_notice(2);
    assert_eq!(server.client().search(1, "dc=x").code, 0);
}

#[test]
fn a_proxy_that_says_nothing_is_closed() {
    let server = TestServer::with(|settings, _| {
        settings.listeners[0].network.trusted_proxies = vec![config::AddressMask::parse("127.0.0.1").unwrap()];
        settings.limits.network.handshake_time = Duration::from_millis(40);
    });
    let mut client = server.client();
    client.send(b"PROXY ");
    assert_eq!(client.next(), None);
}
