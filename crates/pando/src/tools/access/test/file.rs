//! The file of expectations: TOML with a table `[[expect]]` for each, and short names in `[names]`.
//!
//! Reads and checks the words; asks nobody.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Range;

use clap::ValueEnum;
use durable::ReadBound;
use nearest::hint;
use toml_edit::{Document, Item, TableLike, Value};

use super::fault::{Fault, Faults};
use crate::tools::access::client::{self, ConnectionOptions};
use crate::tools::access::request::{ChangeKind, Operation, Part, Request};
use crate::tools::time;

/// Longest file that is read.
pub const FILE: ReadBound = ReadBound::stream(16 << 20);

/// Decisions that one file may ask for.
const DECISIONS_MAX: usize = 1_000_000;

/// What `[[expect]]` may say.
const KEYS: [&str; 20] = [
    "name",
    "as",
    "op",
    "dn",
    "attr",
    "value",
    "change",
    "filter",
    "new-rdn",
    "new-superior",
    "keep-old-rdn",
    "oid",
    "ip",
    "host",
    "ssf",
    "auth",
    "at",
    "allowed",
    "because",
    "missing",
];

/// One decision that is expected.
#[derive(Debug, Clone)]
pub struct Expected {
    /// Line of the expectation.
    pub line: usize,
    /// Its name, if it has one.
    pub name: String,
    /// Who asks.
    pub user: String,
    /// What is asked for.
    pub request: Request,
    /// Over which connection, and when.
    pub connection: ConnectionOptions,
    /// Whether it is to be granted.
    pub allowed: bool,
    /// The name of the instruction that is to decide.
    pub because: Option<String>,
    /// Whether there need not be such an entry.
    pub may_be_missing: bool,
}

/// The decisions that a text expects, in its order.
pub fn parse(file: &str, text: &str) -> Result<Vec<Expected>, Faults> {
    let mut reading = Reading { file, text, faults: Vec::new(), names: BTreeMap::new() };
    let mut expected = Vec::new();
    match Document::parse(text) {
        Ok(document) => reading.document(document.as_table(), &mut expected),
        Err(error) => {
            let message = format!("this is not TOML: {}", error.message().replace('\n', "; "));
            reading.fault(error.span(), message);
        }
    }
    if reading.faults.is_empty() { Ok(expected) } else { Err(Faults(reading.faults)) }
}

struct Reading<'t> {
    file: &'t str,
    text: &'t str,
    faults: Vec<Fault>,
    names: BTreeMap<String, String>,
}

/// One `[[expect]]`.
struct Table<'t> {
    table: &'t dyn TableLike,
    line: usize,
}

impl<'t> Reading<'t> {
    fn line_of(&self, span: Option<Range<usize>>) -> usize {
        let begin = span.map_or(0, |span| span.start);
        self.text.get(..begin).unwrap_or_default().matches('\n').count() + 1
    }

    fn fault(&mut self, span: Option<Range<usize>>, message: impl Into<String>) {
        let line = self.line_of(span);
        self.fault_at(line, message);
    }

    fn fault_at(&mut self, line: usize, message: impl Into<String>) {
        self.faults.push(Fault { file: self.file.to_owned(), line, message: message.into() });
    }

    fn document(&mut self, document: &dyn TableLike, expected: &mut Vec<Expected>) {
        for (key, item) in document.iter() {
            let span = document.key(key).and_then(toml_edit::Key::span);
            match key {
                "names" => self.names(item, span),
                "expect" => {}
                _ => self.fault(span, format!("there is no table \"{key}\": {}", hint(key, &["names", "expect"]))),
            }
        }
        match document.get("expect") {
            Some(Item::ArrayOfTables(tables)) => {
                for table in tables {
                    self.expectation(&Table { line: self.line_of(table.span()), table }, expected);
                }
            }
            Some(item) => self.fault(item.span(), "\"expect\" must be a list of tables: write [[expect]]"),
            None => self.fault(None, "nothing is expected: write a table [[expect]] for each expectation"),
        }
        if expected.len() > DECISIONS_MAX {
            self.fault(None, format!("{} decisions are expected; at most {DECISIONS_MAX} are allowed", expected.len()));
        }
    }

    fn names(&mut self, item: &Item, span: Option<Range<usize>>) {
        let Some(table) = item.as_table_like() else {
            return self.fault(span, "\"names\" must be a table: write [names]");
        };
        for (name, item) in table.iter() {
            match item.as_str() {
                Some(dn) => drop(self.names.insert(name.to_owned(), dn.to_owned())),
                None => self.fault(item.span(), format!("the name \"{name}\" must be a DN in quotes")),
            }
        }
    }

    fn expectation(&mut self, table: &Table<'_>, expected: &mut Vec<Expected>) {
        let before = self.faults.len();
        for (key, _) in table.table.iter() {
            if !KEYS.contains(&key) {
                let span = table.table.key(key).and_then(toml_edit::Key::span);
                self.fault(span, format!("there is no \"{key}\": {}", hint(key, &KEYS)));
            }
        }
        let users = self.required_list(table, "as");
        let operation = self.word(table, "op").unwrap_or(Operation::Read);
        let dns = match operation {
            Operation::Extended => vec![String::new()],
            _ => self.required_list(table, "dn"),
        };
        self.check_parts(table, operation);
        let Some(allowed) = self.boolean(table, "allowed") else {
            return self.missing(table, "allowed", "allowed = true or allowed = false");
        };
        let attributes = self.list(table, "attr");
        let request = Request {
            operation,
            dn: String::new(),
            attributes: Vec::new(),
            values: self.list(table, "value"),
            change: self.word(table, "change").unwrap_or(ChangeKind::Add),
            filter: self.text(table, "filter"),
            new_rdn: self.text(table, "new-rdn"),
            new_superior: self.text(table, "new-superior").map(|name| self.meant(&name)),
            keep_old_rdn: self.boolean(table, "keep-old-rdn").unwrap_or(false),
            oid: self.text(table, "oid"),
        };
        let connection = self.connection(table);
        let may_be_missing = self.boolean(table, "missing").unwrap_or(false);
        let (name, because) = (self.text(table, "name").unwrap_or_default(), self.text(table, "because"));
        // Each attribute is a decision of its own, but for a search, which asks for all of them.
        let sets: Vec<Vec<String>> = match operation {
            Operation::Read | Operation::Compare | Operation::Modify => {
                if attributes.is_empty() {
                    self.missing(table, "attr", "attr = \"mail\"");
                }
                attributes.into_iter().map(|one| vec![one]).collect()
            }
            _ => vec![attributes],
        };
        if self.faults.len() > before || users.len() * dns.len() * sets.len() > DECISIONS_MAX {
            if self.faults.len() == before {
                self.fault_at(table.line, format!("one expectation asks for at most {DECISIONS_MAX} decisions"));
            }
            return;
        }
        for user in &users {
            for dn in &dns {
                for attributes in &sets {
                    let request = Request { dn: dn.clone(), attributes: attributes.clone(), ..request.clone() };
                    expected.push(Expected {
                        line: table.line,
                        name: name.clone(),
                        user: user.clone(),
                        request,
                        connection: connection.clone(),
                        allowed,
                        because: because.clone(),
                        may_be_missing,
                    });
                }
            }
        }
    }

    /// Refuses keys that the operation would ignore.
    fn check_parts(&mut self, table: &Table<'_>, operation: Operation) {
        for part in Part::ALL.into_iter().filter(|part| !operation.parts().contains(part)) {
            if let Some(item) = table.table.get(part.key()) {
                let taken = operation.parts().iter().map(|part| part.key()).collect::<Vec<_>>().join(", ");
                let name = operation.name();
                self.fault(item.span(), format!("\"{}\" is not for op = \"{name}\": it takes {taken}", part.key()));
            }
        }
    }

    fn connection(&mut self, table: &Table<'_>) -> ConnectionOptions {
        let ip = self.parsed(table, "ip", |text| text.parse::<IpAddr>().map_err(|_| "it is no address".to_owned()));
        let ssf = match table.table.get("ssf").map(|item| (item.as_integer(), item.span())) {
            None => 0,
            Some((Some(bits), span)) => u32::try_from(bits).unwrap_or_else(|_| {
                self.fault(span, "\"ssf\" must be a number of bits from 0");
                0
            }),
            Some((None, span)) => {
                self.fault(span, "\"ssf\" must be a number of bits");
                0
            }
        };
        ConnectionOptions {
            ip,
            host: self.text(table, "host"),
            ssf,
            auth: self.parsed(table, "auth", client::authentication),
            at: self.parsed(table, "at", time::parse),
        }
    }

    fn missing(&mut self, table: &Table<'_>, key: &str, example: &str) {
        self.fault_at(table.line, format!("the expectation has no \"{key}\": write {example}"));
    }

    /// A short name as it is meant.
    fn meant(&self, name: &str) -> String {
        self.names.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }

    fn required_list(&mut self, table: &Table<'_>, key: &str) -> Vec<String> {
        let list: Vec<String> = self.list(table, key).iter().map(|name| self.meant(name)).collect();
        if list.is_empty() {
            self.missing(table, key, &format!("{key} = \"uid=ann,ou=People,dc=example,dc=com\""));
        }
        list
    }

    /// One text, or a list of them.
    fn list(&mut self, table: &Table<'_>, key: &str) -> Vec<String> {
        let Some(item) = table.table.get(key) else { return Vec::new() };
        if let Some(text) = item.as_str() {
            return vec![text.to_owned()];
        }
        let texts: Option<Vec<String>> =
            item.as_array().and_then(|list| list.iter().map(|one| one.as_str().map(str::to_owned)).collect());
        texts.unwrap_or_else(|| {
            self.fault(item.span(), format!("\"{key}\" must be a text in quotes, or a list of such"));
            Vec::new()
        })
    }

    fn text(&mut self, table: &Table<'_>, key: &str) -> Option<String> {
        let item = table.table.get(key)?;
        let text = item.as_str().map(str::to_owned);
        if text.is_none() {
            self.fault(item.span(), format!("\"{key}\" must be a text in quotes"));
        }
        text
    }

    fn parsed<T>(&mut self, table: &Table<'_>, key: &str, parse: fn(&str) -> Result<T, String>) -> Option<T> {
        let text = self.text(table, key)?;
        match parse(&text) {
            Ok(parsed) => Some(parsed),
            Err(why) => {
                let span = table.table.get(key).and_then(Item::span);
                self.fault(span, format!("\"{key}\" is not valid: {why}"));
                None
            }
        }
    }

    fn boolean(&mut self, table: &Table<'_>, key: &str) -> Option<bool> {
        let item = table.table.get(key)?;
        match item.as_value() {
            Some(Value::Boolean(is)) => Some(*is.value()),
            _ => {
                self.fault(item.span(), format!("\"{key}\" must be true or false"));
                None
            }
        }
    }

    fn word<W: ValueEnum>(&mut self, table: &Table<'_>, key: &str) -> Option<W> {
        let text = self.text(table, key)?;
        let parsed = W::from_str(&text, true);
        if parsed.is_err() {
            let known: Vec<_> = W::value_variants().iter().filter_map(ValueEnum::to_possible_value).collect();
            let known: Vec<&str> = known.iter().map(clap::builder::PossibleValue::get_name).collect();
            let span = table.table.get(key).and_then(Item::span);
            self.fault(span, format!("\"{text}\" is no \"{key}\": {}", hint(&text, &known)));
        }
        parsed.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        parse("t.toml", text).unwrap_err().0.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_expectation_is_a_decision_for_each_user_entry_and_attribute() {
        let text = r#"
[names]
ann = "uid=ann,o=x"

[[expect]]
name = "names are public"
as = ["anonymous", "ann"]
dn = ["ann", "uid=bob,o=x"]
attr = ["cn", "sn"]
ssf = 128
ip = "192.0.2.1"
allowed = true
because = "public"

[[expect]]
as = "ann"
op = "search"
dn = "ann"
attr = ["cn", "sn"]
filter = "(cn=a*)"
allowed = false
"#;
        let expected = parse("t.toml", text).unwrap();
        assert_eq!(expected.len(), 9);
        let first = &expected[3];
        assert_eq!((first.line, first.user.as_str(), first.request.dn.as_str()), (5, "anonymous", "uid=bob,o=x"));
        assert_eq!((first.request.operation, first.connection.ssf), (Operation::Read, 128));
        assert_eq!((&*first.request.attributes, first.because.as_deref()), (&["sn".to_owned()][..], Some("public")));
        let search = &expected[8];
        assert_eq!((search.user.as_str(), search.request.attributes.len(), search.allowed), ("uid=ann,o=x", 2, false));
    }

    #[test]
    fn faults_say_where_and_what_to_do() {
        assert_eq!(
            faults("[[expect]]\nas = \"x\"\ndn = \"o=x\"\natr = \"cn\"\nallowed = true\n"),
            [
                "t.toml:4: there is no \"atr\": did you mean at, attr?",
                "t.toml:1: the expectation has no \"attr\": write attr = \"mail\"",
            ]
        );
        assert_eq!(
            faults("[[expect]]\nas = \"x\"\ndn = \"o=x\"\nop = \"serch\"\nattr = \"cn\"\nallowed = true\n"),
            ["t.toml:4: \"serch\" is no \"op\": did you mean search?"]
        );
        assert_eq!(
            faults("[[expect]]\nas = 7\nop = \"delete\"\ndn = \"o=x\"\nauth = \"magic\"\nallowed = \"yes\"\n"),
            [
                "t.toml:2: \"as\" must be a text in quotes, or a list of such",
                "t.toml:1: the expectation has no \"as\": write as = \"uid=ann,ou=People,dc=example,dc=com\"",
                "t.toml:6: \"allowed\" must be true or false",
                "t.toml:1: the expectation has no \"allowed\": write allowed = true or allowed = false",
            ]
        );
        assert_eq!(
            faults("[[expect]]\nas = \"x\"\ndn = \"o=x\"\nop = \"delete\"\nattr = \"cn\"\nallowed = true\n"),
            ["t.toml:5: \"attr\" is not for op = \"delete\": it takes dn"]
        );
        assert_eq!(faults("x = 1\n").len(), 2);
        assert_eq!(faults("[[expect]\n").len(), 1);
        assert!(faults("")[0].contains("nothing is expected"));
    }
}
