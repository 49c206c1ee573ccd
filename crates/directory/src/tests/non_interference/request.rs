//! Random requests, and what is observed of their answers. Updates are never allowed: what is observed is how they are
//! refused.

use std::collections::BTreeMap;

use ldap::client;
use ldap::client::controls::{self, VlvResponse};
use ldap::controls::{PagedResults, SortKey, VlvRequest, VlvTarget};
use ldap::oids::control;
use ldap::{ControlBuf, DerefAliases, LdapResult, Message, ModifyOperation, Scope, filter};

use super::chance::Chance;
use crate::Identity;
use crate::search::tests::fixture::{Asked, Fixture};

const SCOPES: [Scope; 4] = [Scope::BaseObject, Scope::SingleLevel, Scope::WholeSubtree, Scope::SubordinateSubtree];
const FILTERS: [&str; 16] = [
    "(objectClass=*)",
    "(sn=frost)",
    "(!(sn=frost))",
    "(|(cn=tree)(sn=frost))",
    "(&(cn=tree)(|(sn=frost)(telephoneNumber=3)))",
    "(name=frost)",
    "(:caseIgnoreMatch:=frost)",
    "(telephoneNumber>=2)",
    "(isMemberOf=*)",
    "(isMemberOf=OTHER)",
    "(member=OTHER)",
    "(member:1.2.840.113556.1.4.1941:=OTHER)",
    "(seeAlso=OTHER)",
    "(numSubordinates>=1)",
    "(&(objectClass=inetOrgPerson)(!(hasSubordinates=TRUE)))",
    "(&(description=d0)(!(isMemberOf=OTHER)))",
];
const ATTRIBUTES: [&[&str]; 4] = [
    &["*", "isMemberOf", "hasSubordinates", "numSubordinates", "entryDN"],
    &["cn", "sn", "member"],
    &["1.1"],
    &["member", "telephoneNumber"],
];
const DEREFS: [DerefAliases; 4] =
    [DerefAliases::Never, DerefAliases::InSearching, DerefAliases::FindingBaseObject, DerefAliases::Always];

#[derive(Clone, Debug)]
pub struct Request {
    dn: String,
    filter: String,
    other: String,
    scope: Scope,
    deref: DerefAliases,
    size_limit: u32,
    types_only: bool,
    attributes: &'static [&'static str],
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Plain,
    Managed,
    Sorted { by: &'static str, reverse: bool },
    Listed { by: &'static str, offset: u32 },
    Paged(u32),
    SortedPages(u32),
    Asserted,
    Matched,
    Dereferenced(&'static str),
    Compare(&'static str, &'static str),
    Update(Update),
}

#[derive(Clone, Copy, Debug)]
enum Update {
    Delete,
    Replace(&'static str),
    AddValue(&'static str),
    Rename,
    Move,
    Add,
}

impl Request {
    pub fn new(chance: &mut Chance, dn: String, other: &str) -> Request {
        let by = chance.of(&["sn", "cn", "telephoneNumber", "name"]);
        let kind = match chance.below(15) {
            0 => Kind::Managed,
            1 => Kind::Sorted { by, reverse: chance.tenths(5) },
            2 => Kind::Listed { by, offset: 1 + chance.below(4) as u32 },
            3 => Kind::Paged(1 + chance.below(3) as u32),
            4 => Kind::SortedPages(1 + chance.below(3) as u32),
            5 => Kind::Asserted,
            6 => Kind::Matched,
            7 => Kind::Dereferenced(chance.of(&["member", "seeAlso"])),
            8 | 9 => Kind::Compare(
                chance.of(&["sn", "cn", "description", "isMemberOf", "nosuch", "employeeType"]),
                chance.of(&["frost", "tree", "d0", "seen", "cn=g0,dc=example,dc=com"]),
            ),
            10..=12 => Kind::Update(match chance.below(6) {
                0 => Update::Delete,
                1 => Update::Replace(chance.of(&["description", "sn", "nosuch", "entryUUID"])),
                2 => Update::AddValue(chance.of(&["description", "sn", "userPassword", "aci"])),
                3 => Update::Rename,
                4 => Update::Move,
                _ => Update::Add,
            }),
            _ => Kind::Plain,
        };
        Request {
            dn,
            filter: chance.of(&FILTERS).replace("OTHER", other),
            other: other.to_owned(),
            scope: chance.of(&SCOPES),
            deref: chance.of(&DEREFS),
            size_limit: if chance.tenths(3) { 1 + chance.below(4) as u32 } else { 0 },
            types_only: chance.tenths(1),
            attributes: chance.of(&ATTRIBUTES),
            kind,
        }
    }

    pub fn is_update(&self) -> bool {
        matches!(self.kind, Kind::Update(_))
    }

    fn controls(&self, cookie: &[u8]) -> Vec<ControlBuf> {
        let key = |by: &'static str, reverse| SortKey { attribute: by.as_bytes(), ordering_rule: None, reverse };
        let page = |size| ControlBuf::new(control::PAGED_RESULTS, Some(PagedResults { size, cookie }.encode()));
        match self.kind {
            Kind::Plain | Kind::Compare(..) | Kind::Update(_) => Vec::new(),
            Kind::Managed => vec![ControlBuf::new(control::MANAGE_DSA_IT, None)],
            Kind::Sorted { by, reverse } => vec![controls::sort_request(&[key(by, reverse)])],
            Kind::Listed { by, offset } => {
                let target = VlvTarget::Offset { offset, content_count: 0 };
                let view = VlvRequest { before: 1, after: 2, target, context: None };
                vec![controls::sort_request(&[key(by, false)]), controls::vlv_request(&view)]
            }
            Kind::Paged(size) => vec![page(size)],
            Kind::SortedPages(size) => vec![controls::sort_request(&[key("sn", false)]), page(size)],
            Kind::Asserted => vec![controls::assertion(&filter::parse("(sn=frost)").unwrap())],
            Kind::Matched => {
                let values = ["(sn=frost)", "(cn=tree)"].map(|text| filter::parse(text).unwrap());
                vec![controls::matched_values(&values)]
            }
            Kind::Dereferenced(attribute) => vec![controls::dereference(&[(attribute, &["sn", "cn"])])],
        }
    }

    /// An update as a message.
    fn update(&self, update: Update) -> Vec<u8> {
        let mut out = Vec::new();
        let change = |operation, name: &'static str| (operation, name.as_bytes(), [&b"frost"[..]]);
        match update {
            Update::Delete => client::delete(&mut out, 1, &self.dn, &[]),
            Update::Replace(name) => {
                client::modify(&mut out, 1, &self.dn, [change(ModifyOperation::Replace, name)], &[]);
            }
            Update::AddValue(name) => client::modify(&mut out, 1, &self.dn, [change(ModifyOperation::Add, name)], &[]),
            Update::Rename => client::modify_dn(&mut out, 1, &self.dn, "uid=h1", true, None, &[]),
            Update::Move => client::modify_dn(&mut out, 1, &self.dn, "uid=h1", true, Some(&self.other), &[]),
            Update::Add => {
                let attributes = [(&b"objectClass"[..], [&b"account"[..]]), (b"uid", [b"h1"])];
                client::add(&mut out, 1, &format!("uid=h1,{}", self.dn), attributes, &[]);
            }
        }
        out
    }

    fn asked<'a>(&'a self, identity: &Identity, controls: &'a [ControlBuf]) -> Asked<'a> {
        Asked {
            scope: self.scope,
            deref: self.deref,
            size_limit: self.size_limit,
            types_only: self.types_only,
            attributes: self.attributes,
            controls,
            identity: identity.clone(),
            ..Asked::new(&self.dn, &self.filter)
        }
    }
}

/// What one asker sees of one request.
#[derive(Debug, PartialEq, Eq)]
pub enum Observed {
    Compared(ldap::ResultCode),
    Updated(ldap::ResultCode, String, String, Vec<String>),
    Searched(Vec<Answer>),
}

/// One answer to a search: one page, or all.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    result: (ldap::ResultCode, String, String, Vec<String>),
    entries: Vec<(String, BTreeMap<String, Vec<String>>)>,
    references: Vec<String>,
    controls: Vec<String>,
    unindexed: bool,
}

fn result_of(result: &LdapResult) -> (ldap::ResultCode, String, String, Vec<String>) {
    (result.code, result.message.clone(), result.matched_dn.clone(), result.referrals.clone())
}

/// Sends the request; pages are turned to the last.
pub fn observe(fixture: &mut Fixture, identity: &Identity, request: &Request) -> Observed {
    if let Kind::Compare(attribute, value) = request.kind {
        let value = if attribute == "isMemberOf" { &request.other } else { value };
        let identity = identity.clone();
        return Observed::Compared(fixture.compare(identity, &request.dn, attribute, value.as_bytes()));
    }
    if let Kind::Update(update) = request.kind {
        let message = request.update(update);
        let result = fixture.try_update_as(identity, &Message::decode(&message).unwrap());
        let (code, message, matched, referrals) = result_of(&result);
        return Observed::Updated(code, message, matched, referrals);
    }
    let (mut answers, mut cookie) = (Vec::new(), Vec::new());
    loop {
        let controls = request.controls(&cookie);
        cookie.clear();
        let answer = match fixture.search_into(&request.asked(identity, &controls), &mut Default::default()) {
            Err(done) => Answer {
                result: result_of(&done.result),
                entries: Vec::new(),
                references: Vec::new(),
                controls: done.controls.iter().map(|control| told(control, &mut cookie)).collect(),
                unindexed: done.unindexed,
            },
            Ok(found) => Answer {
                result: result_of(&found.done.result),
                controls: found.done.controls.iter().map(|control| told(control, &mut cookie)).collect(),
                unindexed: found.done.unindexed,
                entries: found.entries,
                references: found.references,
            },
        };
        answers.push(answer);
        assert!(answers.len() < 100, "the pages do not end");
        if cookie.is_empty() {
            return Observed::Searched(answers);
        }
    }
}

/// A control of a response as text; what is only good for the next page goes to `cookie`.
fn told(control: &ControlBuf, cookie: &mut Vec<u8>) -> String {
    match &*control.oid {
        control::PAGED_RESULTS => {
            let paged = PagedResults::decode(control.value.as_deref()).unwrap();
            cookie.extend_from_slice(paged.cookie);
            format!("page of {}, more: {}", paged.size, !paged.cookie.is_empty())
        }
        control::VLV_RESPONSE => {
            let told = VlvResponse::decode(control.value.as_deref()).unwrap();
            format!("{} of {}: {:?}", told.position, told.content_count, told.code)
        }
        _ => format!("{}: {:?}", control.oid, control.value),
    }
}
