//! What has to be changed in an entry so that it becomes another one of the same name: for each attribute the values
//! that go, then those that come.

use std::rc::Rc;

use ldap::ModifyOperation;
use ldap::ldif::{AttributeLines, LdifChange, LdifEntry, LdifModification, LdifOperation};
use schema::AttributeDescription;

use crate::failure::{Context, Failure};
use crate::tools::ldif::described::{Described, Descriptions};

/// Compares entries.
pub struct Comparer {
    descriptions: Descriptions,
    excluded: Vec<AttributeDescription>,
    server_attributes: bool,
}

/// A value of an entry.
struct Value<'e> {
    described: Rc<Described>,
    form: Vec<u8>,
    /// As they are written.
    description: &'e [u8],
    value: &'e [u8],
}

impl Value<'_> {
    fn is_same(&self, other: &Value<'_>) -> bool {
        self.described.key == other.described.key && self.form == other.form
    }
}

impl Comparer {
    pub fn new(descriptions: Descriptions, excluded: &[String], server_attributes: bool) -> Result<Comparer, Failure> {
        let parse = |name: &String| AttributeDescription::parse(descriptions.schema(), name.as_bytes()).context(name);
        let excluded = excluded.iter().map(parse).collect::<Result<_, _>>()?;
        Ok(Comparer { descriptions, excluded, server_attributes })
    }

    fn is_looked_at(&self, described: &Described) -> bool {
        let Some(description) = &described.description else { return true };
        let schema = self.descriptions.schema();
        (self.server_attributes || !described.is_of_server)
            && !self.excluded.iter().any(|excluded| description.is_subtype_of(schema, excluded))
    }

    /// The change that adds an entry.
    pub fn added(&mut self, entry: &LdifEntry) -> LdifChange {
        let mut kept = Vec::new();
        for line in entry.iter() {
            let described = self.descriptions.get(line.description);
            if self.is_looked_at(&described) {
                kept.push((String::from_utf8_lossy(line.description), line.value));
            }
        }
        let lines = AttributeLines::from_parts(kept.iter().map(|(description, value)| (&**description, *value)));
        change(entry, LdifOperation::Add(lines))
    }

    /// The change that makes `source` into `target`; none if they are the same.
    pub fn modified(&mut self, source: &LdifEntry, target: &LdifEntry) -> Option<LdifChange> {
        let (old, new) = (self.values(source), self.values(target));
        let mut modifications = Vec::new();
        let (mut old, mut new) = (old.as_slice(), new.as_slice());
        loop {
            let key = match (old.first(), new.first()) {
                (None, None) => break,
                (Some(one), None) | (None, Some(one)) => &one.described.key,
                (Some(one), Some(two)) => one.described.key.as_str().min(&two.described.key),
            };
            let end = |values: &[Value<'_>]| values.partition_point(|value| value.described.key.as_str() <= key);
            let (old_values, old_rest) = old.split_at(end(old));
            let (new_values, new_rest) = new.split_at(end(new));
            modify(&mut modifications, old_values, new_values);
            (old, new) = (old_rest, new_rest);
        }
        (!modifications.is_empty()).then(|| change(source, LdifOperation::Modify(modifications)))
    }

    /// The values of an entry by attribute, each once.
    fn values<'e>(&mut self, entry: &'e LdifEntry) -> Vec<Value<'e>> {
        let mut values = Vec::with_capacity(entry.attributes.len());
        for line in entry.iter() {
            let described = self.descriptions.get(line.description);
            if self.is_looked_at(&described) {
                let form = self.descriptions.form(&described, line.value);
                values.push(Value { described, form, description: line.description, value: line.value });
            }
        }
        values.sort_by(|one, two| (&one.described.key, &one.form).cmp(&(&two.described.key, &two.form)));
        values.dedup_by(|one, two| one.is_same(two));
        values
    }
}

fn change(entry: &LdifEntry, operation: LdifOperation) -> LdifChange {
    LdifChange { dn: entry.dn.clone(), line: 0, controls: Vec::new(), operation }
}

/// Compares the values of one attribute.
fn modify(modifications: &mut Vec<LdifModification>, old: &[Value<'_>], new: &[Value<'_>]) {
    let not_in = |values: &[Value<'_>], others: &[Value<'_>]| -> Vec<usize> {
        let is_missing = |value: &Value<'_>| others.binary_search_by(|other| other.form.cmp(&value.form)).is_err();
        values.iter().enumerate().filter(|(_, value)| is_missing(value)).map(|(at, _)| at).collect()
    };
    let (gone, come) = (not_in(old, new), not_in(new, old));
    let of = |operation, values: &[Value<'_>], wanted: &[usize]| {
        let values: Vec<&Value<'_>> = wanted.iter().filter_map(|at| values.get(*at)).collect();
        let first = values.first()?;
        Some(LdifModification {
            operation,
            description: String::from_utf8_lossy(first.description).into_owned(),
            values: values.iter().map(|value| value.value.to_vec()).collect(),
            line: 0,
        })
    };
    match (old.first(), new.first()) {
        // No server could delete one value of these.
        (Some(any), _) if any.described.lacks_equality && !gone.is_empty() => {
            let every: Vec<usize> = (0..new.len()).collect();
            let description = String::from_utf8_lossy(any.description).into_owned();
            let delete =
                LdifModification { operation: ModifyOperation::Delete, description, values: Vec::new(), line: 0 };
            modifications.push(of(ModifyOperation::Replace, new, &every).unwrap_or(delete));
        }
        _ => {
            modifications.extend(of(ModifyOperation::Delete, old, &gone));
            modifications.extend(of(ModifyOperation::Add, new, &come));
        }
    }
}
