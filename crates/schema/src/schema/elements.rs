//! All elements of a schema, asked by name, OID or number.

use std::fmt;
use std::sync::Arc;

use super::options::SchemaOptions;
use crate::attribute::{AttributeType, TypeIndex};
use crate::class::{ClassIndex, ContentRule, NameForm, ObjectClass, StructureRule};
use crate::definition::{Definition, DefinitionKind, Head, MatchingRuleDefinition, MatchingRuleUseDefinition};
use crate::name_table::NameTable;
use crate::rule::{MatchingRule, RULES, collation};
use crate::syntax::Syntax;

/// All definitions of a server, every reference resolved.
pub struct Schema {
    pub(crate) options: SchemaOptions,
    pub(crate) syntaxes: Vec<Arc<Syntax>>,
    pub(crate) syntax_names: NameTable,
    pub(crate) rule_names: Arc<NameTable>,
    /// Definitions of matching rules in files: they may describe built-in rules, not add any.
    pub(crate) rule_heads: Vec<(usize, Head)>,
    pub(crate) attributes: Vec<AttributeType>,
    pub(crate) attribute_names: NameTable,
    /// For each type, itself and its subtypes.
    pub(crate) subtypes: Vec<Vec<TypeIndex>>,
    pub(crate) classes: Vec<ObjectClass>,
    pub(crate) class_names: NameTable,
    pub(crate) name_forms: Vec<NameForm>,
    pub(crate) content_rules: Vec<ContentRule>,
    pub(crate) structure_rules: Vec<StructureRule>,
    /// All definitions of files, in order: what the next schema is built from.
    pub(crate) sources: Vec<Arc<Source>>,
    /// Names of whatever else has an OID: name forms, rules.
    pub(crate) other_names: NameTable,
    pub(crate) other_oids: Vec<Box<str>>,
}

/// A definition and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) definition: Definition,
    pub(crate) file: Arc<str>,
    pub(crate) line: u64,
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut it = f.debug_struct("Schema");
        it.field("attribute_types", &self.attributes.len()).field("object_classes", &self.classes.len());
        it.finish_non_exhaustive()
    }
}

impl Schema {
    /// The switches it was built with.
    pub fn options(&self) -> &SchemaOptions {
        &self.options
    }

    /// The attribute type of that name or OID, in any case and without options.
    pub fn attribute_type(&self, name: &[u8]) -> Option<&AttributeType> {
        self.attributes.get(self.attribute_names.get(name)? as usize)
    }

    /// The attribute type that an attribute description (RFC 4512 §2.5) is of, whatever its options.
    pub fn type_of_description(&self, description: &[u8]) -> Option<&AttributeType> {
        self.attribute_type(description.split(|byte| *byte == b';').next()?)
    }

    /// The attribute type with that number.
    pub fn attribute_by_index(&self, index: TypeIndex) -> Option<&AttributeType> {
        self.attributes.get(index.0 as usize)
    }

    /// All attribute types, by number.
    pub fn attribute_types(&self) -> &[AttributeType] {
        &self.attributes
    }

    /// The type itself and all its subtypes.
    pub fn subtypes(&self, index: TypeIndex) -> &[TypeIndex] {
        self.subtypes.get(index.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// The object class of that name or OID.
    pub fn object_class(&self, name: &[u8]) -> Option<&ObjectClass> {
        self.classes.get(self.class_names.get(name)? as usize)
    }

    /// The object class with that number.
    pub fn class_by_index(&self, index: ClassIndex) -> Option<&ObjectClass> {
        self.classes.get(index.0 as usize)
    }

    /// All object classes, by number.
    pub fn object_classes(&self) -> &[ObjectClass] {
        &self.classes
    }

    /// The matching rule of that name or OID.
    pub fn matching_rule(&self, name: &[u8]) -> Option<&'static MatchingRule> {
        self.definable_rule(name).or_else(|| collation::find(name))
    }

    /// The same without the rules of languages: definitions do not name those, and `is` or `no` are good names of other
    /// things.
    pub(crate) fn definable_rule(&self, name: &[u8]) -> Option<&'static MatchingRule> {
        RULES.get(self.rule_names.get(name)? as usize)
    }

    /// All matching rules but those of languages.
    pub fn matching_rules(&self) -> &'static [MatchingRule] {
        RULES
    }

    /// The syntax with that OID.
    pub fn syntax(&self, oid: &[u8]) -> Option<&Arc<Syntax>> {
        self.syntaxes.get(self.syntax_names.get(oid)? as usize)
    }

    /// All syntaxes.
    pub fn syntaxes(&self) -> &[Arc<Syntax>] {
        &self.syntaxes
    }

    /// All name forms.
    pub fn name_forms(&self) -> &[NameForm] {
        &self.name_forms
    }

    /// All DIT content rules.
    pub fn content_rules(&self) -> &[ContentRule] {
        &self.content_rules
    }

    /// All DIT structure rules.
    pub fn structure_rules(&self) -> &[StructureRule] {
        &self.structure_rules
    }

    /// The numeric OID of the class, attribute type, rule, name form or content rule of that name.
    pub fn oid_of(&self, name: &[u8]) -> Option<&str> {
        if let Some(class) = self.object_class(name) {
            return Some(class.oid());
        }
        if let Some(attribute) = self.attribute_type(name) {
            return Some(attribute.oid());
        }
        if let Some(rule) = self.definable_rule(name) {
            return Some(rule.oid);
        }
        self.other_names.get(name).and_then(|at| self.other_oids.get(at as usize)).map(|oid| &**oid)
    }

    /// Whether `rule` may be applied to values of `attribute`: it is one of the type's own rules, or it works on the
    /// same kind of values (what `matchingRuleUse` says).
    pub fn rule_applies(&self, rule: &MatchingRule, attribute: &AttributeType) -> bool {
        let own = [attribute.equality, attribute.ordering, attribute.substring, attribute.approximate];
        own.into_iter().flatten().any(|it| it == rule || it.shares_form_with(rule))
            || rule.suits_syntax(attribute.syntax.oid())
    }

    /// The definitions of one kind as the subschema entry lists them, with `X-ORIGIN` and `X-SCHEMA-FILE`.
    pub fn definitions(&self, kind: DefinitionKind) -> Vec<String> {
        match kind {
            DefinitionKind::Syntax => self.syntaxes.iter().map(|it| it.definition().to_string()).collect(),
            DefinitionKind::MatchingRule => self.rule_definitions(),
            DefinitionKind::MatchingRuleUse => self.rule_uses(),
            DefinitionKind::AttributeType => self.attributes.iter().map(|it| self.shown(it.definition())).collect(),
            DefinitionKind::ObjectClass => self.classes.iter().map(|it| it.definition().to_string()).collect(),
            DefinitionKind::NameForm => {
                self.name_forms.iter().map(|it| Definition::NameForm(it.definition.clone()).to_string()).collect()
            }
            DefinitionKind::ContentRule => {
                self.content_rules.iter().map(|it| Definition::ContentRule(it.definition.clone()).to_string()).collect()
            }
            DefinitionKind::StructureRule => self
                .structure_rules
                .iter()
                .map(|it| Definition::StructureRule(it.definition.clone()).to_string())
                .collect(),
        }
    }

    fn shown(&self, mut definition: Definition) -> String {
        if self.options.strip_syntax_min_upper_bound_attribute_type_description
            && let Definition::AttributeType(it) = &mut definition
        {
            it.length = None;
        }
        definition.to_string()
    }

    fn rule_definitions(&self) -> Vec<String> {
        let described = |at: usize| self.rule_heads.iter().find(|(rule, _)| *rule == at).map(|(_, head)| head.clone());
        let definitions = RULES.iter().enumerate().map(|(at, rule)| {
            let head = described(at).unwrap_or_else(|| head_of(rule));
            rule_definition(rule, head)
        });
        definitions.chain(collation::rules().iter().map(|rule| rule_definition(rule, head_of(rule)))).collect()
    }

    /// For each rule the attribute types that it applies to, computed: a list by hand would be incomplete. Not for the
    /// rules of languages: each would name every text attribute there is, some megabytes in all.
    fn rule_uses(&self) -> Vec<String> {
        let uses = RULES.iter().filter_map(|rule| {
            let applies: Vec<String> = self
                .attributes
                .iter()
                .filter(|attribute| self.rule_applies(rule, attribute))
                .map(|attribute| attribute.name().to_owned())
                .collect();
            let head = head_of(rule);
            (!applies.is_empty())
                .then(|| Definition::MatchingRuleUse(MatchingRuleUseDefinition { head, applies }).to_string())
        });
        uses.collect()
    }
}

fn rule_definition(rule: &MatchingRule, head: Head) -> String {
    Definition::MatchingRule(MatchingRuleDefinition { head, syntax: rule.syntax.to_owned() }).to_string()
}

fn head_of(rule: &MatchingRule) -> Head {
    Head {
        oid: rule.oid.to_owned(),
        names: rule.names.iter().map(|name| (*name).to_owned()).collect(),
        ..Head::default()
    }
}
