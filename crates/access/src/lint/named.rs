//! The names of entries in an instruction: where they stand, and what they are there for.

use aci::{Aci, ConditionTest, DnPattern, DnText, Span, UserDn};

/// What a name is there for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NameRole {
    Target,
    User,
    Group,
    Role,
}

impl NameRole {
    /// What it means that there is no such entry.
    pub(super) const fn effect(self) -> &'static str {
        match self {
            NameRole::Target => "the target never matches",
            NameRole::User => "nobody has that name",
            NameRole::Group => "nobody is a member of it",
            NameRole::Role => "nobody has that role",
        }
    }
}

/// A name of an entry.
pub(super) struct Named {
    /// The part of the text that it stands in.
    pub(super) span: Span,
    pub(super) name: String,
    pub(super) role: NameRole,
}

/// The names of entries that an instruction is about or for.
pub(super) fn named_entries(aci: &Aci) -> Vec<Named> {
    let mut found = Vec::new();
    if let Some(part) = &aci.targets.target
        && let DnPattern::Exact(name) = &part.value
    {
        found.push(Named { span: part.span, name: name.as_str().to_owned(), role: NameRole::Target });
    }
    for condition in aci.permissions.iter().flat_map(|permission| permission.rule.conditions()) {
        let (names, role): (Vec<&str>, NameRole) = match &condition.test {
            ConditionTest::GroupDn(groups) => (groups.iter().map(|group| group.0.as_str()).collect(), NameRole::Group),
            ConditionTest::RoleDn(roles) => (roles.iter().map(DnText::as_str).collect(), NameRole::Role),
            ConditionTest::UserDn(users) => {
                let exact = users.iter().filter_map(|user| match user {
                    UserDn::Name(DnPattern::Exact(name)) => Some(name.as_str()),
                    _ => None,
                });
                (exact.collect(), NameRole::User)
            }
            _ => continue,
        };
        found.extend(names.into_iter().map(|name| Named { span: condition.span, name: name.to_owned(), role }));
    }
    found
}
