//! An access control instruction and the entry that holds it.
//!
//! The grammar is the crate `aci`'s, and what instructions decide is for those above.

use aci::{Aci, DnPattern};
use thiserror::Error;

use crate::dn::NormalizedDn;
use crate::schema::Schema;

/// A target that lies outside the entry that holds the instruction, so that it would never match.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the target \"ldap:///{target}\" of the access control instruction \"{name}\" is not at or below the entry that \
     holds it; put the instruction on that entry, or leave the target out"
)]
pub struct TargetElsewhere {
    /// The target, as it was written.
    pub target: String,
    /// Name of the instruction.
    pub name: String,
}

/// Whether the target of an instruction is at or below `holder`. A pattern may lie anywhere.
///
/// # Errors
/// Names the target that is not.
pub fn check_target(schema: &Schema, holder: &NormalizedDn, instruction: &Aci) -> Result<(), TargetElsewhere> {
    let Some(DnPattern::Exact(target)) = instruction.targets.target.as_ref().map(|part| &part.value) else {
        return Ok(());
    };
    // The parser has checked that it is a name.
    match NormalizedDn::parse(schema, target.as_str().as_bytes()) {
        Ok(target) if holder.is_ancestor_or_equal(&target) => Ok(()),
        _ => Err(TargetElsewhere { target: target.as_str().to_owned(), name: instruction.name.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_at_or_below_its_holder_unless_it_is_a_pattern() {
        let schema = Schema::standard();
        let holder = NormalizedDn::parse(&schema, b"ou=People,dc=example,dc=com").unwrap();
        let check = |holder: &NormalizedDn, target: &str| {
            let text = format!("({target})(version 3.0; acl \"a\"; allow (all) userdn=\"ldap:///self\";)");
            check_target(&schema, holder, &aci::parse(&text).unwrap())
        };
        for target in [
            "target=\"ldap:///OU=people, dc=Example,dc=com\"",
            "target!=\"ldap:///uid=a,ou=people,dc=example,dc=com\"",
            "target=\"ldap:///uid=*,dc=elsewhere\"",
            "target_to=\"ldap:///dc=elsewhere\"",
            "targetattr=\"cn\"",
        ] {
            assert_eq!(check(&holder, target), Ok(()), "{target}");
        }
        for target in ["dc=example,dc=com", "ou=Groups,dc=example,dc=com", "", "dc=elsewhere"] {
            let error = check(&holder, &format!("target=\"ldap:///{target}\"")).unwrap_err();
            assert_eq!((error.target.as_str(), error.name.as_str()), (target, "a"));
            assert!(check(&holder, &format!("target!=\"ldap:///{target}\"")).is_err());
            assert_eq!(check(&NormalizedDn::root(), &format!("target=\"ldap:///{target}\"")), Ok(()));
        }
    }
}
