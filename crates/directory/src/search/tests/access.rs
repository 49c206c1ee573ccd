//! What an asker may not see does not exist: each of these fails where something of it shines through.

use config::default_indexes;
use ldap::client::controls::{self, VlvResponse};
use ldap::controls::{PagedResults, SortKey, VlvRequest, VlvTarget};
use ldap::oids::control;
use ldap::{ControlBuf, DerefAliases, LdapResult, ResultCode as Code, Scope};

use super::by_mark::ByMark;
use super::fixture::{Asked, Fixture, Found};

const BASE: &str = "dc=example,dc=com";

/// Hidden: `ou=Closed` (but not what is below it), `uid=hid*`, `cn=secrets`, the referral and the alias named `h…`.
const LDIF: &str = "\
dn: dc=example,dc=com
objectClass: domain
employeeType: seen

dn: ou=Closed,dc=example,dc=com
objectClass: organizationalUnit

dn: uid=below,ou=Closed,dc=example,dc=com
objectClass: person
sn: Below
cn: inside
employeeType: seen
employeeType: open

dn: uid=hid1,ou=Closed,dc=example,dc=com
objectClass: person
sn: Below
cn: inside

dn: ou=Dark,dc=example,dc=com
objectClass: organizationalUnit

dn: uid=ann,dc=example,dc=com
objectClass: person
sn: Tree
cn: somebody
telephoneNumber: 3
employeeType: seen
employeeType: open

dn: uid=bob,dc=example,dc=com
objectClass: person
sn: Frost
cn: somebody
telephoneNumber: 1
employeeType: seen

dn: uid=cid,dc=example,dc=com
objectClass: person
sn: Frost
cn: somebody
telephoneNumber: 2
employeeType: seen
employeeType: open

dn: uid=hid2,dc=example,dc=com
objectClass: person
sn: Frost
cn: somebody
telephoneNumber: 2

dn: cn=readers,dc=example,dc=com
objectClass: groupOfNames
employeeType: seen
member: uid=ann,dc=example,dc=com
member: uid=hid2,dc=example,dc=com

dn: cn=secrets,dc=example,dc=com
objectClass: groupOfNames
member: uid=ann,dc=example,dc=com
member: cn=readers,dc=example,dc=com

dn: ou=href,dc=example,dc=com
objectClass: referral
objectClass: extensibleObject
ref: ldap://elsewhere.example.com/ou=x

dn: ou=seenref,dc=example,dc=com
objectClass: referral
objectClass: extensibleObject
ref: ldap://seen.example.com/ou=x
employeeType: seen

dn: cn=halias,dc=example,dc=com
objectClass: alias
objectClass: extensibleObject
aliasedObjectName: uid=below,ou=Closed,dc=example,dc=com

dn: cn=alias to nothing,dc=example,dc=com
objectClass: alias
objectClass: extensibleObject
aliasedObjectName: uid=hid2,dc=example,dc=com
employeeType: seen
employeeType: open

dn: cn=closed alias,dc=example,dc=com
objectClass: alias
objectClass: extensibleObject
aliasedObjectName: uid=ann,dc=example,dc=com
employeeType: seen
";

fn fixture() -> Fixture {
    Fixture::new(&[BASE], default_indexes(), LDIF)
}

fn ask<'a>(base: &'a str, filter: &'a str) -> Asked<'a> {
    Asked { identity: ByMark::identity(), attributes: &["1.1"], ..Asked::new(base, filter) }
}

fn refusal(it: &mut Fixture, asked: &Asked<'_>) -> LdapResult {
    match it.search(asked) {
        Err(result) => result,
        Ok(Found { done, .. }) => done.result,
    }
}

#[test]
fn a_hidden_base_is_a_missing_one() {
    let mut it = fixture();
    for scope in [Scope::BaseObject, Scope::SingleLevel, Scope::WholeSubtree, Scope::SubordinateSubtree] {
        let of = |it: &mut Fixture, base: &str| {
            let found = refusal(it, &Asked { scope, ..ask(base, "(description=none)") });
            (found.code, found.message.replace(base, "BASE"), found.matched_dn)
        };
        let missing = of(&mut it, "uid=nobody,dc=example,dc=com");
        assert_eq!((missing.0, &*missing.2), (Code::NO_SUCH_OBJECT, BASE));
        assert_eq!(of(&mut it, "uid=hid2,dc=example,dc=com"), missing, "{scope:?}");
        assert_eq!(of(&mut it, "ou=Dark,dc=example,dc=com"), missing, "{scope:?}");
        // What would show below a hidden entry has the nearest name that shows.
        assert_eq!(of(&mut it, "uid=x,uid=hid1,ou=Closed,dc=example,dc=com").2, BASE);
        // The privilege is not spoken of where there is nothing to search.
        assert_eq!(refusal(&mut it, &Asked { scope, ..ask("ou=Dark,dc=example,dc=com", "(l=x)") }).code, missing.0);
    }
    let visible = it.search(&ask("ou=Closed,dc=example,dc=com", "(cn=inside)")).unwrap();
    assert_eq!(
        (visible.dns(), visible.done.result.code),
        (vec!["uid=below,ou=Closed,dc=example,dc=com".to_owned()], Code::SUCCESS)
    );
}

/// S0-07
#[test]
fn filters_find_by_what_may_be_searched() {
    let mut it = fixture();
    let [ann, bob, cid] = ["uid=ann,dc=example,dc=com", "uid=bob,dc=example,dc=com", "uid=cid,dc=example,dc=com"];
    for (filter, expected) in [
        ("(cn=somebody)", vec![ann, bob, cid]),
        ("(sn=frost)", vec![cid]),
        ("(&(cn=somebody)(!(sn=frost)))", vec![ann]),
        ("(&(cn=somebody)(|(sn=frost)(cn=somebody)))", vec![ann, bob, cid]),
        ("(&(cn=somebody)(name=frost))", vec![cid]),
        ("(&(cn=somebody)(:caseIgnoreMatch:=frost))", vec![cid]),
        ("(sn=*)", vec![ann, "uid=below,ou=Closed,dc=example,dc=com", cid]),
    ] {
        assert_eq!(it.dns(&ask(BASE, filter)), expected, "{filter}");
    }
    let shown = Asked { attributes: &["sn", "cn"], ..ask(BASE, "(uid=bob)") };
    let Found { entries, .. } = it.search(&shown).unwrap();
    assert_eq!(entries[0].1.keys().collect::<Vec<_>>(), ["cn"]);
}

#[test]
fn limits_count_what_shows() {
    let mut it = fixture();
    let sized = |it: &mut Fixture, size_limit| it.search(&Asked { size_limit, ..ask(BASE, "(sn=frost)") }).unwrap();
    assert_eq!(sized(&mut it, 1).done.result.code, Code::SUCCESS, "the others do not show");
    assert_eq!(
        it.search(&Asked { size_limit: 2, ..ask(BASE, "(cn=somebody)") }).unwrap().done.result.code,
        Code::SIZE_LIMIT_EXCEEDED
    );
    assert_eq!(sized(&mut it, 0).done.candidates, 1, "only uid=cid may be tested");
    let one = it.search(&ask(BASE, "(cn=somebody)")).unwrap();
    assert_eq!(one.done.candidates, 3);
    // How many entries there are decides whether candidates out of scope are left out before they are looked at.
    let sort = [controls::sort_request(&[sort_key()])];
    for controls in [&[][..], &sort] {
        let asked = Asked { controls, ..ask("ou=Closed,dc=example,dc=com", "(|(cn=somebody)(cn=inside))") };
        assert_eq!(it.search(&asked).unwrap().done.candidates, 1, "the others are out of scope");
    }
}

#[test]
fn referrals_take_the_right_to_read_them() {
    let mut it = fixture();
    let found = it.search(&ask(BASE, "(uid=ann)")).unwrap();
    assert_eq!(found.references, ["ldap://seen.example.com/ou=x??sub"]);
    for base in ["ou=href,dc=example,dc=com", "uid=x,ou=href,dc=example,dc=com"] {
        assert_eq!(refusal(&mut it, &ask(base, "(uid=ann)")).code, Code::NO_SUCH_OBJECT, "{base}");
    }
    assert_eq!(refusal(&mut it, &ask("ou=seenref,dc=example,dc=com", "(uid=ann)")).code, Code::REFERRAL);
}

#[test]
fn aliases_lead_where_the_asker_may_go() {
    let mut it = fixture();
    let of = |it: &mut Fixture, base| {
        let deref = DerefAliases::Always;
        refusal(it, &Asked { deref, scope: Scope::BaseObject, ..ask(base, "(objectClass=*)") }).code
    };
    assert_eq!(of(&mut it, "cn=halias,dc=example,dc=com"), Code::NO_SUCH_OBJECT);
    assert_eq!(of(&mut it, "cn=alias to nothing,dc=example,dc=com"), Code::ALIAS_PROBLEM);
    assert_eq!(of(&mut it, "cn=closed alias,dc=example,dc=com"), Code::ALIAS_DEREFERENCING_PROBLEM);
    let below =
        Asked { deref: DerefAliases::InSearching, scope: Scope::SingleLevel, ..ask(BASE, "(objectClass=person)") };
    assert_eq!(it.dns(&below), ["uid=ann", "uid=bob", "uid=cid"].map(|rdn| format!("{rdn},{BASE}")));
}

#[test]
fn compares_take_the_right_to_compare() {
    let it = fixture();
    let of = |dn: &str, attribute: &str| it.compare(ByMark::identity(), dn, attribute, b"frost");
    assert_eq!(of("uid=cid,dc=example,dc=com", "sn"), Code::COMPARE_TRUE);
    assert_eq!(of("uid=bob,dc=example,dc=com", "sn"), Code::INSUFFICIENT_ACCESS_RIGHTS);
    assert_eq!(of("uid=bob,dc=example,dc=com", "telephoneNumber"), Code::INSUFFICIENT_ACCESS_RIGHTS);
    assert_eq!(of("uid=bob,dc=example,dc=com", "nosuch"), Code::INSUFFICIENT_ACCESS_RIGHTS);
    assert_eq!(of("uid=bob,dc=example,dc=com", "description"), Code::NO_SUCH_ATTRIBUTE);
    assert_eq!(of("uid=hid2,dc=example,dc=com", "sn"), Code::NO_SUCH_OBJECT);
    assert_eq!(of("uid=hid2,dc=example,dc=com", "description"), Code::NO_SUCH_OBJECT);
}

#[test]
fn assertions_take_the_right_to_search() {
    let mut it = fixture();
    let asserted = |filter: &str, base: &'static str, it: &mut Fixture| {
        let controls = [controls::assertion(&ldap::filter::parse(filter).unwrap())];
        refusal(it, &Asked { controls: &controls, scope: Scope::BaseObject, ..ask(base, "(objectClass=*)") }).code
    };
    assert_eq!(asserted("(sn=frost)", "uid=cid,dc=example,dc=com", &mut it), Code::SUCCESS);
    assert_eq!(asserted("(sn=tree)", "uid=cid,dc=example,dc=com", &mut it), Code::ASSERTION_FAILED);
    assert_eq!(asserted("(sn=frost)", "uid=bob,dc=example,dc=com", &mut it), Code::INSUFFICIENT_ACCESS_RIGHTS);
    assert_eq!(asserted("(sn=frost)", "uid=hid2,dc=example,dc=com", &mut it), Code::NO_SUCH_OBJECT);
}

fn sort_key() -> SortKey<'static> {
    SortKey { attribute: b"telephoneNumber", ordering_rule: None, reverse: false }
}

#[test]
fn order_and_list_views_know_only_what_may_be_searched() {
    let mut it = fixture();
    let sort = controls::sort_request(&[sort_key()]);
    let target = VlvTarget::Offset { offset: 1, content_count: 0 };
    let view = VlvRequest { before: 0, after: 9, target, context: None };
    let both = [sort.clone(), controls::vlv_request(&view)];
    for controls in [&both[..1], &both[..]] {
        let found = it.search(&Asked { controls, ..ask(BASE, "(cn=somebody)") }).unwrap();
        // uid=bob has the least number, which may not be known: it comes last.
        let order: Vec<&str> = found.entries.iter().map(|(dn, _)| &dn[..7]).collect();
        assert_eq!(order, ["uid=cid", "uid=ann", "uid=bob"]);
        if let Some(told) = found.done.controls.iter().find(|it| it.oid == control::VLV_RESPONSE) {
            assert_eq!(VlvResponse::decode(told.value.as_deref()).unwrap().content_count, 3);
        }
    }
}

#[test]
fn pages_are_full_of_what_shows() {
    let mut it = fixture();
    let page = |size| [ControlBuf::new(control::PAGED_RESULTS, Some(PagedResults { size, cookie: b"" }.encode()))];
    let mut told = |size| {
        let found = it.search(&Asked { controls: &page(size), ..ask(BASE, "(sn=frost)") }).unwrap();
        let value = found.done.controls[0].value.clone();
        let paged = PagedResults::decode(value.as_deref()).unwrap();
        (found.entries.len(), paged.size, paged.cookie.is_empty())
    };
    assert_eq!(told(1), (1, 0, true), "no estimate, and no other page");
}

#[test]
fn groups_members_and_children_that_do_not_show_are_not_there() {
    let mut it = fixture();
    let values = |it: &mut Fixture, base, attribute: &'static str| {
        let asked = Asked { scope: Scope::BaseObject, attributes: &[attribute], ..ask(base, "(objectClass=*)") };
        it.search(&asked).unwrap().entries[0].1.get(attribute).cloned().unwrap_or_default()
    };
    assert_eq!(values(&mut it, "uid=ann,dc=example,dc=com", "isMemberOf"), ["cn=readers,dc=example,dc=com"]);
    assert_eq!(it.dns(&ask(BASE, "(isMemberOf=cn=secrets,dc=example,dc=com)")), [""; 0]);
    assert_eq!(it.dns(&ask(BASE, "(isMemberOf=cn=readers,dc=example,dc=com)")), ["uid=ann,dc=example,dc=com"]);
    // cn=readers shows, its members do not.
    let chain = "(member:1.2.840.113556.1.4.1941:=uid=ann,dc=example,dc=com)";
    assert_eq!(it.dns(&ask(BASE, chain)), [""; 0]);
    assert_eq!(values(&mut it, BASE, "numSubordinates"), ["7"]);
    assert_eq!(values(&mut it, "uid=ann,dc=example,dc=com", "hasSubordinates"), ["FALSE"]);
    assert_eq!(it.dns(&Asked { scope: Scope::BaseObject, ..ask(BASE, "(numSubordinates=7)") }), [BASE]);
}

/// Instructions are found by the presence index of `aci`; that they are found without it is told once.
#[test]
fn who_holds_instructions_is_found_without_an_index_and_that_is_told() {
    let open = "(targetattr=\"*\")(version 3.0; acl \"x\"; allow (read,search) userdn=\"ldap:///all\";)";
    let ldif = LDIF.replacen("employeeType: seen\n", &format!("employeeType: seen\naci: {open}\n"), 1);
    let presence = config::IndexKind::Presence;
    let with_index = vec![config::IndexConfig::new("aci", &[presence])];
    let create = "dsconfig create-backend-index --backend-name userRoot --index-name aci --set index-type:presence";
    let building = "it is being built";
    let cases = [
        (Fixture::with(&[BASE], Vec::new(), &ldif, |config| config.access_control.global_acis.clear()), create),
        (
            Fixture::partly_built(
                &[BASE],
                with_index,
                &ldif,
                |config| config.access_control.global_acis.clear(),
                |_| false,
            ),
            building,
        ),
    ];
    for (mut it, command) in cases {
        let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let tell = std::sync::Arc::clone(&told);
        it.directory.set_notices(Box::new(move |_, sentence| tell.lock().unwrap().push(sentence.to_owned())));
        for identity in [super::fixture::user(), crate::Identity::Anonymous] {
            let asked = Asked { identity, scope: Scope::BaseObject, ..Asked::new(BASE, "(objectClass=*)") };
            let _ = it.search(&asked);
        }
        let found = it.search(&Asked {
            identity: super::fixture::user(),
            scope: Scope::BaseObject,
            ..Asked::new(BASE, "(objectClass=*)")
        });
        assert_eq!(found.unwrap().entries.len(), 1);
        let told = told.lock().unwrap().clone();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("backend \"userRoot\"") && told[0].ends_with(command), "{}", told[0]);
    }
}
