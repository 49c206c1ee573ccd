//! The rules of the configuration (`[limits.NAME]`): whom each speaks of, and what it gives.
//!
//! The first rule that speaks of a session decides, in the order of the file; what it does not say is inherited from
//! `[global]`. Two rules are never mixed. Does not read entries: whether somebody is in a group, it asks.

use std::time::Duration;

use config::{Config, DnScope, LimitsRule, LimitsSubject};
use regex::{Regex, RegexBuilder};
use schema::{NormalizedDn, Schema};
use store::StoreError;

use super::LimitsError;
use super::search_limit::LimitKind;
use super::{Allowance, Most, PagedTotal, SessionLimits};

/// Bytes that one compiled pattern may take.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// What is configured for everybody, and the rules.
#[derive(Debug)]
pub struct LimitRules {
    everybody: SessionLimits,
    anonymous: SessionLimits,
    rules: Vec<Rule>,
    /// What all this was made of.
    source: RulesSource,
}

/// The part of a configuration that is about limits: what `[global]` makes of them, then the rules.
type RulesSource = (SessionLimits, Vec<LimitsRule>);

/// One rule.
#[derive(Debug)]
pub(super) struct Rule {
    name: String,
    selector: Selector,
    gives: Gives,
}

/// Whom a rule speaks of.
#[derive(Debug)]
enum Selector {
    Anonymous,
    Authenticated,
    Everyone,
    Names { names: Vec<NormalizedDn>, scope: DnScope },
    Pattern(Regex),
    Members(Vec<NormalizedDn>),
}

/// What a rule sets; `None` is inherited.
#[derive(Clone, Copy, Debug, Default)]
struct Gives {
    size: (Option<Most>, Option<Most>),
    time_ms: (Option<Most>, Option<Most>),
    lookthrough: Option<Most>,
    filter_parts: Option<usize>,
    idle: Option<Option<Duration>>,
    page_size: Option<Most>,
    paged_total: Option<PagedTotal>,
    unindexed_search: bool,
}

/// An authenticated client, as rules see it.
pub struct Subject<'a> {
    /// The entry's name of now.
    pub name: &'a NormalizedDn,
    /// The same as the server shows it: what patterns are matched against.
    pub shown: &'a str,
    pub is_root: bool,
}

impl LimitRules {
    /// From the configuration of that number.
    pub fn new(config: &Config, schema: &Schema, generation: u64) -> Result<LimitRules, LimitsError> {
        let rules = config.limits.iter().map(|rule| Rule::new(rule, schema)).collect::<Result<Vec<_>, _>>()?;
        let global = &config.global;
        let everybody = SessionLimits {
            size: Allowance::both(global.size_limit.into()),
            time_ms: Allowance::both(global.time_limit.map(milliseconds).into()),
            lookthrough: global.lookthrough_limit.into(),
            filter_parts: global.filter_part_limit,
            idle: global.idle_time_limit,
            generation,
            ..SessionLimits::UNLIMITED
        };
        let source = (SessionLimits { generation: 0, ..everybody }, config.limits.clone());
        let mut made = LimitRules { everybody, anonymous: everybody, rules, source };
        made.anonymous = made.anonymous_rule().map_or(everybody, |rule| rule.gives.over(everybody));
        Ok(made)
    }

    /// Whether both were made of the same.
    pub fn has_same_source(&self, other: &LimitRules) -> bool {
        self.source == other.source
    }

    /// The groups that rules name, each with the name of its rule and as the configuration writes it.
    pub fn groups(&self) -> impl Iterator<Item = (&str, &str, &NormalizedDn)> {
        self.rules.iter().zip(&self.source.1).flat_map(|(rule, source)| {
            let (names, dns) = match (&rule.selector, &source.subject) {
                (Selector::Members(names), LimitsSubject::Group { dns }) => (names.as_slice(), dns.as_slice()),
                _ => (&[][..], &[][..]),
            };
            names.iter().zip(dns).map(|(name, dn)| (source.name.as_str(), dn.as_str(), name))
        })
    }

    /// What anonymous clients have.
    pub fn anonymous(&self) -> SessionLimits {
        self.anonymous
    }

    /// Whether names and groups matter at all.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// What an authenticated client has, but for what its entry says. `is_member` tells whether it is in a group of
    /// that name.
    pub fn of(
        &self,
        subject: &Subject<'_>,
        is_member: &mut dyn FnMut(&NormalizedDn) -> Result<bool, StoreError>,
    ) -> Result<SessionLimits, StoreError> {
        let inherited = self.without_rules(subject.is_root);
        Ok(self.rule_of(subject, is_member)?.map_or(inherited, |rule| rule.gives.over(inherited)))
    }

    /// The rule that speaks of an authenticated client.
    pub(super) fn rule_of(
        &self,
        subject: &Subject<'_>,
        is_member: &mut dyn FnMut(&NormalizedDn) -> Result<bool, StoreError>,
    ) -> Result<Option<&Rule>, StoreError> {
        for rule in &self.rules {
            if rule.selector.speaks_of(subject, is_member)? {
                return Ok(Some(rule));
            }
        }
        Ok(None)
    }

    /// The rule that speaks of anonymous clients.
    pub(super) fn anonymous_rule(&self) -> Option<&Rule> {
        self.rules.iter().find(|rule| matches!(rule.selector, Selector::Anonymous | Selector::Everyone))
    }

    /// The same where there are no rules.
    pub fn without_rules(&self, is_root: bool) -> SessionLimits {
        let generation = self.everybody.generation;
        if is_root { SessionLimits { generation, ..SessionLimits::UNLIMITED } } else { self.everybody }
    }
}

impl Rule {
    fn new(rule: &LimitsRule, schema: &Schema) -> Result<Rule, LimitsError> {
        let names = |dns: &[String], what: &'static str| -> Result<Vec<NormalizedDn>, LimitsError> {
            let name = |dn: &String| {
                NormalizedDn::parse(schema, dn.as_bytes()).map_err(|_| LimitsError::BadDn { what, dn: dn.clone() })
            };
            dns.iter().map(name).collect()
        };
        let selector = match &rule.subject {
            LimitsSubject::Anonymous => Selector::Anonymous,
            LimitsSubject::Authenticated => Selector::Authenticated,
            LimitsSubject::Everyone => Selector::Everyone,
            LimitsSubject::Dn { dns, scope } => Selector::Names { names: names(dns, "user-dn")?, scope: *scope },
            LimitsSubject::Group { dns } => Selector::Members(names(dns, "group-dn")?),
            LimitsSubject::Pattern(pattern) => {
                let built = RegexBuilder::new(pattern).case_insensitive(true).size_limit(PATTERN_BYTES_MAX).build();
                Selector::Pattern(built.map_err(|error| LimitsError::BadPattern {
                    rule: rule.name.clone(),
                    pattern: pattern.clone(),
                    error: error.to_string().replace('\n', " "),
                })?)
            }
        };
        let count = |limit: Option<u64>| limit.map(Most::from_zero_is_none);
        let time = |limit: Option<Duration>| count(limit.map(milliseconds));
        let paged_total = match (rule.allow_paged_results, rule.paged_total_limit) {
            (false, _) => Some(PagedTotal::Disabled),
            (_, Some(total)) => Some(PagedTotal::Most(Most::from_zero_is_none(total))),
            _ => None,
        };
        let gives = Gives {
            size: (count(rule.size_limit), count(rule.size_limit_hard)),
            time_ms: (time(rule.time_limit), time(rule.time_limit_hard)),
            lookthrough: count(rule.lookthrough_limit),
            filter_parts: rule.filter_part_limit,
            idle: rule.idle_time_limit.map(|limit| Some(limit).filter(|limit| !limit.is_zero())),
            page_size: count(rule.page_size_limit),
            paged_total,
            unindexed_search: rule.unindexed_search,
        };
        Ok(Rule { name: rule.name.clone(), selector, gives })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it says something of this limit.
    pub(super) fn sets(&self, kind: LimitKind) -> bool {
        match kind {
            LimitKind::Size => self.gives.size != (None, None),
            LimitKind::Time => self.gives.time_ms != (None, None),
            LimitKind::Lookthrough => self.gives.lookthrough.is_some(),
        }
    }
}

impl Selector {
    /// Root users are spoken of by their own name only: a rule for all must not take from them what they are there for.
    fn speaks_of(
        &self,
        subject: &Subject<'_>,
        is_member: &mut dyn FnMut(&NormalizedDn) -> Result<bool, StoreError>,
    ) -> Result<bool, StoreError> {
        if subject.is_root {
            let Selector::Names { names, scope: DnScope::Base } = self else { return Ok(false) };
            return Ok(names.contains(subject.name));
        }
        Ok(match self {
            Selector::Anonymous => false,
            Selector::Authenticated | Selector::Everyone => true,
            Selector::Names { names, scope } => names.iter().any(|name| in_scope(subject.name, name, *scope)),
            Selector::Pattern(pattern) => pattern.is_match(subject.shown),
            Selector::Members(groups) => {
                for group in groups {
                    if is_member(group)? {
                        return Ok(true);
                    }
                }
                false
            }
        })
    }
}

fn in_scope(name: &NormalizedDn, base: &NormalizedDn, scope: DnScope) -> bool {
    match scope {
        DnScope::Base => name == base,
        DnScope::One => base.is_ancestor_of(name) && name.len() == base.len() + 1,
        DnScope::Children => base.is_ancestor_of(name),
        DnScope::Subtree => base.is_ancestor_or_equal(name),
    }
}

impl Gives {
    fn over(&self, inherited: SessionLimits) -> SessionLimits {
        SessionLimits {
            size: inherited.size.with(self.size.0, self.size.1),
            time_ms: inherited.time_ms.with(self.time_ms.0, self.time_ms.1),
            lookthrough: self.lookthrough.unwrap_or(inherited.lookthrough),
            filter_parts: self.filter_parts.unwrap_or(inherited.filter_parts),
            idle: self.idle.unwrap_or(inherited.idle),
            page_size: self.page_size.unwrap_or(inherited.page_size),
            paged_total: self.paged_total.unwrap_or(inherited.paged_total),
            unindexed_search: self.unindexed_search || inherited.unindexed_search,
            generation: inherited.generation,
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
