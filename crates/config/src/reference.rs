//! The reference manual, made from the declarations.

use std::fmt::Write;

use crate::component::capitalized;
use crate::declarations::CLASSES;
use crate::declare::{Applier, Class, Default, Effect, Property, Variant};
use crate::object::quoted;
use crate::syntax::Syntax;

const INTRODUCTION: &str = "# Configuration reference

Made from the declarations in the code; `cargo test -p config` says when it is not current, and
`PANDO_WRITE_REFERENCE=1 cargo test -p config` writes it again.

An instance is configured by the file `pando.toml` in its directory. It is [TOML](https://toml.io): a table is an
object, a key in it is a property. A property that is left out has the default shown here. Several values are written as
an array. Sizes and durations are texts with units: `\"5 mib\"`, `\"1 d 12 h\"`. The server does not start with a faulty
file: it reports all faults at once, with file, line and column. Each property says when a change takes effect: at once,
by `dsconfig` or at `pando reload`, or at the next start of the server.

";

/// The text of `docs/reference/configuration.md`.
#[must_use]
pub fn reference_manual() -> String {
    let mut out = INTRODUCTION.to_owned();
    for class in CLASSES {
        let _ = writeln!(out, "* [{0}](#{0}): {1}", class.name, class.help);
    }
    for class in CLASSES {
        describe(&mut out, class, "", 2);
    }
    out
}

fn describe(out: &mut String, class: &Class, path: &str, level: usize) {
    let heading = "#".repeat(level);
    let _ = write!(out, "\n{heading} {}\n\n{}", class.name, class.help);
    let path = match class.named_by {
        Some(named_by) => {
            let path = format!("{path}{}.NAME", class.name);
            let _ = writeln!(out, " Written as `[{path}]`; NAME is {named_by}.");
            path
        }
        None => {
            let _ = writeln!(out, " Written as `[{path}{}]`.", class.name);
            format!("{path}{}", class.name)
        }
    };
    for variant in class.variants {
        if !variant.type_name.is_empty() {
            let _ = writeln!(out, "\n{heading}# type = \"{}\"\n\n{}", variant.type_name, variant.help);
        }
        table(out, variant);
    }
    for child in class.children {
        describe(out, child, &format!("{path}."), level + 1);
    }
}

fn table(out: &mut String, variant: &Variant) {
    out.push_str("\n| property | value | default | meaning |\n|---|---|---|---|\n");
    for property in variant.properties {
        let several = if property.multi_valued { "; several are allowed" } else { "" };
        let allowed = capitalized(&property.syntax.allowed());
        let effect = match property.effect {
            Effect::Live(Applier::Indexes) => " A running server takes a change, and builds indexes in the background.",
            Effect::Live(_) => " A running server takes a change.",
            Effect::AtStart => " A change takes effect after a restart.",
        };
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {}{effect} |",
            property.name,
            cell(&format!("{allowed}{several}")),
            cell(&default_cell(property)),
            cell(property.help)
        );
    }
}

fn default_cell(property: &Property) -> String {
    match &property.default {
        Default::Values(values) => values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", "),
        Default::Absent(meaning) => (*meaning).to_owned(),
        Default::Mandatory => "must be set".to_owned(),
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// A property as a line of the file.
pub(crate) fn setting_line(property: &Property, values: &[String]) -> String {
    let plain = matches!(property.syntax, Syntax::Integer { .. } | Syntax::Boolean);
    let shown: Vec<String> = values
        .iter()
        .map(|value| if plain { value.clone() } else { toml_edit::Value::from(value.as_str()).to_string() })
        .collect();
    match (shown.as_slice(), property.multi_valued) {
        ([one], _) => format!("{} = {one}", quoted(property.name)),
        (several, _) => format!("{} = [{}]", quoted(property.name), several.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_manual_is_current() {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/configuration.md");
        if std::env::var_os("PANDO_WRITE_REFERENCE").is_some() {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, reference_manual()).unwrap();
        }
        let written = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(written == reference_manual(), "write it again with PANDO_WRITE_REFERENCE=1");
    }

    #[test]
    fn every_default_is_a_value_and_every_sentence_ends() {
        fn walk(class: &Class) {
            assert!(class.help.ends_with(['.', ')']), "{}", class.name);
            for variant in class.variants {
                let mut seen = std::collections::HashSet::new();
                for property in variant.properties {
                    assert!(seen.insert(property.name), "{} twice", property.name);
                    assert!(property.help.ends_with('.'), "{}", property.name);
                    if let Default::Values(values) = &property.default {
                        assert!(property.multi_valued || values.len() == 1, "{}", property.name);
                        for value in *values {
                            assert!(
                                crate::value::parse(property.syntax, value).is_some(),
                                "{} = {value}",
                                property.name
                            );
                        }
                    }
                }
            }
            class.children.iter().for_each(|child| walk(child));
        }
        CLASSES.iter().for_each(|class| walk(class));
    }
}
