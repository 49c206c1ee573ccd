//! Attribute descriptions of an import: each spelling is looked up in the schema once, its number taken once from the
//! shared tables, and remembered by the worker.

use std::collections::HashMap;
use std::sync::Mutex;

use schema::syntax::oid::ACCESS_CONTROL_INFORMATION;
use schema::{AttributeDescription, Schema, TypeIndex};

use super::error::BulkError;
use super::options::ImportOptions;
use crate::record::Values;
use crate::tables::{Interner, Tables};
use crate::{ClassSetId, DescId, NameId, StoreError};

/// One attribute description as a worker knows it.
#[derive(Debug, Clone)]
pub(super) struct Described {
    pub desc: DescId,
    /// The type; none for one that the schema does not know.
    pub attribute: Option<TypeIndex>,
    /// As it is stored: primary name and options.
    pub canonical: Box<str>,
    pub use_of: Use,
    /// Its place among the attributes that are to be counted.
    pub counted: Option<usize>,
}

/// What is done with values of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Not selected.
    Dropped,
    /// Stored.
    Kept,
    /// Stored, hashed before.
    Password,
    /// Access control instructions: stored as they are written here.
    Instruction,
    /// Names of privileges: stored when there are such.
    PrivilegeName,
    /// Computed by the server, so not stored.
    Virtual,
}

/// OID of the syntax of values that are passwords.
const USER_PASSWORD_SYNTAX: &str = "1.3.6.1.4.1.26027.1.3.1";

/// `userPassword` has the octet string syntax in RFC 4519.
const USER_PASSWORD: &str = "2.5.4.35";

/// The attribute whose values are names of privileges.
const PRIVILEGE_NAME: &str = "ds-privilege-name";

/// Attributes that the server computes: exported by some servers, never stored.
const VIRTUAL: [&str; 7] = [
    "entryDN",
    "structuralObjectClass",
    "subschemaSubentry",
    "hasSubordinates",
    "numSubordinates",
    "isMemberOf",
    "governingStructureRule",
];

/// Which attributes an import keeps.
#[derive(Debug)]
pub(super) struct AttributeSelection {
    checks_schema: bool,
    include: Vec<AttributeDescription>,
    exclude: Vec<AttributeDescription>,
    virtual_types: Vec<TypeIndex>,
    counted: Vec<Option<TypeIndex>>,
}

impl AttributeSelection {
    pub fn new(options: &ImportOptions) -> Result<Self, BulkError> {
        let schema = &options.schema;
        let parse = |names: &[String]| -> Result<Vec<_>, BulkError> {
            let one = |name: &String| AttributeDescription::parse_request(schema, name.as_bytes());
            let failed = |error: schema::DescriptionError| BulkError::Option(error.to_string());
            names.iter().map(|name| one(name).map_err(failed)).collect()
        };
        let virtual_types = VIRTUAL.iter().filter_map(|name| schema.attribute_type(name.as_bytes())).map(|t| t.index);
        Ok(Self {
            checks_schema: !options.skip_schema_validation && options.leniency.check_schema,
            include: parse(&options.selection.include_attributes)?,
            exclude: parse(&options.selection.exclude_attributes)?,
            virtual_types: virtual_types.collect(),
            counted: options
                .counted_attributes
                .iter()
                .map(|name| schema.attribute_type(name.as_bytes()).map(|known| known.index))
                .collect(),
        })
    }

    fn counted(&self, attribute: Option<TypeIndex>) -> Option<usize> {
        attribute.and_then(|_| self.counted.iter().position(|counted| *counted == attribute))
    }

    fn use_of(&self, schema: &Schema, description: &AttributeDescription) -> Use {
        let attribute = description.attribute.and_then(|index| schema.attribute_by_index(index));
        if attribute.is_some_and(|t| self.virtual_types.contains(&t.index)) {
            return Use::Virtual;
        }
        let matches = |list: &[AttributeDescription]| list.iter().any(|asked| description.is_subtype_of(schema, asked));
        let is_class = attribute.is_some_and(|t| t.name() == "objectClass");
        if !is_class && (matches(&self.exclude) || (!self.include.is_empty() && !matches(&self.include))) {
            return Use::Dropped;
        }
        let is_password =
            |t: &schema::AttributeType| t.oid() == USER_PASSWORD || t.syntax.oid() == USER_PASSWORD_SYNTAX;
        match attribute {
            Some(t) if is_password(t) => Use::Password,
            Some(t) if t.syntax.oid() == ACCESS_CONTROL_INFORMATION => Use::Instruction,
            Some(t) if t.name() == PRIVILEGE_NAME => Use::PrivilegeName,
            _ => Use::Kept,
        }
    }
}

/// Numbers of descriptions, names and class sets: the shared tables behind a worker's own memory.
pub(super) struct Names<'a> {
    schema: &'a Schema,
    selection: &'a AttributeSelection,
    tables: &'a Mutex<Tables>,
    by_spelling: HashMap<Box<[u8]>, u32>,
    /// The spelling that stood at that line of the record before, and its position: entries resemble each other.
    expected: Vec<(Box<[u8]>, u32)>,
    described: Vec<Described>,
    has_counted: bool,
    names: HashMap<Box<[u8]>, Option<NameId>>,
    class_sets: HashMap<Box<[u8]>, Option<ClassSetId>>,
}

/// Lines of a record for which the spelling is expected.
const EXPECTED_LINES_MAX: usize = 64;

/// Most class sets and names that a worker remembers, so that unusual data does not fill the memory.
const REMEMBERED_MAX: usize = 65_536;

impl<'a> Names<'a> {
    pub fn new(schema: &'a Schema, selection: &'a AttributeSelection, tables: &'a Mutex<Tables>) -> Self {
        Self {
            schema,
            selection,
            tables,
            by_spelling: HashMap::new(),
            expected: Vec::new(),
            described: Vec::new(),
            has_counted: false,
            names: HashMap::new(),
            class_sets: HashMap::new(),
        }
    }

    /// The position of a description as spelled in the file, see [`Names::get`]; `line` is the line of the record it
    /// stands on.
    #[inline]
    pub fn find(&mut self, line: usize, spelling: &[u8]) -> Result<u32, String> {
        match self.expected.get(line) {
            Some((expected, at)) if **expected == *spelling => Ok(*at),
            _ => self.look_up(line, spelling),
        }
    }

    fn look_up(&mut self, line: usize, spelling: &[u8]) -> Result<u32, String> {
        let at = match self.by_spelling.get(spelling) {
            Some(at) => *at,
            None => self.learn(spelling)?,
        };
        if line < EXPECTED_LINES_MAX {
            self.expected.resize_with(self.expected.len().max(line + 1), || (Box::default(), 0));
            if let Some(place) = self.expected.get_mut(line) {
                *place = (spelling.into(), at);
            }
        }
        Ok(at)
    }

    /// Whether an attribute was met that is to be counted.
    pub fn has_counted(&self) -> bool {
        self.has_counted
    }

    /// What is known of the description at that position.
    #[inline]
    pub fn get(&self, at: u32) -> Option<&Described> {
        self.described.get(at as usize)
    }

    fn learn(&mut self, spelling: &[u8]) -> Result<u32, String> {
        let is_checked = self.selection.checks_schema;
        let parse = if is_checked { AttributeDescription::parse_request } else { AttributeDescription::parse };
        let description = parse(self.schema, spelling).map_err(|error| error.to_string())?;
        let canonical = description.canonical(self.schema);
        let known = self.described.iter().position(|described| *described.canonical == *canonical);
        let at = match known {
            Some(at) => at as u32,
            None => {
                let desc = self.description(&canonical).map_err(|error| error.to_string())?;
                let use_of = self.selection.use_of(self.schema, &description);
                let attribute = description.attribute;
                let counted =
                    self.selection.counted(attribute).filter(|_| matches!(use_of, Use::Kept | Use::Instruction));
                self.has_counted |= counted.is_some();
                self.described.push(Described { desc, attribute, canonical: canonical.into(), use_of, counted });
                self.described.len() as u32 - 1
            }
        };
        self.by_spelling.insert(spelling.into(), at);
        Ok(at)
    }
}

impl Interner for Names<'_> {
    fn description(&mut self, description: &str) -> Result<DescId, StoreError> {
        let mut tables = self.tables.lock().map_err(|_| StoreError::Panicked)?;
        Interner::description(&mut *tables, description)
    }

    fn name(&mut self, name: &[u8]) -> Option<NameId> {
        if let Some(known) = self.names.get(name) {
            return *known;
        }
        let id = Interner::name(&mut *self.tables.lock().ok()?, name);
        if self.names.len() < REMEMBERED_MAX {
            self.names.insert(name.into(), id);
        }
        id
    }

    fn class_set(&mut self, values: Values<'_>) -> Option<ClassSetId> {
        if let Some(known) = self.class_sets.get(values.body()) {
            return *known;
        }
        let id = Interner::class_set(&mut *self.tables.lock().ok()?, values);
        if self.class_sets.len() < REMEMBERED_MAX {
            self.class_sets.insert(values.body().into(), id);
        }
        id
    }
}
