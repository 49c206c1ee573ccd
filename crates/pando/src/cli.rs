//! The command line: names, options and links. The options of a tool stand beside the tool.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{ArgAction, CommandFactory, Parser, Subcommand, error::ErrorKind};

use crate::tools;

/// Exit status for a command line that makes no sense.
const USAGE_STATUS: u8 = 2;

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
    long_about = "Pando, an LDAP directory server.\n\n`pando quickstart` makes an instance with sample data and starts it.\n\
                  A link to this binary that is named like a tool (backendstat -> pando) runs that tool.",
    disable_help_flag = true,
    disable_help_subcommand = true,
    disable_version_flag = true,
    max_term_width = 110
)]
pub struct Cli {
    /// The instance: the directory with pando.toml, db, logs, keys [default: $PANDO_HOME, else ./pando-data]
    #[arg(long, global = true, value_name = "DIR", help_heading = EVERYWHERE)]
    pub instance: Option<PathBuf>,
    /// Print help
    #[arg(short = 'h', short_alias = 'H', long, global = true, action = ArgAction::Help, help_heading = EVERYWHERE)]
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
    /// Make an instance with sample people and groups if there is none, start it, print what to try
    Quickstart(tools::quickstart::Options),
    /// Make an instance
    Setup(tools::setup::Options),
    /// Run the server in the foreground
    #[command(visible_alias = "serve", alias = "start-ds")]
    Start(tools::start::Options),
    /// Stop the server
    #[command(alias = "stop-ds")]
    Stop(tools::stop::Options),
    /// Have the running server read pando.toml again
    Reload(tools::reload::Options),
    /// Show the server and its data
    Status(tools::status::Options),
    /// Fill a backend from LDIF
    ImportLdif(tools::import_ldif::Options),
    /// Write a backend as LDIF
    ExportLdif(tools::export_ldif::Options),
    /// Make indexes anew
    RebuildIndex(tools::rebuild_index::Options),
    /// Check that indexes and entries agree
    VerifyIndex(tools::verify_index::Options),
    /// Look into backends and indexes
    Backendstat(tools::backendstat::Options),
    /// Change the configuration
    Dsconfig(tools::dsconfig::Options),
    /// Show which searches an index would help, and make it
    IndexAdvice(tools::index_advice::Options),
    /// Take back changes of entries: what one number, one person or some hours did
    Undo(tools::undo::Options),
    /// Make sample data from a template
    Makeldif(tools::makeldif::Options),
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
    /// The tool's name on the command line.
    pub fn name(&self) -> &'static str {
        match self {
            Tool::Quickstart(_) => "quickstart",
            Tool::Setup(_) => "setup",
            Tool::Start(_) => "start",
            Tool::Stop(_) => "stop",
            Tool::Reload(_) => "reload",
            Tool::Dsconfig(_) => "dsconfig",
            Tool::Status(_) => "status",
            Tool::ImportLdif(_) => "import-ldif",
            Tool::ExportLdif(_) => "export-ldif",
            Tool::RebuildIndex(_) => "rebuild-index",
            Tool::VerifyIndex(_) => "verify-index",
            Tool::Backendstat(_) => "backendstat",
            Tool::IndexAdvice(_) => "index-advice",
            Tool::Undo(_) => "undo",
            Tool::Makeldif(_) => "makeldif",
            Tool::EncodePassword(_) => "encode-password",
            Tool::Completions(_) => "completions",
            Tool::ManPages(_) => "man-pages",
        }
    }
}

impl Cli {
    /// The instance that is meant.
    pub fn instance_directory(&self) -> PathBuf {
        let from_environment = || std::env::var_os("PANDO_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        self.instance.clone().or_else(from_environment).unwrap_or_else(|| DEFAULT_INSTANCE.into())
    }
}

/// Puts the tool's name before the options if the program was called by a link of that name.
pub fn with_tool_name(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let called = arguments
        .first()
        .map(Path::new)
        .and_then(Path::file_name)
        .and_then(OsStr::to_str)
        .unwrap_or("pando")
        .to_owned();
    if Cli::command()
        .get_subcommands()
        .any(|tool| tool.get_name() == called || tool.get_all_aliases().any(|alias| alias == called))
    {
        arguments.insert(1, called.into());
    }
    arguments
}

/// Prints help where it was asked for, otherwise what is wrong with the command line as one line.
pub fn report_usage(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        || error.kind() == ErrorKind::MissingSubcommand
    {
        let _ = error.print();
        return ExitCode::from(USAGE_STATUS);
    }
    let known: Vec<String> = Cli::command().get_subcommands().map(|tool| tool.get_name().to_owned()).collect();
    let tool = arguments
        .iter()
        .skip(1)
        .filter_map(|argument| argument.to_str())
        .find(|argument| known.iter().any(|tool| tool == argument));
    let text = error.to_string();
    let lines =
        text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    let message: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let message = message.join(" ");
    let program = tool.map_or("pando".to_owned(), |tool| format!("pando {tool}"));
    eprintln!("{program}: {} (see {program} --help)", message.trim_start_matches("error: "));
    ExitCode::from(USAGE_STATUS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(arguments: &[&str]) -> Vec<OsString> {
        with_tool_name(arguments.iter().map(OsString::from).collect())
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_link_runs_its_tool() {
        assert_eq!(
            expanded(&["/usr/bin/backendstat", "list-indexes"]),
            ["/usr/bin/backendstat", "backendstat", "list-indexes"]
        );
        assert_eq!(expanded(&["pando", "status"]), ["pando", "status"]);
        assert_eq!(expanded(&["some-name", "status"]), ["some-name", "status"]);
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
            "pando setup --instance inst --baseDN dc=example,dc=com --rootUserDN cn=Manager --rootUserPassword secret12 --ldapPort 1389 --no-prompt",
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
