//! What the monitor says after searches that an index would have helped.

use config::{IndexConfig, IndexKind};
use ldap::{ResultCode, Scope};

use super::fixture::{Asked, Fixture, user};

const BASE: &str = "dc=example,dc=com";

/// 1,100 accounts below the base; `description` is the same in all, `uid` and `l` are not.
fn fixture() -> Fixture {
    let mut ldif = "dn: dc=example,dc=com\nobjectClass: domain\n\n".to_owned();
    for at in 0..1_100 {
        ldif.push_str(&format!(
            "dn: uid=u{at},{BASE}\nobjectClass: account\ndescription: same\nl: town {}\n\n",
            at % 300
        ));
    }
    let index = |attribute: &str, entry_limit| IndexConfig {
        entry_limit,
        ..IndexConfig::new(attribute, &[IndexKind::Equality])
    };
    let indexes = vec![index("uid", 4000), index("description", 4000), index("objectClass", 1000)];
    Fixture::with(&[BASE], indexes, &ldif, |config| config.backends[0].index_entry_limit = 50)
}

fn advice(it: &mut Fixture) -> Vec<String> {
    let asked = Asked { scope: Scope::WholeSubtree, ..Asked::new("cn=monitor", "(cn=userRoot Index Advice)") };
    let found = it.search(&asked).unwrap();
    assert_eq!(found.entries[0].0, "cn=userRoot Index Advice,cn=monitor");
    found.entries[0].1.get("index-advice").cloned().unwrap_or_default()
}

#[test]
fn costly_searches_are_remembered_by_shape_and_others_are_not() {
    let mut it = fixture();
    // Answered by an index; by many entries, all of them wanted; by one entry.
    it.search(&Asked::new(BASE, "(uid=u7)")).unwrap();
    it.search(&Asked::new(BASE, "(description=same)")).unwrap();
    it.search(&Asked { scope: Scope::BaseObject, ..Asked::new(BASE, "(l=town 7)") }).unwrap();
    assert_eq!(advice(&mut it), [""; 0]);
    // Unindexed, twice; refused for that; indexed, but hardly any of the entries looked at is wanted.
    it.search(&Asked::new(BASE, "(l=town 7)")).unwrap();
    it.search(&Asked::new(BASE, "(l=town 8)")).unwrap();
    let refused = it.search(&Asked { identity: user(), ..Asked::new(BASE, "(l=town 9)") }).unwrap_err();
    assert_eq!(refused.code, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    it.search(&Asked::new(BASE, "(&(description=same)(l=town 7))")).unwrap();
    let values = advice(&mut it);
    assert_eq!(values.len(), 2, "{values:?}");
    let of = |shape: &str| values.iter().find(|value| value.starts_with(&format!(r#"{{"shape":"{shape}","#))).unwrap();
    let counts = r#""scope":"sub","count":3,"unindexed":3,"refused":1,"examined":2202,"returned":8,"#;
    assert!(of("(l=?)").contains(counts), "{values:?}");
    let both = of("(&(description=?)(l=?))");
    assert!(both.contains(r#""count":1,"unindexed":0,"refused":0,"examined":1100,"returned":4,"#), "{both}");
    let told = r#""base":"dc=example,dc=com","example":"(&(description=same)(l=town 7))","#.to_owned()
        + r#""advice":[{"attribute":"l","indexType":"equality","#
        + r#""command":"dsconfig create-backend-index --backend-name userRoot "#
        + r#"--index-name l --set index-type:equality"}]}"#;
    assert!(both.contains(&told), "{both}");
}

#[test]
fn an_example_shows_no_password() {
    let mut it = fixture();
    it.search(&Asked::new(BASE, "(userPassword={CLEAR}secret12)")).unwrap();
    let values = advice(&mut it);
    assert!(values[0].contains(r#""example":"(userPassword=?)""#), "{values:?}");
}

#[test]
fn the_remedy_is_what_the_planner_lacked() {
    let mut it = fixture();
    // An Or needs all of its parts, an And the best of them; a limit is advised with room, but not for what most
    // entries have.
    it.search(&Asked::new(BASE, "(|(l=town 7)(sn=*x*)(uid=u1))")).unwrap();
    it.search(&Asked::new(BASE, "(&(sn=*x*)(l=town 7)(!(uid=u1)))")).unwrap();
    it.search(&Asked::new(BASE, "(objectClass=account)")).unwrap();
    it.search(&Asked::new(BASE, "(uid>=a)")).unwrap();
    let values = advice(&mut it);
    let remedies = |shape: &str| {
        let value = values.iter().find(|value| value.starts_with(&format!(r#"{{"shape":"{shape}","#))).unwrap();
        let (_, list) = value.split_once(r#""advice":["#).unwrap();
        list.split(r#""command":"#).skip(1).map(|it| it.split('"').nth(1).unwrap().to_owned()).collect::<Vec<_>>()
    };
    let create = |attribute: &str, kind: &str| {
        format!(
            "dsconfig create-backend-index --backend-name userRoot --index-name {attribute} --set index-type:{kind}"
        )
    };
    assert_eq!(remedies("(|(l=?)(sn=*?*)(uid=?))"), [create("l", "equality"), create("sn", "substring")]);
    assert_eq!(remedies("(&(sn=*?*)(l=?)(!(uid=?)))"), [create("l", "equality")]);
    assert_eq!(remedies("(objectClass=?)"), [""; 0]);
}

#[test]
fn a_limit_is_advised_with_room() {
    let mut ldif = "dn: dc=example,dc=com\nobjectClass: domain\n\n".to_owned();
    for at in 0..500 {
        let same = if at < 220 { "same" } else { "other" };
        ldif.push_str(&format!("dn: uid=u{at},{BASE}\nobjectClass: account\ndescription: {same}\n\n"));
    }
    let index = IndexConfig { entry_limit: 200, ..IndexConfig::new("description", &[IndexKind::Equality]) };
    let mut it = Fixture::with(&[BASE], vec![index], &ldif, |config| config.backends[0].index_entry_limit = 50);
    it.search(&Asked::new(BASE, "(description=same)")).unwrap();
    let command =
        "dsconfig set-backend-index-prop --backend-name userRoot --index-name description --set index-entry-limit:1000";
    let told = format!(r#""advice":[{{"attribute":"description","indexEntryLimit":1000,"command":"{command}"}}]}}"#);
    assert!(advice(&mut it)[0].ends_with(&told), "{:?}", advice(&mut it));
}
