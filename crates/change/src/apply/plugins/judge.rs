//! Judging a written entry by every plugin, and putting other plugins into force.

use std::path::Path;

use config::Config;
use schema::NormalizedDn;

use super::judged::Judged;
use super::text::PLUGINS_KEY;
use crate::apply::draft::Draft;
use crate::apply::error::ApplyError;
use crate::apply::work::Work;
use crate::refusal::Refusal;

/// Puts a text of plugins into force, from the next proposal on.
pub(in crate::apply) fn configure(work: &mut Work<'_, '_>, text: &[u8]) -> Result<(), ApplyError> {
    work.require_root("Changing the plugins")?;
    let tables = text.get(1..).unwrap_or_default();
    let tables =
        std::str::from_utf8(tables).map_err(|error| Refusal::UnreadablePlugins { problem: error.to_string() })?;
    Config::parse(tables, Path::new("plugins"))
        .map_err(|errors| Refusal::UnreadablePlugins { problem: errors.to_string() })?;
    work.txn.set_meta(PLUGINS_KEY, (!text.is_empty()).then_some(text));
    work.rules.is_settled = false;
    Ok(())
}

/// Judges an entry that was just written by every plugin.
pub(in crate::apply) fn judge(
    work: &Work<'_, '_>,
    draft: &Draft<'_>,
    before: Option<&NormalizedDn>,
    name: &NormalizedDn,
) -> Result<(), ApplyError> {
    let plugins = &work.rules.plugins;
    let judged = Judged { draft, before, name };
    if let Some(references) = &plugins.references {
        references.check(work, judged)?;
    }
    if !work.is_relaxed() {
        for unique in &plugins.unique {
            unique.judge(work, judged)?;
        }
        for constraint in &plugins.constraints {
            constraint.judge(work, judged)?;
        }
    }
    Ok(())
}
