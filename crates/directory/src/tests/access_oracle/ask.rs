//! The real directory with a world in it, and questions of an asker to it as a client would ask them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use access::Authentication;
use config::default_indexes;
use ldap::{Message, ModifyOperation, Operation, ResultCode, Scope, client};
use query::backend::BackendIndex;
use store::EntryId;

use super::evaluate::{MADE_BY_SERVER, World};
use super::generate::BASE;
use super::model::{Asker, Attributes, Name};
use super::roles;
use crate::search::RequestTime;
use crate::search::tests::fixture::{Asked, Collector, Fixture, root};
use crate::update::tests::bed::asked;
use crate::{Identity, Session};

pub struct Real {
    pub it: Fixture,
}

/// Entries that were found, with the types of the attributes that came.
pub type Found = BTreeMap<String, BTreeSet<String>>;

pub fn ldif(world: &World) -> String {
    let mut text = String::new();
    let mut names: Vec<&Name> = world.tree.entries.keys().collect();
    names.sort_by_key(|name| name.0.len());
    for name in names {
        // What an added entry gets from the server; an import takes it from the file.
        writeln!(text, "dn: {name}\ncreateTimestamp: 20260101000000Z").unwrap();
        for (kind, values) in with_texts(world, name) {
            values.iter().for_each(|value| writeln!(text, "{kind}: {value}").unwrap());
        }
        text.push('\n');
    }
    text + &roles::ldif()
}

/// What is stored of an entry: without what the server makes by itself, with the texts of its instructions.
fn with_texts(world: &World, name: &Name) -> Attributes {
    let mut attributes = world.tree.entries[name].clone();
    MADE_BY_SERVER.iter().for_each(|kind| drop(attributes.remove(*kind)));
    let own = world.instructions.iter().filter(|it| it.holder.as_ref() == Some(name));
    let acis: Vec<String> = own.map(ToString::to_string).collect();
    match acis.is_empty() {
        true => attributes.remove("aci"),
        false => attributes.insert("aci".to_owned(), acis),
    };
    attributes
}

impl Real {
    pub fn new(world: &World) -> Real {
        let global = world.instructions.iter().filter(|it| it.holder.is_none());
        let global: Vec<String> = global.map(ToString::to_string).collect();
        let set = |config: &mut config::Config| config.access_control.global_acis = global;
        Real { it: Fixture::with(&[BASE], default_indexes(), &ldif(world), set) }
    }

    /// A session of the asker.
    pub fn session(&self, asker: &Asker) -> Session {
        let mut session = Session::anonymous(1);
        if let Some(name) = &asker.name {
            let snapshot = self.it.directory.backends()[0].store.snapshot().unwrap();
            let is_it = |id: &EntryId| snapshot.view().dn_of(*id).unwrap() == Some(name.to_string());
            let entry = (1..1000).map(EntryId).find(is_it).expect("an entry");
            session.identity = Identity::User { dn: name.to_string().into(), backend: BackendIndex(0), entry };
        }
        session.address = Some(asker.address);
        session.security_strength_bits = asker.ssf;
        session.authentication = match asker.name {
            None => Authentication::None,
            Some(_) if asker.is_simple => Authentication::Simple,
            Some(_) => Authentication::Sasl("SCRAM-SHA-256".into()),
        };
        if let Some(host) = asker.host {
            session.host_name.resolve(Some(host));
        }
        if asker.is_proxied {
            let identity = std::mem::replace(&mut session.identity, root());
            session = session.acting_as(identity);
        }
        session
    }

    /// Searches for all attributes; the code when it is not success.
    pub fn search(&mut self, session: &Session, base: &Name, scope: Scope, filter: &str) -> Result<Found, ResultCode> {
        let base = base.to_string();
        let asked = Asked { scope, attributes: &["*", "+"], ..Asked::new(&base, filter) };
        let found = self.it.search_in(session, &asked, RequestTime::now(), &mut Collector::default());
        let found = found.map_err(|done| done.result.code)?;
        if found.done.result.code != ResultCode::SUCCESS {
            return Err(found.done.result.code);
        }
        let kinds =
            |attributes: &BTreeMap<String, Vec<String>>| attributes.keys().map(|it| it.to_lowercase()).collect();
        Ok(found.entries.iter().map(|(dn, attributes)| (dn.to_lowercase(), kinds(attributes))).collect())
    }

    pub fn compare(&self, session: &Session, name: &Name, kind: &str, value: &str) -> ResultCode {
        let mut bytes = Vec::new();
        client::compare(&mut bytes, 7, &name.to_string(), kind, value.as_bytes(), &[]);
        let message = Message::decode(&bytes).unwrap();
        let Operation::Compare(request) = &message.operation else { panic!("not a compare") };
        self.it.directory.compare(session, request, &message.controls, RequestTime::now()).code
    }

    pub fn modify(
        &self,
        session: &Session,
        name: &Name,
        operation: ModifyOperation,
        kind: &str,
        value: &str,
    ) -> ResultCode {
        let mut bytes = Vec::new();
        let change = (operation, kind.as_bytes(), [value.as_bytes()]);
        client::modify(&mut bytes, 1, &name.to_string(), [change], &[]);
        self.update(session, &bytes)
    }

    pub fn add(&self, session: &Session, name: &Name, attributes: &Attributes) -> ResultCode {
        let mut bytes = Vec::new();
        let attributes = attributes.iter().map(|(kind, values)| (kind.as_bytes(), values.iter().map(String::as_bytes)));
        client::add(&mut bytes, 1, &name.to_string(), attributes, &[]);
        self.update(session, &bytes)
    }

    pub fn delete(&self, session: &Session, name: &Name) -> ResultCode {
        let mut bytes = Vec::new();
        client::delete(&mut bytes, 1, &name.to_string(), &[]);
        self.update(session, &bytes)
    }

    /// Renames, or moves below another entry.
    pub fn rename(&self, session: &Session, name: &Name, new: &Name, delete_old: bool, moves: bool) -> ResultCode {
        let mut bytes = Vec::new();
        let superior = moves.then(|| new.parent().to_string());
        let (kind, value) = &new.0[0];
        client::modify_dn(
            &mut bytes,
            1,
            &name.to_string(),
            &format!("{kind}={value}"),
            delete_old,
            superior.as_deref(),
            &[],
        );
        self.update(session, &bytes)
    }

    /// The entry as the world has it, after it was changed or deleted.
    pub fn restore(&self, world: &World, name: &Name) {
        let session = Session::of(root(), 1);
        let attributes = with_texts(world, name);
        match self.delete(&session, name) {
            ResultCode::SUCCESS | ResultCode::NO_SUCH_OBJECT => {}
            code => panic!("{name} is not deleted: {code:?}"),
        }
        let code = self.add(&session, name, &attributes);
        assert_eq!(code, ResultCode::SUCCESS, "{name} is not put back");
    }

    fn update(&self, session: &Session, bytes: &[u8]) -> ResultCode {
        let message = Message::decode(bytes).unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        let done = Box::new(move |done: crate::update::UpdateDone| drop(sender.send(done.result)));
        if let crate::Submitted::Slow(update) = self.it.directory.submit(session, asked(&message), done) {
            update.run(&self.it.directory);
        }
        receiver.recv().unwrap().code
    }
}
