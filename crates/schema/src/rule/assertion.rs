//! Assertions of extensible filters and of rules whose match is more than equality, tried on normal forms.

use std::ops::Bound;

use super::date::{Fields, Instant};
use super::invalid_value::InvalidValue;
use super::matching_rule::{MatchingRule, Trial};
use super::number::{integer_of_normal_form, is_integer};
use super::substring::Substrings;
use crate::schema::Schema;

/// What an assertion may depend on beside its value.
#[derive(Debug, Clone, Copy, Default)]
pub struct MatchContext {
    /// The time of the request, for relative time rules.
    pub now_unix_seconds: i64,
}

/// A range of normal forms.
pub type KeyRange<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// An assertion value prepared under its rule.
#[derive(Debug, Clone)]
pub enum Assertion {
    /// The normal form must be this one.
    Equal(Vec<u8>),
    /// The normal form must be smaller: an ordering rule in an extensible filter (RFC 4517 §4.2.3).
    Less(Vec<u8>),
    /// The normal form must be greater.
    Greater(Vec<u8>),
    /// The normal form must not be greater.
    AtMost(Vec<u8>),
    /// The normal form must not be smaller.
    AtLeast(Vec<u8>),
    /// The pieces must occur.
    Substrings(Substrings),
    /// All of these bits must be set.
    BitsAll(i64),
    /// One of these bits must be set.
    BitsAny(i64),
    /// These words must stand together in the value.
    Words(Vec<u8>),
    /// The value, or one of the parts between its commas and semicolons, must be this.
    Keyword(Vec<u8>),
    /// These calendar fields must be those of the value.
    Date(PartialDate),
    /// The clear text to be checked against stored passwords: whoever knows the schemes must do it.
    Password(Vec<u8>),
    /// The value must be this DN, or name an entry that has such a value, at any distance: whoever has the entries must
    /// follow them.
    InChain(Vec<u8>),
}

/// Calendar fields that an assertion of `partialDateAndTimeMatchingRule` gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartialDate {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    hour: Option<i64>,
    minute: Option<i64>,
    second: Option<i64>,
    /// First normal form that matches and first behind those that do, when the given fields are a year and the next
    /// ones without a gap.
    range: Option<(Vec<u8>, Vec<u8>)>,
}

impl MatchingRule {
    /// Prepares an assertion value.
    pub fn assertion(&self, schema: &Schema, value: &[u8], context: MatchContext) -> Result<Assertion, InvalidValue> {
        let normal_form = || {
            let mut form = Vec::with_capacity(value.len());
            self.normalize_assertion(schema, value, &mut form)?;
            Ok::<_, InvalidValue>(form)
        };
        Ok(match self.trial {
            Trial::Equal => Assertion::Equal(normal_form()?),
            Trial::Ordering => Assertion::Less(normal_form()?),
            Trial::AtMost => Assertion::AtMost(normal_form()?),
            Trial::AtLeast => Assertion::AtLeast(normal_form()?),
            Trial::Greater => Assertion::Greater(normal_form()?),
            Trial::Substrings => Assertion::Substrings(Substrings::parse(self, value)?),
            Trial::BitsAll => Assertion::BitsAll(bits(value)?),
            Trial::BitsAny => Assertion::BitsAny(bits(value)?),
            Trial::Word => Assertion::Words(normal_form()?),
            Trial::Keyword => Assertion::Keyword(normal_form()?),
            Trial::LaterThanNow => Assertion::Greater(relative_time(value, context)?),
            Trial::EarlierThanNow => Assertion::Less(relative_time(value, context)?),
            Trial::PartialDate => Assertion::Date(partial_date(value)?),
            Trial::Password => Assertion::Password(value.to_vec()),
            Trial::InChain => Assertion::InChain(normal_form()?),
        })
    }
}

impl Assertion {
    /// Whether the value with this normal form matches. Passwords and chains never do here.
    pub fn matches(&self, form: &[u8]) -> bool {
        match self {
            Assertion::Equal(wanted) => form == wanted.as_slice(),
            Assertion::Less(bound) => form < bound.as_slice(),
            Assertion::Greater(bound) => form > bound.as_slice(),
            Assertion::AtMost(bound) => form <= bound.as_slice(),
            Assertion::AtLeast(bound) => form >= bound.as_slice(),
            Assertion::Substrings(pieces) => pieces.matches(form),
            Assertion::BitsAll(bits) => integer_of_normal_form(form).is_some_and(|number| number & bits == *bits),
            Assertion::BitsAny(bits) => integer_of_normal_form(form).is_some_and(|number| number & bits != 0),
            Assertion::Words(words) => contains_words(form, words),
            Assertion::Keyword(keyword) => {
                form == keyword.as_slice()
                    || form.split(|byte| matches!(byte, b',' | b';')).any(|part| part.trim_ascii() == keyword)
            }
            Assertion::Date(date) => Fields::of_normal_form(form).is_some_and(|fields| date.matches(&fields)),
            Assertion::Password(_) | Assertion::InChain(_) => false,
        }
    }

    /// The range of normal forms that is exactly what matches, if there is one.
    pub fn key_range(&self) -> Option<KeyRange<'_>> {
        match self {
            Assertion::Equal(form) => Some((Bound::Included(form), Bound::Included(form))),
            Assertion::Less(bound) => Some((Bound::Unbounded, Bound::Excluded(bound))),
            Assertion::Date(PartialDate { range: Some((from, to)), .. }) => {
                Some((Bound::Included(from), Bound::Excluded(to)))
            }
            Assertion::Greater(bound) => Some((Bound::Excluded(bound), Bound::Unbounded)),
            Assertion::AtMost(bound) => Some((Bound::Unbounded, Bound::Included(bound))),
            Assertion::AtLeast(bound) => Some((Bound::Included(bound), Bound::Unbounded)),
            _ => None,
        }
    }
}

impl PartialDate {
    /// The span of time that the fields are, if they are one.
    fn range(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let fields = [self.year, self.month, self.day, self.hour, self.minute, self.second];
        let given = fields.iter().take_while(|field| field.is_some()).count();
        if given == 0 || fields.iter().skip(given).any(Option::is_some) {
            return None;
        }
        let [year, month, day, hour, minute, second] = fields.map(Option::unwrap_or_default);
        let first = Fields { year, month: month.max(1), day: day.max(1), hour, minute, second };
        let instant = Instant::of_fields(&first)?;
        let end = match given {
            1 => Instant::of_fields(&Fields { year: year + 1, ..first })?,
            2 if month == 12 => Instant::of_fields(&Fields { year: year + 1, month: 1, ..first })?,
            2 => Instant::of_fields(&Fields { month: month + 1, ..first })?,
            3 => instant.after_minutes(24 * 60),
            4 => instant.after_minutes(60),
            5 => instant.after_minutes(1),
            _ => instant.next_second(),
        };
        Some((instant.normal_form(), end.normal_form()))
    }

    fn matches(&self, it: &Fields) -> bool {
        let pairs = [
            (self.year, it.year),
            (self.month, it.month),
            (self.day, it.day),
            (self.hour, it.hour),
            (self.minute, it.minute),
            (self.second, it.second),
        ];
        pairs.iter().all(|(wanted, is)| wanted.is_none_or(|wanted| wanted == *is))
    }
}

fn bits(value: &[u8]) -> Result<i64, InvalidValue> {
    let text = std::str::from_utf8(value).ok().filter(|_| is_integer(value));
    text.and_then(|text| text.parse().ok()).ok_or(InvalidValue::NotA("an integer of 64 bits"))
}

/// `[+|-]number[s|m|h|d|w]` from now on.
fn relative_time(value: &[u8], context: MatchContext) -> Result<Vec<u8>, InvalidValue> {
    const WHAT: InvalidValue = InvalidValue::NotA("a relative time such as -1d (units s, m, h, d, w)");
    let (sign, rest) = match value.split_first() {
        Some((b'-', rest)) => (-1, rest),
        Some((b'+', rest)) => (1, rest),
        _ => (1, value),
    };
    let (unit, digits) = match rest.split_last() {
        Some((b's', digits)) => (1, digits),
        Some((b'm', digits)) => (60, digits),
        Some((b'h', digits)) => (3_600, digits),
        Some((b'd', digits)) => (86_400, digits),
        Some((b'w', digits)) => (604_800, digits),
        _ => (1, rest),
    };
    let number = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let number: i64 = number.and_then(|text| text.parse().ok()).ok_or(WHAT)?;
    let offset = number.checked_mul(unit * sign).ok_or(WHAT)?;
    let seconds = context.now_unix_seconds.checked_add(offset).ok_or(WHAT)?;
    Ok(Instant::from_unix_seconds(seconds).normal_form())
}

/// Numbers with units `Y M D h m s`, each at most once, e.g. `24D12M`.
fn partial_date(value: &[u8]) -> Result<PartialDate, InvalidValue> {
    const WHAT: InvalidValue = InvalidValue::NotA("a partial date such as 24D12M2025Y (units Y, M, D, h, m, s)");
    let mut date = PartialDate::default();
    let mut number: Option<i64> = None;
    for byte in value {
        if byte.is_ascii_digit() {
            let digit = i64::from(byte - b'0');
            number = Some(number.unwrap_or(0) * 10 + digit).filter(|number| *number <= 9_999);
            if number.is_none() {
                return Err(WHAT);
            }
            continue;
        }
        let (field, range) = match byte {
            b'Y' => (&mut date.year, 0..=9_999),
            b'M' => (&mut date.month, 1..=12),
            b'D' => (&mut date.day, 1..=31),
            b'h' => (&mut date.hour, 0..=23),
            b'm' => (&mut date.minute, 0..=59),
            b's' => (&mut date.second, 0..=60),
            _ => return Err(WHAT),
        };
        let given = number.take().filter(|number| range.contains(number)).ok_or(WHAT)?;
        if field.replace(given).is_some() {
            return Err(WHAT);
        }
    }
    if number.is_some() || date == PartialDate::default() {
        return Err(WHAT);
    }
    date.range = date.range();
    Ok(date)
}

/// Whether `words` occurs in `form` with something that is no letter or digit, or nothing, at either end.
fn contains_words(form: &[u8], words: &[u8]) -> bool {
    let is_word_byte = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    let finder = memchr::memmem::Finder::new(words);
    finder.find_iter(form).any(|at| {
        let before = at.checked_sub(1).and_then(|before| form.get(before));
        let after = form.get(at + words.len());
        !before.is_some_and(is_word_byte) && !after.is_some_and(is_word_byte)
    })
}
