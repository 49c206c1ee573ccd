//! What a question leaves open of the client, the connection and the moment, where rules look at it.

use access::Identity;
use access::explanation::{FailedCondition, Outcome};
use aci::{BindRule, Condition, ConditionTest, Reading};
use directory::{Decision, Need};

use super::client::ConnectionOptions;

/// Who the client is taken for, and what is taken of which option, as sentences: only what has to do with a refusal.
pub fn unsaid(decision: &Decision, identity: &Identity, connection: &ConnectionOptions) -> Vec<String> {
    let who = match identity {
        Identity::Anonymous => Some(
            "The client is anonymous: it has not bound, or its bind was refused; the lines BIND RES of its conn in the \
             access log say why."
                .to_owned(),
        ),
        Identity::Root { dn } => Some(format!(
            "{dn} is a root user without the privilege bypass-acl (privilege-name, default-root-privilege-name), so \
             instructions are asked."
        )),
        Identity::User { .. } => None,
    };
    let is_by_rights = decision.refused().any(|need| need.explanation.is_some());
    let mut found: Vec<String> = who.filter(|_| is_by_rights).into_iter().collect();
    decision.refused().for_each(|need| assumed(need, connection, &mut found));
    found
}

/// What is taken of the connection where another one might change the decision about a need. What was said already is
/// not said again.
pub fn assumed(need: &Need, connection: &ConnectionOptions, found: &mut Vec<String>) {
    let instructions = need.explanation.iter().flat_map(|explanation| &explanation.instructions);
    for considered in instructions {
        let failed = match &considered.outcome {
            Outcome::AllowsOthers(failed) => Some(failed.as_slice()),
            Outcome::Denies => None,
            Outcome::Allows if need.granted => None,
            _ => continue,
        };
        let Ok(parsed) = aci::parse_as(&considered.text, Reading::Import) else { continue };
        for permission in parsed.aci.permissions {
            let is_open = |condition: &Condition| of(&condition.test, connection).is_some();
            // Whom it does not concern over another connection either, it does not concern.
            if failed.is_some_and(|failed| !Possible::of(&permission.rule, true, failed, &is_open).to_be_true) {
                continue;
            }
            for condition in permission.rule.conditions() {
                let said = of(&condition.test, connection);
                found.extend(said.filter(|said| !found.contains(said)));
            }
        }
    }
}

/// Which truths a rule may have, whatever the open conditions are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Possible {
    to_be_true: bool,
    to_be_false: bool,
}

impl Possible {
    /// `failed` has the conditions that are not as wanted; below a `not` it is wanted that they are false.
    fn of(rule: &BindRule, wanted: bool, failed: &[FailedCondition], is_open: &dyn Fn(&Condition) -> bool) -> Possible {
        let inner = |rule: &BindRule| Possible::of(rule, wanted, failed, is_open);
        match rule {
            BindRule::And(rules) => Possible {
                to_be_true: rules.iter().all(|rule| inner(rule).to_be_true),
                to_be_false: rules.iter().any(|rule| inner(rule).to_be_false),
            },
            BindRule::Or(rules) => Possible {
                to_be_true: rules.iter().any(|rule| inner(rule).to_be_true),
                to_be_false: rules.iter().all(|rule| inner(rule).to_be_false),
            },
            BindRule::Not(rule) => {
                let Possible { to_be_true, to_be_false } = Possible::of(rule, !wanted, failed, is_open);
                Possible { to_be_true: to_be_false, to_be_false: to_be_true }
            }
            BindRule::Test(condition) if is_open(condition) => Possible { to_be_true: true, to_be_false: true },
            BindRule::Test(condition) => {
                let is_it = |one: &&FailedCondition| one.span.start == condition.span.range().start;
                let (is_true, is_undefined) = match failed.iter().find(is_it) {
                    Some(one) => (!wanted, one.is_undefined),
                    None => (wanted, false),
                };
                Possible { to_be_true: is_true && !is_undefined, to_be_false: !is_true && !is_undefined }
            }
        }
    }
}

fn of(test: &ConditionTest, connection: &ConnectionOptions) -> Option<String> {
    Some(match test {
        ConditionTest::Ip(_) if connection.ip.is_none() => {
            "Rules look at the address of the client, which is not given (--ip): they grant nothing, and deny."
                .to_owned()
        }
        ConditionTest::Dns(_) if connection.host.is_none() => {
            "Rules look at the host name of the client, which is not given (--host): they grant nothing, and deny."
                .to_owned()
        }
        ConditionTest::Ssf { .. } => {
            format!(
                "Rules look at the encryption of the connection: it is taken to have {} bits (--ssf).",
                connection.ssf
            )
        }
        ConditionTest::AuthMethod(_) if connection.auth.is_none() => {
            "Rules look at how the client proved who it is: it is taken to be with a password (--auth).".to_owned()
        }
        ConditionTest::TimeOfDay { .. } | ConditionTest::DayOfWeek(_) => {
            let now = jiff::Timestamp::from_second(connection.unix_seconds()).ok()?;
            let now = now.to_zoned(jiff::tz::TimeZone::system()).strftime("%A %Y-%m-%d %H:%M").to_string();
            format!("Rules look at the time: it is taken to be {now} (--at).")
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the rule could be true over another connection, where the conditions with these words are not as wanted.
    fn may_be_true(rule: &str, words: &[&str]) -> bool {
        let text = format!("(targetattr=\"*\")(version 3.0; acl \"a\"; allow (read) {rule};)");
        let failed: Vec<FailedCondition> = words
            .iter()
            .map(|word| {
                let begin = text.find(word).unwrap();
                FailedCondition { span: begin..begin + 1, is_undefined: false, wrong_names: Vec::new() }
            })
            .collect();
        let parsed = aci::parse_as(&text, Reading::Import).unwrap().aci;
        let is_open = |condition: &Condition| of(&condition.test, &ConnectionOptions::default()).is_some();
        Possible::of(&parsed.permissions[0].rule, true, &failed, &is_open).to_be_true
    }

    #[test]
    fn a_rule_about_others_does_not_concern_the_asker_over_any_connection() {
        let (ann, night) = ("userdn=\"ldap:///uid=ann,o=x\"", "timeofday<\"0600\"");
        assert!(may_be_true(&format!("{ann} and {night}"), &["timeofday"]));
        assert!(!may_be_true(&format!("{ann} and {night}"), &["userdn"]));
        assert!(may_be_true(&format!("{ann} or {night}"), &["userdn", "timeofday"]));
        assert!(!may_be_true(&format!("not {ann} and {night}"), &["userdn", "timeofday"]));
        assert!(may_be_true(&format!("not {ann} and not {night}"), &["timeofday"]));
    }
}
