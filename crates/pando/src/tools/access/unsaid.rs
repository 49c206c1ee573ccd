//! What a question leaves open of the client, the connection and the moment, where rules look at it.

use access::Identity;
use access::explanation::Outcome;
use aci::{ConditionTest, Reading};
use directory::Decision;

use super::client::ConnectionOptions;

/// Who the client is taken for, and what is taken of which option, as sentences: only what has to do with a refusal.
pub fn unsaid(decision: &Decision, identity: &Identity, connection: &ConnectionOptions) -> Vec<String> {
    let explanations = decision.refused().filter_map(|need| need.explanation.as_ref());
    let considered = explanations.flat_map(|explanation| &explanation.instructions);
    let texts = considered.filter(|it| !matches!(it.outcome, Outcome::Allows | Outcome::IsAboutOther(_)));
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
    for text in texts.map(|considered| considered.text.as_str()) {
        let Ok(parsed) = aci::parse_as(text, Reading::Import) else { continue };
        for condition in parsed.aci.permissions.iter().flat_map(|permission| permission.rule.conditions()) {
            let said = of(&condition.test, connection);
            found.extend(said.filter(|said| !found.contains(said)));
        }
    }
    found
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
