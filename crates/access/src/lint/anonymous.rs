//! Of whom a rule is true, as far as that is known without connection, time and entry.

use aci::{AuthMethod, BindRule, Condition, ConditionTest, Span, UserDn};

/// What is known of a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Truth {
    True,
    False,
    Depends,
}

use Truth::{Depends, False, True};

impl Truth {
    const fn not(self) -> Truth {
        match self {
            True => False,
            False => True,
            Depends => Depends,
        }
    }
}

/// Who asks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asker {
    Anonymous,
    /// Somebody authenticated, of whom nothing is known.
    AnyUser,
}

/// What makes a negation true.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Negations {
    /// That what it negates is false.
    Count,
    /// Nothing.
    AreFalse,
}

/// Whether a rule is true of that asker.
pub(super) fn truth(rule: &BindRule, asker: Asker) -> Truth {
    evaluate(rule, asker, Negations::Count)
}

/// The negation but for which a rule would be false of anonymous clients.
pub(super) fn admitting_negation(rule: &BindRule) -> Option<Span> {
    let admits = truth(rule, Asker::Anonymous) != False;
    if admits && evaluate(rule, Asker::Anonymous, Negations::AreFalse) == False { negation(rule) } else { None }
}

fn evaluate(rule: &BindRule, asker: Asker, negations: Negations) -> Truth {
    let all = |rules: &[BindRule], decides: Truth| {
        let mut found = decides.not();
        for rule in rules {
            match evaluate(rule, asker, negations) {
                one if one == decides => return decides,
                Depends => found = Depends,
                _ => {}
            }
        }
        found
    };
    let negated = |inner: Truth| match (inner, negations) {
        (False, Negations::AreFalse) => False,
        (inner, _) => inner.not(),
    };
    match rule {
        BindRule::And(rules) => all(rules, False),
        BindRule::Or(rules) => all(rules, True),
        BindRule::Not(rule) => negated(evaluate(rule, asker, negations)),
        BindRule::Test(condition) if condition.negated => negated(plain(condition, asker)),
        BindRule::Test(condition) => plain(condition, asker),
    }
}

/// Of the condition without its `!`.
fn plain(condition: &Condition, asker: Asker) -> Truth {
    match &condition.test {
        ConditionTest::UserDn(users) if users.contains(&UserDn::Anyone) => True,
        ConditionTest::UserDn(users) if asker == Asker::AnyUser && users.contains(&UserDn::All) => True,
        ConditionTest::AuthMethod(AuthMethod::None) => True,
        ConditionTest::Ip(_)
        | ConditionTest::Dns(_)
        | ConditionTest::TimeOfDay { .. }
        | ConditionTest::DayOfWeek(_)
        | ConditionTest::Ssf { .. } => Depends,
        _ if asker == Asker::Anonymous => False,
        _ => Depends,
    }
}

/// The first condition that is negated and false of anonymous clients, but for the negation.
fn negation(rule: &BindRule) -> Option<Span> {
    match rule {
        BindRule::And(rules) | BindRule::Or(rules) => rules.iter().find_map(negation),
        BindRule::Not(inner) if truth(inner, Asker::Anonymous) == False => {
            inner.conditions().first().map(|condition| condition.span)
        }
        BindRule::Test(condition) if condition.negated && plain(condition, Asker::Anonymous) == False => {
            Some(condition.span)
        }
        BindRule::Not(_) | BindRule::Test(_) => None,
    }
}
