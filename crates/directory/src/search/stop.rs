//! Why a search ends before its last candidate.

use ldap::ResultCode;
use query::encode::EncodeError;
use query::groups::CHAIN_MAX;
use store::StoreError;

/// Why a run ends before its last candidate.
pub(super) enum Stop {
    Limit(ResultCode, String),
    /// The page asked for is full, and there is more.
    PageFull,
    /// Abandoned, cancelled, or the client is gone.
    Cancelled,
    Failed(StoreError),
}

impl Stop {
    pub(super) fn time_limit() -> Stop {
        let message = "The search operation took longer than its time limit allows";
        Stop::Limit(ResultCode::TIME_LIMIT_EXCEEDED, message.to_owned())
    }

    /// One entry more than `limit` would have to be looked at.
    pub(super) fn lookthrough_limit(limit: Option<u64>) -> Stop {
        let limit = limit.unwrap_or_default();
        let message = format!("This search operation has checked the maximum of {limit} entries for matches");
        Stop::Limit(ResultCode::ADMIN_LIMIT_EXCEEDED, message)
    }

    /// A chain of references goes on for longer than it is followed.
    pub(super) fn chain_limit() -> Stop {
        let message =
            format!("This search operation has followed references through the maximum of {CHAIN_MAX} entries");
        Stop::Limit(ResultCode::ADMIN_LIMIT_EXCEEDED, message)
    }

    /// One entry more than `limit` matches.
    pub(super) fn size_limit(limit: u64) -> Stop {
        let message = format!("This search operation has sent the maximum of {limit} entries to the client");
        Stop::Limit(ResultCode::SIZE_LIMIT_EXCEEDED, message)
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
