//! Why a request would be granted or refused: what it needs of access control, and how each need is decided.
//!
//! Asks the same code that decides about requests, and does nothing of what they ask for. The answer is in
//! [`needs`](crate::needs).
//!
//! | file | what |
//! |---|---|
//! | `asked` | the requests that can be asked about |
//! | `by_control` | the control with which a client asks |
//! | `explainer` | finds the entry and asks about it |
//! | `kept` | requests that are kept for another thread |
//! | `held` | the instructions of the whole directory, for those who look at them |

mod asked;
pub(crate) mod by_control;
mod explainer;
pub(crate) mod held;
pub(crate) mod kept;

pub use asked::Asked;
pub(crate) use explainer::Explainer;
