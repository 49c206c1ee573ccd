//! Which attributes of an entry go to the client: the attribute selection of a request (RFC 4511 §4.5.1.8, RFC 3673,
//! RFC 4529) together with what its reader may read.
//!
//! Decided once per attribute description and search, not per entry: an entry costs one table look-up per attribute.
//! Only where a right depends on the entry is the reader's side asked with each. Decisions are those of one reader.

use std::sync::Arc;

use schema::{AttributeDescription, TypeIndex};
use smallvec::SmallVec;
use store::{DescId, StoreError, Tables};

use super::cursors::RangeCursors;
use super::matched::MatchedValues;
use super::range::ValueRange;
use crate::defined_attributes::DefinedAttributes;
use crate::entry::{Ask, EntryView};
use crate::facts::Facts;
use crate::rights::{Answer, ReadRight, Reader};
use crate::virtual_attributes::VirtualAttribute;

/// Most selectors of one request that are looked at. A real client names some tens; the bound keeps a decision cheap.
pub const SELECTORS_MAX: usize = 4096;

/// Attribute descriptions of a backend for which decisions get room at the first one that is made.
const DECISIONS_AT_ONCE: usize = 256;

/// What to send of each entry. Reusable: [`Selection::restart`] keeps the buffers.
#[derive(Debug, Default)]
pub struct Selection {
    /// Descriptions without values.
    pub types_only: bool,
    user: bool,
    operational: bool,
    types: Vec<TypeIndex>,
    descriptions: Vec<AttributeDescription>,
    ranges: Vec<ValueRange>,
    /// Attributes of members that are asked for by name.
    members: SmallVec<[TypeIndex; 2]>,
    virtuals: SmallVec<[(TypeIndex, VirtualAttribute); 8]>,
    /// What the reader may have of members and of the server's own attributes in some entries only; none before that
    /// was asked.
    asks: Option<SmallVec<[TypeIndex; 2]>>,
    /// By description number, what was decided.
    decisions: Vec<Decision>,
    /// Stored attributes are left out.
    virtual_only: bool,
    /// Computed attributes are left out.
    real_only: bool,
    /// Of the definitions asked about last, the attributes to send.
    given: Option<GivenChoice>,
    /// Values that do not match are left out (RFC 3876).
    matched_values: Option<Box<MatchedValues>>,
    /// Where pieces of large attributes ended.
    cursors: Option<Arc<RangeCursors>>,
}

/// Definitions, and what of them is asked for.
type GivenChoice = (Arc<DefinedAttributes>, Arc<[Choice]>);

/// A defined attribute that is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// Position in [`DefinedAttributes::attributes`].
    pub position: usize,
    /// The attribute.
    pub attribute: TypeIndex,
    /// How it is asked for.
    pub ask: Ask,
    /// Whether it may be read in some entries only.
    pub is_by_entry: bool,
}

/// Which attributes may be returned, by where their values come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AttributeKinds {
    /// All that are asked for.
    #[default]
    All,
    /// Those that are stored (control 2.16.840.1.113730.3.4.17 of DSEE and OpenDJ).
    RealOnly,
    /// Those that the server computes (2.16.840.1.113730.3.4.19).
    VirtualOnly,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Decision {
    #[default]
    Open,
    Send,
    /// Where the reader may read it.
    Ask,
    Omit,
}

impl Selection {
    /// Takes the selectors of a request; none at all means all user attributes. Unknown ones select nothing.
    pub fn restart<'r>(&mut self, facts: &Facts, selectors: impl Iterator<Item = &'r [u8]>, types_only: bool) {
        self.types_only = types_only;
        (self.user, self.operational) = (false, false);
        (self.virtual_only, self.real_only) = (false, false);
        self.given = None;
        self.matched_values = None;
        self.cursors = None;
        self.types.clear();
        self.descriptions.clear();
        self.ranges.clear();
        self.members.clear();
        self.virtuals.clear();
        self.decisions.clear();
        self.asks = None;
        let mut none = true;
        for selector in selectors.take(SELECTORS_MAX) {
            none = false;
            self.add(facts, selector);
        }
        self.user |= none;
        for (index, attribute) in facts.virtual_types() {
            if self.asks_for_kind(facts, *index) || self.names_type(facts, *index) {
                self.virtuals.push((*index, *attribute));
            }
        }
    }

    /// Sends less of what was asked for: after [`Selection::restart`].
    pub fn narrow(&mut self, kinds: AttributeKinds, matched_values: Option<Box<MatchedValues>>) {
        match kinds {
            AttributeKinds::All => {}
            AttributeKinds::RealOnly => {
                self.virtuals.clear();
                self.members.clear();
                self.real_only = true;
            }
            AttributeKinds::VirtualOnly => self.virtual_only = true,
        }
        // RFC 3876 §2, 2: without values there is nothing to match.
        self.matched_values = matched_values.filter(|_| !self.types_only);
    }

    /// Finds and keeps in `cursors` where pieces of values end: after [`Selection::restart`].
    pub fn remember_in(&mut self, cursors: &Arc<RangeCursors>) {
        self.cursors = self.has_ranges().then(|| Arc::clone(cursors));
    }

    pub(super) fn cursors(&self) -> Option<&RangeCursors> {
        self.cursors.as_deref()
    }

    /// Which values go to the client; all without it.
    #[inline]
    pub(super) fn matched_values(&mut self) -> Option<&mut MatchedValues> {
        self.matched_values.as_deref_mut()
    }

    fn add(&mut self, facts: &Facts, selector: &[u8]) {
        match selector {
            b"*" => self.user = true,
            b"+" => self.operational = true,
            [b'@', class @ ..] => {
                if let Some(class) = facts.schema.object_class(class) {
                    self.user |= class.is_extensible();
                    self.types.extend(class.must.iter().chain(&class.may));
                }
            }
            // RFC 4511 §4.5.1.8: no attributes.
            b"1.1" => {}
            _ => {
                if let Some(attribute) = facts.schema.attribute_type(selector) {
                    self.types.push(attribute.index);
                    if facts.groups.is_list(attribute.index) && !self.members.contains(&attribute.index) {
                        self.members.push(attribute.index);
                    }
                } else if let Some(range) = ValueRange::parse(facts, selector) {
                    self.ranges.push(range);
                } else if let Ok(description) = AttributeDescription::parse_request(&facts.schema, selector) {
                    self.descriptions.push(description);
                }
            }
        }
    }

    /// The attributes of members that are asked for by name.
    #[inline]
    #[must_use]
    pub fn members(&self) -> &[TypeIndex] {
        &self.members
    }

    /// Whether pieces of values are asked for.
    #[inline]
    #[must_use]
    pub fn has_ranges(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// Which piece of an attribute is asked for; it is sent instead of the whole.
    #[cold]
    pub(super) fn range_of(
        &self,
        reader: Reader<'_>,
        entry: &EntryView<'_>,
        desc: DescId,
    ) -> Result<Option<&ValueRange>, StoreError> {
        let (facts, tables) = (reader.facts, entry.record.tables());
        let Some(range) = self.described_range(facts, tables, desc) else { return Ok(None) };
        let Some(index) = tables.type_of(desc).map(TypeIndex) else { return Ok(None) };
        Ok(reader.may(ReadRight::Read, entry, index)?.then_some(range))
    }

    fn described_range(&self, facts: &Facts, tables: &Tables, desc: DescId) -> Option<&ValueRange> {
        let index = TypeIndex(tables.type_of(desc)?);
        if facts.is_virtual(index) || self.virtual_only {
            return None;
        }
        let own = AttributeDescription::parse(&facts.schema, tables.description(desc)?.as_bytes()).ok()?;
        self.ranges.iter().find(|range| own.is_subtype_of(&facts.schema, &range.description))
    }

    /// The computed attributes to send.
    #[inline]
    #[must_use]
    pub fn virtuals(&self) -> &[(TypeIndex, VirtualAttribute)] {
        &self.virtuals
    }

    /// Whether somebody must tell who is in which group, or what time it is.
    #[inline]
    #[must_use]
    pub fn asks_for_groups(&self) -> bool {
        self.virtuals.iter().any(|(_, attribute)| attribute.needs_moment())
    }

    /// Whether the number of an entry's children matters.
    #[must_use]
    pub fn counts_children(&self) -> bool {
        self.virtuals.iter().any(|(_, attribute)| attribute.counts_children())
    }

    /// What is asked for of attributes that entries are given.
    pub fn given(&mut self, reader: Reader<'_>, defined: &Arc<DefinedAttributes>) -> Arc<[Choice]> {
        if let Some((known, choice)) = &self.given
            && Arc::ptr_eq(known, defined)
        {
            return Arc::clone(choice);
        }
        let choice = |(position, attribute): (usize, TypeIndex)| {
            let ask = self.ask_for(reader.facts, attribute)?;
            let answer = reader.of_type(attribute);
            (answer != Answer::No).then_some(Choice { position, attribute, ask, is_by_entry: answer == Answer::Ask })
        };
        let all = defined.attributes().iter().copied().enumerate();
        let choice: Arc<[_]> = all.filter_map(choice).collect();
        self.given = Some((Arc::clone(defined), Arc::clone(&choice)));
        choice
    }

    /// How a defined attribute is asked for, if it is.
    fn ask_for(&self, facts: &Facts, attribute: TypeIndex) -> Option<Ask> {
        // Computed values come in one piece, also to who asks for a range of them.
        let mut described = self.descriptions.iter().chain(self.ranges.iter().map(|range| &range.description));
        let is_named = self.names_type(facts, attribute)
            || described.any(|asked| {
                asked.options.is_empty() && asked.attribute.is_some_and(|asked| is_subtype(facts, attribute, asked))
            });
        let is_of_kind = self.asks_for_kind(facts, attribute);
        match (is_named, is_of_kind, self.virtual_only) {
            _ if self.real_only => None,
            (true, _, false) => Some(Ask::ByName),
            (true, _, true) => Some(Ask::WithoutReal),
            (false, true, false) => Some(Ask::ByKind),
            (false, true, true) => Some(Ask::ByKindWithoutReal),
            (false, false, _) => None,
        }
    }

    /// Leaves out what `reader` may not have of members and of the server's own attributes; asked once.
    #[inline]
    pub(super) fn meet_reader(&mut self, reader: Reader<'_>) {
        if self.asks.is_none() && !(self.members.is_empty() && self.virtuals.is_empty()) {
            self.ask_reader(reader);
        }
    }

    #[cold]
    fn ask_reader(&mut self, reader: Reader<'_>) {
        self.members.retain(|attribute| reader.of_type(*attribute) != Answer::No);
        self.virtuals.retain(|(attribute, _)| reader.of_type(*attribute) != Answer::No);
        let all = self.members.iter().chain(self.virtuals.iter().map(|(attribute, _)| attribute)).copied();
        self.asks = Some(all.filter(|attribute| reader.of_type(*attribute) == Answer::Ask).collect());
    }

    /// Whether one of [`Selection::members`] or [`Selection::virtuals`] may be sent of an entry.
    #[inline]
    pub(super) fn may_send(
        &self,
        reader: Reader<'_>,
        entry: &EntryView<'_>,
        attribute: TypeIndex,
    ) -> Result<bool, StoreError> {
        match &self.asks {
            Some(asks) if asks.contains(&attribute) => reader.of_entry(entry, attribute),
            _ => Ok(true),
        }
    }

    /// Whether attributes kept in the record's header may be wanted.
    #[inline]
    #[must_use]
    pub fn wants_something(&self) -> bool {
        self.user
            || self.operational
            || !self.types.is_empty()
            || !self.descriptions.is_empty()
            || !self.ranges.is_empty()
    }

    /// Numbers of descriptions are those of other tables from now on: another backend, another of the server's own
    /// entries.
    pub fn meet_tables(&mut self) {
        self.decisions.clear();
    }

    /// Whether the attribute of an entry goes to the client. The tables are the same ones until
    /// [`Selection::meet_tables`].
    #[inline]
    pub fn sends(&mut self, reader: Reader<'_>, entry: &EntryView<'_>, desc: DescId) -> Result<bool, StoreError> {
        let decision = match self.decisions.get(desc.0 as usize) {
            None | Some(Decision::Open) => self.decide(&reader, entry.record.tables(), desc),
            Some(decided) => *decided,
        };
        match decision {
            Decision::Ask => ask_with_entry(reader, entry, desc),
            decision => Ok(decision == Decision::Send),
        }
    }

    /// Most searches return one entry, so that deciding is as hot as sending.
    #[inline(never)]
    fn decide(&mut self, reader: &Reader<'_>, tables: &Tables, desc: DescId) -> Decision {
        let decision = match tables.type_of(desc).map(TypeIndex) {
            None => self.decision_of_unknown(reader, tables, desc),
            Some(index) if self.is_asked(reader.facts, index, tables, desc) => match reader.of_type(index) {
                Answer::Yes => Decision::Send,
                Answer::Ask => Decision::Ask,
                Answer::No => Decision::Omit,
            },
            Some(_) => Decision::Omit,
        };
        match self.decisions.get_mut(desc.0 as usize) {
            Some(place) => *place = decision,
            None => self.keep_first(tables, desc, decision),
        }
        decision
    }

    /// Makes room for all attributes of an entry at the first of them.
    #[cold]
    fn keep_first(&mut self, tables: &Tables, desc: DescId, decision: Decision) {
        let at = desc.0 as usize;
        let room = tables.descriptions_len().min(DECISIONS_AT_ONCE);
        self.decisions.resize(room.max(at + 1), Decision::Open);
        if let Some(place) = self.decisions.get_mut(at) {
            *place = decision;
        }
    }

    #[inline]
    fn is_asked(&self, facts: &Facts, index: TypeIndex, tables: &Tables, desc: DescId) -> bool {
        if facts.is_virtual(index) || self.virtual_only {
            return false;
        }
        let has_names = !self.types.is_empty() || !self.descriptions.is_empty();
        self.asks_for_kind(facts, index) || (has_names && self.is_named(facts, index, tables, desc))
    }

    fn is_named(&self, facts: &Facts, index: TypeIndex, tables: &Tables, desc: DescId) -> bool {
        self.names_type(facts, index)
            || tables.description(desc).is_some_and(|text| self.is_described(facts, Some(index), text.as_bytes()))
    }

    /// The schema does not know the attribute (any more): a user attribute, which may be asked for by its name.
    #[cold]
    fn decision_of_unknown(&self, reader: &Reader<'_>, tables: &Tables, desc: DescId) -> Decision {
        let Some(text) = tables.description(desc) else { return Decision::Omit };
        let is_asked = self.user || self.is_described(reader.facts, None, text.as_bytes());
        let may_read = reader.rights.of_unknown(ReadRight::Read) == Answer::Yes;
        if is_asked && may_read && !self.virtual_only { Decision::Send } else { Decision::Omit }
    }

    /// Whether all attributes of the type's kind, user or operational, are asked for.
    #[inline]
    fn asks_for_kind(&self, facts: &Facts, index: TypeIndex) -> bool {
        if facts.is_operational(index) { self.operational } else { self.user }
    }

    /// Whether the type or one that it is a subtype of is asked for by name, without options.
    #[inline]
    fn names_type(&self, facts: &Facts, index: TypeIndex) -> bool {
        self.types.iter().any(|asked| is_subtype(facts, index, *asked))
    }

    /// Whether a selector with options, or with a name that the schema does not know, selects the attribute.
    fn is_described(&self, facts: &Facts, index: Option<TypeIndex>, text: &[u8]) -> bool {
        let may_be = |asked: &&AttributeDescription| match (index, asked.attribute) {
            (Some(index), Some(asked)) => is_subtype(facts, index, asked),
            (None, None) => true,
            _ => false,
        };
        // Parsing costs an allocation, which most attributes are spared.
        self.descriptions.iter().filter(may_be).any(|asked| {
            let own = AttributeDescription::parse(&facts.schema, text);
            own.is_ok_and(|own| own.is_subtype_of(&facts.schema, asked))
        })
    }
}

#[cold]
fn ask_with_entry(reader: Reader<'_>, entry: &EntryView<'_>, desc: DescId) -> Result<bool, StoreError> {
    match entry.record.tables().type_of(desc) {
        Some(index) => reader.of_entry(entry, TypeIndex(index)),
        None => Ok(false),
    }
}

fn is_subtype(facts: &Facts, index: TypeIndex, of: TypeIndex) -> bool {
    index == of || facts.schema.attribute_by_index(index).is_some_and(|it| it.is_subtype_of(of))
}
