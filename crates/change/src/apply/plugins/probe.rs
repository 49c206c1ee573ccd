//! Whether a backend refers to names that changed in another one.

use query::facts::Facts;
use schema::Schema;
use store::{StoreError, View};

use super::configured::Plugins;
use super::queue::Job;

/// Finds out whether a job has anything to do in a backend.
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
