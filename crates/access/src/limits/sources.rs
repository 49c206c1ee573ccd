//! Where the limits of a client's searches come from, for administrators who ask why a search ended early.
//!
//! No part of a search: reads the entry and asks the rules anew.

use query::entry_place::EntryPlace;
use query::own_limit_types::{NAMES, OwnLimitTypes};
use schema::NormalizedDn;
use store::StoreError;

use super::own::given_by;
use super::rules::Subject;
use super::search_limit::{LimitKind, LimitSource, SearchLimit};
use super::{LimitsFinder, OwnLimits};
use crate::identity::Identity;

impl LimitsFinder<'_> {
    /// The limits of a client's searches. What has no limit is left out.
    ///
    /// # Errors
    /// When a database cannot be read.
    pub fn search_limits(&self, identity: &Identity) -> Result<Vec<SearchLimit>, StoreError> {
        let limits = self.find_limits(identity)?;
        let own = self.own_names(identity)?;
        let rules = self.live.rules();
        let rule = match identity {
            Identity::Anonymous => rules.anonymous_rule(),
            Identity::Root { dn } | Identity::User { dn, .. } => {
                let name = &NormalizedDn::parse(&self.facts.schema, dn.as_bytes()).unwrap_or_default();
                let is_root = matches!(identity, Identity::Root { .. });
                let subject = Subject { name, shown: dn, is_root };
                rules.rule_of(&subject, &mut |group| self.is_member(group, dn))?
            }
        };
        let [own_size, own_time, own_lookthrough, _] = own;
        let all = [
            (LimitKind::Size, limits.size.granted(0), own_size),
            (LimitKind::Time, limits.time_ms.granted(0), own_time),
            (LimitKind::Lookthrough, limits.lookthrough, own_lookthrough),
        ];
        let source = |kind, own: Option<&'static str>| match (own, rule) {
            (Some(name), _) => LimitSource::Entry(name),
            (None, Some(rule)) if rule.sets(kind) => LimitSource::Rule(rule.name().to_owned()),
            _ => LimitSource::Global,
        };
        let limited = all.into_iter().filter_map(|(kind, most, own)| Some((kind, most.number()?, own)));
        Ok(limited.map(|(kind, most, own)| SearchLimit { kind, most, source: source(kind, own) }).collect())
    }

    /// The attributes of the client's entry that set limits.
    fn own_names(&self, identity: &Identity) -> Result<[Option<&'static str>; 4], StoreError> {
        let Identity::User { backend: at, entry, .. } = identity else { return Ok([None; 4]) };
        let Some(backend) = self.context.backends.get(at.0) else { return Ok([None; 4]) };
        let snapshot = backend.store.snapshot()?;
        let view = snapshot.view();
        let Some(record) = view.entry(*entry)? else { return Ok([None; 4]) };
        let place = EntryPlace { backend: *at, id: *entry };
        let read = |types: &OwnLimitTypes| -> Result<OwnLimits, StoreError> {
            match given_by(types, self.context, self.facts, place, &snapshot)? {
                Some(given) => Ok(given),
                None => OwnLimits::read(types, &view, &record.view()?),
            }
        };
        let types = &self.facts.own_limits;
        // Where the first attribute of a pair says nothing, the second one counts.
        let first = read(&OwnLimitTypes(types.0.map(|[first, _]| [first, None])))?.are_set();
        let any = read(types)?.are_set();
        let mut names = [None; 4];
        for (name, ([(one, _), (other, _)], (first, any))) in
            names.iter_mut().zip(NAMES.into_iter().zip(first.into_iter().zip(any)))
        {
            *name = any.then_some(if first { one } else { other });
        }
        Ok(names)
    }
}
