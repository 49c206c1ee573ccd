//! Each kind of role, each kind of question.

use ldap::oids::control::{REAL_ATTRIBUTES_ONLY, VIRTUAL_ATTRIBUTES_ONLY};
use ldap::{ControlBuf, Message, ModifyOperation, ResultCode, client};

use super::*;

const SALES: &str = "ou=sales,dc=example,dc=com";
const LAB: &str = "ou=lab,dc=example,dc=com";
const ANNEX: &str = "ou=annex,ou=lab,dc=example,dc=com";

/// Ann and ben sell, cay is in the lab, dot in its annex.
fn story() -> Fixture {
    let crew = format!("cn=crew,{BASE}");
    let text = [
        person("ann", SALES, &["nsRoleDN: CN=Crew,dc=example, dc=com", "description: red"]),
        person("ben", SALES, &["description: blue"]),
        person("cay", LAB, &[&format!("nsRoleDN: {crew}"), &format!("nsRoleDN: cn=labcrew,{LAB}"), "description: red"]),
        person("dot", ANNEX, &[&format!("nsRoleDN: cn=labcrew,{LAB}"), "description: red"]),
        role("crew", BASE, "Managed", &[]),
        role("labcrew", LAB, "Managed", &[]),
        role("red", LAB, "Filtered", &["nsRoleFilter: (&(objectclass=person)(description=red))"]),
        role("bare", SALES, "Filtered", &["nsRoleFilter: description=blue"]),
        role("both", BASE, "Nested", &[&format!("nsRoleDN: cn=red,{LAB}"), &format!("nsRoleDN: cn=bare,{SALES}")]),
        role("sellers", SALES, "Nested", &[&format!("nsRoleDN: {crew}"), &format!("nsRoleDN: cn=red,{LAB}")]),
        role(
            "wide",
            SALES,
            "Nested",
            &[&format!("nsRoleDN: {crew}"), &format!("nsRoleDN: cn=red,{LAB}"), &format!("nsRoleScopeDN: {ANNEX}")],
        ),
        role("deep", BASE, "Nested", &[&format!("nsRoleDN: cn=both,{BASE}"), "nsRoleDN: cn=nothing,dc=example,dc=com"]),
    ];
    Fixture::new(&[BASE], indexes(), &ldif(&text.concat()))
}

fn people(it: &mut Fixture, filter: &str) -> Vec<String> {
    matching(it, &format!("(&(objectClass=person){filter})"))
}

#[test]
fn each_kind_gives_its_role_within_its_scope() {
    let mut it = story();
    let roles = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let ann = roles_of(&mut it, &format!("uid=ann,{SALES}"));
    assert_eq!(
        ann,
        roles(&[
            "cn=crew,dc=example,dc=com",
            "cn=sellers,ou=sales,dc=example,dc=com",
            "cn=wide,ou=sales,dc=example,dc=com"
        ])
    );
    let ben = roles_of(&mut it, &format!("uid=ben,{SALES}"));
    assert_eq!(
        ben,
        roles(&["cn=bare,ou=sales,dc=example,dc=com", "cn=both,dc=example,dc=com", "cn=deep,dc=example,dc=com"])
    );
    let names = |it: &mut Fixture, dn: &str| -> Vec<String> {
        roles_of(it, dn).iter().map(|dn| dn.split(['=', ',']).nth(1).unwrap().to_owned()).collect()
    };
    assert_eq!(names(&mut it, &format!("uid=cay,{LAB}")), ["crew", "labcrew", "red", "both", "deep"]);
    // The scope of a nested role is that of its own, and what nsRoleScopeDN adds.
    assert_eq!(names(&mut it, &format!("uid=dot,{ANNEX}")), ["labcrew", "red", "both", "wide", "deep"]);
    // What a nested role lists gives it nothing, and entries without roles show none.
    assert_eq!(names(&mut it, &format!("cn=sellers,{SALES}")), [""; 0]);
    assert_eq!(names(&mut it, LAB), [""; 0]);
}

/// Long values are stored elsewhere than short ones, and read all the same.
#[test]
fn a_long_filter_gives_its_role() {
    let nobody: String = (0..100).map(|at| format!("(description=nobody {at:08})")).collect();
    let filter = format!("nsRoleFilter: (|{nobody}(description=red))");
    let text = [person("ann", SALES, &["description: red"]), role("long", SALES, "Filtered", &[&filter])];
    let mut it = Fixture::new(&[BASE], indexes(), &ldif(&text.concat()));
    assert_eq!(roles_of(&mut it, &format!("uid=ann,{SALES}")), [format!("cn=long,{SALES}")]);
    assert_eq!(people(&mut it, &format!("(nsRole=cn=long,{SALES})")), ["ann"]);
}

// S2-42
#[test]
fn filters_and_compares_go_by_what_is_shown() {
    let mut it = story();
    for (filter, expected) in [
        ("(nsRole=cn=crew,dc=example,dc=com)", &["ann", "cay"][..]),
        ("(nsRole=CN=CREW, DC=example,dc=COM)", &["ann", "cay"]),
        ("(nsRole=cn=labcrew,ou=lab,dc=example,dc=com)", &["cay", "dot"]),
        ("(nsRole=cn=red,ou=lab,dc=example,dc=com)", &["cay", "dot"]),
        ("(nsRole=cn=sellers,ou=sales,dc=example,dc=com)", &["ann"]),
        ("(nsRole=cn=wide,ou=sales,dc=example,dc=com)", &["ann", "dot"]),
        ("(nsRole=cn=deep,dc=example,dc=com)", &["ben", "cay", "dot"]),
        ("(nsRole=cn=nothing,dc=example,dc=com)", &[]),
        ("(nsRole=not a name)", &[]),
        ("(nsRole=*)", &["ann", "ben", "cay", "dot"]),
        ("(&(nsRole=cn=crew,dc=example,dc=com)(nsRole=cn=red,ou=lab,dc=example,dc=com))", &["cay"]),
        ("(|(nsRole=cn=bare,ou=sales,dc=example,dc=com)(uid=ann))", &["ann", "ben"]),
        ("(!(nsRole=cn=crew,dc=example,dc=com))", &["ben", "dot"]),
        ("(nsRole:distinguishedNameMatch:=cn=crew,dc=example,dc=com)", &["ann", "cay"]),
    ] {
        assert_eq!(people(&mut it, filter), expected, "{filter}");
    }
    let compare = |it: &Fixture, uid: &str, role: &str| {
        it.compare(user(), &format!("uid={uid},{SALES}"), "nsRole", role.as_bytes())
    };
    assert_eq!(compare(&it, "ann", "cn=Crew,dc=example,dc=com"), ResultCode::COMPARE_TRUE);
    assert_eq!(compare(&it, "ben", "cn=crew,dc=example,dc=com"), ResultCode::COMPARE_FALSE);
    modify(&it, &format!("uid=ann,{SALES}"), ModifyOperation::Replace, "description", "blue");
    assert_eq!(people(&mut it, "(nsRole=cn=deep,dc=example,dc=com)"), ["ann", "ben", "cay", "dot"]);
}

#[test]
fn it_is_an_operational_attribute_that_only_the_server_writes() {
    let mut it = story();
    let mut has = |attributes: &[&str], controls: &[&str]| {
        let controls: Vec<_> = controls.iter().map(|oid| ControlBuf::new(oid, None)).collect();
        let asked = Asked { attributes, controls: &controls, ..Asked::new(BASE, "(uid=ben)") };
        it.search(&asked).unwrap().entries.remove(0).1.contains_key("nsRole")
    };
    assert!(has(&["+"], &[]) && has(&["nsrole"], &[]) && has(&["nsRole"], &[VIRTUAL_ATTRIBUTES_ONLY]));
    assert!(!has(&["*"], &[]) && !has(&["nsRole"], &[REAL_ATTRIBUTES_ONLY]) && !has(&["+"], &[REAL_ATTRIBUTES_ONLY]));
    let mut bytes = Vec::new();
    let value = format!("cn=crew,{BASE}");
    client::modify(
        &mut bytes,
        1,
        &format!("uid=ben,{SALES}"),
        [(ModifyOperation::Add, &b"nsRole"[..], [value.as_bytes()])],
        &[],
    );
    assert_eq!(it.try_update(&Message::decode(&bytes).unwrap()).code, ResultCode::CONSTRAINT_VIOLATION);
}

#[test]
fn definitions_that_cannot_be_are_refused() {
    let it = story();
    let try_to = |dn: &str, operation, attribute: &str, value: &str| {
        let mut bytes = Vec::new();
        client::modify(&mut bytes, 1, dn, [(operation, attribute.as_bytes(), [value.as_bytes()])], &[]);
        it.try_update(&Message::decode(&bytes).unwrap())
    };
    let red = format!("cn=red,{LAB}");
    let bad = try_to(&red, ModifyOperation::Replace, "nsRoleFilter", "(cn=x");
    assert_eq!(bad.code, ResultCode::INVALID_ATTRIBUTE_SYNTAX);
    assert!(bad.message.contains("nsRoleFilter") && bad.message.contains("(cn=x"), "{}", bad.message);
    assert_eq!(try_to(&red, ModifyOperation::Replace, "nsRoleFilter", "cn=x").code, ResultCode::SUCCESS);
    let both = format!("cn=both,{BASE}");
    assert_eq!(try_to(&both, ModifyOperation::Add, "nsRoleDN", "the crew").code, ResultCode::INVALID_ATTRIBUTE_SYNTAX);
    assert_eq!(
        try_to(&both, ModifyOperation::Replace, "nsRoleScopeDN", "all").code,
        ResultCode::INVALID_ATTRIBUTE_SYNTAX
    );
    let ann = format!("uid=ann,{SALES}");
    assert_eq!(try_to(&ann, ModifyOperation::Replace, "nsRoleDN", "crew").code, ResultCode::INVALID_ATTRIBUTE_SYNTAX);
    let mut bytes = Vec::new();
    let classes: &[&[u8]] = &[b"nsFilteredRoleDefinition"];
    let attributes: [(&[u8], Vec<&[u8]>); 3] =
        [(b"objectClass", classes.to_vec()), (b"cn", vec![b"new"]), (b"nsRoleFilter", vec![b"(((("])];
    client::add(&mut bytes, 1, &format!("cn=new,{BASE}"), attributes, &[]);
    assert_eq!(it.try_update(&Message::decode(&bytes).unwrap()).code, ResultCode::INVALID_ATTRIBUTE_SYNTAX);
}

#[test]
fn circles_and_filters_on_computed_attributes_are_reported_once() {
    let listing =
        |names: &[&str]| names.iter().map(|name| format!("nsRoleDN: cn={name},{BASE}")).collect::<Vec<_>>().join("\n");
    let text = [
        person("ann", SALES, &[&listing(&["managed"])]),
        person("ben", SALES, &[]),
        role("managed", BASE, "Managed", &[]),
        role("one", BASE, "Nested", &[&listing(&["two", "managed"])]),
        role("two", BASE, "Nested", &[&listing(&["three"])]),
        role("three", BASE, "Nested", &[&listing(&["one", "three"])]),
        role("loop", BASE, "Filtered", &["nsRoleFilter: (!(nsRole=cn=managed,dc=example,dc=com))"]),
        role("grouped", BASE, "Filtered", &["nsRoleFilter: (|(memberOf=*)(uid=*))"]),
    ];
    let mut it = Fixture::new(&[BASE], indexes(), &ldif(&text.concat()));
    let told = notices(&it);
    for _ in 0..3 {
        let mut ann = roles_of(&mut it, &format!("uid=ann,{SALES}"));
        ann.sort();
        assert_eq!(ann, ["managed", "one", "three", "two"].map(|name| format!("cn={name},{BASE}")));
        assert_eq!(roles_of(&mut it, &format!("uid=ben,{SALES}")), [""; 0]);
        assert_eq!(matching(&mut it, &format!("(nsRole=cn=two,{BASE})")), ["ann"]);
        assert_eq!(matching(&mut it, &format!("(nsRole=cn=loop,{BASE})")), [""; 0]);
        modify(&it, &format!("uid=ben,{SALES}"), ModifyOperation::Replace, "title", "any");
    }
    let mut told = told.lock().unwrap().clone();
    told.sort();
    let about = |name: &str| told.iter().filter(|line| line.contains(&format!("cn={name},"))).count();
    assert_eq!((told.len(), about("loop"), about("grouped")), (3, 1, 1), "{told:#?}");
    assert!(told.iter().any(|line| line.contains("circle") && line.contains("cn=three,")), "{told:#?}");
}

#[test]
fn filters_are_planned_by_what_the_roles_come_from() {
    let mut it = story();
    let mut explained = |filter: &str| {
        let asked = Asked { attributes: &["debugsearchindex"], ..Asked::new(BASE, filter) };
        let found = it.search(&asked).unwrap();
        found.entries[0].1["debugsearchindex"].join("\n")
    };
    let managed = explained("(nsRole=cn=crew,dc=example,dc=com)");
    assert!(managed.contains(r#""index":"nsRoleDN.distinguishedNameMatch""#), "{managed}");
    assert!(!managed.contains(r#""final":"[NOT-INDEXED]""#), "{managed}");
    let deep = explained("(nsRole=cn=deep,dc=example,dc=com)");
    assert!(deep.contains(r#""index":"description.caseIgnoreMatch""#) && !deep.contains("nsRoleDN.d"), "{deep}");
    // A user that may not search without an index is answered.
    let asked = Asked { identity: user(), ..Asked::new(BASE, "(nsRole=*)") };
    assert!(!it.search(&asked).unwrap().done.unindexed);
    let asked = Asked { identity: root(), ..Asked::new(BASE, "(nsRole=cn=wide,ou=sales,dc=example,dc=com)") };
    let done = it.search(&asked).unwrap().done;
    assert!(!done.unindexed && done.candidates <= 5, "{} candidates", done.candidates);
}

/// Role-based attributes of Sun's manual: a class of service whose templates are called like roles.
// S2-38 S2-42
#[test]
fn roles_give_attributes_through_classes_of_service() {
    let templates = format!("cn=quotas,{BASE}");
    let template = |role: &str, lines: &[&str]| {
        entry(&format!("cn=\"{role}\",{templates}"), &["cosTemplate", "extensibleObject"], lines)
    };
    let text = [
        person("ann", SALES, &[&format!("nsRoleDN: cn=boss,{BASE}"), "description: red"]),
        person("ben", SALES, &["description: red"]),
        person("cay", LAB, &["description: blue"]),
        role("boss", BASE, "Managed", &[]),
        role("red", BASE, "Filtered", &["nsRoleFilter: (description=red)"]),
        entry(&templates, &["organizationalRole"], &[]),
        template(&format!("cn=boss,{BASE}"), &["roomNumber: 1", "cosPriority: 0"]),
        template(&format!("CN=red, {BASE}"), &["roomNumber: 2"]),
        entry(
            &format!("cn=rooms,{BASE}"),
            &["ldapSubentry", "cosSuperDefinition", "cosClassicDefinition"],
            &[&format!("cosTemplateDn: {templates}"), "cosSpecifier: nsRole", "cosAttribute: roomNumber"],
        ),
    ];
    let mut it = Fixture::new(&[BASE], indexes(), &ldif(&text.concat()));
    let room = |it: &mut Fixture, name: &str| crate::tests::computed::of(it, name, "roomNumber");
    assert_eq!(room(&mut it, "ann"), ["1"], "the better priority");
    assert_eq!(room(&mut it, "ben"), ["2"]);
    assert_eq!(room(&mut it, "cay"), [""; 0]);
    assert_eq!(matching(&mut it, "(&(uid=*)(roomNumber=2))"), ["ben"]);
    assert_eq!(people(&mut it, "(roomNumber=1)"), ["ann"]);
    modify(&it, &format!("uid=cay,{LAB}"), ModifyOperation::Replace, "description", "red");
    assert_eq!(people(&mut it, "(roomNumber=2)"), ["ben", "cay"]);
}

/// Hundreds of values are not in the record; more roles than are followed belong to nobody, which is said.
#[test]
fn long_lists_are_read_up_to_a_limit_that_is_told() {
    let listing = |count: usize| {
        let names = (0..count).map(|at| format!("nsRoleDN: cn=role {at:05},{BASE}"));
        names.collect::<Vec<_>>().join("\n")
    };
    let text = [
        person("ann", SALES, &[&format!("nsRoleDN: cn=role 00299,{BASE}")]),
        role("role 00299", BASE, "Managed", &[]),
        role("many", BASE, "Nested", &[&listing(300)]),
        role("toomany", BASE, "Nested", &[&listing(query::computed::ROLES_LISTED_MAX + 1)]),
    ];
    let mut it = Fixture::new(&[BASE], indexes(), &ldif(&text.concat()));
    let told = notices(&it);
    assert_eq!(matching(&mut it, &format!("(nsRole=cn=many,{BASE})")), ["ann"]);
    let ann = roles_of(&mut it, &format!("uid=ann,{SALES}"));
    assert_eq!(ann, [format!("cn=role 00299,{BASE}"), format!("cn=many,{BASE}")]);
    assert_eq!(matching(&mut it, &format!("(nsRole=cn=toomany,{BASE})")), [""; 0]);
    let told = told.lock().unwrap();
    assert!(told.len() == 1 && told[0].contains("cn=toomany,") && told[0].contains("10000"), "{told:?}");
}
