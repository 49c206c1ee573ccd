//! Continuous archiving: what changed is backed up each so often, until the tool is stopped.
//!
//! Whatever fails (a full disk, a storage that is away) is said once and tried again with the next turn: the log keeps
//! the changes meanwhile, as long as the changelog does. When they are gone, a full backup is made, and that is said.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use ::backup::BackupError;
use ::backup::chain::{Chain, Moment};
use ::backup::manifest::{Kind, Manifest};
use ::backup::manifests;
use config::BackendConfig;
use jiff::Timestamp;
use jobs::Watch;

use super::work::Work;
use crate::failure::Failure;
use crate::output::errln;
use crate::owner::Owner;

/// Pause between two looks at the switch that ends the tool.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// See the module.
pub struct Following<'a> {
    pub work: Work<'a>,
    pub owner: Owner,
    pub directory: &'a Path,
    pub every: Duration,
    pub full_every: Duration,
}

/// How far one backend is.
struct Followed<'a> {
    backend: &'a BackendConfig,
    /// The backup that the next one follows on.
    last: Option<Manifest>,
    /// When the last full backup began, in microseconds since 1970.
    full_us: u64,
    /// What was said last of what fails.
    trouble: Option<String>,
}

impl Following<'_> {
    /// Backs up until the switch of `watch` is turned.
    pub fn run(&self, backends: &[&BackendConfig], watch: &mut dyn Watch) -> Result<(), Failure> {
        let (all, _) = manifests(self.work.storage)?;
        let place = self.work.storage.place();
        let followed = |backend| {
            let chain = Chain::find(&all, &BackendConfig::clone(backend).id, &Moment::Latest, &place).ok();
            let last = chain.as_ref().map(|chain| Chain::next_follows_on(&all, chain).clone());
            let full_us = chain.map_or(0, |chain| chain.full.manifest.until_us);
            Followed { backend, last, full_us, trouble: None }
        };
        let mut followed: Vec<Followed<'_>> = backends.iter().copied().map(followed).collect();
        while !watch.cancel().is_cancelled() {
            let begun = Instant::now();
            for followed in &mut followed {
                let now = Timestamp::now();
                let id = now.strftime("%Y%m%d%H%M%S.%6fZ").to_string();
                // Without the name, which each turn has anew, the same trouble has the same words.
                let nameless = |failure: Failure| Failure::new(failure.message().replace(&format!("/{id}"), ""));
                let done = self.turn(followed, now, &id, watch).map_err(nameless);
                if watch.cancel().is_cancelled() {
                    break;
                }
                followed.say(done.err());
            }
            self.owner.settle(self.directory)?;
            while begun.elapsed() < self.every && !watch.cancel().is_cancelled() {
                sleep(LOOK_EVERY.min(self.every));
            }
        }
        Ok(())
    }

    /// One backup of one backend, if there is something to back up.
    fn turn(
        &self,
        followed: &mut Followed<'_>,
        now: Timestamp,
        id: &str,
        watch: &mut dyn Watch,
    ) -> Result<(), Failure> {
        let begun = Instant::now();
        let now_us = u64::try_from(now.as_microsecond()).unwrap_or_default();
        let is_full_due = u128::from(now_us.saturating_sub(followed.full_us)) >= self.full_every.as_micros();
        if let Some(last) = &followed.last {
            match self.work.since(followed.backend, id, last, Kind::Archived, watch)? {
                Ok(None) if !is_full_due => return Ok(()),
                Ok(None) => {}
                Ok(Some(made)) => {
                    self.work.report(&made, begun.elapsed().as_secs_f64());
                    followed.last = Some(made);
                    if !is_full_due {
                        return Ok(());
                    }
                }
                Err(BackupError::LogGone(reason)) => {
                    followed.last = None;
                    errln!("pando backup: backend \"{}\": {reason}; a full backup is made", followed.backend.id);
                }
                Err(error) => return Err(error.into()),
            }
        }
        let made = self.work.full(followed.backend, &format!("{id}-full"), watch)?;
        self.work.report(&made, begun.elapsed().as_secs_f64());
        followed.full_us = made.until_us;
        // Records go on behind the last ones, so that no moment between them and this backup is lost.
        followed.last.get_or_insert(made);
        self.work.purge(&followed.backend.id)
    }
}

impl Followed<'_> {
    /// Says what fails, and that it does no more, once.
    fn say(&mut self, failure: Option<Failure>) {
        let trouble = failure.map(|failure| failure.message().to_owned());
        if trouble != self.trouble {
            match &trouble {
                Some(trouble) => errln!("pando backup: {trouble}; it is tried again"),
                None => errln!("pando backup: backend \"{}\" is backed up again", self.backend.id),
            }
        }
        self.trouble = trouble;
    }
}
