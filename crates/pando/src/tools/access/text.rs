//! A decision as people read it: the answer first, then why, then what came close.

use access::Right;
use access::explanation::{self, Considered, Explanation, FailedCondition, Outcome, Reason, TargetPart};
use directory::{Decision, FilterTruth, Need, What};

use super::client::shown;
use super::marked::{columns, marked};
use crate::output::outln;

/// What is said where no instruction is about something.
const NOTHING: &str = "    No instruction of the entry, above it or of the configuration is about this: nobody but \
                       users with bypass-acl may.";

/// What is said where every attribute that is granted is denied, too.
const GRANTS_ARE_DENIED: &str = "    Instructions grant it, but every attribute that they grant is denied by:";

/// Instructions that came close and are shown.
const CLOSE_MAX: usize = 5;

/// Prints all of it. `all`: also instructions that are about something else.
pub fn print(decision: &Decision, all: bool) {
    rendered(decision, all).iter().for_each(|line| outln!("{line}"));
}

/// The same lines.
pub fn rendered(decision: &Decision, all: bool) -> Vec<String> {
    lines(decision, all, columns())
}

/// The answer in one line.
pub fn answer(decision: &Decision) -> String {
    let asker = shown(&decision.asker);
    match (decision.exists, decision.granted) {
        (false, _) => format!("Refused: there is no entry \"{}\"", decision.dn),
        (true, true) => format!("Granted to {asker}"),
        (true, false) => match decision.refused().next() {
            Some(Need { what: What::Filter(FilterTruth::MatchesForOthers), .. }) => {
                format!("Refused to {asker}: {}", unsearchable(decision))
            }
            Some(need) => format!("Refused to {asker}: {}", missing(need)),
            None => format!("Refused to {asker}"),
        },
    }
}

/// Which attributes of the filter may not be searched.
fn unsearchable(decision: &Decision) -> String {
    let names = decision.refused().filter_map(|need| match &need.what {
        What::Right { right: Right::Search, attribute: Some(name), .. } => Some(name.as_str()),
        _ => None,
    });
    format!("no right to search {}, which the filter needs", names.collect::<Vec<_>>().join(", "))
}

/// What a refused need comes to.
pub fn missing(need: &Need) -> String {
    match &need.what {
        What::Shows { dn } => format!("the entry \"{dn}\" does not show"),
        What::Filter(FilterTruth::NoMatch) => {
            "the filter does not match the entry, whoever asks (--dn names the entry \
            that should be found, not the base of the search)"
                .to_owned()
        }
        What::Filter(_) => "the filter has an attribute that may not be searched".to_owned(),
        other => format!("no {}", title(other)),
    }
}

fn title(what: &What) -> String {
    match what {
        What::Unindexed { base } => {
            format!("index that answers the filter below \"{base}\", nor the privilege unindexed-search")
        }
        What::Shows { dn } => format!("sight of \"{dn}\""),
        What::Filter(_) => "match of the filter".to_owned(),
        What::Right { right, dn, attribute, value } => {
            let of = attribute.as_ref().map_or(String::new(), |name| format!(" {name} of"));
            let value = value.as_ref().map_or(String::new(), |value| format!(" (value \"{value}\")"));
            format!("right to {}{of} \"{dn}\"{value}", right.as_str())
        }
        What::Privilege(privilege) => format!("privilege {}", privilege.name()),
        What::Control(oid) => format!("right to use the control {oid}"),
        What::Extended(oid) => format!("right to use the extended operation {oid}"),
    }
}

fn lines(decision: &Decision, all: bool, width: usize) -> Vec<String> {
    let mut out = vec![answer(decision)];
    let mut told: Vec<(Vec<String>, String)> = Vec::new();
    for need in &decision.needs {
        out.push(String::new());
        out.push(headline(decision, need));
        let mut why = Vec::new();
        if let Some(explanation) = &need.explanation {
            put_explanation(&mut why, explanation, all, width);
        }
        // Several lines are worth repeating once.
        match told.iter().find(|(lines, _)| *lines == why && why.len() > 1) {
            Some((_, before)) => out.push(format!("    As above, under: {before}")),
            None => {
                out.extend(why.iter().cloned());
                told.push((why, short(&need.what)));
            }
        }
    }
    if let Some(told) = &decision.told {
        out.push(String::new());
        out.push(format!("The client is told: {told}"));
    }
    out
}

/// What a need is called further below.
fn short(what: &What) -> String {
    match what {
        What::Shows { dn } => format!("\"{dn}\" shows"),
        other => title(other),
    }
}

fn headline(decision: &Decision, need: &Need) -> String {
    let mark = if need.granted { "yes" } else { "NO " };
    let text = match &need.what {
        What::Shows { dn } => format!("\"{dn}\" shows: some attribute of it may be read"),
        What::Filter(FilterTruth::Matches) => "the filter matches the entry".to_owned(),
        What::Filter(FilterTruth::MatchesForOthers) => {
            format!("the filter matches the entry: {}", unsearchable(decision))
        }
        What::Filter(FilterTruth::NoMatch) => "the filter matches the entry: it does not, whoever asks".to_owned(),
        What::Unindexed { base } => format!(
            "an index answers the filter: none does below \"{base}\", so it takes the privilege unindexed-search"
        ),
        other => title(other),
    };
    format!("{mark} {text}")
}

fn put_explanation(out: &mut Vec<String>, explanation: &Explanation, all: bool, width: usize) {
    let instructions = &explanation.instructions;
    // What denies is told whole: each of them has to go before anything is granted.
    let (mut told, mut others): (Vec<&Considered>, Vec<&Considered>) =
        instructions.iter().partition(|it| !explanation.granted && is_denial(&it.outcome));
    let has_denial = !told.is_empty();
    match explanation.reason {
        Reason::BypassAcl => out.push("    The privilege bypass-acl: instructions are not asked.".to_owned()),
        Reason::Allowed(at) => {
            out.push("    Granted by:".to_owned());
            told = instructions.get(at).into_iter().collect();
            others.retain(|it| !told.contains(it));
        }
        Reason::Denied(_) => out.push("    Denied by:".to_owned()),
        Reason::NothingApplies => out.push(NOTHING.to_owned()),
        Reason::NobodyGrants => {
            out.push("    No instruction grants it.".to_owned());
            out.extend(has_denial.then(|| "    Besides, it is denied by:".to_owned()));
        }
        Reason::GrantsAreDenied => out.push(GRANTS_ARE_DENIED.to_owned()),
    }
    told.iter().for_each(|it| put_instruction(out, it, width));
    let wanted = |wanted: &dyn Fn(&Considered) -> bool| -> Vec<&Considered> {
        others.iter().copied().filter(|it| all || wanted(it)).collect()
    };
    let mut close = wanted(&|it| is_close(it, explanation.granted));
    let mut heading = if all { "    Looked at besides:" } else { "    These came close:" };
    if close.is_empty() && !explanation.granted && !has_denial {
        close = wanted(&|it| nearness(it).is_some());
        close.sort_by_key(|it| nearness(it));
        heading = "    Nearest to it are:";
    }
    close.sort_by_key(|it| distance(&it.outcome));
    if close.is_empty() {
        return;
    }
    out.push(heading.to_owned());
    let shown = if all { close.len() } else { CLOSE_MAX };
    close.iter().take(shown).for_each(|it| put_instruction(out, it, width));
    if let Some(more @ 1..) = close.len().checked_sub(shown) {
        out.push(format!("      and {more} more (--all shows them)"));
    }
}

/// Whether it says something to who asks why.
fn is_close(considered: &Considered, granted: bool) -> bool {
    match considered.outcome {
        Outcome::AllowsOthers(_) => !granted,
        _ => false,
    }
}

/// Whether it refuses what another one grants.
pub const fn is_denial(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Denies | Outcome::Invalid(_))
}

/// How near an instruction about something else is to being about this: 0 is nearest; none, if it is far.
fn nearness(considered: &Considered) -> Option<usize> {
    let Outcome::IsAboutOther(part) = considered.outcome else { return None };
    let parsed = aci::parse_as(&considered.text, aci::Reading::Import).ok()?;
    if !parsed.aci.permissions.iter().any(|permission| permission.effect == aci::Effect::Allow) {
        return None;
    }
    // Those of the configuration that are about one entry, such as the root DSE, are far from all others.
    let is_of_entry = considered.holder.is_some();
    match part {
        TargetPart::Filter => Some(0),
        TargetPart::Attribute | TargetPart::ValueFilter => Some(1),
        TargetPart::Scope if is_of_entry => Some(2),
        TargetPart::Right if is_of_entry => Some(3),
        TargetPart::Target if is_of_entry => Some(4),
        _ => None,
    }
}

fn distance(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Denies | Outcome::Invalid(_) | Outcome::Allows => 0,
        Outcome::AllowsOthers(failed) | Outcome::DeniesOthers(failed) => failed.len(),
        Outcome::IsAboutOther(_) => usize::MAX,
    }
}

/// Where it stands, its text with what counts marked, and what came of it.
fn put_instruction(out: &mut Vec<String>, considered: &Considered, width: usize) {
    out.push(format!("      {}", place_and_name(considered)));
    let (parts, note): (&[FailedCondition], String) = match &considered.outcome {
        Outcome::AllowsOthers(failed) | Outcome::DeniesOthers(failed) => (failed, failed_note(failed)),
        Outcome::Allows => (&[], "it allows this".to_owned()),
        Outcome::Denies => (&[], "it denies this".to_owned()),
        Outcome::IsAboutOther(part) => (&[], other(*part, &considered.text).to_owned()),
        Outcome::Invalid(why) => (&[], format!("it is not valid, so it denies everything here: {why}")),
    };
    let spans: Vec<_> = parts.iter().map(|failed| failed.span.clone()).collect();
    let room = width.saturating_sub(8);
    out.extend(marked(&considered.text, &spans, room).into_iter().map(|line| format!("        {line}")));
    out.push(format!("        -> {note}"));
    let wrong = parts.iter().flat_map(|failed| &failed.wrong_names).chain(&considered.wrong_names);
    out.extend(wrong.map(|wrong| format!("        -> {wrong}")));
}

/// Where an instruction stands, and its name.
pub fn place_and_name(considered: &Considered) -> String {
    match considered.name.as_str() {
        "" => place(considered),
        name => format!("{} \"{name}\"", place(considered)),
    }
}

/// Where an instruction stands.
pub fn place(considered: &Considered) -> String {
    explanation::place(considered.holder.as_deref(), considered.position + 1)
}

fn failed_note(failed: &[FailedCondition]) -> String {
    let undefined = failed.iter().filter(|one| one.is_undefined).count();
    match (failed.len(), undefined) {
        (0, _) => "its rule is not true of this client".to_owned(),
        (1, 0) => "the marked condition is not true of this client".to_owned(),
        (1, _) => "the marked condition cannot be told".to_owned(),
        (_, 0) => "the marked conditions are not true of this client".to_owned(),
        _ => "the marked conditions are not true of this client, or cannot be told".to_owned(),
    }
}

fn other(part: TargetPart, text: &str) -> &'static str {
    let has_attributes =
        || aci::parse_as(text, aci::Reading::Import).is_ok_and(|it| it.aci.targets.attributes.is_some());
    match part {
        TargetPart::Target => "its target is other entries",
        TargetPart::Scope => "its targetscope does not reach this entry",
        TargetPart::Attribute if has_attributes() => "its targetattr does not list this attribute",
        TargetPart::Attribute => "it has no targetattr, so it is about the entry and not about its attributes",
        TargetPart::Filter => "its targetfilter does not match this entry",
        TargetPart::ValueFilter => "its targattrfilters do not match the values",
        TargetPart::Move => "its target_from or target_to is another place",
        TargetPart::ControlOrExtension => "it is about controls or extended operations",
        TargetPart::Right => "it does not list this right",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "(targetattr=\"mail\")(version 3.0; acl \"staff\"; allow (read) groupdn=\"ldap:///cn=staff,o=x\";)";

    fn considered(outcome: Outcome) -> Considered {
        let holder = Some("o=x".to_owned());
        let (name, text, wrong_names) = ("staff".to_owned(), TEXT.to_owned(), Vec::new());
        Considered { holder, position: 1, name, text, outcome, wrong_names }
    }

    fn decision(granted: bool, reason: Reason, outcome: Outcome) -> Decision {
        let explanation = Explanation { granted, reason, instructions: vec![considered(outcome)] };
        let attribute = Some("mail".to_owned());
        let what = What::Right { right: Right::Read, dn: "uid=ann,o=x".to_owned(), attribute, value: None };
        Decision {
            granted,
            asker: "uid=bob,o=x".to_owned(),
            dn: "uid=ann,o=x".to_owned(),
            exists: true,
            needs: vec![Need { what, granted, explanation: Some(explanation) }],
            told: None,
        }
    }

    #[test]
    fn a_refusal_shows_what_came_close_and_what_was_missing() {
        let begin = TEXT.find("groupdn").unwrap();
        let failed = FailedCondition {
            span: begin..begin + 30,
            is_undefined: false,
            wrong_names: vec!["no such group".to_owned()],
        };
        let refused = decision(false, Reason::NobodyGrants, Outcome::AllowsOthers(vec![failed]));
        let carets = format!("        {}{}", " ".repeat(begin), "^".repeat(30));
        assert_eq!(
            lines(&refused, false, 120),
            [
                "Refused to uid=bob,o=x: no right to read mail of \"uid=ann,o=x\"",
                "",
                "NO  right to read mail of \"uid=ann,o=x\"",
                "    No instruction grants it.",
                "    These came close:",
                "      aci number 2 of \"o=x\" \"staff\"",
                &format!("        {TEXT}"),
                &carets,
                "        -> the marked condition is not true of this client",
                "        -> no such group",
            ]
        );
    }

    #[test]
    fn a_grant_names_its_instruction() {
        let granted = decision(true, Reason::Allowed(0), Outcome::Allows);
        let lines = lines(&granted, false, 120);
        assert_eq!(lines[0], "Granted to uid=bob,o=x");
        assert_eq!(lines[3..5], ["    Granted by:", "      aci number 2 of \"o=x\" \"staff\""]);
        let elsewhere = decision(false, Reason::NothingApplies, Outcome::IsAboutOther(TargetPart::Attribute));
        assert_eq!(super::lines(&elsewhere, false, 120)[3..5], [NOTHING, "    Nearest to it are:",]);
        assert!(super::lines(&elsewhere, true, 120).iter().any(|line| line.contains("targetattr does not list")));
    }

    #[test]
    fn everything_that_denies_is_told_before_what_came_close() {
        let explanation = Explanation {
            granted: false,
            reason: Reason::Denied(0),
            instructions: vec![
                Considered { name: "first".to_owned(), ..considered(Outcome::Denies) },
                Considered { name: "others".to_owned(), ..considered(Outcome::AllowsOthers(Vec::new())) },
                Considered {
                    name: "second".to_owned(),
                    wrong_names: vec!["there is no such group".to_owned()],
                    ..considered(Outcome::Denies)
                },
            ],
        };
        let mut refused = decision(false, Reason::NobodyGrants, Outcome::Denies);
        refused.needs[0].explanation = Some(explanation.clone());
        let told = lines(&refused, false, 120);
        let at = |wanted: &str| told.iter().position(|line| line.contains(wanted)).unwrap();
        let places = ["    Denied by:", "\"first\"", "\"second\"", "no such group", "came close", "\"others\""].map(at);
        assert!(places.is_sorted(), "{told:#?}");
        let reason = Reason::GrantsAreDenied;
        refused.needs[0].explanation = Some(Explanation { reason, ..explanation });
        let told = lines(&refused, true, 120);
        assert_eq!(told[3], GRANTS_ARE_DENIED);
        assert!(!told.iter().any(|line| line.contains("No instruction grants")), "{told:#?}");
    }

    #[test]
    fn what_was_told_is_not_told_again() {
        let mut refused = decision(false, Reason::NobodyGrants, Outcome::AllowsOthers(Vec::new()));
        let what = What::Shows { dn: "uid=ann,o=x".to_owned() };
        refused.needs.insert(0, Need { what, ..refused.needs[0].clone() });
        let lines = lines(&refused, false, 120);
        assert_eq!(lines.last().unwrap(), "    As above, under: \"uid=ann,o=x\" shows");
        assert_eq!(lines.iter().filter(|line| line.contains("staff")).count(), 2);
    }

    #[test]
    fn what_has_no_targetattr_is_said_to_have_none() {
        let far = |text: &str| {
            let outcome = Outcome::IsAboutOther(TargetPart::Attribute);
            let one = Considered { text: text.to_owned(), ..considered(outcome) };
            (nearness(&one), other(TargetPart::Attribute, &one.text))
        };
        assert_eq!(far(TEXT), (Some(1), "its targetattr does not list this attribute"));
        let without = TEXT.trim_start_matches("(targetattr=\"mail\")");
        assert!(far(without).1.starts_with("it has no targetattr"));
        assert_eq!(far(&TEXT.replace("allow", "deny")).0, None);
        let global = Considered { holder: None, ..considered(Outcome::IsAboutOther(TargetPart::Right)) };
        assert_eq!(nearness(&global), None);
    }

    #[test]
    fn a_missing_entry_is_said_to_be_missing() {
        let missing = Decision { dn: "uid=x,o=x".to_owned(), ..Decision::default() };
        assert_eq!(answer(&missing), "Refused: there is no entry \"uid=x,o=x\"");
    }
}
