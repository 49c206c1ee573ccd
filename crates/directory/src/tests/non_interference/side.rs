//! One of two directories: what is in it, who asks, and what root changes of it.

use config::{Config, default_indexes};
use ldap::oids::control;
use ldap::{ControlBuf, Message, ModifyOperation, ResultCode, client};
use query::backend::BackendIndex;
use query::locate::locate;
use schema::NormalizedDn;

use super::given::CONFIGURATION;
use super::request::{Kind, Request, Update};
use super::rights::AGENT;
use super::world::{BASE, Entry, SECOND, SENTINEL, World, person_dn};
use crate::search::tests::by_mark::ByMark;
use crate::search::tests::fixture::Fixture;
use crate::tests::groups::second_backend;
use crate::{Identity, Session};

pub struct Side {
    pub it: Fixture,
    pub world: World,
    pub session: Session,
    /// Lists of indexes have few entries, so that some are too long.
    pub has_short_lists: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Whoever has the rights of a test double.
    Double,
    User,
    Anonymous,
    /// Somebody else, who acts as the user.
    Proxied,
}

impl Side {
    pub fn new(world: World, who: Who, entry_limit: Option<u64>) -> Side {
        let tables = Config::parse(CONFIGURATION, std::path::Path::new("pando.toml")).unwrap();
        let it = Fixture::with(&[BASE], default_indexes(), &world.ldif(), |config| {
            let second = second_backend(&config.backends[0], SECOND);
            config.backends.push(second);
            config.virtual_attributes = tables.virtual_attributes;
            config.limits = tables.limits;
            config.access_control.global_acis = world.form.global();
            if let Some(limit) = entry_limit {
                config.backends.iter_mut().for_each(|backend| backend.index_entry_limit = limit);
            }
        });
        let mut side = Side { it, world, session: Session::anonymous(1), has_short_lists: entry_limit.is_some() };
        let identity = match who {
            Who::Double => ByMark::identity(),
            Who::User => side.user(&person_dn(0)),
            Who::Anonymous => Identity::Anonymous,
            Who::Proxied => side.user(AGENT),
        };
        side.session = Session::of(identity, 1);
        side
    }

    /// Whoever is bound as an entry of the first backend.
    fn user(&self, dn: &str) -> Identity {
        let backend = &self.it.directory.backends()[0];
        let name = NormalizedDn::parse(&self.it.directory.schema(), dn.as_bytes()).unwrap();
        let snapshot = backend.store.snapshot().unwrap();
        let path = locate(&snapshot.view(), &backend.suffixes[0].normalized, name.as_bytes()).unwrap();
        Identity::User { dn: dn.into(), backend: BackendIndex(0), entry: path.found().unwrap() }
    }

    /// Changes the directory to what is in another world.
    pub fn become_world(&mut self, other: World) {
        let before = std::mem::replace(&mut self.world, other);
        for gone in before.entries().iter().filter(|entry| self.world.entry(&entry.dn).is_none()) {
            self.delete(&gone.dn);
        }
        for entry in self.world.entries() {
            match before.entry(&entry.dn) {
                None => self.add(entry),
                Some(same) if before.stored(same) == self.world.stored(entry) => {}
                Some(_) if !entry.shows => {
                    self.delete(&entry.dn);
                    self.add(entry);
                }
                Some(_) => self.restore(entry),
            }
        }
    }

    /// Takes back what an update did that was allowed.
    pub fn put_back(&self, request: &Request) {
        let Kind::Update(update) = &request.kind else { return };
        let entry = self.world.entry(&request.dn);
        let rename = |from: &str| {
            let (rdn, above) = request.dn.split_once(',').unwrap();
            self.update(|out| client::modify_dn(out, 1, from, rdn, false, Some(above), &[manage_dsa_it()]));
        };
        match (update, entry) {
            (Update::Add, _) => self.delete(&format!("uid=fresh,{}", request.dn)),
            (Update::Delete, Some(entry)) => self.add(entry),
            (Update::Modify(_) | Update::Password, Some(entry)) => self.restore(entry),
            (Update::Rename { rdn, .. }, Some(entry)) => {
                rename(&format!("{rdn},{}", request.dn.split_once(',').unwrap().1));
                self.restore(entry);
            }
            (Update::Move, Some(entry)) => {
                let rdn = request.dn.split(',').next().unwrap_or_default();
                rename(&format!("{rdn},{}", request.other));
                self.restore(entry);
            }
            (_, None) => panic!("an update of nothing was done: {request:?}"),
        }
    }

    /// Changes an entry and takes the change back.
    pub fn stir(&self, dn: &str, kind: usize) {
        let entry = self.world.entry(dn).expect("it shows");
        match kind {
            // What the asker may do must not depend on when the change is told.
            _ if *dn == person_dn(0) => self.restore(entry),
            0 => {
                let change = (ModifyOperation::Replace, &b"title"[..], [&b"stirred"[..]]);
                self.update(|out| client::modify(out, 1, dn, [change], &[]));
                self.restore(entry);
            }
            1 => {
                self.delete(dn);
                self.add(entry);
            }
            _ => {
                let (rdn, above) = dn.split_once(',').unwrap();
                self.update(|out| client::modify_dn(out, 1, dn, "uid=stirred", false, None, &[]));
                let there = format!("uid=stirred,{above}");
                self.update(|out| client::modify_dn(out, 1, &there, rdn, true, None, &[]));
            }
        }
    }

    /// A change that whoever sees the entry `SENTINEL` sees.
    pub fn move_sentinel(&self, value: &str) {
        let change = (ModifyOperation::Replace, &b"title"[..], [value.as_bytes()]);
        self.update(|out| client::modify(out, 1, SENTINEL, [change], &[]));
    }

    fn add(&self, entry: &Entry) {
        let stored = self.world.stored(entry);
        let attributes = grouped(&stored);
        self.update(|out| client::add(out, 1, &entry.dn, attributes, &[manage_dsa_it()]));
    }

    fn delete(&self, dn: &str) {
        self.update(|out| client::delete(out, 1, dn, &[manage_dsa_it()]));
    }

    /// Makes the entry what the world says.
    fn restore(&self, entry: &Entry) {
        let stored = self.world.stored(entry);
        let mut changes: Vec<_> = grouped(&stored)
            .into_iter()
            .filter(|(name, _)| *name != b"objectClass")
            .map(|(name, values)| (ModifyOperation::Replace, name, values))
            .collect();
        for name in ["title", "userPassword", "seeAlso"] {
            if !stored.iter().any(|(stored, _)| *stored == name) {
                changes.push((ModifyOperation::Replace, name.as_bytes(), Vec::new()));
            }
        }
        self.update(|out| client::modify(out, 1, &entry.dn, changes, &[manage_dsa_it()]));
    }

    fn update(&self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = Vec::new();
        write(&mut bytes);
        let message = Message::decode(&bytes).unwrap();
        let result = self.it.try_update(&message);
        assert_eq!(result.code, ResultCode::SUCCESS, "{result} {:?}", message.operation);
    }
}

fn manage_dsa_it() -> ControlBuf {
    ControlBuf::new(control::MANAGE_DSA_IT, None)
}

fn grouped<'s>(stored: &'s [(&'static str, String)]) -> Vec<(&'static [u8], Vec<&'s [u8]>)> {
    let mut all: Vec<(&[u8], Vec<&[u8]>)> = Vec::new();
    for (name, value) in stored {
        match all.iter_mut().find(|(known, _)| *known == name.as_bytes()) {
            Some((_, values)) => values.push(value.as_bytes()),
            None => all.push((name.as_bytes(), vec![value.as_bytes()])),
        }
    }
    all
}
