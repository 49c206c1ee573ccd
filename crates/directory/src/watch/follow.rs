//! The thread that reads changes and tells them to all watches.
//!
//! Watches that know of all that was read are told together, each change once; those that are behind, because their
//! clients read slowly or have only begun, are brought forward from the history, a stretch at a time, in turns with the
//! others.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, Weak};
use std::time::{Duration, Instant};

use ldap::LdapResult;

use super::event::{Images, Present, Stretch};
use super::shared::{Shared, State, lock};
use super::told::{Scratch, Stop, Telling, Watch};
use super::watched::Watched;
use crate::search::SearchRefusal;
use change::history::{Cause, Follower, History, HistoryError, HistoryReader};
use query::notices::NoticeKind;

/// How long a stretch is told before those that are new, or want no more, have their turn.
const TURN: Duration = Duration::from_millis(20);

/// Pause after the store failed.
const RETRY: Duration = Duration::from_secs(1);

/// Runs until the directory is closed or dropped.
pub(super) fn follow(shared: &Arc<Shared>, directory: &Weak<dyn Watched>) {
    let mut follower: Option<Follower> = None;
    let mut watches = Watches::default();
    loop {
        let Some(directory) = directory.upgrade() else { return };
        let news = take_news(&mut shared.lock());
        if let Some(result) = news.ending {
            watches.take_all().chain(news.arrived).for_each(|watch| watches_end(shared, watch, result.clone()));
            return;
        }
        watches.arrive(shared, news);
        if watches.all.is_empty() {
            // Nobody is woken by writers for nothing.
            (follower, watches.head) = (None, None);
            drop(directory);
            sleep(shared, None);
            continue;
        }
        // Before anything is read, so that no change is missed.
        follower.get_or_insert_with(|| wake_by_history(shared, &*directory));
        let next = catch_unwind(AssertUnwindSafe(|| watches.round(shared, &*directory)));
        let next = next.unwrap_or_else(|_| {
            // The panic hook has reported it.
            watches.forget_what_was_read();
            Next::Retry
        });
        drop(directory);
        match next {
            Next::Go => {}
            Next::Sleep => sleep(shared, None),
            Next::Retry => sleep(shared, Some(RETRY)),
        }
    }
}

fn wake_by_history(shared: &Arc<Shared>, directory: &dyn Watched) -> Follower {
    let shared = Arc::downgrade(shared);
    directory.changes().follow(Arc::new(move || {
        if let Some(shared) = shared.upgrade() {
            shared.note_changes();
        }
    }))
}

/// What happened since the last look.
struct News {
    arrived: Vec<Watch>,
    woken: Vec<u64>,
    ending: Option<LdapResult>,
}

fn take_news(state: &mut State) -> News {
    state.has_changes = false;
    News {
        arrived: std::mem::take(&mut state.arrived),
        woken: std::mem::take(&mut state.woken),
        ending: state.ending.clone(),
    }
}

/// Until there is news; or for a while, when something failed.
fn sleep(shared: &Shared, longest: Option<Duration>) {
    let mut state = shared.lock();
    let has_news = |state: &State| {
        state.has_changes || !state.arrived.is_empty() || !state.woken.is_empty() || state.ending.is_some()
    };
    if let Some(longest) = longest {
        let is_over = |state: &mut State| state.ending.is_none();
        drop(shared.changed.wait_timeout_while(state, longest, is_over).unwrap_or_else(PoisonError::into_inner));
        return;
    }
    while !has_news(&state) {
        state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
}

fn watches_end(shared: &Shared, watch: Watch, result: LdapResult) {
    lock(&shared.named).remove(&watch.id);
    watch.end(result);
}

/// Reads what comes after the change `position`.
fn read_after(history: &History, position: u64) -> Result<HistoryReader, HistoryError> {
    let reader = history.from(position + 1);
    // It begins later when that change was let go.
    match reader.position() {
        next if next > position + 1 => Err(HistoryError::Purged { purged: next - 1 }),
        _ => Ok(reader),
    }
}

/// What to do after a round.
enum Next {
    /// There is more to do.
    Go,
    /// Nothing to do until there is news.
    Sleep,
    /// Something failed: try again in a while.
    Retry,
}

/// The watches, and what was read for them.
#[derive(Default)]
struct Watches {
    all: BTreeMap<u64, Watch>,
    /// What those that are not behind are told from.
    head: Option<Head>,
    scratch: Scratch,
    /// What binds change in accounts is told, too.
    tells_account_state: bool,
}

struct Head {
    reader: HistoryReader,
    stretch: Stretch,
    /// The last change that was told to those that are not behind.
    position: u64,
}

impl Watches {
    fn take_all(&mut self) -> impl Iterator<Item = Watch> + use<> {
        std::mem::take(&mut self.all).into_values()
    }

    /// Takes in those that are new, and ends those that nobody wants any more. One may have been cancelled before it
    /// arrived.
    fn arrive(&mut self, shared: &Shared, news: News) {
        let ids: Vec<u64> = news.arrived.iter().map(|watch| watch.id).chain(news.woken).collect();
        self.all.extend(news.arrived.into_iter().map(|watch| (watch.id, watch)));
        for id in ids {
            if self.all.get(&id).is_some_and(|watch| watch.is_cancelled())
                && let Some(watch) = self.all.remove(&id)
            {
                watches_end(shared, watch, SearchRefusal::Cancelled.into());
            }
        }
    }

    fn forget_what_was_read(&mut self) {
        self.head = None;
        self.scratch = Scratch::default();
    }

    /// One stretch for those that are not behind, one for those that are.
    fn round(&mut self, shared: &Shared, directory: &dyn Watched) -> Next {
        match self.try_round(shared, directory) {
            Ok(next) => next,
            Err(HistoryError::Purged { purged }) => {
                self.head = None;
                self.end_forgotten(shared, directory, purged + 1);
                Next::Go
            }
            Err(problem) => {
                directory
                    .administrator_notices()
                    .warn(NoticeKind::PersistentSearch, &format!("Persistent searches wait: {problem}"));
                self.head = None;
                Next::Retry
            }
        }
    }

    fn try_round(&mut self, shared: &Shared, directory: &dyn Watched) -> Result<Next, HistoryError> {
        let history = directory.changes();
        self.tells_account_state = history.shows(Cause::AccountState);
        let moment = directory.present()?;
        self.prepare(shared, directory, &moment);
        // Every change that the moment has is numbered by now; it can be read as soon as the batches under way are
        // durable.
        let given = history.given();
        if given > 0 && !history.wait_beyond(given - 1, RETRY) {
            return Ok(Next::Go);
        }
        self.end_forgotten(shared, directory, history.bounds().first);
        let mut head = match self.head.take() {
            Some(head) => head,
            None => {
                let position = self.all.values().map(|watch| watch.position).max().unwrap_or(given);
                Head { reader: read_after(history, position)?, stretch: Stretch::default(), position }
            }
        };
        head.stretch.extend(&moment.facts, &mut head.reader)?;
        let is_cut = head.stretch.is_cut;
        let (position, has_time) = self.tell(shared, &moment, &head.stretch, head.position, true);
        head.stretch.forget(position);
        head.position = position;
        self.head = Some(head);
        let has_more = self.bring_forward(shared, directory, &moment, position)?;
        Ok(if is_cut || has_more || !has_time { Next::Go } else { Next::Sleep })
    }

    /// Those under another schema are prepared anew.
    fn prepare(&mut self, shared: &Shared, directory: &dyn Watched, moment: &Present) {
        let mut failed = Vec::new();
        for watch in self.all.values_mut() {
            if let Err(result) = watch.prepare(directory, moment) {
                failed.push((watch.id, result));
            }
        }
        self.end(shared, failed);
    }

    fn end(&mut self, shared: &Shared, ended: Vec<(u64, LdapResult)>) {
        for (id, result) in ended {
            if let Some(watch) = self.all.remove(&id) {
                watches_end(shared, watch, result);
            }
        }
    }

    /// Ends those that are farther behind than the history goes back: to the change `first`.
    fn end_forgotten(&mut self, shared: &Shared, directory: &dyn Watched, first: u64) {
        let is_forgotten = |watch: &&Watch| watch.position + 1 < first;
        let forgotten: Vec<u64> = self.all.values().filter(is_forgotten).map(|watch| watch.id).collect();
        for id in forgotten {
            let Some(watch) = self.all.remove(&id) else { continue };
            shared.counts.dropped.fetch_add(1, Ordering::Relaxed);
            directory.administrator_notices().warn(NoticeKind::PersistentSearch, &format!(
                "The persistent search {watch} is ended: its client reads so slowly that changes it was not told have \
                 left the changelog; make it read faster, or keep changes longer"
            ));
            watches_end(shared, watch, SearchRefusal::FellBehind.into());
        }
    }

    /// One stretch for the watch that is farthest behind and has room, and all that it meets on the way.
    fn bring_forward(
        &mut self,
        shared: &Shared,
        directory: &dyn Watched,
        moment: &Present,
        head: u64,
    ) -> Result<bool, HistoryError> {
        let is_behind = |watch: &mut Watch| watch.position < head && watch.has_room();
        let Some(from) = self.all.values_mut().filter_map(|it| is_behind(it).then_some(it.position)).min() else {
            return Ok(false);
        };
        let mut stretch = Stretch::default();
        stretch.extend(&moment.facts, &mut read_after(directory.changes(), from)?)?;
        if stretch.events.back().is_none_or(|last| last.number > head) || !stretch.is_cut {
            // The rest of it is told to everybody together.
            stretch.upto = head;
        }
        self.tell(shared, moment, &stretch, from, false);
        Ok(self.all.values_mut().any(is_behind))
    }

    /// Tells a stretch that follows the change `from`; returns the last change that was told, and whether the turn was
    /// long enough for all that can be told now. `is_head`: to those that know of all before it; else to those that are
    /// between.
    fn tell(&mut self, shared: &Shared, moment: &Present, stretch: &Stretch, from: u64, is_head: bool) -> (u64, bool) {
        let end = Instant::now() + TURN;
        let mut has_time = true;
        let mut images = Images::new(moment, stretch);
        let mut position = from;
        let mut ended = Vec::new();
        let upto = if is_head { u64::MAX } else { stretch.upto };
        let mut groups = BTreeMap::new();
        let is_told = |watch: &&mut Watch| watch.position >= from && (is_head || watch.position < upto);
        let mut told: Vec<&mut Watch> = self.all.values_mut().filter(is_told).collect();
        for (at, event) in stretch.events.iter().enumerate() {
            // What the snapshots do not have yet is told the next time.
            if event.number > upto || !moment.has(event) {
                break;
            }
            has_time = at == 0 || Instant::now() < end;
            if !has_time {
                break;
            }
            images.go_to(at);
            told.retain_mut(|watch| {
                if watch.position >= event.number {
                    return true;
                }
                let mut telling = Telling {
                    event,
                    images: &mut images,
                    present: moment,
                    moments: &mut groups,
                    scratch: &mut self.scratch,
                    tells_account_state: self.tells_account_state,
                };
                // A defect that one filter meets must not end the others.
                let told = catch_unwind(AssertUnwindSafe(|| watch.tell(&mut telling, &shared.counts)));
                let result = match told {
                    Ok(Ok(())) => return true,
                    Ok(Err(Stop::Full)) => return false,
                    Ok(Err(Stop::Ended(result))) => result,
                    Err(_) => SearchRefusal::DefectiveChange.into(),
                };
                ended.push((watch.id, result));
                false
            });
            position = event.number;
        }
        let everything = if is_head || !has_time { position } else { stretch.upto.max(position) };
        for watch in told {
            watch.position = watch.position.max(everything);
        }
        for watch in self.all.values_mut() {
            watch.flush();
        }
        self.end(shared, ended);
        (position, has_time)
    }
}
