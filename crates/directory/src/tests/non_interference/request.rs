//! Random requests, with the controls that read, as somebody or through proxied authorization.

use ldap::client::{self, controls};
use ldap::controls::{SortKey, VlvRequest, VlvTarget};
use ldap::extended::PasswordModify;
use ldap::oids::{control, extended};
use ldap::{ControlBuf, DerefAliases, ModifyOperation, Scope, filter};

use super::chance::Chance;
use super::given;
use super::world::{HIDDEN, WORDS, World, hidden_dn, person_dn};

const SCOPES: [Scope; 4] = [Scope::BaseObject, Scope::SingleLevel, Scope::WholeSubtree, Scope::SubordinateSubtree];
const FILTERS: [&str; 20] = [
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
    "(!(memberOf=OTHER))",
    "(member=OTHER)",
    "(member:1.2.840.113556.1.4.1941:=OTHER)",
    "(seeAlso=OTHER)",
    "(numSubordinates>=1)",
    "(&(objectClass=inetOrgPerson)(!(hasSubordinates=TRUE)))",
    "(&(description=d0)(!(isMemberOf=OTHER)))",
    "(objectClass=ldapSubEntry)",
    "(|(objectClass=subentry)(uid=u*))",
    "(userPassword=*)",
];
/// What a search looks at besides depends on the index that is chosen, and that on all entries.
const ALL_THAT_SHOW: [&str; 3] = ["(objectClass=*)", "(employeeType=seen)", "(|(entryUUID=*)(employeeType=seen))"];
const ATTRIBUTES: [&[&str]; 8] = [
    &["*", "isMemberOf", "memberOf", "hasSubordinates", "numSubordinates", "entryDN"],
    &["cn", "sn", "member"],
    &["1.1"],
    &["member", "telephoneNumber", "secretary"],
    &["nsRole", "postalCode", "street", "displayName", "c-l", "l", "carLicense", "departmentNumber"],
    &["mail", "homePhone", "member;range=0-0"],
    &["aclRights", "aclRightsInfo", "sn", "cn", "member"],
    &["debugsearchindex"],
];
const DEREFS: [DerefAliases; 4] =
    [DerefAliases::Never, DerefAliases::InSearching, DerefAliases::FindingBaseObject, DerefAliases::Always];
const COMPARED: [&str; 12] = [
    "sn",
    "cn",
    "description",
    "isMemberOf",
    "nosuch",
    "employeeType",
    "nsRole",
    "postalCode",
    "displayName",
    "member",
    "userPassword",
    "mail",
];

/// A request, as often as it takes to see all of its answer.
#[derive(Clone, Debug)]
pub struct Request {
    pub dn: String,
    pub other: String,
    pub kind: Kind,
    /// Controls that are the same each time.
    pub controls: Vec<ControlBuf>,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Search(Search),
    Compare(&'static str, String),
    Update(Update),
}

#[derive(Clone, Debug)]
pub struct Search {
    pub filter: String,
    pub scope: Scope,
    pub deref: DerefAliases,
    pub size_limit: u32,
    pub types_only: bool,
    pub attributes: &'static [&'static str],
    pub shape: Shape,
}

/// In how many answers the entries come.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    Whole,
    /// Pages of that size.
    Paged(u32),
    /// Views of a list around these places.
    Views([Place; 2]),
}

/// A place in a list.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    At(u32),
    From(&'static str),
}

#[derive(Clone, Debug)]
pub enum Update {
    Delete,
    Modify(Vec<(ModifyOperation, &'static str, Option<String>)>),
    Rename { rdn: String, delete_old: bool },
    Move,
    Add,
    Password,
}

impl Request {
    pub fn new(chance: &mut Chance, world: &World, is_proxied: bool) -> Request {
        let (mut dn, other) = (world.some_name(chance), world.some_name(chance));
        let mut controls = Vec::new();
        let kind = match chance.below(20) {
            0..=2 => {
                let value = chance.of(&["frost", "tree", "d0", "seen", "r0", "tree d1", "m1@example.com"]).to_owned();
                Kind::Compare(chance.of(&COMPARED), if chance.tenths(4) { other.clone() } else { value })
            }
            3..=7 => Kind::Update(update(chance, &dn, &mut controls)),
            _ => Kind::Search(search(chance, world, &other, &mut controls)),
        };
        // Whoever may add entries anywhere may add them below one that does not show.
        if matches!(kind, Kind::Update(Update::Add)) && world.entry(&dn).is_none_or(|entry| !entry.shows) {
            dn = world.branch(chance);
        }
        if chance.tenths(1) {
            let text = chance.of(&["(sn=frost)", "(description=d0)", "(|(sn=moss)(objectClass=*))", "(isMemberOf=*)"]);
            controls.push(controls::assertion(&filter::parse(text).unwrap()));
        }
        if is_proxied {
            let whom = match chance.below(10) {
                0 => format!("dn:{}", hidden_dn(chance.below(HIDDEN))),
                1 => format!("u:{}", chance.of(&["h1", "h2", "u1", "nobody"])),
                _ => format!("dn:{}", person_dn(0)),
            };
            controls.push(ControlBuf::new(control::PROXIED_AUTHORIZATION, Some(whom.into_bytes())).critical());
        }
        Request { dn, other, kind, controls }
    }

    /// The request as a message; `more` are controls of this time.
    pub fn message(&self, more: Vec<ControlBuf>) -> Vec<u8> {
        let controls: Vec<ControlBuf> = self.controls.iter().cloned().chain(more).collect();
        let mut out = Vec::new();
        match &self.kind {
            Kind::Search(search) => {
                let filter = filter::parse(&search.filter).unwrap();
                let asked = client::Search {
                    base: &self.dn,
                    scope: search.scope,
                    deref_aliases: search.deref,
                    size_limit: search.size_limit,
                    time_limit_seconds: 0,
                    types_only: search.types_only,
                    filter: &filter,
                    attributes: search.attributes,
                };
                client::search(&mut out, 7, &asked, &controls);
            }
            Kind::Compare(attribute, value) => {
                client::compare(&mut out, 7, &self.dn, attribute, value.as_bytes(), &controls);
            }
            Kind::Update(update) => self.put_update(update, &controls, &mut out),
        }
        out
    }

    fn put_update(&self, update: &Update, controls: &[ControlBuf], out: &mut Vec<u8>) {
        match update {
            Update::Delete => client::delete(out, 7, &self.dn, controls),
            Update::Modify(changes) => {
                let changes = changes.iter().map(|(operation, name, value)| {
                    (*operation, name.as_bytes(), value.iter().map(String::as_bytes).collect::<Vec<_>>())
                });
                client::modify(out, 7, &self.dn, changes, controls);
            }
            Update::Rename { rdn, delete_old } => {
                client::modify_dn(out, 7, &self.dn, rdn, *delete_old, None, controls);
            }
            Update::Move => {
                let rdn = self.dn.split(',').next().unwrap_or_default();
                client::modify_dn(out, 7, &self.dn, rdn, false, Some(&self.other), controls);
            }
            Update::Add => {
                let attributes: [(&[u8], &[&[u8]]); 6] = [
                    (b"objectClass", &[b"inetOrgPerson", b"extensibleObject"]),
                    (b"uid", &[b"fresh"]),
                    (b"cn", &[b"fresh"]),
                    (b"sn", &[b"frost"]),
                    (b"employeeType", &[b"seen", b"open"]),
                    (b"description", &[b"d0"]),
                ];
                let attributes = attributes.map(|(name, values)| (name, values.to_vec()));
                client::add(out, 7, &format!("uid=fresh,{}", self.dn), attributes, controls);
            }
            Update::Password => {
                let value = PasswordModify {
                    user_identity: Some(self.dn.as_bytes()),
                    old_password: None,
                    new_password: Some(b"another secret"),
                };
                client::extended(out, 7, extended::PASSWORD_MODIFY, Some(&value.encode()), controls);
            }
        }
    }
}

fn search(chance: &mut Chance, world: &World, other: &str, controls: &mut Vec<ControlBuf>) -> Search {
    let mut text = if chance.tenths(4) { chance.of(&given::FILTERS) } else { chance.of(&FILTERS) };
    if world.lookthrough.is_some() {
        text = chance.of(&ALL_THAT_SHOW);
    }
    let by = chance.of(&["sn", "cn", "telephoneNumber", "name", "postalCode"]);
    let sort = |reverse| {
        controls::sort_request(&[SortKey { attribute: by.as_bytes(), ordering_rule: None, reverse }]).critical()
    };
    let place = |chance: &mut Chance| match chance.below(3) {
        0 => Place::From(chance.of(&WORDS)),
        _ => Place::At(1 + chance.below(7) as u32),
    };
    let shape = match chance.below(8) {
        0 | 1 => Shape::Paged(1 + chance.below(3) as u32),
        2 => Shape::Views([place(chance), place(chance)]),
        _ => Shape::Whole,
    };
    if matches!(shape, Shape::Views(_)) || chance.tenths(2) {
        let reverse = chance.tenths(3);
        controls.push(sort(reverse));
    }
    let mut attributes = chance.of(&ATTRIBUTES);
    match chance.below(14) {
        0 | 1 => controls.push(ControlBuf::new(control::MANAGE_DSA_IT, None)),
        2 => controls.push(controls::subentries(chance.tenths(7))),
        3 => {
            let values = ["(sn=frost)", "(cn=tree)", "(member=*)"].map(|text| filter::parse(text).unwrap());
            controls.push(controls::matched_values(&values));
        }
        4 => controls.push(controls::dereference(&[(
            chance.of(&["member", "seeAlso", "manager", "roleOccupant"]),
            &["sn", "cn", "isMemberOf", "postalCode"],
        )])),
        5 => controls.push(ControlBuf::new(control::REAL_ATTRIBUTES_ONLY, None)),
        6 => controls.push(ControlBuf::new(control::VIRTUAL_ATTRIBUTES_ONLY, None)),
        7 => {
            let whom = chance.of(&[0, 1, 2]);
            controls.push(controls::effective_rights(&format!("dn:{}", person_dn(whom)), &["sn", "seeAlso", "nosuch"]));
            attributes = &["aclRights", "aclRightsInfo", "*"];
        }
        _ => {}
    }
    Search {
        filter: text.replace("OTHER", other),
        scope: chance.of(&SCOPES),
        deref: chance.of(&DEREFS),
        size_limit: if chance.tenths(3) { 1 + chance.below(4) as u32 } else { 0 },
        types_only: chance.tenths(1),
        attributes,
        shape,
    }
}

fn update(chance: &mut Chance, dn: &str, controls: &mut Vec<ControlBuf>) -> Update {
    let read = ["description", "sn", "isMemberOf", "numSubordinates", "postalCode", "nsRole", "*"];
    if chance.tenths(3) {
        controls.push(controls::pre_read(&read));
    }
    if chance.tenths(3) {
        controls.push(controls::post_read(&read));
    }
    if chance.tenths(1) {
        controls.push(ControlBuf::new(control::MANAGE_DSA_IT, None));
    }
    match chance.below(10) {
        0 => {
            if chance.tenths(3) {
                controls.push(ControlBuf::new(control::SUBTREE_DELETE, None).critical());
            }
            Update::Delete
        }
        1 => Update::Rename { rdn: "uid=fresh".to_owned(), delete_old: chance.tenths(7) },
        2 => Update::Move,
        3 => Update::Add,
        4 => Update::Password,
        _ => {
            let count = 1 + usize::from(chance.tenths(3));
            Update::Modify((0..count).map(|_| change(chance, dn)).collect())
        }
    }
}

fn change(chance: &mut Chance, dn: &str) -> (ModifyOperation, &'static str, Option<String>) {
    let operation = chance.of(&[ModifyOperation::Add, ModifyOperation::Replace, ModifyOperation::Delete]);
    let name = chance.of(&[
        "description",
        "description",
        "title",
        "title",
        "seeAlso",
        "sn",
        "nosuch",
        "entryUUID",
        "userPassword",
        "aci",
        "member",
    ]);
    let value = match name {
        "seeAlso" | "member" => dn.to_owned(),
        "description" => format!("d{}", chance.below(3)),
        _ => "frost".to_owned(),
    };
    let has_value = operation == ModifyOperation::Add || chance.tenths(7);
    (operation, name, has_value.then_some(value))
}

impl Place {
    /// A view of the list around this place.
    pub fn view(self, content_count: u32, context: Option<&[u8]>) -> ControlBuf {
        let target = match self {
            Place::At(offset) => VlvTarget::Offset { offset, content_count },
            Place::From(value) => VlvTarget::Assertion(value.as_bytes()),
        };
        controls::vlv_request(&VlvRequest { before: 1, after: 2, target, context }).critical()
    }
}
