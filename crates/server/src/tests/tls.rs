//! TLS: from the first byte, by StartTLS, with certificates that change.

use runtime::tls::{Reload, TlsAcceptor, TlsSettings};
use runtime::tls_keys::CertificateFiles;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::*;

/// Takes any certificate and remembers nothing: tests look at it themselves.
#[derive(Debug)]
struct Anything;

impl ServerCertVerifier for Anything {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        rustls::crypto::aws_lc_rs::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

fn make_certificate(dir: &std::path::Path, name: &str) -> CertificateFiles {
    let pair = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let files = CertificateFiles::pem(dir.join("server.crt"), dir.join("server.key"));
    std::fs::write(&files.certificate, pair.cert.pem()).unwrap();
    std::fs::write(&files.private_key, pair.signing_key.serialize_pem()).unwrap();
    files
}

fn server(change: impl FnOnce(&mut LdapListener, Arc<TlsAcceptor>)) -> (TestServer, Arc<TlsAcceptor>) {
    let mut kept = None;
    let server = TestServer::with(|settings, dir| {
        let files = make_certificate(dir, "one.example");
        let acceptor = Arc::new(TlsAcceptor::new(&TlsSettings::new(files)).unwrap());
        change(&mut settings.listeners[0], Arc::clone(&acceptor));
        kept = Some(acceptor);
    });
    (server, kept.unwrap())
}

type TlsClient = Client<StreamOwned<ClientConnection, TcpStream>>;

fn handshake(stream: TcpStream, versions: &[&'static rustls::SupportedProtocolVersion]) -> TlsClient {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anything))
        .with_no_client_auth();
    let connection = ClientConnection::new(Arc::new(config), "one.example".try_into().unwrap()).unwrap();
    Client::new(StreamOwned::new(connection, stream))
}

fn certificate_of(client: &TlsClient) -> Vec<u8> {
    client.stream.conn.peer_certificates().unwrap()[0].to_vec()
}

#[test]
fn from_the_first_byte_in_both_versions() {
    let (server, _) = server(|listener, tls| listener.network.tls = Some(tls));
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let mut client = handshake(server.client().stream, &[version]);
        assert_eq!(client.search(1, "dc=x").code, 0);
        // Pipelined, and more than the socket takes at once.
        let all: Vec<u8> = (1..=100).flat_map(|id| search(id, "bytes:50000")).collect();
        client.send(&all);
        for id in 1..=100 {
            assert_eq!(client.done(id).code, 0);
        }
        assert_eq!(client.search(101, "stream:100").code, 0);
        client.send(&unbind(102));
        assert_eq!(client.next(), None);
    }
    assert_eq!(server.sum(|metrics| metrics.network.tls_handshakes.get()), 2);
    assert!(server.access_lines()[0].ends_with(" protocol=LDAPS"));
}

#[test]
fn start_tls() {
    let (server, _) = server(|listener, tls| listener.start_tls = Some(tls));
    let mut client = server.client();
    assert_eq!(client.search(1, "dc=x").code, 0);
    client.send(&extended(2, "1.3.6.1.4.1.1466.20037", None));
    let answer = client.expect();
    assert_eq!((answer.code, answer.rest), (0, vec![b"1.3.6.1.4.1.1466.20037".to_vec()]));
    let mut client = handshake(client.stream, &[&rustls::version::TLS13]);
    assert_eq!(client.search(3, "dc=x").code, 0);
    client.send(&extended(4, "1.3.6.1.4.1.1466.20037", None));
    assert_eq!(client.expect().code, 1, "TLS is there already");
    assert_eq!(client.bind(5, "cn=root", "secret").code, 0);
    client.send(&extended(6, "1.2.3.facts", None));
    let facts = String::from_utf8(client.expect().rest.concat()).unwrap();
    assert!(["(Some(127.0.0.1), 128, Simple)", "(Some(127.0.0.1), 256, Simple)"].contains(&facts.as_str()), "{facts}");
}

#[test]
fn start_tls_is_refused_where_it_must_be() {
    let (server, _) = server(|_, _| ());
    let mut client = server.client();
    client.send(&extended(1, "1.3.6.1.4.1.1466.20037", None));
    assert_eq!(client.expect().code, 2, "not offered here");
    let (server, _) = self::server(|listener, tls| listener.start_tls = Some(tls));
    let mut client = server.client();
    client.send(&[search(1, "wait"), extended(2, "1.3.6.1.4.1.1466.20037", None)].concat());
    assert_eq!(client.expect().code, 1, "an operation is outstanding");
    // Clear text behind the request must not end up behind the handshake.
    let mut client = server.client();
    client.send(&[extended(1, "1.3.6.1.4.1.1466.20037", None), search(2, "dc=x")].concat());
    assert_eq!(client.next(), None);
}

#[test]
fn a_failed_handshake_ends_only_its_connection() {
    let (server, _) = server(|listener, tls| listener.network.tls = Some(tls));
    let mut client = server.client();
    client.send(&search(1, "dc=x"));
    // An alert at most, and the end.
    let mut rest = Vec::new();
    let _ = client.stream.read_to_end(&mut rest);
    assert!(rest.len() <= 7, "{rest:?}");
    eventually(|| server.sum(|metrics| metrics.network.tls_failures.get()) == 1);
    assert_eq!(handshake(server.client().stream, &[&rustls::version::TLS13]).search(1, "dc=x").code, 0);
}

#[test]
fn a_handshake_that_is_never_finished_is_closed() {
    let mut server = TestServer::with(|settings, dir| {
        let files = make_certificate(dir, "one.example");
        settings.listeners[0].network.tls = Some(Arc::new(TlsAcceptor::new(&TlsSettings::new(files)).unwrap()));
        settings.limits.network.handshake_time = Duration::from_millis(40);
    });
    assert_eq!(server.client().next(), None);
    server.stop();
}

#[test]
fn a_new_certificate_serves_new_connections_and_old_ones_go_on() {
    let (server, acceptor) = server(|listener, tls| listener.network.tls = Some(tls));
    let mut old = handshake(server.client().stream, &[&rustls::version::TLS13]);
    assert_eq!(old.search(1, "dc=x").code, 0);
    make_certificate(server.dir.path(), "another-and-longer.example");
    // The keeper looks every few seconds; whoever comes first replaces it.
    let _: Reload = acceptor.reload_if_changed();
    let mut new = handshake(server.client().stream, &[&rustls::version::TLS13]);
    assert_eq!(new.search(1, "dc=x").code, 0);
    assert_ne!(certificate_of(&old), certificate_of(&new));
    assert_eq!(old.search(2, "dc=x").code, 0);
}
