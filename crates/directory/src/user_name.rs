//! From what a user is called to the name of its entry: the one entry whose `uid` is that, as OpenDJ's identity mapper
//! "Exact Match" finds it.

use std::ops::ControlFlow;

use ber::{OCTET_STRING, Writer};
use ldap::client::Search;
use ldap::{Controls, FilterBuf, LdapResult, MadeSearch, Operation, Scope};

use crate::directory::Directory;
use crate::refusal::Refusal;
use crate::search::{EntryWriter, RequestTime, Worker};
use query::encode::{EncodeError, ShownEntry};

/// The attribute that users are found by.
const ATTRIBUTE: &str = "uid";

/// Names of entries that were found.
#[derive(Default)]
struct Names(Vec<String>);

impl EntryWriter for Names {
    fn entry(&mut self, entry: &ShownEntry<'_, '_>) -> Result<ControlFlow<()>, EncodeError> {
        let mut dn = Vec::new();
        entry.dn().put(&mut dn);
        self.0.push(String::from_utf8_lossy(&dn).into_owned());
        Ok(ControlFlow::Continue(()))
    }

    fn reference(&mut self, _urls: &[String]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn cancelled(&self) -> bool {
        false
    }
}

impl Directory {
    /// The name of the one entry that a user has; none when there is no such entry, or several.
    ///
    /// # Errors
    /// When the entry cannot be looked up.
    pub(crate) fn user_named(&self, user: &[u8], time: RequestTime) -> Result<Option<String>, LdapResult> {
        let Ok(filter) = FilterBuf::from_ber(&equality(user)) else { return Ok(None) };
        let session = self.administrator_session(0, time.started);
        let mut found = Names::default();
        for suffix in self.backends.iter().flat_map(|backend| &backend.suffixes) {
            let search = Search::new(&suffix.dn, Scope::WholeSubtree, &filter, &["1.1"]);
            let made = MadeSearch::new(&Search { size_limit: 2, ..search });
            let Ok(Operation::Search(request)) = made.operation() else { return Ok(None) };
            let mut worker = Worker::default();
            // A base that does not exist has no users.
            let Ok(mut plan) = self.plan_search(&mut worker, &session, &request, &Controls::none(), time) else {
                continue;
            };
            if plan.is_long() {
                return Err(Refusal::UsersWithoutIndex.into());
            }
            plan.run(&mut worker, &mut found);
        }
        found.0.dedup();
        Ok(if let [one] = found.0.as_slice() { Some(one.clone()) } else { None })
    }
}

fn equality(user: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes);
    let item = writer.begin(0xa3);
    writer.octets(OCTET_STRING, ATTRIBUTE.as_bytes());
    writer.octets(OCTET_STRING, user);
    writer.end(item);
    bytes
}
