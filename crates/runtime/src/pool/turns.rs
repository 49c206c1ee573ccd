//! Whose turn it is: in which order the jobs of a pool get its places.
//!
//! 1. New jobs and begun ones wait in lists of their own; in each, whoever came first goes first.
//! 2. Of several places, one is never given to a begun job: a short one finds a place however many long ones there are.
//!    Of one place, both have it in turns.
//! 3. Where both could have a place, they get it in turns, so that a stream of new jobs does not keep begun ones from
//!    their end.
//! 4. Of the new jobs, reserved ones have a list of their own, with a bound of its own. Where both lists have some,
//!    they get places in turns, so that neither keeps the other waiting.
//!
//! Knows no threads and no clock: a turn ends when somebody says so.

use std::collections::VecDeque;

/// The lists and the places.
#[derive(Debug)]
pub(super) struct Turns<N, B> {
    new: VecDeque<N>,
    reserved: VecDeque<N>,
    begun: VecDeque<B>,
    running_max: usize,
    running_new: usize,
    running_begun: usize,
    /// The last place went to a new job.
    new_was_last: bool,
    /// The last place of a new job went to a reserved one.
    reserved_was_last: bool,
}

/// Who has a place now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<N, B> {
    New(N),
    Begun(B),
}

/// What sort of place a job has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlaceKind {
    /// It is in its first turn.
    New,
    /// It has had a turn.
    Begun,
}

impl<N, B> Turns<N, B> {
    /// With so many places.
    pub(super) fn new(running_max: usize) -> Self {
        Self {
            new: VecDeque::new(),
            reserved: VecDeque::new(),
            begun: VecDeque::new(),
            running_max: running_max.max(1),
            running_new: 0,
            running_begun: 0,
            new_was_last: false,
            reserved_was_last: false,
        }
    }

    fn begun_max(&self) -> usize {
        self.running_max.saturating_sub(1).max(1)
    }

    /// A new job waits; given back where `max` do already.
    pub(super) fn push_new(&mut self, job: N, max: usize) -> Result<(), N> {
        push(&mut self.new, job, max)
    }

    /// A reserved new job waits; given back where `max` of them do already.
    pub(super) fn push_reserved(&mut self, job: N, max: usize) -> Result<(), N> {
        push(&mut self.reserved, job, max)
    }

    /// A begun job waits for its next turn. It is never turned away: what it has done would be lost.
    pub(super) fn push_begun(&mut self, job: B) {
        self.begun.push_back(job);
    }

    /// New jobs that wait.
    pub(super) fn waiting_new(&self) -> usize {
        self.new.len() + self.reserved.len()
    }

    /// Begun jobs that wait.
    pub(super) fn waiting_begun(&self) -> usize {
        self.begun.len()
    }

    /// Takes out everybody who waits.
    pub(super) fn take_all(&mut self) -> (VecDeque<N>, VecDeque<B>) {
        let mut new = std::mem::take(&mut self.reserved);
        new.append(&mut self.new);
        (new, std::mem::take(&mut self.begun))
    }

    /// Gives a place to whoever is next; call it until nobody is. `may_begin`: there is a thread for a new job.
    pub(super) fn next(&mut self, may_begin: bool) -> Option<Next<N, B>> {
        if self.running_new + self.running_begun >= self.running_max {
            return None;
        }
        let has_new = may_begin && self.waiting_new() > 0;
        let has_begun = self.running_begun < self.begun_max() && !self.begun.is_empty();
        if has_begun && (self.new_was_last || !has_new) {
            self.new_was_last = false;
            let job = self.begun.pop_front()?;
            self.running_begun += 1;
            return Some(Next::Begun(job));
        }
        if has_new {
            self.new_was_last = true;
            let takes_reserved = !self.reserved.is_empty() && (self.new.is_empty() || !self.reserved_was_last);
            self.reserved_was_last = takes_reserved;
            let job = if takes_reserved { self.reserved.pop_front() } else { self.new.pop_front() }?;
            self.running_new += 1;
            return Some(Next::New(job));
        }
        None
    }

    /// A job gives its place back.
    pub(super) fn end(&mut self, kind: PlaceKind) {
        match kind {
            PlaceKind::New => self.running_new = self.running_new.saturating_sub(1),
            PlaceKind::Begun => self.running_begun = self.running_begun.saturating_sub(1),
        }
    }

    /// Whether a job whose turn is over may have another at once, which makes it a begun one. Otherwise it has to wait.
    pub(super) fn may_go_on(&mut self, kind: PlaceKind) -> bool {
        if self.waiting_new() > 0 || !self.begun.is_empty() {
            return false;
        }
        if kind == PlaceKind::New {
            if self.running_begun >= self.begun_max() {
                return false;
            }
            self.end(kind);
            self.running_begun += 1;
        }
        true
    }
}

fn push<N>(list: &mut VecDeque<N>, job: N, max: usize) -> Result<(), N> {
    if list.len() >= max {
        return Err(job);
    }
    list.push_back(job);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Jobs by number, and how many turns each still needs. A step lets everybody who has a place use up one turn.
    struct Machine {
        turns: Turns<usize, usize>,
        left: Vec<u32>,
        running: Vec<(usize, PlaceKind)>,
        /// Step in which each ended.
        ended: Vec<Option<u32>>,
        step: u32,
    }

    impl Machine {
        fn new(places: usize) -> Self {
            let turns = Turns::new(places);
            Self { turns, left: Vec::new(), running: Vec::new(), ended: Vec::new(), step: 0 }
        }

        fn submit(&mut self, turns: u32) -> usize {
            self.left.push(turns);
            self.ended.push(None);
            self.turns.push_new(self.left.len() - 1, usize::MAX).unwrap();
            self.left.len() - 1
        }

        fn step(&mut self) {
            while let Some(next) = self.turns.next(true) {
                self.running.push(match next {
                    Next::New(job) => (job, PlaceKind::New),
                    Next::Begun(job) => (job, PlaceKind::Begun),
                });
            }
            self.step += 1;
            for (job, kind) in std::mem::take(&mut self.running) {
                self.left[job] -= 1;
                if self.left[job] == 0 {
                    self.turns.end(kind);
                    self.ended[job] = Some(self.step);
                } else if self.turns.may_go_on(kind) {
                    self.running.push((job, PlaceKind::Begun));
                } else {
                    self.turns.end(kind);
                    self.turns.push_begun(job);
                }
            }
        }
    }

    #[test]
    fn a_short_job_does_not_wait_behind_twenty_long_ones() {
        // S3-13
        for (places, steps_max) in [(2, 1), (4, 1), (1, 2)] {
            let mut machine = Machine::new(places);
            for _ in 0..20 {
                machine.submit(1000);
            }
            // Until every long one has begun.
            for _ in 0..50 {
                machine.step();
            }
            for _ in 0..5 {
                let begun = machine.step;
                let short = machine.submit(1);
                for _ in 0..steps_max {
                    machine.step();
                }
                assert!(machine.ended[short].is_some_and(|end| end <= begun + steps_max), "{places} places");
            }
        }
    }

    #[test]
    fn long_jobs_progress_in_turn() {
        let mut machine = Machine::new(2);
        for _ in 0..20 {
            machine.submit(100);
        }
        // Until all have begun.
        (0..40).for_each(|_| machine.step());
        let before = machine.left.clone();
        for _ in 0..1000 {
            machine.step();
            let had: Vec<u32> = before.iter().zip(&machine.left).map(|(before, now)| before - now).collect();
            assert!(had.iter().max().unwrap() - had.iter().min().unwrap() <= 1, "{had:?}");
        }
    }

    #[test]
    fn a_stream_of_new_jobs_does_not_keep_a_long_one_from_its_end() {
        for places in [1, 2, 3] {
            let mut machine = Machine::new(places);
            let long = machine.submit(50);
            for _ in 0..110 {
                for _ in 0..places * 2 {
                    machine.submit(1);
                }
                machine.step();
            }
            assert!(machine.ended[long].is_some(), "{places} places");
        }
    }

    #[test]
    fn a_full_list_gives_the_job_back() {
        let mut turns: Turns<u8, u8> = Turns::new(1);
        assert_eq!((turns.push_new(1, 2), turns.push_new(2, 2), turns.push_new(3, 2)), (Ok(()), Ok(()), Err(3)));
        assert_eq!(turns.next(false), None, "no thread");
        assert_eq!(turns.next(true), Some(Next::New(1)));
        assert_eq!(turns.next(true), None, "no place");
        turns.push_begun(9);
        assert_eq!((turns.waiting_new(), turns.waiting_begun()), (1, 1));
    }

    #[test]
    fn reserved_jobs_have_a_list_of_their_own_and_every_other_place() {
        let mut turns: Turns<u8, u8> = Turns::new(10);
        (1..=4).for_each(|job| turns.push_new(job, 4).unwrap());
        assert_eq!(turns.push_new(5, 4), Err(5), "the list is full");
        (11..=13).for_each(|job| turns.push_reserved(job, 3).unwrap());
        assert_eq!(turns.push_reserved(14, 3), Err(14), "it is bounded, too");
        assert_eq!(turns.waiting_new(), 7);
        let order: Vec<_> = std::iter::from_fn(|| turns.next(true)).collect();
        assert_eq!(order, [11, 1, 12, 2, 13, 3, 4].map(Next::New));
    }

    proptest! {
        /// Whatever comes when: places are never exceeded, nobody is lost, everybody ends.
        #[test]
        fn everybody_ends(places in 1usize..5, jobs in proptest::collection::vec((0u32..20, 1u32..30), 1..40)) {
            let mut machine = Machine::new(places);
            let mut waiting = jobs.clone();
            waiting.sort_unstable();
            let work: u32 = jobs.iter().map(|(_, turns)| turns).sum();
            for step in 0..work + 40 {
                while waiting.first().is_some_and(|(at, _)| *at <= step) {
                    let (_, turns) = waiting.remove(0);
                    machine.submit(turns);
                }
                machine.step();
                prop_assert!(machine.running.len() <= places);
                prop_assert_eq!(machine.turns.running_new + machine.turns.running_begun, machine.running.len());
                prop_assert!(machine.turns.running_begun <= places.saturating_sub(1).max(1));
            }
            prop_assert!(machine.ended.iter().all(Option::is_some), "{:?}", machine.left);
        }
    }
}
