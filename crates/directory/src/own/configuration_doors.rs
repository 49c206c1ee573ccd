//! Every declared property, changed over LDAP and as `dsconfig` does it: both write the same text, and both take it
//! back with comments and order kept.

use std::path::Path;
use std::sync::Arc;

use config::mapping::{attribute_of, is_secret, place_of, shown_value};
use config::variations::variations;
use config::{Change, Config, Edit, Fate, differences};
use ldap::{Dn, MadeUpdate, ModifyOperation};
use schema::Schema;

use super::configuration_change::ConfigurationChange;
use access::Identity;
use change::proposal::Flags;

const COMMENT: &str = "# Mine, and it stays.\n";

/// The text after a change over LDAP.
fn changed(file: &Path, schema: &Arc<Schema>, dn: &str, attribute: &str, values: &[String]) -> String {
    let values: Vec<&[u8]> = values.iter().map(String::as_bytes).collect();
    let made = MadeUpdate::modify(dn.as_bytes(), [(ModifyOperation::Replace, attribute.as_bytes(), values)]);
    let update = made.update().unwrap();
    let identity = Identity::Root { dn: "cn=Directory Manager".into() };
    let change = ConfigurationChange::read(&identity, Flags::default(), update.request(), schema).unwrap();
    let mut edit = Edit::open(file).unwrap();
    change.make(&mut edit).unwrap_or_else(|refused| panic!("{dn} {attribute}: {refused:?}"));
    edit.text()
}

#[test]
fn every_property_changes_alike_by_every_door() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pando.toml");
    let schema = Schema::standard();
    let all = variations();
    assert!(all.len() > 300, "{}", all.len());
    for variation in all.into_iter().filter(|variation| !is_secret(variation.property)) {
        let title = format!("[{}] {} {}", variation.class.name, variation.variant.type_name, variation.property.name);
        let text = format!("{COMMENT}{}", variation.before);
        std::fs::write(&file, &text).unwrap();
        let parse = |text: &str| Config::parse(text, &file).unwrap_or_else(|faults| panic!("{title}: {faults}"));
        let (before, after) = (parse(&text), parse(&variation.after));
        let found = differences(&before, &after);
        let [difference] = found.as_slice() else { panic!("{title}: {found:?}") };
        let [value] = difference.values.as_slice() else { panic!("{title}: {difference:?}") };
        assert_eq!((difference.fate, value.property.name), (Fate::Changed, variation.property.name), "{title}");
        let place = place_of(&Dn::parse(&difference.dn).unwrap()).unwrap();
        let mut by_tool = Edit::open(&file).unwrap();
        by_tool.change(&place.path().unwrap(), value.property.name, Change::Set, &value.after).unwrap();
        let attribute = attribute_of(difference.class, difference.variant, value.property);
        let shown = |values: &[String]| values.iter().map(|text| shown_value(value.property, text)).collect::<Vec<_>>();
        let by_ldap = changed(&file, &schema, &difference.dn, &attribute, &shown(&value.after));
        assert_eq!(by_ldap, by_tool.text(), "{title}");
        assert!(differences(&parse(&by_ldap), &after).is_empty(), "{title}: {by_ldap}");
        std::fs::write(&file, &by_ldap).unwrap();
        let back = changed(&file, &schema, &difference.dn, &attribute, &shown(&value.before));
        assert!(differences(&parse(&back), &before).is_empty(), "{title}: {back}");
        let lines = |text: &str| text.lines().map(|line| line.split('=').next().map(str::to_owned)).collect::<Vec<_>>();
        assert_eq!(lines(&back), lines(&text), "{title}");
    }
}
