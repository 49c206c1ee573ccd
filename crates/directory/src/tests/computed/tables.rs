//! Tables of type `user-defined`.

use ldap::{ModifyOperation, ResultCode, Scope};

use super::*;
use crate::tests::groups::modify;

const LDIF: &str = "dn: dc=example,dc=com
objectClass: domain
dc: example

dn: ou=people,dc=example,dc=com
objectClass: organizationalUnit
ou: people

dn: uid=ann,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: ann
cn: ann
sn: Frost
l: Athens

dn: uid=ben,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: ben
cn: ben
sn: Hill

dn: ou=guests,dc=example,dc=com
objectClass: organizationalUnit
ou: guests

dn: uid=cay,ou=guests,dc=example,dc=com
objectClass: inetOrgPerson
uid: cay
cn: cay
sn: Hill
l;lang-en: Corinth
";

fn table(attribute: &str, values: &[&str]) -> VirtualAttributeConfig {
    VirtualAttributeConfig {
        name: attribute.to_owned(),
        line: 1,
        column: 1,
        attribute: attribute.to_owned(),
        enabled: true,
        kind: VirtualAttributeKind::UserDefined {
            values: values.iter().map(|value| (*value).to_owned()).collect(),
            given: Box::new(GivenTo {
                base_dns: Vec::new(),
                scope: Scope::WholeSubtree,
                group_dns: Vec::new(),
                filter: "(objectClass=person)".to_owned(),
                conflict: ConflictBehavior::RealOverridesVirtual,
            }),
        },
    }
}

fn with(set: impl FnOnce(&mut GivenTo)) -> Fixture {
    let mut table = table("l", &["Sparta", "Thebes"]);
    let VirtualAttributeKind::UserDefined { given, .. } = &mut table.kind else { unreachable!() };
    set(given);
    Fixture::with(&[BASE], default_indexes(), LDIF, |config| config.virtual_attributes.push(table))
}

// S2-40 S2-42
#[test]
fn values_are_shown_found_and_compared() {
    let mut it = with(|_| {});
    assert_eq!(of(&mut it, "ann", "l"), ["Athens"], "what is stored wins");
    assert_eq!(of(&mut it, "ben", "l"), ["Sparta", "Thebes"]);
    assert_eq!(of(&mut it, "cay", "l"), ["Sparta", "Thebes"], "a value with options is another attribute");
    assert_eq!(matching(&mut it, "(l=SPARTA)"), ["ben", "cay"]);
    assert_eq!(matching(&mut it, "(&(sn=hill)(l=thebes))"), ["ben", "cay"]);
    assert_eq!(matching(&mut it, "(l=Athens)"), ["ann"]);
    assert_eq!(matching(&mut it, "(l=Corinth)"), ["cay"]);
    assert_eq!(matching(&mut it, "(l=*art*)"), ["ben", "cay"]);
    assert_eq!(matching(&mut it, "(&(uid=*)(!(l=sparta)))"), ["ann"]);
    assert_eq!(matching(&mut it, "(name=thebes)"), ["ben", "cay"], "l is a name");
    assert_eq!(matching(&mut it, "(l=*)"), ["ann", "ben", "cay"]);
    assert_eq!(matching(&mut it, "(l;lang-en=Sparta)"), Vec::<String>::new());
    let compare = |it: &Fixture, uid: &str, value: &[u8]| {
        let ou = if uid == "cay" { "guests" } else { "people" };
        it.compare(user(), &format!("uid={uid},ou={ou},{BASE}"), "l", value)
    };
    assert_eq!(compare(&it, "ben", b"sparta"), ResultCode::COMPARE_TRUE);
    assert_eq!(compare(&it, "ann", b"sparta"), ResultCode::COMPARE_FALSE);
    assert_eq!(compare(&it, "ann", b"athens"), ResultCode::COMPARE_TRUE);
}

#[test]
fn all_attributes_bring_them_and_controls_leave_them_out() {
    use ldap::oids::control::{REAL_ATTRIBUTES_ONLY, VIRTUAL_ATTRIBUTES_ONLY};
    let mut it = with(|given| given.conflict = ConflictBehavior::MergeRealAndVirtual);
    let mut ann = |controls: &[&str], attributes: &[&str], types_only| {
        let controls: Vec<_> = controls.iter().map(|oid| ldap::ControlBuf::new(oid, None)).collect();
        let asked = Asked { controls: &controls, attributes, types_only, ..Asked::new(BASE, "(uid=ann)") };
        it.search(&asked).unwrap().entries.remove(0).1.get("l").cloned()
    };
    let values = |values: &[&str]| Some(values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>());
    assert_eq!(ann(&[], &[], false), values(&["Athens", "Sparta", "Thebes"]));
    assert_eq!(ann(&[], &["*"], true), values(&[]));
    assert_eq!(ann(&[], &["name"], false), values(&["Athens", "Sparta", "Thebes"]));
    assert_eq!(ann(&[], &["cn", "+"], false), None);
    assert_eq!(ann(&[REAL_ATTRIBUTES_ONLY], &[], false), values(&["Athens"]));
    assert_eq!(ann(&[VIRTUAL_ATTRIBUTES_ONLY], &["l"], false), values(&["Sparta", "Thebes"]));
}

#[test]
fn what_is_stored_gives_way_where_the_table_says_so() {
    let mut it = with(|given| given.conflict = ConflictBehavior::VirtualOverridesReal);
    assert_eq!(of(&mut it, "ann", "l"), ["Sparta", "Thebes"]);
    assert_eq!(matching(&mut it, "(l=Athens)"), Vec::<String>::new());
    assert_eq!(matching(&mut it, "(l=thebes)"), ["ann", "ben", "cay"]);
}

#[test]
fn only_entries_in_scope_get_them() {
    let people = format!("OU=People,{BASE}");
    let mut it = with(|given| given.base_dns = vec![people.clone()]);
    assert_eq!(matching(&mut it, "(l=thebes)"), ["ben"]);
    let mut it = with(|given| (given.base_dns, given.scope) = (vec![BASE.to_owned()], Scope::SingleLevel));
    assert_eq!(matching(&mut it, "(l=thebes)"), Vec::<String>::new());
    let mut it = with(|given| {
        (given.base_dns, given.scope) = (vec![people.clone(), "dc=com".to_owned()], Scope::SubordinateSubtree);
    });
    assert_eq!(matching(&mut it, "(l=thebes)"), ["ben", "cay"]);
    let mut it = with(|given| given.filter = "(sn=hill)".to_owned());
    assert_eq!(matching(&mut it, "(l=thebes)"), ["ben", "cay"]);
    modify(&it, &format!("uid=ben,{people}"), ModifyOperation::Replace, "sn", "Vale");
    assert_eq!(matching(&mut it, "(l=thebes)"), ["cay"]);
    let mut it = with(|given| given.group_dns = vec![format!("cn=none,{BASE}")]);
    assert_eq!(matching(&mut it, "(l=thebes)"), Vec::<String>::new());
}

/// The base entry of a suffix is below no other entry, whatever its name says.
#[test]
fn a_suffix_below_the_base_is_in_scope() {
    let mut table = table("l", &["Sparta"]);
    let VirtualAttributeKind::UserDefined { given, .. } = &mut table.kind else { unreachable!() };
    (given.base_dns, given.scope) = (vec![BASE.to_owned()], Scope::SubordinateSubtree);
    given.filter = "(objectClass=*)".to_owned();
    let people = format!("ou=people,{BASE}");
    let mut it =
        Fixture::with(&[BASE, &people], default_indexes(), LDIF, |config| config.virtual_attributes.push(table));
    assert_eq!(matching(&mut it, "(l=sparta)"), ["ben", "cay", "guests", "people"]);
    assert_eq!(of(&mut it, "ben", "l"), ["Sparta"]);
}

/// Whoever may not search unindexed is refused where nothing narrows, and only there.
#[test]
fn a_filter_that_everybody_matches_is_unindexed_unless_something_narrows() {
    let few = |config: &mut config::Config, table| {
        config.virtual_attributes.push(table);
        config.backends[0].index_entry_limit = 2;
    };
    let mut every = table("title", &["Queen"]);
    let VirtualAttributeKind::UserDefined { given, .. } = &mut every.kind else { unreachable!() };
    given.filter = "(objectClass=*)".to_owned();
    let mut it = Fixture::with(&[BASE], default_indexes(), LDIF, |config| few(config, every.clone()));
    let asked = |filter| Asked { identity: user(), ..Asked::new(BASE, filter) };
    let refused = it.search(&asked("(title=queen)")).unwrap_err();
    assert_eq!(refused.code, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    assert_eq!(it.dns(&asked("(&(uid=ben)(title=queen))")).len(), 1);
    let VirtualAttributeKind::UserDefined { given, .. } = &mut every.kind else { unreachable!() };
    given.filter = "(sn=hill)".to_owned();
    let mut it = Fixture::with(&[BASE], default_indexes(), LDIF, |config| few(config, every));
    assert_eq!(it.dns(&asked("(title=queen)")).len(), 2, "the table's own filter is indexed");
}

#[test]
fn tables_that_cannot_be_are_refused() {
    let why = |table| {
        let mut config = None;
        drop(Fixture::with(&[BASE], default_indexes(), LDIF, |it| config = Some(it.clone())));
        let mut config = config.unwrap();
        config.virtual_attributes.push(table);
        crate::Directory::open(&config).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(why(table("colour", &["red"])).contains("pando.toml:1:1: [virtual-attribute.colour]"));
    assert!(why(table("userPassword", &["x"])).contains("must be stored"));
    assert!(why(table("entryUUID", &["x"])).contains("server's own"));
    assert!(why(table("employeeNumber", &["1", "2"])).contains("one value only"));
    let mut grouped = table("l", &["x"]);
    let VirtualAttributeKind::UserDefined { given, .. } = &mut grouped.kind else { unreachable!() };
    given.filter = "(memberOf=cn=a)".to_owned();
    assert!(why(grouped).contains("asks for groups"));
}
