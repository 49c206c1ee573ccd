//! Search: planned on the loop, run there when short, in the pool when not. A persistent one is then given to the
//! directory, which tells it changes until it ends.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use directory::{
    Directory, EncodeError, EntryWriter, MessageSink, SearchDone, SearchPlan, ShownEntry, WatchOutput, WatchWaker,
    Worker,
};
use ldap::{LdapResult, Message, SearchRequest, encode};
use runtime::backlog::Wake;
use runtime::pool::{Admission, Turn};
use runtime::spill::Spill;

use super::directory_executor::{DirectoryExecutor, on_loss, time_of, write_result};
use crate::answer::Answer;
use crate::executor::{Call, Step};
use crate::limits::{CHUNK_BYTES, INLINE_OUTPUT_BYTES_MAX, WATCH_UNSENT_BYTES_MAX};
use crate::refusal::Refusal;
use crate::remote::{ChunkEnd, Remote};
use crate::stalls::Waits;

/// Longest sleep of a job for a slow client before it looks around. The connection's own limit ends it earlier, by
/// cancelling.
const CLIENT_WAIT_MAX: Duration = Duration::from_secs(3600);

/// Longest wait for a client in the middle of messages between two pauses. A snapshot of the database is held
/// meanwhile.
const MESSAGE_WAIT_MAX: Duration = Duration::from_millis(300);

/// Messages of a persistent search that are gathered before they are sent.
const WATCH_CHUNK_BYTES: usize = 16 * 1024;

thread_local! {
    /// What the directory keeps between the searches of one pool thread.
    static WORKER: RefCell<Worker> = RefCell::default();
}

impl DirectoryExecutor {
    pub(super) fn search(&mut self, call: &mut Call<'_>, message: &Message<'_>, request: &SearchRequest<'_>) -> Step {
        let mut worker = self.worker.take().unwrap_or_default();
        let time = time_of(call);
        let mut planned = self.directory.plan_search(&mut worker, call.session, request, &message.controls, time);
        if let Ok(plan) = &mut planned {
            plan.keep_request(request, &message.controls, call.ids.operation);
        }
        let step = match planned {
            Err(done) => Step::Done(finish(call.out, message.id, *done)),
            Ok(plan) if plan.is_long() => self.search_in_pool(call, message.id, plan),
            Ok(mut plan) => {
                let mark = call.out.len();
                let bytes_max = mark + INLINE_OUTPUT_BYTES_MAX;
                let mut output = Inline { id: message.id, out: call.out, bytes_max, is_over: false };
                let done = plan.run(&mut worker, &mut output);
                if output.is_over {
                    // The pool runs it anew, because it can wait for a slow client; what was written is dropped.
                    call.out.truncate(mark);
                    self.search_in_pool(call, message.id, plan)
                } else if plan.is_persistent() && done.result.is_success() {
                    let remote = call.remote(true, on_loss(message.id, encode::tags::SEARCH_DONE));
                    self.directory.watch(plan, done, Box::new(Watched::new(remote, message.id)));
                    Step::Pending
                } else {
                    worker.recycle(plan);
                    Step::Done(finish(call.out, message.id, done))
                }
            }
        };
        self.worker = Some(worker);
        step
    }

    fn search_in_pool(&self, call: &mut Call<'_>, id: i32, mut plan: Box<SearchPlan>) -> Step {
        let remote = call.remote(true, on_loss(id, encode::tags::SEARCH_DONE));
        // While it waits it must not keep old pages of the database; it reads the entries as they are when it runs.
        plan.release_snapshots();
        let (begun, directory) = (call.begun, Arc::clone(&self.directory));
        self.pools.search.submit(move |admission| run_job(&directory, admission, remote, id, plan, begun));
        Step::Pending
    }
}

fn run_job(
    directory: &Arc<Directory>,
    admission: Admission<'_>,
    remote: Remote,
    id: i32,
    mut plan: Box<SearchPlan>,
    begun: Instant,
) {
    let Admission::Running(turn) = admission else {
        remote.finish(move |out| finish(out, id, SearchDone::of(Refusal::SearchesWait.into())));
        return;
    };
    let queue = begun.elapsed();
    let mut output =
        Pooled { id, remote, turn, chunk: Vec::new(), is_open: false, spill: None, patience: MESSAGE_WAIT_MAX };
    let done = WORKER.with(|worker| match worker.try_borrow_mut() {
        Ok(mut worker) => plan.run(&mut worker, &mut output),
        Err(_) => plan.run(&mut Worker::default(), &mut output),
    });
    // The snapshot goes before the client is waited for.
    plan.release_snapshots();
    if !output.is_open {
        output.send_spilled();
    }
    let Pooled { remote, chunk, is_open, turn, .. } = output;
    let waits = Waits::pool(queue, turn.waited());
    if is_open {
        // What has begun cannot be ended: the loop closes the connection.
        remote.chunk(Vec::new(), ChunkEnd::Within);
    } else if !chunk.is_empty() {
        remote.chunk(chunk, ChunkEnd::Whole);
    }
    if plan.is_persistent() && done.result.is_success() && !is_open {
        return directory.watch(plan, done, Box::new(Watched::new(remote, id)));
    }
    remote.finish(move |out| Answer { waits, ..finish(out, id, done) });
}

fn finish(out: &mut Vec<u8>, id: i32, done: SearchDone) -> Answer {
    Answer {
        additional: done.masked.map_or("", |_| " accessReason=BaseDoesNotShow").to_owned(),
        masked: done.masked.map(|code| Box::new(LdapResult::new(code, ""))),
        entries: Some(done.entries_sent),
        references: done.references_sent,
        is_unindexed: done.unindexed,
        ..write_result(out, id, encode::tags::SEARCH_DONE, done.result, &done.controls)
    }
}

/// A persistent search whose first part is over.
struct Watched {
    id: i32,
    remote: Remote,
    /// Messages that are not sent yet.
    chunk: Vec<u8>,
}

impl Watched {
    fn new(remote: Remote, id: i32) -> Watched {
        Watched { id, remote, chunk: Vec::new() }
    }
}

impl WatchOutput for Watched {
    fn entry(&mut self, entry: &ShownEntry<'_, '_>) -> Result<(), EncodeError> {
        entry.put_message(self.id, &mut self.chunk)?;
        if self.chunk.len() >= WATCH_CHUNK_BYTES {
            self.flush();
        }
        Ok(())
    }

    fn flush(&mut self) {
        if !self.chunk.is_empty() {
            self.remote.chunk(std::mem::take(&mut self.chunk), ChunkEnd::Whole);
        }
    }

    fn has_room(&self) -> bool {
        self.remote.backlog().unsent() < WATCH_UNSENT_BYTES_MAX
    }

    fn is_cancelled(&self) -> bool {
        self.remote.backlog().is_cancelled()
    }

    fn wake_by(&mut self, waker: WatchWaker) {
        self.remote.backlog().wake_by(Box::new(WakeWatch(waker)));
    }

    fn finish(self: Box<Self>, done: SearchDone) {
        let Watched { remote, id, .. } = *self;
        remote.finish(move |out| Answer { is_persistent: true, ..finish(out, id, done) });
    }
}

/// Tells the watches what became of what they sent.
struct WakeWatch(WatchWaker);

impl Wake for WakeWatch {
    fn has_room(&self) {
        self.0.has_room();
    }

    fn cancelled(&self) {
        self.0.cancelled();
    }
}

/// Straight into the connection's output.
struct Inline<'o> {
    id: i32,
    out: &'o mut Vec<u8>,
    bytes_max: usize,
    is_over: bool,
}

impl MessageSink for Inline<'_> {
    fn buffer(&mut self) -> &mut Vec<u8> {
        self.out
    }
}

impl Inline<'_> {
    fn message_written(&mut self) -> ControlFlow<()> {
        self.is_over = self.out.len() > self.bytes_max;
        if self.is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl EntryWriter for Inline<'_> {
    #[inline]
    fn entry(&mut self, entry: &ShownEntry<'_, '_>) -> Result<ControlFlow<()>, EncodeError> {
        entry.put_message(self.id, self)?;
        Ok(self.message_written())
    }

    fn reference(&mut self, urls: &[String]) -> ControlFlow<()> {
        encode::search_reference(self.out, self.id, urls.iter().map(String::as_str), &[]);
        self.message_written()
    }

    fn long_entry(&mut self) -> ControlFlow<()> {
        self.is_over = true;
        ControlFlow::Break(())
    }

    fn cancelled(&self) -> bool {
        false
    }
}

/// In chunks to the loop, no faster than the client reads, and in turns with other searches.
struct Pooled<'t> {
    id: i32,
    remote: Remote,
    turn: &'t mut Turn,
    chunk: Vec<u8>,
    /// A message has begun, parts of it were sent or put aside, and it has not ended.
    is_open: bool,
    /// The rest of a long message, for a slow client.
    spill: Option<Spill>,
    /// How much longer the client is waited for in the middle of a message, which holds a snapshot.
    patience: Duration,
}

impl Pooled<'_> {
    fn send_chunk(&mut self, end: ChunkEnd) {
        let next = Vec::with_capacity(self.chunk.len() + self.chunk.len() / 8);
        self.remote.chunk(std::mem::replace(&mut self.chunk, next), end);
    }

    /// Sends what was put aside, no faster than the client reads. A message that cannot be completed ends the
    /// connection.
    fn send_spilled(&mut self) {
        let Some(mut spill) = self.spill.take() else { return };
        self.is_open = true;
        while !spill.is_empty() && !self.cancelled() {
            self.wait_for_client();
            // Ends the search, too.
            let Ok(bytes) = spill.read(CHUNK_BYTES) else { return self.remote.backlog().cancel() };
            let end = if spill.is_empty() { ChunkEnd::Whole } else { ChunkEnd::Within };
            self.remote.chunk(bytes, end);
            self.is_open = end == ChunkEnd::Within;
        }
    }

    fn wait_for_client(&mut self) {
        let backlog = self.remote.backlog();
        while backlog.is_full() && !backlog.is_cancelled() {
            self.turn.wait(|| backlog.wait_for_room(CLIENT_WAIT_MAX));
        }
    }

    /// The client has not read what it got: the rest of the message goes to a file.
    fn put_aside(&mut self) -> std::io::Result<()> {
        if self.spill.is_none() {
            self.spill = Some(Spill::new()?);
        }
        let Some(spill) = &mut self.spill else { return Ok(()) };
        spill.write(&self.chunk)?;
        self.chunk.clear();
        Ok(())
    }
}

impl MessageSink for Pooled<'_> {
    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.chunk
    }

    fn part_written(&mut self) -> ControlFlow<()> {
        self.is_open = true;
        if self.cancelled() {
            return ControlFlow::Break(());
        }
        let backlog = self.remote.backlog();
        if self.spill.is_none() && backlog.is_full() {
            let started = Instant::now();
            self.turn.wait(|| backlog.wait_for_room(self.patience));
            self.patience = self.patience.saturating_sub(started.elapsed());
        }
        if self.spill.is_some() || self.remote.backlog().is_full() {
            return if self.put_aside().is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
        }
        self.send_chunk(ChunkEnd::Within);
        std::thread::yield_now();
        ControlFlow::Continue(())
    }
}

impl Pooled<'_> {
    fn message_written(&mut self) -> ControlFlow<()> {
        if self.spill.is_some() {
            if self.put_aside().is_err() {
                return ControlFlow::Break(());
            }
            self.is_open = false;
        } else if self.chunk.len() >= CHUNK_BYTES || self.is_open {
            self.send_chunk(ChunkEnd::Whole);
            self.is_open = false;
            // The loop that sends it may want this core.
            std::thread::yield_now();
            if self.remote.backlog().is_overfull() {
                // Entries of this size do not come in between two pauses; memory is bounded all the same.
                self.pause();
            }
        }
        if self.cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl EntryWriter for Pooled<'_> {
    fn entry(&mut self, entry: &ShownEntry<'_, '_>) -> Result<ControlFlow<()>, EncodeError> {
        entry.put_message(self.id, self)?;
        Ok(self.message_written())
    }

    fn reference(&mut self, urls: &[String]) -> ControlFlow<()> {
        encode::search_reference(&mut self.chunk, self.id, urls.iter().map(String::as_str), &[]);
        self.message_written()
    }

    fn should_pause(&mut self) -> bool {
        self.spill.is_some() || self.remote.backlog().is_full() || self.turn.is_over()
    }

    fn must_pause(&self) -> bool {
        self.spill.is_some()
    }

    fn pause(&mut self) {
        self.send_spilled();
        self.patience = MESSAGE_WAIT_MAX;
        if !self.remote.backlog().is_full() {
            return self.turn.give_way();
        }
        self.wait_for_client();
    }

    fn cancelled(&self) -> bool {
        self.remote.backlog().is_cancelled()
    }
}
