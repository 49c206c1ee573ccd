//! One instruction, prepared. It has no text: what explains reads the entry again.

use std::sync::atomic::{AtomicU32, Ordering};

use aci::{Aci, Effect, OidTarget, Rights, TargetPart, TargetScope, ValueFilter};
use query::facts::Facts;
use schema::{Schema, TypeIndex};

use super::filter_test::FilterTest;
use super::name_pattern::NamePattern;
use super::rule::{Rule, Test};
use super::type_set::TypeList;

/// A prepared instruction.
#[derive(Debug)]
pub(crate) struct Instruction {
    /// Its position among the values of its holder.
    pub position: u32,
    /// It is not valid: everything in its scope is denied.
    pub is_invalid: bool,
    pub scope: TargetScope,
    pub target: Option<Box<Negatable<NamePattern>>>,
    /// None: it is about the entry, not about its attributes.
    pub attributes: Option<TypeList>,
    pub filter: Option<Box<Negatable<FilterTest>>>,
    pub value_filters: Option<Box<ValueTests>>,
    pub moves: Option<Box<MoveTest>>,
    /// Controls and extended operations: then it is about nothing else.
    pub oids: Option<Box<OidTests>>,
    pub permissions: Box<[Permission]>,
    /// Of its text, by which it is known again when its holder changes.
    text_hash: u64,
    /// How often it took part in a decision.
    hits: AtomicU32,
}

/// Something that may be written with `!=`.
#[derive(Debug)]
pub(crate) struct Negatable<T> {
    pub negated: bool,
    pub value: T,
}

/// `allow` or `deny`, which rights, and who.
#[derive(Debug)]
pub(crate) struct Permission {
    pub effect: Effect,
    pub rights: Rights,
    pub rule: Rule,
}

/// `targattrfilters`
#[derive(Debug, Default)]
pub(crate) struct ValueTests {
    pub add: Box<[(TypeIndex, FilterTest)]>,
    pub delete: Box<[(TypeIndex, FilterTest)]>,
}

/// `target_from` and `target_to`
#[derive(Debug)]
pub(crate) struct MoveTest {
    pub from: Option<Negatable<NamePattern>>,
    pub to: Option<Negatable<NamePattern>>,
}

/// `targetcontrol` and `extop`
#[derive(Debug)]
pub(crate) struct OidTests {
    pub controls: Option<Negatable<Box<[OidTarget]>>>,
    pub extended: Option<Negatable<Box<[OidTarget]>>>,
}

impl Instruction {
    pub fn of(facts: &Facts, aci: &Aci, position: u32) -> Instruction {
        let targets = &aci.targets;
        let schema = &facts.schema;
        let pattern = |part: &TargetPart<aci::DnPattern>| Negatable {
            negated: part.negated,
            value: NamePattern::of(schema, &part.value),
        };
        let list = |part: &TargetPart<Vec<OidTarget>>| Negatable {
            negated: part.negated,
            value: part.value.as_slice().into(),
        };
        let tests = |filters: &[ValueFilter]| -> Box<[(TypeIndex, FilterTest)]> {
            let test = |it: &ValueFilter| {
                let attribute = schema.attribute_type(it.attribute.as_bytes())?.index;
                Some((attribute, FilterTest::of(facts, &it.filter)))
            };
            filters.iter().filter_map(test).collect()
        };
        let (from, to) = (targets.target_from.as_ref().map(pattern), targets.target_to.as_ref().map(pattern));
        let (controls, extended) =
            (targets.controls.as_ref().map(list), targets.extended_operations.as_ref().map(list));
        let permission =
            |it: &aci::Permission| Permission { effect: it.effect, rights: it.rights, rule: Rule::of(facts, &it.rule) };
        Instruction {
            position,
            is_invalid: false,
            scope: targets.scope.as_ref().map(|it| it.value).unwrap_or_default(),
            target: targets.target.as_ref().map(|it| Box::new(pattern(it))),
            attributes: targets.attributes.as_ref().map(|it| TypeList::of(facts, &it.value, it.negated)),
            filter: targets
                .filter
                .as_ref()
                .map(|it| Box::new(Negatable { negated: it.negated, value: FilterTest::of(facts, &it.value) })),
            value_filters: targets
                .value_filters
                .as_ref()
                .map(|it| Box::new(ValueTests { add: tests(&it.value.add), delete: tests(&it.value.delete) })),
            moves: (from.is_some() || to.is_some()).then(|| Box::new(MoveTest { from, to })),
            oids: (controls.is_some() || extended.is_some()).then(|| Box::new(OidTests { controls, extended })),
            permissions: aci.permissions.iter().map(permission).collect(),
            text_hash: 0,
            hits: AtomicU32::new(0),
        }
    }

    /// Whether it is about entries as such: it names neither attributes nor values of some. (Values are about writing
    /// only.)
    pub fn is_about_entries(&self) -> bool {
        self.attributes.is_none() && self.value_filters.is_none()
    }

    /// In place of one that is not valid: a deny of everything.
    pub fn closing(position: u32) -> Instruction {
        let rights = aci::Right::ALL.into_iter().collect();
        let rule = Rule::Test(Test::Anyone);
        Instruction {
            position,
            is_invalid: true,
            scope: TargetScope::Subtree,
            target: None,
            attributes: Some(TypeList::everything()),
            filter: None,
            value_filters: None,
            moves: None,
            oids: None,
            permissions: Box::new([Permission { effect: Effect::Deny, rights, rule }]),
            text_hash: 0,
            hits: AtomicU32::new(0),
        }
    }

    /// The same with the hash of its text. It goes on counting where an earlier one of this text stopped.
    pub fn counting_on(self, text_hash: u64, earlier: Option<&Instruction>) -> Instruction {
        Instruction { text_hash, hits: AtomicU32::new(earlier.map_or(0, Instruction::hits)), ..self }
    }

    pub fn text_hash(&self) -> u64 {
        self.text_hash
    }

    /// It took part in a decision.
    pub fn hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    pub fn hits(&self) -> u32 {
        self.hits.load(Ordering::Relaxed)
    }
}

impl MoveTest {
    /// Whether it is about a move of the entry `from` below the entry `to` (normalized names). Without `target_to`,
    /// every place in the scope of the instruction is meant.
    pub fn is_about(&self, schema: &Schema, from: &[u8], to: &[u8]) -> bool {
        let holds = |part: &Option<Negatable<NamePattern>>, name: &[u8]| {
            part.as_ref().is_none_or(|it| it.value.is_at_or_above(schema, name) != it.negated)
        };
        holds(&self.from, from) && holds(&self.to, to)
    }
}

impl OidTests {
    /// Whether it is about that control.
    pub fn is_about_control(&self, oid: &str) -> bool {
        lists(self.controls.as_ref(), oid)
    }

    /// Whether it is about that extended operation.
    pub fn is_about_extended(&self, oid: &str) -> bool {
        lists(self.extended.as_ref(), oid)
    }
}

fn lists(part: Option<&Negatable<Box<[OidTarget]>>>, oid: &str) -> bool {
    let is_listed = |list: &[OidTarget]| {
        list.iter().any(|it| match it {
            OidTarget::Any => true,
            OidTarget::Oid(listed) => listed == oid,
        })
    };
    part.is_some_and(|it| is_listed(&it.value) != it.negated)
}
