//! Limits that entries are given.

use ldap::ResultCode;

/// Limits that entries are given go by the time of day like everything else: members of a group are those of now.
#[test]
fn given_limits_are_those_of_now() {
    use config::{ConflictBehavior, GivenTo, VirtualAttributeConfig, VirtualAttributeKind};

    use crate::search::tests::fixture::{Asked, Fixture, user};

    let base = "dc=example,dc=com";
    let group = format!("cn=old hands,{base}");
    let filter = "(createTimestamp:relativeTimeLTOrderingMatch:=-1d)";
    let ldif = format!(
        "dn: {base}\nobjectClass: domain\n\n\
         dn: uid=ann,{base}\nobjectClass: inetOrgPerson\nuid: ann\ncn: ann\nsn: x\ncreateTimestamp: 20200101000000Z\n\n\
         dn: {group}\nobjectClass: groupOfURLs\ncn: old hands\nmemberURL: ldap:///{base}??sub?{filter}\n\n"
    );
    let table = VirtualAttributeConfig {
        name: "few".to_owned(),
        line: 1,
        column: 1,
        attribute: "ds-rlim-size-limit".to_owned(),
        enabled: true,
        kind: VirtualAttributeKind::UserDefined {
            values: vec!["2".to_owned()],
            given: Box::new(GivenTo {
                base_dns: Vec::new(),
                scope: ldap::Scope::WholeSubtree,
                group_dns: vec![group],
                filter: "(objectClass=*)".to_owned(),
                conflict: ConflictBehavior::RealOverridesVirtual,
            }),
        },
    };
    let indexes = config::default_indexes();
    let mut it = Fixture::with(&[base], indexes, &ldif, |config| config.virtual_attributes.push(table));
    let found = it.search(&Asked { identity: user(), ..Asked::new(base, "(objectClass=*)") }).unwrap();
    assert_eq!((found.entries.len(), found.done.result.code), (2, ResultCode::SIZE_LIMIT_EXCEEDED));
}
