//! The proleptic Gregorian calendar from the year 0 on: dates to days and back. Knows no time of day and no zone.

/// Days from 0000-01-01 to 1970-01-01.
pub const DAYS_TO_1970: u64 = 719_528;

/// Days of 400 years, after which the calendar repeats itself.
const DAYS_OF_400_YEARS: u64 = 146_097;

/// Days of the year 0 before March. Years begin in March below, so that the leap day is the last of its year.
const DAYS_BEFORE_MARCH: u64 = 60;

/// Days of a month (1 to 12).
#[inline]
#[must_use]
pub const fn days_in_month(year: u64, month: u64) -> u64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Days from 0000-01-01 to that date, which must exist.
#[inline]
#[must_use]
pub const fn days_of(year: u64, month: u64, day: u64) -> u64 {
    // 400 years more, so that the year before the year 0 is no negative number.
    let (year, month) = if month <= 2 { (year + 399, month + 9) } else { (year + 400, month - 3) };
    let leap_days = year / 4 - year / 100 + year / 400;
    365 * year + leap_days + (153 * month + 2) / 5 + day - 1 + DAYS_BEFORE_MARCH - DAYS_OF_400_YEARS
}

/// Year, month and day so many days after 0000-01-01.
#[inline]
#[must_use]
pub const fn date_of(days: u64) -> (u64, u64, u64) {
    let days = days + DAYS_OF_400_YEARS - DAYS_BEFORE_MARCH;
    let (era, day_of_era) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year_of_era;
    if month < 10 { (year - 400, month + 3, day) } else { (year - 399, month - 9, day) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_400_years_and_of_the_first_and_last_years_comes_back() {
        let (mut year, mut month, mut day) = (0, 1, 1);
        let last = days_of(9999, 12, 31);
        for days in 0..=last {
            if days < 150_000 || days > last - 1_000 {
                assert_eq!((date_of(days), days_of(year, month, day)), ((year, month, day), days));
            }
            day += 1;
            if day > days_in_month(year, month) {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
        assert_eq!((year, month, day), (10_000, 1, 1));
        assert_eq!(days_of(1970, 1, 1), DAYS_TO_1970);
    }
}
