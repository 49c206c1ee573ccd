//! Conditions that are never true, by themselves or together, and those that are always true.

use aci::{AuthMethod, BindRule, Condition, ConditionTest, MINUTES_MAX, SSF_MAX, Span};

/// The first condition that is never true, or the first two that contradict each other and both have to be true: the
/// text from one to the other.
pub(super) fn never_true(rule: &BindRule) -> Option<Span> {
    match rule {
        BindRule::Test(condition) => contradict(condition, condition).then_some(condition.span),
        BindRule::Not(_) => None,
        BindRule::Or(rules) => rules.iter().find_map(never_true),
        BindRule::And(rules) => {
            let tests: Vec<&Condition> = rules
                .iter()
                .filter_map(|rule| match rule {
                    BindRule::Test(condition) => Some(condition),
                    _ => None,
                })
                .collect();
            let pairs = tests.iter().enumerate().flat_map(|(at, one)| tests.iter().take(at).map(move |it| (one, it)));
            let mut contradicting = pairs.filter(|(one, before)| contradict(one, before));
            let found =
                contradicting.next().map(|(one, before)| Span::new(before.span.range().start, one.span.range().end));
            found.or_else(|| rules.iter().find_map(never_true))
        }
    }
}

/// Whether a condition restricts nothing: its negation is never true.
pub(super) fn is_always_true(condition: &Condition) -> bool {
    let negation = Condition { negated: !condition.negated, ..condition.clone() };
    contradict(&negation, &negation)
}

/// Whether no client and no moment makes both true, as far as the two say so by themselves.
fn contradict(one: &Condition, other: &Condition) -> bool {
    let both = |all: std::ops::RangeInclusive<u16>, test: &dyn Fn(&Condition, u16) -> bool| {
        !all.into_iter().any(|value| test(one, value) && test(other, value))
    };
    match (&one.test, &other.test) {
        (ConditionTest::Ip(these), ConditionTest::Ip(those)) if !one.negated && !other.negated => {
            !these.iter().any(|range| those.iter().any(|other| range.overlaps(other)))
        }
        (ConditionTest::DayOfWeek(_), ConditionTest::DayOfWeek(_)) => both(0..=6, &|it, day| match &it.test {
            ConditionTest::DayOfWeek(days) => days.contains(day as u8) != it.negated,
            _ => true,
        }),
        (ConditionTest::TimeOfDay { .. }, ConditionTest::TimeOfDay { .. }) => {
            both(0..=MINUTES_MAX, &|it, now| match it.test {
                ConditionTest::TimeOfDay { comparison, minutes } => comparison.holds(now, minutes) != it.negated,
                _ => true,
            })
        }
        (ConditionTest::Ssf { .. }, ConditionTest::Ssf { .. }) => both(0..=SSF_MAX, &|it, bits_now| match it.test {
            ConditionTest::Ssf { comparison, bits } => comparison.holds(bits_now, bits) != it.negated,
            _ => true,
        }),
        (ConditionTest::AuthMethod(this), ConditionTest::AuthMethod(that)) => {
            !one.negated && !other.negated && this != that && ![this, that].contains(&&AuthMethod::None)
        }
        _ => false,
    }
}
