//! What a set of object classes asks of an entry, worked out once for each set.

use smallvec::SmallVec;

use super::entry::{AttributeKey, ParentRule};
use super::error::CheckError;
use crate::attribute::{AttributeType, TypeIndex};
use crate::class::{ClassIndex, NameForm, ObjectClass};
use crate::definition::ClassKind;
use crate::schema::Schema;

/// `collectiveAttributeSubentry` (RFC 3671): holds whatever attributes it gives to others.
const COLLECTIVE_ATTRIBUTE_SUBENTRY: &str = "2.5.17.2";

/// Object classes of an entry: sorted, each once.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ClassSet(SmallVec<[ClassIndex; 8]>);

impl ClassSet {
    /// The classes of that name or OID.
    pub fn of_values<'v>(schema: &Schema, values: impl Iterator<Item = &'v [u8]>) -> Result<ClassSet, CheckError> {
        let mut classes = SmallVec::new();
        for value in values {
            match schema.object_class(value) {
                Some(class) => classes.push(class.index),
                None => return Err(CheckError::UnknownClass(String::from_utf8_lossy(value).into_owned())),
            }
        }
        if classes.is_empty() {
            return Err(CheckError::NoClass);
        }
        Ok(ClassSet::of(classes))
    }

    fn of(mut classes: SmallVec<[ClassIndex; 8]>) -> ClassSet {
        classes.sort_unstable();
        classes.dedup();
        ClassSet(classes)
    }

    /// The classes.
    pub fn iter(&self) -> impl Iterator<Item = ClassIndex> {
        self.0.iter().copied()
    }

    /// Whether the class is one of them.
    pub fn contains(&self, class: ClassIndex) -> bool {
        self.0.binary_search(&class).is_ok()
    }

    /// The classes that they inherit from and that are not among them: what an add has to add.
    pub fn missing_superiors(&self, schema: &Schema) -> Vec<ClassIndex> {
        let classes = self.iter().filter_map(|class| schema.class_by_index(class));
        let mut missing: Vec<ClassIndex> = classes
            .flat_map(|class| class.ancestors().iter().copied())
            .filter(|class| !self.contains(*class))
            .collect();
        missing.sort_unstable();
        missing.dedup();
        missing
    }
}

/// What one attribute is to a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Permission {
    Denied,
    Allowed,
    /// Required; the position in `must`.
    Required(usize),
}

const DENIED: u16 = 0;
const ALLOWED: u16 = 1;
const FIRST_REQUIRED: u16 = 2;

/// What a set of classes asks for.
#[derive(Debug)]
pub struct Requirement {
    /// The most derived structural class.
    pub structural: Option<ClassIndex>,
    /// Required attributes.
    pub must: Vec<TypeIndex>,
    /// Whether any user attribute is allowed.
    pub any: bool,
    /// By type number: denied, allowed, or required and at which position of `must`.
    permissions: Box<[u16]>,
    classes: ClassSet,
    /// Position of the DIT content rule of the structural class.
    content_rule: Option<usize>,
    pub(super) has_name_forms: bool,
    /// What `single-structural-objectclass-behavior` may relax.
    pub(super) structural_problem: Option<CheckError>,
    /// What nothing relaxes.
    pub(super) class_problem: Option<CheckError>,
}

impl Requirement {
    /// Works it out.
    pub fn new(schema: &Schema, classes: &ClassSet) -> Requirement {
        let mut all = classes.0.clone();
        all.extend(classes.missing_superiors(schema));
        let all = ClassSet::of(all);
        let members = || all.iter().filter_map(|class| schema.class_by_index(class));
        let structural = structural_class(schema, &all);
        let content_rule = structural.as_ref().ok().and_then(|structural| {
            schema.content_rules().iter().position(|rule| rule.class == *structural && !rule.definition.head.obsolete)
        });
        let mut it = Requirement {
            structural: structural.as_ref().ok().copied(),
            must: members().flat_map(|class| class.must.iter().copied()).collect(),
            any: members().any(|class| class.is_extensible() || class.oid() == COLLECTIVE_ATTRIBUTE_SUBENTRY),
            permissions: vec![DENIED; schema.attribute_types().len()].into(),
            classes: all.clone(),
            content_rule,
            has_name_forms: false,
            structural_problem: structural.err(),
            class_problem: None,
        };
        let any = it.any;
        it.allow(schema.attribute_types().iter().filter(|it| any || it.is_operational()).map(|it| it.index));
        it.allow(members().flat_map(|class| class.may.iter().copied()));
        it.apply_content_rule(schema);
        it.has_name_forms = it.name_forms(schema).next().is_some();
        it.must.sort_unstable();
        it.must.dedup();
        for (at, attribute) in (FIRST_REQUIRED..).zip(&it.must) {
            if let Some(permission) = it.permissions.get_mut(attribute.0 as usize) {
                *permission = at;
            }
        }
        it
    }

    /// All classes, inherited ones included.
    pub fn classes(&self) -> &ClassSet {
        &self.classes
    }

    /// Whether an entry of these classes may have the attribute.
    pub fn allows(&self, attribute: TypeIndex) -> bool {
        self.permission(attribute) != Permission::Denied
    }

    pub(super) fn permission(&self, attribute: TypeIndex) -> Permission {
        match self.permissions.get(attribute.0 as usize).copied().unwrap_or(DENIED) {
            DENIED => Permission::Denied,
            ALLOWED => Permission::Allowed,
            required => Permission::Required(usize::from(required - FIRST_REQUIRED)),
        }
    }

    fn allow(&mut self, attributes: impl Iterator<Item = TypeIndex>) {
        for attribute in attributes {
            if let Some(permission) = self.permissions.get_mut(attribute.0 as usize) {
                *permission = ALLOWED;
            }
        }
    }

    fn apply_content_rule(&mut self, schema: &Schema) {
        let Some(rule) = self.content_rule.and_then(|at| schema.content_rules().get(at)) else { return };
        self.must.extend_from_slice(&rule.must);
        self.allow(rule.may.iter().copied());
        for attribute in &rule.not {
            if let Some(permission) = self.permissions.get_mut(attribute.0 as usize) {
                *permission = DENIED;
            }
        }
        let stray = self.classes.iter().filter_map(|class| schema.class_by_index(class)).find(|class| {
            class.kind() == ClassKind::Auxiliary
                && !rule.auxiliaries.iter().any(|allowed| {
                    schema.class_by_index(*allowed).is_some_and(|allowed| allowed.is_subclass_of(class.index))
                })
        });
        self.class_problem = stray.map(|class| CheckError::AuxiliaryNotAllowed {
            rule: rule.name().to_owned(),
            class: class.name().to_owned(),
        });
    }

    /// Why the attribute is not allowed.
    pub fn denial(&self, schema: &Schema, attribute: TypeIndex) -> CheckError {
        let name = name_of(schema, attribute);
        let rule = self.content_rule.and_then(|at| schema.content_rules().get(at));
        if let Some(rule) = rule.filter(|rule| rule.not.contains(&attribute)) {
            return CheckError::Precluded { attribute: name, rule: rule.name().to_owned() };
        }
        let classes = self.classes.iter().filter_map(|class| schema.class_by_index(class)).map(ObjectClass::name);
        CheckError::NotAllowed { attribute: name, classes: classes.collect::<Vec<_>>().join(", ") }
    }

    /// Why an entry without the attribute is refused.
    pub fn missing(&self, schema: &Schema, attribute: TypeIndex) -> CheckError {
        let mut classes = self.classes.iter().filter_map(|class| schema.class_by_index(class));
        let class = classes.find(|class| class.must.contains(&attribute)).map(|class| class.name().to_owned());
        let rule =
            || self.content_rule.and_then(|at| schema.content_rules().get(at)).map(|rule| rule.name().to_owned());
        CheckError::Missing { attribute: name_of(schema, attribute), by: class.or_else(rule).unwrap_or_default() }
    }

    fn name_forms<'s>(&self, schema: &'s Schema) -> impl Iterator<Item = (usize, &'s NameForm)> + use<'s> {
        let structural = self.structural;
        let forms = schema.name_forms().iter().enumerate();
        forms.filter(move |(_, form)| Some(form.class) == structural && !form.definition.head.obsolete)
    }

    /// One of the name forms of the structural class must suit the RDN.
    pub(super) fn check_name(&self, schema: &Schema, rdn: &[AttributeKey<'_>]) -> Result<(), CheckError> {
        let mut first = None;
        for (_, form) in self.name_forms(schema) {
            match misfit(schema, form, rdn) {
                None => return Ok(()),
                Some(reason) => {
                    first.get_or_insert((form, reason));
                }
            }
        }
        let Some((form, reason)) = first else { return Ok(()) };
        let class = schema.class_by_index(form.class).map(|class| class.name().to_owned()).unwrap_or_default();
        Err(CheckError::NameForm { form: form.name().to_owned(), class, reason })
    }

    pub(super) fn governing_rule(
        &self,
        schema: &Schema,
        rdn: &[AttributeKey<'_>],
        parent: ParentRule,
    ) -> Result<Option<u32>, CheckError> {
        let fitting = |form: usize| schema.name_forms().get(form).is_some_and(|it| misfit(schema, it, rdn).is_none());
        let mut rules = schema
            .structure_rules()
            .iter()
            .filter(|rule| Some(rule.class) == self.structural && !rule.definition.head.obsolete)
            .filter(|rule| fitting(rule.form))
            .peekable();
        let governed = rules.peek().is_some();
        let found = rules.find(|rule| match parent {
            ParentRule::None => true,
            ParentRule::Ungoverned => rule.superiors.is_empty(),
            ParentRule::Governed(superior) => rule.superiors.contains(&superior),
        });
        if let Some(rule) = found {
            return Ok(Some(rule.id()));
        }
        let reason = match parent {
            ParentRule::Governed(id) => format!("none names rule {id}, which governs the parent, as its superior"),
            _ if governed => "each needs a parent that is governed by a rule itself".to_owned(),
            _ => return Ok(None),
        };
        let class = self.structural.and_then(|class| schema.class_by_index(class));
        let class = class.map(|class| class.name().to_owned()).unwrap_or_default();
        Err(CheckError::Structure { class, reason })
    }
}

/// The structural class from which no other one of the set is derived.
fn structural_class(schema: &Schema, classes: &ClassSet) -> Result<ClassIndex, CheckError> {
    let structural: SmallVec<[&ObjectClass; 4]> = classes
        .iter()
        .filter_map(|class| schema.class_by_index(class))
        .filter(|class| class.kind() == ClassKind::Structural)
        .collect();
    let is_leaf = |class: &&&ObjectClass| {
        !structural.iter().any(|other| other.index != class.index && other.is_subclass_of(class.index))
    };
    let mut leaves = structural.iter().filter(is_leaf);
    let one = leaves.next().ok_or(CheckError::NoStructuralClass)?;
    match leaves.next() {
        None => Ok(one.index),
        Some(two) => {
            Err(CheckError::SeveralStructuralClasses { one: one.name().to_owned(), two: two.name().to_owned() })
        }
    }
}

/// Why the RDN does not suit the form.
fn misfit(schema: &Schema, form: &NameForm, rdn: &[AttributeKey<'_>]) -> Option<String> {
    let has = |attribute: &TypeIndex| rdn.contains(&AttributeKey::Known(*attribute));
    if let Some(missing) = form.must.iter().find(|attribute| !has(attribute)) {
        return Some(format!("it needs {}", name_of(schema, *missing)));
    }
    let stray = rdn.iter().find(|key| match key {
        AttributeKey::Known(attribute) => !form.must.contains(attribute) && !form.may.contains(attribute),
        AttributeKey::Unknown(_) => true,
    });
    stray.map(|key| match key {
        AttributeKey::Known(attribute) => format!("it cannot have {}", name_of(schema, *attribute)),
        AttributeKey::Unknown(name) => format!("it cannot have {name}"),
    })
}

fn name_of(schema: &Schema, attribute: TypeIndex) -> String {
    schema.attribute_by_index(attribute).map(AttributeType::name).unwrap_or_default().to_owned()
}
