//! Server-side sorting (RFC 2891): which orders there are, and how a result comes into one.
//!
//! Two ways. By an index on the first sort key, walked in its order (`walk`): what is wanted is found without looking
//! at the rest, so that the first page of a million is as quick as that of a hundred. Else all keys are collected in
//! bounded memory (`collect`); of a page or a limited result only the keys that it has room for.
//!
//! Who may search without an index may also sort so; only memory has a bound ([`SORT_BYTES_MAX`]).

mod collect;
mod readable;
mod run;
mod walk;

use super::search_done::SearchDone;
use ldap::oids::control;
use ldap::{ControlBuf, ResultCode, controls as codec};
use schema::TypeIndex;
use store::index::{SortKey, SortOrder, SortOrderError};

use query::error::shown;
use query::facts::Facts;
use query::rights::{Answer, ReadRight, ReadRights, Reader};

pub(super) use collect::{Collector, Reserved, too_much};
pub(super) use run::{collect, run, send_positions};

/// What is to be sorted, and how.
#[derive(Debug)]
pub(super) struct Sorting {
    pub(super) order: SortOrder,
    /// The search's filter, written in the one way in which all equal texts are written: by it a VLV index is found.
    pub(super) filter: String,
    /// Attributes in the order that the asker may search in some entries only: there they count as missing.
    pub(super) asks: Vec<TypeIndex>,
}

impl Sorting {
    /// The attributes in the order, with their subtypes.
    fn attributes(&self, facts: &Facts) -> impl Iterator<Item = TypeIndex> {
        self.order.keys().iter().flat_map(|key| facts.schema.subtypes(key.attribute)).copied()
    }

    /// Whether all of them may be searched in every entry.
    fn is_open(&self, reader: Reader<'_>) -> bool {
        self.attributes(reader.facts).all(|attribute| may_search(reader, attribute) == Answer::Yes)
    }

    /// Whether some attribute that the request names may be searched in no entry.
    fn is_closed(&self, reader: Reader<'_>) -> bool {
        self.order.keys().iter().any(|key| may_search(reader, key.attribute) == Answer::No)
    }
}

fn may_search(reader: Reader<'_>, attribute: TypeIndex) -> Answer {
    reader.rights.of_type(reader.facts, ReadRight::Search, attribute)
}

/// Why a result cannot be sorted as asked.
#[derive(Debug)]
pub(super) struct SortFailure {
    pub(super) code: ResultCode,
    pub(super) attribute: Option<String>,
    pub(super) message: String,
}

/// The order that a request asks for, and the attributes in it of which the asker may search some entries only.
pub(super) fn order(
    facts: &Facts,
    rights: &dyn ReadRights,
    keys: &[codec::SortKey<'_>],
) -> Result<(SortOrder, Vec<TypeIndex>), SortFailure> {
    let mut order = Vec::new();
    let mut asks = Vec::new();
    for asked in keys {
        let failure = |code, message| SortFailure { code, attribute: Some(shown(asked.attribute)), message };
        let key = SortKey::new(&facts.schema, asked.attribute, asked.ordering_rule, asked.reverse)
            .map_err(|problem| failure(code_of(&problem), problem.to_string()))?;
        let name = shown(asked.attribute);
        let answer = |attribute| rights.of_type(facts, ReadRight::Search, attribute);
        if answer(key.attribute) == Answer::No {
            let message = format!("You do not have sufficient privileges to sort by \"{name}\"");
            return Err(failure(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, message));
        }
        if facts.is_virtual(key.attribute) {
            let message = format!("Entries cannot be sorted by \"{name}\": the server computes its values");
            return Err(failure(ResultCode::UNWILLING_TO_PERFORM, message));
        }
        let subtypes = facts.schema.subtypes(key.attribute).iter().copied();
        asks.extend(subtypes.filter(|attribute| answer(*attribute) != Answer::Yes));
        order.push(key);
    }
    let order = SortOrder::new(&facts.schema, order);
    order.map(|order| (order, asks)).map_err(|problem| SortFailure {
        code: code_of(&problem),
        attribute: None,
        message: problem.to_string(),
    })
}

fn code_of(problem: &SortOrderError) -> ResultCode {
    match problem {
        SortOrderError::UnknownAttribute(_) => ResultCode::NO_SUCH_ATTRIBUTE,
        SortOrderError::UnsuitableRule { .. } | SortOrderError::NoRule(_) => ResultCode::INAPPROPRIATE_MATCHING,
        SortOrderError::Empty | SortOrderError::TooMany => ResultCode::UNWILLING_TO_PERFORM,
    }
}

/// The control of the response.
pub(super) fn response(code: ResultCode, attribute: Option<&str>) -> ControlBuf {
    ControlBuf::new(control::SORT_RESPONSE, Some(codec::encode_sort_response(code, attribute)))
}

/// The control that tells of a sort that was done (RFC 2891 §2.2: not without entries).
pub(super) fn note_sorted(done: &mut SearchDone) {
    if done.entries_sent > 0 {
        done.controls.push(ControlBuf::new(
            control::SORT_RESPONSE,
            Some(ldap::controls::encode_sort_response(ResultCode::SUCCESS, None)),
        ));
    }
}

/// Whether the index is to be walked whatever pays: never but in tests.
fn forced() -> Option<bool> {
    #[cfg(test)]
    return FORCED.get();
    #[cfg(not(test))]
    None
}

#[cfg(test)]
thread_local! {
    static FORCED: std::cell::Cell<Option<bool>> = const { std::cell::Cell::new(None) };
}

/// Makes this thread's searches walk the index when there is one, or never.
#[cfg(test)]
pub(super) fn force_walk(walk: Option<bool>) {
    FORCED.set(walk);
}
