//! What `[plugin.NAME]` tables add to the rules of a backend: references that follow entries, unique values, constraints.
//!
//! The tables in force are part of the backend ([`PLUGINS_KEY`]) and change in the order of its log, as the schema does: a replay
//! judges every update as it was judged. Judging happens on the written entry, inside the proposal, so that the final state is what
//! is judged; a refusal takes the writing back.
//!
//! | file | what |
//! |---|---|
//! | `scope` | which entries a rule is about |
//! | `lookup` | who has a value: by index |
//! | `references`, `queue` | referential integrity, and what of it waits |
//! | `unique`, `constraint` | what values may be |
//! | `dynamic` | entries that live for a time (RFC 2589) |

mod constraint;
pub mod dynamic;
mod lookup;
pub mod queue;
mod references;
mod scope;
mod unique;

use std::collections::BTreeSet;
use std::path::Path;

use config::{Config, PluginKind};
use ldap::{LdapResult, ResultCode};
use schema::{NormalizedDn, Schema};
use store::{Content, StoreError, View};

use super::draft::{Draft, Now, Touched};
use super::value_set::normal_form;
use super::work::Work;
use constraint::Constraint;
use dynamic::Dynamic;
pub use lookup::{Standing, standing};
use query::error::{refuse, shown};
use query::facts::Facts;
use queue::Job;
use references::References;
pub(super) use references::{Moved, clean, follow};
use scope::Scope;
use unique::Unique;

/// Where the text of [`plugins_text`] is kept in `meta`.
pub const PLUGINS_KEY: &[u8] = b"plugins";

/// The plugins as a backend keeps them: whether there are other backends, whose entries may refer to this one's, then the tables as
/// [`Config::plugins_text`] writes them. No plugins make no bytes.
#[must_use]
pub fn plugins_text(config: &Config) -> Vec<u8> {
    if config.plugins_text.is_empty() {
        return Vec::new();
    }
    let backends = config.backends.iter().filter(|backend| backend.enabled).count();
    let mut text = vec![u8::from(backends > 1)];
    text.extend_from_slice(config.plugins_text.as_bytes());
    text
}

/// The plugins of a backend, ready to judge.
#[derive(Default)]
pub(super) struct Plugins {
    references: Option<References>,
    unique: Vec<Unique>,
    constraints: Vec<Constraint>,
    dynamic: Option<Dynamic>,
}

/// Tells whether a job has anything to do in a backend.
pub struct ReferenceProbe(Plugins);

impl ReferenceProbe {
    /// Under the schema of `facts`, for plugins that [`plugins_text`] wrote.
    pub fn new(facts: &Facts, text: &[u8]) -> Self {
        Self(Plugins::of(facts, text))
    }

    /// Whether some entry refers to a name that one of the jobs is about.
    pub fn refers(&self, schema: &Schema, view: &View<'_>, jobs: &[Job]) -> Result<bool, StoreError> {
        self.0.references.as_ref().map_or(Ok(false), |references| references.is_referred(schema, view, jobs))
    }
}

impl Plugins {
    /// What a kept text means under a schema. It was judged before it was kept; what the schema no longer carries is left out.
    pub(super) fn of(facts: &Facts, text: &[u8]) -> Self {
        let mut plugins = Self::default();
        let Some((has_others, text)) = text.split_first() else { return plugins };
        let text = String::from_utf8_lossy(text);
        let Ok(config) = Config::parse(&text, Path::new("plugins")) else { return plugins };
        for plugin in &config.plugins {
            let name = &plugin.name;
            let scope = |filter: Option<&str>| Scope::new(facts, &plugin.base_dns, filter);
            match &plugin.kind {
                PluginKind::ReferentialIntegrity(configured) => {
                    plugins.references = Some(References::new(facts, name, configured, scope(None), *has_others == 1));
                }
                PluginKind::UniqueAttribute { attributes, filter } => {
                    plugins.unique.push(Unique::new(facts, &plugin.name, attributes, scope(filter.as_deref())));
                }
                PluginKind::Constraint(configured) => {
                    let scope = scope(configured.filter.as_deref());
                    plugins.constraints.extend(Constraint::new(facts, &plugin.name, configured, scope));
                }
                PluginKind::DynamicEntries(configured) => {
                    plugins.dynamic = Some(Dynamic::new(facts, name, configured, scope(None)));
                }
                // These are about requests, before anything is proposed.
                PluginKind::SevenBitClean { .. } | PluginKind::AttributeCleanup { .. } => {}
            }
        }
        plugins
    }

    /// Whether there is anything to judge entries by.
    pub(super) fn judges(&self) -> bool {
        self.references.is_some() || !self.unique.is_empty() || !self.constraints.is_empty()
    }
}

/// Puts a text of plugins into force, from the next proposal on.
pub(super) fn configure(work: &mut Work<'_, '_>, text: &[u8]) -> Result<(), LdapResult> {
    work.require_root("Changing the plugins")?;
    let tables = text.get(1..).unwrap_or_default();
    let tables = std::str::from_utf8(tables).map_err(|error| refuse(ResultCode::OTHER, error.to_string()))?;
    Config::parse(tables, Path::new("plugins")).map_err(|errors| refuse(ResultCode::OTHER, errors.to_string()))?;
    work.txn.set_meta(PLUGINS_KEY, (!text.is_empty()).then_some(text));
    work.rules.is_settled = false;
    Ok(())
}

/// An entry that was just written.
#[derive(Clone, Copy)]
pub(super) struct Judged<'j, 'd> {
    /// What was written, and what was there before.
    pub(super) draft: &'j Draft<'d>,
    /// Its name before; none for a new one.
    pub(super) before: Option<&'j NormalizedDn>,
    /// Its name now.
    pub(super) name: &'j NormalizedDn,
}

/// Judges an entry that was just written by every plugin.
pub(super) fn judge(
    work: &Work<'_, '_>,
    draft: &Draft<'_>,
    before: Option<&NormalizedDn>,
    name: &NormalizedDn,
) -> Result<(), LdapResult> {
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

/// The values of a touched attribute that were not there before.
fn new_values<'t>(draft: &Draft<'_>, touched: &'t Touched) -> Vec<&'t [u8]> {
    let set = match &touched.now {
        Now::Edit(edit) => return edit.added.values().map(|value| &**value).collect(),
        Now::Set(set) => set,
    };
    let schema = draft.schema;
    let rule = touched.type_index.and_then(|index| schema.attribute_by_index(index)).and_then(|it| it.equality);
    let mut scratch = Vec::new();
    let stored = match (draft.record, touched.desc) {
        (Some(record), Some(desc)) => record.attribute(desc, &mut scratch).map(|attribute| attribute.content),
        _ => None,
    };
    match stored {
        Some(Content::Inline(values)) => {
            let old: BTreeSet<Box<[u8]>> = values.iter().map(|value| normal_form(rule, schema, value)).collect();
            set.iter().filter(|value| !old.contains(&normal_form(rule, schema, value))).collect()
        }
        _ => set.iter().collect(),
    }
}

/// A value as a message may show it: secrets stay secret.
fn shown_value(facts: &Facts, touched: &Touched, value: &[u8]) -> String {
    let is_secret = touched.type_index.is_some_and(|index| facts.is_secret(index));
    if is_secret { "a value".to_owned() } else { format!("the value \"{}\"", shown(value)) }
}

fn failed(error: StoreError) -> LdapResult {
    super::draft::failed(error)
}
