//! `list-properties`: which properties there are, of all that can be configured, in the form of OpenDJ's tool.
//!
//! Knows the declarations; opens no configuration.

use clap::Args;
use config::{Component, Default as Unset, Property, Syntax, Unit, Variant};
use nearest::hint;

use super::display::Reader;
use crate::failure::Failure;
use crate::output::outln;
use crate::table::Table;

/// The kind of an object whose class has one kind only.
const ONLY_KIND: &str = "generic";

/// What the letters of the column "Options" mean.
const LEGEND: &str = "Option Types:

 r -- Property value(s) are readable
 w -- Property value(s) are writable
 m -- The property is mandatory
 s -- The property is single-valued
 a -- The server has to be restarted for changes to take effect

";

/// Of what properties are listed.
#[derive(Debug, Clone, Default, Args)]
pub struct Options {
    /// Of this component only, such as backend-index
    #[arg(short = 'c', long = "category", value_name = "CATEGORY")]
    category: Option<String>,
    /// Of this kind of the component only
    #[arg(short = 't', long = "type", value_name = "TYPE", requires = "category")]
    type_name: Option<String>,
    /// This property only; repeat it to list several
    #[arg(long = "property", value_name = "PROPERTY")]
    properties: Vec<String>,
    /// List what kinds have in common with others for each kind: it is always done
    #[arg(long = "inherited")]
    inherited: bool,
}

/// Prints the properties.
pub fn list(options: &Options, reader: Reader) -> Result<(), Failure> {
    let rows = rows(options)?;
    match reader {
        Reader::Script => rows.iter().for_each(|row| outln!("{}", row.join("\t"))),
        Reader::Person => {
            let mut table = Table::new(&["Component", "Type", "Property", "Options", "Syntax"]);
            rows.into_iter().for_each(|row| table.row(row.into()));
            crate::output::out!("{LEGEND}\n");
            table.print();
        }
    }
    Ok(())
}

fn rows(options: &Options) -> Result<Vec<[String; 5]>, Failure> {
    let all = Component::all();
    let names: Vec<String> = all.iter().map(Component::name).collect();
    let mut wanted: Vec<&Component> = all.iter().collect();
    if let Some(category) = &options.category {
        wanted.retain(|component| component.name().eq_ignore_ascii_case(category));
        if wanted.is_empty() {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            return Err(Failure::new(format_args!("there is no component \"{category}\": {}", hint(category, &names))));
        }
    }
    wanted.sort_by_key(|component| component.name());
    let mut kinds: Vec<(&Component, &Variant)> =
        wanted.iter().flat_map(|one| one.class().variants.iter().map(move |variant| (*one, variant))).collect();
    if let Some(type_name) = &options.type_name {
        let known: Vec<&str> = kinds.iter().map(|(_, variant)| kind(variant)).collect();
        kinds.retain(|(_, variant)| kind(variant).eq_ignore_ascii_case(type_name));
        if kinds.is_empty() {
            let category = options.category.as_deref().unwrap_or_default();
            let hint = hint(type_name, &known);
            return Err(Failure::new(format_args!("there is no {category} of type \"{type_name}\": {hint}")));
        }
    }
    check_names(&options.properties, &kinds)?;
    let is_wanted = |property: &&Property| {
        let names = &options.properties;
        names.is_empty() || names.iter().any(|name| name.eq_ignore_ascii_case(property.name))
    };
    let mut rows: Vec<[String; 5]> = Vec::new();
    for (component, variant) in kinds {
        for property in variant.properties.iter().filter(is_wanted) {
            let texts = [&component.name(), kind(variant), property.name, &letters(property), &syntax(property)];
            rows.push(texts.map(str::to_owned));
        }
    }
    rows.sort();
    Ok(rows)
}

fn check_names(names: &[String], kinds: &[(&Component, &Variant)]) -> Result<(), Failure> {
    let mut known: Vec<&str> =
        kinds.iter().flat_map(|(_, variant)| variant.properties).map(|property| property.name).collect();
    known.sort_unstable();
    known.dedup();
    match names.iter().find(|name| !known.iter().any(|own| own.eq_ignore_ascii_case(name))) {
        Some(unknown) => {
            Err(Failure::new(format_args!("there is no property \"{unknown}\": {}", hint(unknown, &known))))
        }
        None => Ok(()),
    }
}

fn kind(variant: &Variant) -> &'static str {
    if variant.type_name.is_empty() { ONLY_KIND } else { variant.type_name }
}

/// `rwms-`
pub fn letters(property: &Property) -> String {
    let letter = |is_so: bool, letter: char| if is_so { letter } else { '-' };
    let is_mandatory = matches!(property.default, Unset::Mandatory);
    let parts =
        ['r', 'w', letter(is_mandatory, 'm'), letter(!property.multi_valued, 's'), letter(!property.is_live(), 'a')];
    parts.iter().collect()
}

/// The name of a syntax: OpenDJ's, where it has one.
pub fn syntax(property: &Property) -> String {
    match property.syntax {
        Syntax::Text | Syntax::Path => "STRING".to_owned(),
        Syntax::Pattern => "PATTERN".to_owned(),
        Syntax::Dn | Syntax::BaseDn => "DN".to_owned(),
        Syntax::Integer { .. } => "INTEGER".to_owned(),
        Syntax::Size { .. } => "SIZE".to_owned(),
        Syntax::Duration { unit: Unit::Milliseconds, .. } => "DURATION (ms)".to_owned(),
        Syntax::Duration { unit: Unit::Seconds, .. } => "DURATION (s)".to_owned(),
        Syntax::Boolean => "BOOLEAN".to_owned(),
        // The last word of the name.
        Syntax::Choice(_) => property.name.rsplit('-').next().unwrap_or(property.name).to_uppercase(),
        Syntax::AttributeType | Syntax::ObjectClass => "OID".to_owned(),
        Syntax::ServerUrl => "URL".to_owned(),
        Syntax::Address => "IP_ADDRESS".to_owned(),
        Syntax::AddressMask => "IP_ADDRESS_MASK".to_owned(),
        Syntax::Mode => "MODE".to_owned(),
        Syntax::TimeOfDay => "HHmm".to_owned(),
        Syntax::SeverityOverride => "STRING".to_owned(),
        Syntax::Aci => "ACI".to_owned(),
        Syntax::PrivilegeChange => "PRIVILEGE".to_owned(),
        Syntax::Password => "PASSWORD".to_owned(),
        Syntax::Reference(_) => "NAME".to_owned(),
    }
}
