//! Who may make which update, decided before a proposal is made; and what the asker is told of the result.
//!
//! Root users, and who else has every privilege that an update can take, are not judged.
//!
//! | file | what |
//! |---|---|
//! | `judge` | the rights of one asker, and the moment at which they are asked |
//! | `sitting` | one request: do its entries show, which rights does it take, how is its result told |
//! | `scene` | the entries of a request as the asker may know of them |
//! | `case` | rights and privileges of the operations, by attribute and value |
//! | `privileges` | attributes that take a privilege |
//! | `new_entry` | the entry of an add, as rules see it |
//! | `asker`, `noting` | what is asked of the asker, and a note of it for whoever asks why |
//! | `matter`, `verdict`, `denial`, `refusal` | a request, and how a judgement ends |
//! | `disclosure` | what of a result the asker is told |
//! | `read_entry` | what of an entry the response controls show |

mod asker;
mod case;
mod denial;
mod disclosure;
mod judge;
mod matter;
mod new_entry;
mod noting;
mod privileges;
mod read_entry;
mod refusal;
mod scene;
mod sitting;
mod verdict;

pub use disclosure::LogNote;
pub(crate) use disclosure::{Disclosure, Told};
pub(crate) use judge::{Judge, may_everything};
pub(crate) use matter::{Matter, TreePart};
pub(super) use new_entry::new_entry;
pub(crate) use noting::Notes;
pub(crate) use privileges::{check_privilege_names, privilege_to_write};
pub(crate) use read_entry::{name_of, shown_of};
pub(crate) use refusal::Refusal;
pub(crate) use sitting::MOST_BELOW_AT_ONCE;
pub(crate) use verdict::{End, Readable, Verdict};

#[cfg(test)]
mod tests;
