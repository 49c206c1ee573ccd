//! A small tree, instructions in it, and questions.

use std::sync::Arc;

use access::{AccessControl, AccessSettings, EntryRights, Question, Right, Rights, WrittenValue};
use ldap::{ModifyOperation, ResultCode};
use query::entry::{DnParts, EntryView};
use query::facts::Facts;
use query::locate::locate;
use query::rights::ReadRights;
use schema::{NormalizedDn, TypeIndex};
use store::{EntryId, RecordBuilder, RecordView, Snapshot};

use crate::update::tests::bed::Bed;
use crate::{Identity, Session};

pub const BASE: &str = "dc=example,dc=com";

/// A Tuesday, 12:34:56 UTC.
pub const NOW: i64 = 1_700_570_096;

/// See the module.
pub struct AccessBed {
    pub bed: Bed,
    pub control: Arc<AccessControl>,
}

/// The name of somebody below `ou=People`.
pub fn person(uid: &str) -> String {
    format!("uid={uid},ou=People,{BASE}")
}

/// `(targets)(version 3.0; acl "t"; rest;)`
pub fn aci(targets: &str, rest: &str) -> String {
    format!("{targets}(version 3.0; acl \"t\"; {rest};)")
}

/// The decision, which is that of the explanation too.
pub fn decided(facts: &Facts, rights: &EntryRights<'_>, entry: &EntryView<'_>, question: Question<'_>) -> bool {
    let may = rights.may(facts, entry, question).unwrap();
    let explained = rights.explain(facts, entry, question).unwrap();
    assert_eq!(explained.granted, may, "{question:?} {explained:#?}");
    may
}

impl AccessBed {
    /// alice, bob and carol below `ou=People`; `ou=Other` with dave; a group of alice and a group of that group. Then
    /// instructions, each with the entry that holds it.
    pub fn new(acis: &[(&str, &str)]) -> AccessBed {
        AccessBed::with_global(&[], acis)
    }

    pub fn with_global(global: &[&str], acis: &[(&str, &str)]) -> AccessBed {
        let mut bed = Bed::new();
        for ou in ["People", "Other", "Groups"] {
            bed.add(&format!("ou={ou},{BASE}"), &[("objectClass", "organizationalUnit"), ("ou", ou)]).ok();
        }
        for (uid, ou) in [("alice", "People"), ("bob", "People"), ("carol", "People"), ("dave", "Other")] {
            let dn = format!("uid={uid},ou={ou},{BASE}");
            let fixed = [("objectClass", "inetOrgPerson"), ("cn", uid), ("sn", "sn"), ("uid", uid)];
            bed.add(&dn, &[&fixed[..], &[("title", "old"), ("userPassword", "secret12")]].concat()).ok();
        }
        let alice = person("alice");
        let inner = format!("cn=inner,ou=Groups,{BASE}");
        let outer = format!("cn=outer,ou=Groups,{BASE}");
        bed.add(&inner, &[("objectClass", "groupOfNames"), ("cn", "inner"), ("member", &alice)]).ok();
        bed.add(&outer, &[("objectClass", "groupOfNames"), ("cn", "outer"), ("member", &inner)]).ok();
        let settings = AccessSettings {
            global_acis: global.iter().map(|text| (*text).to_owned()).collect(),
            ..AccessSettings::default()
        };
        let it = AccessBed { bed, control: AccessControl::new(settings).unwrap() };
        for (holder, text) in acis {
            it.add_value(holder, "aci", text);
        }
        it
    }

    pub fn add_value(&self, dn: &str, attribute: &str, value: &str) {
        self.change(dn, ModifyOperation::Add, attribute, value);
    }

    pub fn delete_value(&self, dn: &str, attribute: &str, value: &str) {
        self.change(dn, ModifyOperation::Delete, attribute, value);
    }

    fn change(&self, dn: &str, operation: ModifyOperation, attribute: &str, value: &str) {
        let done = self.bed.modify(dn, &[(operation, attribute, value)]);
        assert_eq!(done.0.result.code, ResultCode::SUCCESS, "{}", done.0.result);
    }

    pub fn facts(&self) -> Arc<Facts> {
        self.bed.directory.facts()
    }

    pub fn attribute(&self, name: &str) -> TypeIndex {
        self.facts().schema.attribute_type(name.as_bytes()).unwrap().index
    }

    pub fn id(&self, dn: &str) -> EntryId {
        self.find(dn).1
    }

    fn find(&self, dn: &str) -> (Snapshot, EntryId) {
        let directory = &self.bed.directory;
        let snapshot = directory.backends[0].store.snapshot().unwrap();
        let name = NormalizedDn::parse(&directory.schema(), dn.as_bytes()).unwrap();
        let suffix = &directory.backends[0].suffix_of(name.as_bytes()).unwrap().normalized;
        let id = locate(&snapshot.view(), suffix, name.as_bytes()).unwrap().found().expect(dn);
        (snapshot, id)
    }

    /// A session of a user (by uid below `ou=People`, or by DN), or of nobody.
    pub fn session(&self, who: &str) -> Session {
        if who.is_empty() {
            return Session::anonymous(1);
        }
        let dn = if who.contains('=') { who.to_owned() } else { person(who) };
        let entry = self.id(&dn);
        Session::of(Identity::User { dn: dn.into(), backend: query::backend::BackendIndex(0), entry }, 1)
    }

    pub fn rights(&self, session: &Session) -> Arc<Rights> {
        self.rights_at(session, NOW)
    }

    pub fn rights_at(&self, session: &Session, now: i64) -> Arc<Rights> {
        self.control.rights_of(session, &self.facts(), &self.bed.directory.reading, now).unwrap()
    }

    /// Calls `look` with the rights of a session and an entry.
    pub fn look<T>(&self, session: &Session, dn: &str, look: impl FnOnce(&EntryRights<'_>, &EntryView<'_>) -> T) -> T {
        let rights = self.rights(session);
        let (snapshot, id) = self.find(dn);
        let moment = self.bed.directory.reading.moment(&self.facts(), NOW);
        let at = moment.at(query::backend::BackendIndex(0), snapshot.view());
        let view = snapshot.view();
        let record = view.entry(id).unwrap().unwrap();
        let entry = EntryView { id, record: record.view().unwrap(), dn: DnParts::default(), source: &at };
        look(&rights.at(at).unwrap(), &entry)
    }

    pub fn asks(&self, who: &str, dn: &str, question: Question<'_>) -> bool {
        let facts = self.facts();
        self.look(&self.session(who), dn, |rights, entry| decided(&facts, rights, entry, question))
    }

    /// Whether somebody may do something with an attribute of an entry.
    pub fn may(&self, who: &str, right: Right, dn: &str, attribute: &str) -> bool {
        self.asks(who, dn, Question::attribute(right, self.attribute(attribute)))
    }

    /// Whether somebody may do something with an entry.
    pub fn may_entry(&self, who: &str, right: Right, dn: &str) -> bool {
        self.asks(who, dn, Question::entry(right))
    }

    pub fn may_add(&self, who: &str, dn: &str, attribute: &str, value: &str) -> bool {
        self.asks(who, dn, Question::value(self.attribute(attribute), WrittenValue::Added(value.as_bytes())))
    }

    pub fn may_delete(&self, who: &str, dn: &str, attribute: &str, value: &str) -> bool {
        self.asks(who, dn, Question::value(self.attribute(attribute), WrittenValue::Deleted(value.as_bytes())))
    }

    pub fn shows(&self, who: &str, dn: &str) -> bool {
        let facts = self.facts();
        self.look(&self.session(who), dn, |rights, entry| match rights.shows_entries() {
            query::rights::Answer::Yes => true,
            query::rights::Answer::No => false,
            query::rights::Answer::Ask => {
                let shows = rights.shows(&facts, entry).unwrap();
                assert_eq!(decided(&facts, rights, entry, Question::entry(Right::Read)), shows);
                shows
            }
        })
    }

    /// Whether somebody may add an entry below another one.
    pub fn may_add_entry(&self, who: &str, parent: &str, rdn: &str, attributes: &[(&str, &str)]) -> bool {
        let facts = self.facts();
        let rights = self.rights(&self.session(who));
        let (snapshot, parent) = self.find(parent);
        let view = snapshot.view();
        let moment = self.bed.directory.reading.moment(&facts, NOW);
        let at = moment.at(query::backend::BackendIndex(0), view);
        let mut builder = RecordBuilder::new(parent, rdn.as_bytes());
        let mut tables = (*view.tables()).clone();
        for (name, value) in attributes {
            let desc = view.tables().description_id(name).expect("some entry has it");
            builder.push(desc, [value.as_bytes()], &mut tables).unwrap();
        }
        let bytes = builder.finish().unwrap();
        let record = RecordView::parse(&bytes, view.tables()).unwrap();
        let entry = EntryView { id: EntryId::ROOT, record, dn: DnParts::default(), source: &at };
        decided(&facts, &rights.at(at).unwrap(), &entry, Question::entry(Right::Add))
    }

    pub fn may_move(&self, who: &str, dn: &str, to: &str) -> bool {
        let facts = self.facts();
        let (snapshot, id) = self.find(to);
        let view = snapshot.view();
        let record = view.entry(id).unwrap().unwrap();
        self.look(&self.session(who), dn, |rights, entry| {
            let superior = EntryView { id, record: record.view().unwrap(), dn: DnParts::default(), source: &view };
            rights.may_move(&facts, entry, &superior).unwrap()
        })
    }
}
