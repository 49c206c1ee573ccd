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
//! | `named` | the names of entries in one |
//! | `never_true` | conditions that are never or always true |
//! | `pairs` | what is said of one beside the others |
//! | `anonymous` | of whom a rule is true |
//! | `attributes` | which attributes a `targetattr` is about |

mod anonymous;
mod attributes;
mod finding;
mod instruction;
mod named;
mod never_true;
mod pairs;
mod single;

pub use finding::{Finding, Issue, Severity};
pub use instruction::Instruction;

use aci::{Reading, parse_as};
use query::facts::Facts;
use schema::NormalizedDn;

use instruction::Read;
use named::{NameRole, Named, named_entries};

/// Whether an entry of a name is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is, and is no group.
    There,
    /// It is, and is a group.
    Group,
    /// The server would hold it, and does not.
    Missing,
    /// The server makes it itself, or it is a root user of the configuration.
    OfServer,
    /// No backend would hold it.
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
        let has_secrets = !matches!(target, Some(Presence::OfServer | Presence::Elsewhere));
        single::look(facts, one, has_secrets, &mut found);
        let Ok(aci) = &one.parsed else { continue };
        for named in named_entries(aci) {
            if let Some(issue) = issue_of_name(facts, &named, presence)? {
                found.push(Finding { instruction: one.at, span: Some(named.span.range()), issue });
            }
        }
    }
    pairs::Held::new(facts, &read).look(&mut found);
    found.sort_by_key(|finding| (finding.instruction, std::cmp::Reverse(finding.issue.severity())));
    Ok(found)
}

/// What is wrong with the names in the part of an instruction that begins at a byte: of conditions that are not true.
///
/// # Errors
/// Those of `presence`.
pub fn wrong_names<E>(
    facts: &Facts,
    text: &str,
    part: usize,
    presence: &mut dyn FnMut(&NormalizedDn) -> Result<Presence, E>,
) -> Result<Vec<Issue>, E> {
    let Ok(parsed) = parse_as(text, Reading::Import) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for named in named_entries(&parsed.aci) {
        if named.span.range().start == part
            && let Some(issue) = issue_of_name(facts, &named, presence)?
        {
            found.push(issue);
        }
    }
    Ok(found)
}

/// What is wrong with a name of an entry, if something is.
fn issue_of_name<E>(
    facts: &Facts,
    named: &Named,
    presence: &mut dyn FnMut(&NormalizedDn) -> Result<Presence, E>,
) -> Result<Option<Issue>, E> {
    let Ok(normalized) = NormalizedDn::parse(&facts.schema, named.name.as_bytes()) else { return Ok(None) };
    if normalized.is_root() {
        return Ok(None);
    }
    let (name, effect) = (named.name.clone(), named.effect());
    Ok(match (presence(&normalized)?, named.role) {
        (Presence::Missing, _) => Some(Issue::Missing { name, effect }),
        // A target outside of the holder is another finding.
        (Presence::Elsewhere, NameRole::User | NameRole::Group | NameRole::Role) => {
            Some(Issue::HeldNowhere { name, effect })
        }
        (Presence::There | Presence::OfServer, NameRole::Group) => Some(Issue::NoGroup { name, effect }),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
