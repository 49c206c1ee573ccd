//! `backup list`: what a folder of backups has.

use std::path::Path;
use std::process::ExitCode;

use ::backup::chain::TimeText;
use ::backup::manifest::{Manifest, Sealed};
use clap::Args;
use serde_json::json;

use super::place::PlaceOptions;
use crate::failure::Outcome;
use crate::output::outln;
use crate::table::Table;
use crate::terminal::bytes_text;

#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    place: PlaceOptions,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(directory: &Path, options: &Options) -> Outcome {
    let (storage, all) = options.place.found(directory)?;
    match options.json {
        true => outln!("{}", json(&all)),
        false => print_backups(&all, &storage.place()),
    }
    Ok(ExitCode::SUCCESS)
}

/// As a table, the oldest first.
pub fn print_backups(all: &[Sealed], place: &str) {
    if all.is_empty() {
        return outln!("There are no backups in {place}.");
    }
    let mut table = Table::new(&["Backend", "Backup ID", "Kind", "Made", "Changes", "Bytes", "Sealed"]);
    for Sealed { manifest, .. } in all {
        table.row(vec![
            manifest.backend.clone(),
            manifest.id.clone(),
            manifest.kind.text().to_owned(),
            TimeText(manifest.made_us / 1_000_000 * 1_000_000).to_string(),
            changes(manifest),
            bytes_text(manifest.stored_bytes()),
            sealed(manifest).to_owned(),
        ]);
    }
    table.print();
}

/// Which changes a backup has: a full one all to its last.
fn changes(manifest: &Manifest) -> String {
    match manifest.base {
        None => format!("to {}", manifest.last_change),
        Some(_) if manifest.first_change > manifest.last_change => "none".to_owned(),
        Some(_) => format!("{} to {}", manifest.first_change, manifest.last_change),
    }
}

fn sealed(manifest: &Manifest) -> &'static str {
    match &manifest.seal {
        None => "no",
        Some(_) if manifest.is_encrypted() => "encrypted",
        Some(_) => "signed",
    }
}

fn json(all: &[Sealed]) -> serde_json::Value {
    let one = |Sealed { manifest, .. }: &Sealed| {
        json!({
            "backend": manifest.backend,
            "backupID": manifest.id,
            "kind": manifest.kind.text(),
            "base": manifest.base,
            "data": manifest.data,
            "firstChange": manifest.first_change,
            "lastChange": manifest.last_change,
            "within": TimeText(manifest.within_us).to_string(),
            "until": TimeText(manifest.until_us).to_string(),
            "made": TimeText(manifest.made_us).to_string(),
            "bytes": manifest.stored_bytes(),
            "sealed": sealed(manifest),
            "program": manifest.program,
        })
    };
    all.iter().map(one).collect()
}
