//! Times of other servers, in Pando's form.

use accounts::{Moment, TimeFormat};
use schema::rule::generalized_time_ms;

/// A generalized time; none of what is none, or lies before 1970.
pub fn moment(text: &str) -> Option<Moment> {
    generalized_time_ms(text.as_bytes()).and_then(|ms| u64::try_from(ms).ok()).map(Moment)
}

pub fn text(at: Moment) -> Vec<u8> {
    let mut out = Vec::new();
    TimeFormat::generalized().write(at, &mut out);
    out
}
