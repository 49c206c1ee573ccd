//! The second half of resolving: what refers to attribute types. Each kind is skipped once something is wrong, as its
//! errors would only follow from the earlier ones.

use std::sync::Arc;

use super::Resolver;
use crate::attribute::TypeIndex;
use crate::builder::problem::SchemaProblem;
use crate::class::{ClassIndex, ContentRule, NameForm, ObjectClass, StructureRule};
use crate::definition::{ClassKind, Definition, ObjectClassDefinition};
use crate::name_table::NameTable;
use crate::schema::Source;

impl Resolver {
    fn types(&mut self, source: &Source, names: &[String]) -> Vec<TypeIndex> {
        let mut list = Vec::with_capacity(names.len());
        for name in names {
            match self.schema.attribute_type(name.as_bytes()).map(|it| it.index) {
                Some(index) => list.push(index),
                None => self.unknown(source, "attribute type", name),
            }
        }
        list
    }

    fn class(&mut self, source: &Source, name: &str) -> Option<ClassIndex> {
        let found = self.schema.object_class(name.as_bytes()).map(|it| it.index);
        if found.is_none() {
            self.unknown(source, "object class", name);
        }
        found
    }

    pub(super) fn classes(&mut self, sources: &[Arc<Source>]) {
        // Attribute types that failed would only make every class that names them fail too.
        if !self.errors.is_empty() {
            return;
        }
        let all: Vec<(&Source, &ObjectClassDefinition)> =
            of_kind!(sources, ObjectClass).map(|(source, it)| (&**source, it)).collect();
        let names = self.names(&all);
        let superiors: Vec<Vec<ClassIndex>> =
            all.iter().map(|(source, it)| self.superior_classes(source, it, &names, &all)).collect();
        let own: Vec<[Vec<TypeIndex>; 2]> =
            all.iter().map(|(source, it)| [self.types(source, &it.must), self.types(source, &it.may)]).collect();
        for (number, (source, it)) in (0u32..).zip(&all) {
            let ancestors = ancestors_of(ClassIndex(number), &superiors);
            if ancestors.contains(&ClassIndex(number)) {
                self.error(source, SchemaProblem::Cycle(it.head.name_or_oid().to_owned()));
            }
            let gather = |which: usize| {
                let line = std::iter::once(ClassIndex(number)).chain(ancestors.iter().copied());
                let mut list: Vec<TypeIndex> = line
                    .filter_map(|class| own.get(class.0 as usize))
                    .filter_map(|lists| lists.get(which))
                    .flatten()
                    .copied()
                    .collect();
                list.sort_unstable();
                list.dedup();
                list
            };
            self.schema.classes.push(ObjectClass {
                index: ClassIndex(number),
                definition: (*it).clone(),
                superiors: superiors.get(number as usize).cloned().unwrap_or_default(),
                must: gather(0),
                may: gather(1),
                ancestors,
            });
        }
        self.schema.class_names = names;
    }

    /// `top` is the superior of every class that names none, as everywhere in practice.
    fn superior_classes(
        &mut self,
        source: &Source,
        it: &ObjectClassDefinition,
        names: &NameTable,
        all: &[(&Source, &ObjectClassDefinition)],
    ) -> Vec<ClassIndex> {
        if it.superiors.is_empty() {
            let is_top = it.head.names.iter().any(|name| name.eq_ignore_ascii_case("top"));
            return names.get(b"top").filter(|_| !is_top).map(ClassIndex).into_iter().collect();
        }
        let mut list = Vec::new();
        for name in &it.superiors {
            let Some(number) = names.get(name.as_bytes()) else {
                self.unknown(source, "object class", name);
                continue;
            };
            list.push(ClassIndex(number));
            let superior = all.get(number as usize).map_or(it.kind, |(_, superior)| superior.kind);
            let reason = match (it.kind, superior) {
                (_, ClassKind::Abstract)
                | (ClassKind::Structural, ClassKind::Structural)
                | (ClassKind::Auxiliary, ClassKind::Auxiliary) => continue,
                (ClassKind::Abstract, _) => "an abstract class can only have abstract superiors",
                (ClassKind::Structural, _) => "a structural class cannot have an auxiliary superior",
                (ClassKind::Auxiliary, _) => "an auxiliary class cannot have a structural superior",
            };
            let of = it.head.name_or_oid().to_owned();
            self.error(source, SchemaProblem::BadSuperior { of, superior: name.clone(), reason });
        }
        list
    }

    /// Enters names that no table of their own needs, for OID matching.
    fn other_name(&mut self, source: &Arc<Source>, owners: &mut Vec<Arc<Source>>) {
        let head = source.definition.head();
        let number = self.schema.other_oids.len() as u32;
        self.schema.other_oids.push(head.oid.as_str().into());
        owners.push(Arc::clone(source));
        for name in &head.names {
            // Content rules and name forms may share names with each other; the first owner answers.
            let taken = self.schema.other_names.insert(name.as_bytes(), number);
            let other = taken.and_then(|at| owners.get(at as usize)).cloned();
            if let Some(other) = other.filter(|other| other.definition.kind() == source.definition.kind()) {
                self.name_taken(source, name, &other);
            }
        }
    }

    pub(super) fn name_forms(&mut self, sources: &[Arc<Source>]) {
        if !self.errors.is_empty() {
            return;
        }
        let mut owners = Vec::new();
        for (source, it) in of_kind!(sources, NameForm) {
            self.other_name(source, &mut owners);
            let Some(class) = self.class(source, &it.class) else { continue };
            if self.schema.class_by_index(class).is_some_and(|class| class.kind() != ClassKind::Structural) {
                self.forbidden(source, "a name form needs a structural object class");
            }
            let must = self.types(source, &it.must);
            let may = self.types(source, &it.may);
            self.schema.name_forms.push(NameForm { definition: it.clone(), class, must, may });
        }
        for (source, _) in of_kind!(sources, ContentRule) {
            self.other_name(source, &mut owners);
        }
        for (source, _) in of_kind!(sources, StructureRule) {
            self.other_name(source, &mut owners);
        }
    }

    pub(super) fn content_rules(&mut self, sources: &[Arc<Source>]) {
        if !self.errors.is_empty() {
            return;
        }
        for (source, it) in of_kind!(sources, ContentRule) {
            let Some(class) = self.class(source, &it.head.oid) else { continue };
            if self.schema.class_by_index(class).is_some_and(|class| class.kind() != ClassKind::Structural) {
                self.forbidden(source, "a content rule needs the OID of a structural object class");
            }
            let mut auxiliaries = Vec::new();
            for name in &it.auxiliaries {
                let Some(auxiliary) = self.class(source, name) else { continue };
                if self.schema.class_by_index(auxiliary).is_some_and(|class| class.kind() != ClassKind::Auxiliary) {
                    self.forbidden(source, "only auxiliary classes can stand after AUX");
                }
                auxiliaries.push(auxiliary);
            }
            let [must, may, not] = [&it.must, &it.may, &it.not].map(|names| self.types(source, names));
            let required = self.schema.class_by_index(class).map(|class| class.must.clone()).unwrap_or_default();
            if not.iter().any(|attribute| required.contains(attribute) || must.contains(attribute)) {
                self.forbidden(source, "an attribute after NOT is required by the class or the rule");
            }
            self.schema.content_rules.push(ContentRule { definition: it.clone(), class, auxiliaries, must, may, not });
        }
    }

    pub(super) fn structure_rules(&mut self, sources: &[Arc<Source>]) {
        if !self.errors.is_empty() {
            return;
        }
        for (source, it) in of_kind!(sources, StructureRule) {
            let form = self.schema.name_forms.iter().position(|form| {
                let head = &form.definition.head;
                head.oid == it.form || head.names.iter().any(|name| name.eq_ignore_ascii_case(&it.form))
            });
            let Some((form, class)) = form.and_then(|at| Some((at, self.schema.name_forms.get(at)?.class))) else {
                self.unknown(source, "name form", &it.form);
                continue;
            };
            for superior in &it.superiors {
                if !of_kind!(sources, StructureRule).any(|(_, other)| other.id == *superior) {
                    self.unknown(source, "structure rule", &superior.to_string());
                }
            }
            let superiors = it.superiors.clone();
            self.schema.structure_rules.push(StructureRule { definition: it.clone(), class, form, superiors });
        }
    }

    /// The uses that are shown are computed; those in files only have to make sense.
    pub(super) fn rule_uses(&mut self, sources: &[Arc<Source>]) {
        if !self.errors.is_empty() {
            return;
        }
        for (source, it) in of_kind!(sources, MatchingRuleUse) {
            if self.schema.definable_rule(it.head.oid.as_bytes()).is_none() {
                self.unknown(source, "matching rule", &it.head.oid);
            }
            self.types(source, &it.applies);
        }
    }
}

fn ancestors_of(class: ClassIndex, superiors: &[Vec<ClassIndex>]) -> Vec<ClassIndex> {
    let mut ancestors: Vec<ClassIndex> = Vec::new();
    let mut open: Vec<ClassIndex> = superiors.get(class.0 as usize).cloned().unwrap_or_default();
    while let Some(next) = open.pop() {
        if !ancestors.contains(&next) {
            ancestors.push(next);
            open.extend(superiors.get(next.0 as usize).into_iter().flatten().copied());
        }
    }
    ancestors
}
