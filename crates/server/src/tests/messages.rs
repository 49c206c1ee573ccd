//! Bytes into messages: any cut, any pipeline, anything that is not LDAP.

use super::*;

#[test]
fn a_request_byte_by_byte() {
    let server = TestServer::start();
    let mut client = server.client();
    for byte in search(7, "dc=x") {
        client.send(&[byte]);
    }
    assert_eq!((client.expect().id, client.search(8, "dc=x").code), (7, 0));
}

#[test]
fn pipelined_requests_are_answered_in_order_wherever_they_are_cut() {
    let server = TestServer::start();
    let all: Vec<u8> = (1..=300).flat_map(|id| search(id, "dc=x")).collect();
    for size in [1, 37, 4096, all.len()] {
        let mut client = server.client();
        for piece in all.chunks(size) {
            client.send(piece);
        }
        for id in 1..=300 {
            assert_eq!(client.expect().id, id);
        }
    }
}

#[test]
fn more_requests_than_one_turn_takes() {
    let server = TestServer::start();
    let mut client = server.client();
    let all: Vec<u8> = (1..=20_000).flat_map(|id| search(id, "dc=x")).collect();
    std::thread::scope(|scope| {
        let mut writer = client.stream.try_clone().unwrap();
        scope.spawn(move || writer.write_all(&all).unwrap());
        for id in 1..=20_000 {
            assert_eq!(client.expect().id, id);
        }
    });
}

#[test]
fn a_filter_beyond_what_is_decoded_is_refused_and_the_connection_lives_on() {
    let server = TestServer::start();
    let mut client = server.client();
    let wide = b"\x87\x02cn".repeat(ldap::filter::FILTER_NODES_MAX);
    let not =
        |inner: Vec<u8>, _| [&[0xa2, 0x82, (inner.len() >> 8) as u8, inner.len() as u8], inner.as_slice()].concat();
    let deep = (0..ldap::filter::FILTER_DEPTH_MAX).fold(b"\x87\x02cn".to_vec(), not);
    for filter in [(0xa1, wide), (0xa2, deep)] {
        client.send(&search_by(7, "dc=x", (filter.0, &filter.1), &[]));
        let answer = client.expect();
        assert_eq!((answer.id, answer.code), (7, 11), "adminLimitExceeded");
    }
    assert_eq!(client.search(8, "dc=x").code, 0);
}

#[test]
fn garbage_gets_a_notice_and_the_server_lives() {
    let server = TestServer::start();
    for garbage in [
        b"GET / HTTP/1.1\r\n\r\n".as_slice(),
        b"\x30\x80\x00\x00",
        b"\x30\x85\x01\x01\x01\x01\x01",
        b"\x30\x05\x04\x01x\x42\x00",
        b"\x30\x05\x02\x01\x00\x42\x00",
        b"\x30\x05\x02\x01\x01\x5f\x00",
        b"\x30\x03\x02\x01\x01",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ] {
        let mut client = server.client();
        client.send(garbage);
        client.expect_notice(2);
    }
    assert_eq!(server.sum(|metrics| metrics.network.protocol_errors.get()), 8);
    assert_eq!(server.client().search(1, "dc=x").code, 0);
}

#[test]
fn answers_before_garbage_are_sent() {
    let server = TestServer::start();
    let mut client = server.client();
    client.send(&[search(1, "dc=x"), search(2, "dc=x"), b"garbage".to_vec()].concat());
    assert_eq!((client.expect().id, client.expect().id), (1, 2));
    client.expect_notice(2);
}

#[test]
fn a_known_operation_with_bad_content_is_answered_and_the_connection_lives() {
    let server = TestServer::start();
    let mut client = server.client();
    // A search whose scope is 9.
    let mut bad = search(5, "dc=x");
    let scope = bad.windows(3).position(|window| window == [ENUMERATED, 1, 2]).unwrap() + 2;
    bad[scope] = 9;
    client.send(&bad);
    let answer = client.expect();
    assert_eq!((answer.id, answer.tag, answer.code), (5, encode::tags::SEARCH_DONE, 2));
    assert!(!answer.message.is_empty());
    assert_eq!(client.search(6, "dc=x").code, 0);
    assert_eq!(server.sum(|metrics| metrics.network.protocol_errors.get()), 1);
}

#[test]
fn oversize_is_refused_by_its_header() {
    let server = TestServer::with(|settings, _| settings.listeners[0].request_bytes_max = 1000);
    let mut client = server.client();
    client.send(&delete(1, &"x".repeat(900)));
    assert_eq!(client.expect().code, 0);
    // Only the header is sent: nothing of the rest is waited for.
    client.send(b"\x30\x82\x10\x00");
    client.expect_notice(2);
    assert!(server.access_lines().iter().any(|line| {
        line == "DISCONNECT conn=1 reason=\"Maximum Request Size Exceeded\" \
                 msg=\"The request is larger than max-request-size (1000 bytes)\""
    }));
}

#[test]
fn a_client_that_sends_on_after_the_notice_still_reads_it() {
    let server = TestServer::with(|settings, _| settings.listeners[0].request_bytes_max = 1000);
    let mut client = server.client();
    let mut huge = b"\x30\x83\x20\x00\x00".to_vec();
    huge.resize(0x20_0000, 0);
    client.send(&huge);
    client.expect_notice(2);
}

#[test]
fn versions() {
    let server = TestServer::with(|settings, _| {
        let mut strict = settings.listeners[0].clone();
        strict.allow_ldap_v2 = false;
        settings.listeners.push(strict);
    });
    let mut client = server.client();
    for (version, code) in [(3, 0), (2, 0), (1, 2), (4, 2), (0, 2), (-1, 2), (300, 2)] {
        client.send(&bind_version(9, version, "cn=x", "secret"));
        let answer = client.expect();
        assert_eq!((answer.tag, answer.code), (encode::tags::BIND, code), "version {version}");
    }
    let ListenAt::Tcp(strict) = server.server().addresses()[1] else { panic!("a TCP listener") };
    let mut client = Client::new(TcpStream::connect(strict).unwrap());
    client.send(&bind_version(1, 2, "cn=x", "secret"));
    assert_eq!(client.expect().code, 2);
}
