//! How objects are shown: which properties, in which units, as a table for people or in tabs for scripts, in the forms
//! of OpenDJ's tool.

use clap::Args;
use config::{Component, Property, Syntax, parse_duration, parse_size, size_units, time_units};
use nearest::hint;

use super::door::Seen;
use crate::failure::Failure;
use crate::output::outln;
use crate::table::Table;

/// What stands for no value.
const NONE: &str = "-";

/// What is shown of objects, and in which units.
#[derive(Debug, Clone, Default, Args)]
pub struct Display {
    /// Show this property; repeat it to show several [default: all of one object, the most important in a list]
    #[arg(long = "property", value_name = "PROPERTY")]
    properties: Vec<String>,
    /// Show sizes in this unit: b, kb, mb, gb, tb, kib, mib, gib or tib [default: the greatest that is exact]
    #[arg(short = 'z', long = "unit-size", value_name = "UNIT")]
    unit_size: Option<String>,
    /// Show durations in this unit: ms, s, m, h, d or w [default: those that are exact]
    #[arg(short = 'm', long = "unit-time", value_name = "UNIT")]
    unit_time: Option<String>,
}

/// For whom something is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// A table.
    Person,
    /// Tabs, no headings, one line an object or a property.
    Script,
}

/// How values are written.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    reader: Reader,
    size: Option<Scale>,
    time: Option<Scale>,
}

/// A unit and how much it is.
type Scale = (&'static str, u64);

impl Display {
    /// How values are written for a reader.
    pub fn form(&self, reader: Reader) -> Result<Form, Failure> {
        let size = self.unit_size.as_deref().map(|unit| scale("size", unit, size_units())).transpose()?;
        let time = self.unit_time.as_deref().map(|unit| scale("time", unit, time_units())).transpose()?;
        Ok(Form { reader, size, time })
    }

    /// The properties that were asked for, in that order; `None` if none was named.
    pub fn chosen(
        &self,
        component: &Component,
        known: &[&'static Property],
    ) -> Result<Option<Vec<&'static Property>>, Failure> {
        if self.properties.is_empty() {
            return Ok(None);
        }
        let find = |name: &String| {
            let found = known.iter().copied().find(|own| own.name.eq_ignore_ascii_case(name));
            let names: Vec<&str> = known.iter().map(|own| own.name).collect();
            found.ok_or_else(|| {
                Failure::new(format_args!(
                    "unknown property \"{name}\" of {}: {}",
                    component.title(),
                    hint(name, &names)
                ))
            })
        };
        let mut chosen = self.properties.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        chosen.dedup_by_key(|property| property.name);
        Ok(Some(chosen))
    }
}

fn scale(what: &str, name: &str, units: &[(&'static str, &'static str, u64)]) -> Result<Scale, Failure> {
    let is_meant =
        |(short, long, _): &&(&str, &str, u64)| name.eq_ignore_ascii_case(short) || name.eq_ignore_ascii_case(long);
    let found = units.iter().find(is_meant).map(|(short, _, unit)| (*short, *unit));
    found.ok_or_else(|| {
        let known: Vec<&str> = units.iter().rev().map(|(short, _, _)| *short).collect();
        Failure::new(format_args!("\"{name}\" is no unit of {what}: known are {}", known.join(", ")))
    })
}

/// Prints the properties of an object; `by_value` gives each value a line of its own.
pub fn show(seen: &Seen, chosen: Option<&[&'static Property]>, form: Form, by_value: bool) {
    let is_chosen = |property: &Property| chosen.is_none_or(|chosen| chosen.iter().any(|it| it.name == property.name));
    let mut shown: Vec<_> = seen.values.iter().filter(|(property, _)| is_chosen(property)).collect();
    shown.sort_by_key(|(property, _)| property.name);
    let mut table = Table::new(&["Property", "Value(s)"]).with_colons();
    for (property, values) in shown {
        let texts: Vec<String> = values.iter().map(|value| form.text(property, value)).collect();
        let lines = if by_value && !texts.is_empty() { texts.chunks(1).collect() } else { vec![texts.as_slice()] };
        for line in lines {
            match form.reader {
                Reader::Person => table.row(vec![property.name.to_owned(), cell(line)]),
                Reader::Script => {
                    outln!("{}", [&[property.name.to_owned()], line].concat().join("\t"));
                }
            }
        }
    }
    if form.reader == Reader::Person {
        table.print();
    }
}

/// Several values as one cell.
fn cell(texts: &[String]) -> String {
    if texts.is_empty() { NONE.to_owned() } else { texts.join(", ") }
}

impl Form {
    /// The values of a property as a cell of a table; without a value, or the property, a dash.
    pub fn cell(self, seen: &Seen, property: &Property) -> String {
        let values = seen.values_of(property.name).unwrap_or_default();
        cell(&values.iter().map(|value| self.text(property, value)).collect::<Vec<_>>())
    }

    /// For whom it is.
    pub fn reader(self) -> Reader {
        self.reader
    }

    fn text(self, property: &Property, value: &str) -> String {
        let scaled = match property.syntax {
            Syntax::Size { .. } => self.size.and_then(|scale| Some(self.number(parse_size(value)?, scale))),
            Syntax::Duration { unit, .. } => parse_duration(value, unit).map(|ms| match self.time {
                Some(scale) => self.number(ms, scale),
                None => duration(ms, unit_of_bare_numbers(unit)),
            }),
            _ => None,
        };
        match (scaled, self.reader) {
            (Some(text), _) => text,
            // Between commas a value with commas would look like several.
            (None, Reader::Person) if value.trim().is_empty() || value.contains(',') => format!("\"{value}\""),
            (None, _) => value.to_owned(),
        }
    }

    /// In one unit, with up to three decimals.
    fn number(self, value: u64, (unit, size): Scale) -> String {
        let thousandths = (u128::from(value) * 1000 + u128::from(size) / 2) / u128::from(size.max(1));
        let whole = (thousandths / 1000).to_string();
        let whole = match self.reader {
            Reader::Script => whole,
            Reader::Person => grouped(&whole),
        };
        let decimals = format!("{:03}", thousandths % 1000);
        match decimals.trim_end_matches('0') {
            "" => format!("{whole} {unit}"),
            decimals => format!("{whole}.{decimals} {unit}"),
        }
    }
}

/// `100,000`
fn grouped(digits: &str) -> String {
    let count = digits.len();
    let with_comma = |(at, digit): (usize, char)| {
        let is_first_of_three = at > 0 && (count - at).is_multiple_of(3);
        [is_first_of_three.then_some(','), Some(digit)].into_iter().flatten()
    };
    digits.chars().enumerate().flat_map(with_comma).collect()
}

fn unit_of_bare_numbers(unit: config::Unit) -> &'static str {
    match unit {
        config::Unit::Milliseconds => "ms",
        config::Unit::Seconds => "s",
    }
}

/// `1 d 12 h`
fn duration(ms: u64, unit_of_nought: &str) -> String {
    let mut left = ms;
    let mut parts = Vec::new();
    for (short, _, unit) in time_units() {
        if left >= *unit {
            parts.push(format!("{} {short}", left / unit));
            left %= unit;
        }
    }
    if parts.is_empty() { format!("0 {unit_of_nought}") } else { parts.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_are_written_as_in_opendj() {
        for (ms, text) in
            [(0, "0 s"), (86_400_000, "1 d"), (129_600_000, "1 d 12 h"), (604_800_000, "1 w"), (1, "1 ms")]
        {
            assert_eq!(duration(ms, "s"), text);
        }
        let form = |reader| Form { reader, size: None, time: None };
        assert_eq!(form(Reader::Person).number(100_000_000, ("kb", 1000)), "100,000 kb");
        assert_eq!(form(Reader::Script).number(100_000_000, ("kb", 1000)), "100000 kb");
        assert_eq!(form(Reader::Person).number(100_000_000, ("gb", 1_000_000_000)), "0.1 gb");
        assert_eq!(form(Reader::Person).number(0, ("tb", 1_000_000_000_000)), "0 tb");
        assert_eq!(form(Reader::Person).number(u64::MAX, ("b", 1)), "18,446,744,073,709,551,615 b");
        assert_eq!((grouped("1"), grouped("123"), grouped("1234")), ("1".into(), "123".into(), "1,234".into()));
    }
}
