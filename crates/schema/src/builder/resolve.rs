//! Resolves the references of definitions, kind by kind, in the order in which they depend on each other.

use std::sync::{Arc, OnceLock};

use regex::bytes::RegexBuilder;

use super::{SchemaError, SchemaErrors, SchemaProblem};
use crate::attribute::{AttributeType, TypeIndex};
use crate::class::{ClassIndex, ContentRule, NameForm, ObjectClass, StructureRule};
use crate::definition::{
    AttributeTypeDefinition, ClassKind, Definition, Head, ObjectClassDefinition, SyntaxDefinition, Usage,
};
use crate::name_table::NameTable;
use crate::prep::{self, Case};
use crate::rule::{MatchingRule, RULES, RuleRole};
use crate::schema::{Schema, SchemaOptions, Source};
use crate::syntax::{BUILT_IN, Check, Syntax, is_descriptor, is_numeric_oid, oid};

/// Compiled size of a pattern; a schema is not the place for large automata.
const PATTERN_BYTES_MAX: usize = 1 << 20;

pub(super) fn resolve(options: SchemaOptions, sources: Vec<Arc<Source>>) -> Result<Schema, SchemaErrors> {
    let mut resolver = Resolver { schema: Schema::bare(options), errors: Vec::new() };
    resolver.syntaxes(&sources);
    resolver.rules(&sources);
    resolver.attributes(&sources);
    resolver.classes(&sources);
    resolver.name_forms(&sources);
    resolver.content_rules(&sources);
    resolver.structure_rules(&sources);
    resolver.rule_uses(&sources);
    let Resolver { mut schema, errors } = resolver;
    if !errors.is_empty() {
        return Err(SchemaErrors(errors));
    }
    schema.sources = sources;
    Ok(schema)
}

impl Schema {
    /// Built-in syntaxes and rules.
    pub(crate) fn bare(options: SchemaOptions) -> Schema {
        static RULE_NAMES: OnceLock<Arc<NameTable>> = OnceLock::new();
        let rule_names = RULE_NAMES.get_or_init(|| {
            let mut names = NameTable::default();
            for (at, rule) in (0u32..).zip(RULES) {
                names.insert(rule.oid.as_bytes(), at);
                for name in rule.names {
                    names.insert(name.as_bytes(), at);
                }
            }
            // OpenDJ had an OID of its own for this rule before it had an official one.
            if let Some(at) = names.get(b"caseExactIA5SubstringsMatch") {
                names.insert(b"1.3.6.1.4.1.26027.1.4.902", at);
            }
            Arc::new(names)
        });
        let mut syntax_names = NameTable::default();
        let syntaxes: Vec<Arc<Syntax>> = BUILT_IN.iter().map(|row| Arc::new(row.syntax())).collect();
        for (at, syntax) in (0u32..).zip(&syntaxes) {
            syntax_names.insert(syntax.oid().as_bytes(), at);
        }
        Schema {
            options,
            syntaxes,
            syntax_names,
            rule_names: Arc::clone(rule_names),
            rule_heads: Vec::new(),
            attributes: Vec::new(),
            attribute_names: NameTable::default(),
            subtypes: Vec::new(),
            classes: Vec::new(),
            class_names: NameTable::default(),
            name_forms: Vec::new(),
            content_rules: Vec::new(),
            structure_rules: Vec::new(),
            sources: Vec::new(),
            other_names: NameTable::default(),
            other_oids: Vec::new(),
        }
    }
}

struct Resolver {
    schema: Schema,
    errors: Vec<SchemaError>,
}

/// The sources of one kind of definition, with the definition itself.
macro_rules! of_kind {
    ($sources:expr, $kind:ident) => {
        $sources.iter().filter_map(|source| match &source.definition {
            Definition::$kind(definition) => Some((source, definition)),
            _ => None,
        })
    };
}

impl Resolver {
    fn error(&mut self, source: &Source, problem: SchemaProblem) {
        self.errors.push(SchemaError { file: source.file.to_string(), line: source.line, problem });
    }

    fn unknown(&mut self, source: &Source, what: &'static str, name: &str) {
        let of = source.definition.head().name_or_oid().to_owned();
        self.error(source, SchemaProblem::Unknown { of, what, name: name.to_owned() });
    }

    fn forbidden(&mut self, source: &Source, reason: &'static str) {
        let of = source.definition.head().name_or_oid().to_owned();
        self.error(source, SchemaProblem::Forbidden { of, reason });
    }

    /// Checks OID and names and enters them in a table.
    fn name(&mut self, source: &Source, table: &mut NameTable, number: u32, owners: &[&Source]) {
        let head = source.definition.head();
        let exceptions = self.schema.options.allow_attribute_name_exceptions;
        // `name-oid` in place of an OID is the habit of Sun and OpenDJ for private definitions.
        let oid_good = is_numeric_oid(head.oid.as_bytes())
            || (is_descriptor(head.oid.as_bytes(), true) && head.oid.to_ascii_lowercase().ends_with("-oid"));
        if !oid_good {
            self.error(source, SchemaProblem::BadOid(head.oid.clone()));
        }
        table.insert(head.oid.as_bytes(), number);
        for name in &head.names {
            if !is_descriptor(name.as_bytes(), exceptions) {
                let would_help = !exceptions && is_descriptor(name.as_bytes(), true);
                let hint = if would_help { "; allow-attribute-name-exceptions would allow it" } else { "" };
                self.error(source, SchemaProblem::BadName { name: name.clone(), hint });
            }
            let taken = table.insert(name.as_bytes(), number).filter(|owner| *owner != number);
            if let Some(owner) = taken.and_then(|owner| owners.get(owner as usize)) {
                let problem = SchemaProblem::NameTaken {
                    name: name.clone(),
                    oid: head.oid.clone(),
                    other: owner.definition.head().oid.clone(),
                    file: owner.file.to_string(),
                    line: owner.line,
                };
                self.error(source, problem);
            }
        }
    }

    fn syntaxes(&mut self, sources: &[Arc<Source>]) {
        for (source, definition) in of_kind!(sources, Syntax) {
            let known = self.schema.syntax_names.get(definition.head.oid.as_bytes());
            let built_in = known.and_then(|at| self.schema.syntaxes.get(at as usize)).cloned();
            let Some(syntax) = self.syntax(source, definition, built_in.as_deref()) else { continue };
            match known.and_then(|at| self.schema.syntaxes.get_mut(at as usize)) {
                Some(place) => *place = Arc::new(syntax),
                None => {
                    let number = self.schema.syntaxes.len() as u32;
                    self.schema.syntax_names.insert(definition.head.oid.as_bytes(), number);
                    self.schema.syntaxes.push(Arc::new(syntax));
                }
            }
        }
    }

    fn syntax(&mut self, source: &Source, it: &SyntaxDefinition, built_in: Option<&Syntax>) -> Option<Syntax> {
        let head = it.head.clone();
        if let Some(words) = head.extension("X-ENUM") {
            let prepared = words.iter().filter_map(|word| {
                let mut form = Vec::new();
                prep::prepare(word.as_bytes(), Case::Ignore, &mut form).ok().map(|()| (form, word.clone()))
            });
            let check = Check::Enumeration(prepared.collect());
            return Some(Syntax { head, human_readable: true, check });
        }
        if let Some(pattern) = head.extension("X-PATTERN").and_then(<[String]>::first) {
            let anchored = format!("^(?:{pattern})$");
            return match RegexBuilder::new(&anchored).size_limit(PATTERN_BYTES_MAX).build() {
                Ok(regex) => Some(Syntax { head, human_readable: true, check: Check::Pattern(regex) }),
                Err(error) => {
                    let of = head.oid;
                    self.error(source, SchemaProblem::BadPattern { of, reason: error.to_string() });
                    None
                }
            };
        }
        if let Some(other) = head.extension("X-SUBST").and_then(<[String]>::first) {
            let found = self.schema.syntax(other.as_bytes()).cloned();
            if found.is_none() {
                self.unknown(source, "syntax", other);
            }
            return found.map(|other| Syntax {
                head,
                human_readable: other.human_readable,
                check: other.check.clone(),
            });
        }
        if built_in.is_none() {
            self.forbidden(source, "the syntax is not built in and has neither X-SUBST, X-ENUM nor X-PATTERN");
        }
        built_in.map(|known| Syntax { head, human_readable: known.human_readable, check: known.check.clone() })
    }

    /// Files may describe built-in rules; they cannot bring code.
    fn rules(&mut self, sources: &[Arc<Source>]) {
        for (source, definition) in of_kind!(sources, MatchingRule) {
            match self.schema.rule_names.get(definition.head.oid.as_bytes()) {
                Some(at) => self.schema.rule_heads.push((at as usize, definition.head.clone())),
                None => self.unknown(source, "matching rule", &definition.head.oid),
            }
        }
    }

    fn attributes(&mut self, sources: &[Arc<Source>]) {
        let all: Vec<(&Source, &AttributeTypeDefinition)> =
            of_kind!(sources, AttributeType).map(|(source, it)| (&**source, it)).collect();
        let owners: Vec<&Source> = all.iter().map(|(source, _)| *source).collect();
        let mut names = NameTable::default();
        for (number, (source, _)) in (0u32..).zip(&all) {
            self.name(source, &mut names, number, &owners);
        }
        self.schema.subtypes = vec![Vec::new(); all.len()];
        for (number, (source, it)) in (0u32..).zip(&all) {
            let index = TypeIndex(number);
            let Some(chain) = self.chain(source, number, &all, &names) else { continue };
            if let Some(attribute) = self.attribute(source, index, it, &chain, &all) {
                for of in &chain {
                    if let Some(list) = self.schema.subtypes.get_mut(*of as usize) {
                        list.push(index);
                    }
                }
                self.schema.attributes.push(attribute);
            }
        }
        self.schema.attribute_names = names;
    }

    /// The type and its superiors, nearest first.
    fn chain(
        &mut self,
        source: &Source,
        number: u32,
        all: &[(&Source, &AttributeTypeDefinition)],
        names: &NameTable,
    ) -> Option<Vec<u32>> {
        let mut chain = vec![number];
        let mut current = number;
        while let Some(superior) = all.get(current as usize).and_then(|(_, it)| it.superior.as_deref()) {
            let Some(next) = names.get(superior.as_bytes()) else {
                self.unknown(source, "attribute type", superior);
                return None;
            };
            if chain.contains(&next) {
                self.error(source, SchemaProblem::Cycle(source.definition.head().name_or_oid().to_owned()));
                return None;
            }
            chain.push(next);
            current = next;
        }
        Some(chain)
    }

    fn attribute(
        &mut self,
        source: &Source,
        index: TypeIndex,
        it: &AttributeTypeDefinition,
        chain: &[u32],
        all: &[(&Source, &AttributeTypeDefinition)],
    ) -> Option<AttributeType> {
        let line = || chain.iter().filter_map(|at| all.get(*at as usize)).map(|(_, it)| *it);
        self.check_attribute(source, it, line().nth(1));
        let syntax = match line().find_map(|it| it.syntax.as_deref()) {
            Some(name) => match self.schema.syntax(name.as_bytes()) {
                Some(syntax) => Arc::clone(syntax),
                None => {
                    self.unknown(source, "syntax", name);
                    return None;
                }
            },
            None if self.schema.options.allow_attribute_types_with_no_sup_or_syntax => {
                Arc::clone(self.schema.syntax(oid::OCTET_STRING.as_bytes())?)
            }
            None => {
                self.error(source, SchemaProblem::NoSyntax(it.head.name_or_oid().to_owned()));
                return None;
            }
        };
        let equality = line().find_map(|it| it.equality.as_deref());
        let ordering = line().find_map(|it| it.ordering.as_deref());
        let substring = line().find_map(|it| it.substring.as_deref());
        let equality = self.rule(source, equality, RuleRole::Equality).or_else(|| syntax.default_equality());
        let ordering = self.rule(source, ordering, RuleRole::Ordering);
        let substring = self.rule(source, substring, RuleRole::Substring);
        let approximate = it.head.extension("X-APPROX").and_then(<[String]>::first).map(String::as_str);
        let approximate = self.rule(source, approximate, RuleRole::Approximate);
        Some(AttributeType {
            index,
            definition: it.clone(),
            superior: chain.get(1).map(|at| TypeIndex(*at)),
            ancestors: chain.iter().skip(1).map(|at| TypeIndex(*at)).collect(),
            equality,
            ordering: ordering.or_else(|| equality.and_then(|rule| rule.relative(RuleRole::Ordering))),
            substring: substring.or_else(|| equality.and_then(|rule| rule.relative(RuleRole::Substring))),
            approximate: approximate.or_else(|| syntax.default_approximate()),
            syntax,
            normal_name: it.head.name_or_oid().to_ascii_lowercase().into(),
        })
    }

    fn check_attribute(
        &mut self,
        source: &Source,
        it: &AttributeTypeDefinition,
        superior: Option<&AttributeTypeDefinition>,
    ) {
        if it.no_user_modification && it.usage == Usage::UserApplications {
            self.forbidden(source, "NO-USER-MODIFICATION needs an operational USAGE");
        }
        if it.collective && (it.single_value || it.usage != Usage::UserApplications) {
            self.forbidden(source, "a COLLECTIVE attribute can be neither SINGLE-VALUE nor operational");
        }
        let Some(superior) = superior else { return };
        let reason = if superior.usage != it.usage {
            "their USAGE differs"
        } else if superior.collective && !it.collective {
            "a subtype of a collective attribute must be collective"
        } else {
            return;
        };
        let of = it.head.name_or_oid().to_owned();
        let superior = superior.head.name_or_oid().to_owned();
        self.error(source, SchemaProblem::BadSuperior { of, superior, reason });
    }

    fn rule(&mut self, source: &Source, name: Option<&str>, role: RuleRole) -> Option<&'static MatchingRule> {
        let name = name?;
        let Some(rule) = self.schema.matching_rule(name.as_bytes()) else {
            self.unknown(source, "matching rule", name);
            return None;
        };
        if rule.role == role {
            return Some(rule);
        }
        let role = match role {
            RuleRole::Equality => "an equality",
            RuleRole::Ordering => "an ordering",
            RuleRole::Substring => "a substring",
            RuleRole::Approximate => "an approximate",
            RuleRole::Extensible => "an extensible",
        };
        let of = source.definition.head().name_or_oid().to_owned();
        self.error(source, SchemaProblem::WrongRole { of, rule: rule.name().to_owned(), role });
        None
    }

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

    fn classes(&mut self, sources: &[Arc<Source>]) {
        // Attribute types that failed would only make every class that names them fail too.
        if !self.errors.is_empty() {
            return;
        }
        let all: Vec<(&Source, &ObjectClassDefinition)> =
            of_kind!(sources, ObjectClass).map(|(source, it)| (&**source, it)).collect();
        let owners: Vec<&Source> = all.iter().map(|(source, _)| *source).collect();
        let mut names = NameTable::default();
        for (number, (source, _)) in (0u32..).zip(&all) {
            self.name(source, &mut names, number, &owners);
        }
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
    fn other_name(&mut self, source: &Source, head: &Head, owners: &mut Vec<Arc<Source>>, all: &Arc<Source>) {
        let number = self.schema.other_oids.len() as u32;
        self.schema.other_oids.push(head.oid.as_str().into());
        owners.push(Arc::clone(all));
        for name in &head.names {
            // Content rules and name forms may share names with each other; the first owner answers.
            let taken = self.schema.other_names.insert(name.as_bytes(), number);
            let other = taken.and_then(|at| owners.get(at as usize)).cloned();
            if let Some(other) = other.filter(|other| other.definition.kind() == source.definition.kind()) {
                let problem = SchemaProblem::NameTaken {
                    name: name.clone(),
                    oid: head.oid.clone(),
                    other: other.definition.head().oid.clone(),
                    file: other.file.to_string(),
                    line: other.line,
                };
                self.error(source, problem);
            }
        }
    }

    fn name_forms(&mut self, sources: &[Arc<Source>]) {
        if !self.errors.is_empty() {
            return;
        }
        let mut owners = Vec::new();
        for (source, it) in of_kind!(sources, NameForm) {
            self.other_name(source, &it.head, &mut owners, source);
            let Some(class) = self.class(source, &it.class) else { continue };
            if self.schema.class_by_index(class).is_some_and(|class| class.kind() != ClassKind::Structural) {
                self.forbidden(source, "a name form needs a structural object class");
            }
            let must = self.types(source, &it.must);
            let may = self.types(source, &it.may);
            self.schema.name_forms.push(NameForm { definition: it.clone(), class, must, may });
        }
        for (source, it) in of_kind!(sources, ContentRule) {
            self.other_name(source, &it.head, &mut owners, source);
        }
        for (source, it) in of_kind!(sources, StructureRule) {
            self.other_name(source, &it.head, &mut owners, source);
        }
    }

    fn content_rules(&mut self, sources: &[Arc<Source>]) {
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

    fn structure_rules(&mut self, sources: &[Arc<Source>]) {
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
    fn rule_uses(&mut self, sources: &[Arc<Source>]) {
        if !self.errors.is_empty() {
            return;
        }
        for (source, it) in of_kind!(sources, MatchingRuleUse) {
            if self.schema.matching_rule(it.head.oid.as_bytes()).is_none() {
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
