//! What entries are given: tables of the configuration, Class of Service, collective attributes, roles. What decides
//! about entries that show is the same in the twin, other definitions come and go.

use super::chance::Chance;
use super::world::{BASE, Entry, HIDDEN, hidden_dn, person_dn};

/// Tables of computed attributes, and limits that let everybody search without an index.
pub const CONFIGURATION: &str = r#"
[virtual-attribute."full name"]
type = "user-template"
attribute-type = "displayName"
template = "{cn} {description}"
filter = "(objectClass=inetOrgPerson)"

[virtual-attribute.house]
type = "user-defined"
attribute-type = "l"
value = "Grove"
filter = "(description=d2)"

[virtual-attribute.members]
type = "member"
attribute-type = "member"
allow-retrieving-membership = true

[virtual-attribute.lists]
type = "dynamic-list"
group-class = "groupOfURLs"
url-attribute = "memberURL"
list-attribute = ["mail", "homePhone:telephoneNumber"]

[virtual-attribute.keepers]
type = "group-membership"
attribute-type = "secretary"
group-class = "organizationalRole"
member-attribute = "roleOccupant"

[limits.all]
type = "everyone"
unindexed-search = true
"#;

/// Filters on what is given.
pub const FILTERS: [&str; 12] = [
    "(postalCode=r0)",
    "(postalCode=*)",
    "(street=*)",
    "(nsRole=cn=filtered,dc=example,dc=com)",
    "(nsRole=cn=nested,dc=example,dc=com)",
    "(&(objectClass=inetOrgPerson)(!(nsRole=cn=managed,dc=example,dc=com)))",
    "(displayName=tree d1)",
    "(&(c-l=*)(l=Grove))",
    "(|(c-l=Athens)(departmentNumber=1))",
    "(mail=m1@example.com)",
    "(homePhone=3)",
    "(secretary=OTHER)",
];

/// What definitions look at, of one person.
pub fn of_person(chance: &mut Chance, attributes: &mut Vec<(&'static str, String)>, has_role: bool) {
    let shows = attributes.iter().any(|(name, value)| *name == "uid" && !value.starts_with('h'));
    if shows {
        attributes.push(("roomNumber", format!("r{}", chance.below(3))));
        attributes.push(("manager", person_dn(chance.below(9))));
    } else {
        attributes.push(("roomNumber", format!("h{}", chance.below(HIDDEN))));
        attributes.push(("documentAuthor", hidden_dn(chance.below(HIDDEN))));
    }
    attributes.push(("carLicense", chance.below(3).to_string()));
    if has_role {
        attributes.push(("nsRoleDN", format!("cn=managed,{BASE}")));
    }
}

fn definition(name: &str, class: &'static str) -> Entry {
    Entry::new(format!("cn={name},{BASE}"), class).with(&[("objectClass", "ldapSubEntry")])
}

/// Definitions that concern entries that show, in both twins; they show or not.
pub fn definitions(chance: &mut Chance) -> Vec<Entry> {
    let mut all = vec![Entry::new(format!("ou=templates,{BASE}"), "organizationalUnit")];
    for (name, value) in [("r0", "r0"), ("r1", "r1"), ("roomNumber-default", "none")] {
        let template = Entry::new(format!("cn={name},ou=templates,{BASE}"), "cosTemplate");
        all.push(template.with(&[("postalCode", value)]));
    }
    let templates = format!("ou=templates,{BASE}");
    let cos = [("objectClass", "cosSuperDefinition")];
    all.push(definition("classic", "cosClassicDefinition").with(&cos).with(&[
        ("cosTemplateDn", &templates),
        ("cosSpecifier", "roomNumber"),
        ("cosAttribute", "postalCode"),
    ]));
    all.push(definition("indirect", "cosIndirectDefinition").with(&cos).with(&[
        ("cosIndirectSpecifier", "manager"),
        ("cosAttribute", "carLicense merge-schemes"),
        ("cosAttribute", "street"),
    ]));
    all.push(definition("managed", "nsManagedRoleDefinition"));
    all.push(definition("filtered", "nsFilteredRoleDefinition").with(&[("nsRoleFilter", "(description=d0)")]));
    let (managed, filtered) = (format!("cn=managed,{BASE}"), format!("cn=filtered,{BASE}"));
    let nested = definition("nested", "nsNestedRoleDefinition");
    all.push(nested.with(&[("nsRoleDN", &managed), ("nsRoleDN", &filtered)]));
    let collective = Entry::new(format!("cn=collective,{BASE}"), "subentry");
    all.push(collective.with(&[
        ("objectClass", "collectiveAttributeSubentry"),
        ("subtreeSpecification", "{ specificationFilter \"(description=d1)\" }"),
        ("c-l", "Athens"),
    ]));
    all.into_iter().map(|entry| entry.staying(chance.tenths(5))).collect()
}

/// A definition that concerns only entries that do not show.
pub fn hidden_definition(chance: &mut Chance, number: usize, above: &str) -> Entry {
    let dn = format!("cn=h{number},{above}");
    match chance.below(4) {
        0 => Entry::new(dn, "nsFilteredRoleDefinition")
            .with(&[("objectClass", "ldapSubEntry"), ("nsRoleFilter", "(uid=h*)")]),
        1 => Entry::new(dn, "subentry").with(&[
            ("objectClass", "collectiveAttributeSubentry"),
            ("subtreeSpecification", "{ specificationFilter \"(uid=h*)\" }"),
            ("c-l", "Athens"),
            ("departmentNumber;collective", "1"),
        ]),
        2 => Entry::new(dn, "cosIndirectDefinition").with(&[
            ("objectClass", "ldapSubEntry"),
            ("objectClass", "cosSuperDefinition"),
            ("cosIndirectSpecifier", "documentAuthor"),
            ("cosAttribute", "postalCode"),
            ("cosAttribute", "departmentNumber"),
        ]),
        // A template of the classic definition; nobody else has such a room.
        _ => Entry::new(format!("cn=h{number},ou=templates,{BASE}"), "cosTemplate").with(&[("postalCode", "r0")]),
    }
}
