//! Arbitrary filters and requests, owned, for the tests of this crate. Encoded here without the code under test.

#![allow(dead_code, reason = "every test file uses another part")]

use ber::Writer;
use ldap::client::{self, Search};
use ldap::{
    ControlBuf, DerefAliases, EntryRequest, ExtendedFault, Filter, FilterBuf, FilterNode, ModifyOperation,
    NotExecutable, Operation, Position, Scope, SearchRequest, Update,
};
use proptest::prelude::*;

/// A filter as a tree.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tree {
    And(Vec<Tree>),
    Or(Vec<Tree>),
    Not(Box<Tree>),
    /// Tag 0xa3, 0xa5, 0xa6 or 0xa8.
    Assertion(u8, String, Vec<u8>),
    Present(String),
    Substring(String, Vec<(u8, Vec<u8>)>),
    Extensible(Option<String>, Option<String>, Vec<u8>, bool),
}

impl Tree {
    pub fn encode(&self, w: &mut Writer<'_>) {
        match self {
            Tree::And(members) | Tree::Or(members) => {
                let mark = w.begin(if matches!(self, Tree::And(_)) { 0xa0 } else { 0xa1 });
                members.iter().for_each(|member| member.encode(w));
                w.end(mark);
            }
            Tree::Not(member) => {
                let mark = w.begin(0xa2);
                member.encode(w);
                w.end(mark);
            }
            Tree::Assertion(tag, attribute, value) => {
                let mark = w.begin(*tag);
                w.octets(4, attribute.as_bytes());
                w.octets(4, value);
                w.end(mark);
            }
            Tree::Present(attribute) => w.octets(0x87, attribute.as_bytes()),
            Tree::Substring(attribute, pieces) => {
                let mark = w.begin(0xa4);
                w.octets(4, attribute.as_bytes());
                let list = w.begin(0x30);
                pieces.iter().for_each(|(tag, piece)| w.octets(*tag, piece));
                w.end(list);
                w.end(mark);
            }
            Tree::Extensible(rule, attribute, value, dn) => {
                let mark = w.begin(0xa9);
                if let Some(rule) = rule {
                    w.octets(0x81, rule.as_bytes());
                }
                if let Some(attribute) = attribute {
                    w.octets(0x82, attribute.as_bytes());
                }
                w.octets(0x83, value);
                if *dn {
                    w.boolean(0x84, true);
                }
                w.end(mark);
            }
        }
    }

    /// Puts the members of every set in an order of their own, each once.
    pub fn sort(&mut self) {
        match self {
            Tree::And(members) | Tree::Or(members) => {
                members.iter_mut().for_each(Tree::sort);
                members.sort();
                members.dedup();
            }
            Tree::Not(member) => member.sort(),
            _ => {}
        }
    }

    pub fn to_ber(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode(&mut Writer::new(&mut out));
        out
    }

    /// RFC 4515, with every byte of every value escaped.
    pub fn to_text(&self) -> String {
        let escaped = |value: &[u8]| value.iter().map(|b| format!("\\{b:02X}")).collect::<String>();
        let joined = |members: &[Tree]| members.iter().map(Tree::to_text).collect::<String>();
        match self {
            Tree::And(members) => format!("(&{})", joined(members)),
            Tree::Or(members) => format!("(|{})", joined(members)),
            Tree::Not(member) => format!("(!{})", member.to_text()),
            Tree::Assertion(tag, attribute, value) => {
                let operator = match tag {
                    0xa3 => "=",
                    0xa5 => ">=",
                    0xa6 => "<=",
                    _ => "~=",
                };
                format!("({attribute}{operator}{})", escaped(value))
            }
            Tree::Present(attribute) => format!("({attribute}=*)"),
            Tree::Substring(attribute, pieces) => {
                let mut text = format!("({attribute}=");
                if pieces.first().is_none_or(|piece| piece.0 != 0x80) {
                    text.push('*');
                }
                for (tag, piece) in pieces {
                    text += &escaped(piece);
                    if *tag != 0x82 {
                        text.push('*');
                    }
                }
                text + ")"
            }
            Tree::Extensible(rule, attribute, value, dn) => format!(
                "({}{}{}:={})",
                attribute.as_deref().unwrap_or_default(),
                if *dn { ":dn" } else { "" },
                rule.as_ref().map_or(String::new(), |rule| format!(":{rule}")),
                escaped(value)
            ),
        }
    }

    /// From the flat program, following `end`.
    pub fn of(filter: &Filter<'_>) -> Tree {
        let nodes = filter.nodes();
        let (tree, end) = Self::of_node(nodes, 0);
        assert_eq!(end, nodes.len());
        tree
    }

    fn of_node(nodes: &[FilterNode<'_>], at: usize) -> (Tree, usize) {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let members = |end: usize| {
            let (mut members, mut next) = (Vec::new(), at + 1);
            while next < end {
                let (member, after) = Self::of_node(nodes, next);
                members.push(member);
                next = after;
            }
            assert_eq!(next, end, "a subtree ends where its parent says");
            members
        };
        let assertion = |tag, a: ldap::Assertion<'_>| Tree::Assertion(tag, text(a.attribute), a.value.to_vec());
        let tree = match nodes[at] {
            FilterNode::And { end } => Tree::And(members(end)),
            FilterNode::Or { end } => Tree::Or(members(end)),
            FilterNode::Not { end } => Tree::Not(Box::new(members(end).pop().unwrap())),
            FilterNode::Equality(a) => assertion(0xa3, a),
            FilterNode::GreaterOrEqual(a) => assertion(0xa5, a),
            FilterNode::LessOrEqual(a) => assertion(0xa6, a),
            FilterNode::Approx(a) => assertion(0xa8, a),
            FilterNode::Present(attribute) => Tree::Present(text(attribute)),
            FilterNode::Substring(s) => {
                let tag = |position| match position {
                    Position::Initial => 0x80,
                    Position::Any => 0x81,
                    Position::Final => 0x82,
                };
                Tree::Substring(text(s.attribute), s.pieces().map(|(p, piece)| (tag(p), piece.to_vec())).collect())
            }
            FilterNode::Extensible(e) => {
                Tree::Extensible(e.rule.map(text), e.attribute.map(text), e.value.to_vec(), e.dn_attributes)
            }
        };
        (tree, nodes[at].end(at))
    }
}

pub fn description() -> impl Strategy<Value = String> {
    "([a-zA-Z][a-zA-Z0-9-]{0,8}|[0-2](\\.[1-9][0-9]{0,3}){1,4})(;[a-z0-9-]{1,4}){0,2}"
}

pub fn octets() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![prop::collection::vec(any::<u8>(), 0..20), "\\PC{0,12}".prop_map(String::into_bytes)]
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    octets().prop_filter("a piece has a byte", |piece| !piece.is_empty())
}

fn pieces() -> impl Strategy<Value = Vec<(u8, Vec<u8>)>> {
    (prop::option::of(piece()), prop::collection::vec(piece(), 0..3), prop::option::of(piece()))
        .prop_map(|(initial, any, last)| {
            let initial = initial.map(|piece| (0x80, piece));
            let last = last.map(|piece| (0x82, piece));
            initial.into_iter().chain(any.into_iter().map(|piece| (0x81, piece))).chain(last).collect()
        })
        .prop_filter("there is a piece", |pieces: &Vec<_>| !pieces.is_empty())
}

pub fn tree() -> impl Strategy<Value = Tree> {
    let rule = || prop::option::of("[a-zA-Z][a-zA-Z0-9]{3,8}");
    let item = prop_oneof![
        (prop::sample::select(vec![0xa3u8, 0xa5, 0xa6, 0xa8]), description(), octets())
            .prop_map(|(tag, attribute, value)| Tree::Assertion(tag, attribute, value)),
        description().prop_map(Tree::Present),
        (description(), pieces()).prop_map(|(attribute, pieces)| Tree::Substring(attribute, pieces)),
        (rule(), prop::option::of(description()), octets(), any::<bool>())
            .prop_filter("a rule or an attribute", |(rule, attribute, ..)| rule.is_some() || attribute.is_some())
            .prop_map(|(rule, attribute, value, dn)| Tree::Extensible(rule, attribute, value, dn)),
    ];
    item.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Tree::And),
            prop::collection::vec(inner.clone(), 0..5).prop_map(Tree::Or),
            inner.prop_map(|member| Tree::Not(Box::new(member))),
        ]
    })
}

type Attributes = Vec<(String, Vec<Vec<u8>>)>;

/// A request that owns everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    Bind(String, Vec<u8>),
    Sasl(String, String, Option<Vec<u8>>),
    Unbind,
    Search(String, Scope, DerefAliases, u32, u32, bool, Tree, Vec<String>),
    Modify(String, Vec<(ModifyOperation, String, Vec<Vec<u8>>)>),
    Add(String, Attributes),
    Delete(String),
    ModifyDn(String, String, bool, Option<String>),
    Compare(String, String, Vec<u8>),
    Abandon(i32),
    Extended(String, Option<Vec<u8>>),
}

impl Asked {
    pub fn encode(&self, id: i32, controls: &[ControlBuf]) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Asked::Bind(name, password) => client::bind(&mut out, id, name, password, controls),
            Asked::Sasl(name, mechanism, credentials) => {
                client::sasl_bind(&mut out, id, name, mechanism, credentials.as_deref(), controls)
            }
            Asked::Unbind => client::unbind(&mut out, id),
            Asked::Search(base, scope, deref, size, time, types_only, filter, attributes) => {
                let filter = FilterBuf::from_ber(&filter.to_ber()).unwrap();
                let attributes: Vec<&str> = attributes.iter().map(String::as_str).collect();
                let search = Search {
                    base,
                    scope: *scope,
                    deref_aliases: *deref,
                    size_limit: *size,
                    time_limit_seconds: *time,
                    types_only: *types_only,
                    filter: &filter,
                    attributes: &attributes,
                };
                client::search(&mut out, id, &search, controls);
            }
            Asked::Modify(dn, changes) => {
                let changes = changes.iter().map(|(o, d, v)| (*o, d.as_bytes(), v.iter().map(Vec::as_slice)));
                client::modify(&mut out, id, dn, changes, controls);
            }
            Asked::Add(dn, attributes) => {
                let attributes = attributes.iter().map(|(d, v)| (d.as_bytes(), v.iter().map(Vec::as_slice)));
                client::add(&mut out, id, dn, attributes, controls);
            }
            Asked::Delete(dn) => client::delete(&mut out, id, dn, controls),
            Asked::ModifyDn(dn, rdn, delete_old, superior) => {
                client::modify_dn(&mut out, id, dn, rdn, *delete_old, superior.as_deref(), controls);
            }
            Asked::Compare(dn, attribute, value) => client::compare(&mut out, id, dn, attribute, value, controls),
            Asked::Abandon(target) => client::abandon(&mut out, id, *target, controls),
            Asked::Extended(oid, value) => client::extended(&mut out, id, oid, value.as_deref(), controls),
        }
        out
    }

    pub fn of(operation: &Operation<'_>) -> Asked {
        match operation {
            Operation::Bind(bind) => {
                assert_eq!(bind.version, 3);
                match bind.authentication {
                    ldap::Authentication::Simple(password) => Asked::Bind(text(bind.name), password.to_vec()),
                    ldap::Authentication::Unknown { tag } => panic!("authentication choice {tag:#04x}"),
                    ldap::Authentication::Sasl { mechanism, credentials } => {
                        Asked::Sasl(text(bind.name), text(mechanism), credentials.map(<[u8]>::to_vec))
                    }
                }
            }
            Operation::Unbind => Asked::Unbind,
            Operation::Search(s) => {
                let again = SearchRequest::decode(s.encoded()).unwrap();
                assert_eq!(format!("{again:?}"), format!("{s:?}"), "what is kept is the request");
                let attributes = s.attributes.iter().map(text).collect();
                let tree = Tree::of(&s.filter);
                let (size, time) = (s.size_limit, s.time_limit_seconds);
                Asked::Search(text(s.base), s.scope, s.deref_aliases, size, time, s.types_only, tree, attributes)
            }
            Operation::Update(Update::Entry(update)) => {
                let again = EntryRequest::decode(update.encoded()).unwrap();
                assert_eq!(format!("{again:?}"), format!("{:?}", update.request()), "what is kept is the request");
                Self::of_entry(update.request())
            }
            Operation::Compare(c) => Asked::Compare(text(c.entry), text(c.attribute), c.value.to_vec()),
            Operation::Abandon(target) => Asked::Abandon(*target),
            Operation::NotExecutable(NotExecutable { oid, fault: ExtendedFault::Unknown }) => {
                Asked::Extended(text(oid), None)
            }
            other => panic!("nobody asked for {other:?}"),
        }
    }

    fn of_entry(request: &EntryRequest<'_>) -> Asked {
        let values = |values: ldap::Values<'_>| values.iter().map(<[u8]>::to_vec).collect::<Vec<_>>();
        match request {
            EntryRequest::Modify(m) => {
                let change =
                    |c: ldap::Change<'_>| (c.operation, text(c.attribute.description), values(c.attribute.values));
                Asked::Modify(text(m.object), m.changes.iter().map(change).collect())
            }
            EntryRequest::Add(a) => {
                let attribute = |a: ldap::Attribute<'_>| (text(a.description), values(a.values));
                Asked::Add(text(a.entry), a.attributes.iter().map(attribute).collect())
            }
            EntryRequest::Delete(dn) => Asked::Delete(text(dn)),
            EntryRequest::ModifyDn(m) => {
                Asked::ModifyDn(text(m.entry), text(m.new_rdn), m.delete_old_rdn, m.new_superior.map(text))
            }
        }
    }

    /// What is left of it when it was decoded: of an extended operation that nobody knows, the OID.
    pub fn decoded(self) -> Asked {
        if let Asked::Extended(oid, _) = self { Asked::Extended(oid, None) } else { self }
    }

    /// With sets of values in an order of their own, since sets have none.
    pub fn sorted(mut self) -> Asked {
        let sort = |values: &mut Vec<Vec<u8>>| {
            values.sort();
            values.dedup();
        };
        match &mut self {
            Asked::Add(_, attributes) => attributes.iter_mut().for_each(|(_, values)| sort(values)),
            Asked::Modify(_, changes) => changes.iter_mut().for_each(|(_, _, values)| sort(values)),
            Asked::Search(_, _, _, _, _, _, filter, _) => filter.sort(),
            _ => {}
        }
        self
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn oid() -> impl Strategy<Value = String> {
    "[0-2](\\.[1-9][0-9]{0,4}){1,6}"
}

pub fn controls() -> impl Strategy<Value = Vec<ControlBuf>> {
    let control = (oid(), any::<bool>(), prop::option::of(octets())).prop_map(|(oid, critical, value)| ControlBuf {
        oid,
        critical,
        value,
    });
    prop::collection::vec(control, 0..4)
}

pub fn asked() -> impl Strategy<Value = Asked> {
    let name = || "\\PC{0,30}";
    let scope = prop::sample::select(vec![
        Scope::BaseObject,
        Scope::SingleLevel,
        Scope::WholeSubtree,
        Scope::SubordinateSubtree,
    ]);
    let deref = prop::sample::select(vec![
        DerefAliases::Never,
        DerefAliases::InSearching,
        DerefAliases::FindingBaseObject,
        DerefAliases::Always,
    ]);
    let operation = prop::sample::select(vec![
        ModifyOperation::Add,
        ModifyOperation::Delete,
        ModifyOperation::Replace,
        ModifyOperation::Increment,
    ]);
    let limit = || 0u32..=0x7fff_ffff;
    prop_oneof![
        (name(), octets()).prop_map(|(name, password)| Asked::Bind(name, password)),
        (name(), "[A-Z0-9-]{1,12}", prop::option::of(octets())).prop_map(|(n, m, c)| Asked::Sasl(n, m, c)),
        Just(Asked::Unbind),
        (name(), scope, deref, limit(), limit(), any::<bool>(), tree(), prop::collection::vec(description(), 0..4))
            .prop_map(|(b, s, d, z, t, o, f, a)| Asked::Search(b, s, d, z, t, o, f, a)),
        (name(), prop::collection::vec((operation, description(), prop::collection::vec(octets(), 0..4)), 0..4))
            .prop_map(|(dn, changes)| Asked::Modify(dn, changes)),
        (name(), prop::collection::vec((description(), prop::collection::vec(octets(), 1..4)), 0..4))
            .prop_map(|(dn, attributes)| Asked::Add(dn, attributes)),
        name().prop_map(Asked::Delete),
        (name(), name(), any::<bool>(), prop::option::of(name())).prop_map(|(d, r, o, s)| Asked::ModifyDn(d, r, o, s)),
        (name(), description(), octets()).prop_map(|(d, a, v)| Asked::Compare(d, a, v)),
        (1i32..).prop_map(Asked::Abandon),
        (oid(), prop::option::of(octets())).prop_map(|(oid, value)| Asked::Extended(oid, value)),
    ]
}
