//! `index-advice`: which searches an index would help, as the running server noted them, and the commands that make the
//! index.

use std::env;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use ldap::Scope;
use serde_json::{Value, json};
use store::index::Distrust;

use crate::client::Client;
use crate::failure::{Context, Failure, Outcome};
use crate::instance;
use crate::output::outln;
use crate::server_options::ServerOptions;
use crate::table::Table;
use crate::terminal::Progress;

/// Tools that an advice may name.
const TOOLS: [&str; 2] = ["dsconfig", "rebuild-index"];

/// So often is it looked whether an index is built.
const POLL: Duration = Duration::from_millis(250);
/// An index that makes no progress for so long is given up.
const STUCK_AFTER: Duration = Duration::from_secs(60);

#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    server: ServerOptions,
    /// Print JSON
    #[arg(long = "json")]
    json: bool,
    /// Create the indexes on the running server
    #[arg(long = "apply")]
    apply: bool,
}

/// What the server noted of searches of one shape.
struct Shape {
    backend: String,
    noted: Value,
}

impl Shape {
    fn text(&self, member: &str) -> &str {
        self.noted[member].as_str().unwrap_or_default()
    }

    fn number(&self, member: &str) -> u64 {
        self.noted[member].as_u64().unwrap_or_default()
    }

    fn advice(&self) -> &[Value] {
        self.noted["advice"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// What to do, in few words.
    fn advice_text(&self) -> String {
        let words = self.advice().iter().map(|advice| {
            let attribute = advice["attribute"].as_str().unwrap_or_default();
            match (advice["indexType"].as_str(), advice["indexEntryLimit"].as_u64()) {
                (Some(kind), _) => format!("{kind} index of {attribute}"),
                (None, Some(limit)) => format!("index-entry-limit of {attribute} to {limit}"),
                (None, None) => format!("rebuild the index of {attribute}"),
            }
        });
        let words: Vec<String> = words.collect();
        if words.is_empty() { "none would help".to_owned() } else { words.join("; ") }
    }
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let config = instance::open(directory)?;
    let mut client = Client::connect(&config, &options.server)?;
    let shapes = read(&mut client)?;
    let commands = commands(&shapes);
    if options.json {
        let told: Vec<Value> = shapes.iter().map(with_backend).collect();
        outln!("{:#}", json!({ "shapes": told, "commands": commands }));
    } else {
        print(directory, &shapes, &commands, options.apply);
    }
    if options.apply && !commands.is_empty() {
        for command in &commands {
            apply(directory, command, options.json)?;
        }
        wait_until_built(directory, &mut client, &shapes)?;
        if !options.json {
            outln!("\nThe advised indexes are built and in use.");
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn read(client: &mut Client) -> Result<Vec<Shape>, Failure> {
    let found = client.search("cn=monitor", Scope::WholeSubtree, "(objectClass=*)", &[])?;
    let mut shapes = Vec::new();
    for entry in found {
        let backend = entry.values("ds-backend-id").first().cloned().unwrap_or_default();
        for value in entry.values("index-advice") {
            let noted = serde_json::from_str(value).context(format_args!("the advice of \"{backend}\""))?;
            shapes.push(Shape { backend: backend.clone(), noted });
        }
    }
    // What cost most first, whichever backend it is in.
    shapes.sort_by_key(|shape| std::cmp::Reverse(shape.number("totalMicroseconds")));
    Ok(shapes)
}

fn with_backend(shape: &Shape) -> Value {
    let mut told = shape.noted.clone();
    if let Some(members) = told.as_object_mut() {
        members.insert("backendID".to_owned(), shape.backend.clone().into());
    }
    told
}

/// The commands, each once, what helps most first.
fn commands(shapes: &[Shape]) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    for command in shapes.iter().flat_map(Shape::advice).filter_map(|advice| advice["command"].as_str()) {
        if !commands.iter().any(|known| known == command) {
            commands.push(command.to_owned());
        }
    }
    commands
}

fn print(directory: &Path, shapes: &[Shape], commands: &[String], is_applied: bool) {
    if shapes.is_empty() {
        outln!("No search since the server started would have been helped by an index.");
        return;
    }
    let mut table =
        Table::new(&["Searches", "Unindexed", "Examined", "Returned", "Worst etime", "Scope", "Shape", "Advice"]);
    for shape in shapes {
        table.row(vec![
            shape.number("count").to_string(),
            shape.number("unindexed").to_string(),
            shape.number("examined").to_string(),
            shape.number("returned").to_string(),
            milliseconds(shape.number("worstMicroseconds")),
            shape.text("scope").to_owned(),
            shape.text("shape").to_owned(),
            shape.advice_text(),
        ]);
    }
    table.print();
    if !is_applied && !commands.is_empty() {
        let instance = directory.display();
        outln!(
            "\nTo follow all of it on the running server: pando index-advice --apply --instance {instance}\n\
             Or one by one:\n"
        );
        for command in commands {
            outln!("pando {command} --instance {instance}");
        }
    }
}

/// `12.3 ms`
fn milliseconds(us: u64) -> String {
    format!("{}.{} ms", us / 1000, us % 1000 / 100)
}

/// Runs a command line of the server's with this binary.
fn apply(directory: &Path, command: &str, quiet: bool) -> Result<(), Failure> {
    let words = words(command);
    let tool = words.first().map(String::as_str).unwrap_or_default();
    if !TOOLS.contains(&tool) {
        return Err(Failure::new(format_args!("\"{command}\" is no advice that this tool follows")));
    }
    let mut program = Command::new(env::current_exe().context("this program")?);
    program.args(&words).arg("--instance").arg(directory);
    if quiet {
        program.stdout(Stdio::null());
    } else {
        outln!("\npando {command}");
    }
    let status = program.status().context(tool)?;
    if status.success() { Ok(()) } else { Err(Failure::new(format_args!("\"pando {command}\" failed: {status}"))) }
}

/// Waits until the server has taken up what was advised and has built it, so that what is tried next shows what it is
/// good for.
fn wait_until_built(directory: &Path, client: &mut Client, shapes: &[Shape]) -> Result<(), Failure> {
    let commands = commands(shapes);
    let progress = Progress::new("building", None, false);
    let (mut before, mut changed) = (None, Instant::now());
    loop {
        // The monitor forgets advice as soon as the server has such an index.
        let open = self::commands(&read(client)?);
        let pending: Vec<&String> = commands.iter().filter(|command| open.contains(command)).collect();
        let building = building(directory, shapes)?;
        let what = match (pending.first(), building.first()) {
            (Some(command), _) => format!("\"pando {command}\" has not taken effect"),
            (None, Some((name, _))) => format!("{name} is not being built"),
            (None, None) => return Ok(()),
        };
        if let Some((name, Distrust::Building { entries })) = building.first() {
            progress.at(*entries, format!("{name}, {} entries", *entries));
        }
        let now = Some((pending.len(), building));
        if now != before {
            changed = Instant::now();
        } else if changed.elapsed() > STUCK_AFTER {
            return Err(Failure::new(format_args!("{what}: the server's error log says why")));
        }
        before = now;
        std::thread::sleep(POLL);
    }
}

/// The advised indexes that searches cannot use yet.
fn building(directory: &Path, shapes: &[Shape]) -> Result<Vec<(String, Distrust)>, Failure> {
    // Read again each time: the commands have changed the configuration.
    let config = instance::open(directory)?;
    let schema = instance::schema(&config)?;
    let mut building = Vec::new();
    for backend in &config.backends {
        let advice = || shapes.iter().filter(|shape| shape.backend == backend.id).flat_map(Shape::advice);
        if advice().next().is_none() {
            continue;
        }
        let snapshot = instance::reader(&config, backend, &schema)?.snapshot()?;
        let indexes = snapshot.indexes();
        for untrusted in indexes.untrusted() {
            let Some(index) = indexes.set().get(untrusted.id) else { continue };
            let attribute = index.name.split('.').next().unwrap_or_default();
            let is_own =
                |advice: &Value| advice["attribute"].as_str().is_some_and(|it| it.eq_ignore_ascii_case(attribute));
            if advice().any(is_own) {
                building.push((index.name.clone(), untrusted.why));
            }
        }
    }
    Ok(building)
}

/// The words of a command line, with single quotes and backslashes as a shell reads them.
fn words(command: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut is_open, mut is_quoted) = (false, false);
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        if c == ' ' && !is_quoted {
            is_open = false;
            continue;
        }
        if !is_open {
            words.push(String::new());
            is_open = true;
        }
        match c {
            '\'' => is_quoted = !is_quoted,
            '\\' if !is_quoted => words.iter_mut().last().into_iter().for_each(|word| word.extend(chars.next())),
            c => words.iter_mut().last().into_iter().for_each(|word| word.push(c)),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_are_split_as_a_shell_does() {
        let line = "rebuild-index --baseDN 'dc=a b,dc=c'  --index 'it'\\''s' ''";
        assert_eq!(words(line), ["rebuild-index", "--baseDN", "dc=a b,dc=c", "--index", "it's", ""]);
    }

    #[test]
    fn each_command_comes_once_and_advice_reads_well() {
        let shape = |advice: Value| Shape { backend: "b".to_owned(), noted: json!({ "advice": advice }) };
        let shapes = [
            shape(json!([{ "attribute": "l", "indexType": "equality", "command": "dsconfig a" }])),
            shape(json!([
                { "attribute": "l", "indexType": "equality", "command": "dsconfig a" },
                { "attribute": "sn", "indexEntryLimit": 6000, "command": "dsconfig b" },
            ])),
            shape(json!([{ "attribute": "cn", "rebuild": true, "command": "rebuild-index c" }])),
            shape(json!([])),
        ];
        assert_eq!(commands(&shapes), ["dsconfig a", "dsconfig b", "rebuild-index c"]);
        assert_eq!(shapes[1].advice_text(), "equality index of l; index-entry-limit of sn to 6000");
        assert_eq!(shapes[2].advice_text(), "rebuild the index of cn");
        assert_eq!(shapes[3].advice_text(), "none would help");
        assert_eq!(milliseconds(1_234_567), "1234.5 ms");
    }
}
