//! One role, read from the entry that defines it: who has it, and where (Sun, 389: managed, filtered and nested roles).
//!
//! Knows one entry; which roles are in which is for [`super::RoleSet`].

use std::ops::ControlFlow;

use schema::NormalizedDn;

use super::role::{Kind, LISTED_MAX, NS_ROLE, Role};
use crate::computed::definition::Definition;
use crate::computed::reach::filter_on_stored;
use crate::computed::reading::Reading;
use crate::entry::each_stored;
use crate::facts::Facts;
use crate::filter::{Matcher, Node, Target};

impl Role {
    fn of(reading: &Reading<'_>, kind: Kind) -> Role {
        let mut dn = Vec::new();
        reading.entry.dn.put(&mut dn);
        Role {
            name: reading.name.clone(),
            dn: String::from_utf8_lossy(&dn).into(),
            top: reading.parent(),
            also: None,
            kind,
        }
    }

    /// Beside the other roles; alone it defines nothing.
    fn put(self, reading: &Reading<'_>) -> Vec<Definition> {
        reading.roles.borrow_mut().push(self);
        Vec::new()
    }

    /// Whether an entry with that normalized name may have it.
    pub fn covers(&self, name: &[u8]) -> bool {
        let is_below = |top: &NormalizedDn| name.starts_with(top.as_bytes());
        is_below(&self.top) || self.also.as_ref().is_some_and(is_below)
    }

    /// The entry above it: all that a managed or a filtered role is for is there or below.
    pub fn top(&self) -> &NormalizedDn {
        &self.top
    }

    /// What decides on a filtered role.
    pub fn filter(&self) -> Option<&Matcher> {
        if let Kind::Filtered(filter) = &self.kind { Some(filter) } else { None }
    }
}

/// Reads a `nsManagedRoleDefinition`.
pub fn managed(reading: &Reading<'_>) -> Result<Vec<Definition>, String> {
    Ok(Role::of(reading, Kind::Managed).put(reading))
}

/// Reads a `nsFilteredRoleDefinition`.
pub fn filtered(reading: &Reading<'_>) -> Result<Vec<Definition>, String> {
    let Some(value) = reading.value("nsRoleFilter")? else { return Err("has no nsRoleFilter".to_owned()) };
    let matcher = role_filter(reading.facts, &String::from_utf8_lossy(&value))
        .map_err(|why| format!("has an nsRoleFilter by which nobody has the role, {why}"))?;
    Ok(Role::of(reading, Kind::Filtered(matcher)).put(reading))
}

/// A filter that decides on a role.
fn role_filter(facts: &Facts, text: &str) -> Result<Matcher, String> {
    let matcher = filter_on_stored(facts, text)?;
    let ns_role = facts.schema.attribute_type(NS_ROLE).map(|it| it.index);
    let is_computed = |node: &Node| match node {
        Node::Item(item) => match item.target {
            Target::Virtual(..) => true,
            Target::Type(index) | Target::Tagged(index, _) => Some(index) == ns_role,
            Target::Every => false,
        },
        _ => false,
    };
    if matcher.nodes().iter().any(is_computed) {
        return Err(format!("the filter {text} asks for what the server computes, but only what is stored decides"));
    }
    Ok(matcher)
}

/// Reads a `nsNestedRoleDefinition`.
pub fn nested(reading: &Reading<'_>) -> Result<Vec<Definition>, String> {
    let schema = &reading.facts.schema;
    let Some(role_dn) = schema.attribute_type(b"nsRoleDN") else { return Err("has no nsRoleDN".to_owned()) };
    let mut listed = Vec::new();
    let mut bad = None;
    let read = each_stored(&reading.entry, role_dn.index, &mut |value| {
        match NormalizedDn::parse(schema, value) {
            Ok(name) => listed.push(name),
            Err(problem) => bad = Some(format!("has in nsRoleDN no name of an entry: {problem}")),
        }
        if listed.len() > LISTED_MAX {
            bad = Some(format!("lists more than {} roles", LISTED_MAX));
        }
        if bad.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    read.map_err(|problem| format!("cannot be read: {problem}"))?;
    if let Some(why) = bad {
        return Err(why);
    }
    let mut role = Role::of(reading, Kind::Nested(listed));
    role.also = reading.name_in("nsRoleScopeDN")?;
    Ok(role.put(reading))
}
