//! Class of Service (Sun Directory Server, Administration Guide: "Class of Service"): definition entries, which are
//! LDAP subentries, give attributes to the entries below `cosTargetTree`, or below their own parent.
//!
//! | class | where the values are |
//! |---|---|
//! | `cosPointerDefinition` | in the template `cosTemplateDn` |
//! | `cosIndirectDefinition` | in the entry that the target names in `cosIndirectSpecifier` |
//! | `cosClassicDefinition`, `cosDefinition` | below `cosTemplateDn`, in the template named by `cosSpecifier` |
//!
//! Knows what definition entries mean; values and filters are for [`super::from_entries`].

use std::sync::Arc;

use config::ConflictBehavior;
use schema::{NormalizedDn, TypeIndex};

use super::definition::check_attribute;
use super::definition::{Definition, ValueSource};
use super::from_entries::{BelowBase, OfEntry, OfNamed, tells_groups};
use super::reach::Reach;
use super::reading::Reading;

/// Attributes of one definition entry.
const ATTRIBUTES_MAX: usize = 1_000;

/// What stands behind the name in a value of `cosAttribute`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Qualifiers {
    /// What is given is shown instead of what is stored.
    overrides: bool,
    /// The attribute comes to those only who ask for it by name, and entries need not be allowed to have it.
    operational: bool,
    /// Values of several templates and definitions are shown together.
    merges: bool,
}

/// A value of `cosAttribute`: a name, then words in any order and case. No word is `default`.
fn qualified(value: &[u8]) -> Result<(&str, Qualifiers), String> {
    let text = std::str::from_utf8(value).map_err(|_| "has a cosAttribute that is not UTF-8".to_owned())?;
    let mut words = text.split_ascii_whitespace();
    let name = words.next().ok_or_else(|| "has an empty cosAttribute".to_owned())?;
    let mut qualifiers = Qualifiers::default();
    for word in words {
        match word.to_ascii_lowercase().as_str() {
            "default" => {}
            "override" => qualifiers.overrides = true,
            "operational" => (qualifiers.operational, qualifiers.overrides) = (true, true),
            "operational-default" => qualifiers.operational = true,
            "merge-schemes" => qualifiers.merges = true,
            _ => {
                return Err(format!(
                    "has the cosAttribute \"{text}\": after the name there may be default, override, operational, \
                     operational-default and merge-schemes"
                ));
            }
        }
    }
    Ok((name, qualifiers))
}

/// `cosPointerDefinition`
pub(super) fn read_pointer(reading: &Reading<'_>) -> Result<Vec<Definition>, String> {
    let name = template_name(reading)?;
    definitions(reading, |_| Arc::new(OfEntry { name: name.clone(), must_be_template: true }))
}

/// `cosIndirectDefinition`
pub(super) fn read_indirect(reading: &Reading<'_>) -> Result<Vec<Definition>, String> {
    let by = reading.attribute_in("cosIndirectSpecifier")?.index;
    let follows_groups = tells_groups(reading.facts, by);
    definitions(reading, |qualifiers| {
        Arc::new(OfNamed { by, all: qualifiers.merges, parents: 0, within: None, follows_groups })
    })
}

/// `cosClassicDefinition` and the older `cosDefinition`
pub(super) fn read_classic(reading: &Reading<'_>) -> Result<Vec<Definition>, String> {
    let base = template_name(reading)?;
    let known = reading.attribute_in("cosSpecifier")?;
    let (specifier, name) = (known.index, known.name());
    // Sun names templates by cn; others by what they stand for.
    let mut named_by: Vec<TypeIndex> =
        reading.facts.schema.attribute_type(b"cn").map(|it| it.index).into_iter().collect();
    if !named_by.contains(&specifier) {
        named_by.push(specifier);
    }
    let follows_groups = tells_groups(reading.facts, specifier);
    definitions(reading, |qualifiers| {
        Arc::new(BelowBase {
            base: base.clone(),
            specifier,
            named_by: named_by.clone(),
            must_be_template: true,
            fallback: Some(format!("{name}-default")),
            all: qualifiers.merges,
            follows_groups,
        })
    })
}

/// `cosTemplateDn`; without it the entry above the definition.
fn template_name(reading: &Reading<'_>) -> Result<NormalizedDn, String> {
    Ok(reading.name_in("cosTemplateDn")?.unwrap_or_else(|| reading.parent()))
}

fn definitions(
    reading: &Reading<'_>,
    source: impl Fn(Qualifiers) -> Arc<dyn ValueSource>,
) -> Result<Vec<Definition>, String> {
    let target = reading.name_in("cosTargetTree")?.unwrap_or_else(|| reading.parent());
    let mut all = Vec::new();
    for value in reading.all_values("cosAttribute", ATTRIBUTES_MAX)? {
        let (name, qualifiers) = qualified(&value)?;
        let known = reading.facts.schema.attribute_type(name.as_bytes());
        let known = known.ok_or_else(|| format!("gives the attribute {name}, which the schema does not have"))?;
        check_attribute(reading.facts, known.index)
            .map_err(|why| format!("gives the attribute {name}, which {why}"))?;
        all.push(Definition {
            attribute: known.index,
            reach: Reach::below(vec![target.clone()]),
            conflict: match qualifiers.overrides {
                true => ConflictBehavior::VirtualOverridesReal,
                false => ConflictBehavior::RealOverridesVirtual,
            },
            is_by_name_only: qualifiers.operational,
            merges: qualifiers.merges,
            needs_schema: !qualifiers.operational,
            refuses_writes: qualifiers.overrides,
            source: source(qualifiers),
        });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qualifiers_come_in_any_order_and_case() {
        let of = |text: &'static str| qualified(text.as_bytes()).unwrap();
        let plain = Qualifiers::default();
        assert_eq!(of("mail"), ("mail", plain));
        assert_eq!(of("mail default"), ("mail", plain));
        assert_eq!(of(" mail  OverRide"), ("mail", Qualifiers { overrides: true, ..plain }));
        let operational = Qualifiers { overrides: true, operational: true, merges: false };
        assert_eq!(of("mail operational"), ("mail", operational));
        assert_eq!(of("mail merge-schemes operational"), ("mail", Qualifiers { merges: true, ..operational }));
        assert_eq!(of("mail operational-default"), ("mail", Qualifiers { operational: true, ..plain }));
        assert!(qualified(b"").is_err() && qualified(b"mail always").unwrap_err().contains("always"));
    }
}
