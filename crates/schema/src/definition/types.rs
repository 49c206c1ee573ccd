//! The parsed forms of definitions: eight kinds, and what each of them holds.
//!
//! It knows nothing of their text.

/// The eight kinds of definition that a subschema entry holds (RFC 4512 §4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DefinitionKind {
    /// `ldapSyntaxes`
    Syntax,
    /// `matchingRules`
    MatchingRule,
    /// `matchingRuleUse`
    MatchingRuleUse,
    /// `attributeTypes`
    AttributeType,
    /// `objectClasses`
    ObjectClass,
    /// `nameForms`
    NameForm,
    /// `dITContentRules`
    ContentRule,
    /// `dITStructureRules`
    StructureRule,
}

impl DefinitionKind {
    /// Every kind, in the order in which a schema file lists them.
    pub const ALL: [DefinitionKind; 8] = [
        DefinitionKind::Syntax,
        DefinitionKind::MatchingRule,
        DefinitionKind::MatchingRuleUse,
        DefinitionKind::AttributeType,
        DefinitionKind::ObjectClass,
        DefinitionKind::NameForm,
        DefinitionKind::ContentRule,
        DefinitionKind::StructureRule,
    ];

    /// The attribute of the subschema entry that holds this kind.
    pub fn attribute(self) -> &'static str {
        match self {
            DefinitionKind::Syntax => "ldapSyntaxes",
            DefinitionKind::MatchingRule => "matchingRules",
            DefinitionKind::MatchingRuleUse => "matchingRuleUse",
            DefinitionKind::AttributeType => "attributeTypes",
            DefinitionKind::ObjectClass => "objectClasses",
            DefinitionKind::NameForm => "nameForms",
            DefinitionKind::ContentRule => "dITContentRules",
            DefinitionKind::StructureRule => "dITStructureRules",
        }
    }

    /// The kind held by the attribute of that name.
    pub fn of_attribute(name: &str) -> Option<DefinitionKind> {
        DefinitionKind::ALL.into_iter().find(|kind| kind.attribute().eq_ignore_ascii_case(name))
    }
}

/// What every definition begins and ends with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// Numeric OID, or the rule identifier of a DIT structure rule.
    pub oid: String,
    /// Short names, the primary one first.
    pub names: Vec<String>,
    /// `DESC`
    pub description: Option<String>,
    /// `OBSOLETE`
    pub obsolete: bool,
    /// `X-…` extensions in the order written.
    pub extensions: Vec<(String, Vec<String>)>,
}

impl Head {
    /// The primary name, or the OID of what has none.
    pub fn name_or_oid(&self) -> &str {
        self.names.first().unwrap_or(&self.oid)
    }

    /// The values of an extension, e.g. `X-ORIGIN`.
    pub fn extension(&self, name: &str) -> Option<&[String]> {
        let found = self.extensions.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, values)| values.as_slice())
    }

    /// Sets an extension to one value.
    pub fn set_extension(&mut self, name: &str, value: &str) {
        self.remove_extension(name);
        self.extensions.push((name.to_owned(), vec![value.to_owned()]));
    }

    /// Drops an extension.
    pub fn remove_extension(&mut self, name: &str) {
        self.extensions.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    }
}

/// How an attribute is used (RFC 4512 §4.1.2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Usage {
    /// Of the users.
    #[default]
    UserApplications,
    /// Operational, of the directory.
    DirectoryOperation,
    /// Operational, shared by servers.
    DistributedOperation,
    /// Operational, of this server only.
    DsaOperation,
}

/// The kind of an object class (RFC 4512 §2.4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ClassKind {
    /// Only there to be inherited from.
    Abstract,
    /// Every entry has exactly one chain of these.
    #[default]
    Structural,
    /// Adds attributes to entries.
    Auxiliary,
}

/// `AttributeTypeDescription`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AttributeTypeDefinition {
    /// OID, names, description, extensions.
    pub head: Head,
    /// `SUP`
    pub superior: Option<String>,
    /// `EQUALITY`
    pub equality: Option<String>,
    /// `ORDERING`
    pub ordering: Option<String>,
    /// `SUBSTR`
    pub substring: Option<String>,
    /// `SYNTAX`
    pub syntax: Option<String>,
    /// The `{length}` after the syntax: a suggestion, never enforced.
    pub length: Option<u32>,
    /// `SINGLE-VALUE`
    pub single_value: bool,
    /// `COLLECTIVE`
    pub collective: bool,
    /// `NO-USER-MODIFICATION`
    pub no_user_modification: bool,
    /// `USAGE`
    pub usage: Usage,
}

/// `ObjectClassDescription`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectClassDefinition {
    /// OID, names, description, extensions.
    pub head: Head,
    /// `SUP`
    pub superiors: Vec<String>,
    /// `ABSTRACT`, `STRUCTURAL` or `AUXILIARY`.
    pub kind: ClassKind,
    /// `MUST`
    pub must: Vec<String>,
    /// `MAY`
    pub may: Vec<String>,
}

/// `NameFormDescription`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameFormDefinition {
    /// OID, names, description, extensions.
    pub head: Head,
    /// `OC`: the structural class named by this form.
    pub class: String,
    /// `MUST`
    pub must: Vec<String>,
    /// `MAY`
    pub may: Vec<String>,
}

/// `DITContentRuleDescription`; its OID is that of the structural class it governs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContentRuleDefinition {
    /// OID, names, description, extensions.
    pub head: Head,
    /// `AUX`
    pub auxiliaries: Vec<String>,
    /// `MUST`
    pub must: Vec<String>,
    /// `MAY`
    pub may: Vec<String>,
    /// `NOT`
    pub not: Vec<String>,
}

/// `DITStructureRuleDescription`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StructureRuleDefinition {
    /// Rule identifier (as `oid`), names, description, extensions.
    pub head: Head,
    /// The rule identifier.
    pub id: u32,
    /// `FORM`
    pub form: String,
    /// `SUP`: rules that may govern the parent; none for an administrative point.
    pub superiors: Vec<u32>,
}

/// `SyntaxDescription`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SyntaxDefinition {
    /// OID, description, extensions.
    pub head: Head,
}

/// `MatchingRuleDescription`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MatchingRuleDefinition {
    /// OID, names, description, extensions.
    pub head: Head,
    /// The syntax of assertions.
    pub syntax: String,
}

/// `MatchingRuleUseDescription`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MatchingRuleUseDefinition {
    /// OID of the rule, names, description, extensions.
    pub head: Head,
    /// `APPLIES`
    pub applies: Vec<String>,
}

/// One definition of any kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Definition {
    /// `ldapSyntaxes`
    Syntax(SyntaxDefinition),
    /// `matchingRules`
    MatchingRule(MatchingRuleDefinition),
    /// `matchingRuleUse`
    MatchingRuleUse(MatchingRuleUseDefinition),
    /// `attributeTypes`
    AttributeType(AttributeTypeDefinition),
    /// `objectClasses`
    ObjectClass(ObjectClassDefinition),
    /// `nameForms`
    NameForm(NameFormDefinition),
    /// `dITContentRules`
    ContentRule(ContentRuleDefinition),
    /// `dITStructureRules`
    StructureRule(StructureRuleDefinition),
}

impl Definition {
    /// Its kind.
    pub fn kind(&self) -> DefinitionKind {
        match self {
            Definition::Syntax(_) => DefinitionKind::Syntax,
            Definition::MatchingRule(_) => DefinitionKind::MatchingRule,
            Definition::MatchingRuleUse(_) => DefinitionKind::MatchingRuleUse,
            Definition::AttributeType(_) => DefinitionKind::AttributeType,
            Definition::ObjectClass(_) => DefinitionKind::ObjectClass,
            Definition::NameForm(_) => DefinitionKind::NameForm,
            Definition::ContentRule(_) => DefinitionKind::ContentRule,
            Definition::StructureRule(_) => DefinitionKind::StructureRule,
        }
    }

    /// OID, names, description, extensions.
    pub fn head(&self) -> &Head {
        match self {
            Definition::Syntax(it) => &it.head,
            Definition::MatchingRule(it) => &it.head,
            Definition::MatchingRuleUse(it) => &it.head,
            Definition::AttributeType(it) => &it.head,
            Definition::ObjectClass(it) => &it.head,
            Definition::NameForm(it) => &it.head,
            Definition::ContentRule(it) => &it.head,
            Definition::StructureRule(it) => &it.head,
        }
    }

    /// The same, to change.
    pub fn head_mut(&mut self) -> &mut Head {
        match self {
            Definition::Syntax(it) => &mut it.head,
            Definition::MatchingRule(it) => &mut it.head,
            Definition::MatchingRuleUse(it) => &mut it.head,
            Definition::AttributeType(it) => &mut it.head,
            Definition::ObjectClass(it) => &mut it.head,
            Definition::NameForm(it) => &mut it.head,
            Definition::ContentRule(it) => &mut it.head,
            Definition::StructureRule(it) => &mut it.head,
        }
    }
}
