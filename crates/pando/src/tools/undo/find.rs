//! The changes that are meant, read from the logs of the backends.
//!
//! The whole history is read once for what belongs together, and from the first change that is undone a second time for
//! what it did.

use std::collections::HashMap;
use std::sync::Arc;

use change::history::{Bounds, Change, History};
use change::undo::{Brief, Chosen, EntryChange, Rehearsal, Step, choose};
use config::Config;
use jobs::files::Reader;
use query::backend::{BackendIndex, Suffix};
use query::configured::suffixes;
use query::facts::Facts;
use schema::{NormalizedDn, Schema};

use super::which::Which;
use crate::failure::{Context, Failure};
use crate::instance;

/// The backends of an instance with their histories.
pub struct Source<'c> {
    config: &'c Config,
    schema: Arc<Schema>,
    facts: Arc<Facts>,
    backends: Vec<Served>,
    history: History,
}

struct Served {
    reader: Reader,
    suffixes: Vec<Suffix>,
}

/// A change to be undone.
pub struct Found {
    /// Which backend it is in.
    pub backend: BackendIndex,
    /// What was done, to which entry.
    pub step: Step,
    /// µs since 1970.
    pub time_us: u64,
    /// Who asked for it.
    pub user: String,
    /// On which connection; 0 for the server itself.
    pub connection: u64,
    /// Its number there.
    pub operation: u32,
}

impl<'c> Source<'c> {
    /// Opens the files of all backends that have data.
    pub fn open(config: &'c Config, schema: &Arc<Schema>) -> Result<Self, Failure> {
        let mut backends = Vec::new();
        for backend in config.backends.iter().filter(|it| it.enabled && store::database_path(&it.directory).exists()) {
            let reader = instance::reader(config, backend, schema)?;
            backends.push(Served { reader, suffixes: suffixes(schema, backend).map_err(Failure::new)? });
        }
        let logs = backends.iter().map(|served| served.reader.log()).collect::<Result<Vec<_>, _>>()?;
        let history = History::of_files(logs).map_err(Failure::new)?;
        let facts = Arc::new(Facts::new(Arc::clone(schema)));
        Ok(Self { config, schema: Arc::clone(schema), facts, backends, history })
    }

    /// Which changes there are.
    pub fn bounds(&self) -> Bounds {
        self.history.bounds()
    }

    /// The changes that are meant and what belongs to them, in the order in which they are to be undone; none when none
    /// is.
    pub fn find(&self, which: &Which) -> Result<Vec<Found>, Failure> {
        let by = which.by.as_deref().map(|by| instance::normalized(&self.schema, by)).transpose()?;
        let mut same_name = Names { schema: &self.schema, by, known: HashMap::new() };
        let mut briefs = Vec::new();
        let mut reader = self.history.from(0);
        while let Some(change) = reader.next_change().context("the history")? {
            briefs.extend(Brief::of(&change, which.has(&change) && same_name.is(&change)));
        }
        let chosen = choose(&briefs);
        let Some(first) = chosen.iter().map(|chosen| chosen.number).min() else { return Ok(Vec::new()) };
        let mut places: HashMap<u64, (usize, Chosen)> =
            chosen.iter().enumerate().map(|(place, chosen)| (chosen.number, (place, *chosen))).collect();
        let mut found = Vec::new();
        let mut reader = self.history.from(first);
        while !places.is_empty()
            && let Some(change) = reader.next_change().context("the history")?
        {
            if let Some((place, chosen)) = places.remove(&change.number) {
                found.push((place, Found::of(&change, chosen)));
            }
        }
        if let Some(number) = places.keys().min() {
            return Err(Failure::new(format_args!("change {number} was purged from the history meanwhile: try again")));
        }
        found.sort_by_key(|(place, _)| *place);
        Ok(found.into_iter().map(|(_, found)| found).collect())
    }

    /// The places of the backends.
    pub fn indices(&self) -> impl Iterator<Item = BackendIndex> + use<> {
        (0..self.backends.len()).map(BackendIndex)
    }

    /// The backend at that place as it is now, for trying.
    pub fn rehearsal(&mut self, at: BackendIndex) -> Result<Rehearsal<'_>, Failure> {
        let root = self.config.root_users.first().and_then(|user| user.bind_dns.first());
        let root = root.map_or("", String::as_str).to_owned();
        let facts = Arc::clone(&self.facts);
        let served =
            self.backends.get_mut(at.0).ok_or_else(|| Failure::new("a change is of a backend that is not there"))?;
        Ok(Rehearsal::new(served.reader.trial()?, facts, served.suffixes.clone(), &root))
    }
}

/// Whether names are the one that is meant; each is looked at once.
struct Names<'s> {
    schema: &'s Schema,
    by: Option<NormalizedDn>,
    known: HashMap<String, bool>,
}

impl Names<'_> {
    fn is(&mut self, change: &Change<'_>) -> bool {
        let Some(by) = &self.by else { return true };
        let dn = change.authority.dn();
        if let Some(known) = self.known.get(dn) {
            return *known;
        }
        let is_it = NormalizedDn::parse(self.schema, dn.as_bytes()).is_ok_and(|dn| dn == *by);
        self.known.insert(dn.to_owned(), is_it);
        is_it
    }
}

impl Found {
    fn of(change: &Change<'_>, chosen: Chosen) -> Self {
        Self {
            backend: change.backend,
            step: Step {
                number: change.number,
                entry: change.entry,
                entry_change: EntryChange::of(change),
                follows: chosen.follows,
            },
            time_us: change.csn.time_us,
            user: change.authority.dn().to_owned(),
            connection: change.connection,
            operation: change.operation,
        }
    }
}
