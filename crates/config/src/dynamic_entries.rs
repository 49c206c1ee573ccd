//! `[plugin.NAME]` of type `dynamic-entries`: how long entries of the class dynamicObject live (RFC 2589; OpenLDAP:
//! slapo-dds).
//!
//! The ranges of its properties, what they mean, and what they say about each other. Knows no entry.

use std::time::Duration;

use crate::object::Object;
use crate::syntax::Syntax;
use crate::units::Unit;
use crate::value::Value;

pub(crate) const TYPE_NAME: &str = "dynamic-entries";

/// Longest time to live that a refresh request may ask for at all (RFC 2589 §4.1): a year and six hours.
pub const LIFETIME_SECONDS_MAX: u64 = 31_557_600;

const DAY_MS: u64 = 86_400_000;
const LIFETIME_MS_MAX: u64 = LIFETIME_SECONDS_MAX * 1000;

/// RFC 2589 §4.1: a server may not refuse a day.
pub(crate) const MAX_LIFETIME: Syntax =
    Syntax::Duration { unit: Unit::Seconds, min_ms: DAY_MS, max_ms: LIFETIME_MS_MAX };
pub(crate) const LIFETIME: Syntax = Syntax::Duration { unit: Unit::Seconds, min_ms: 0, max_ms: LIFETIME_MS_MAX };
pub(crate) const TOLERANCE: Syntax = LIFETIME;
pub(crate) const CHECK_INTERVAL: Syntax = Syntax::Duration { unit: Unit::Seconds, min_ms: 100, max_ms: DAY_MS };

/// What a plugin of type `dynamic-entries` is set to. Times to live are whole seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DynamicEntries {
    /// `max-ttl`
    pub max_ttl_seconds: u64,
    /// `min-ttl`; at least 1.
    pub min_ttl_seconds: u64,
    /// `default-ttl`, or `max-ttl` without it.
    pub default_ttl_seconds: u64,
    /// `tolerance`
    pub tolerance: Duration,
    /// `check-interval`
    pub check_interval: Duration,
    /// `max-dynamic-objects`
    pub max_objects: Option<u64>,
}

impl DynamicEntries {
    pub(crate) fn of(object: &Object) -> Self {
        let seconds = |name: &str| duration_ms(object, name).div_ceil(1000);
        let max_ttl_seconds = duration_ms(object, "max-ttl") / 1000;
        let default_ttl_seconds = match seconds("default-ttl") {
            0 => max_ttl_seconds,
            seconds => seconds,
        };
        let max_objects = match object.values("max-dynamic-objects").first() {
            Some(Value::Integer(count)) => u64::try_from(*count).ok(),
            _ => None,
        };
        Self {
            max_ttl_seconds,
            min_ttl_seconds: seconds("min-ttl").max(1),
            default_ttl_seconds,
            tolerance: Duration::from_millis(duration_ms(object, "tolerance")),
            check_interval: Duration::from_millis(duration_ms(object, "check-interval")),
            max_objects,
        }
    }
}

/// Adds what the times of such a plugin say against each other.
pub(crate) fn judge(object: &Object, faults: &mut Vec<(usize, String)>) {
    if object.variant.type_name != TYPE_NAME {
        return;
    }
    let [min, default, max] = ["min-ttl", "default-ttl", "max-ttl"].map(|name| duration_ms(object, name));
    let title = object.title();
    if min > max {
        faults.push((object.offset, format!("{title}: \"min-ttl\" is longer than \"max-ttl\"")));
    } else if default != 0 && !(min..=max).contains(&default) {
        faults.push((object.offset, format!("{title}: \"default-ttl\" is not between \"min-ttl\" and \"max-ttl\"")));
    }
}

fn duration_ms(object: &Object, name: &str) -> u64 {
    match object.values(name).first() {
        Some(Value::Duration(ms)) => *ms,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{Config, PluginKind};

    fn parse(lines: &str) -> Result<DynamicEntries, String> {
        let text = format!("[plugin.dynamic]\ntype = \"dynamic-entries\"\n{lines}");
        let config = Config::parse(&text, Path::new("pando.toml")).map_err(|errors| errors.to_string())?;
        match config.plugins.into_iter().next().map(|plugin| plugin.kind) {
            Some(PluginKind::DynamicEntries(dynamic)) => Ok(dynamic),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn without_settings_entries_live_for_a_day() {
        let dynamic = parse("").unwrap();
        let seconds = [dynamic.min_ttl_seconds, dynamic.default_ttl_seconds, dynamic.max_ttl_seconds];
        assert_eq!(seconds, [1, 86_400, 86_400]);
        assert_eq!((dynamic.check_interval, dynamic.tolerance), (Duration::from_secs(10), Duration::ZERO));
        assert_eq!(parse("default-ttl = \"90 s\"\nmin-ttl = \"1500 ms\"").unwrap().min_ttl_seconds, 2);
    }

    #[test]
    fn times_that_contradict_each_other_are_refused() {
        for (lines, why) in [
            ("min-ttl = \"2 days\"", "\"min-ttl\" is longer than \"max-ttl\""),
            ("default-ttl = \"2 days\"", "\"default-ttl\" is not between"),
            ("min-ttl = \"60 s\"\ndefault-ttl = \"59 s\"", "\"default-ttl\" is not between"),
            ("max-ttl = \"3600 s\"", "\"max-ttl\" is"),
            ("max-ttl = \"31557601 s\"", "\"max-ttl\" is"),
            ("[plugin.other]\ntype = \"dynamic-entries\"", "is a second plugin of type dynamic-entries"),
        ] {
            let error = parse(lines).unwrap_err();
            assert!(error.contains(why), "{lines}: {error}");
        }
    }
}
