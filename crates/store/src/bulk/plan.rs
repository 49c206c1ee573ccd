//! What all workers of an import share, derived once from the options.

use std::sync::Arc;

use schema::check::{Checker, ClassSet, Requirement};
use schema::{NormalizedDn, Schema};

use super::error::BulkError;
use super::names::AttributeSelection;
use super::options::{ImportOptions, SkipReason};
use crate::record::{Values, put_value, write_seconds};
/// What all workers share, derived once from the options.
#[derive(Debug)]
pub(super) struct Plan<'o> {
    pub options: &'o ImportOptions,
    bases: Vec<NormalizedDn>,
    /// Base DNs of other backends that lie below one of these.
    others: Vec<NormalizedDn>,
    include: Vec<NormalizedDn>,
    exclude: Vec<NormalizedDn>,
    pub attributes: AttributeSelection,
    pub checker: Checker,
    /// The time of the stamps, as it is stored.
    pub stamp_time: Vec<u8>,
}

impl<'o> Plan<'o> {
    pub fn new(options: &'o ImportOptions) -> Result<Self, BulkError> {
        let parse = |names: &[String]| -> Result<Vec<NormalizedDn>, BulkError> {
            let one = |name: &String| NormalizedDn::parse(&options.schema, name.as_bytes());
            let failed = |name: &String, error| BulkError::Option(format!("\"{name}\" is not a DN: {error}"));
            names.iter().map(|name| one(name).map_err(|error| failed(name, error))).collect()
        };
        Ok(Self {
            options,
            bases: parse(&options.base_dns)?,
            others: parse(&options.other_base_dns)?,
            include: parse(&options.selection.include_branches)?,
            exclude: parse(&options.selection.exclude_branches)?,
            attributes: AttributeSelection::new(options)?,
            checker: Checker::new(Arc::clone(&options.schema), options.leniency),
            stamp_time: {
                let mut time = Vec::new();
                write_seconds(options.stamps.as_ref().map_or(0, |stamps| stamps.unix_seconds), &mut time);
                time.push(b'Z');
                time
            },
        })
    }

    pub fn schema(&self) -> &Schema {
        &self.options.schema
    }

    /// The branches included and excluded.
    pub fn branches(&self) -> (&[NormalizedDn], &[NormalizedDn]) {
        (&self.include, &self.exclude)
    }

    /// The requirements of a set of object classes.
    pub fn classes(&self, values: Values<'_>) -> Classes {
        let completed = with_superiors(self.schema(), values);
        let complete = completed.as_ref().map_or(values, |more| Values::new(more.count, &more.body));
        let set = ClassSet::of_values(self.schema(), complete.iter()).map_err(|error| error.to_string());
        let mut names: Vec<Vec<u8>> = values.iter().map(<[u8]>::to_ascii_lowercase).collect();
        names.sort_unstable();
        let twice = names.windows(2).any(|pair| matches!(pair, [a, b] if a == b));
        let requirement = match twice {
            true => Err("the attribute objectClass has the same value twice".to_owned()),
            false => set.map(|set| self.checker.requirement(&set)),
        };
        Classes { completed, requirement }
    }

    /// Whether entries of that name belong into this import.
    pub fn place(&self, dn: &NormalizedDn, is_kept: bool) -> Placing {
        let within = |branches: &[NormalizedDn]| branches.iter().any(|branch| branch.is_ancestor_or_equal(dn));
        // The backend with the longest base DN holds the name.
        let holding = |bases: &[NormalizedDn]| {
            let above = bases.iter().filter(|base| base.is_ancestor_or_equal(dn));
            above.map(NormalizedDn::len).max()
        };
        let Some(own) = holding(&self.bases) else { return Placing::Skipped(SkipReason::OtherBackend) };
        if !is_kept && !((self.include.is_empty() || within(&self.include)) && !within(&self.exclude)) {
            return Placing::Skipped(SkipReason::Branch);
        }
        match holding(&self.others) {
            Some(other) if other > own && !is_kept => Placing::Foreign,
            _ => {
                // Below the empty base DN, which is that of no entry, every name of one RDN is a base entry's.
                let is_below_root = own == 0 && dn.len() == 1;
                Placing::Own { is_base: is_below_root || self.bases.contains(dn) }
            }
        }
    }
}

/// Whether an entry belongs into an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placing {
    /// It does.
    Own {
        /// Its name is a base DN, or right below the empty one.
        is_base: bool,
    },
    /// It is left out.
    Skipped(SkipReason),
    /// Its name is below a base DN of this backend, but belongs to another one.
    Foreign,
}

/// One set of object classes as written.
#[derive(Debug)]
pub(super) struct Classes {
    /// The values with the superior classes that the file left out; none when none is missing.
    pub completed: Option<ClassBody>,
    /// What entries with these classes must have and may have; or why no entry can have them.
    pub requirement: Result<Arc<Requirement>, String>,
}

/// Values of `objectClass` in wire form.
#[derive(Debug)]
pub(super) struct ClassBody {
    pub count: u32,
    pub longest: u32,
    pub body: Box<[u8]>,
}

/// The values of objectClass with all superior classes; `None` when none is missing.
fn with_superiors(schema: &Schema, values: Values<'_>) -> Option<ClassBody> {
    let mut have: Vec<_> =
        values.iter().filter_map(|name| schema.object_class(name)).map(|class| class.index).collect();
    let mut body = values.body().to_vec();
    let mut count = values.count();
    let mut longest = values.iter().map(<[u8]>::len).max().unwrap_or(0);
    for own in values.iter().filter_map(|name| schema.object_class(name)) {
        for ancestor in own.ancestors() {
            let Some(class) = schema.class_by_index(*ancestor).filter(|_| !have.contains(ancestor)) else { continue };
            have.push(*ancestor);
            put_value(&mut body, class.name().as_bytes());
            longest = longest.max(class.name().len());
            count += 1;
        }
    }
    (count > values.count()).then(|| ClassBody { count, longest: longest as u32, body: body.into() })
}
