//! Bind rules, prepared: names are normal forms, types are numbers of the schema.

use std::sync::Arc;

use aci::{AuthMethod, BindRule, Comparison, Condition, ConditionTest, Days, DnsPattern, IpRange, Levels};
use aci::{DnText, UserAttrKind, UserDn};
use query::facts::Facts;
use schema::{NormalizedDn, TypeIndex};

use super::filter_test::UrlTest;
use super::name_pattern::NamePattern;

/// A bind rule.
#[derive(Debug)]
pub(crate) enum Rule {
    And(Box<[Rule]>),
    Or(Box<[Rule]>),
    Not(Box<Rule>),
    Test(Test),
}

/// One condition.
#[derive(Debug)]
pub(crate) enum Test {
    Anyone,
    Authenticated,
    OneSelf,
    Parent,
    /// True of nobody: the attribute or the URL does not exist.
    Nobody,
    /// The user of that normalized name.
    User(Box<[u8]>),
    UserPattern(Box<NamePattern>),
    UserUrl(Box<UrlTest>),
    Group(Box<[u8]>),
    Role(Box<[u8]>),
    Entry(Arc<EntryTest>),
    Address(Box<[IpRange]>),
    Host(Box<[DnsPattern]>),
    TimeOfDay(Comparison, u16),
    DayOfWeek(Days),
    Method(Box<AuthMethod>),
    Strength(Comparison, u16),
}

/// What the entry says of the asker (`userattr`).
#[derive(Debug)]
pub(crate) struct EntryTest {
    pub levels: Levels,
    pub attribute: TypeIndex,
    pub kind: EntryTestKind,
}

#[derive(Debug)]
pub(crate) enum EntryTestKind {
    /// Values are names; one is the asker's.
    User,
    /// One is that of a group of the asker, at or below the base.
    Group { base: Option<Box<[u8]>> },
    /// One is that of a role of the asker.
    Role,
    /// Values are URLs; one finds the asker.
    Url,
    /// The entry and the asker have this value, in its normal form.
    Value(Box<[u8]>),
}

impl Rule {
    pub fn of(facts: &Facts, rule: &BindRule) -> Rule {
        match rule {
            BindRule::And(rules) => Rule::And(rules.iter().map(|it| Rule::of(facts, it)).collect()),
            BindRule::Or(rules) => Rule::Or(rules.iter().map(|it| Rule::of(facts, it)).collect()),
            BindRule::Not(rule) => Rule::Not(Box::new(Rule::of(facts, rule))),
            BindRule::Test(condition) => Rule::of_condition(facts, condition),
        }
    }

    /// The rule that one condition is.
    pub fn of_condition(facts: &Facts, condition: &Condition) -> Rule {
        let any = |tests: Vec<Test>| {
            let mut rules: Vec<Rule> = tests.into_iter().map(Rule::Test).collect();
            match (rules.pop(), rules.is_empty()) {
                (Some(only), true) => only,
                (Some(last), false) => {
                    rules.push(last);
                    Rule::Or(rules.into())
                }
                (None, _) => Rule::Test(Test::Nobody),
            }
        };
        let rule = match &condition.test {
            ConditionTest::UserDn(users) => any(users.iter().map(|it| user(facts, it)).collect()),
            ConditionTest::GroupDn(groups) => any(groups.iter().map(|it| Test::Group(form_of(facts, &it.0))).collect()),
            ConditionTest::RoleDn(roles) => any(roles.iter().map(|it| Test::Role(form_of(facts, it))).collect()),
            ConditionTest::UserAttr(asked) => Rule::Test(user_attribute(facts, asked)),
            ConditionTest::Ip(ranges) => Rule::Test(Test::Address(ranges.as_slice().into())),
            ConditionTest::Dns(patterns) => Rule::Test(Test::Host(patterns.as_slice().into())),
            ConditionTest::TimeOfDay { comparison, minutes } => Rule::Test(Test::TimeOfDay(*comparison, *minutes)),
            ConditionTest::DayOfWeek(days) => Rule::Test(Test::DayOfWeek(*days)),
            ConditionTest::AuthMethod(AuthMethod::None) => Rule::Test(Test::Anyone),
            ConditionTest::AuthMethod(method) => Rule::Test(Test::Method(Box::new(method.clone()))),
            ConditionTest::Ssf { comparison, bits } => Rule::Test(Test::Strength(*comparison, *bits)),
        };
        if condition.negated { Rule::Not(Box::new(rule)) } else { rule }
    }

    /// Calls `each` with every condition.
    pub fn each_test(&self, each: &mut dyn FnMut(&Test)) {
        match self {
            Rule::And(rules) | Rule::Or(rules) => rules.iter().for_each(|it| it.each_test(each)),
            Rule::Not(rule) => rule.each_test(each),
            Rule::Test(test) => each(test),
        }
    }
}

fn form_of(facts: &Facts, dn: &DnText) -> Box<[u8]> {
    NormalizedDn::parse(&facts.schema, dn.as_str().as_bytes()).unwrap_or_default().as_bytes().into()
}

fn user(facts: &Facts, user: &UserDn) -> Test {
    match user {
        UserDn::Anyone => Test::Anyone,
        UserDn::All => Test::Authenticated,
        UserDn::OneSelf => Test::OneSelf,
        UserDn::Parent => Test::Parent,
        UserDn::Name(pattern) => match NamePattern::of(&facts.schema, pattern) {
            // The empty name is nobody's.
            NamePattern::Exact(name) if name.is_empty() => Test::Nobody,
            NamePattern::Exact(name) => Test::User(name),
            pattern => Test::UserPattern(Box::new(pattern)),
        },
        UserDn::Url(url) => UrlTest::of(facts, url).map_or(Test::Nobody, |url| Test::UserUrl(Box::new(url))),
    }
}

fn user_attribute(facts: &Facts, asked: &aci::UserAttr) -> Test {
    let Some(attribute) = facts.schema.attribute_type(asked.attribute.as_bytes()) else { return Test::Nobody };
    let kind = match &asked.kind {
        UserAttrKind::UserDn => EntryTestKind::User,
        UserAttrKind::GroupDn { base } => EntryTestKind::Group { base: base.as_ref().map(|base| form_of(facts, base)) },
        // Levels belong to names of users and groups.
        _ if asked.levels.is_some() => return Test::Nobody,
        UserAttrKind::RoleDn => EntryTestKind::Role,
        UserAttrKind::LdapUrl => EntryTestKind::Url,
        UserAttrKind::Value(value) => {
            let mut form = Vec::new();
            let rule = attribute.equality;
            if rule.is_none_or(|rule| rule.normalize(&facts.schema, value.as_bytes(), &mut form).is_err()) {
                return Test::Nobody;
            }
            EntryTestKind::Value(form.into())
        }
    };
    let levels = asked.levels.unwrap_or(Levels::default().with(0));
    Test::Entry(Arc::new(EntryTest { levels, attribute: attribute.index, kind }))
}
