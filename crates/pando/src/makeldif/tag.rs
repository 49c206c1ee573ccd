//! Tags: what stands between `<` and `>`, parsed once.
//!
//! Knows names, arguments and defaults. Making a value from a tag is `generate`'s work.

use super::error::Fault;
use super::resource::Resources;

/// A parsed tag.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Tag {
    /// Some RDNs of the entry's DN: all, the first n, or (negative) the last n.
    Dn {
        components: Option<i64>,
        underscores: bool,
    },
    /// The same of the parent's DN.
    ParentDn {
        components: Option<i64>,
        underscores: bool,
    },
    /// The leading RDNs of the entry's DN.
    Rdn {
        components: i64,
    },
    /// A line of a file.
    File {
        lines: Vec<String>,
        choice: Choice,
        state: usize,
    },
    First,
    Last,
    Guid,
    /// The line is left out if the attribute is there (and has that value).
    IfAbsent {
        attribute: String,
        value: Option<String>,
    },
    /// The line is left out unless the attribute is there (and has that value).
    IfPresent {
        attribute: String,
        value: Option<String>,
    },
    /// One of some values, each as often as its weight says.
    List {
        values: Vec<(String, u64)>,
        weight: u64,
    },
    /// The line is there in so many of a hundred entries.
    Presence {
        percent: u64,
    },
    Characters {
        set: Vec<char>,
        length: Length,
    },
    Number {
        min: u64,
        max: u64,
        digits: usize,
    },
    Month {
        length: Option<usize>,
    },
    Telephone,
    Sequential {
        start: u64,
        reset_on_parent: bool,
        state: usize,
    },
    Text(String),
}

/// How many characters. A range draws a number even where it has one length only, a fixed length draws none: the same
/// seed must give OpenDJ's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    Fixed(u64),
    /// Both included.
    Range(u64, u64),
}

/// How lines of a file are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    Random,
    Sequential,
}

/// Longest random text. A value of more belongs into a file.
const RANDOM_LENGTH_MAX: u64 = 1 << 20;

const ALPHA: &str = "abcdefghijklmnopqrstuvwxyz";
/// The digits that letters are mixed with.
const DIGITS: &str = "0123456789";
/// Digits as OpenDJ's makeldif has them, wherever they stand alone: with two zeros. The same seed must give the same
/// numbers.
pub(super) const NUMERIC: &[char] = &['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '0'];
/// Likewise with two zeros.
const HEX: &str = "01234567890abcdef";
/// Likewise.
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz01234567890+/";

impl Tag {
    /// Parses the text between the brackets. `states` counts the tags that remember something between entries.
    pub(super) fn parse(text: &str, resources: &Resources, states: &mut usize) -> Result<Tag, Fault> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or("").trim();
        let arguments: Vec<&str> = parts.collect();
        let lower = name.to_ascii_lowercase();
        let wrong = |usage| Fault::Arguments { tag: name.to_owned(), usage };
        let mut next_state = || {
            *states += 1;
            *states - 1
        };
        Ok(match (lower.as_str(), arguments.as_slice()) {
            ("dn" | "_dn" | "parentdn" | "_parentdn", arguments) => {
                let usage = "<dn>, <dn:number of components>; negative counts from the right";
                let components = match arguments {
                    [] => None,
                    [number] => Some(number.parse().ok().filter(|number| *number != 0).ok_or(wrong(usage))?),
                    _ => return Err(wrong(usage)),
                };
                let underscores = lower.starts_with('_');
                if lower.ends_with("parentdn") {
                    Tag::ParentDn { components, underscores }
                } else {
                    Tag::Dn { components, underscores }
                }
            }
            ("rdn", []) => Tag::Rdn { components: 1 },
            ("rdn", [number]) => {
                let components = number.parse().ok().filter(|number| *number > 0);
                Tag::Rdn { components: components.ok_or(wrong("<rdn> or <rdn:number of components>"))? }
            }
            ("file", [path]) => {
                Tag::File { lines: resources.lines(path)?, choice: Choice::Random, state: next_state() }
            }
            ("file", [path, choice]) => {
                let choice = match choice.to_ascii_lowercase().as_str() {
                    "random" => Choice::Random,
                    "sequential" => Choice::Sequential,
                    _ => return Err(wrong("<file:path>, <file:path:random> or <file:path:sequential>")),
                };
                Tag::File { lines: resources.lines(path)?, choice, state: next_state() }
            }
            ("first", []) => Tag::First,
            ("last", []) => Tag::Last,
            ("guid", []) => Tag::Guid,
            ("ifabsent", [attribute]) => Tag::IfAbsent { attribute: attribute.to_lowercase(), value: None },
            ("ifabsent", [attribute, value @ ..]) => {
                Tag::IfAbsent { attribute: attribute.to_lowercase(), value: Some(value.join(":")) }
            }
            ("ifpresent", [attribute]) => Tag::IfPresent { attribute: attribute.to_lowercase(), value: None },
            ("ifpresent", [attribute, value @ ..]) => {
                Tag::IfPresent { attribute: attribute.to_lowercase(), value: Some(value.join(":")) }
            }
            ("list", values) if !values.is_empty() => list(values).ok_or(wrong(
                "<list:value:value> or \
                <list:value;weight:value;weight>",
            ))?,
            ("presence", [percent]) => {
                let percent = percent.parse().ok().filter(|percent| *percent <= 100);
                Tag::Presence { percent: percent.ok_or(wrong("<presence:percent>, from 0 to 100"))? }
            }
            ("random", arguments) => random(arguments).ok_or(wrong(
                "<random:alpha:length>, likewise alphanumeric, numeric, hex, base64, each also with :min:max; \
                 <random:numeric:min:max:format>, <random:chars:SET:length>, <random:month>, <random:month:length>, \
                 <random:telephone>",
            ))?,
            ("sequential", arguments) => sequential(arguments, next_state).ok_or(wrong(
                "<sequential>, <sequential:start> or \
                    <sequential:start:true|false>",
            ))?,
            ("statictext", text) => Tag::Text(text.join(":")),
            ("first" | "last" | "guid" | "file" | "ifabsent" | "ifpresent" | "presence" | "list", _) => {
                return Err(wrong(usage_of(&lower)));
            }
            _ => return Err(Fault::UnknownTag(name.to_owned())),
        })
    }

    /// Whether the tag decides on the line and gives no text.
    pub(super) fn is_condition(&self) -> bool {
        matches!(self, Tag::IfAbsent { .. } | Tag::IfPresent { .. } | Tag::Presence { .. })
    }

    /// Whether the tag needs the DN of the entry.
    pub(super) fn needs_dn(&self) -> bool {
        matches!(self, Tag::Dn { .. } | Tag::Rdn { .. })
    }
}

fn usage_of(name: &str) -> &'static str {
    match name {
        "file" => "<file:path>, <file:path:random> or <file:path:sequential>",
        "ifabsent" => "<ifabsent:attribute> or <ifabsent:attribute:value>",
        "ifpresent" => "<ifpresent:attribute> or <ifpresent:attribute:value>",
        "presence" => "<presence:percent>, from 0 to 100",
        "list" => "<list:value:value> or <list:value;weight:value;weight>",
        "first" => "<first>",
        "last" => "<last>",
        _ => "<guid>",
    }
}

fn list(values: &[&str]) -> Option<Tag> {
    let mut weighted = Vec::with_capacity(values.len());
    let mut weight: u64 = 0;
    for value in values {
        let (value, share) = match value.rsplit_once(';') {
            Some((value, share)) => (value, share.trim().parse().ok().filter(|share| *share > 0)?),
            None => (*value, 1),
        };
        weight = weight.checked_add(share)?;
        weighted.push((value.to_owned(), share));
    }
    Some(Tag::List { values: weighted, weight })
}

fn sequential(arguments: &[&str], next_state: impl FnOnce() -> usize) -> Option<Tag> {
    let (start, reset_on_parent) = match arguments {
        [] => (0, true),
        [start] => (start.parse().ok()?, true),
        [start, reset] => (start.parse().ok()?, reset.to_ascii_lowercase().parse().ok()?),
        _ => return None,
    };
    Some(Tag::Sequential { start, reset_on_parent, state: next_state() })
}

fn random(arguments: &[&str]) -> Option<Tag> {
    let (kind, rest) = arguments.split_first()?;
    let characters = |set: &str, lengths: &[&str]| -> Option<Tag> {
        let set: Vec<char> = set.chars().collect();
        let length = length_of(lengths)?;
        (!set.is_empty()).then_some(Tag::Characters { set, length })
    };
    match (kind.to_ascii_lowercase().as_str(), rest) {
        ("alpha", lengths) => characters(ALPHA, lengths),
        ("alphanumeric", lengths) => characters(&format!("{ALPHA}{DIGITS}"), lengths),
        ("numeric", [length]) => Some(Tag::Characters { set: NUMERIC.to_vec(), length: length_of(&[length])? }),
        ("numeric", [min, max]) => number(min, max, 0),
        ("numeric", [min, max, format]) => {
            let valid = !format.is_empty() && format.bytes().all(|b| matches!(b, b'0' | b'#'));
            valid.then(|| number(min, max, format.bytes().filter(|b| *b == b'0').count()))?
        }
        ("hex", lengths) => characters(HEX, lengths),
        ("chars", [set, lengths @ ..]) => characters(set, if lengths.is_empty() { &["1"] } else { lengths }),
        ("base64", lengths) => characters(BASE64, lengths),
        ("month", []) => Some(Tag::Month { length: None }),
        ("month", [length]) => Some(Tag::Month { length: Some(length.parse().ok().filter(|length| *length > 0)?) }),
        ("telephone", []) => Some(Tag::Telephone),
        _ => None,
    }
}

fn number(min: &str, max: &str, digits: usize) -> Option<Tag> {
    let (min, max) = (min.parse().ok()?, max.parse().ok()?);
    (min <= max).then_some(Tag::Number { min, max, digits })
}

fn length_of(lengths: &[&str]) -> Option<Length> {
    let number = |text: &str| text.parse().ok().filter(|length| *length <= RANDOM_LENGTH_MAX);
    match lengths {
        [length] => Some(Length::Fixed(number(length)?)),
        [min, max] => Some(Length::Range(number(min)?, number(max)?)).filter(|_| number(min) <= number(max)),
        _ => None,
    }
}
