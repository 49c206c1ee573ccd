//! A directory with a few entries, and requests in the wire form that clients send.

use std::sync::mpsc;
use std::time::Instant;

use config::{Config, Setup};
use ldap::extended::PasswordModify;
use ldap::{ControlBuf, Controls, LdapResult, Message, ModifyOperation, Operation, ResultCode, client, oids};
use schema::NormalizedDn;
use tempfile::TempDir;

use crate::bind::tests::ended;
use crate::update::{Submitted, UpdateDone, UpdateRequest};
use crate::{Directory, Identity, Session};

pub const ANN: &str = "uid=ann,dc=example,dc=com";
pub const BEN: &str = "uid=ben,dc=example,dc=com";

/// See the module.
pub struct Bed {
    pub folder: TempDir,
    pub config: Config,
    pub directory: Directory,
    pub session: Session,
}

pub fn root() -> Identity {
    Identity::Root { dn: "cn=Directory Manager".into() }
}

impl Bed {
    pub fn new() -> Bed {
        Self::with(&["dc=example,dc=com"], |_| {})
    }

    /// Base DNs of the first backend, and other settings.
    pub fn with(base_dns: &[&str], set: impl FnOnce(&mut Config)) -> Bed {
        let folder = TempDir::new().unwrap();
        let setup = Setup {
            password_scheme: password::Scheme::SaltedSha512,
            argon2: None,
            backend_id: "userRoot".to_owned(),
            base_dns: base_dns.iter().map(|dn| (*dn).to_owned()).collect(),
            indexes: config::default_indexes(),
            root_dn: "cn=Directory Manager".to_owned(),
            root_password: "{SSHA}cchzM+LrPCvbZdthOC8e62d4h7a4CfoNvl6d/w==".to_owned(),
            global_acis: access::profiles::Profile::Addressbook.acis(),
            listen_addresses: vec!["127.0.0.1".parse().unwrap()],
            ldap_port: Some(1389),
            ldaps_port: None,
            http_port: None,
            administration_port: None,
            start_tls: false,
            local_socket: false,
            key_pair: None,
        };
        let mut config = Config::parse(&setup.to_toml(), &folder.path().join("pando.toml")).unwrap();
        set(&mut config);
        let directory = Directory::open(&config).unwrap();
        let session = Session::of(root(), 7);
        let mut bed = Bed { folder, config, directory, session };
        bed.add("dc=example,dc=com", &[("objectClass", "domain"), ("dc", "example")]).ok();
        for (dn, uid, password) in [(ANN, "ann", "opensesame"), (BEN, "ben", "{CLEAR}benben")] {
            let fixed = [("objectClass", "inetOrgPerson"), ("cn", "x"), ("sn", "x"), ("uid", uid)];
            bed.add(dn, &[&fixed[..], &[("userPassword", password)]].concat()).ok();
        }
        bed
    }

    pub fn reopen(mut self) -> Bed {
        // They hold the backends that they were found out of.
        self.session.forget_rights();
        let Bed { folder, config, directory, mut session } = self;
        // What a session has found out of its rights keeps the backends open, so a new one goes on.
        session = Session::of(session.identity.clone(), session.connection);
        directory.close().unwrap();
        drop(directory);
        let directory = Directory::open(&config).unwrap();
        Bed { folder, config, directory, session }
    }

    pub fn bind_as(&mut self, dn: &str, password: &str) {
        let (result, identity) = self.bind(dn, password);
        assert!(result.is_success(), "{result}");
        self.session.identity = identity;
    }

    pub fn bind(&self, dn: &str, password: &str) -> (LdapResult, Identity) {
        let mut bytes = Vec::new();
        client::bind(&mut bytes, 1, dn, password.as_bytes(), &[]);
        self.bind_bytes(&bytes)
    }

    pub fn bind_bytes(&self, bytes: &[u8]) -> (LdapResult, Identity) {
        let message = Message::decode(bytes).unwrap();
        let Operation::Bind(request) = &message.operation else { panic!("no bind") };
        let step = self.directory.bind(&Session::anonymous(1), request, &message.controls, Instant::now());
        let done = ended(&self.directory, step);
        (done.result, done.bound.identity)
    }

    /// Sends a message; slow updates run here and now.
    pub fn send(&self, bytes: &[u8]) -> Done {
        self.send_and_tell(bytes).0
    }

    /// The same, and whether it was slow.
    pub fn send_and_tell(&self, bytes: &[u8]) -> (Done, bool) {
        let message = Message::decode(bytes).unwrap();
        let (sender, receiver) = mpsc::channel();
        let done = Box::new(move |done: UpdateDone| sender.send(done).unwrap());
        let submitted = self.directory.submit(&self.session, asked(&message), done);
        let slow = match submitted {
            Submitted::Queued => false,
            Submitted::Slow(update) => {
                update.run(&self.directory);
                true
            }
        };
        (Done(receiver.recv().unwrap()), slow)
    }

    pub fn add(&mut self, dn: &str, attributes: &[(&str, &str)]) -> Done {
        self.add_with(dn, attributes, &[])
    }

    pub fn add_with(&mut self, dn: &str, attributes: &[(&str, &str)], controls: &[ControlBuf]) -> Done {
        let mut bytes = Vec::new();
        let attributes = attributes.iter().map(|(name, value)| (name.as_bytes(), [value.as_bytes()]));
        client::add(&mut bytes, 1, dn, attributes, controls);
        self.send(&bytes)
    }

    pub fn modify(&self, dn: &str, changes: &[(ModifyOperation, &str, &str)]) -> Done {
        self.send(&modify_message(dn, changes, &[]))
    }

    pub fn replace(&self, dn: &str, attribute: &str, value: &str) -> Done {
        self.modify(dn, &[(ModifyOperation::Replace, attribute, value)])
    }

    pub fn delete(&self, dn: &str, controls: &[ControlBuf]) -> Done {
        let mut bytes = Vec::new();
        client::delete(&mut bytes, 1, dn, controls);
        self.send(&bytes)
    }

    pub fn password_modify(&self, whose: Option<&str>, old: Option<&str>, new: Option<&str>) -> Done {
        let value = PasswordModify {
            user_identity: whose.map(str::as_bytes),
            old_password: old.map(str::as_bytes),
            new_password: new.map(str::as_bytes),
        };
        let mut bytes = Vec::new();
        client::extended(&mut bytes, 1, oids::extended::PASSWORD_MODIFY, Some(&value.encode()), &[]);
        self.send(&bytes)
    }

    /// Values of an attribute as they are stored.
    /// Waits for something that nobody is told of.
    pub fn wait_for(&self, mut is_so: impl FnMut() -> bool) {
        let until = Instant::now() + std::time::Duration::from_secs(10);
        while !is_so() {
            assert!(Instant::now() < until, "it does not come");
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }

    /// The number of an entry of the first backend.
    pub fn id_of(&self, dn: &str) -> store::EntryId {
        let snapshot = self.directory.backends[0].store.snapshot().unwrap();
        let name = NormalizedDn::parse(&self.directory.schema(), dn.as_bytes()).unwrap();
        let suffix = &self.directory.backends[0].suffix_of(name.as_bytes()).unwrap().normalized;
        query::locate::locate(&snapshot.view(), suffix, name.as_bytes()).unwrap().found().unwrap()
    }

    pub fn values(&self, dn: &str, attribute: &str) -> Vec<String> {
        let snapshot = self.directory.backends[0].store.snapshot().unwrap();
        let (view, id) = (snapshot.view(), self.id_of(dn));
        let record = view.entry(id).unwrap().unwrap();
        let desc = view.tables().description_id(attribute);
        let stored = desc.and_then(|desc| record.view().unwrap().stored(desc).map(|attribute| attribute.content));
        match stored {
            Some(store::Content::Inline(values)) => {
                values.iter().map(|value| String::from_utf8_lossy(value).into_owned()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether some file of the instance holds these bytes.
    pub fn files_hold(&self, needle: &str) -> bool {
        fn search(folder: &std::path::Path, needle: &[u8]) -> bool {
            std::fs::read_dir(folder).unwrap().any(|entry| {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    return search(&path, needle);
                }
                let bytes = std::fs::read(&path).unwrap();
                bytes.windows(needle.len()).any(|window| window == needle)
            })
        }
        search(self.folder.path(), needle.as_bytes())
    }
}

pub fn modify_message(dn: &str, changes: &[(ModifyOperation, &str, &str)], controls: &[ControlBuf]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let changes = changes.iter().map(|(operation, name, value)| (*operation, name.as_bytes(), [value.as_bytes()]));
    client::modify(&mut bytes, 1, dn, changes, controls);
    bytes
}

/// The update in a message.
pub fn asked<'o, 'm>(message: &'o Message<'m>) -> UpdateRequest<'o, 'm> {
    let Operation::Update(update) = &message.operation else { panic!("{:?} is no update", message.operation) };
    UpdateRequest { update, controls: &message.controls, operation: 3, message_id: message.id }
}

/// No controls at all.
pub fn none() -> Controls<'static> {
    Controls::none()
}

/// What became of an update.
pub struct Done(pub UpdateDone);

impl Done {
    #[track_caller]
    pub fn ok(self) -> UpdateDone {
        assert!(self.0.result.is_success(), "{}", self.0.result);
        assert!(self.0.csn.is_some());
        self.0
    }

    #[track_caller]
    pub fn refused(self, code: ResultCode, word: &str) -> UpdateDone {
        assert_eq!(self.0.result.code, code, "{}", self.0.result);
        assert!(self.0.result.message.contains(word), "{}", self.0.result.message);
        assert!(self.0.csn.is_none());
        self.0
    }
}
