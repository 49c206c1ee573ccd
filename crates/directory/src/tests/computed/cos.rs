//! Class of Service as Sun documents it, and where 389 Directory Server does not keep to that.

use ldap::{Message, ModifyOperation, ResultCode, client};

use super::*;
use crate::tests::groups::modify;
use crate::update::tests::bed::asked;
use crate::{Identity, Session};

/// `cn=NAME,BASE` of these classes with these lines.
fn entry(name: &str, classes: &[&str], lines: &[&str]) -> String {
    let mut text = format!("dn: cn={name},{BASE}\ncn: {name}\n");
    classes.iter().for_each(|class| text.push_str(&format!("objectClass: {class}\n")));
    lines.iter().for_each(|line| text.push_str(&format!("{line}\n")));
    text + "\n"
}

fn definition(name: &str, class: &str, lines: &[&str]) -> String {
    entry(name, &["top", "ldapSubEntry", "cosSuperDefinition", class], lines)
}

fn template(name: &str, lines: &[&str]) -> String {
    entry(name, &["top", "cosTemplate", "extensibleObject"], lines)
}

fn person(uid: &str, lines: &[&str]) -> String {
    let mut text =
        format!("dn: uid={uid},ou=people,{BASE}\nobjectClass: inetOrgPerson\nuid: {uid}\ncn: {uid}\nsn: {uid}\n");
    lines.iter().for_each(|line| text.push_str(&format!("{line}\n")));
    text + "\n"
}

fn dn(uid: &str) -> String {
    format!("uid={uid},ou=people,{BASE}")
}

fn fixture(entries: &[String]) -> Fixture {
    let head = format!(
        "dn: {BASE}\nobjectClass: domain\ndc: example\n\ndn: ou=people,{BASE}\nobjectClass: organizationalUnit\nou: \
         people\n\n"
    );
    Fixture::new(&[BASE], default_indexes(), &(head + &entries.concat()))
}

/// An update as root, however it ends.
fn result_of(it: &Fixture, message: &Message<'_>) -> ResultCode {
    let identity = Identity::Root { dn: "cn=Directory Manager".into() };
    let session = Session::of(identity, 1);
    let (sender, receiver) = std::sync::mpsc::channel();
    let done = Box::new(move |done: crate::update::UpdateDone| drop(sender.send(done.result)));
    drop(it.directory.submit(&session, asked(message), done));
    receiver.recv().unwrap().code
}

fn try_modify(it: &Fixture, dn: &str, operation: ModifyOperation, attribute: &str, value: &str) -> ResultCode {
    let mut bytes = Vec::new();
    client::modify(&mut bytes, 1, dn, [(operation, attribute.as_bytes(), [value.as_bytes()])], &[]);
    result_of(it, &Message::decode(&bytes).unwrap())
}

// S2-38 S2-40
#[test]
fn a_pointer_gives_everybody_the_template() {
    let mut it = fixture(&[
        template("zip", &["postalCode: 44438"]),
        definition(
            "pointerCoS",
            "cosPointerDefinition",
            &[&format!("cosTemplateDn: CN=zip, {BASE}"), "cosAttribute: postalCode"],
        ),
        person("ann", &[]),
        person("ben", &["postalCode: 1"]),
    ]);
    assert_eq!(of(&mut it, "ann", "postalCode"), ["44438"]);
    assert_eq!(of(&mut it, "ben", "postalCode"), ["1"]);
    assert_eq!(matching(&mut it, "(&(uid=*)(postalCode=44438))"), ["ann"]);
    assert!(shown(&mut it, "(ou=people)", "postalCode")["people"].len() == 1, "an organizationalUnit may have it");
    // The domain of the suffix may, subentries get nothing.
    assert_eq!(shown(&mut it, "(objectClass=ldapSubEntry)", "postalCode")["pointerCoS"], Vec::<String>::new());
    // An update of the template is there at once, and so is the end of the definition.
    modify(&it, &format!("cn=zip,{BASE}"), ModifyOperation::Replace, "postalCode", "9");
    assert_eq!(of(&mut it, "ann", "postalCode"), ["9"]);
    assert_eq!(matching(&mut it, "(&(uid=*)(postalCode=44438))"), Vec::<String>::new());
    modify(&it, &format!("cn=pointerCoS,{BASE}"), ModifyOperation::Replace, "cosAttribute", "l");
    assert_eq!(of(&mut it, "ann", "postalCode"), Vec::<String>::new());
}

// S2-38
#[test]
fn an_indirect_one_gives_what_the_named_entry_has() {
    let mut it = fixture(&[
        definition(
            "indirectCoS",
            "cosIndirectDefinition",
            &["cosIndirectSpecifier: manager", "cosAttribute: departmentNumber"],
        ),
        person("boss", &["departmentNumber: 318842"]),
        person("ann", &[&format!("manager: {}", dn("boss"))]),
        person("ben", &[&format!("manager: {}", dn("nobody"))]),
        person("cay", &[&format!("manager: {}", dn("ann"))]),
    ]);
    assert_eq!(of(&mut it, "ann", "departmentNumber"), ["318842"]);
    assert_eq!(of(&mut it, "ben", "departmentNumber"), Vec::<String>::new());
    assert_eq!(of(&mut it, "cay", "departmentNumber"), Vec::<String>::new(), "only what is stored is taken");
    assert_eq!(matching(&mut it, "(departmentNumber=318842)"), ["ann", "boss"]);
    assert_eq!(matching(&mut it, "(departmentNumber=3188*)"), ["ann", "boss"]);
    assert_eq!(matching(&mut it, "(&(uid=*)(!(departmentNumber=*)))"), ["ben", "cay"]);
    // 389 answers compareFalse.
    assert_eq!(it.compare(user(), &dn("ann"), "departmentNumber", b"318842"), ResultCode::COMPARE_TRUE);
    assert_eq!(it.compare(user(), &dn("ben"), "departmentNumber", b"318842"), ResultCode::NO_SUCH_ATTRIBUTE);
}

/// Hundreds of values are stored elsewhere than few, and read all the same.
#[test]
fn a_definition_may_give_hundreds_of_attributes() {
    let values = |count: usize| -> Vec<String> {
        (0..count).map(|at| format!("cosAttribute: postalCode{}", " default".repeat(at))).collect()
    };
    let given = |count: usize| {
        let mut lines = values(count);
        lines.push(format!("cosTemplateDn: cn=zip,{BASE}"));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let zip = template("zip", &["postalCode: 44438"]);
        let mut it = fixture(&[zip, definition("many", "cosPointerDefinition", &lines), person("ann", &[])]);
        of(&mut it, "ann", "postalCode")
    };
    assert_eq!(given(400), ["44438"]);
    assert_eq!(given(1_001), Vec::<String>::new(), "too many are reported");
}

/// Where a name is in an attribute of text, it leads to the entry all the same, and so does the filter.
// S2-38 S2-42
#[test]
fn an_indirect_one_goes_by_names_in_text() {
    let mut it = fixture(&[
        definition(
            "byText",
            "cosIndirectDefinition",
            &["cosIndirectSpecifier: givenName", "cosAttribute: telephoneNumber"],
        ),
        person("boss", &["telephoneNumber: +1 2"]),
        person("ann", &[&format!("givenName: UID=boss, ou=people,{BASE}")]),
    ]);
    assert_eq!(of(&mut it, "ann", "telephoneNumber"), ["+1 2"]);
    assert_eq!(matching(&mut it, "(telephoneNumber=+12)"), ["ann", "boss"]);
}

fn classic(more: &[String]) -> Fixture {
    let mut entries = vec![
        definition(
            "classicCoS",
            "cosClassicDefinition",
            &[
                &format!("cosTemplateDn: {BASE}"),
                "cosSpecifier: employeeType",
                "cosAttribute: street",
                "cosAttribute: l",
            ],
        ),
        template("Gold", &["l: Athens"]),
        template("employeeType-default", &["l: Nowhere", "street: Main"]),
        person("ann", &["employeeType: gold"]),
        person("ben", &["employeeType: tin"]),
        person("cay", &[]),
    ];
    entries.extend_from_slice(more);
    fixture(&entries)
}

// S2-38
#[test]
fn a_classic_one_gives_the_template_called_like_a_value() {
    let mut it = classic(&[]);
    assert_eq!(of(&mut it, "ann", "l"), ["Athens"]);
    assert_eq!(of(&mut it, "ann", "street"), ["Main"], "what its template lacks is in the default one");
    assert_eq!(of(&mut it, "ben", "l"), ["Nowhere"]);
    assert_eq!(of(&mut it, "cay", "l"), ["Nowhere"]);
    assert_eq!(matching(&mut it, "(&(uid=*)(l=athens))"), ["ann"]);
    assert_eq!(matching(&mut it, "(&(uid=*)(l=nowhere))"), ["ben", "cay"]);
    modify(&it, &dn("ben"), ModifyOperation::Replace, "employeeType", "GOLD");
    assert_eq!(matching(&mut it, "(&(uid=*)(l=athens))"), ["ann", "ben"]);
}

/// 389 misses values of indexed attributes; here the filter goes to the index of what the values come from.
// S2-42
#[test]
fn filters_are_led_back_to_indexes() {
    let plan_of = |it: &mut Fixture, filter: &str| {
        let attributes = ["debugsearchindex"];
        let found = it.search(&Asked { attributes: &attributes, ..Asked::new(BASE, filter) }).unwrap();
        found.entries[0].1["debugsearchindex"][0].clone()
    };
    let mut it = fixture(&[
        definition("a", "cosIndirectDefinition", &["cosIndirectSpecifier: manager", "cosAttribute: telephoneNumber"]),
        person("boss", &["telephoneNumber: +1 2"]),
        person("ann", &[&format!("manager: {}", dn("boss"))]),
    ]);
    let text = plan_of(&mut it, "(telephoneNumber=+12)");
    // `setup` has no index of manager: that is what would help.
    assert!(text.contains("(manager=uid=boss,ou=people,dc=example,dc=com)") && text.contains("NOT-INDEXED"), "{text}");
    assert_eq!(matching(&mut it, "(telephoneNumber=+12)"), ["ann", "boss"]);
    let text = plan_of(&mut it, "(uid=ann)");
    assert!(!text.contains("manager"), "{text}");
}

#[test]
fn the_lowest_number_is_the_first_priority_and_none_is_the_last() {
    let pointer = |name: &str, priority: &str| {
        let lines = [format!("cosTemplateDn: cn=of-{name},{BASE}"), "cosAttribute: title".to_owned()];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let title = format!("title: {name}");
        let own: Vec<&str> = [title.as_str(), priority].into_iter().filter(|line| !line.is_empty()).collect();
        definition(name, "cosPointerDefinition", &lines) + &template(&format!("of-{name}"), &own)
    };
    // 389 puts what has no priority before all others.
    let mut it = fixture(&[pointer("none", ""), pointer("five", "cosPriority: 5"), person("ann", &[])]);
    assert_eq!(of(&mut it, "ann", "title"), ["five"]);
    let mut it = fixture(&[
        pointer("minus", "cosPriority: -1"),
        pointer("five", "cosPriority: 5"),
        pointer("zero", "cosPriority: 0"),
        person("ann", &[]),
    ]);
    assert_eq!(of(&mut it, "ann", "title"), ["zero"]);
    assert_eq!(matching(&mut it, "(&(uid=*)(title=five))"), Vec::<String>::new());
    modify(&it, &format!("cn=of-zero,{BASE}"), ModifyOperation::Replace, "cosPriority", "6");
    assert_eq!(of(&mut it, "ann", "title"), ["five"]);
}

#[test]
fn qualifiers_decide_between_stored_and_given_values() {
    let with = |qualifiers: &str| {
        fixture(&[
            template("one", &["title: One", "ds-pwp-password-policy-dn: cn=p"]),
            definition(
                "a",
                "cosPointerDefinition",
                &[
                    &format!("cosTemplateDn: cn=one,{BASE}"),
                    &format!("cosAttribute: title {qualifiers}"),
                    "cosAttribute: ds-pwp-password-policy-dn default operational",
                ],
            ),
            person("ann", &["title: Own"]),
            person("ben", &[]),
        ])
    };
    let all = |it: &mut Fixture, attributes: &[&str], name: &str| {
        let filter = format!("(uid={name})");
        let asked = Asked { attributes, ..Asked::new(BASE, &filter) };
        it.search(&asked).unwrap().entries.remove(0).1.get("title").cloned().unwrap_or_default()
    };
    for (qualifiers, named, with_star) in [
        ("default", "Own", "Own"),
        ("override", "One", "One"),
        ("operational", "One", ""),
        ("operational-default", "Own", "Own"),
    ] {
        let mut it = with(qualifiers);
        assert_eq!(all(&mut it, &["title"], "ann"), [named], "{qualifiers}");
        assert_eq!(all(&mut it, &["*"], "ann").join(""), with_star, "{qualifiers}");
        let ben = if qualifiers.starts_with("operational") { "" } else { "One" };
        assert_eq!(all(&mut it, &["*"], "ben").join(""), ben, "{qualifiers}");
        assert_eq!(all(&mut it, &["title"], "ben"), ["One"], "{qualifiers}");
        assert_eq!(matching(&mut it, "(&(uid=*)(title=own))").len(), usize::from(named == "Own"), "{qualifiers}");
        // By name, though no class of the entry allows it.
        assert_eq!(of(&mut it, "ben", "ds-pwp-password-policy-dn"), ["cn=p"]);
        let written = try_modify(&it, &dn("ann"), ModifyOperation::Add, "title", "New");
        let is_refused = matches!(qualifiers, "override" | "operational");
        assert_eq!(written == ResultCode::UNWILLING_TO_PERFORM, is_refused, "{qualifiers}");
        assert_eq!(try_modify(&it, &dn("ann"), ModifyOperation::Delete, "title", "Own"), ResultCode::SUCCESS);
    }
}

#[test]
fn schemes_are_merged_without_repeats() {
    let mut it = fixture(&[
        template("one", &["title: A", "title: B", "cosPriority: 3"]),
        template("two", &["title: b", "title: C"]),
        definition(
            "a",
            "cosPointerDefinition",
            &[&format!("cosTemplateDn: cn=one,{BASE}"), "cosAttribute: title merge-schemes"],
        ),
        definition(
            "b",
            "cosPointerDefinition",
            &[&format!("cosTemplateDn: cn=two,{BASE}"), "cosAttribute: title merge-schemes"],
        ),
        person("ann", &[]),
        person("ben", &["title: Own"]),
    ]);
    assert_eq!(of(&mut it, "ann", "title"), ["A", "B", "C"]);
    assert_eq!(of(&mut it, "ben", "title"), ["Own"]);
    assert_eq!(matching(&mut it, "(&(uid=*)(title=c))"), ["ann"]);
}

#[test]
fn an_entry_whose_classes_do_not_allow_the_attribute_has_none() {
    let mut it = fixture(&[
        template("one", &["uidNumber: 7"]),
        definition("a", "cosPointerDefinition", &[&format!("cosTemplateDn: cn=one,{BASE}"), "cosAttribute: uidNumber"]),
        person("ann", &[]),
        person("ben", &["objectClass: extensibleObject"]),
    ]);
    assert_eq!(matching(&mut it, "(&(uid=*)(uidNumber=7))"), ["ben"]);
    assert_eq!(of(&mut it, "ann", "uidNumber"), Vec::<String>::new());
}

#[test]
fn the_target_tree_is_where_it_says_or_below_the_parent() {
    let in_people = |target: &str| {
        let mut text = format!(
            "dn: cn=a,ou=people,{BASE}\nobjectClass: cosPointerDefinition\ncn: a\ncosAttribute: title\ncosTemplateDn: \
             cn=one,{BASE}\n"
        );
        if !target.is_empty() {
            text.push_str(&format!("cosTargetTree: {target}\n"));
        }
        text + "\n"
    };
    let outside = format!("dn: uid=out,{BASE}\nobjectClass: inetOrgPerson\nuid: out\ncn: out\nsn: out\n\n");
    let it = |target: &str| {
        fixture(&[template("one", &["title: X"]), in_people(target), person("ann", &[]), outside.clone()])
    };
    assert_eq!(matching(&mut it(""), "(&(uid=*)(title=x))"), ["ann"]);
    assert_eq!(matching(&mut it(BASE), "(&(uid=*)(title=x))"), ["ann", "out"]);
    let mut moved = it("");
    // A definition that is renamed, moved or deleted holds where it is now, if anywhere.
    let mut bytes = Vec::new();
    client::modify_dn(&mut bytes, 1, &format!("cn=a,ou=people,{BASE}"), "cn=a", false, Some(BASE), &[]);
    assert_eq!(result_of(&moved, &Message::decode(&bytes).unwrap()), ResultCode::SUCCESS);
    assert_eq!(matching(&mut moved, "(&(uid=*)(title=x))"), ["ann", "out"]);
    bytes.clear();
    client::delete(&mut bytes, 1, &format!("cn=a,{BASE}"), &[]);
    assert_eq!(result_of(&moved, &Message::decode(&bytes).unwrap()), ResultCode::SUCCESS);
    assert_eq!(matching(&mut moved, "(&(uid=*)(title=x))"), Vec::<String>::new());
}

/// Definitions may depend on each other, also in a circle.
// S2-42
#[test]
fn what_is_given_may_depend_on_what_is_given() {
    let classic = |name: &str, specifier: &str, attribute: &str| {
        let lines = [
            format!("cosTemplateDn: {BASE}"),
            format!("cosSpecifier: {specifier}"),
            format!("cosAttribute: {attribute}"),
        ];
        definition(name, "cosClassicDefinition", &lines.each_ref().map(String::as_str))
    };
    let mut it = fixture(&[
        definition("kinds", "cosIndirectDefinition", &["cosIndirectSpecifier: manager", "cosAttribute: employeeType"]),
        classic("places", "employeeType", "l"),
        classic("streets", "l", "street"),
        classic("round", "street", "st"),
        classic("about", "st", "roomNumber"),
        classic("again", "roomNumber", "businessCategory"),
        template("gold", &["l: Athens"]),
        template("athens", &["street: Main"]),
        template("main", &["st: Attica"]),
        template("attica", &["roomNumber: 7"]),
        template("7", &["businessCategory: shop"]),
        person("boss", &["employeeType: Gold"]),
        person("ann", &[&format!("manager: {}", dn("boss"))]),
        person("ben", &["l: Sparta", &format!("manager: {}", dn("boss"))]),
    ]);
    assert_eq!(of(&mut it, "ann", "employeeType"), ["Gold"]);
    assert_eq!(of(&mut it, "ann", "st"), ["Attica"]);
    assert_eq!(matching(&mut it, "(&(uid=*)(street=main))"), ["ann", "boss"]);
    assert_eq!(matching(&mut it, "(&(uid=*)(st=attica))"), ["ann", "boss"]);
    // Whatever is shown is found, however deep it comes from.
    for attribute in ["roomNumber", "businessCategory"] {
        let with: Vec<String> = shown(&mut it, "(uid=*)", attribute)
            .into_iter()
            .filter(|(_, own)| !own.is_empty())
            .map(|(name, _)| name)
            .collect();
        assert_eq!(matching(&mut it, &format!("(&(uid=*)({attribute}=*))")), with);
    }
    modify(&it, &format!("cn=kinds,{BASE}"), ModifyOperation::Replace, "cosIndirectSpecifier", "secretary");
    assert_eq!(matching(&mut it, "(&(uid=*)(street=main))"), ["boss"]);
}

/// The writer keeps definitions: it must drop them with everything that changes them, also in one batch, and what is
/// taken back.
#[test]
fn writes_are_refused_by_the_definitions_of_the_moment() {
    let mut it = fixture(&[
        template("one", &["title: X"]),
        definition("a", "cosPointerDefinition", &[&format!("cosTemplateDn: cn=one,{BASE}"), "cosAttribute: title"]),
        person("ann", &[]),
    ]);
    let (cos, ann) = (format!("cn=a,{BASE}"), dn("ann"));
    let write = |it: &Fixture, value: &str| try_modify(it, &ann, ModifyOperation::Replace, "title", value);
    assert_eq!(write(&it, "1"), ResultCode::SUCCESS);
    modify(&it, &cos, ModifyOperation::Replace, "cosAttribute", "title override");
    assert_eq!(write(&it, "2"), ResultCode::UNWILLING_TO_PERFORM);
    // Refused: the definition stays as it was.
    assert_ne!(try_modify(&it, &cos, ModifyOperation::Replace, "cosPriorityless", "x"), ResultCode::SUCCESS);
    assert_eq!(write(&it, "3"), ResultCode::UNWILLING_TO_PERFORM);
    let mut bytes = Vec::new();
    client::modify_dn(&mut bytes, 1, &cos, "cn=b", true, Some(&ann), &[]);
    assert_eq!(result_of(&it, &Message::decode(&bytes).unwrap()), ResultCode::SUCCESS);
    assert_eq!(write(&it, "4"), ResultCode::UNWILLING_TO_PERFORM, "it is the parent now");
    bytes.clear();
    client::delete(&mut bytes, 1, &format!("cn=b,{ann}"), &[]);
    assert_eq!(result_of(&it, &Message::decode(&bytes).unwrap()), ResultCode::SUCCESS);
    assert_eq!(write(&it, "5"), ResultCode::SUCCESS);
    assert_eq!(of(&mut it, "ann", "title"), ["5"]);
    bytes.clear();
    let added: [(&str, &[&[u8]]); 4] = [
        ("objectClass", &[b"cosPointerDefinition"]),
        ("cn", &[b"c"]),
        ("cosAttribute", &[b"title override"]),
        ("cosTemplateDn", &[b"cn=one,dc=example,dc=com"]),
    ];
    client::add(
        &mut bytes,
        1,
        &format!("cn=c,{BASE}"),
        added.map(|(name, values)| (name.as_bytes(), values.iter().copied())),
        &[],
    );
    assert_eq!(result_of(&it, &Message::decode(&bytes).unwrap()), ResultCode::SUCCESS);
    assert_eq!(write(&it, "6"), ResultCode::UNWILLING_TO_PERFORM);
}

/// A specifier may be computed itself: here the groups of an entry.
#[test]
fn a_specifier_may_be_computed() {
    let group = format!("cn=staff,{BASE}");
    let mut it = fixture(&[
        entry("staff", &["groupOfNames"], &[&format!("member: {}", dn("ann"))]),
        definition(
            "a",
            "cosClassicDefinition",
            &[&format!("cosTemplateDn: {BASE}"), "cosSpecifier: isMemberOf", "cosAttribute: title"],
        ),
        format!(
            "dn: cn=\"{group}\",{BASE}\nobjectClass: cosTemplate\nobjectClass: extensibleObject\ncn: {group}\ntitle: \
             Staff\n\n"
        ),
        person("ann", &[]),
        person("ben", &[]),
    ]);
    assert_eq!(of(&mut it, "ann", "title"), ["Staff"]);
    assert_eq!(matching(&mut it, "(&(uid=*)(title=staff))"), ["ann"]);
}

#[test]
fn definitions_that_say_nothing_are_told_of_once() {
    let mut it = fixture(&[
        definition("a", "cosPointerDefinition", &["cosAttribute: userPassword"]),
        definition("b", "cosIndirectDefinition", &["cosAttribute: title"]),
        person("ann", &[]),
    ]);
    let told = crate::tests::groups::notices(&it);
    for _ in 0..2 {
        assert_eq!(of(&mut it, "ann", "title"), Vec::<String>::new());
    }
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("userPassword") && told[1].contains("has no cosIndirectSpecifier"), "{told:?}");
}
