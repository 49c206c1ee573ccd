//! From a checked template to entries, one after the other.

use std::collections::HashMap;
use std::fmt::Write;

use super::lexer::Part;
use super::random::Random;
use super::tag::{Choice, Length, NUMERIC, Tag};
use super::template::{Branch, Line, Subordinate, Template, TemplateFile, split_dn};
use super::value_form::ValueForm;

/// A made entry.
#[derive(Debug, Default)]
pub struct Entry {
    /// Its DN.
    pub dn: String,
    /// Attribute and value, in the order of the template.
    pub values: Vec<(String, ValueForm, String)>,
    /// Keys of `values` in lower case, in the same order.
    keys: Vec<String>,
    parent: String,
}

impl Entry {
    fn first(&self, key: &str) -> Option<&str> {
        let place = self.keys.iter().position(|known| known == key)?;
        self.values.get(place).map(|(_, _, value)| value.as_str())
    }

    fn has(&self, key: &str, value: Option<&str>) -> bool {
        let same = |(known, (_, _, held)): (&String, &(String, ValueForm, String))| {
            known == key && value.is_none_or(|value| held.eq_ignore_ascii_case(value))
        };
        self.keys.iter().zip(&self.values).any(same)
    }
}

/// Makes the entries of a template.
pub struct Generator<'t> {
    file: &'t TemplateFile,
    random: Random,
    /// Where GUIDs come from: they leave the numbers of everything else as they are.
    guids: Random,
    /// What `<sequential>` and `<file:…:sequential>` give next, with the parent they counted for.
    counters: HashMap<usize, (u64, String)>,
    /// Given name and surname of the current entry; `None` before the first.
    names: Option<Names>,
}

impl<'t> Generator<'t> {
    /// A generator at the beginning.
    pub fn new(file: &'t TemplateFile, seed: u64) -> Self {
        Self {
            file,
            random: Random::new(seed),
            guids: Random::new(!seed),
            counters: HashMap::with_capacity(file.states),
            names: None,
        }
    }

    /// Makes every entry, parents first, and hands it to `sink`; ends early with the sink's error.
    pub fn run<E>(&mut self, sink: &mut dyn FnMut(&Entry) -> Result<(), E>) -> Result<u64, E> {
        let mut count = 0;
        for branch in &self.file.branches {
            let entry = self.branch_entry(branch);
            sink(&entry)?;
            count += 1;
            for subordinate in &branch.subordinates {
                self.subordinates(subordinate, &branch.dn, sink, &mut count)?;
            }
        }
        Ok(count)
    }

    /// Makes the entries of the branches alone.
    pub fn branches(&mut self) -> Vec<Entry> {
        self.file.branches.iter().map(|branch| self.branch_entry(branch)).collect()
    }

    fn subordinates<E>(
        &mut self,
        subordinate: &Subordinate,
        parent: &str,
        sink: &mut dyn FnMut(&Entry) -> Result<(), E>,
        count: &mut u64,
    ) -> Result<(), E> {
        let Some(template) = self.file.templates.get(subordinate.template) else { return Ok(()) };
        for _ in 0..subordinate.count {
            let entry = self.template_entry(template, parent);
            sink(&entry)?;
            *count += 1;
            for below in &template.subordinates {
                self.subordinates(below, &entry.dn, sink, count)?;
            }
        }
        Ok(())
    }

    fn branch_entry(&mut self, branch: &Branch) -> Entry {
        let rdns = split_dn(&branch.dn);
        let parent = rdns.get(1..).unwrap_or(&[]).join(",");
        let mut entry = Entry { dn: branch.dn.clone(), parent, ..Entry::default() };
        for line in &branch.lines {
            self.line(line, &mut entry);
        }
        entry
    }

    fn template_entry(&mut self, template: &Template, parent: &str) -> Entry {
        let mut entry =
            Entry { parent: parent.to_owned(), values: Vec::with_capacity(template.lines.len()), ..Entry::default() };
        let lengths = (self.file.first_names.len(), self.file.last_names.len());
        self.names = Some(self.names.map_or_else(Names::default, |names| names.next(lengths)));
        for (place, line) in template.lines.iter().enumerate() {
            self.line(line, &mut entry);
            if template.rdn_lines.iter().max() == Some(&place) {
                entry.dn = dn_of(template, &entry);
            }
        }
        entry
    }

    /// Adds the value of a line, unless a condition in it says no.
    fn line(&mut self, line: &Line, entry: &mut Entry) {
        let mut value = String::new();
        for part in &line.parts {
            match part {
                Part::Text(text) => value.push_str(text),
                Part::Reference { attribute, length } => {
                    let referred = entry.first(attribute).unwrap_or("");
                    value.extend(referred.chars().take(length.unwrap_or(usize::MAX)));
                }
                Part::Tag(tag) if tag.is_condition() => {
                    if !self.holds(tag, entry) {
                        return;
                    }
                }
                Part::Tag(tag) => self.tag(tag, entry, &mut value),
            }
        }
        entry.keys.push(line.key.clone());
        entry.values.push((line.attribute.clone(), line.form, value));
    }

    fn holds(&mut self, condition: &Tag, entry: &Entry) -> bool {
        match condition {
            Tag::IfAbsent { attribute, value } => !entry.has(attribute, value.as_deref()),
            Tag::IfPresent { attribute, value } => entry.has(attribute, value.as_deref()),
            Tag::Presence { percent } => self.random.below(100) < *percent,
            _ => true,
        }
    }

    fn tag(&mut self, tag: &Tag, entry: &Entry, out: &mut String) {
        match tag {
            Tag::Dn { components, underscores } => dn_part(&entry.dn, *components, *underscores, out),
            Tag::ParentDn { components, underscores } => dn_part(&entry.parent, *components, *underscores, out),
            Tag::Rdn { components } => dn_part(&entry.dn, Some(*components), false, out),
            Tag::File { lines, choice, state } => {
                let line = match choice {
                    Choice::Random => self.random.pick(lines),
                    Choice::Sequential => {
                        let next = self.count(*state, 0, None);
                        lines.get(usize::try_from(next % lines.len().max(1) as u64).unwrap_or(0))
                    }
                };
                out.extend(line.map(String::as_str));
            }
            Tag::First => out.push_str(&self.name().0),
            Tag::Last => out.push_str(&self.name().1),
            Tag::Guid => self.guid(out),
            Tag::List { values, weight } => {
                let mut left = self.random.below(*weight);
                let chosen = values.iter().find(|(_, share)| {
                    let here = left < *share;
                    left = left.saturating_sub(*share);
                    here
                });
                out.extend(chosen.map(|(value, _)| value.as_str()));
            }
            Tag::Characters { set, length } => {
                let length = match *length {
                    Length::Fixed(length) => length,
                    Length::Range(min, max) => min + self.random.below(max - min + 1),
                };
                out.extend((0..length).filter_map(|_| self.random.pick(set)));
            }
            Tag::Number { min, max, digits } => {
                let _ = write!(out, "{:0digits$}", self.random.between(*min, *max));
            }
            Tag::Month { length } => {
                let month = self.random.pick(&MONTHS).copied().unwrap_or("");
                out.extend(month.chars().take(length.unwrap_or(usize::MAX)));
            }
            Tag::Telephone => {
                out.push_str("+1");
                for digits in [3, 3, 4] {
                    out.push(' ');
                    out.extend((0..digits).filter_map(|_| self.random.pick(NUMERIC)));
                }
            }
            Tag::Sequential { start, reset_on_parent, state } => {
                let parent = reset_on_parent.then_some(entry.parent.as_str());
                let _ = write!(out, "{}", self.count(*state, *start, parent));
            }
            Tag::Text(text) => out.push_str(text),
            Tag::IfAbsent { .. } | Tag::IfPresent { .. } | Tag::Presence { .. } => {}
        }
    }

    /// The next number of a counter, which starts again under another parent if it counts for one.
    fn count(&mut self, state: usize, start: u64, parent: Option<&str>) -> u64 {
        let (next, counted_for) =
            self.counters.entry(state).or_insert_with(|| (start, parent.unwrap_or("").to_owned()));
        if let Some(parent) = parent
            && counted_for != parent
        {
            *next = start;
            parent.clone_into(counted_for);
        }
        let number = *next;
        *next = next.wrapping_add(1);
        number
    }

    /// Given name and surname of the current entry; no pair comes twice without a number behind it.
    fn name(&self) -> (String, String) {
        let (names, file) = (self.names.unwrap_or_default(), self.file);
        let given = file.first_names.get(names.first).cloned().unwrap_or_default();
        let mut surname = file.last_names.get(names.last).cloned().unwrap_or_default();
        if names.round > 0 {
            let _ = write!(surname, "{}", names.round + 1);
        }
        (given, surname)
    }

    fn guid(&mut self, out: &mut String) {
        let (high, low) = (self.guids.bits(), self.guids.bits());
        // Version 4, variant 1 (RFC 9562 §5.4).
        let high = (high & 0xffff_ffff_ffff_0fff) | 0x4000;
        let low = (low & 0x3fff_ffff_ffff_ffff) | 0x8000_0000_0000_0000;
        let _ = write!(
            out,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        );
    }
}

/// The walk through given names and surnames, which is OpenDJ's: both lists step by step, the shorter begins again
/// whenever it ends; each time the longer one ends, the shorter begins one name further on. When that has been
/// everywhere, all pairs have come once and a number behind the surname tells the rounds apart.
#[derive(Debug, Clone, Copy, Default)]
struct Names {
    /// Places in the lists.
    first: usize,
    last: usize,
    /// How often the longer list ended.
    passes: usize,
    round: u64,
}

impl Names {
    /// The names after these, of lists of so many first and last names.
    fn next(mut self, (first_names, last_names): (usize, usize)) -> Self {
        let (longer, shorter, longer_names, shorter_names) = if first_names >= last_names {
            (&mut self.first, &mut self.last, first_names, last_names)
        } else {
            (&mut self.last, &mut self.first, last_names, first_names)
        };
        *longer += 1;
        *shorter += 1;
        if *longer >= longer_names {
            *longer = 0;
            self.passes += 1;
            if self.passes >= shorter_names {
                self.passes = 0;
                self.round += 1;
            }
            *shorter = self.passes;
        } else if *shorter >= shorter_names {
            *shorter = 0;
        }
        self
    }
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

fn dn_of(template: &Template, entry: &Entry) -> String {
    let mut dn = String::new();
    for (place, line) in template.rdn_lines.iter().filter_map(|line| template.lines.get(*line)).enumerate() {
        if place > 0 {
            dn.push('+');
        }
        dn.push_str(&line.attribute);
        dn.push('=');
        escape_into(entry.first(&line.key).unwrap_or(""), &mut dn);
    }
    if !entry.parent.is_empty() {
        dn.push(',');
        dn.push_str(&entry.parent);
    }
    dn
}

/// RFC 4514 §2.4.
fn escape_into(value: &str, out: &mut String) {
    let last = value.chars().count().saturating_sub(1);
    for (place, c) in value.chars().enumerate() {
        let special = matches!(c, '"' | '+' | ',' | ';' | '<' | '>' | '\\')
            || (place == 0 && matches!(c, '#' | ' '))
            || (place == last && c == ' ');
        if c == '\0' {
            out.push_str("\\00");
            continue;
        }
        if special {
            out.push('\\');
        }
        out.push(c);
    }
}

fn dn_part(dn: &str, components: Option<i64>, underscores: bool, out: &mut String) {
    let rdns = split_dn(dn);
    let chosen = match components {
        None => rdns.as_slice(),
        Some(first) if first >= 0 => rdns.get(..usize::try_from(first).unwrap_or(0).min(rdns.len())).unwrap_or(&[]),
        Some(last) => {
            let count = usize::try_from(last.unsigned_abs()).unwrap_or(usize::MAX).min(rdns.len());
            rdns.get(rdns.len() - count..).unwrap_or(&[])
        }
    };
    out.push_str(&chosen.join(if underscores { "_" } else { "," }));
}
