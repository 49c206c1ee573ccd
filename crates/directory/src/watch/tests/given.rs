//! Changes of what entries are given: what is told is what each image of the entry shows.

use config::{ConflictBehavior, GivenTo, Template, VirtualAttributeConfig, VirtualAttributeKind};

use super::*;

fn table(attribute: &str, template: &str) -> VirtualAttributeConfig {
    VirtualAttributeConfig {
        name: attribute.to_owned(),
        line: 1,
        column: 1,
        attribute: attribute.to_owned(),
        enabled: true,
        kind: VirtualAttributeKind::UserTemplate {
            template: Template::parse(template).unwrap(),
            given: Box::new(GivenTo {
                base_dns: Vec::new(),
                scope: Scope::WholeSubtree,
                group_dns: Vec::new(),
                filter: "(objectClass=account)".to_owned(),
                conflict: ConflictBehavior::RealOverridesVirtual,
            }),
        },
    }
}

/// What a computed attribute comes from may be computed in turn, or be the groups of an entry; each image of an entry
/// has its own.
#[test]
fn before_and_after_a_change_an_entry_shows_what_it_has_then() {
    let staff = "cn=staff,dc=example,dc=com";
    let ldif = ldif()
        + &format!("dn: {staff}\nobjectClass: groupOfURLs\nmemberURL: ldap:///{BASE}??sub?(description=staff)\n\n");
    let mut fixture = Fixture::with(&[BASE], config::default_indexes(), &ldif, |config| {
        let tables = [
            table("l", "{description} people"),
            table("displayName", "of {l}"),
            table("title", "in {isMemberOf|none}"),
        ];
        config.virtual_attributes.extend(tables);
    });
    let (by_others, by_groups) = (Client::default(), Client::default());
    let controls = control(15, true);
    let attributes = ["displayName", "title", "description"];
    let filters = ["(displayName=of staff people)".to_owned(), format!("(title=in {staff})")];
    for (filter, client) in filters.iter().zip([&by_others, &by_groups]) {
        let asked = Asked { controls: &controls, attributes: &attributes, ..Asked::new(BASE, filter) };
        watch(&mut fixture, &asked, client);
    }
    for value in ["staff", "guest", "nobody", "staff", "nobody"] {
        replace(&fixture, BO, value);
    }
    let told = |told: Told| ["description", "displayName", "title"].map(|name| told.value(name).to_owned());
    let (is_in, is_out) = (format!("in {staff}"), "in none".to_owned());
    let expected = [("staff", &is_in), ("guest", &is_out), ("staff", &is_in), ("nobody", &is_out)]
        .map(|(value, title)| [value.to_owned(), format!("of {value} people"), title.clone()]);
    for client in [by_others, by_groups] {
        let seen: Vec<_> = client.told(expected.len()).into_iter().map(told).collect();
        assert_eq!(seen, expected);
    }
}
