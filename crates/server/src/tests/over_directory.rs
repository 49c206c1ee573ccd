//! The server over a real directory: what each operation looks like from outside.

use std::path::Path;

use config::{Config, Instance, Setup};
use directory::Directory;

use super::*;

/// A server with one backend, `dc=example,dc=com`, empty.
pub(super) struct Real {
    pub(super) server: Option<Server>,
    pub(super) directory: Arc<Directory>,
    pub(super) dir: tempfile::TempDir,
}

impl Real {
    pub(super) fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = configuration(dir.path());
        let directory = Arc::new(Directory::open(&config).unwrap());
        let mut settings = Settings::from_config(&config).unwrap();
        settings.listeners[0].at = ListenAt::Tcp("127.0.0.1:0".parse().unwrap());
        let logs = Logs::open(&settings).unwrap();
        let server = Server::start_with(Arc::clone(&directory), settings, logs).unwrap();
        Self { server: Some(server), directory, dir }
    }

    pub(super) fn client(&self) -> Client<TcpStream> {
        let ListenAt::Tcp(address) = self.server.as_ref().unwrap().addresses()[0] else { panic!("a TCP listener") };
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client::new(stream)
    }
}

fn configuration(dir: &Path) -> Config {
    let setup = Setup {
        backend_id: "userRoot".to_owned(),
        base_dns: vec!["dc=example,dc=com".to_owned()],
        indexes: config::default_indexes(),
        root_dn: "cn=Directory Manager".to_owned(),
        root_password: "{CLEAR}secret12".to_owned(),
        listen_addresses: vec!["127.0.0.1".parse().unwrap()],
        ldap_port: Some(1389),
        ldaps_port: None,
        start_tls: false,
        local_socket: false,
        key_pair: None,
    };
    let instance = Instance::new(dir);
    for folder in instance.folders() {
        std::fs::create_dir_all(folder).unwrap();
    }
    Config::parse(&setup.to_toml(), &instance.config_file()).unwrap()
}

fn base_search(id: i32, base: &str) -> Vec<u8> {
    let mut bytes = search(id, base);
    let scope = bytes.windows(3).position(|window| window == [ENUMERATED, 1, 2]).unwrap() + 2;
    bytes[scope] = 0;
    bytes
}

#[test]
fn root_dse_and_missing_entries() {
    let real = Real::start();
    let mut client = real.client();
    client.send(&base_search(1, ""));
    assert_eq!(client.expect().tag, encode::tags::SEARCH_ENTRY);
    assert_eq!(client.expect().code, 0);
    client.send(&base_search(2, "cn=schema"));
    assert_eq!(client.expect().tag, encode::tags::SEARCH_ENTRY);
    assert_eq!(client.expect().code, 0);
    client.send(&base_search(3, "cn=monitor"));
    assert_eq!(client.expect().code, 50, "the monitor is for root");
}
