//! What a search keeps of its asker's rights while it waits to be run, perhaps on another thread.

use std::sync::Arc;

use query::answers::Answers;
use query::asker_rights::{AskerRights, LookingAt, Which};
use query::facts::Facts;
use query::read_moment::ReadContext;
use query::rights::{ReadRights, Unrestricted};
use store::StoreError;

/// See the module.
#[derive(Clone, Default)]
pub(super) enum KeptRights {
    /// No entry shows.
    #[default]
    Nothing,
    /// Nothing depends on an entry.
    Fixed(Arc<dyn ReadRights + Send + Sync>),
    /// Answers are made for each run.
    ByEntry(Box<Maker>),
}

/// Makes answers.
#[derive(Clone)]
pub(super) struct Maker {
    asker: Arc<dyn AskerRights>,
    facts: Arc<Facts>,
    reading: ReadContext,
    which: Which,
    now_unix_seconds: i64,
}

impl KeptRights {
    /// Of an asker, and the answers to plan a search by.
    pub(super) fn of(asker: Arc<dyn AskerRights>, at: LookingAt<'_>) -> Result<(KeptRights, Answers), StoreError> {
        let answers = Arc::clone(&asker).answers(at)?;
        let kept = match &answers {
            Answers::Nothing => KeptRights::Nothing,
            Answers::Fixed(fixed) => KeptRights::Fixed(Arc::clone(fixed)),
            Answers::ByEntry(_) => {
                let LookingAt { facts, reading, which, now_unix_seconds } = at;
                let (facts, reading) = (Arc::clone(facts), reading.clone());
                KeptRights::ByEntry(Box::new(Maker { asker, facts, reading, which, now_unix_seconds }))
            }
        };
        Ok((kept, answers))
    }

    /// Of the server itself.
    pub(super) fn server() -> KeptRights {
        KeptRights::Fixed(Arc::new(Unrestricted))
    }

    /// The answers for one run.
    pub(super) fn answers(&self) -> Result<Answers, StoreError> {
        match self {
            KeptRights::Nothing => Ok(Answers::Nothing),
            KeptRights::Fixed(fixed) => Ok(Answers::Fixed(Arc::clone(fixed))),
            KeptRights::ByEntry(maker) => {
                let Maker { asker, facts, reading, which, now_unix_seconds } = &**maker;
                let at = LookingAt { facts, reading, which: *which, now_unix_seconds: *now_unix_seconds };
                Arc::clone(asker).answers(at)
            }
        }
    }
}
