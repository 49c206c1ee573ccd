//! A decision as JSON: what tools print and what the control answers.
//!
//! # Members
//! `granted`, `asker` (empty: anonymous), `dn`, `exists`, `told` (what the client of a refused update is told:
//! `resultCode`, `message`), `needs`: a list of objects with `need` (`shows`, `index`, `filter`,
//! `right`, `privilege`, `control`, `extendedOperation`), `granted`, what it is about (`dn`, `right`, `attribute`,
//! `value`, `privilege`, `oid`, `matches`), and where instructions decided `reason`, `decidedBy` and `instructions`. Of
//! an instruction: `holder` (none: the configuration), `number` among the values of the holder, `name`, `text`,
//! `outcome`, `missing`: the parts of the text that are not true of the asker, and of one that denies `wrongNames`.

use access::Privilege;
use access::explanation::{Considered, Explanation, FailedCondition, Outcome, Reason, TargetPart};
use query::json::JsonWriter;

use crate::needs::{Decision, FilterTruth, Need, What};

impl Decision {
    /// One line of JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        JsonWriter::object_text(|json| {
            json.key("granted").truth(self.granted);
            json.key("asker").text(&self.asker);
            json.key("dn").text(&self.dn);
            json.key("exists").truth(self.exists);
            if let Some(told) = &self.told {
                json.key("told").object(|json| {
                    json.key("resultCode").number(u64::try_from(told.code.as_i32()).unwrap_or_default());
                    json.key("message").text(&told.message);
                });
            }
            json.key("needs").list(|json| self.needs.iter().for_each(|need| put_need(json, need)));
        })
    }
}

fn put_need(json: &mut JsonWriter, need: &Need) {
    json.object(|json| {
        match &need.what {
            What::Shows { dn } => {
                json.key("need").text("shows");
                json.key("dn").text(dn);
            }
            What::Unindexed { base } => {
                json.key("need").text("index");
                json.key("privilege").text(Privilege::UnindexedSearch.name());
                json.key("base").text(base);
            }
            What::Filter(truth) => {
                json.key("need").text("filter");
                json.key("matches").text(match truth {
                    FilterTruth::Matches => "yes",
                    FilterTruth::MatchesForOthers => "if everything could be searched",
                    FilterTruth::NoMatch => "no",
                });
            }
            What::Right { right, dn, attribute, value } => {
                json.key("need").text("right");
                json.key("right").text(right.as_str());
                json.key("dn").text(dn);
                attribute.iter().for_each(|name| json.key("attribute").text(name));
                value.iter().for_each(|value| json.key("value").text(value));
            }
            What::Privilege(privilege) => {
                json.key("need").text("privilege");
                json.key("privilege").text(privilege.name());
            }
            What::Control(oid) => {
                json.key("need").text("control");
                json.key("oid").text(oid);
            }
            What::Extended(oid) => {
                json.key("need").text("extendedOperation");
                json.key("oid").text(oid);
            }
        }
        json.key("granted").truth(need.granted);
        if let Some(explanation) = &need.explanation {
            put_explanation(json, explanation);
        }
    });
}

fn put_explanation(json: &mut JsonWriter, explanation: &Explanation) {
    let (reason, by) = match explanation.reason {
        Reason::BypassAcl => ("bypass-acl", None),
        Reason::Allowed(at) => ("allowed", Some(at)),
        Reason::Denied(at) => ("denied", Some(at)),
        Reason::NothingApplies => ("no instruction is about it", None),
        Reason::NobodyGrants => ("no instruction grants it", None),
        Reason::GrantsAreDenied => ("every attribute that is granted is denied", None),
    };
    json.key("reason").text(reason);
    if let Some(decided) = by.and_then(|at| explanation.instructions.get(at)) {
        json.key("decidedBy");
        put_instruction(json, decided);
    }
    json.key("instructions").list(|json| explanation.instructions.iter().for_each(|it| put_instruction(json, it)));
}

fn put_instruction(json: &mut JsonWriter, considered: &Considered) {
    let none: &[FailedCondition] = &[];
    let (outcome, missing) = match &considered.outcome {
        Outcome::Allows => ("allows", none),
        Outcome::Denies => ("denies", none),
        Outcome::AllowsOthers(missing) => ("allows others", missing.as_slice()),
        Outcome::DeniesOthers(missing) => ("denies others", missing.as_slice()),
        Outcome::IsAboutOther(part) => (about_other(*part), none),
        Outcome::Invalid(_) => ("is not valid", none),
    };
    json.object(|json| {
        considered.holder.iter().for_each(|holder| json.key("holder").text(holder));
        json.key("number").number(considered.position as u64 + 1);
        json.key("name").text(&considered.name);
        json.key("text").text(&considered.text);
        json.key("outcome").text(outcome);
        if !missing.is_empty() {
            json.key("missing").list(|json| {
                for failed in missing {
                    json.object(|json| {
                        json.key("condition").text(considered.text.get(failed.span.clone()).unwrap_or_default());
                        json.key("isUndefined").truth(failed.is_undefined);
                        if !failed.wrong_names.is_empty() {
                            json.key("wrongNames").list(|json| failed.wrong_names.iter().for_each(|it| json.text(it)));
                        }
                    });
                }
            });
        }
        if !considered.wrong_names.is_empty() {
            json.key("wrongNames").list(|json| considered.wrong_names.iter().for_each(|it| json.text(it)));
        }
        if let Outcome::Invalid(why) = &considered.outcome {
            json.key("why").text(why);
        }
    });
}

fn about_other(part: TargetPart) -> &'static str {
    match part {
        TargetPart::Target => "is about other entries (target)",
        TargetPart::Scope => "is about other entries (targetscope)",
        TargetPart::Attribute => "is about other attributes (targetattr)",
        TargetPart::Filter => "is about other entries (targetfilter)",
        TargetPart::ValueFilter => "is about other values (targattrfilters)",
        TargetPart::Move => "is about other moves (target_from, target_to)",
        TargetPart::ControlOrExtension => "is about controls or extended operations",
        TargetPart::Right => "is about other rights",
    }
}
