//! Schedules as crontab writes them: minute, hour, day of the month, month, day of the week.
//!
//! A time is one of the schedule when all five fields have it, as in OpenDJ: `0 2 1-7 * sun` is the first Sunday of a
//! month. Fields are local time. A time that a clock change skips comes as much later as the change is; one that
//! comes twice is the first of both.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde::{Deserialize, Serialize};

/// No schedule waits longer: 29 February on a given day of the week comes within 40 years.
const YEARS_MAX: i16 = 41;

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// The fields: what they are called, their least and greatest value, and names of values.
const FIELDS: [(&str, u32, u32, &[&str]); 5] = [
    ("minute", 0, 59, &[]),
    ("hour", 0, 23, &[]),
    ("day of the month", 1, 31, &[]),
    ("month", 1, 12, &MONTHS),
    ("day of the week", 0, 7, &DAYS),
];

/// A schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Schedule {
    text: String,
    /// A bit for each value of a field.
    fields: [u64; 5],
}

/// Why a text is no schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// There are not five fields.
    #[error(
        "\"{text}\" has {fields} fields: write five, minute, hour, day of the month, month and day of the week, as in \
         \"0 2 * * sun\""
    )]
    Fields {
        /// The text.
        text: String,
        /// How many it has.
        fields: usize,
    },
    /// A field is not valid.
    #[error("\"{part}\" is no {field}: write {least} to {greatest}, a range (1-5), a list (1,3) or steps (*/2)")]
    Part {
        /// What is wrong.
        part: String,
        /// Of which field.
        field: &'static str,
        /// The least value.
        least: u32,
        /// The greatest.
        greatest: u32,
    },
}

impl Schedule {
    /// Reads five fields.
    ///
    /// # Errors
    /// Says which field is not valid.
    pub fn parse(text: &str) -> Result<Schedule, ScheduleError> {
        let parts: Vec<&str> = text.split_ascii_whitespace().collect();
        let Ok(parts) = <[&str; 5]>::try_from(parts.as_slice()) else {
            return Err(ScheduleError::Fields { text: text.to_owned(), fields: parts.len() });
        };
        let mut fields = [0; 5];
        for ((bits, part), (field, least, greatest, names)) in fields.iter_mut().zip(parts).zip(FIELDS) {
            let wrong = || ScheduleError::Part { part: part.to_owned(), field, least, greatest };
            *bits = field_bits(part, (least, greatest), names).ok_or_else(wrong)?;
        }
        // Sunday has two numbers.
        let [.., week] = &mut fields;
        *week |= *week >> 7;
        Ok(Schedule { text: parts.join(" "), fields })
    }

    /// The five fields.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The first time of the schedule after `after`; none if it never comes, as the 30th of February.
    #[must_use]
    pub fn next_after(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let begin = after.to_zoned(zone.clone()).datetime();
        let mut day = begin.date();
        let end = day.year().saturating_add(YEARS_MAX);
        while day.year() < end {
            if self.has_day(day) {
                for (hour, minute) in self.times() {
                    let civil = day.at(hour, minute, 0, 0);
                    // Of a day that is behind, only its times ahead are of interest.
                    let time = zone.to_zoned(civil).ok()?.timestamp();
                    if time > after && !is_second(civil, zone, time) {
                        return Some(time);
                    }
                }
            }
            day = self.next_day(day)?;
        }
        None
    }

    /// The day after, or the first day of the next month that the schedule has.
    fn next_day(&self, day: Date) -> Option<Date> {
        if has(self.month_bits(), day.month().unsigned_abs().into()) {
            return day.tomorrow().ok();
        }
        day.first_of_month().checked_add(1.month()).ok()
    }

    fn month_bits(&self) -> u64 {
        let [_, _, _, months, _] = self.fields;
        months
    }

    fn has_day(&self, day: Date) -> bool {
        let [_, _, days, months, week] = self.fields;
        has(months, day.month().unsigned_abs().into())
            && has(days, day.day().unsigned_abs().into())
            && has(week, day.weekday().to_sunday_zero_offset().unsigned_abs().into())
    }

    /// The times of a day, in order.
    fn times(&self) -> impl Iterator<Item = (i8, i8)> {
        let [minutes, hours, ..] = self.fields;
        let of = |bits: u64, most: i8| (0..most).filter(move |value| has(bits, value.unsigned_abs().into()));
        of(hours, 24).flat_map(move |hour| of(minutes, 60).map(move |minute| (hour, minute)))
    }
}

/// Whether the clock shows `civil` twice and `time` is the second one. The zone gives the first.
fn is_second(civil: DateTime, zone: &TimeZone, time: Timestamp) -> bool {
    time.to_zoned(zone.clone()).datetime() == civil
        && zone.to_ambiguous_zoned(civil).earlier().is_ok_and(|first| first.timestamp() < time)
}

fn has(bits: u64, value: u32) -> bool {
    bits >> value & 1 == 1
}

/// The values of a field as bits.
fn field_bits(field: &str, range: (u32, u32), names: &[&str]) -> Option<u64> {
    field.split(',').try_fold(0, |bits, part| Some(bits | part_bits(part, range, names)?))
}

/// `*`, `5`, `1-5`, each with `/2`.
fn part_bits(part: &str, (least, greatest): (u32, u32), names: &[&str]) -> Option<u64> {
    let (range, step) = match part.split_once('/') {
        Some((range, step)) => (range, Some(step.parse::<u32>().ok().filter(|step| (1..=greatest).contains(step))?)),
        None => (part, None),
    };
    let value = |text: &str| number_of(text, least, names).filter(|value| (least..=greatest).contains(value));
    let (from, to) = match range.split_once('-') {
        _ if range == "*" => (least, greatest),
        Some((from, to)) => (value(from)?, value(to)?),
        // A step without a range goes on to the end.
        None => (value(range)?, if step.is_some() { greatest } else { value(range)? }),
    };
    if from > to {
        return None;
    }
    let step = usize::try_from(step.unwrap_or(1)).ok()?;
    Some((from..=to).step_by(step).fold(0, |bits, value| bits | 1 << value))
}

fn number_of(text: &str, least: u32, names: &[&str]) -> Option<u32> {
    if let Some(at) = names.iter().position(|name| name.eq_ignore_ascii_case(text)) {
        return u32::try_from(at).ok().map(|at| at + least);
    }
    // A sign is no part of a number here.
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()))
}

impl TryFrom<String> for Schedule {
    type Error = ScheduleError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Schedule::parse(&text)
    }
}

impl From<Schedule> for String {
    fn from(schedule: Schedule) -> String {
        schedule.text
    }
}
