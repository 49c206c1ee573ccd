//! One connection: answers, silence, ends, TLS.

use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use ldap::client::Search;
use ldap::{FilterBuf, LdapResult, ResultCode, Scope, encode, oids};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::server::{Does, Fake, answer, next, nowhere, settings};
use crate::connection::Connection;
use crate::error::OutboundError;
use crate::server::{Security, Server, Settings};
use crate::trust::{TlsRules, Trust, TrustError};

#[test]
fn a_bind_tells_a_right_password_from_a_wrong_one() {
    let fake = Fake::start(Does::Answers);
    let mut connection = Connection::open(&fake.server, &settings()).unwrap();
    assert_eq!(connection.bind("cn=a", b"wrong").unwrap().code, ResultCode::INVALID_CREDENTIALS);
    assert_eq!(connection.bind("cn=a", b"right").unwrap().code, ResultCode::SUCCESS);
    assert_eq!(fake.connections(), 1);
}

#[test]
fn a_search_hands_over_its_entries() {
    let fake = Fake::start(Does::Answers);
    let mut connection = Connection::open(&fake.server, &settings()).unwrap();
    let filter = FilterBuf::every_entry();
    let mut seen = 0;
    let search = Search::new("", Scope::BaseObject, &filter, &[]);
    assert!(connection.search(&search, &mut |_| seen += 1).unwrap().is_success());
    assert_eq!(seen, 2, "an entry and the end");
}

#[test]
fn who_does_not_answer_is_told_by_name() {
    let ask = |server: &Server| Connection::open(server, &settings()).and_then(|mut it| it.bind("cn=a", b"right"));
    let silent = Fake::start(Does::IsSilent);
    let error = ask(&silent.server).unwrap_err();
    assert!(matches!(error, OutboundError::Timeout(_)), "{error}");
    assert_eq!(error.to_string(), "no answer within 300 ms");
    let error = ask(&nowhere()).unwrap_err();
    assert!(matches!(error, OutboundError::Connect(_)), "{error}");
    let error = ask(&Fake::start(Does::Disconnects).server).unwrap_err();
    assert!(matches!(error, OutboundError::Disconnected(_)), "{error}");
    let error = ask(&Server { host: "no-such-host.invalid".to_owned(), port: 389 }).unwrap_err();
    assert!(matches!(error, OutboundError::Resolve { .. }), "{error}");
}

/// Bytes that are no message end the connection, and are not waited for.
#[test]
fn what_is_no_message_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server { host: "127.0.0.1".to_owned(), port: listener.local_addr().unwrap().port() };
    std::thread::spawn(move || listener.accept().unwrap().0.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap());
    let error = Connection::open(&server, &settings()).and_then(|mut it| it.bind("", b"")).unwrap_err();
    assert!(matches!(error, OutboundError::Frame(_)), "{error}");
}

fn tls_server(name: &str, start_tls: ResultCode) -> (Server, tempfile::NamedTempFile) {
    let certified = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(certified.cert.pem().as_bytes()).unwrap();
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![certified.cert.der().clone()], key).unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server { host: "localhost".to_owned(), port: listener.local_addr().unwrap().port() };
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut received) = (stream.unwrap(), Vec::new());
            let mut first = [0];
            stream.peek(&mut first).unwrap();
            if first == [0x30] {
                let request = next(&mut stream, &mut received).unwrap();
                let id = ldap::Message::decode(&request).unwrap().id;
                let (mut out, result) = (Vec::new(), LdapResult::new(start_tls, ""));
                encode::extended_response(&mut out, id, &result, Some(oids::extended::START_TLS), None, &[]);
                stream.write_all(&out).unwrap();
            }
            let mut tls = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream);
            while let Some(request) = next(&mut tls, &mut received) {
                let mut out = Vec::new();
                answer(&request, Does::Answers, &mut out);
                tls.write_all(&out).unwrap();
            }
        }
    });
    (server, file)
}

fn encrypted(file: &tempfile::NamedTempFile, start_tls: bool) -> Settings {
    let trust = Trust::Issuers(vec![file.path().to_owned()]);
    let config = trust.client_config(TlsRules::all()).unwrap();
    let security = if start_tls { Security::StartTls(config) } else { Security::Tls(config) };
    Settings { security, answer_timeout: Duration::from_secs(5), ..settings() }
}

#[test]
fn tls_and_start_tls_reach_a_trusted_server() {
    let (server, file) = tls_server("localhost", ResultCode::SUCCESS);
    for start_tls in [false, true] {
        let mut connection = Connection::open(&server, &encrypted(&file, start_tls)).unwrap();
        assert!(connection.bind("cn=a", b"right").unwrap().is_success());
    }
}

#[test]
fn a_server_that_is_not_trusted_gets_no_password() {
    let (server, _) = tls_server("localhost", ResultCode::SUCCESS);
    let (_, foreign) = tls_server("localhost", ResultCode::SUCCESS);
    let (other, own) = tls_server("ldap.example.com", ResultCode::SUCCESS);
    for (server, file) in [(&server, &foreign), (&other, &own)] {
        for start_tls in [false, true] {
            let error = Connection::open(server, &encrypted(file, start_tls)).err().unwrap();
            assert!(matches!(error, OutboundError::Tls(_)), "{error}");
        }
    }
}

#[test]
fn a_server_that_refuses_start_tls_is_not_asked_without() {
    let (server, file) = tls_server("localhost", ResultCode::UNAVAILABLE);
    let error = Connection::open(&server, &encrypted(&file, true)).err().unwrap();
    assert!(matches!(error, OutboundError::StartTls(_)), "{error}");
}

#[test]
fn trust_needs_certificates() {
    let empty = tempfile::NamedTempFile::new().unwrap();
    let trust = |path: &std::path::Path| Trust::Issuers(vec![path.to_owned()]).client_config(TlsRules::all()).err();
    assert!(matches!(trust(empty.path()), Some(TrustError::File { .. })));
    assert!(matches!(trust("/nonexistent/ca.pem".as_ref()), Some(TrustError::File { .. })));
}
