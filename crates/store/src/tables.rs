//! The persistent number tables that keep records small: attribute descriptions, names, object-class sets.
//!
//! They know no schema: a [`TypeResolver`] tells which attribute types a description belongs to.
//!
//! Invariants:
//! (1) A number, once given, means the same for the life of the database; tables only grow.
//! (2) Numbers are given in the order of first use inside `apply`, so a replay gives the same ones.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::StoreError;
use crate::record::Values;
use crate::{ClassSetId, DescId, NameId};

/// Most attribute descriptions in one database. Directories have hundreds; the table is copied when it grows.
pub const DESCRIPTIONS_MAX: usize = 65_536;
/// Most interned names. Enough for every administrator and application; further ones are stored in the records.
pub const NAMES_MAX: usize = 4_096;
/// Most interned object-class sets; further ones are stored in the records.
pub const CLASS_SETS_MAX: usize = 4_096;
/// Longest interned name or class set; longer ones are stored in the records.
pub const INTERNED_BYTES_MAX: usize = 1_024;

/// Says to which attribute types (schema numbers) a description belongs: its own and all supertypes.
pub trait TypeResolver: Send + Sync {
    /// Appends the number of the type named in front of the options of `description`, then those of its supertypes;
    /// nothing when unknown.
    fn types_of(&self, description: &str, out: &mut Vec<u32>);
}

/// A resolver for callers without a schema: no description has a type.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTypes;

impl TypeResolver for NoTypes {
    fn types_of(&self, _description: &str, _out: &mut Vec<u32>) {}
}

/// Gives numbers to new descriptions, names and class sets. [`Txn`](crate::Txn) does so for updates, the import for its
/// entries.
pub trait Interner {
    /// The number of an attribute description; a new description gets one.
    fn description(&mut self, description: &str) -> Result<DescId, StoreError>;
    /// The number of a name; `None` when the name is stored in the record instead.
    fn name(&mut self, name: &[u8]) -> Option<NameId>;
    /// The number of a set of object classes; `None` when it is stored in the record instead.
    fn class_set(&mut self, values: Values<'_>) -> Option<ClassSetId>;
}

/// One interned set of object classes: its values in wire form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassSet {
    count: u32,
    body: Box<[u8]>,
}

impl ClassSet {
    /// The values, in the order they were first stored.
    pub fn values(&self) -> Values<'_> {
        Values::new(self.count, &self.body)
    }
}

/// All three tables. Cheap to share, copied when something new is interned.
#[derive(Clone, Default)]
pub struct Tables {
    descriptions: Vec<Arc<str>>,
    description_ids: HashMap<Arc<str>, DescId>,
    /// By the number of the type: filters look here for each entry.
    by_type: Vec<Vec<DescId>>,
    types: Vec<Option<u32>>,
    names: Vec<Arc<[u8]>>,
    name_ids: HashMap<Arc<[u8]>, NameId>,
    class_sets: Vec<Arc<ClassSet>>,
    class_set_ids: HashMap<Box<[u8]>, ClassSetId>,
    resolver: Option<Arc<dyn TypeResolver>>,
}

impl Tables {
    /// Tables with the well-known descriptions only.
    pub fn new(resolver: Arc<dyn TypeResolver>) -> Tables {
        let mut tables = Tables { resolver: Some(resolver), ..Tables::default() };
        for name in DescId::WELL_KNOWN {
            tables.push_description(name.into());
        }
        tables
    }

    /// The description with number `id`.
    #[inline]
    pub fn description(&self, id: DescId) -> Option<&str> {
        self.descriptions.get(id.0 as usize).map(|name| &**name)
    }

    /// How many descriptions there are; their numbers are below it.
    #[inline]
    pub fn descriptions_len(&self) -> usize {
        self.descriptions.len()
    }

    /// The number of exactly this spelling of a description.
    #[inline]
    pub fn description_id(&self, description: &str) -> Option<DescId> {
        self.description_ids.get(description).copied()
    }

    /// Descriptions whose type is `type_index` or a subtype of it, with whatever options.
    #[inline]
    pub fn by_type(&self, type_index: u32) -> &[DescId] {
        self.by_type.get(type_index as usize).map_or(&[], |ids| ids)
    }

    /// The attribute type of a description.
    #[inline]
    pub fn type_of(&self, id: DescId) -> Option<u32> {
        self.types.get(id.0 as usize).copied().flatten()
    }

    /// All descriptions with their numbers.
    pub fn descriptions(&self) -> impl Iterator<Item = (DescId, &str)> {
        self.descriptions.iter().enumerate().map(|(id, name)| (DescId(id as u32), &**name))
    }

    /// The name with number `id`.
    #[inline]
    pub fn name(&self, id: NameId) -> Option<&[u8]> {
        self.names.get(id.0 as usize).map(|name| &**name)
    }

    /// The class set with number `id`.
    #[inline]
    pub fn class_set(&self, id: ClassSetId) -> Option<&ClassSet> {
        self.class_sets.get(id.0 as usize).map(|set| &**set)
    }

    /// All names, in the order of their numbers.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.names.iter().map(|name| &**name)
    }

    /// All class sets, in the order of their numbers.
    pub fn class_sets(&self) -> impl Iterator<Item = &ClassSet> {
        self.class_sets_from(0)
    }

    /// The class sets from number `from` on, for a caller that knows the others.
    pub fn class_sets_from(&self, from: usize) -> impl Iterator<Item = &ClassSet> {
        self.class_sets.iter().skip(from).map(|set| &**set)
    }

    /// The number of `name`, if it has one.
    pub fn name_id(&self, name: &[u8]) -> Option<NameId> {
        self.name_ids.get(name).copied()
    }

    /// The number of this class set (same values in the same order), if it has one.
    pub fn class_set_id(&self, values: Values<'_>) -> Option<ClassSetId> {
        self.class_set_ids.get(values.body()).copied()
    }

    /// Whether a name without a number would get one.
    pub(crate) fn takes_name(&self, name: &[u8]) -> bool {
        self.names.len() < NAMES_MAX && name.len() <= INTERNED_BYTES_MAX
    }

    /// Whether a class set without a number would get one.
    pub(crate) fn takes_class_set(&self, values: Values<'_>) -> bool {
        self.class_sets.len() < CLASS_SETS_MAX && values.body().len() <= INTERNED_BYTES_MAX
    }

    /// Takes a new schema: the map from types to descriptions is built again.
    pub fn rebind(&mut self, resolver: Arc<dyn TypeResolver>) {
        self.by_type.clear();
        self.types.clear();
        self.resolver = Some(resolver);
        for id in 0..self.descriptions.len() {
            self.bind_types(DescId(id as u32));
        }
    }

    /// Gives the next number to a description that has none.
    pub(crate) fn push_description(&mut self, name: Arc<str>) -> DescId {
        let id = DescId(self.descriptions.len() as u32);
        self.descriptions.push(name.clone());
        self.description_ids.insert(name, id);
        self.bind_types(id);
        id
    }

    /// Gives the next number to a name that has none.
    pub(crate) fn push_name(&mut self, name: Arc<[u8]>) -> NameId {
        let id = NameId(self.names.len() as u32);
        self.names.push(name.clone());
        self.name_ids.insert(name, id);
        id
    }

    /// Gives the next number to a class set that has none.
    pub(crate) fn push_class_set(&mut self, values: Values<'_>) -> ClassSetId {
        let id = ClassSetId(self.class_sets.len() as u32);
        self.class_set_ids.insert(values.body().into(), id);
        self.class_sets.push(Arc::new(ClassSet { count: values.count(), body: values.body().into() }));
        id
    }

    fn bind_types(&mut self, id: DescId) {
        let mut types = Vec::new();
        if let (Some(resolver), Some(name)) = (&self.resolver, self.descriptions.get(id.0 as usize)) {
            resolver.types_of(name, &mut types);
        }
        self.types.push(types.first().copied());
        for type_index in types {
            let at = type_index as usize;
            if self.by_type.len() <= at {
                self.by_type.resize_with(at + 1, Vec::new);
            }
            if let Some(ids) = self.by_type.get_mut(at).filter(|ids| !ids.contains(&id)) {
                ids.push(id);
            }
        }
    }
}

impl Interner for Tables {
    fn description(&mut self, description: &str) -> Result<DescId, StoreError> {
        if let Some(id) = self.description_id(description) {
            return Ok(id);
        }
        if self.descriptions.len() >= DESCRIPTIONS_MAX {
            return Err(StoreError::TooManyDescriptions { limit: DESCRIPTIONS_MAX });
        }
        Ok(self.push_description(description.into()))
    }

    fn name(&mut self, name: &[u8]) -> Option<NameId> {
        if let Some(id) = self.name_id(name) {
            return Some(id);
        }
        self.takes_name(name).then(|| self.push_name(name.into()))
    }

    fn class_set(&mut self, values: Values<'_>) -> Option<ClassSetId> {
        if let Some(id) = self.class_set_id(values) {
            return Some(id);
        }
        self.takes_class_set(values).then(|| self.push_class_set(values))
    }
}

impl std::fmt::Debug for Tables {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Tables")
            .field("descriptions", &self.descriptions)
            .field("names", &self.names.len())
            .field("class_sets", &self.class_sets.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Cn;

    impl TypeResolver for Cn {
        fn types_of(&self, description: &str, out: &mut Vec<u32>) {
            if description.starts_with("cn") {
                out.extend([7, 1]);
            } else if description == "name" {
                out.push(1);
            }
        }
    }

    #[test]
    fn descriptions_are_found_by_type_and_supertype() {
        let mut tables = Tables::new(Arc::new(NoTypes));
        let cn = Interner::description(&mut tables, "cn").unwrap();
        assert_eq!(tables.by_type(7), []);
        tables.rebind(Arc::new(Cn));
        let french = Interner::description(&mut tables, "cn;lang-fr").unwrap();
        let name = Interner::description(&mut tables, "name").unwrap();
        assert_eq!(tables.by_type(7), [cn, french]);
        assert_eq!(tables.by_type(1), [cn, french, name]);
        assert_eq!(tables.description_id("cn;lang-fr"), Some(french));
        assert_eq!((tables.type_of(french), tables.type_of(DescId::ENTRY_UUID)), (Some(7), None));
    }

    #[test]
    fn well_known_numbers_are_fixed() {
        let tables = Tables::new(Arc::new(NoTypes));
        assert_eq!(tables.description_id("objectClass"), Some(DescId::OBJECT_CLASS));
        assert_eq!(tables.description_id("entryCSN"), Some(DescId::ENTRY_CSN));
    }

    #[test]
    fn names_stop_at_the_limit() {
        let mut tables = Tables::default();
        for i in 0..NAMES_MAX {
            assert!(Interner::name(&mut tables, format!("uid=user.{i}").as_bytes()).is_some());
        }
        assert_eq!(Interner::name(&mut tables, b"uid=one.more"), None);
        assert_eq!(Interner::name(&mut tables, b"uid=user.5"), Some(NameId(5)));
    }
}
