//! A backend with every kind of index, through import, verify and rebuild.

use std::sync::Arc;

use ldap::Scope;
use schema::TypeIndex;

use super::*;
use crate::index::{
    CompileFilter, IndexConfig, IndexFilter, IndexKind, IndexSecret, IndexedEntry, SECRET_BYTES, VlvConfig, sort_key,
};

/// Filters that are the name of an attribute: it is there, or with `!` it is not.
struct AttributeFilters;

struct AttributeFilter {
    text: String,
    attribute: [TypeIndex; 1],
}

impl CompileFilter for AttributeFilters {
    fn compile(&self, schema: &Arc<Schema>, text: &str) -> Result<Arc<dyn IndexFilter>, String> {
        let attribute = schema.attribute_type(text.trim_start_matches('!').as_bytes()).ok_or("names no attribute")?;
        Ok(Arc::new(AttributeFilter { text: text.to_owned(), attribute: [attribute.index] }))
    }
}

impl IndexFilter for AttributeFilter {
    fn text(&self) -> &str {
        &self.text
    }

    fn attributes(&self) -> &[TypeIndex] {
        &self.attribute
    }

    fn matches(&self, entry: &dyn IndexedEntry) -> bool {
        let mut found = false;
        entry.each_attribute(&|of_type| of_type == self.attribute[0], &mut |_, _| found = true);
        entry.each_large(&mut |of_type| found |= of_type == self.attribute[0]);
        found != self.text.starts_with('!')
    }
}

fn list(name: &str, filter: &str, sort_order: &str) -> VlvConfig {
    VlvConfig {
        name: name.to_owned(),
        base_dn: "dc=example,dc=com".to_owned(),
        scope: Scope::WholeSubtree,
        filter: filter.to_owned(),
        sort_order: sort_order.to_owned(),
    }
}

/// OpenDJ's indexes, and each other kind beside them.
pub fn every_kind() -> IndexConfigs {
    use IndexKind::{Approximate, Equality, Extensible, Ordering, Presence, Substring};
    let mut attributes = default_indexes();
    attributes.retain(|index| !["cn", "mail"].contains(&index.attribute.as_str()));
    let rules = ["caseExactMatch", "fr.eq", "de.sub", "2.5.13.7"].map(str::to_owned).to_vec();
    attributes.push(IndexConfig {
        extensible_rules: rules,
        substring_length: 4,
        ..IndexConfig::new("cn", &[Equality, Substring, Ordering, Presence, Approximate, Extensible])
    });
    attributes.push(IndexConfig {
        is_confidential: true,
        ..IndexConfig::new("mail", &[Equality, Substring, Presence, Approximate])
    });
    attributes.push(IndexConfig {
        extensible_rules: vec!["partialDateAndTimeMatchingRule".to_owned()],
        ..IndexConfig::new("createTimestamp", &[Extensible])
    });
    attributes.push(IndexConfig::new("pwdFailureTime", &[Equality, Ordering, Presence]));
    let vlv = vec![list("with-sn", "sn", "+sn -cn"), list("without-mail", "!mail", "-sn:fr.lt +uid")];
    let secret = Some(IndexSecret::new(&[7; SECRET_BYTES]));
    IndexConfigs { attributes, vlv, filters: Some(Arc::new(AttributeFilters)), secret }
}

fn import_every_kind(directory: &Path, text: &str) {
    import_with(directory, text, |options| {
        options.indexes = every_kind();
        options.skip_schema_validation = true;
    })
    .unwrap();
}

/// Names of the entries of a list in its order, without the part that all have.
fn listed(db: &Opened, name: &str) -> Vec<String> {
    let name_of = |id: u64| {
        let dn = db.view().dn_of(EntryId(id)).unwrap().unwrap();
        dn.split([',', '=']).nth(1).unwrap_or_default().to_owned()
    };
    db.postings(db.index(name)).into_values().flatten().map(name_of).collect()
}

const MORE: &str = "dn: dc=example,dc=com
objectClass: domain
dc: example

dn: uid=a,dc=example,dc=com
uid: a
sn: Zander
cn: A
mail: a@example.com

dn: uid=b,dc=example,dc=com
uid: b
sn: \u{c9}mile
cn: B

dn: uid=c,dc=example,dc=com
uid: c
sn: zander
sn: Otto
cn: C

dn: uid=d,dc=example,dc=com
uid: d
sn: ZANDER
cn: D
";

#[test]
fn lists_are_in_order_and_hold_what_matches() {
    let directory = tempfile::tempdir().unwrap();
    import_every_kind(directory.path(), MORE);
    let db = Opened::with(directory.path(), every_kind());
    // By sn, then by cn from the last to the first; the least of several values counts. Byte order puts the accent
    // last.
    assert_eq!(listed(&db, "vlv.with-sn"), ["c", "d", "a", "b"]);
    // In French the accent does not count. Who has no sn is the largest, and the order is turned around.
    assert_eq!(listed(&db, "vlv.without-mail"), ["example", "d", "c", "b"]);
    assert_eq!(db.problems(), Vec::<String>::new());
    let set = db.indexer.indexes();
    let [with_sn, _] = set.vlv_indexes() else { panic!("two lists") };
    assert_eq!((with_sn.filter.text(), with_sn.order.to_string().as_str()), ("sn", "+sn -cn"));
    assert_eq!(set.vlv(with_sn.id).map(|vlv| vlv.name.as_str()), Some("with-sn"));
    assert_eq!(set.get(with_sn.id).map(|index| index.name.as_str()), Some("vlv.with-sn"));
    db.close();
}

#[test]
fn hashed_keys_show_no_value_and_are_found() {
    let directory = tempfile::tempdir().unwrap();
    import_every_kind(directory.path(), MORE);
    let db = Opened::with(directory.path(), every_kind());
    let names: Vec<&str> = db.indexer.indexes().iter().map(|index| index.name.as_str()).collect();
    for name in [
        "mail.caseIgnoreIA5Match:hash",
        "mail.caseIgnoreIA5SubstringsMatch:6:hash",
        "mail.ds-mr-double-metaphone-approx:hash",
        "mail.presence",
    ] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    for (name, form) in
        [("mail.caseIgnoreIA5Match:hash", "a@example.com"), ("mail.caseIgnoreIA5SubstringsMatch:6:hash", "exampl")]
    {
        let index = db.indexer.indexes().by_name(name).unwrap();
        let keys = db.postings(index.id);
        assert!(keys.keys().all(|key| key.len() == 16), "{name}");
        assert!(keys.contains_key(&*index.key(form.as_bytes())) && !keys.contains_key(form.as_bytes()), "{name}");
        assert!(!index.is_ordered());
    }
    db.close();
}

#[test]
fn another_secret_order_or_filter_is_another_index() {
    let directory = tempfile::tempdir().unwrap();
    import_every_kind(directory.path(), MORE);
    let untrusted = |configs: IndexConfigs| {
        let db = Opened::with(directory.path(), configs);
        let is_trusted = |id: IndexId| db.states.is_trusted(id);
        let names: Vec<String> =
            db.indexer.indexes().iter().filter(|index| !is_trusted(index.id)).map(|index| index.name.clone()).collect();
        db.close();
        names
    };
    assert_eq!(untrusted(every_kind()), Vec::<String>::new());
    let other_secret = IndexConfigs { secret: Some(IndexSecret::new(&[8; SECRET_BYTES])), ..every_kind() };
    assert!(untrusted(other_secret).iter().all(|name| name.starts_with("mail.") && name.ends_with(":hash")));
    let other = IndexConfigs {
        vlv: vec![list("with-sn", "sn", "+sn +cn"), list("without-mail", "!cn", "-sn:fr.lt +uid")],
        ..every_kind()
    };
    assert_eq!(untrusted(other), ["vlv.with-sn", "vlv.without-mail"]);
    let same = IndexConfigs {
        vlv: vec![VlvConfig { base_dn: "dc=com".to_owned(), ..list("with-sn", "sn", "sn,-CN") }],
        ..every_kind()
    };
    assert_eq!(untrusted(same), Vec::<String>::new(), "base and scope change no key");
}

#[test]
fn every_kind_is_rebuilt_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    import_every_kind(directory.path(), MORE);
    let all = |db: &Opened| -> Vec<_> { db.indexer.indexes().iter().map(|index| db.postings(index.id)).collect() };
    let db = Opened::with(directory.path(), every_kind());
    let before = all(&db);
    assert!(before.iter().flatten().count() > 20);
    db.close();
    let options = damage::rebuild_options(directory.path(), every_kind(), RebuildWhich::All);
    rebuild(&options, &mut |_| {}).unwrap();
    let db = Opened::with(directory.path(), every_kind());
    assert_eq!(all(&db), before);
    assert_eq!(db.problems(), Vec::<String>::new());
    db.close();
}

#[test]
fn values_outside_the_record_are_known_to_be_there() {
    let directory = tempfile::tempdir().unwrap();
    let numbers = |count: usize| (0..count).map(|at| format!("description: number {at:04}\n")).collect::<String>();
    let mut text = MORE.to_owned();
    for (uid, count) in [("few", 3), ("many", 600)] {
        text.push_str(&format!("\ndn: uid={uid},dc=example,dc=com\nuid: {uid}\nsn: {uid}\n{}", numbers(count)));
    }
    let lists = || IndexConfigs {
        vlv: vec![list("with", "description", "+description"), list("without", "!description", "+sn")],
        ..every_kind()
    };
    import_with(directory.path(), &text, |options| {
        options.indexes = lists();
        options.skip_schema_validation = true;
    })
    .unwrap();
    let db = Opened::with(directory.path(), lists());
    // Values outside the record count for the filter, but not for the sort order.
    assert_eq!(listed(&db, "vlv.with"), ["few", "many"]);
    assert_eq!(listed(&db, "vlv.without"), ["c", "a", "d", "b", "example"]);
    let key = |at: usize| db.postings(db.index("vlv.with")).into_keys().nth(at);
    assert_eq!(key(0).as_deref().map(sort_key::shown_key).as_deref(), Some("number 0000"));
    assert_eq!(key(1).as_deref(), Some(&[2][..]), "sorts as if there were none");
    assert_eq!(db.problems(), Vec::<String>::new());
    db.close();
}

#[test]
fn the_name_of_an_attribute_means_its_own_indexes() {
    let directory = tempfile::tempdir().unwrap();
    import_every_kind(directory.path(), MORE);
    let named = |name: &str| {
        let options =
            damage::rebuild_options(directory.path(), every_kind(), RebuildWhich::Named(vec![name.to_owned()]));
        let mut names = rebuild(&options, &mut |_| {}).unwrap().indexes;
        names.sort();
        names
    };
    assert_eq!(named("sn"), ["sn.caseIgnoreMatch", "sn.caseIgnoreSubstringsMatch:6"]);
    assert_eq!(named("vlv.with-sn"), ["vlv.with-sn"]);
    assert_eq!(named("mail").len(), 4);
}

#[test]
fn kinds_that_are_not_valid_are_reported() {
    let refused = |change: &dyn Fn(&mut IndexConfigs)| {
        let mut configs = every_kind();
        change(&mut configs);
        IndexSet::new(&Schema::standard(), &configs, &mut IndexStates::default()).unwrap_err().to_string()
    };
    let cn = |rules: &[&str]| IndexConfig {
        extensible_rules: rules.iter().map(|rule| (*rule).to_owned()).collect(),
        ..IndexConfig::new("cn", &[IndexKind::Extensible])
    };
    assert!(refused(&|it| it.attributes.push(cn(&["nonsenseMatch"]))).contains("\"nonsenseMatch\""));
    assert!(refused(&|it| it.attributes.push(cn(&["integerBitAndMatch"]))).contains("\"integerBitAndMatch\""));
    assert!(refused(&|it| it.attributes.push(cn(&[]))).contains("index-extensible-matching-rule"));
    let secret = |config: IndexConfig| IndexConfig { is_confidential: true, ..config };
    let ordered = secret(IndexConfig::new("sn", &[IndexKind::Ordering]));
    assert!(refused(&|it| it.attributes.push(ordered.clone())).contains("no order"));
    assert!(refused(&|it| it.attributes.push(secret(cn(&["fr.lt"])))).contains("\"cn\" cannot be confidential"));
    assert!(refused(&|it| it.secret = None).contains("no secret"));
    assert!(refused(&|it| it.vlv.push(list("x", "sn", "+colour"))).contains("\"colour\""));
    assert!(refused(&|it| it.vlv.push(list("x", "colour", "+sn"))).contains("names no attribute"));
    assert!(refused(&|it| it.vlv.push(list("a b", "sn", "+sn"))).contains("blanks"));
}
