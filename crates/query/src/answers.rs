//! What one operation was answered about its asker's rights.

use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use crate::rights::{NoRights, ReadRights};

/// Answers for one operation.
#[derive(Clone, Default)]
pub enum Answers {
    /// No entry shows.
    #[default]
    Nothing,
    /// None depends on an entry: nothing is made for the operation, and no entry is asked about.
    Fixed(Arc<dyn ReadRights + Send + Sync>),
    /// Some depend on the entry. What was found out about places is remembered as long as the operation lasts.
    ByEntry(Rc<dyn ReadRights>),
}

impl Deref for Answers {
    type Target = dyn ReadRights;

    fn deref(&self) -> &(dyn ReadRights + 'static) {
        match self {
            Answers::Nothing => &NoRights,
            Answers::Fixed(answers) => &**answers,
            Answers::ByEntry(answers) => &**answers,
        }
    }
}
