//! Import: fills a backend from LDIF.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use access::PrivilegeGrant;
use access::not_obeyed::{NOT_OBEYED, NotObeyed};
use aci::{Reading, Remark};
use config::Config;
use query::configured::index_configs;
use schema::Schema;
use schema::instruction::check_target;
use store::bulk::{
    self, ImportMode, ImportOptions, ImportStamps, InstructionHook, LdifSource, PasswordHook, Selection,
};

use crate::files::Target;
use crate::{JobError, Progress, Unit, Watch};

/// Who entries say made them when the file does not, and the configuration has no root user.
const NOBODY: &str = "cn=local administrator";

/// An import to be made.
pub struct Import {
    /// Where the entries come from.
    pub sources: Vec<LdifSource>,
    /// Whether the old entries stay.
    pub mode: ImportMode,
    /// The backend may be empty afterwards.
    pub may_be_empty: bool,
    /// Entries of which the file does not say who made them and when, say so afterwards.
    pub is_stamped: bool,
    /// Which entries and attributes.
    pub selection: Selection,
    /// Takes bad entries, which then do not end the import.
    pub reject_file: Option<PathBuf>,
    /// Takes entries that are left out.
    pub skip_file: Option<PathBuf>,
    /// Both files are emptied first.
    pub overwrite: bool,
    /// Entries are not checked against the schema.
    pub skip_schema_validation: bool,
    /// Worker threads; 0: one for each core.
    pub threads: usize,
    /// Where the sort keeps its temporary file; none: beside the database.
    pub temporary_directory: Option<PathBuf>,
}

impl Default for Import {
    fn default() -> Self {
        Self {
            sources: Vec::new(),
            mode: ImportMode::Replace,
            may_be_empty: false,
            is_stamped: true,
            selection: Selection::default(),
            reject_file: None,
            skip_file: None,
            overwrite: false,
            skip_schema_validation: false,
            threads: 0,
            temporary_directory: None,
        }
    }
}

/// What an import did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// Counts and times.
    pub summary: bulk::ImportSummary,
    /// Attributes of the imported entries that are not obeyed, with the number of entries that have them.
    pub not_obeyed: Vec<(&'static NotObeyed, u64)>,
    /// Access control instructions with values that were not in quotation marks; they are stored with them.
    pub quoted_instructions: u64,
}

impl Import {
    /// Imports. The old data stays in place until all of the new is there.
    ///
    /// # Errors
    /// Whatever it is, the old data is untouched.
    pub fn run(self, target: Target<'_>, watch: &mut dyn Watch) -> Result<Imported, JobError> {
        let Target { config, backend, schema } = target;
        let keeps_entries = self.mode != ImportMode::Replace || !self.selection.include_branches.is_empty();
        let quoted = Arc::default();
        let options = ImportOptions {
            other_base_dns: target.other_base_dns(),
            mode: self.mode,
            may_be_empty: self.may_be_empty,
            stamps: self.is_stamped.then(|| stamps(config)),
            counted_attributes: NOT_OBEYED.iter().map(|row| row.attribute.to_owned()).collect(),
            selection: self.selection,
            continue_on_error: self.reject_file.is_some(),
            reject_file: self.reject_file,
            skip_file: self.skip_file,
            overwrite: self.overwrite,
            skip_schema_validation: self.skip_schema_validation || !config.global.check_schema,
            check_instruction: Some(instruction_hook(schema, &quoted)),
            // A server takes no other name either.
            check_privilege: Some(Arc::new(|value| {
                PrivilegeGrant::check(value).map(drop).map_err(|unknown| unknown.to_string())
            })),
            hash_password: Some(password_hook(config)),
            threads: self.threads,
            temporary_directory: self.temporary_directory,
            cancel: watch.cancel(),
            ..ImportOptions::new(
                backend.directory.clone(),
                backend.base_dns.clone(),
                index_configs(backend)?,
                Arc::clone(schema),
            )
        };
        // Entries that stay are read from the database, which must have all of them.
        if keeps_entries {
            target.fold()?;
        }
        let progress = &mut |now: &bulk::Progress| watch.progress(&Progress::of(now, Unit::Bytes));
        let summary = bulk::import(self.sources, &options, progress)?;
        let counted = summary.counted.iter().filter(|(_, entries)| *entries > 0);
        let not_obeyed = counted.filter_map(|(name, entries)| Some((NotObeyed::of(name)?, *entries))).collect();
        Ok(Imported { summary, not_obeyed, quoted_instructions: quoted.load(Ordering::Relaxed) })
    }
}

fn stamps(config: &Config) -> ImportStamps {
    let root = config.root_users.first().and_then(|user| user.bind_dns.first());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    ImportStamps { name: root.map_or(NOBODY, String::as_str).to_owned(), unix_seconds: now.as_secs() }
}

/// Refuses access control instructions that are not valid, also where the schema is not checked: what nobody can read
/// would close its part of the tree. What other servers read without quotation marks is stored with them.
fn instruction_hook(schema: &Arc<Schema>, quoted: &Arc<AtomicU64>) -> InstructionHook {
    let (schema, quoted) = (Arc::clone(schema), Arc::clone(quoted));
    Arc::new(move |holder, value| {
        let text = str::from_utf8(value).map_err(|_| "not UTF-8".to_owned())?;
        let parsed = aci::parse_as(text, Reading::Import)
            .map_err(|error| format!("not a valid access control instruction: {error}"))?;
        check_target(&schema, holder, &parsed.aci).map_err(|error| error.to_string())?;
        if !parsed.warnings.iter().any(|warning| warning.remark == Remark::NotQuoted) {
            return Ok(None);
        }
        quoted.fetch_add(1, Ordering::Relaxed);
        Ok(Some(parsed.aci.to_string().into_bytes()))
    })
}

/// Encodes clear passwords; leaves encoded ones as they are.
fn password_hook(config: &Config) -> PasswordHook {
    let (scheme, parameters) = (config.import_scheme(), config.password_parameters);
    Arc::new(move |value| {
        if password::is_encoded(value) {
            return Ok(None);
        }
        password::encode_random(scheme, &parameters, value).map(Some).map_err(|error| error.to_string())
    })
}
