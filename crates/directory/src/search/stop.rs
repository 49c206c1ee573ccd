//! Why a search ends before its last candidate.

use query::encode::EncodeError;
use query::groups::CHAIN_MAX;
use store::StoreError;

use super::refusal::SearchRefusal;

/// Why a run ends before its last candidate.
pub(super) enum Stop {
    /// It may not go on.
    Refused(Box<SearchRefusal>),
    /// The page asked for is full, and there is more.
    PageFull,
    /// Abandoned, cancelled, or the client is gone.
    Cancelled,
    Failed(StoreError),
}

impl Stop {
    pub(super) fn time_limit() -> Stop {
        SearchRefusal::TimeLimit.into()
    }

    /// One entry more than `limit` would have to be looked at.
    pub(super) fn lookthrough_limit(limit: Option<u64>) -> Stop {
        SearchRefusal::LookthroughLimit { most: limit.unwrap_or_default() }.into()
    }

    /// A chain of references goes on for longer than it is followed.
    pub(super) fn chain_limit() -> Stop {
        SearchRefusal::ChainLimit { most: CHAIN_MAX }.into()
    }

    /// One entry more than `limit` matches.
    pub(super) fn size_limit(limit: u64) -> Stop {
        SearchRefusal::SizeLimit { most: limit }.into()
    }

    /// Whether everything that was asked for was sent, but for what is over the size limit.
    pub(super) fn is_size_limit(&self) -> bool {
        matches!(self, Stop::Refused(refusal) if matches!(**refusal, SearchRefusal::SizeLimit { .. }))
    }
}

impl From<SearchRefusal> for Stop {
    fn from(refusal: SearchRefusal) -> Stop {
        Stop::Refused(Box::new(refusal))
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Stop {
        Stop::Failed(error)
    }
}

impl From<EncodeError> for Stop {
    fn from(error: EncodeError) -> Stop {
        match error {
            EncodeError::Store(error) => Stop::Failed(error),
            EncodeError::Stopped => Stop::Cancelled,
        }
    }
}
