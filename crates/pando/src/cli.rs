//! The command line: names, options and links. The options of a tool stand beside the tool.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgAction, Command, CommandFactory, Parser, Subcommand};

use crate::output::errln;
use crate::tools;
use crate::usage::{USAGE_STATUS, mistake, status_of_mistake};

/// Where an instance is when neither `--instance` nor `PANDO_HOME` says so.
const DEFAULT_INSTANCE: &str = "pando-data";

/// Heading of the options that every tool has.
const EVERYWHERE: &str = "Options of every tool";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "pando",
    version,
    about = "Pando, an LDAP directory server",
    subcommand_value_name = "TOOL",
    subcommand_help_heading = "Tools",
    after_help = "`pando quickstart` sets up an instance with sample data and starts it; `pando help TOOL` shows the \
                  options of a tool.\n\
                  A link to this binary that is named like a tool (backendstat -> pando) runs that tool.",
    disable_help_flag = true,
    disable_version_flag = true,
    max_term_width = 110
)]
pub struct Cli {
    /// Directory of the instance, with pando.toml, db, logs and keys [default: $PANDO_HOME, else ./pando-data]
    #[arg(long, global = true, value_name = "DIR", help_heading = EVERYWHERE)]
    pub instance: Option<PathBuf>,
    /// Print help
    #[arg(short = 'H', short_alias = '?', long, global = true, action = ArgAction::Help, help_heading = EVERYWHERE)]
    help: Option<bool>,
    /// Print version
    #[arg(short = 'V', long, action = ArgAction::Version, help_heading = EVERYWHERE)]
    version: Option<bool>,
    #[command(subcommand)]
    pub tool: Tool,
}

/// Every tool.
#[derive(Debug, Subcommand)]
#[command(rename_all = "kebab-case")]
pub enum Tool {
    /// Set up an instance with sample people and groups if there is none, start it, and show what to try
    Quickstart(tools::quickstart::Options),
    /// Set up an instance
    Setup(tools::setup::Options),
    /// Run the server in the foreground
    #[command(visible_alias = "serve", alias = "start-ds")]
    Start(tools::start::Options),
    /// Stop the server
    #[command(alias = "stop-ds")]
    Stop(tools::stop::Options),
    /// Make the running server read pando.toml again
    Reload(tools::reload::Options),
    /// Show the server and its data
    Status(tools::status::Options),
    /// Watch what the running server does
    Top(tools::top::Options),
    /// Import LDIF into a backend
    ImportLdif(tools::import_ldif::Options),
    /// Export a backend as LDIF
    ExportLdif(tools::export_ldif::Options),
    /// Rebuild indexes
    RebuildIndex(tools::rebuild_index::Options),
    /// Check that indexes and entries agree
    VerifyIndex(tools::verify_index::Options),
    /// Back up backends, beside a running server too; list, verify and remove backups
    Backup(tools::backup::Options),
    /// Restore a backend from backups, to any moment that they hold
    Restore(tools::restore::Options),
    /// List the tasks of the running server, show one, cancel one
    ManageTasks(tools::tasks::manage_tasks::Options),
    /// Find out whether the log of a backend has lost changes, and accept the loss
    RepairLog(tools::repair_log::Options),
    /// Show what backends and indexes hold
    Backendstat(tools::backendstat::Options),
    /// Show and change the configuration
    Dsconfig(tools::dsconfig::Options),
    /// Show the configurations that the server had, what differs, and go back to one
    Config(tools::config::Options),
    /// Show which indexes would speed up recent searches, and create them
    IndexAdvice(tools::index_advice::Options),
    /// Say what happened in access logs, of this server or of another kind
    Logstat(tools::logstat::Options),
    /// Find out who may do what and why, try changes of access control, and test it
    Access(tools::access::Options),
    /// Say whether an account can be used and why not; unlock, disable and enable it
    Account(tools::account::Options),
    /// Read and write the state of an account value by value
    ManageAccount(tools::manage_account::Options),
    /// Undo changes of entries, chosen by number, by user or by time
    Undo(tools::undo::Options),
    /// Convert the password policies and accounts of another server's LDIF
    ConvertAccounts(tools::convert_accounts::Options),
    /// Make sample data from a template
    Makeldif(tools::makeldif::Options),
    /// Search any LDAP server, and print LDIF
    Ldapsearch(tools::ldapsearch::Options),
    /// Add, modify, rename and delete entries of any LDAP server by LDIF
    Ldapmodify(tools::ldapmodify::Options),
    /// Delete entries of any LDAP server
    Ldapdelete(tools::ldapdelete::Options),
    /// Find out whether an entry of any LDAP server has a value
    Ldapcompare(tools::ldapcompare::Options),
    /// Change a password at any LDAP server
    Ldappasswordmodify(tools::ldappasswordmodify::Options),
    /// Search the entries of an LDIF file
    Ldifsearch(tools::ldif::ldifsearch::Options),
    /// Write the changes that make the entries of one LDIF file those of another
    Ldifdiff(tools::ldif::ldifdiff::Options),
    /// Make changes to the entries of an LDIF file
    Ldifmodify(tools::ldif::ldifmodify::Options),
    /// Encode data as base64, and decode it
    Base64(tools::base64::Options),
    /// Measure how many searches a server answers, and how fast
    Searchrate(tools::searchrate::Options),
    /// Measure how many modifications a server answers, and how fast
    Modrate(tools::modrate::Options),
    /// Measure how many adds and deletes a server answers, and how fast
    Addrate(tools::addrate::Options),
    /// Measure how many binds a server answers, and how fast
    Authrate(tools::authrate::Options),
    /// Encode a password, or compare one with its encoded form
    EncodePassword(tools::encode_password::Options),
    /// Print a shell's completions
    #[command(hide = true)]
    Completions(tools::documents::CompletionOptions),
    /// Write the man pages into a directory
    #[command(hide = true)]
    ManPages(tools::documents::ManOptions),
}

impl Tool {
    /// The tool's name on the command line, for messages.
    pub fn name(&self) -> &'static str {
        match self {
            Tool::Quickstart(_) => "quickstart",
            Tool::Setup(_) => "setup",
            Tool::Start(_) => "start",
            Tool::Stop(_) => "stop",
            Tool::Reload(_) => "reload",
            Tool::Dsconfig(_) => "dsconfig",
            Tool::Config(_) => "config",
            Tool::Status(_) => "status",
            Tool::Top(_) => "top",
            Tool::ImportLdif(_) => "import-ldif",
            Tool::ExportLdif(_) => "export-ldif",
            Tool::RebuildIndex(_) => "rebuild-index",
            Tool::VerifyIndex(_) => "verify-index",
            Tool::Backup(options) => options.name(),
            Tool::Restore(_) => "restore",
            Tool::ManageTasks(_) => "manage-tasks",
            Tool::RepairLog(_) => "repair-log",
            Tool::Backendstat(_) => "backendstat",
            Tool::IndexAdvice(_) => "index-advice",
            Tool::Logstat(_) => "logstat",
            Tool::Access(options) => options.name(),
            Tool::Account(options) => options.name(),
            Tool::ManageAccount(_) => "manage-account",
            Tool::Undo(_) => "undo",
            Tool::ConvertAccounts(_) => "convert-accounts",
            Tool::Makeldif(_) => "makeldif",
            Tool::Ldapsearch(_) => "ldapsearch",
            Tool::Ldapmodify(_) => "ldapmodify",
            Tool::Ldapdelete(_) => "ldapdelete",
            Tool::Ldapcompare(_) => "ldapcompare",
            Tool::Ldappasswordmodify(_) => "ldappasswordmodify",
            Tool::Ldifsearch(_) => "ldifsearch",
            Tool::Ldifdiff(_) => "ldifdiff",
            Tool::Ldifmodify(_) => "ldifmodify",
            Tool::Base64(_) => "base64",
            Tool::Searchrate(_) => "searchrate",
            Tool::Modrate(_) => "modrate",
            Tool::Addrate(_) => "addrate",
            Tool::Authrate(_) => "authrate",
            Tool::EncodePassword(_) => "encode-password",
            Tool::Completions(_) => "completions",
            Tool::ManPages(_) => "man-pages",
        }
    }
}

impl Cli {
    /// The instance that is meant.
    pub fn instance_directory(&self) -> PathBuf {
        self.named_instance().unwrap_or_else(|| DEFAULT_INSTANCE.into())
    }

    /// The instance that `--instance` or `PANDO_HOME` names.
    pub fn named_instance(&self) -> Option<PathBuf> {
        let from_environment = || std::env::var_os("PANDO_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        self.instance.clone().or_else(from_environment)
    }
}

/// As what the program was called: links to it are named like tools.
#[derive(Debug, PartialEq, Eq)]
enum Called {
    Program,
    Tool(String),
    Unknown(String),
}

impl Called {
    fn of(arguments: &[OsString]) -> Self {
        let Some(name) = arguments.first().map(Path::new).and_then(Path::file_name) else { return Self::Program };
        let name = name.to_string_lossy().into_owned();
        let is_named = |tool: &Command| tool.get_name() == name || tool.get_all_aliases().any(|alias| alias == name);
        if Cli::command().get_subcommands().any(is_named) {
            Self::Tool(name)
        } else if name.starts_with("pando") {
            Self::Program
        } else {
            Self::Unknown(name)
        }
    }
}

/// Reads the command line; what ends the program at once (help, the version, a mistake) is answered here. `-h` is a
/// host for the tools, and help where no tool is named.
pub fn parse(mut arguments: Vec<OsString>) -> Result<Cli, ExitCode> {
    if let [_, only] = arguments.as_mut_slice()
        && only == "-h"
        && Called::of(&[]) == Called::Program
    {
        *only = "--help".into();
    }
    match Called::of(&arguments) {
        Called::Program => {}
        // The same command line with the name of the program, which the help shows.
        Called::Tool(name) => drop(arguments.splice(..1, ["pando".into(), name.into()])),
        Called::Unknown(name) => {
            errln!("{name}: pando has no tool of this name; name the link like one of {}", tool_names().join(", "));
            return Err(ExitCode::from(USAGE_STATUS));
        }
    }
    Cli::try_parse_from(&arguments).map_err(|error| report_usage(&error, &arguments))
}

/// The tools that the help lists.
fn tool_names() -> Vec<String> {
    Cli::command().get_subcommands().filter(|tool| !tool.is_hide_set()).map(|tool| tool.get_name().to_owned()).collect()
}

/// Prints help where it was asked for, otherwise what is wrong with the command line as one line.
fn report_usage(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp => {
            let _ = help(arguments).as_ref().unwrap_or(error).print();
            return ExitCode::SUCCESS;
        }
        ErrorKind::DisplayVersion => {
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    let known: Vec<String> = Cli::command().get_subcommands().map(|tool| tool.get_name().to_owned()).collect();
    let mut words = arguments.iter().skip(1).filter_map(|argument| argument.to_str());
    let tool = words.find(|word| known.iter().any(|tool| tool == word));
    if matches!(error.kind(), ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand) {
        let _ = error.print();
        return ExitCode::from(status_of_mistake(tool.filter(|tool| *tool != "dsconfig")));
    }
    let within = Cli::command().find_subcommand(tool.unwrap_or_default()).cloned();
    let is_within = |word: &&str| within.as_ref().is_some_and(|tool| tool.find_subcommand(word).is_some());
    let names = ["pando"].into_iter().chain(tool).chain(words.find(is_within));
    let program = names.collect::<Vec<_>>().join(" ");
    let command = Cli::command();
    let (within, what) = match tool.and_then(|tool| command.find_subcommand(tool)) {
        Some(tool) => (tool, "subcommand"),
        None => (&command, "tool"),
    };
    errln!("{program}: {} (see {program} --help)", mistake(error, within, what));
    ExitCode::from(status_of_mistake(tool))
}

/// The help that is asked for, without the subcommands of `dsconfig`, which has lists of them by category.
fn help(arguments: &[OsString]) -> Option<clap::Error> {
    let command = Cli::command().mut_subcommand("dsconfig", |tool| {
        let names: Vec<String> = tool.get_subcommands().map(|known| known.get_name().to_owned()).collect();
        names.into_iter().fold(tool, |tool, name| tool.mut_subcommand(name, |known| known.hide(true)))
    });
    command.try_get_matches_from(arguments).err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    fn called(name: &str) -> Called {
        Called::of(&[name.into()])
    }

    #[test]
    fn a_link_runs_its_tool() {
        assert_eq!(called("/usr/bin/backendstat"), Called::Tool("backendstat".into()));
        assert_eq!(called("stop-ds"), Called::Tool("stop-ds".into()));
        assert_eq!(parse(["/opt/stop-ds", "--quiet"].map(OsString::from).into()).unwrap().tool.name(), "stop");
        assert_eq!(called("target/debug/pando"), Called::Program);
        assert_eq!(called("pando-1.2"), Called::Program);
        assert_eq!(Called::of(&[]), Called::Program);
        assert_eq!(called("/bin/some-name"), Called::Unknown("some-name".into()));
    }

    /// In OpenDJ's tools -h is a host name: it must never print help and succeed.
    #[test]
    fn h_is_a_host_or_an_error() {
        let everywhere = Cli::command();
        for tool in everywhere.get_subcommands() {
            let parsed = Cli::try_parse_from(["pando", tool.get_name(), "-h", "localhost"]);
            let is_help = parsed.is_err_and(|error| error.kind() == ErrorKind::DisplayHelp);
            assert!(!is_help, "{}", tool.get_name());
            for help in ["--help", "-H", "-?"] {
                let parsed = Cli::try_parse_from(["pando", tool.get_name(), help]);
                let is_help = parsed.is_err_and(|error| error.kind() == ErrorKind::DisplayHelp);
                assert!(is_help, "{} {help}", tool.get_name());
            }
        }
        for line in [
            "dsconfig -D cn=x -w secret12 -h localhost -p 4444 -n -X get-global-configuration-prop",
            "dsconfig get-global-configuration-prop -h localhost -p 4444 -D cn=x -j file -X -n -Q",
            "status -h localhost -p 4444 -D cn=x -w y -X",
            "stop-ds -h localhost -p 4444 -D cn=x -w y -X",
            "import-ldif -h localhost -p 4444 -D cn=x -w y -X -n userRoot -l file",
            "export-ldif -h localhost -p 4444 -D cn=x -w y -X -n userRoot -l file",
            "rebuild-index -h localhost -p 4444 -D cn=x -w y -X -b dc=x --rebuildAll",
            "undo 7 -h localhost -p 4444 -D cn=x -w y -X",
            "index-advice -h localhost -p 4444 -D cn=x -w y -X",
        ] {
            let words = ["pando"].into_iter().chain(line.split(' '));
            Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
    }

    #[test]
    fn the_instance_may_stand_anywhere() {
        for line in [["pando", "--instance", "i", "status"], ["pando", "status", "--instance", "i"]] {
            assert_eq!(Cli::try_parse_from(line).unwrap().instance_directory(), Path::new("i"));
        }
        let nested =
            ["pando", "backendstat", "list-indexes", "--instance", "i", "-n", "userRoot", "-b", "dc=example,dc=com"];
        assert_eq!(Cli::try_parse_from(nested).unwrap().instance_directory(), Path::new("i"));
    }

    /// The commands that the design prints.
    #[test]
    fn printed_commands_are_understood() {
        for line in [
            "pando setup --instance inst --baseDN dc=example,dc=com --rootUserDN cn=Manager --rootUserPassword \
             secret12 --ldapPort 1389 --no-prompt",
            "pando import-ldif --instance inst --backendID userRoot --ldifFile people.ldif --offline",
            "pando start --instance inst",
            "pando serve --instance inst --detach",
            "pando backendstat list-indexes --instance inst -n userRoot -b dc=example,dc=com",
            "pando verify-index --instance inst -b dc=example,dc=com",
            "pando export-ldif --instance inst --backendID userRoot --ldifFile out.ldif --offline",
            "pando stop --instance inst",
        ] {
            Cli::try_parse_from(line.split(' ')).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
    }
}
