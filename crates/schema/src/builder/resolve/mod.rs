//! Resolves the references of definitions, kind by kind, in the order in which they depend on each other.

use std::sync::Arc;

use regex::bytes::RegexBuilder;

use crate::attribute::{AttributeType, TypeIndex};
use crate::builder::problem::{SchemaError, SchemaErrors, SchemaProblem};
use crate::definition::{AttributeTypeDefinition, Definition, SyntaxDefinition, Usage};
use crate::name_table::NameTable;
use crate::prep::{self, Case};
use crate::rule::{MatchingRule, RuleRole};
use crate::schema::{Schema, SchemaOptions, Source};
use crate::syntax::{Check, Syntax, is_descriptor, is_numeric_oid, oid};

/// The sources of one kind of definition, with the definition itself.
macro_rules! of_kind {
    ($sources:expr, $kind:ident) => {
        $sources.iter().filter_map(|source| match &source.definition {
            Definition::$kind(definition) => Some((source, definition)),
            _ => None,
        })
    };
}

mod classes;

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

struct Resolver {
    schema: Schema,
    errors: Vec<SchemaError>,
}

impl Resolver {
    fn error(&mut self, source: &Source, problem: SchemaProblem) {
        self.errors.push(SchemaError { file: source.file.to_string(), line: source.line, problem });
    }

    fn name_taken(&mut self, source: &Source, name: &str, owner: &Source) {
        let problem = SchemaProblem::NameTaken {
            name: name.to_owned(),
            oid: source.definition.head().oid.clone(),
            other: owner.definition.head().oid.clone(),
            file: owner.file.to_string(),
            line: owner.line,
        };
        self.error(source, problem);
    }

    fn unknown(&mut self, source: &Source, what: &'static str, name: &str) {
        let of = source.definition.head().name_or_oid().to_owned();
        self.error(source, SchemaProblem::Unknown { of, what, name: name.to_owned() });
    }

    fn forbidden(&mut self, source: &Source, reason: &'static str) {
        let of = source.definition.head().name_or_oid().to_owned();
        self.error(source, SchemaProblem::Forbidden { of, reason });
    }

    /// The table of the OIDs and names of all definitions of a kind, checked.
    fn names<T>(&mut self, all: &[(&Source, T)]) -> NameTable {
        let owners: Vec<&Source> = all.iter().map(|(source, _)| *source).collect();
        let mut names = NameTable::default();
        for (number, source) in (0u32..).zip(&owners) {
            self.name(source, &mut names, number, &owners);
        }
        names
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
                self.name_taken(source, name, owner);
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
        let names = self.names(&all);
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
        let Some(rule) = self.schema.definable_rule(name.as_bytes()) else {
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
}
