//! `ldapdelete`: deletes entries, or whole subtrees, with the options of OpenDJ's tool.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;
use ldap::oids::control;
use ldap::{ControlBuf, client};

use crate::failure::{Context, Failure, Outcome};
use crate::ldap_client::status::{self, Worst};
use crate::ldap_client::{ControlOptions, Session, SessionOptions};
use crate::output::outln;

/// Longest name that is read from a file.
const NAME_BYTES_MAX: u64 = 1 << 20;

const EXAMPLE: &str = "\
Example: an entry and all below it
  pando ldapdelete -p 1389 -D 'cn=Directory Manager' -w secret12 -x ou=Old,dc=example,dc=com";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLE, next_help_heading = "Deletion")]
pub struct Options {
    /// Names of the entries to delete [default: the lines of standard input]
    #[arg(value_name = "DN")]
    names: Vec<String>,
    /// File with the names of the entries to delete, one a line
    #[arg(short = 'f', long = "filename", value_name = "FILE", conflicts_with = "names")]
    file: Option<PathBuf>,
    /// Delete the specified entry and all entries below it
    #[arg(short = 'x', long = "deleteSubtree")]
    deletes_subtree: bool,
    /// Continue processing even if there are errors
    #[arg(short = 'c', long = "continueOnError")]
    continues: bool,
    /// Show what would be done but do not perform any operation
    #[arg(short = 'n', long = "dry-run")]
    is_dry_run: bool,
    #[command(flatten)]
    control: ControlOptions,
    #[command(flatten)]
    session: SessionOptions,
}

pub fn run(options: &Options) -> Outcome {
    status::of_client(delete_all(options))
}

fn delete_all(options: &Options) -> Outcome {
    let mut controls = options.control.controls.clone();
    if options.deletes_subtree {
        controls.push(ControlBuf::new(control::SUBTREE_DELETE, None).critical());
    }
    let (source, stream): (String, Box<dyn Read>) = match &options.file {
        Some(path) => (path.display().to_string(), Box::new(File::open(path).context(path.display())?)),
        None if options.names.is_empty() => ("standard input".to_owned(), Box::new(io::stdin())),
        None => (String::new(), Box::new(io::empty())),
    };
    let mut session = if options.is_dry_run { None } else { Some(options.session.open()?) };
    let mut lines = Lines { stream: BufReader::new(stream), source };
    let mut worst = Worst::default();
    let mut given = options.names.iter();
    while let Some(name) = given.next().cloned().map_or_else(|| lines.next(), |name| Ok(Some(name)))? {
        let status = delete(&name, &controls, session.as_mut())?;
        worst.add(status);
        if status != 0 && !options.continues {
            break;
        }
    }
    Ok(worst.exit_code())
}

/// Deletes one entry; its status.
fn delete(name: &str, controls: &[ControlBuf], session: Option<&mut Session>) -> Result<u8, Failure> {
    outln!("Processing DELETE request for {name}");
    let Some(session) = session else { return Ok(0) };
    let write = |id, out: &mut Vec<u8>| client::delete(out, id, name, controls);
    let result = session.ask(write, &mut |_| ControlFlow::Continue(()))?;
    if !result.is_success() {
        return Ok(status::refused("delete request", &result));
    }
    outln!("DELETE operation successful for DN {name}");
    Ok(0)
}

/// Names in a stream.
struct Lines {
    stream: BufReader<Box<dyn Read>>,
    source: String,
}

impl Lines {
    /// The next line that is not empty.
    fn next(&mut self) -> Result<Option<String>, Failure> {
        loop {
            let mut line = String::new();
            let length = self.stream.by_ref().take(NAME_BYTES_MAX).read_line(&mut line).context(&self.source)?;
            match line.trim() {
                _ if length == 0 => return Ok(None),
                _ if length as u64 == NAME_BYTES_MAX => {
                    return Err(Failure::new(format_args!("{}: a line is too long for a name", self.source)));
                }
                "" => {}
                name => return Ok(Some(name.to_owned())),
            }
        }
    }
}
