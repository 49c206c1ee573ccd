//! The directory that is asked: the instance's files as they are now, or the entries of LDIF files.
//!
//! Both are a whole directory without a writer, so what answers is what would answer in the server.

use std::path::{Path, PathBuf};

use clap::Args;
use config::{BackendConfig, Config};
use directory::Directory;
use jobs::files::{Reader, Target};
use jobs::import::Import;
use ldap::ldif::{LdifEntry, LdifError, LdifFault};
use schema::NormalizedDn;
use store::bulk::LdifSource;
use tempfile::TempDir;

use crate::failure::{Context, Failure};
use crate::instance;
use crate::owner::Owner;
use crate::terminal::Watcher;

/// The id of the backend that holds the entries of LDIF files.
const LDIF_BACKEND: &str = "ldif";

#[derive(Debug, Default, Args)]
pub struct SourceOptions {
    /// Ask about the entries of this file instead of the instance's [repeatable]; schema and configuration, with its
    /// global instructions, are the instance's if there is one
    #[arg(long = "ldif", value_name = "FILE")]
    pub ldif: Vec<PathBuf>,
}

/// An open source. Folders made for it go with it.
pub struct Source {
    pub directory: Directory,
    _folder: Option<TempDir>,
}

impl Source {
    /// Opens what the options name.
    pub fn open(instance: &Path, options: &SourceOptions) -> Result<Self, Failure> {
        let config = configuration(instance, !options.ldif.is_empty())?;
        if options.ldif.is_empty() {
            let owner = Owner::of(instance)?;
            let schema = instance::schema(&config)?;
            let directory = Directory::open_for_reading(&config, |backend| {
                if !store::database_path(&backend.directory).exists() {
                    return Ok(None);
                }
                let [only] = instance::reader(&config, backend, &schema)?.into_backends([Vec::new()])?;
                Ok::<_, Failure>(Some(only))
            })?;
            owner.settle(instance)?;
            return Ok(Self { directory, _folder: None });
        }
        let folder = tempfile::tempdir().context("a folder for the entries of the file")?;
        let config = imported(config, &options.ldif, folder.path())?;
        let schema = instance::schema(&config)?;
        let directory = Directory::open_for_reading(&config, |backend| {
            let [only] = Reader::open(Target { config: &config, backend, schema: &schema }, false)?
                .into_backends([Vec::new()])?;
            Ok::<_, Failure>(Some(only))
        })?;
        Ok(Self { directory, _folder: Some(folder) })
    }
}

/// The configuration of the instance; of none, what is declared as defaults, where entries come from LDIF files.
pub fn configuration(instance: &Path, may_be_missing: bool) -> Result<Config, Failure> {
    let file = config::Instance::new(instance).config_file();
    if may_be_missing && !file.exists() {
        return Ok(Config::parse("", &file)?);
    }
    instance::open(instance)
}

/// The configuration with one backend, into which the files are imported.
fn imported(mut config: Config, files: &[PathBuf], folder: &Path) -> Result<Config, Failure> {
    let schema = instance::schema(&config)?;
    let mut bases: Vec<(NormalizedDn, String)> = Vec::new();
    for file in files {
        add_bases(&schema, file, &mut bases)?;
    }
    let backend = BackendConfig {
        id: LDIF_BACKEND.to_owned(),
        enabled: true,
        base_dns: bases.into_iter().map(|(_, dn)| dn).collect(),
        directory: folder.join(LDIF_BACKEND),
        writability: config::Writability::Enabled,
        index_entry_limit: 0,
        indexes: config::default_indexes(),
        vlv_indexes: Vec::new(),
        index_secret: folder.join("secret"),
    };
    config.backends = vec![backend];
    let backend = config.backends.first().ok_or_else(|| Failure::new("no backend was made"))?;
    let sources = files.iter().map(|file| LdifSource::open(file).map_err(Failure::new));
    let import = Import { sources: sources.collect::<Result<_, _>>()?, threads: 1, ..Import::default() };
    import.run(Target { config: &config, backend, schema: &schema }, &mut Watcher::new(true)?)?;
    Ok(config)
}

/// Why a file is not read.
fn unread(file: &Path, error: &LdifError) -> Failure {
    let instead = match error.fault {
        LdifFault::ChangeInContent(_) => "; --ldif takes entries: to try changes, use pando access rehearse",
        _ => "",
    };
    Failure::new(format_args!("{}: {error}{instead}", file.display()))
}

/// The names of entries that no other entry of the files is above.
fn add_bases(schema: &schema::Schema, file: &Path, bases: &mut Vec<(NormalizedDn, String)>) -> Result<(), Failure> {
    let open = std::fs::File::open(file).context(file.display())?;
    let mut reader = ldap::ldif::Reader::new(std::io::BufReader::new(open));
    let mut entry = LdifEntry::default();
    while reader.next_into(&mut entry).map_err(|error| unread(file, &error))? {
        let name = instance::normalized(schema, &entry.dn).context(file.display())?;
        if !bases.iter().any(|(base, _)| base.is_ancestor_or_equal(&name)) {
            bases.retain(|(base, _)| !name.is_ancestor_or_equal(base));
            bases.push((name, entry.dn.clone()));
        }
    }
    match bases.is_empty() {
        true => Err(Failure::new(format_args!("{} has no entries", file.display()))),
        false => Ok(()),
    }
}
