//! Why a judgement ended early: the asker is refused something, or the data could not be read.

use store::StoreError;

use super::refusal::Refusal;

/// See the module. Both are rare and large, so they are boxed.
#[derive(Debug)]
pub(crate) enum Denial {
    /// The asker is refused something.
    Refused(Box<Refusal>),
    /// The data could not be read.
    Failed(Box<StoreError>),
}

impl From<Refusal> for Denial {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl From<change::Refusal> for Denial {
    fn from(refusal: change::Refusal) -> Self {
        Refusal::from(refusal).into()
    }
}

impl From<query::error::Refusal> for Denial {
    fn from(refusal: query::error::Refusal) -> Self {
        Refusal::from(refusal).into()
    }
}

impl From<StoreError> for Denial {
    fn from(error: StoreError) -> Self {
        Self::Failed(Box::new(error))
    }
}
