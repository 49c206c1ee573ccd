//! Looks at access control instructions before they do harm: what allows more than was meant, what never matches, what
//! says nothing.
//!
//! Reads instructions and the schema, and asks whether entries exist; evaluates nothing.
//!
//! | file | what |
//! |---|---|
//! | `instruction` | the instructions that are looked at |
//! | `finding` | what can be said against one |
//! | `single` | what is said of one by itself |
//! | `pairs` | what is said of one beside the others |
//! | `anonymous` | of whom a rule is true |
//! | `attributes` | which attributes a `targetattr` is about |

mod anonymous;
mod attributes;
mod finding;
mod instruction;
mod pairs;
mod single;

pub use finding::{Finding, Issue, Severity};
pub use instruction::Instruction;

use query::facts::Facts;
use schema::NormalizedDn;

use instruction::Read;

/// Whether an entry of a name is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is.
    There,
    /// The server would hold it, and does not.
    Missing,
    /// It would be in no backend: an entry that the server makes itself, or one of another server.
    Elsewhere,
}

/// Looks at instructions. What is found comes in their order. `presence` says whether an entry is there.
///
/// # Errors
/// Those of `presence`.
pub fn lint<E>(
    facts: &Facts,
    instructions: &[Instruction],
    presence: &mut dyn FnMut(&NormalizedDn) -> Result<Presence, E>,
) -> Result<Vec<Finding>, E> {
    let read: Vec<Read<'_>> = instructions.iter().enumerate().map(|(at, held)| Read::new(at, held)).collect();
    let mut found = Vec::new();
    for one in &read {
        let target = one.exact_target(&facts.schema).map(|target| presence(&target)).transpose()?;
        // What the server makes itself, such as the root DSE, has no passwords.
        single::look(facts, one, target != Some(Presence::Elsewhere), &mut found);
        let Ok(aci) = &one.parsed else { continue };
        for (span, name, effect) in single::named_entries(aci) {
            let Ok(normalized) = NormalizedDn::parse(&facts.schema, name.as_bytes()) else { continue };
            if !normalized.is_root() && presence(&normalized)? == Presence::Missing {
                let issue = Issue::Missing { name, effect };
                found.push(Finding { instruction: one.at, span: Some(span.range()), issue });
            }
        }
    }
    pairs::Held::new(facts, &read).look(&mut found);
    found.sort_by_key(|finding| (finding.instruction, std::cmp::Reverse(finding.issue.severity())));
    Ok(found)
}

#[cfg(test)]
mod tests;
