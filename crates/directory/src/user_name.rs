//! From what a user is called to the name of its entry, by an identity mapper of the configuration.

use ldap::client::Search;
use ldap::{Controls, FilterBuf, LdapResult, MadeSearch, Operation, ResultCode, Scope};

use crate::directory::Directory;
use crate::identity_mappers::Mapper;
use crate::search::{Each, RequestTime, Worker};
use query::encode::ShownEntry;
use query::error::shown;
use query::notices::NoticeKind;

ldap::refusals! {
    /// Why a user is not looked for, or not told from others.
    pub(crate) enum MappingFault {
        MapperDisabled { name: String } = ResultCode::AUTHORIZATION_DENIED,
            "Users are not found by their names here: the identity mapper \"{name}\" is not enabled";
        NotIndexed { attributes: String } = ResultCode::AUTHORIZATION_DENIED,
            "Users are found by {attributes}, which has no equality index here: name the entry with \"dn:\"";
        Several { name: String } = ResultCode::CONSTRAINT_VIOLATION,
            "Several entries have the name \"{name}\": name the entry with \"dn:\", or make the values unique";
    }
}

impl Directory {
    /// The name of the one entry that `u:NAME` in a request means; none when there is no such entry.
    ///
    /// # Errors
    /// When several entries have the name, or the entry cannot be looked up.
    pub(crate) fn user_named(&self, user: &[u8], time: RequestTime) -> Result<Option<String>, LdapResult> {
        let mapper = self.identity_mappers.load().for_authorization();
        Ok(self.mapped_user(&mapper, user, time)?)
    }

    /// The name of the one entry that a mapper finds for what a user is called; none when there is no such entry.
    ///
    /// # Errors
    /// When several entries have the name, or the mapper does not work.
    pub(crate) fn mapped_user(
        &self,
        mapper: &Mapper,
        user: &[u8],
        time: RequestTime,
    ) -> Result<Option<String>, MappingFault> {
        if !mapper.settings.enabled {
            return Err(MappingFault::MapperDisabled { name: mapper.settings.name.clone() });
        }
        let Some(value) = std::str::from_utf8(user).ok().and_then(|user| mapper.value(user)) else { return Ok(None) };
        self.one_entry(&mapper.filter(&value), &mapper.settings.base_dns, time).map_err(|fault| match fault {
            NotOne::NotIndexed => MappingFault::NotIndexed { attributes: mapper.settings.attributes.join(", ") },
            NotOne::Several => MappingFault::Several { name: String::from_utf8_lossy(user).into_owned() },
        })
    }

    /// The name of the one entry that matches, at and below some names; none of them: everywhere.
    ///
    /// # Errors
    /// When several entries match, or the filter would take a long search.
    pub(crate) fn one_entry(
        &self,
        filter: &FilterBuf,
        bases: &[String],
        time: RequestTime,
    ) -> Result<Option<String>, NotOne> {
        let session = self.administrator_session(0, time.started);
        let mut found = Vec::new();
        let mut each = Each(|entry: &ShownEntry<'_, '_>| {
            let mut dn = Vec::new();
            entry.dn().put(&mut dn);
            found.push(String::from_utf8_lossy(&dn).into_owned());
            Ok(())
        });
        let suffixes = || self.backends.iter().flat_map(|backend| &backend.suffixes).map(|suffix| &*suffix.dn);
        let everywhere: Vec<&str> = if bases.is_empty() { suffixes().collect() } else { Vec::new() };
        for base in bases.iter().map(String::as_str).chain(everywhere) {
            let search = Search::new(base, Scope::WholeSubtree, filter, &["1.1"]);
            let made = MadeSearch::new(&Search { size_limit: 2, ..search });
            let Ok(Operation::Search(request)) = made.operation() else { return Ok(None) };
            let mut worker = Worker::default();
            // A base that does not exist has no users.
            let Ok(mut plan) = self.plan_search(&mut worker, &session, &request, &Controls::none(), time) else {
                continue;
            };
            if plan.is_long() {
                return Err(NotOne::NotIndexed);
            }
            plan.run(&mut worker, &mut each);
        }
        // One base may be within another.
        found.sort();
        found.dedup();
        match found.len() {
            0 | 1 => Ok(found.pop()),
            _ => {
                self.tell_shared(filter, &found);
                Err(NotOne::Several)
            }
        }
    }

    /// Who calls a user by a name of several entries is refused as by any other fault: an administrator is told, once
    /// of each pair.
    fn tell_shared(&self, filter: &FilterBuf, found: &[String]) {
        let [first, second, ..] = found else { return };
        self.notices().warn_first_of(NoticeKind::SharedName, &format!("{first}\n{second}"), || {
            let filter = shown(filter.to_string().as_bytes());
            format!(
                "Several entries match {filter}, by which a user was looked for, among them \"{first}\" and \
                 \"{second}\": nobody can log in as either by that name until they differ in it"
            )
        });
    }
}

/// Why a search does not find one entry or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotOne {
    /// It would look at many entries.
    #[error("There is no index to find the entry by")]
    NotIndexed,
    /// It finds several.
    #[error("Several entries match")]
    Several,
}
