//! Search: planned on the loop, run there when short, in the pool when not.

use std::{cell::RefCell, ops::ControlFlow, time::Duration};

use directory::{SearchDone, SearchOutput, SearchPlan, Worker};
use ldap::{LdapResult, Message, ResultCode, SearchRequest, encode};

use super::{DirectoryExecutor, conclude, on_loss, time_of};
use crate::{
    answer::Answer,
    executor::{Call, Step},
    limits::{CHUNK_BYTES, INLINE_OUTPUT_BYTES_MAX},
    mailbox::Remote,
    pool::{Place, Turn},
};

/// Longest sleep of a job for a slow client before it looks around. The connection's own limit ends it earlier, by
/// cancelling.
const CLIENT_WAIT_MAX: Duration = Duration::from_secs(3600);

thread_local! {
    /// What the directory keeps between the searches of one pool thread.
    static WORKER: RefCell<Worker> = RefCell::default();
}

impl DirectoryExecutor {
    pub(super) fn search(&mut self, call: &mut Call<'_>, message: &Message<'_>, request: &SearchRequest<'_>) -> Step {
        let mut worker = self.worker.take().unwrap_or_default();
        let time = time_of(call);
        let planned =
            self.directory.plan_search(&mut worker, call.session, message.id, request, &message.controls, time);
        let step = match planned {
            Err(done) => Step::Done(finish(call.out, message.id, *done)),
            Ok(plan) if plan.is_long() => self.search_in_pool(call, message.id, plan),
            Ok(mut plan) => {
                let mark = call.out.len();
                let mut output = Inline { out: call.out, bytes_max: mark + INLINE_OUTPUT_BYTES_MAX, is_over: false };
                let done = plan.run(&mut worker, &mut output);
                if output.is_over {
                    // Begun again where a slow client can be waited for; what was written is forgotten.
                    call.out.truncate(mark);
                    self.search_in_pool(call, message.id, plan)
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
        // Waiting takes no pages of the database; the entries are looked at as they are when the search runs.
        plan.release_snapshots();
        self.pools.search.submit(move |place| run_job(place, remote, id, plan));
        Step::Pending
    }
}

fn run_job(place: Place<'_>, remote: Remote, id: i32, mut plan: Box<SearchPlan>) {
    let Place::Running(turn) = place else {
        let busy = LdapResult::new(
            ResultCode::BUSY,
            "Too many long searches wait for their turn: try again later, or with a filter that an index answers",
        );
        remote.finish(move |out| finish(out, id, SearchDone::of(busy)));
        return;
    };
    let mut output = Pooled { remote, turn, chunk: Vec::new() };
    let done = WORKER.with(|worker| match worker.try_borrow_mut() {
        Ok(mut worker) => plan.run(&mut worker, &mut output),
        Err(_) => plan.run(&mut Worker::default(), &mut output),
    });
    // The snapshot goes before the client is waited for.
    drop(plan);
    let Pooled { remote, chunk, .. } = output;
    if !chunk.is_empty() {
        remote.chunk(chunk);
    }
    remote.finish(move |out| finish(out, id, done));
}

fn finish(out: &mut Vec<u8>, id: i32, done: SearchDone) -> Answer {
    Answer {
        entries: Some(done.entries_sent),
        references: done.references_sent,
        is_unindexed: done.unindexed,
        ..conclude(out, id, encode::tags::SEARCH_DONE, done.result, &done.controls)
    }
}

/// Straight into the connection's output.
struct Inline<'o> {
    out: &'o mut Vec<u8>,
    bytes_max: usize,
    is_over: bool,
}

impl SearchOutput for Inline<'_> {
    fn buffer(&mut self) -> &mut Vec<u8> {
        self.out
    }

    fn entry_written(&mut self) -> ControlFlow<()> {
        self.is_over = self.out.len() > self.bytes_max;
        if self.is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn cancelled(&self) -> bool {
        false
    }
}

/// In chunks to the loop, no faster than the client reads, and in turns with other searches.
struct Pooled<'t> {
    remote: Remote,
    turn: &'t mut Turn,
    chunk: Vec<u8>,
}

impl SearchOutput for Pooled<'_> {
    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.chunk
    }

    fn entry_written(&mut self) -> ControlFlow<()> {
        if self.chunk.len() >= CHUNK_BYTES {
            let next = Vec::with_capacity(self.chunk.len() + self.chunk.len() / 8);
            self.remote.chunk(std::mem::replace(&mut self.chunk, next));
            // The loop that sends it may want this core.
            std::thread::yield_now();
            if self.remote.stream().is_overfull() {
                // Entries of this size do not come in between two pauses; memory is bounded all the same.
                self.pause();
            }
        }
        if self.cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn should_pause(&mut self) -> bool {
        self.remote.stream().is_full() || self.turn.is_over()
    }

    fn pause(&mut self) {
        let stream = self.remote.stream();
        if !stream.is_full() {
            return self.turn.give_way();
        }
        while stream.is_full() && !stream.is_cancelled() {
            self.turn.wait(|| stream.wait_for_room(CLIENT_WAIT_MAX));
        }
    }

    fn cancelled(&self) -> bool {
        self.remote.stream().is_cancelled()
    }
}
