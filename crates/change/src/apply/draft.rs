//! An entry while a request changes it: the record it had, and the attributes that the request touches.
//!
//! Whatever is not touched is neither read nor copied before the new record is written. Knows schema and record; does
//! not know which operation it serves, nor who may do what.
//!
//! Invariants:
//! (1) Each description is touched once: a second change goes on where the first one ended.
//! (2) Nothing here writes to the store, so that a refusal at any point leaves nothing behind.

use std::collections::BTreeSet;

use schema::{AttributeDescription, AttributeType, Options, Schema, TypeIndex};
use store::{Content, DescId, EntryId, LargeStub, RecordView, StoreError, Tables, View};

use super::error::ApplyError;
use super::large_edit::LargeEdit;
use super::value_set::{ValueSet, normal_form};
use crate::refusal::Refusal;
use query::class_flags::ClassFlags;
use query::error::shown;

/// See the module.
pub(super) struct Draft<'d> {
    pub(super) schema: &'d Schema,
    pub(super) id: EntryId,
    /// What the entry was; none for one that is added.
    pub(super) record: Option<RecordView<'d>>,
    /// What its classes meant; nothing for one that is added.
    pub(super) was: ClassFlags,
    pub(super) touched: Vec<Touched>,
}

/// One attribute that the request touches.
pub(super) struct Touched {
    /// Type; none only when schema checks are off.
    pub(super) type_index: Option<TypeIndex>,
    /// Type and options in the spelling that is stored.
    pub(super) description: String,
    pub(super) has_options: bool,
    /// Number of the description, if it ever had one.
    pub(super) desc: Option<DescId>,
    /// What the record has of it.
    pub(super) before: Before,
    pub(super) now: Now,
}

/// Where an attribute was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    Absent,
    Inline,
    Large(LargeStub),
}

/// What an attribute becomes.
#[derive(Debug)]
pub(super) enum Now {
    /// These values, all of them.
    Set(ValueSet),
    /// The stored large values with some changes.
    Edit(LargeEdit),
}

/// How a touch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// From the values that are there.
    Stored,
    /// From none: everything will be replaced.
    Empty,
}

impl<'d> Draft<'d> {
    /// An entry that is added.
    pub(super) fn new(schema: &'d Schema) -> Self {
        Self { schema, id: EntryId::ROOT, record: None, was: ClassFlags::default(), touched: Vec::new() }
    }

    /// A stored entry; `was` is what its classes mean.
    pub(super) fn of(schema: &'d Schema, id: EntryId, record: RecordView<'d>, was: ClassFlags) -> Self {
        Self { schema, id, record: Some(record), was, touched: Vec::new() }
    }

    /// Where the attribute of that description is in `touched`; reads what the record has of it the first time.
    pub(super) fn touch(&mut self, description: &Described<'_>, start: Start) -> Result<usize, StoreError> {
        let known = self.touched.iter().position(|touched| touched.is(description));
        if let Some(at) = known {
            if start == Start::Empty
                && let Some(touched) = self.touched.get_mut(at)
            {
                touched.now = Now::Set(ValueSet::new(description.attribute.and_then(|it| it.equality)));
            }
            return Ok(at);
        }
        let rule = description.attribute.and_then(|attribute| attribute.equality);
        let desc = self.record.and_then(|record| record.tables().description_id(&description.canonical));
        let mut scratch = Vec::new();
        let stored = match (self.record, desc) {
            (Some(record), Some(desc)) => record.attribute(desc, &mut scratch).map(|attribute| attribute.content),
            _ => None,
        };
        let (before, now) = match stored {
            None => (Before::Absent, Now::Set(ValueSet::new(rule))),
            Some(Content::Inline(values)) => {
                let set = match start {
                    Start::Stored => ValueSet::of(rule, values.iter()),
                    Start::Empty => ValueSet::new(rule),
                };
                (Before::Inline, Now::Set(set))
            }
            Some(Content::Large(stub)) => {
                let now = match (start, desc) {
                    (Start::Stored, Some(desc)) => Now::Edit(LargeEdit::new(rule, self.id, desc, stub)),
                    _ => Now::Set(ValueSet::new(rule)),
                };
                (Before::Large(stub), now)
            }
        };
        self.touched.push(Touched {
            type_index: description.attribute.map(|attribute| attribute.index),
            description: description.canonical.clone().into_owned(),
            has_options: description.has_options,
            desc,
            before,
            now,
        });
        Ok(self.touched.len() - 1)
    }

    /// The attribute at that place of `touched`.
    pub(super) fn at(&mut self, at: usize) -> Result<&mut Touched, ApplyError> {
        self.touched.get_mut(at).ok_or_else(|| Refusal::LostChange.into())
    }

    /// The touched attribute of that type without options.
    pub(super) fn touched_type(&mut self, index: TypeIndex) -> Option<&mut Touched> {
        self.touched.iter_mut().find(|touched| touched.type_index == Some(index) && !touched.has_options)
    }

    /// Whether the entry will have a value of that type, with whatever options.
    pub(super) fn will_have(&self, index: TypeIndex) -> bool {
        let touched = |desc: DescId| self.touched.iter().any(|touched| touched.desc == Some(desc));
        if self.touched.iter().any(|touched| touched.type_index == Some(index) && !touched.is_empty()) {
            return true;
        }
        self.record.is_some_and(|record| {
            let of_type = |desc: DescId| {
                stored_type(self.schema, record.tables(), desc).is_some_and(|attribute| attribute.index == index)
            };
            record.attributes().any(|attribute| of_type(attribute.desc) && !touched(attribute.desc))
                || (of_type(DescId::OBJECT_CLASS) && !touched(DescId::OBJECT_CLASS))
        })
    }

    /// The object classes as they will be.
    pub(super) fn classes(&self) -> Box<dyn Iterator<Item = &[u8]> + '_> {
        let touched = self.touched.iter().find(|touched| touched.is_object_class());
        match (touched.map(|touched| &touched.now), self.record) {
            (Some(Now::Set(set)), _) => Box::new(set.iter()),
            (_, Some(record)) => Box::new(record.object_classes().iter()),
            _ => Box::new(std::iter::empty()),
        }
    }

    /// The values of a touched attribute that were not there before.
    pub(super) fn new_values<'t>(&self, touched: &'t Touched) -> Vec<&'t [u8]> {
        let set = match &touched.now {
            Now::Edit(edit) => return edit.added.values().map(|value| &**value).collect(),
            Now::Set(set) => set,
        };
        let schema = self.schema;
        let rule = touched.type_index.and_then(|index| schema.attribute_by_index(index)).and_then(|it| it.equality);
        let mut scratch = Vec::new();
        let stored = match (self.record, touched.desc) {
            (Some(record), Some(desc)) => record.attribute(desc, &mut scratch).map(|attribute| attribute.content),
            _ => None,
        };
        match stored {
            Some(Content::Inline(values)) => {
                let old: BTreeSet<Box<[u8]>> = values.iter().map(|value| normal_form(rule, schema, value)).collect();
                set.iter().filter(|value| !old.contains(&normal_form(rule, schema, value))).collect()
            }
            _ => set.iter().collect(),
        }
    }

    /// Whether the request touches the object classes.
    pub(super) fn touches_classes(&self) -> bool {
        self.touched.iter().any(Touched::is_object_class)
    }
}

/// The type of a stored description, by its name: the numbers in the tables may be those of the schema before this one.
pub(super) fn stored_type<'s>(schema: &'s Schema, tables: &Tables, desc: DescId) -> Option<&'s AttributeType> {
    schema.type_of_description(tables.description(desc)?.as_bytes())
}

impl Touched {
    fn is(&self, description: &Described<'_>) -> bool {
        self.description == *description.canonical
    }

    /// Whether it is `objectClass`.
    pub(super) fn is_object_class(&self) -> bool {
        self.description == DescId::WELL_KNOWN[0]
    }

    /// How many values there will be.
    pub(super) fn len(&self) -> u64 {
        match &self.now {
            Now::Set(set) => set.len() as u64,
            Now::Edit(edit) => edit.len(),
        }
    }

    /// Whether the attribute will be gone.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a value; `false` when it is there.
    pub(super) fn insert(&mut self, schema: &Schema, view: &View<'_>, value: &[u8]) -> Result<bool, StoreError> {
        match &mut self.now {
            Now::Set(set) => Ok(set.insert(schema, value)),
            Now::Edit(edit) => edit.insert(schema, view, value),
        }
    }

    /// Takes a value out; `false` when it is not there.
    pub(super) fn remove(&mut self, schema: &Schema, view: &View<'_>, value: &[u8]) -> Result<bool, StoreError> {
        match &mut self.now {
            Now::Set(set) => Ok(set.remove(schema, value)),
            Now::Edit(edit) => edit.remove(schema, view, value),
        }
    }

    /// Takes the value with that normal form out and gives it.
    pub(super) fn take(
        &mut self,
        schema: &Schema,
        view: &View<'_>,
        normal: &[u8],
    ) -> Result<Option<Vec<u8>>, StoreError> {
        match &mut self.now {
            Now::Set(set) => Ok(set.take(schema, normal).map(<[u8]>::to_vec)),
            Now::Edit(edit) => edit.take(view, normal),
        }
    }

    /// Whether a value is there.
    pub(super) fn contains(&mut self, schema: &Schema, view: &View<'_>, value: &[u8]) -> Result<bool, StoreError> {
        match &mut self.now {
            Now::Set(set) => Ok(set.contains(schema, value)),
            Now::Edit(edit) => edit.contains(schema, view, value),
        }
    }

    /// Takes all values out.
    pub(super) fn clear(&mut self, schema: &Schema) {
        let rule = self.type_index.and_then(|index| schema.attribute_by_index(index)).and_then(|it| it.equality);
        self.now = Now::Set(ValueSet::new(rule));
    }
}

/// An attribute description of a request, looked up.
pub(super) struct Described<'s> {
    /// The type; none only when schema checks are off.
    pub(super) attribute: Option<&'s AttributeType>,
    /// The spelling that is stored: primary name, options sorted in lower case.
    pub(super) canonical: std::borrow::Cow<'s, str>,
    pub(super) has_options: bool,
}

impl<'s> Described<'s> {
    /// Looks up a description.
    pub(super) fn parse(schema: &'s Schema, text: &[u8], check_schema: bool) -> Result<Self, ApplyError> {
        // Without options, as nearly all are, there is nothing to parse.
        if let Some(attribute) = schema.attribute_type(text) {
            return Ok(Self::of_type(attribute));
        }
        let parse = if check_schema { AttributeDescription::parse_request } else { AttributeDescription::parse };
        let parsed = parse(schema, text).map_err(|error| Refusal::BadDescription { problem: error.to_string() })?;
        let attribute = parsed.attribute.and_then(|index| schema.attribute_by_index(index));
        if attribute.is_none() && check_schema {
            return Err(Refusal::UndefinedAttribute { attribute: shown(text) }.into());
        }
        let has_options = parsed.options != Options::default();
        Ok(Self { attribute, canonical: parsed.canonical(schema).into(), has_options })
    }

    /// A type without options.
    pub(super) fn of_type(attribute: &'s AttributeType) -> Self {
        Self { attribute: Some(attribute), canonical: attribute.name().into(), has_options: false }
    }
}
