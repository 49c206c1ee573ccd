//! One case after the other: limits, access, referrals, aliases, the server's own entries.

use config::{IndexConfig, default_indexes};
use ldap::oids::control;
use ldap::{ControlBuf, DerefAliases, ResultCode, Scope};

use super::fixture::{Asked, Collector, Fixture, user};
use crate::Identity;

const LDIF: &str = "\
dn: dc=example,dc=com
objectClass: domain
dc: example

dn: uid=ann,dc=example,dc=com
objectClass: inetOrgPerson
cn: Ann Tree
sn: Tree
userPassword: secret12
mail: ann@example.com
description;lang-fr: une personne

dn: ou=Old,dc=example,dc=com
objectClass: organizationalUnit

dn: uid=bob,ou=Old,dc=example,dc=com
objectClass: inetOrgPerson
cn: Bob Leaf
sn: Leaf

";

fn fixture() -> Fixture {
    Fixture::new(&["dc=example,dc=com"], default_indexes(), LDIF)
}

#[test]
fn attributes_are_selected_as_asked() {
    let mut it = fixture();
    let mut names = |attributes: &[&str], identity: Identity| {
        let asked = Asked { attributes, identity, ..Asked::new("dc=example,dc=com", "(uid=ann)") };
        let found = it.search(&asked).unwrap();
        assert_eq!(found.dns(), ["uid=ann,dc=example,dc=com"]);
        found.entries[0].1.keys().cloned().collect::<Vec<_>>().join(" ")
    };
    let root = super::fixture::root;
    assert_eq!(names(&[], root()), "cn description;lang-fr mail objectClass sn uid userPassword");
    assert_eq!(names(&["*"], user()), "cn description;lang-fr mail objectClass sn uid");
    assert_eq!(names(&["userPassword"], user()), "");
    assert_eq!(names(&["1.1"], root()), "");
    assert_eq!(names(&["NAME", "1.1"], root()), "cn sn");
    assert_eq!(names(&["description"], root()), "description;lang-fr");
    assert_eq!(names(&["description;lang-en"], root()), "");
    assert_eq!(names(&["cn;binary", "cn;binary;range=0-1"], root()), "");
    assert_eq!(names(&["description;LANG-fr", "nosuch"], root()), "description;lang-fr");
    assert_eq!(names(&["@domain"], root()), "description;lang-fr objectClass userPassword");
    let operational = names(&["+"], user());
    for name in
        ["entryDN", "entryUUID", "hasSubordinates", "numSubordinates", "structuralObjectClass", "subschemaSubentry"]
    {
        assert!(operational.split(' ').any(|known| known == name), "{name} in {operational}");
    }
    assert!(!operational.contains("cn "));
}

#[test]
fn computed_attributes_are_true_and_can_be_searched() {
    let mut it = fixture();
    let asked = Asked {
        attributes: &["entryDN", "hasSubordinates", "numSubordinates", "structuralObjectClass", "subschemaSubentry"],
        ..Asked::new("dc=example,dc=com", "(objectClass=organizationalUnit)")
    };
    let found = it.search(&asked).unwrap();
    let value = |name: &str| found.entries[0].1[name].join("|");
    assert_eq!(value("entryDN"), "ou=Old,dc=example,dc=com");
    assert_eq!((value("hasSubordinates"), value("numSubordinates")), ("TRUE".to_owned(), "1".to_owned()));
    assert_eq!(value("structuralObjectClass"), "organizationalUnit");
    assert_eq!(value("subschemaSubentry"), "cn=schema");
    let mut dns = |filter: &str| it.dns(&Asked::new("dc=example,dc=com", filter));
    assert_eq!(dns("(entryDN=UID=bob, ou=old,dc=example,dc=com)"), ["uid=bob,ou=Old,dc=example,dc=com"]);
    assert_eq!(dns("(hasSubordinates=TRUE)"), ["dc=example,dc=com", "ou=Old,dc=example,dc=com"]);
    assert_eq!(dns("(numSubordinates>=2)"), ["dc=example,dc=com"]);
    assert_eq!(dns("(structuralObjectClass=inetOrgPerson)").len(), 2);
    assert_eq!(dns("(ou:dn:=old)"), ["ou=Old,dc=example,dc=com", "uid=bob,ou=Old,dc=example,dc=com"]);
    assert_eq!(dns("(:dn:caseIgnoreMatch:=old)"), ["ou=Old,dc=example,dc=com", "uid=bob,ou=Old,dc=example,dc=com"]);
    assert_eq!(dns("(:caseIgnoreMatch:=leaf)"), ["uid=bob,ou=Old,dc=example,dc=com"]);
    assert_eq!(dns("(sn:caseExactMatch:=leaf)"), [""; 0]);
    assert_eq!(dns("(cn~=an tre)"), ["uid=ann,dc=example,dc=com"]);
}

#[test]
fn types_only_gives_no_values() {
    let mut it = fixture();
    let asked = Asked { types_only: true, attributes: &["*", "+"], ..Asked::new("dc=example,dc=com", "(uid=ann)") };
    let found = it.search(&asked).unwrap();
    assert!(found.entries[0].1.len() > 10);
    assert!(found.entries[0].1.values().all(Vec::is_empty));
}

#[test]
fn passwords_cannot_be_asserted_or_compared_by_users() {
    let mut it = fixture();
    let mut count =
        |filter: &str, identity| it.dns(&Asked { identity, ..Asked::new("dc=example,dc=com", filter) }).len();
    assert_eq!(count("(&(uid=ann)(userPassword=*))", super::fixture::root()), 1);
    assert_eq!(count("(&(uid=ann)(userPassword=*))", user()), 0);
    // Undefined stays so under Not.
    assert_eq!(count("(&(uid=ann)(!(userPassword=*)))", user()), 0);
}

#[test]
fn limits_are_exact() {
    let mut ldif = "dn: dc=example,dc=com\nobjectClass: domain\n\n".to_owned();
    for at in 0..10 {
        ldif.push_str(&format!("dn: uid=u{at},dc=example,dc=com\nobjectClass: account\ndescription: same\n\n"));
    }
    let index =
        |entry_limit| IndexConfig { entry_limit, ..IndexConfig::new("description", &[config::IndexKind::Equality]) };
    let base = "dc=example,dc=com";
    // A key with exactly as many entries as the limit is indexed, one more is not; 0 is no limit.
    // Whichever it is, root gets all entries. S0-01 S0-10
    for (limit, unindexed) in [(10, false), (9, true), (0, false)] {
        let small = |config: &mut config::Config| config.backends[0].index_entry_limit = 3;
        let mut it = Fixture::with(&[base], vec![index(limit)], &ldif, small);
        let found = it.search(&Asked::new(base, "(description=same)")).unwrap();
        assert_eq!((found.entries.len(), found.done.unindexed), (10, unindexed), "{limit}");
    }
    let mut it = Fixture::with(&[base], vec![index(0)], &ldif, |config| {
        config.global.size_limit = Some(4);
        config.global.lookthrough_limit = Some(7);
    });
    let as_user = |size_limit| Asked { identity: user(), size_limit, ..Asked::new(base, "(description=same)") };
    let found = it.search(&as_user(0)).unwrap();
    assert_eq!((found.entries.len(), found.done.result.code), (4, ResultCode::SIZE_LIMIT_EXCEEDED));
    assert_eq!(found.done.result.message, "This search operation has sent the maximum of 4 entries to the client");
    let found = it.search(&as_user(3)).unwrap();
    assert_eq!((found.entries.len(), found.done.result.code), (3, ResultCode::SIZE_LIMIT_EXCEEDED));
    let found = it.search(&Asked { identity: user(), ..Asked::new(base, "(&(description=same)(uid=u9))") }).unwrap();
    assert_eq!((found.entries.len(), found.done.result.code), (0, ResultCode::ADMIN_LIMIT_EXCEEDED));
    assert_eq!(found.done.result.message, "This search operation has checked the maximum of 7 entries for matches");
    // Root has no limits but its own, and exactly as many entries as the limit are no excess.
    let found = it.search(&Asked { size_limit: 10, ..Asked::new(base, "(description=same)") }).unwrap();
    assert_eq!((found.entries.len(), found.done.result.code), (10, ResultCode::SUCCESS));
}

// S0-05 S0-06 S0-40 S0-41
#[test]
fn an_unindexed_search_is_for_root() {
    let mut ldif = "dn: dc=example,dc=com\nobjectClass: domain\n\n".to_owned();
    for at in 0..20 {
        ldif.push_str(&format!("dn: uid=u{at},dc=example,dc=com\nobjectClass: account\ndescription: d{at}\n\n"));
    }
    let folder_limit = IndexConfig { entry_limit: 5, ..IndexConfig::new("uid", &[config::IndexKind::Equality]) };
    let base = "dc=example,dc=com";
    let mut it = Fixture::with(&[base], vec![folder_limit], &ldif, |config| config.backends[0].index_entry_limit = 5);
    let asked = |identity| Asked { identity, ..Asked::new(base, "(description=d7)") };
    let refused = it.search_into(&asked(user()), &mut Collector::default()).unwrap_err();
    assert!(refused.unindexed);
    assert_eq!(refused.result.code, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    assert_eq!(refused.result.message, "You do not have sufficient privileges to perform an unindexed search");
    let found = it.search(&asked(super::fixture::root())).unwrap();
    assert!(found.done.unindexed);
    assert_eq!((found.entries.len(), found.done.candidates), (1, 21));
    // Base searches never need an index.
    let base_search = Asked { scope: Scope::BaseObject, identity: user(), ..Asked::new(base, "(description=d7)") };
    assert_eq!(it.search(&base_search).unwrap().done.result.code, ResultCode::SUCCESS);
}

#[test]
fn anonymous_reads_root_dse_and_schema_only() {
    let mut it = fixture();
    let anonymous = |base, scope| Asked {
        scope,
        identity: Identity::Anonymous,
        attributes: &["*", "+"],
        ..Asked::new(base, "(objectClass=*)")
    };
    let hidden = it.search(&anonymous("dc=example,dc=com", Scope::BaseObject)).unwrap_err();
    let missing = it.search(&anonymous("dc=nobody,dc=example,dc=com", Scope::BaseObject)).unwrap_err();
    assert_eq!((hidden.code, &*hidden.matched_dn), (ResultCode::NO_SUCH_OBJECT, ""));
    assert_eq!((missing.code, &*missing.matched_dn), (ResultCode::NO_SUCH_OBJECT, ""));
    assert_eq!(it.dns(&anonymous("", Scope::WholeSubtree)), [""; 0]);
    let refused = it.search(&anonymous("cn=monitor", Scope::BaseObject)).unwrap_err();
    assert_eq!(refused.code, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    let root = it.search(&anonymous("", Scope::BaseObject)).unwrap();
    assert_eq!(root.entries[0].0, "");
    assert_eq!(root.entries[0].1["namingContexts"], ["dc=example,dc=com"]);
    assert_eq!(root.entries[0].1["supportedLDAPVersion"], ["3"]);
    assert!(root.entries[0].1["supportedControl"].contains(&control::MANAGE_DSA_IT.to_owned()));
    let schema = it.search(&anonymous("CN=Schema", Scope::BaseObject)).unwrap();
    assert_eq!(schema.entries[0].0, "cn=schema");
}

#[test]
fn the_schema_entry_lists_the_whole_schema() {
    let mut it = fixture();
    let asked = Asked {
        scope: Scope::BaseObject,
        attributes: &["+", "*"],
        ..Asked::new("cn=schema", "(objectClass=subschema)")
    };
    let found = it.search(&asked).unwrap();
    let schema = it.directory.schema();
    let attributes = &found.entries[0].1;
    assert_eq!(attributes["attributeTypes"].len(), schema.attribute_types().len());
    assert_eq!(attributes["objectClasses"].len(), schema.object_classes().len());
    let rules = &attributes["matchingRules"];
    assert_eq!(
        rules.iter().filter(|rule| !rule.contains("1.3.6.1.4.1.42.2.27.9.4.")).count(),
        schema.matching_rules().len()
    );
    assert!(rules.iter().any(|rule| rule.contains("'fr.eq'")), "languages are there too");
    assert_eq!(attributes["ldapSyntaxes"].len(), schema.syntaxes().len());
    assert!(attributes["matchingRuleUse"].iter().any(|rule| rule.contains("caseIgnoreMatch") && rule.contains(" cn ")));
}

#[test]
fn the_monitor_shows_backends_to_root() {
    let mut it = fixture();
    let found = it.search(&Asked::new("cn=monitor", "(cn=userRoot Backend)")).unwrap();
    assert_eq!(found.entries[0].0, "cn=userRoot Backend,cn=monitor");
    assert_eq!(found.entries[0].1["ds-backend-entry-count"], ["4"]);
    let missing = it.search(&Asked::new("cn=none,cn=monitor", "(objectClass=*)")).unwrap_err();
    assert_eq!((missing.code, missing.matched_dn.as_str()), (ResultCode::NO_SUCH_OBJECT, "cn=monitor"));
}

#[test]
fn what_is_missing_is_named_with_what_is_there() {
    let mut it = fixture();
    let mut missing = |base: &str| {
        let result = it.search(&Asked::new(base, "(objectClass=*)")).unwrap_err();
        (result.code, result.matched_dn)
    };
    assert_eq!(
        missing("cn=x,ou=Old,dc=example,dc=com"),
        (ResultCode::NO_SUCH_OBJECT, "ou=Old,dc=example,dc=com".to_owned())
    );
    assert_eq!(missing("cn=x,ou=no,dc=example,dc=com"), (ResultCode::NO_SUCH_OBJECT, "dc=example,dc=com".to_owned()));
    assert_eq!(missing("dc=com"), (ResultCode::NO_SUCH_OBJECT, String::new()));
    assert_eq!(missing("not a name").0, ResultCode::INVALID_DN_SYNTAX);
}

#[test]
fn unknown_critical_controls_are_refused_and_others_ignored() {
    let mut it = fixture();
    let control = |critical| [ControlBuf { oid: "1.2.3.4".into(), critical, value: None }];
    let (critical, other) = (control(true), control(false));
    let with = |controls| Asked { controls, ..Asked::new("dc=example,dc=com", "(uid=ann)") };
    assert_eq!(it.search(&with(&critical)).unwrap_err().code, ResultCode::UNAVAILABLE_CRITICAL_EXTENSION);
    assert_eq!(it.dns(&with(&other)).len(), 1);
    // RFC 4528: the assertion is about the base entry.
    let filter = ldap::filter::parse("(dc=example)").unwrap();
    let holds = [ControlBuf { oid: control::ASSERTION.into(), critical: true, value: Some(filter.as_ber().to_vec()) }];
    let filter = ldap::filter::parse("(dc=other)").unwrap();
    let fails = [ControlBuf { oid: control::ASSERTION.into(), critical: true, value: Some(filter.as_ber().to_vec()) }];
    assert_eq!(it.dns(&with(&holds)).len(), 1);
    assert_eq!(it.search(&with(&fails)).unwrap_err().code, ResultCode::ASSERTION_FAILED);
}

#[test]
fn a_client_that_stops_reading_and_an_abandon_end_the_search() {
    let mut it = fixture();
    let asked = Asked::new("dc=example,dc=com", "(objectClass=*)");
    let mut slow = Collector { stop_after: Some(2), ..Collector::default() };
    let found = it.search_into(&asked, &mut slow).unwrap();
    assert!(found.done.is_cancelled);
    assert_eq!(found.entries.len(), 2);
}

fn many() -> Fixture {
    let mut ldif = "dn: dc=example,dc=com\nobjectClass: domain\n\n".to_owned();
    for at in 0..300 {
        ldif.push_str(&format!("dn: uid=u{at},dc=example,dc=com\nobjectClass: account\n\n"));
    }
    Fixture::new(&["dc=example,dc=com"], default_indexes(), &ldif)
}

#[test]
fn long_searches_end_when_cancelled_and_at_their_time_limit() {
    let mut it = many();
    let all = || Asked::new("dc=example,dc=com", "(objectClass=*)");
    assert_eq!(it.search(&all()).unwrap().entries.len(), 301);
    let mut cancelled = Collector { is_cancelled: true, ..Collector::default() };
    let found = it.search_into(&all(), &mut cancelled).unwrap();
    assert!(found.done.is_cancelled && found.entries.len() < 301);
    assert_eq!(found.done.result.code, ResultCode::CANCELED);
    let waited = std::time::Duration::from_secs(5);
    let found = it.search(&Asked { waited, time_limit_seconds: 3, ..all() }).unwrap();
    assert_eq!(found.done.result.code, ResultCode::TIME_LIMIT_EXCEEDED);
    assert!(found.entries.len() < 301);
    let found = it.search(&Asked { waited, time_limit_seconds: 3600, ..all() }).unwrap();
    assert_eq!((found.done.result.code, found.entries.len()), (ResultCode::SUCCESS, 301));
}

#[test]
fn what_nobody_can_tell_matches_nobody_and_needs_no_index() {
    let mut it = fixture();
    for text in [
        "(!(objectClass=nosuch))",
        "(!(description=))",
        "(!(mail=\u{fc}))",
        "(!(telephoneNumber=))",
        "(!(|(objectClass=nosuch)(&(cn=)(cn;binary=*))))",
        "(&(!(description=))(objectClass=*))",
    ] {
        // A user may not search without an index.
        for identity in [super::fixture::root(), user()] {
            let found = it.search(&Asked { identity, ..Asked::new("dc=example,dc=com", text) }).unwrap();
            assert_eq!((found.done.result.code, found.entries.len()), (ResultCode::SUCCESS, 0), "{text}");
            assert!(!found.done.unindexed, "{text}");
        }
    }
    assert!(!it.dns(&Asked::new("dc=example,dc=com", "(!(objectClass=1.2.3.4))")).is_empty());
}

#[test]
fn comparing() {
    use ResultCode as Code;
    let it = fixture();
    let ann = "uid=ann,dc=example,dc=com";
    let root = super::fixture::root;
    for (dn, attribute, value, code) in [
        (ann, "cn", "ANN  tree", Code::COMPARE_TRUE),
        (ann, "name", "tree", Code::COMPARE_TRUE),
        (ann, "cn", "bob", Code::COMPARE_FALSE),
        (ann, "givenName", "ann", Code::NO_SUCH_ATTRIBUTE),
        (ann, "description", "une personne", Code::COMPARE_TRUE),
        (ann, "description;lang-de", "une personne", Code::NO_SUCH_ATTRIBUTE),
        (ann, "nosuch", "x", Code::UNDEFINED_ATTRIBUTE_TYPE),
        (ann, "entryDN", "UID=Ann, dc=example,dc=com", Code::COMPARE_TRUE),
        (ann, "entryDN", "=", Code::INVALID_ATTRIBUTE_SYNTAX),
        (ann, "cn", "", Code::INVALID_ATTRIBUTE_SYNTAX),
        (ann, "mail", "\u{fc}", Code::INVALID_ATTRIBUTE_SYNTAX),
        (ann, "objectClass", "nosuch", Code::INVALID_ATTRIBUTE_SYNTAX),
        (ann, "objectClass", "1.2.3.4", Code::COMPARE_FALSE),
        (ann, "cn;binary", "ann tree", Code::UNDEFINED_ATTRIBUTE_TYPE),
        ("uid=none,dc=example,dc=com", "cn", "x", Code::NO_SUCH_OBJECT),
        ("cn=schema", "cn", "Schema", Code::COMPARE_TRUE),
        ("", "vendorName", "Pando", Code::COMPARE_TRUE),
        ("cn=monitor", "cn", "monitor", Code::COMPARE_TRUE),
        ("cn=nothing,cn=monitor", "cn", "nothing", Code::NO_SUCH_OBJECT),
        ("cn=nothing,cn=schema", "cn", "nothing", Code::NO_SUCH_OBJECT),
        // What a search of the root DSE shows, compares see.
        ("", "firstChangeNumber", "1", Code::COMPARE_TRUE),
        ("", "lastChangeNumber", "0", Code::COMPARE_TRUE),
        ("", "lastPurgedChangeNumber", "1", Code::COMPARE_FALSE),
        ("", "changelog", "CN=Changelog", Code::COMPARE_TRUE),
        ("cn=changelog", "cn", "changelog", Code::COMPARE_TRUE),
        ("changeNumber=1,cn=changelog", "changeNumber", "1", Code::NO_SUCH_OBJECT),
    ] {
        assert_eq!(it.compare(root(), dn, attribute, value.as_bytes()), code, "{dn} {attribute}={value}");
    }
    assert_eq!(it.compare(root(), ann, "userPassword", b"secret12"), Code::COMPARE_TRUE);
    assert_eq!(it.compare(user(), ann, "userPassword", b"secret12"), Code::INSUFFICIENT_ACCESS_RIGHTS);
    assert_eq!(it.compare(user(), ann, "sn", b"tree"), Code::COMPARE_TRUE);
    assert_eq!(it.compare(Identity::Anonymous, ann, "sn", b"tree"), Code::NO_SUCH_OBJECT);
    for own in ["cn=monitor", "cn=changelog"] {
        assert_eq!(it.compare(user(), own, "cn", b"x"), Code::INSUFFICIENT_ACCESS_RIGHTS);
    }
}

const TWO_BACKENDS: &str = "\
dn: dc=example,dc=com
objectClass: domain

dn: uid=ann,dc=example,dc=com
objectClass: account

dn: dc=example,dc=net
objectClass: domain

####
dn: ou=Far,dc=example,dc=com
objectClass: organizationalUnit

dn: uid=bob,ou=Far,dc=example,dc=com
objectClass: account

";

#[test]
fn several_suffixes_and_backends_are_one_tree() {
    let mut it =
        Fixture::with(&["dc=example,dc=com", "dc=example,dc=net"], default_indexes(), TWO_BACKENDS, |config| {
            let mut other = config.backends[0].clone();
            other.id = "far".to_owned();
            other.base_dns = vec!["ou=Far,dc=example,dc=com".to_owned()];
            other.directory = other.directory.with_file_name("far");
            config.backends.push(other);
        });
    let (com, net, ann) = ("dc=example,dc=com", "dc=example,dc=net", "uid=ann,dc=example,dc=com");
    let (far, bob) = ("ou=Far,dc=example,dc=com", "uid=bob,ou=Far,dc=example,dc=com");
    let mut dns = |base, scope| it.dns(&Asked { scope, ..Asked::new(base, "(objectClass=*)") });
    assert_eq!(dns(com, Scope::WholeSubtree), [com, far, ann, bob]);
    assert_eq!(dns(com, Scope::SingleLevel), [far, ann]);
    assert_eq!(dns(com, Scope::BaseObject), [com]);
    assert_eq!(dns(com, Scope::SubordinateSubtree), [far, ann, bob]);
    assert_eq!(dns(net, Scope::WholeSubtree), [net]);
    assert_eq!(dns("ou=far,dc=example,dc=com", Scope::WholeSubtree), [far, bob]);
    assert_eq!(dns("", Scope::SingleLevel), [com, net, far]);
    assert_eq!(dns("", Scope::WholeSubtree), [com, net, far, ann, bob]);
    assert_eq!(it.dns(&Asked::new("", "(uid=bob)")), [bob]);
    let root = it.search(&Asked { scope: Scope::BaseObject, attributes: &["namingContexts"], ..Asked::new("", "(&)") });
    assert_eq!(root.unwrap().entries[0].1["namingContexts"], [com, net, far]);
}

#[test]
fn names_follow_a_rename_at_once() {
    let mut it = fixture();
    let base = Asked::new("dc=example,dc=com", "(uid=bob)");
    assert_eq!(it.dns(&base), ["uid=bob,ou=Old,dc=example,dc=com"]);
    let mut op = Vec::new();
    ldap::client::modify_dn(&mut op, 1, "ou=Old,dc=example,dc=com", "ou=New", true, None, &[]);
    let message = ldap::Message::decode(&op).unwrap();
    it.update(&message);
    assert_eq!(it.dns(&base), ["uid=bob,ou=New,dc=example,dc=com"]);
    assert_eq!(it.dns(&Asked::new("ou=New,dc=example,dc=com", "(uid=bob)")).len(), 1);
    let gone = it.search(&Asked::new("ou=Old,dc=example,dc=com", "(uid=bob)")).unwrap_err();
    assert_eq!((gone.code, gone.matched_dn.as_str()), (ResultCode::NO_SUCH_OBJECT, "dc=example,dc=com"));
}

const REFERRALS: &str = "\
dn: dc=example,dc=com
objectClass: domain

dn: ou=far,dc=example,dc=com
objectClass: referral
objectClass: extensibleObject
ref: ldap://far.example.net/ou=away,dc=example,dc=net

dn: uid=ann,dc=example,dc=com
objectClass: account

";

#[test]
fn filters_ask_for_every_attribute_of_the_monitor() {
    let mut it = fixture();
    let all = it.search(&Asked::new("cn=monitor", "(objectClass=*)")).unwrap();
    let schema = it.directory.schema();
    let mut names = std::collections::BTreeSet::new();
    for (_, attributes) in &all.entries {
        names.extend(attributes.keys().cloned());
    }
    assert!(names.contains("writer-queue-length") && names.len() > 60);
    for name in &names {
        assert!(schema.attribute_type(name.as_bytes()).is_some(), "{name} is not in 06-monitor.ldif");
    }
    let root_dse = Asked { scope: Scope::BaseObject, ..Asked::new("", "(objectClass=*)") };
    for name in it.search(&root_dse).unwrap().entries[0].1.keys() {
        assert!(schema.attribute_type(name.as_bytes()).is_some(), "{name} of the root DSE is in no schema file");
    }
    let found = |it: &mut Fixture, text: &str| it.dns(&Asked::new("cn=monitor", text));
    assert_eq!(found(&mut it, "(writer-queue-length>=0)"), ["cn=userRoot Backend,cn=monitor"]);
    assert_eq!(found(&mut it, "(!(writer-queue-length>=1))").len(), all.entries.len());
    assert_eq!(found(&mut it, "(&(database-bytes>=1)(!(writer-state=folding)))"), ["cn=userRoot Backend,cn=monitor"]);
    assert_eq!(
        it.compare(super::fixture::root(), "cn=userRoot Backend,cn=monitor", "folds", b"-1"),
        ResultCode::COMPARE_FALSE
    );
}

#[test]
fn a_suffix_without_entries_is_not_an_unknown_suffix() {
    let mut it = Fixture::new(&["dc=example,dc=com", "dc=empty"], default_indexes(), REFERRALS);
    for (base, word) in [("dc=empty", "is empty"), ("uid=x,dc=empty", "is empty"), ("dc=other", "no suffix")] {
        let refused = it.search(&Asked::new(base, "(objectClass=*)")).unwrap_err();
        assert_eq!((refused.code, refused.matched_dn.as_str()), (ResultCode::NO_SUCH_OBJECT, ""), "{base}");
        assert!(refused.message.contains(word), "{base}: {}", refused.message);
        assert_eq!(it.compare(super::fixture::root(), base, "cn", b"x"), ResultCode::NO_SUCH_OBJECT);
    }
    // Below the root DSE, an empty suffix has no entries.
    let all = it.search(&Asked::new("", "(objectClass=*)")).unwrap();
    assert_eq!(all.done.result.code, ResultCode::SUCCESS);
}

#[test]
fn referral_objects_refer() {
    for indexes in [default_indexes(), Vec::new()] {
        let mut it = Fixture::new(&["dc=example,dc=com"], indexes, REFERRALS);
        let found = it.search(&Asked::new("dc=example,dc=com", "(uid=ann)")).unwrap();
        assert_eq!(found.dns(), ["uid=ann,dc=example,dc=com"]);
        assert_eq!(found.references, ["ldap://far.example.net/ou=away,dc=example,dc=net??sub"]);
        let one = Asked { scope: Scope::SingleLevel, ..Asked::new("dc=example,dc=com", "(uid=none)") };
        assert_eq!(it.search(&one).unwrap().references, ["ldap://far.example.net/ou=away,dc=example,dc=net??base"]);
        let base = Asked { scope: Scope::BaseObject, ..Asked::new("dc=example,dc=com", "(objectClass=*)") };
        assert_eq!(it.search(&base).unwrap().references.len(), 0);
        let below = it.search(&Asked::new("uid=X Y,ou=far,dc=example,dc=com", "(objectClass=*)")).unwrap_err();
        assert_eq!((below.code, below.matched_dn.as_str()), (ResultCode::REFERRAL, "ou=far,dc=example,dc=com"));
        assert_eq!(below.referrals, ["ldap://far.example.net/uid=X%20Y,ou=away,dc=example,dc=net??sub"]);
        for (scope, word) in [
            (Scope::BaseObject, "base"),
            (Scope::SingleLevel, "one"),
            (Scope::WholeSubtree, "sub"),
            (Scope::SubordinateSubtree, "subordinates"),
        ] {
            let far = Asked { scope, ..Asked::new("ou=far,dc=example,dc=com", "(objectClass=*)") };
            let refused = it.search(&far).unwrap_err();
            assert_eq!(refused.code, ResultCode::REFERRAL);
            assert_eq!(refused.referrals, [format!("ldap://far.example.net/ou=away,dc=example,dc=net??{word}")]);
        }
        assert_eq!(it.compare(super::fixture::root(), "ou=far,dc=example,dc=com", "ou", b"far"), ResultCode::REFERRAL);
        let manage = [ControlBuf { oid: control::MANAGE_DSA_IT.into(), critical: true, value: None }];
        let managed = Asked { controls: &manage, ..Asked::new("dc=example,dc=com", "(objectClass=*)") };
        let found = it.search(&managed).unwrap();
        assert_eq!((found.entries.len(), found.references.len()), (3, 0));
        let at =
            Asked { controls: &manage, scope: Scope::BaseObject, ..Asked::new("ou=far,dc=example,dc=com", "(ref=*)") };
        assert_eq!(it.dns(&at), ["ou=far,dc=example,dc=com"]);
    }
}

const ALIASES: &str = "\
dn: dc=example,dc=com
objectClass: domain

dn: ou=real,dc=example,dc=com
objectClass: organizationalUnit

dn: uid=ann,ou=real,dc=example,dc=com
objectClass: account

dn: ou=links,dc=example,dc=com
objectClass: organizationalUnit

dn: ou=alias,ou=links,dc=example,dc=com
objectClass: alias
objectClass: extensibleObject
aliasedObjectName: ou=Real,dc=example,dc=com

dn: cn=up,ou=real,dc=example,dc=com
objectClass: alias
objectClass: extensibleObject
aliasedObjectName: ou=links,dc=example,dc=com

dn: cn=nowhere,ou=links,dc=example,dc=com
objectClass: alias
objectClass: extensibleObject
aliasedObjectName: ou=gone,dc=example,dc=com

dn: cn=self,dc=example,dc=com
objectClass: alias
objectClass: extensibleObject
aliasedObjectName: cn=self,dc=example,dc=com

";

#[test]
fn aliases_are_followed_in_all_four_modes() {
    for indexes in [default_indexes(), Vec::new()] {
        let mut it = Fixture::new(&["dc=example,dc=com"], indexes, ALIASES);
        let links = "ou=links,dc=example,dc=com";
        let through = "ou=alias,ou=links,dc=example,dc=com";
        let ask = |base, scope, deref| Asked { scope, deref, ..Asked::new(base, "(objectClass=*)") };
        use DerefAliases::{Always, FindingBaseObject, InSearching, Never};
        use Scope::{BaseObject, SingleLevel, WholeSubtree};
        // Never: aliases are entries.
        let never = it.dns(&ask(links, WholeSubtree, Never));
        assert_eq!(never, ["cn=nowhere,ou=links,dc=example,dc=com", through, links]);
        assert_eq!(it.dns(&ask(through, BaseObject, InSearching)), [through]);
        // Finding the base.
        assert_eq!(it.dns(&ask(through, BaseObject, FindingBaseObject)), ["ou=real,dc=example,dc=com"]);
        assert_eq!(
            it.dns(&ask("uid=ann,ou=alias,ou=links,dc=example,dc=com", BaseObject, Always)),
            ["uid=ann,ou=real,dc=example,dc=com"]
        );
        assert_eq!(
            it.search(&ask("cn=nowhere,ou=links,dc=example,dc=com", BaseObject, Always)).unwrap_err().code,
            ResultCode::ALIAS_PROBLEM
        );
        assert_eq!(
            it.search(&ask("cn=self,dc=example,dc=com", BaseObject, Always)).unwrap_err().code,
            ResultCode::LOOP_DETECT
        );
        // Below the base: targets and what is below them, each once, circles and all.
        let all = it.dns(&ask(links, WholeSubtree, InSearching));
        assert_eq!(all, [links, "ou=real,dc=example,dc=com", "uid=ann,ou=real,dc=example,dc=com"]);
        assert_eq!(it.dns(&ask(links, SingleLevel, InSearching)), ["ou=real,dc=example,dc=com"]);
    }
}

#[test]
fn subentries_are_seen_when_asked_for() {
    let ldif = "\
dn: dc=example,dc=com
objectClass: domain

dn: cn=area,dc=example,dc=com
objectClass: subentry
objectClass: extensibleObject

";
    let mut it = Fixture::new(&["dc=example,dc=com"], default_indexes(), ldif);
    let value = |only: bool| vec![1, 1, if only { 0xff } else { 0 }];
    let control = |only| [ControlBuf { oid: control::SUBENTRIES.into(), critical: true, value: Some(value(only)) }];
    let (only, others) = (control(true), control(false));
    fn ask<'a>(filter: &'a str, controls: &'a [ControlBuf]) -> Asked<'a> {
        Asked { controls, ..Asked::new("dc=example,dc=com", filter) }
    }
    assert_eq!(it.dns(&ask("(objectClass=*)", &[])), ["dc=example,dc=com"]);
    assert_eq!(it.dns(&ask("(objectClass=*)", &only)), ["cn=area,dc=example,dc=com"]);
    assert_eq!(it.dns(&ask("(objectClass=*)", &others)), ["dc=example,dc=com"]);
    let base = Asked { scope: Scope::BaseObject, ..Asked::new("cn=area,dc=example,dc=com", "(objectClass=*)") };
    assert_eq!(it.dns(&base).len(), 1);
    // Without the control, by their class: beside other entries, as the tools of Sun's servers expect.
    for class in ["subentry", "LDAPSubEntry", "2.16.840.1.113719.2.142.6.1.1", "2.5.17.0"] {
        let filter = format!("(|(objectClass=domain)(objectClass={class})(objectClass=extensibleObject))");
        assert_eq!(it.dns(&ask(&filter, &[])), ["cn=area,dc=example,dc=com", "dc=example,dc=com"], "{class}");
        assert_eq!(it.dns(&ask(&filter, &others)), ["dc=example,dc=com"], "{class}");
    }
    assert_eq!(it.dns(&ask("(objectClass=subentry)", &[])), ["cn=area,dc=example,dc=com"]);
    assert_eq!(it.dns(&ask("(objectClass=extensibleObject)", &[])), [""; 0]);
}

#[test]
fn a_plan_can_go_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<crate::SearchPlan>();
    is_send::<crate::Worker>();
    fn is_sync<T: Sync>() {}
    is_sync::<crate::Directory>();
}

/// Substring keys of telephone numbers have no `+`, the numbers themselves do.
#[test]
fn a_plus_in_a_telephone_number_counts() {
    let people: String = [("ann", "+1 555 123 4567"), ("bob", "1 555 123 4567"), ("cat", "+44 20 7946 0000")]
        .map(|(uid, number)| {
            format!(
                "dn: uid={uid},dc=example,dc=com\nobjectClass: inetOrgPerson\ncn: X\nsn: X\n\
                 telephoneNumber: {number}\n\n"
            )
        })
        .concat();
    let ldif = format!("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n{people}");
    let mut it = Fixture::new(&["dc=example,dc=com"], default_indexes(), &ldif);
    for (filter, expected) in [
        ("(telephoneNumber=+1*)", "ann"),
        ("(telephoneNumber=1*)", "bob"),
        ("(telephoneNumber=+1-555-123*)", "ann"),
        ("(telephoneNumber=+1-555*4567)", "ann"),
        ("(telephoneNumber=*1 555 123 4567)", "ann bob"),
        ("(telephoneNumber=*+15551*)", "ann"),
        ("(telephoneNumber=*+4*)", "cat"),
        ("(telephoneNumber=+1 5551234567)", "ann"),
        ("(telephoneNumber=15551234567)", "bob"),
    ] {
        let asked = Asked { identity: user(), ..Asked::new("dc=example,dc=com", filter) };
        let found = it.dns(&asked);
        let names: Vec<&str> = found.iter().filter_map(|dn| dn.get(4..7)).collect();
        assert_eq!(names.join(" "), expected, "{filter}");
    }
}
