//! The compare operation (RFC 4511 §4.10).

use std::sync::Arc;

use ldap::{CompareRequest, Controls, LdapResult, ResultCode};
use schema::{AttributeDescription, MatchContext, NormalizedDn};
use store::StoreError;

use crate::controls::ReadControls;
use crate::refusal::Refusal;
use crate::search::{RequestTime, SearchContext, assert_on};
use crate::session::Session;
use query::answers::Answers;
use query::base::{Base, Following};
use query::entry::{DnParts, EntrySource, EntryView, StoredAt};
use query::error::{self, shown};
use query::facts::Facts;
use query::filter::{Matcher, Truth};
use query::rights::{Answer, ReadRight, Reader};

/// How often an entry is looked at whose instructions change each time.
const LOOKED_MOST: usize = 8;

impl SearchContext<'_> {
    /// Compares; the result is `compareTrue`, `compareFalse`, or why neither can be said.
    pub(crate) fn compare(
        &self,
        session: &Session,
        request: &CompareRequest<'_>,
        controls: &Controls<'_>,
        time: RequestTime,
    ) -> LdapResult {
        self.try_compare(session, request, controls, time).unwrap_or_else(|refusal| refusal)
    }

    fn try_compare(
        &self,
        session: &Session,
        request: &CompareRequest<'_>,
        controls: &Controls<'_>,
        time: RequestTime,
    ) -> Result<LdapResult, LdapResult> {
        let wanted = ReadControls::read(controls, false)?;
        let facts = self.facts();
        self.limits_finder(&facts).of_session(session, time.started).check_filters(wanted.filters())?;
        let dn = NormalizedDn::parse(&facts.schema, request.entry)
            .map_err(|problem| error::invalid_dn(request.entry, problem))?;
        let rights = self.rights_of(session, &facts, time.unix_seconds)?;
        let failure = |problem: StoreError| error::store_failure(&problem);
        let which = self.which(&dn);
        let mut asker = self.asker(&rights, session);
        let mut answers = Arc::clone(&asker).answers(which).map_err(failure)?;
        let asked = Asked { reader: Reader { facts: &facts, rights: &*answers }, request, wanted: &wanted, time };
        let own = self.in_force.ask_own_entries(self.history, self.monitor, (&facts, session), &dn, |tree, context| {
            tree.check_read(&rights)?;
            tree.find(context, &dn, request.entry)
        });
        if let Some(entry) = own.transpose()? {
            return asked.answer(entry.view());
        }
        let manage_dsa_it = wanted.manage_dsa_it;
        for _ in 0..LOOKED_MOST {
            let asked = Asked { reader: Reader { facts: &facts, rights: &*answers }, request, wanted: &wanted, time };
            let following = Following { aliases: false, manage_dsa_it, scope: None, rights: &*answers };
            let base = self.find_base(&facts, &dn, request.entry, following)?;
            // Instructions may have come together with what they hide.
            if !asker.are_of(base.backend, &base.snapshot)
                && let Some(renewed) =
                    asker.renewed(&[(base.backend, &base.snapshot)], time.unix_seconds).map_err(failure)?
            {
                answers = Arc::clone(&renewed).answers(which).map_err(failure)?;
                asker = renewed;
                continue;
            }
            let answer = self.compare_stored(&asked, &answers, &facts, &base);
            // The right to compare is enough to be told; whatever else is wrong would tell that there is such an
            // entry.
            return answer.map_err(|refusal| base.hidden.map_or(refusal, |missing| *missing));
        }
        Err(Refusal::AccessChanges.into())
    }

    /// Compares with an entry of a backend.
    fn compare_stored(
        &self,
        asked: &Asked<'_, '_>,
        answers: &Answers,
        facts: &Arc<Facts>,
        base: &Base,
    ) -> Result<LdapResult, LdapResult> {
        let Asked { request, wanted, time, .. } = asked;
        let view = base.snapshot.view();
        let failure = |problem: StoreError| error::store_failure(&problem);
        let (Some(record), Some(own_dn)) =
            (view.entry(base.id).map_err(failure)?, view.dn_of(base.id).map_err(failure)?)
        else {
            return Err(error::no_such_object(&shown(request.entry), ""));
        };
        let record = record.view().map_err(failure)?;
        let dn = DnParts::whole(own_dn.as_bytes());
        let own = facts.schema.attribute_type(request.attribute).map(|it| it.index);
        let may_ask_for_groups = wanted.assertion.is_some()
            || own.is_none_or(|index| facts.is_virtual(index) || facts.groups.is_list(index));
        // Values that the entry is given, of the attribute or of its subtypes.
        let service = self.computed_service();
        let definitions = service.definitions(base.backend, facts, &view).map_err(failure)?;
        let is_given = |index| definitions.as_ref().is_some_and(|it| !it.concerned(index).is_empty());
        let may_ask_for_groups = may_ask_for_groups || own.is_some_and(is_given);
        let moment = may_ask_for_groups.then(|| {
            let moment = self.reading.moment(facts, time.unix_seconds);
            moment.knowing(base.backend, definitions).for_asker(answers)
        });
        let seen = moment.as_ref().map(|moment| moment.at(base.backend, view));
        let stored = StoredAt::new(base.backend, view);
        let source: &dyn EntrySource = seen.as_ref().map_or(&stored, |seen| seen);
        asked.answer(Ok(EntryView { id: base.id, record, dn, source }))
    }
}

/// One comparison, ready but for the entry.
struct Asked<'a, 'c> {
    reader: Reader<'a>,
    request: &'a CompareRequest<'a>,
    wanted: &'a ReadControls<'c>,
    time: RequestTime,
}

impl Asked<'_, '_> {
    fn answer(&self, entry: Result<EntryView<'_>, StoreError>) -> Result<LdapResult, LdapResult> {
        let entry = entry.map_err(|problem| error::store_failure(&problem))?;
        let context = MatchContext { now_unix_seconds: self.time.unix_seconds };
        if let Some(assertion) = &self.wanted.assertion {
            assert_on(assertion, context, self.reader, &entry)?;
        }
        let attribute = self.request.attribute;
        self.check_attribute(&entry, attribute)?;
        let (facts, rights) = (self.reader.facts, self.reader.rights);
        let mut matcher = Matcher::default();
        let truth = |matcher: &Matcher| {
            let truth = matcher.matches_one(facts, &entry, ReadRight::Compare, rights);
            truth.map_err(|problem| error::store_failure(&problem))
        };
        matcher.compile_one(facts, attribute, None, context);
        if truth(&matcher)? != Truth::True {
            return Err(Refusal::NoAttribute { attribute: shown(attribute) }.into());
        }
        matcher.compile_one(facts, attribute, Some(self.request.value), context);
        match truth(&matcher)? {
            Truth::True => Ok(LdapResult::new(ResultCode::COMPARE_TRUE, "")),
            Truth::False => Ok(LdapResult::new(ResultCode::COMPARE_FALSE, "")),
            Truth::Undefined => Err(Refusal::NotComparable { attribute: shown(attribute) }.into()),
        }
    }

    /// The right to compare comes before everything that would tell of the entry.
    fn check_attribute(&self, entry: &EntryView<'_>, attribute: &[u8]) -> Result<(), LdapResult> {
        let Reader { facts, rights } = self.reader;
        let parsed = AttributeDescription::parse_request(&facts.schema, attribute).ok();
        let known = parsed.and_then(|it| it.attribute).and_then(|index| facts.schema.attribute_by_index(index));
        let may_compare = match known {
            Some(known) => self.reader.may(ReadRight::Compare, entry, known.index),
            None => Ok(rights.of_unknown(ReadRight::Compare) == Answer::Yes),
        };
        if !may_compare.map_err(|problem| error::store_failure(&problem))? {
            return Err(Refusal::NotComparedByYou { attribute: shown(attribute) }.into());
        }
        let Some(known) = known else {
            return Err(Refusal::UnknownType { attribute: shown(attribute) }.into());
        };
        if known.equality.is_none() {
            return Err(Refusal::NoEquality { attribute: shown(attribute) }.into());
        }
        Ok(())
    }
}
