//! What a search keeps of its asker's rights while it waits to be run, perhaps on another thread; and how they are
//! renewed while it goes on.
//!
//! Invariant: an entry is judged by the instructions of the snapshot that it is read from. They may have come with
//! what they hide.

use std::sync::Arc;

use query::answers::Answers;
use query::asker_rights::{AskerRights, Snapshots, Which};
use query::backend::BackendIndex;
use query::facts::Facts;
use query::filter::{ItemRights, Matcher};
use query::rights::{Answer, ReadRight, ReadRights, Unrestricted};
use store::{Snapshot, StoreError};

use super::effective_rights::EffectiveRights;
use super::request_time::RequestTime;

/// See the module.
#[derive(Clone, Default)]
pub(super) enum KeptRights {
    /// No entry shows.
    #[default]
    Nothing,
    /// Those of the server itself.
    Server,
    /// Those of an asker.
    Of(AskersRights),
}

/// The rights of an asker.
#[derive(Clone)]
pub(super) struct AskersRights {
    asker: Arc<dyn AskerRights>,
    which: Which,
    /// The answers, where none depends on an entry; others are made for each run.
    fixed: Option<Arc<dyn ReadRights + Send + Sync>>,
    /// They are others than those that the search was planned by.
    are_renewed: bool,
}

impl KeptRights {
    /// Of an asker, and the answers to plan a search by.
    pub(super) fn of(asker: Arc<dyn AskerRights>, which: Which) -> Result<(KeptRights, Answers), StoreError> {
        let answers = Arc::clone(&asker).answers(which)?;
        let kept = AskersRights { asker, which, fixed: fixed(&answers), are_renewed: false };
        Ok((KeptRights::Of(kept), answers))
    }

    /// The answers for one run.
    pub(super) fn answers(&self) -> Result<Answers, StoreError> {
        match self {
            KeptRights::Nothing => Ok(Answers::Nothing),
            KeptRights::Server => Ok(Answers::Fixed(Arc::new(Unrestricted))),
            KeptRights::Of(AskersRights { fixed: Some(fixed), .. }) => Ok(Answers::Fixed(Arc::clone(fixed))),
            KeptRights::Of(of) => Arc::clone(&of.asker).answers(of.which),
        }
    }

    /// Whether entries of a snapshot may be judged by them.
    #[inline]
    pub(super) fn are_of(&self, backend: BackendIndex, snapshot: &Snapshot) -> bool {
        match self {
            KeptRights::Nothing | KeptRights::Server => true,
            KeptRights::Of(of) => of.asker.are_of(backend, snapshot),
        }
    }

    /// Whether they are others than those that the search was planned by.
    #[inline]
    pub(super) fn are_renewed(&self) -> bool {
        matches!(self, KeptRights::Of(of) if of.are_renewed)
    }

    /// Takes the rights that the asker has now, by the instructions of the snapshots. Tells whether they are others.
    fn renew(&mut self, snapshots: Snapshots<'_>) -> Result<bool, StoreError> {
        let KeptRights::Of(of) = self else { return Ok(false) };
        let Some(asker) = of.asker.renewed(snapshots, RequestTime::now().unix_seconds)? else { return Ok(false) };
        let answers = Arc::clone(&asker).answers(of.which)?;
        *of = AskersRights { asker, which: of.which, fixed: fixed(&answers), are_renewed: true };
        Ok(true)
    }
}

fn fixed(answers: &Answers) -> Option<Arc<dyn ReadRights + Send + Sync>> {
    match answers {
        Answers::Fixed(fixed) => Some(Arc::clone(fixed)),
        Answers::Nothing | Answers::ByEntry(_) => None,
    }
}

/// Everything of a search that follows from the rights of its asker.
pub(super) struct InForce<'s> {
    pub(super) kept: &'s mut KeptRights,
    /// Which of the filter's assertions the asker may make.
    pub(super) items: &'s mut ItemRights,
    /// Which entries show.
    pub(super) shows: &'s mut Answer,
    /// Whose rights are told, where that is asked for.
    pub(super) effective: Option<&'s mut EffectiveRights>,
}

impl InForce<'_> {
    /// A search is run that was planned before: renews it where the snapshot has other instructions than its rights.
    #[inline]
    pub(super) fn meet(
        &mut self,
        facts: &Facts,
        matcher: &Matcher,
        (backend, snapshot): (BackendIndex, &Snapshot),
        answers: &mut Answers,
    ) -> Result<(), StoreError> {
        if !self.kept.are_of(backend, snapshot)
            && let Some(new) = self.renew(facts, matcher, &[(backend, snapshot)])?
        {
            *answers = new;
        }
        Ok(())
    }

    /// Renews all of it for the snapshots that the search reads from now on. Gives the new answers, if they are
    /// others.
    pub(super) fn renew(
        &mut self,
        facts: &Facts,
        matcher: &Matcher,
        snapshots: Snapshots<'_>,
    ) -> Result<Option<Answers>, StoreError> {
        if let Some(effective) = &mut self.effective {
            effective.renew(snapshots)?;
        }
        if !self.kept.renew(snapshots)? {
            return Ok(None);
        }
        let answers = self.kept.answers()?;
        *self.shows = answers.shows_entries();
        *self.items = ItemRights::of(matcher, facts, ReadRight::Search, &*answers);
        Ok(Some(answers))
    }
}
