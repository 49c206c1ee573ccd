//! Random sequences of updates: store and model must agree on every result code and on every entry, also after a
//! restart.

use ldap::ModifyOperation;
use proptest::collection::vec;
use proptest::prelude::*;

use super::bed::{Bed, With, delete_op, modify_op_of, rename_op};
use super::model::{Attributes, Change, Model, Name, Op, Rdn};
use crate::proposal::{Flags, Kind};

fn rdn(attribute: &str, value: &str) -> Rdn {
    Rdn::from([(attribute.to_owned(), value.to_owned())])
}

fn text_of_rdn(rdn: &Rdn) -> String {
    rdn.iter().map(|(attribute, value)| format!("{attribute}={value}")).collect::<Vec<_>>().join("+")
}

fn text_of(name: &Name) -> String {
    name.iter().rev().map(text_of_rdn).collect::<Vec<_>>().join(",")
}

fn suffix() -> Name {
    vec![rdn("dc", "com"), rdn("dc", "example")]
}

/// The model's suffix is one step; the store's name has two RDNs.
fn suffix_step() -> Name {
    let mut both = Rdn::new();
    both.insert(("dc".to_owned(), "example".to_owned()));
    vec![both]
}

fn text(name: &Name) -> String {
    let mut whole = suffix();
    whole.extend_from_slice(&name[1..]);
    text_of(&whole)
}

const VALUES: [&str; 4] = ["a", "b", "C", "c"];
const CLASSES: [&str; 2] = ["organizationalUnit", "inetOrgPerson"];

fn any_rdn() -> impl Strategy<Value = Rdn> {
    let single = (prop::sample::select(vec!["ou", "cn", "uid", "employeenumber"]), 0..3usize)
        .prop_map(|(attribute, at)| rdn(attribute, &VALUES[at].to_lowercase()));
    let double = (0..3usize, 0..3usize).prop_map(|(one, two)| {
        Rdn::from([("cn".to_owned(), VALUES[one].to_lowercase()), ("uid".to_owned(), VALUES[two].to_lowercase())])
    });
    prop_oneof![5 => single, 1 => double]
}

fn any_name() -> impl Strategy<Value = Name> {
    vec(prop_oneof![3 => (0..2usize).prop_map(|at| rdn("ou", VALUES[at])), 1 => any_rdn()], 0..3).prop_map(|below| {
        let mut name = suffix_step();
        name.extend(below);
        name
    })
}

fn any_values() -> impl Strategy<Value = Vec<String>> {
    vec(prop::sample::select(VALUES.to_vec()).prop_map(str::to_owned), 0..3)
}

fn any_attribute() -> impl Strategy<Value = String> {
    let names = vec!["description", "employeenumber", "cn", "sn", "uid", "ou"];
    prop::sample::select(names).prop_map(str::to_owned)
}

pub(super) fn any_op() -> impl Strategy<Value = Op> {
    let add =
        (any_name(), prop::sample::select(CLASSES.to_vec()), vec((any_attribute(), any_values()), 0..4), any::<bool>())
            .prop_map(|(name, class, more, complete)| {
                let mut attributes = Attributes::new();
                for (attribute, values) in more {
                    if !values.is_empty() {
                        attributes.insert(attribute, values);
                    }
                }
                if complete {
                    let needed: &[&str] = if class == "inetOrgPerson" { &["cn", "sn"] } else { &["ou"] };
                    for attribute in needed {
                        attributes.entry((*attribute).to_owned()).or_insert_with(|| vec!["given".to_owned()]);
                    }
                }
                attributes.insert("objectclass".to_owned(), vec![class.to_owned()]);
                Op::Add { name, attributes }
            });
    let kinds = prop::sample::select(vec![Change::Add, Change::Delete, Change::Replace]);
    let change = (kinds, any_attribute(), any_values()).prop_map(|(change, attribute, mut values)| {
        if change == Change::Add && values.is_empty() {
            values.push("a".to_owned());
        }
        (change, attribute, values)
    });
    let class_change = prop_oneof![
        Just((Change::Add, "objectclass".to_owned(), vec!["extensibleObject".to_owned()])),
        Just((Change::Delete, "objectclass".to_owned(), vec!["extensibleObject".to_owned()])),
        Just((Change::Replace, "objectclass".to_owned(), vec!["inetOrgPerson".to_owned()])),
    ];
    let changes = vec(prop_oneof![8 => change, 1 => class_change], 1..4);
    let modify = (any_name(), changes).prop_map(|(name, changes)| Op::Modify { name, changes });
    let delete = (any_name(), prop::bool::weighted(0.1)).prop_map(|(name, subtree)| Op::Delete { name, subtree });
    let superior = prop::option::of(any_name());
    let rename = (any_name(), any_rdn(), any::<bool>(), superior)
        .prop_map(|(name, rdn, delete_old, superior)| Op::Rename { name, rdn, delete_old, superior });
    prop_oneof![4 => add, 4 => modify, 1 => delete, 2 => rename]
}

pub(super) fn run(bed: &mut Bed, op: &Op) -> i32 {
    let report = match op {
        Op::Add { name, attributes } => {
            let lines: String = attributes
                .iter()
                .flat_map(|(attribute, values)| values.iter().map(move |value| format!("{attribute}: {value}\n")))
                .collect();
            bed.add(&text(name), &lines)
        }
        Op::Modify { name, changes } => {
            let changes: Vec<_> = changes
                .iter()
                .map(|(change, attribute, values)| {
                    let operation = match change {
                        Change::Add => ModifyOperation::Add,
                        Change::Delete => ModifyOperation::Delete,
                        Change::Replace => ModifyOperation::Replace,
                    };
                    (operation, attribute.clone(), values.clone())
                })
                .collect();
            bed.propose(Kind::Modify, &modify_op_of(&text(name), &changes), With::default())
        }
        Op::Delete { name, subtree } => {
            let mut flags = Flags::default();
            if *subtree {
                flags.set(Flags::SUBTREE_DELETE);
            }
            bed.propose(Kind::Delete, &delete_op(&text(name)), With { flags, ..With::default() })
        }
        Op::Rename { name, rdn, delete_old, superior } => {
            let superior = superior.as_ref().map(text);
            let op = rename_op(&text(name), &text_of_rdn(rdn), *delete_old, superior.as_deref());
            bed.propose(Kind::ModifyDn, &op, With::default())
        }
    };
    report.0.result.code.as_i32()
}

/// An entry without what the model does not know, names in lower case, values in order.
fn comparable(entry: std::collections::BTreeMap<String, Vec<String>>) -> Attributes {
    const OPERATIONAL: [&str; 6] =
        ["entryUUID", "createTimestamp", "modifyTimestamp", "creatorsName", "modifiersName", "entryCSN"];
    let kept = entry.into_iter().filter(|(name, _)| !OPERATIONAL.contains(&name.as_str()));
    kept.map(|(name, values)| (name.to_lowercase(), values)).map(without_superiors).collect()
}

fn without_superiors((name, mut values): (String, Vec<String>)) -> (String, Vec<String>) {
    if name == "objectclass" {
        values.retain(|class| !["top", "person", "organizationalPerson"].contains(&class.as_str()));
        values.sort();
    }
    (name, values)
}

fn compare(bed: &Bed, model: &Model) {
    for (name, attributes) in &model.entries {
        let entry = bed.entry(&text(name)).unwrap_or_else(|| panic!("{} is missing", text(name)));
        let expected: Attributes = attributes.clone().into_iter().map(without_superiors).collect();
        assert_eq!(comparable(entry), expected, "{}", text(name));
    }
    let count = bed.backend.snapshot().unwrap().view().entry_count().unwrap();
    assert_eq!(count, model.entries.len() as u64);
    bed.verify();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn store_and_model_agree(ops in vec(any_op(), 1..60)) {
        let mut bed = Bed::empty();
        bed.add("dc=example,dc=com", "objectClass: domain\ndc: example").ok();
        let attributes = Attributes::from([
            ("objectclass".to_owned(), vec!["domain".to_owned()]),
            ("dc".to_owned(), vec!["example".to_owned()]),
        ]);
        let mut model = Model::new(suffix_step(), attributes);
        for op in &ops {
            let (ours, expected) = (run(&mut bed, op), model.apply(op));
            prop_assert!(expected.contains(&ours), "{} and not one of {:?}: {:?}", ours, expected, op);
        }
        compare(&bed, &model);
        compare(&bed.reopen(), &model);
    }
}
