//! The instructions that are looked at.

use std::ops::Range;

use aci::{Aci, AciError, DnPattern, Parsed, Reading, Span, Warning, parse_as};
use schema::{NormalizedDn, Schema};

/// An instruction, as it is held.
pub struct Instruction {
    /// The entry that holds it; none: the configuration.
    pub holder: Option<NormalizedDn>,
    /// What people are told: which one it is, of which holder.
    pub place: String,
    /// Its text.
    pub text: String,
}

/// An instruction that was read, or why not.
pub(super) struct Read<'i> {
    pub at: usize,
    pub held: &'i Instruction,
    pub parsed: Result<Aci, AciError>,
    pub warnings: Vec<Warning>,
}

impl<'i> Read<'i> {
    pub(super) fn new(at: usize, held: &'i Instruction) -> Self {
        // Entries may hold what an earlier version imported from other servers.
        let reading = if held.holder.is_some() { Reading::Import } else { Reading::Strict };
        match parse_as(&held.text, reading) {
            Ok(Parsed { aci, warnings }) => Self { at, held, parsed: Ok(aci), warnings },
            Err(error) => Self { at, held, parsed: Err(error), warnings: Vec::new() },
        }
    }

    /// The target, when it is a name.
    pub(super) fn exact_target(&self, schema: &Schema) -> Option<NormalizedDn> {
        match &self.parsed.as_ref().ok()?.targets.target.as_ref()?.value {
            DnPattern::Exact(name) => NormalizedDn::parse(schema, name.as_str().as_bytes()).ok(),
            DnPattern::Pattern(_) => None,
        }
    }

    /// The entry that holds it; the root for those of the configuration.
    pub(super) fn holder(&self) -> NormalizedDn {
        self.held.holder.clone().unwrap_or_default()
    }
}

pub(super) fn range(span: Span) -> Option<Range<usize>> {
    Some(span.range())
}
