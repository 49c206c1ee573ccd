//! The names of entries in an instruction: where they stand, and what they are there for.

use aci::{Aci, BindRule, Condition, ConditionTest, DnPattern, DnText, Effect, Permission, Span, UserDn};

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
    const fn effect(self) -> &'static str {
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
    /// What is decided if it stands for nobody; empty, if there is nothing to add.
    consequence: &'static str,
}

impl Named {
    /// What it means that there is no such entry.
    pub(super) fn effect(&self) -> String {
        format!("{}{}", self.role.effect(), self.consequence)
    }
}

/// The names of entries that an instruction is about or for.
pub(super) fn named_entries(aci: &Aci) -> Vec<Named> {
    let mut found = Vec::new();
    if let Some(part) = &aci.targets.target
        && let DnPattern::Exact(name) = &part.value
    {
        let name = name.as_str().to_owned();
        found.push(Named { span: part.span, name, role: NameRole::Target, consequence: "" });
    }
    let conditions = aci
        .permissions
        .iter()
        .flat_map(|permission| permission.rule.conditions().into_iter().map(move |condition| (permission, condition)));
    for (permission, condition) in conditions {
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
        let consequence = consequence(permission, condition);
        let named = |name: &str| Named { span: condition.span, name: name.to_owned(), role, consequence };
        found.extend(names.into_iter().map(named));
    }
    found
}

/// What is decided if the name in a condition stands for nobody.
fn consequence(permission: &Permission, condition: &Condition) -> &'static str {
    let has_one_name = match &condition.test {
        ConditionTest::GroupDn(groups) => groups.len() == 1,
        ConditionTest::RoleDn(roles) => roles.len() == 1,
        ConditionTest::UserDn(users) => users.len() == 1,
        _ => false,
    };
    if !has_one_name {
        return "";
    }
    // Where the condition is all of the rule, it decides alone.
    let holds = match &permission.rule {
        BindRule::Test(only) => Some(only.negated),
        BindRule::Not(inner) => match &**inner {
            BindRule::Test(only) => Some(!only.negated),
            _ => None,
        },
        BindRule::And(_) | BindRule::Or(_) => None,
    };
    match (permission.effect, holds) {
        (Effect::Deny, Some(true)) => ", and this denies everybody",
        (Effect::Deny, Some(false)) => ", and this denies nobody",
        (Effect::Allow, Some(true)) => ", and this allows everybody",
        (_, None) if condition.negated => ", and this condition is true of everybody",
        _ => "",
    }
}
