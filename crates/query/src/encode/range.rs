//! Range retrieval: a piece of an attribute's values, asked for as `member;range=1000-1999` and answered under that
//! description, with `*` as its end when nothing follows (Active Directory, `[MS-ADTS]` 3.1.1.3.1.3.3).
//!
//! For attributes that are stored; those that are computed have no ranges. Values are numbered from 0 in the order in
//! which the store has them. Numbers beyond the last value give an attribute without values, whose range has no end
//! either.

use std::fmt::Write;

use schema::AttributeDescription;
use store::Content;
use store::record::value_size;

use crate::facts::Facts;

/// A range that a client asks for.
#[derive(Clone, Debug)]
pub struct ValueRange {
    /// The attribute, with its other options.
    pub description: AttributeDescription,
    from: u64,
    /// The last one wanted; all without it.
    to: Option<u64>,
}

/// The part of an entry's values that a range is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangePart {
    /// Values before it.
    pub skip: u64,
    /// Values in it.
    pub count: u64,
    /// What the answer adds to the description.
    pub option: Box<str>,
}

impl ValueRange {
    /// Reads a selector; `None` when it asks for no range, or for one that is none.
    pub fn parse(facts: &Facts, selector: &[u8]) -> Option<ValueRange> {
        let text = std::str::from_utf8(selector).ok()?;
        let mut range = None;
        let mut rest = String::with_capacity(text.len());
        for (at, part) in text.split(';').enumerate() {
            match part.split_once('=') {
                Some((name, bounds)) if at > 0 && range.is_none() && name.eq_ignore_ascii_case("range") => {
                    range = Some(bounds);
                }
                _ if at == 0 => rest.push_str(part),
                _ => {
                    rest.push(';');
                    rest.push_str(part);
                }
            }
        }
        let (from, to) = range?.split_once('-')?;
        let number = |digits: &str| digits.bytes().all(|it| it.is_ascii_digit()).then(|| digits.parse::<u64>().ok())?;
        let from = number(from)?;
        let to = if to == "*" { None } else { Some(number(to)?) };
        if to.is_some_and(|to| to < from) {
            return None;
        }
        let description = AttributeDescription::parse_request(&facts.schema, rest.as_bytes()).ok()?;
        Some(ValueRange { description, from, to })
    }

    /// What it is of `total` values.
    pub fn of(&self, total: u64) -> RangePart {
        let count = match self.to {
            Some(to) => to.saturating_sub(self.from).saturating_add(1),
            None => u64::MAX,
        };
        let count = count.min(total.saturating_sub(self.from));
        let end = self.from.saturating_add(count);
        let mut option = String::with_capacity(32);
        // Writing to a String cannot fail.
        let _ = match end < total && count > 0 {
            true => write!(option, ";range={}-{}", self.from, end - 1),
            false => write!(option, ";range={}-*", self.from),
        };
        RangePart { skip: self.from, count, option: option.into() }
    }
}

/// How many values an attribute has.
pub fn count(content: &Content<'_>) -> u64 {
    match content {
        Content::Inline(values) => u64::from(values.count()),
        Content::Large(stub) => stub.count,
    }
}

/// Of values in wire form, those in the part.
pub fn slice<'v>(values: &store::Values<'v>, part: &RangePart) -> &'v [u8] {
    let size_of = |from: u64, count: u64| -> usize {
        let (from, count) = (usize::try_from(from).unwrap_or(usize::MAX), usize::try_from(count).unwrap_or(usize::MAX));
        values.iter().skip(from).take(count).map(|value| value_size(value.len())).sum()
    };
    let start = size_of(0, part.skip);
    values.body().get(start..start + size_of(part.skip, part.count)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use schema::Schema;

    use super::*;

    #[test]
    fn ranges_are_parts_of_what_there_is() {
        let facts = Facts::new(Schema::standard());
        let part = |selector: &str, total: u64| {
            let part = ValueRange::parse(&facts, selector.as_bytes())?.of(total);
            Some((part.skip, part.count, part.option.to_string()))
        };
        let some = |skip, count, option: &str| Some((skip, count, format!(";range={option}")));
        assert_eq!(part("member;range=0-9", 25), some(0, 10, "0-9"));
        assert_eq!(part("member;Range=10-19", 25), some(10, 10, "10-19"));
        assert_eq!(part("member;range=20-29", 25), some(20, 5, "20-*"));
        assert_eq!(part("member;range=20-24", 25), some(20, 5, "20-*"));
        assert_eq!(part("member;range=0-*", 25), some(0, 25, "0-*"));
        assert_eq!(part("member;range=25-*", 25), some(25, 0, "25-*"));
        assert_eq!(part("member;range=18446744073709551615-*", 25), some(u64::MAX, 0, "18446744073709551615-*"));
        for none in [
            "member",
            "member;range=",
            "member;range=-1",
            "member;range=3-2",
            "member;range=a-*",
            "range=0-1",
            "member;range=0-99999999999999999999",
            "member;range=0-1;range=0-2",
            "member;range=+1-2",
        ] {
            assert_eq!(part(none, 25), None, "{none}");
        }
    }

    fn selector() -> impl Strategy<Value = String> {
        let number = || prop_oneof!["[0-9]{1,2}", "[0-9]{1,21}", Just(u64::MAX.to_string())];
        let to = prop_oneof![2 => number().boxed(), 1 => Just("*".to_owned()).boxed()];
        prop_oneof![
            6 => (number(), to).prop_map(|(from, to)| format!("member;range={from}-{to}")),
            1 => "member;range=\\PC{0,9}",
            1 => "\\PC{0,20}",
        ]
    }

    proptest! {
        /// Whatever is asked for is a part of what there is; and what is answered means the same part, if it is asked
        /// for.
        #[test]
        fn any_selector_means_a_part_or_nothing(selector in selector(), total in prop_oneof![0..100u64, any::<u64>()]) {
            let facts = Facts::new(Schema::standard());
            let Some(range) = ValueRange::parse(&facts, selector.as_bytes()) else { return Ok(()) };
            let part = range.of(total);
            let end = part.skip.checked_add(part.count);
            prop_assert!(part.count == 0 || end.is_some_and(|end| end <= total), "{:?}", part);
            let answered = ValueRange::parse(&facts, format!("member{}", part.option).as_bytes()).unwrap();
            prop_assert_eq!(answered.of(total), part);
        }
    }
}
