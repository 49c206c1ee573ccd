//! The tools, one file each.

pub mod access;
pub mod account;
pub mod addrate;
pub mod authrate;
pub mod backendstat;
pub mod backup;
pub mod base64;
mod certificate;
pub mod config;
pub mod convert_accounts;
pub mod documents;
pub mod dsconfig;
pub mod encode_password;
pub mod export_ldif;
mod first_start;
pub mod import_ldif;
pub mod index_advice;
pub mod ldapcompare;
pub mod ldapdelete;
pub mod ldapmodify;
pub mod ldappasswordmodify;
pub mod ldapsearch;
pub mod ldif;
mod load;
pub mod logstat;
mod made_password;
pub mod makeldif;
pub mod manage_account;
pub mod modrate;
pub mod quickstart;
pub mod rebuild_index;
pub mod reload;
pub mod repair_log;
pub mod restore;
mod sample;
pub mod searchrate;
mod selection;
pub mod setup;
pub mod start;
pub mod status;
pub mod stop;
mod target;
pub mod tasks;
mod template_source;
mod time;
pub mod top;
pub mod undo;
pub mod verify_index;

use clap::CommandFactory;

use crate::cli::{Cli, Tool};
use crate::failure::Outcome;

/// Runs the tool that the command line names.
pub fn run(cli: Cli) -> Outcome {
    let instance = cli.instance_directory();
    let named_instance = cli.named_instance();
    match &cli.tool {
        Tool::Quickstart(options) => quickstart::run(&instance, options),
        Tool::Setup(options) => setup::run(&instance, options),
        Tool::Start(options) => start::run(&instance, options),
        Tool::Account(options) => account::run(&instance, options),
        Tool::ManageAccount(options) => manage_account::run(&instance, options),
        Tool::ManageTasks(options) => tasks::manage_tasks::run(&instance, options),
        Tool::Reload(options) => reload::run(&instance, options),
        Tool::Dsconfig(options) => dsconfig::run(&instance, options),
        Tool::Config(options) => config::run(&instance, options),
        Tool::Top(options) => top::run(&instance, options),
        Tool::Stop(options) => stop::run(&instance, options),
        Tool::Status(options) => status::run(&instance, options),
        Tool::ImportLdif(options) => import_ldif::run(&instance, options),
        Tool::ExportLdif(options) => export_ldif::run(&instance, options),
        Tool::RebuildIndex(options) => rebuild_index::run(&instance, options),
        Tool::VerifyIndex(options) => verify_index::run(&instance, options),
        Tool::Backup(options) => backup::run(&instance, options),
        Tool::Restore(options) => restore::run(&instance, options),
        Tool::RepairLog(options) => repair_log::run(&instance, options),
        Tool::Backendstat(options) => backendstat::run(&instance, options),
        Tool::IndexAdvice(options) => index_advice::run(&instance, options),
        Tool::Logstat(options) => logstat::run(&instance, options),
        Tool::Access(options) => access::run(&instance, options),
        Tool::Undo(options) => undo::run(&instance, options),
        Tool::ConvertAccounts(options) => convert_accounts::run(options),
        Tool::Makeldif(options) => makeldif::run(options),
        Tool::Ldapsearch(options) => ldapsearch::run(options),
        Tool::Ldapmodify(options) => ldapmodify::run(options),
        Tool::Ldapdelete(options) => ldapdelete::run(options),
        Tool::Ldapcompare(options) => ldapcompare::run(options),
        Tool::Ldappasswordmodify(options) => ldappasswordmodify::run(options),
        Tool::Ldifsearch(options) => ldif::ldifsearch::run(named_instance.as_deref(), options),
        Tool::Ldifdiff(options) => ldif::ldifdiff::run(named_instance.as_deref(), options),
        Tool::Ldifmodify(options) => ldif::ldifmodify::run(named_instance.as_deref(), options),
        Tool::Base64(options) => base64::run(options),
        Tool::Searchrate(options) => searchrate::run(options),
        Tool::Modrate(options) => modrate::run(options),
        Tool::Addrate(options) => addrate::run(options),
        Tool::Authrate(options) => authrate::run(options),
        Tool::EncodePassword(options) => encode_password::run(options),
        Tool::Completions(options) => documents::completions(Cli::command(), options),
        Tool::ManPages(options) => documents::man_pages(Cli::command(), options),
    }
}
