//! `access who-can`: everybody who has a right to an entry or attribute, by the instruction that gives it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use access::Right;
use access::explanation::{Considered, Reason};
use clap::Args;
use directory::{Asked, Decision, Directory, What};
use ldap::Scope;
use nearest::hint;
use serde_json::json;

use super::client::{ANONYMOUS, ConnectionOptions};
use super::names::{check_attribute, check_dn};
use super::searching::{self, search};
use super::source::{Source, SourceOptions};
use super::text::place_and_name;
use super::unsaid;
use crate::failure::{Failure, Outcome};
use crate::output::outln;
use crate::table::Table;

/// Users that are looked at.
const USERS_MAX: usize = 10_000_000;

/// Who may be somebody that binds.
const USERS: &str = "(|(userPassword=*)(authPassword=*)(objectClass=person)(objectClass=account)\
                     (objectClass=simpleSecurityObject))";

#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  pando access who-can read userPassword on uid=ann,ou=People,dc=example,dc=com\n  \
    pando access who-can write mail on uid=ann,ou=People,dc=example,dc=com --list\n  pando access who-can delete on \
    ou=People,dc=example,dc=com\n\nRights: read, search, compare, write, selfwrite (with an attribute), add, delete, \
    import, export, proxy, moddn."
)]
pub struct Options {
    /// A right, an attribute where it is about one, "on" and the DN of the entry
    #[arg(value_names = ["RIGHT", "[ATTRIBUTE] on", "DN"], required = true, num_args = 3..=4)]
    question: Vec<String>,
    /// Name every user
    #[arg(long = "list")]
    list: bool,
    #[command(flatten)]
    connection: ConnectionOptions,
    #[command(flatten)]
    source: SourceOptions,
    /// Print JSON
    #[arg(long = "json")]
    json: bool,
}

/// What is asked for.
struct Question {
    right: Right,
    attribute: Option<String>,
    dn: String,
}

/// Everybody to whom one instruction, or a privilege, gives the right.
struct Class {
    why: String,
    text: String,
    users: Vec<String>,
}

/// Who may, and how many have the right, but lack the privilege that is needed besides.
struct Able {
    classes: Vec<Class>,
    without: BTreeMap<&'static str, usize>,
    /// What is taken of the connection, where rules look at it.
    assumed: Vec<String>,
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let question = Question::parse(&options.question)?;
    let source = Source::open(directory, &options.source)?;
    check_dn(&source.directory.schema(), &question.dn)?;
    if let Some(name) = &question.attribute {
        check_attribute(&source.directory.schema(), name)?;
    }
    let able = able(&source.directory, &question, &options.connection)?;
    if options.json {
        print_json(&question, &able);
    } else {
        print_text(&question, &able.classes, options.list);
        for (privilege, users) in &able.without {
            let have = if *users == 1 { "user has" } else { "users have" };
            outln!("\n{users} {have} the right, but not the privilege {privilege}.");
        }
        if !able.assumed.is_empty() {
            outln!("");
            able.assumed.iter().for_each(|line| outln!("{line}"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl Question {
    fn parse(words: &[String]) -> Result<Self, Failure> {
        let (right, attribute, dn) = match words {
            [right, on, dn] if on == "on" => (right, None, dn),
            [right, attribute, on, dn] if on == "on" => (right, Some(attribute.clone()), dn),
            _ => return Err(Failure::new("write it as: who-can RIGHT [ATTRIBUTE] on DN")),
        };
        let known = Right::ALL.into_iter().find(|known| known.as_str().eq_ignore_ascii_case(right));
        let right = known.ok_or_else(|| {
            Failure::new(format_args!("\"{right}\" is not a right: {}", hint(right, &Right::ALL.map(Right::as_str))))
        })?;
        let needs_attribute =
            matches!(right, Right::Read | Right::Search | Right::Compare | Right::Write | Right::SelfWrite);
        match (needs_attribute, &attribute) {
            (true, None) => Err(Failure::new(format_args!(
                "{0} is a right to an attribute: name it, as in who-can {0} mail on {dn}",
                right.as_str()
            ))),
            (false, Some(attribute)) => {
                let values = match right {
                    Right::Add | Right::Delete => {
                        format!("; to {} values takes write, as in who-can write {attribute} on {dn}", right.as_str())
                    }
                    _ => String::new(),
                };
                Err(Failure::new(format_args!(
                    "{0} is a right to a whole entry: name no attribute, as in who-can {0} on {dn}{values}",
                    right.as_str()
                )))
            }
            _ => Ok(Self { right, attribute, dn: dn.clone() }),
        }
    }

    /// What so many users may do; 0: nobody.
    fn answer(&self, users: usize) -> String {
        let attribute = self.attribute.as_ref().map_or(String::new(), |name| format!(" {name} of"));
        let right = self.right.as_str();
        let is_verb = matches!(
            self.right,
            Right::Read | Right::Search | Right::Compare | Right::Write | Right::Add | Right::Delete
        );
        let has = if users > 1 { "have" } else { "has" };
        match is_verb {
            true => format!("may {right}{attribute} \"{}\"", self.dn),
            false if self.attribute.is_some() => format!("{has} the right {right} to{attribute} \"{}\"", self.dn),
            false => format!("{has} the right {right} to \"{}\"", self.dn),
        }
    }
}

/// Asks for everybody: anonymous clients, root users, users with an entry.
fn able(directory: &Directory, question: &Question, connection: &ConnectionOptions) -> Result<Able, Failure> {
    let now = connection.unix_seconds();
    let root = directory.administrator_session(0, Instant::now());
    let mut users = vec![String::new()];
    users.extend(directory.config().root_users.iter().flat_map(|user| user.bind_dns.iter().cloned()));
    let bases = directory.backends().iter().flat_map(|backend| &backend.suffixes);
    for base in bases.map(|suffix| suffix.dn.clone()).collect::<Vec<_>>() {
        let asked = searching::Asked {
            base,
            scope: Scope::WholeSubtree,
            filter: USERS.to_owned(),
            attributes: vec!["1.1".to_owned()],
        };
        let found = search(directory, &root, &asked, now, USERS_MAX)?;
        users.extend(found.entries.into_keys());
    }
    let mut classes: BTreeMap<String, Class> = BTreeMap::new();
    let mut without: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut assumed = Vec::new();
    for user in users {
        let session = connection.session(directory, &user)?;
        let asked = Asked::Right { dn: &question.dn, right: question.right, attribute: question.attribute.as_deref() };
        let decision = directory.explain(&session, asked, now)?;
        if !decision.exists {
            return Err(Failure::new(format_args!("there is no entry \"{}\"", question.dn)));
        }
        decision.needs.iter().for_each(|need| unsaid::assumed(need, connection, &mut assumed));
        let lacking = decision.refused().find_map(|need| match need.what {
            What::Privilege(privilege) => Some(privilege),
            _ => None,
        });
        if let Some(privilege) = lacking.filter(|_| decision.refused().count() == 1) {
            *without.entry(privilege.name()).or_default() += 1;
        }
        if decision.granted {
            let (why, text) = why(&decision);
            let class = classes.entry(why.clone()).or_insert_with(|| Class { why, text, users: Vec::new() });
            class.users.push(if user.is_empty() { ANONYMOUS.to_owned() } else { user });
        }
    }
    Ok(Able { classes: classes.into_values().collect(), without, assumed })
}

/// What gives the right, and the rule that says to whom.
fn why(decision: &Decision) -> (String, String) {
    let rights = decision.needs.iter().filter(|need| matches!(need.what, What::Right { .. }));
    let explanation = rights.filter_map(|need| need.explanation.as_ref()).next_back();
    match explanation.map(|explanation| (explanation.reason, explanation)) {
        Some((Reason::Allowed(at), explanation)) => match explanation.instructions.get(at) {
            Some(considered) => (place_and_name(considered), rule(considered)),
            None => (String::new(), String::new()),
        },
        Some((Reason::BypassAcl, _)) => ("the privilege bypass-acl".to_owned(), String::new()),
        _ => ("the server".to_owned(), String::new()),
    }
}

/// The part of an instruction behind its name.
fn rule(considered: &Considered) -> String {
    let text = considered.text.as_str();
    let begin = text.find("acl").map_or(0, |at| at + "acl".len());
    let rule = text.get(begin..).and_then(|rest| rest.split_once(';')).map_or(text, |(_, rule)| rule);
    rule.trim().trim_end_matches(')').trim().to_owned()
}

fn print_text(question: &Question, classes: &[Class], list: bool) {
    let total: usize = classes.iter().map(|class| class.users.len()).sum();
    if total == 0 {
        return outln!("Nobody {}.", question.answer(0));
    }
    let has_anonymous = classes.iter().any(|class| class.users.iter().any(|user| user == ANONYMOUS));
    let everybody = if has_anonymous { ", anonymous clients among them" } else { "" };
    let noun = if total == 1 { "user" } else { "users" };
    outln!("{total} {noun}{everybody} {}:\n", question.answer(total));
    let mut table = Table::new(&["Users", "Because of", "Rule"]);
    for class in classes {
        table.row(vec![class.users.len().to_string(), class.why.clone(), class.text.clone()]);
    }
    table.print();
    if list {
        for class in classes {
            outln!("\nBecause of {}:", class.why);
            class.users.iter().for_each(|user| outln!("  {user}"));
        }
    } else if total > 1 {
        outln!("\n--list names them.");
    }
}

fn print_json(question: &Question, able: &Able) {
    let classes: Vec<_> = able
        .classes
        .iter()
        .map(|class| {
            let count = class.users.len();
            json!({ "because": class.why, "rule": class.text, "count": count, "users": class.users })
        })
        .collect();
    let value = json!({
        "right": question.right.as_str(),
        "attribute": question.attribute,
        "dn": question.dn,
        "classes": classes,
        "withoutPrivilege": able.without,
        "assumed": able.assumed,
    });
    outln!("{value:#}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Question, String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        Question::parse(&words).map_err(|failure| failure.message().to_owned())
    }

    #[test]
    fn a_question_is_a_right_an_attribute_and_an_entry() {
        let read = parse("read userPassword on uid=ann,o=x").unwrap();
        assert_eq!(
            (read.right, read.attribute.as_deref(), &*read.dn),
            (Right::Read, Some("userPassword"), "uid=ann,o=x")
        );
        assert_eq!(parse("DELETE on o=x").unwrap().right, Right::Delete);
        assert!(parse("read on o=x").err().unwrap().contains("name it"));
        assert!(parse("delete cn on o=x").err().unwrap().ends_with(
            "to delete values takes write, as in who-can \
                                                                    write cn on o=x"
        ));
        assert!(parse("proxy cn on o=x").err().unwrap().ends_with("name no attribute, as in who-can proxy on o=x"));
        assert_eq!(parse("reed cn on o=x").err().unwrap(), "\"reed\" is not a right: did you mean read?");
        assert!(parse("read cn of o=x").err().unwrap().contains("who-can RIGHT"));
    }
}
