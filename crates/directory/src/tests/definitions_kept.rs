//! Definitions are looked up once for each change.

use config::default_indexes;
use ldap::ModifyOperation;

use std::sync::Arc;

use crate::search::tests::fixture::{Asked, Fixture, user};
use crate::tests::groups::modify;
use query::backend::BackendIndex;
use query::computed::Kept;

const BASE: &str = "dc=example,dc=com";

fn fixture(more: &str) -> Fixture {
    let ldif = format!(
        "dn: {BASE}\nobjectClass: domain\n\n\
         dn: cn=zip,{BASE}\nobjectClass: cosTemplate\nobjectClass: extensibleObject\ncn: zip\npostalCode: 44438\n\n\
         dn: uid=ann,{BASE}\nobjectClass: inetOrgPerson\nuid: ann\ncn: ann\nsn: ann\n\n{more}"
    );
    Fixture::new(&[BASE], default_indexes(), &ldif)
}

fn kept(it: &Fixture) -> Arc<Kept> {
    it.directory.reading.computed.kept(BackendIndex(0)).unwrap()
}

/// Whoever looks first after a change spares all others the look: also a search for groups, a compare, a bind.
#[test]
fn one_look_for_each_change() {
    let mut it = fixture(&format!(
        "dn: cn=gives,{BASE}\nobjectClass: ldapSubEntry\nobjectClass: cosSuperDefinition\n\
         objectClass: cosPointerDefinition\ncn: gives\ncosTemplateDn: cn=zip,{BASE}\ncosAttribute: postalCode\n\n"
    ));
    let ann = format!("uid=ann,{BASE}");
    let groups = Asked { attributes: &["memberOf"], ..Asked::new(BASE, "(uid=ann)") };
    let looks: [&dyn Fn(&mut Fixture); 4] = [
        &|it| drop(it.search(&groups).unwrap()),
        &|it| drop(it.search(&Asked::new(BASE, "(uid=ann)")).unwrap()),
        &|it| assert_eq!(it.compare(user(), &ann, "postalCode", b"44438"), ldap::ResultCode::COMPARE_TRUE),
        &|it| {
            let snapshot = it.directory.backends[0].store.snapshot().unwrap();
            let directory = &it.directory;
            let moment = directory.reading.moment(&directory.facts(), 0);
            assert!(moment.at(BackendIndex(0), snapshot.view()).given_values().unwrap().is_some());
        },
    ];
    for (at, look) in looks.into_iter().enumerate() {
        modify(&it, &ann, ModifyOperation::Replace, "description", &at.to_string());
        let seq = it.directory.backends[0].store.snapshot().unwrap().seq();
        look(&mut it);
        let first = kept(&it);
        assert_eq!(first.seq(), Some(seq), "{at}");
        for again in looks {
            again(&mut it);
            assert!(Arc::ptr_eq(&first, &kept(&it)), "{at}: looked up again");
        }
    }
}

#[test]
fn where_nothing_is_defined_a_change_is_no_reason_to_look() {
    let mut it = fixture("");
    let ann = format!("uid=ann,{BASE}");
    let look = |it: &mut Fixture| {
        assert_ne!(it.compare(user(), &ann, "postalCode", b"44438"), ldap::ResultCode::COMPARE_TRUE);
        kept(it)
    };
    let first = look(&mut it);
    modify(&it, &ann, ModifyOperation::Replace, "description", "other");
    assert!(Arc::ptr_eq(&first, &look(&mut it)));
    // Another set of classes could.
    modify(&it, &ann, ModifyOperation::Add, "objectClass", "extensibleObject");
    assert!(!Arc::ptr_eq(&first, &look(&mut it)));
}
