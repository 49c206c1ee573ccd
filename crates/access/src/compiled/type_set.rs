//! Sets of attribute types, as bits.

use query::facts::Facts;
use schema::TypeIndex;

/// A set of attribute types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TypeSet(Vec<u64>);

const BITS: usize = u64::BITS as usize;

impl TypeSet {
    pub fn insert(&mut self, attribute: TypeIndex) {
        let at = attribute.0 as usize;
        if self.0.len() <= at / BITS {
            self.0.resize(at / BITS + 1, 0);
        }
        if let Some(word) = self.0.get_mut(at / BITS) {
            *word |= 1 << (at % BITS);
        }
    }

    #[inline]
    pub fn contains(&self, attribute: TypeIndex) -> bool {
        let at = attribute.0 as usize;
        self.0.get(at / BITS).is_some_and(|word| word & (1 << (at % BITS)) != 0)
    }

    pub fn add_all(&mut self, others: &TypeSet) {
        if self.0.len() < others.0.len() {
            self.0.resize(others.0.len(), 0);
        }
        self.0.iter_mut().zip(&others.0).for_each(|(word, other)| *word |= other);
    }

    pub fn remove_all(&mut self, others: &TypeSet) {
        self.0.iter_mut().zip(&others.0).for_each(|(word, other)| *word &= !other);
    }

    pub fn keep_all(&mut self, others: &TypeSet) {
        self.0.truncate(others.0.len());
        self.0.iter_mut().zip(&others.0).for_each(|(word, other)| *word &= other);
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }
}

/// All attribute types of a schema, by kind.
#[derive(Debug)]
pub(crate) struct Kinds {
    pub user: TypeSet,
    pub operational: TypeSet,
    /// What nobody may read.
    pub hidden: TypeSet,
    /// Operational attributes that every entry shows.
    pub always_shown: Vec<TypeIndex>,
}

/// Names of operational attributes that every entry of a backend shows.
const ALWAYS_SHOWN: [&[u8]; 5] =
    [b"objectClass", b"entryDN", b"subschemaSubentry", b"hasSubordinates", b"numSubordinates"];

impl Kinds {
    pub fn of(facts: &Facts) -> Kinds {
        let (mut user, mut operational, mut hidden) = <(TypeSet, TypeSet, TypeSet)>::default();
        for attribute in facts.schema.attribute_types() {
            if facts.is_hidden(attribute.index) {
                hidden.insert(attribute.index);
            }
            match facts.is_operational(attribute.index) {
                true => operational.insert(attribute.index),
                false => user.insert(attribute.index),
            }
        }
        let index_of = |name: &&[u8]| facts.schema.attribute_type(name).map(|it| it.index);
        let always_shown = ALWAYS_SHOWN.iter().filter_map(index_of).collect();
        Kinds { user, operational, hidden, always_shown }
    }
}

/// What `targetattr` says. Compared by attribute type: subtypes and options never take part.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TypeList {
    /// Every user attribute, apart from the exceptions.
    user: bool,
    /// Every operational attribute, apart from the exceptions.
    operational: bool,
    /// Whether the types are exceptions.
    excludes: bool,
    types: Box<[TypeIndex]>,
}

impl TypeList {
    /// Every attribute.
    pub fn everything() -> TypeList {
        TypeList { user: true, operational: true, excludes: false, types: Box::default() }
    }

    /// From what is listed; with `negated`, the others of the kinds that are listed (as OpenDJ does it): a list of
    /// user attributes leaves out all operational ones. A name that the schema does not have counts as that of a user
    /// attribute.
    pub fn of(facts: &Facts, listed: &[aci::AttributeTarget], negated: bool) -> TypeList {
        let (mut all, mut all_operational, mut unknown) = (false, false, false);
        let mut types = Vec::new();
        for target in listed {
            match target {
                aci::AttributeTarget::All => all = true,
                aci::AttributeTarget::AllOperational => all_operational = true,
                aci::AttributeTarget::Named(name) => match facts.schema.attribute_type(name.as_bytes()) {
                    Some(attribute) => types.push(attribute.index),
                    None => unknown = true,
                },
            }
        }
        types.sort_unstable();
        types.dedup();
        let (user, operational) = match negated {
            false => (all, all_operational),
            true => {
                let lists = |is: bool| types.iter().any(|it| facts.is_operational(*it) == is);
                ((lists(false) || unknown) && !all, lists(true) && !all_operational)
            }
        };
        TypeList { user, operational, excludes: negated, types: types.into() }
    }

    pub fn contains(&self, facts: &Facts, attribute: TypeIndex) -> bool {
        if facts.is_hidden(attribute) {
            return false;
        }
        let is_listed = self.types.binary_search(&attribute).is_ok();
        let is_of_kind = if facts.is_operational(attribute) { self.operational } else { self.user };
        if self.excludes { is_of_kind && !is_listed } else { is_of_kind || is_listed }
    }

    /// Adds what it contains to a set. What nobody may read is never contained.
    pub fn add_to(&self, kinds: &Kinds, set: &mut TypeSet) {
        let mut own = TypeSet::default();
        if self.user {
            own.add_all(&kinds.user);
        }
        if self.operational {
            own.add_all(&kinds.operational);
        }
        let mut listed = TypeSet::default();
        self.types.iter().for_each(|it| listed.insert(*it));
        if self.excludes {
            own.remove_all(&listed)
        } else {
            own.add_all(&listed)
        }
        own.remove_all(&kinds.hidden);
        set.add_all(&own);
    }

    /// Whether it contains user attributes that the schema does not have.
    pub fn contains_unknown(&self) -> bool {
        self.user
    }
}
