//! The server over a real directory: what each operation looks like from outside.

use std::path::Path;

use config::{Config, Instance, Setup};
use directory::{Directory, Profile};

use super::*;

/// A server with one backend, `dc=example,dc=com`, empty.
pub(super) struct Real {
    pub(super) server: Option<Server>,
    pub(super) directory: Arc<Directory>,
    pub(super) dir: tempfile::TempDir,
}

impl Real {
    pub(super) fn start() -> Self {
        Self::with(|config| Directory::open(config).unwrap())
    }

    pub(super) fn with(open: impl FnOnce(&Config) -> Directory) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = configuration(dir.path());
        Self::with_directory(dir, open(&config))
    }

    /// With tables at the end of the configuration, and files in the instance.
    pub(super) fn configured(tables: &str, files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = configuration(dir.path()).instance.config_file();
        files.iter().for_each(|(name, text)| std::fs::write(dir.path().join(name), text).unwrap());
        let config = Config::parse(&format!("{}\n{tables}", configuration_text()), &file).unwrap();
        Self::with_directory(dir, Directory::open(&config).unwrap())
    }

    fn with_directory(dir: tempfile::TempDir, directory: Directory) -> Self {
        let (config, directory) = (directory.config().clone(), Arc::new(directory));
        let mut settings = Settings::from_config(&config).unwrap();
        settings.listeners[0].network.at = ListenAt::Tcp("127.0.0.1:0".parse().unwrap());
        let server = Server::start_with(Arc::clone(&directory), settings).unwrap();
        Self { server: Some(server), directory, dir }
    }

    pub(super) fn client(&self) -> Client<TcpStream> {
        let ListenAt::Tcp(address) = self.server.as_ref().unwrap().addresses()[0] else { panic!("a TCP listener") };
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client::new(stream)
    }
}

pub(super) fn configuration(dir: &Path) -> Config {
    let instance = Instance::new(dir);
    for folder in instance.folders() {
        std::fs::create_dir_all(folder).unwrap();
    }
    Config::parse(&configuration_text(), &instance.config_file()).unwrap()
}

/// secret12
const ROOT_PASSWORD: &str = "{SSHA512}GWDQVwn1T8z4lQH6bpIakHe+CRW+yF+uQaxVtJZuXOizXajBpc4D7V03dIMc\
     x6s7JlqZ7H3LesG461k5VbPUinNhbHRzYWx0";

pub(super) fn configuration_text() -> String {
    let setup = Setup {
        password_scheme: ::password::Scheme::SaltedSha512,
        argon2: None,
        backend_id: "userRoot".to_owned(),
        base_dns: vec!["dc=example,dc=com".to_owned()],
        indexes: config::default_indexes(),
        root_dn: "cn=Directory Manager".to_owned(),
        root_password: ROOT_PASSWORD.to_owned(),
        global_acis: Profile::Addressbook.acis(),
        listen_addresses: vec!["127.0.0.1".parse().unwrap()],
        ldap_port: Some(1389),
        ldaps_port: None,
        http_port: None,
        administration_port: None,
        start_tls: false,
        local_socket: false,
        key_pair: None,
    };
    setup.to_toml()
}

pub(super) fn base_search(id: i32, base: &str) -> Vec<u8> {
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

#[test]
fn the_root_dse_has_no_value_twice() {
    let real = Real::start();
    let mut client = real.client();
    let mut request = search_for(1, "", &["*", "+"]);
    let scope = request.windows(3).position(|window| window == [ENUMERATED, 1, 2]).unwrap() + 2;
    request[scope] = 0;
    client.send(&request);
    let mut lines = entry_lines(&client.expect());
    assert_eq!(client.expect().code, 0);
    let cancel = "supportedExtension: 1.3.6.1.1.8".to_owned();
    assert!(lines.contains(&cancel) && lines.iter().any(|line| line.starts_with("supportedControl: ")), "{lines:?}");
    lines.sort();
    let twice: Vec<&String> = lines.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0]).collect();
    assert_eq!(twice, Vec::<&String>::new());
}

fn add(id: i32, dn: &str, attributes: &[(&str, &[&str])]) -> Vec<u8> {
    request(id, |writer| {
        let op = writer.begin(0x68);
        writer.octets(OCTET_STRING, dn.as_bytes());
        let list = writer.begin(SEQUENCE);
        for (name, values) in attributes {
            attribute(writer, name, values);
        }
        writer.end(list);
        writer.end(op);
    })
}

pub(super) fn replace(id: i32, dn: &str, name: &str, values: &[&str]) -> Vec<u8> {
    modify(id, dn, 2, name, values)
}

pub(super) fn modify(id: i32, dn: &str, operation: i64, name: &str, values: &[&str]) -> Vec<u8> {
    request(id, |writer| {
        let op = writer.begin(0x66);
        writer.octets(OCTET_STRING, dn.as_bytes());
        let changes = writer.begin(SEQUENCE);
        let change = writer.begin(SEQUENCE);
        writer.integer(ENUMERATED, operation);
        attribute(writer, name, values);
        writer.end(change);
        writer.end(changes);
        writer.end(op);
    })
}

fn attribute(writer: &mut Writer<'_>, name: &str, values: &[&str]) {
    let one = writer.begin(SEQUENCE);
    writer.octets(OCTET_STRING, name.as_bytes());
    let set = writer.begin(ber::SET);
    for value in values {
        writer.octets(OCTET_STRING, value.as_bytes());
    }
    writer.end(set);
    writer.end(one);
}

fn compare(id: i32, dn: &str, name: &str, value: &str) -> Vec<u8> {
    request(id, |writer| {
        let op = writer.begin(0x6e);
        writer.octets(OCTET_STRING, dn.as_bytes());
        let assertion = writer.begin(SEQUENCE);
        writer.octets(OCTET_STRING, name.as_bytes());
        writer.octets(OCTET_STRING, value.as_bytes());
        writer.end(assertion);
        writer.end(op);
    })
}

fn rename(id: i32, dn: &str, new_rdn: &str) -> Vec<u8> {
    request(id, |writer| {
        let op = writer.begin(0x6c);
        writer.octets(OCTET_STRING, dn.as_bytes());
        writer.octets(OCTET_STRING, new_rdn.as_bytes());
        writer.boolean(ber::BOOLEAN, true);
        writer.end(op);
    })
}

pub(super) const ROOT: &str = "cn=Directory Manager";
pub(super) const ANN: &str = "uid=ann,dc=example,dc=com";

pub(super) fn person(id: i32, uid: &str, password: &str) -> Vec<u8> {
    let attributes: [(&str, &[&str]); 5] = [
        ("objectClass", &["inetOrgPerson"]),
        ("uid", &[uid]),
        ("cn", &["Ann Example"]),
        ("sn", &["Example"]),
        ("userPassword", &[password]),
    ];
    add(id, &format!("uid={uid},dc=example,dc=com"), &attributes)
}

impl Real {
    /// A client bound as root, with the base entry and one person there.
    pub(super) fn filled(&self) -> Client<TcpStream> {
        let mut client = self.client();
        assert_eq!(client.bind(1, ROOT, "secret12").code, 0);
        client.send(&add(2, "dc=example,dc=com", &[("objectClass", &["domain"]), ("dc", &["example"])]));
        assert_eq!(client.expect(), plain(2, encode::tags::ADD, 0));
        client.send(&person(3, "ann", "first password"));
        assert_eq!(client.expect(), plain(3, encode::tags::ADD, 0));
        client
    }

    fn log_lines(&self) -> Vec<String> {
        self.server.as_ref().unwrap().flush_logs();
        lines_of(self.dir.path().join("logs/access"))
    }
}

fn plain(id: i64, tag: u8, code: i64) -> Response {
    Response { id, tag, code, message: String::new(), rest: Vec::new() }
}

#[test]
fn every_operation_on_one_connection() {
    let real = Real::start();
    let mut client = real.filled();
    client.send(&extended(4, "1.3.6.1.4.1.4203.1.11.3", None));
    assert_eq!(client.expect().rest, [b"dn:cn=Directory Manager".to_vec()]);
    client.send(&replace(5, ANN, "description", &["tall", "kind"]));
    assert_eq!(client.expect(), plain(5, encode::tags::MODIFY, 0));
    client.send(&[compare(6, ANN, "description", "KIND"), compare(7, ANN, "description", "mean")].concat());
    assert_eq!((client.expect().code, client.expect().code), (6, 5));
    client.send(&search(8, "dc=example,dc=com"));
    let entries = (0..2).map(|_| client.expect().tag).filter(|tag| *tag == encode::tags::SEARCH_ENTRY).count();
    assert_eq!((entries, client.expect().code), (2, 0));
    client.send(&rename(9, ANN, "uid=anna"));
    assert_eq!(client.expect(), plain(9, encode::tags::MODIFY_DN, 0));
    client.send(&delete(10, ANN));
    assert_eq!(client.expect().code, 32);
    client.send(&delete(11, "uid=anna,dc=example,dc=com"));
    assert_eq!(client.expect(), plain(11, encode::tags::DELETE, 0));
    client.send(&extended(12, "1.2.3.4.5", None));
    assert_eq!(client.expect().code, 2);
    client.send(&base_search(13, "cn=monitor"));
    assert_eq!(client.expect().tag, encode::tags::SEARCH_ENTRY);
    assert_eq!(client.expect().code, 0);
    let lines = real.log_lines();
    assert!(lines.iter().any(|line| line == "ADD REQ conn=1 op=1 msgID=2 dn=\"dc=example,dc=com\""), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("MODIFYDN RES conn=1 op=8 msgID=9 result=0 queue=")));
}

#[test]
fn binds_of_users_fast_and_slow() {
    let real = Real::start();
    let mut root = real.filled();
    assert_eq!(real.client().bind(1, ANN, "wrong").code, 49);
    assert_eq!(real.client().bind(1, "uid=nobody,dc=example,dc=com", "wrong").code, 49);
    let mut ann = real.client();
    assert_eq!(ann.bind(1, ANN, "first password").code, 0);
    ann.send(&extended(2, "1.3.6.1.4.1.4203.1.11.3", None));
    assert_eq!(ann.expect().rest, [format!("dn:{ANN}").into_bytes()]);
    // bcrypt of "slow password", cost 4: goes to the pool, and what is pipelined behind it waits.
    let slow = directory_password();
    root.send(&replace(9, ANN, "userPassword", &[&slow]));
    assert_eq!(root.expect().code, 0);
    for (password, code, who) in [("slow password", 0, format!("dn:{ANN}")), ("wrong", 49, String::new())] {
        let mut client = real.client();
        client.send(&[bind(1, ANN, password), extended(2, "1.3.6.1.4.1.4203.1.11.3", None)].concat());
        assert_eq!(client.expect(), plain(1, encode::tags::BIND, code));
        assert_eq!(client.expect().rest, [who.into_bytes()]);
    }
    let lines = real.log_lines();
    assert!(
        lines.iter().any(|line| line.contains("BIND RES") && line.contains("result=49 authFailureReason=\"")),
        "{lines:?}"
    );
}

fn directory_password() -> String {
    let scheme = ::password::Scheme::from_name("Bcrypt").expect("a slow scheme");
    let encoded = ::password::encode_random(scheme, &::password::Parameters::default(), b"slow password").unwrap();
    let text = String::from_utf8(encoded).unwrap();
    assert!(password::is_slow(text.as_bytes()));
    text
}

#[test]
fn users_change_their_own_password() {
    let real = Real::start();
    let _root = real.filled();
    let mut ann = real.client();
    assert_eq!(ann.bind(1, ANN, "first password").code, 0);
    let mut value = Vec::new();
    let mut writer = Writer::new(&mut value);
    let sequence = writer.begin(SEQUENCE);
    writer.octets(0x81, b"first password");
    writer.octets(0x82, b"second password");
    writer.end(sequence);
    ann.send(&extended(2, "1.3.6.1.4.1.4203.1.11.1", Some(&value)));
    assert_eq!(ann.expect().code, 0);
    assert_eq!(real.client().bind(1, ANN, "first password").code, 49);
    assert_eq!(real.client().bind(1, ANN, "second password").code, 0);
}

#[test]
fn pipelined_updates_of_many_clients_are_all_there() {
    let real = Real::start();
    let mut root = real.filled();
    std::thread::scope(|scope| {
        for client in 0..4 {
            let mut root = real.client();
            scope.spawn(move || {
                assert_eq!(root.bind(1, ROOT, "secret12").code, 0);
                let all: Vec<u8> = (0..50).flat_map(|n| person(n + 2, &format!("u{client}-{n}"), "x")).collect();
                root.send(&all);
                (0..50).for_each(|_| assert_eq!(root.expect().code, 0));
            });
        }
    });
    // More entries than a loop looks at by itself: through the pool.
    root.send(&search(9, "dc=example,dc=com"));
    let mut entries = 0;
    let done = loop {
        match root.expect() {
            entry if entry.tag == encode::tags::SEARCH_ENTRY => entries += 1,
            done => break done,
        }
    };
    assert_eq!((entries, done.code), (202, 0));
    assert_eq!(root.search(10, "dc=nowhere").code, 32);
}

#[test]
fn what_was_acknowledged_survives_a_stop() {
    let mut real = Real::start();
    let _root = real.filled();
    real.server.take().unwrap().shutdown(PATIENCE);
    let Real { directory, dir, .. } = real;
    directory.close().unwrap();
    // The database is opened once in a process.
    assert_eq!(Arc::strong_count(&directory), 1, "nothing of the server is left");
    drop(directory);
    let config = configuration(dir.path());
    let directory = Directory::open(&config).unwrap();
    assert_eq!(directory.backends()[0].store.stats().entries, 2);
    directory.close().unwrap();
}
