//! Bind rules after all is decided that depends on the asker alone: a truth, or what the entry has to be asked.

use std::sync::Arc;

use aci::{AuthMethod, Effect, Right, Rights};
use query::facts::Facts;
use query::filter::Truth;
use store::StoreError;

use crate::asker::{Asker, AskerEntry};
use crate::compiled::{EntryTest, EntryTestKind, Rule, Test};
use crate::connection_facts::{Authentication, Known};

/// What is left of a rule.
#[derive(Clone, Debug)]
pub(crate) enum OpenRule {
    Decided(Truth),
    And(Arc<[OpenRule]>),
    Or(Arc<[OpenRule]>),
    Not(Arc<OpenRule>),
    OneSelf,
    Parent,
    Entry(Arc<EntryTest>),
    /// False of an entry that is there, whatever it says of the asker; of one that is to be added it is undefined.
    OfAddition,
}

/// The asker, with its entry if it has one.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'s> {
    pub facts: &'s Facts,
    pub asker: &'s Asker,
    pub entry: Option<&'s AskerEntry<'s>>,
}

/// What a rule says of entries that are to be added: what such an entry says of whoever adds it is undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Additions {
    /// Nothing: it is not about the right `add`.
    None,
    /// A test that is undefined grants as little as a false one.
    AsFalse,
    /// A test that is undefined is not a false one: it refuses, or its opposite is undefined, too.
    Undefined,
}

impl Additions {
    /// Of a rule that gives or takes these rights.
    pub fn of(effect: Effect, rights: Rights) -> Additions {
        match effect {
            _ if !rights.contains(Right::Add) => Additions::None,
            Effect::Allow => Additions::AsFalse,
            Effect::Deny => Additions::Undefined,
        }
    }

    /// Of a rule that is negated.
    fn negated(self) -> Additions {
        if self == Additions::None { self } else { Additions::Undefined }
    }
}

impl OpenRule {
    /// What is left of `rule`; `computed` is set when something was computed from other entries.
    pub fn of(
        rule: &Rule,
        subject: Subject<'_>,
        additions: Additions,
        computed: &mut bool,
    ) -> Result<OpenRule, StoreError> {
        Ok(match rule {
            Rule::And(rules) => {
                let mut open = Vec::new();
                for rule in rules {
                    match OpenRule::of(rule, subject, additions, computed)? {
                        OpenRule::Decided(Truth::False) => return Ok(OpenRule::Decided(Truth::False)),
                        OpenRule::Decided(Truth::True) => {}
                        left => open.push(left),
                    }
                }
                joined(open, Truth::True, OpenRule::And)
            }
            Rule::Or(rules) => {
                let mut open = Vec::new();
                for rule in rules {
                    match OpenRule::of(rule, subject, additions, computed)? {
                        OpenRule::Decided(Truth::True) => return Ok(OpenRule::Decided(Truth::True)),
                        OpenRule::Decided(Truth::False) => {}
                        left => open.push(left),
                    }
                }
                joined(open, Truth::False, OpenRule::Or)
            }
            Rule::Not(rule) => match OpenRule::of(rule, subject, additions.negated(), computed)? {
                OpenRule::Decided(truth) => OpenRule::Decided(truth.opposite()),
                left => OpenRule::Not(Arc::new(left)),
            },
            Rule::Test(test) => subject.of_test(test, additions, computed)?,
        })
    }

    /// Its truth, given what the entry answers.
    pub fn truth<E>(&self, answer: &mut impl FnMut(EntryQuestion<'_>) -> Result<Truth, E>) -> Result<Truth, E> {
        match self {
            OpenRule::Decided(truth) => Ok(*truth),
            OpenRule::And(rules) => {
                let mut truth = Truth::True;
                for rule in rules.iter() {
                    truth = truth.min(rule.truth(answer)?);
                    if truth == Truth::False {
                        break;
                    }
                }
                Ok(truth)
            }
            OpenRule::Or(rules) => {
                let mut truth = Truth::False;
                for rule in rules.iter() {
                    truth = truth.max(rule.truth(answer)?);
                    if truth == Truth::True {
                        break;
                    }
                }
                Ok(truth)
            }
            OpenRule::Not(rule) => Ok(rule.truth(answer)?.opposite()),
            OpenRule::OneSelf => answer(EntryQuestion::IsSelf),
            OpenRule::Parent => answer(EntryQuestion::IsChildOfAsker),
            OpenRule::Entry(test) => answer(EntryQuestion::Says(test)),
            OpenRule::OfAddition => answer(EntryQuestion::IsAddition),
        }
    }
}

/// What an entry is asked.
#[derive(Clone, Copy)]
pub(crate) enum EntryQuestion<'q> {
    /// Whether it is the asker's own.
    IsSelf,
    /// Whether its parent is the asker's own.
    IsChildOfAsker,
    /// Whether it says so.
    Says(&'q EntryTest),
    /// Undefined of an entry that is to be added, false of others.
    IsAddition,
}

fn joined(mut open: Vec<OpenRule>, empty: Truth, join: fn(Arc<[OpenRule]>) -> OpenRule) -> OpenRule {
    match (open.pop(), open.is_empty()) {
        (None, _) => OpenRule::Decided(empty),
        (Some(only), true) => only,
        (Some(last), false) => {
            open.push(last);
            join(open.into())
        }
    }
}

impl Subject<'_> {
    fn of_test(self, test: &Test, additions: Additions, computed: &mut bool) -> Result<OpenRule, StoreError> {
        let asker = self.asker;
        let name = asker.name.as_deref();
        let truth = |is: bool| OpenRule::Decided(Truth::from(is));
        Ok(match test {
            Test::Anyone => truth(true),
            Test::Nobody => truth(false),
            Test::Authenticated => truth(name.is_some()),
            Test::OneSelf if name.is_some() => OpenRule::OneSelf,
            Test::Parent if name.is_some() => OpenRule::Parent,
            Test::OneSelf | Test::Parent => truth(false),
            Test::User(user) => truth(name == Some(&**user)),
            Test::UserPattern(pattern) => truth(name.is_some_and(|name| pattern.is(&self.facts.schema, name))),
            Test::UserUrl(url) => match (name, self.entry) {
                (Some(name), Some(entry)) => {
                    *computed |= entry.at.given_values()?.is_some();
                    truth(url.finds(entry.facts, name, &entry.view(), asker.now_unix_seconds)?)
                }
                _ => truth(false),
            },
            Test::Group(group) => truth(self.is_in_group(group)?),
            Test::Role(role) => truth(asker.roles.contains(role)),
            Test::Entry(test) => match self.of_entry_test(test, computed)? {
                OpenRule::Decided(_) if additions == Additions::Undefined && test.levels.contains(0) => {
                    OpenRule::OfAddition
                }
                left => left,
            },
            Test::Address(ranges) => {
                truth(asker.connection.address.is_some_and(|address| ranges.iter().any(|it| it.contains(address))))
            }
            Test::Host(patterns) => match asker.connection.host.known() {
                Known::NotYet => OpenRule::Decided(Truth::Undefined),
                Known::Nameless => truth(false),
                Known::Name(host) => truth(patterns.iter().any(|it| it.matches(host))),
            },
            Test::TimeOfDay(comparison, minutes) => truth(comparison.holds(asker.minutes, *minutes)),
            Test::DayOfWeek(days) => truth(days.contains(asker.day)),
            Test::Method(method) => truth(is_by(&asker.connection.authentication, method)),
            Test::Strength(comparison, bits) => {
                truth(comparison.holds(asker.connection.strength_bits, u32::from(*bits)))
            }
        })
    }

    /// Of who has no name, and where the asker's part is false, nothing is left.
    fn of_entry_test(self, test: &Arc<EntryTest>, computed: &mut bool) -> Result<OpenRule, StoreError> {
        let asker = self.asker;
        let may_be = match &test.kind {
            _ if asker.name.is_none() => false,
            EntryTestKind::User => true,
            EntryTestKind::Group { .. } => !asker.groups.is_empty(),
            EntryTestKind::Role => !asker.roles.is_empty(),
            EntryTestKind::Url => self.entry.is_some(),
            EntryTestKind::Value(form) => match self.entry {
                Some(entry) => {
                    let (has, is_computed) = entry.has_value(test.attribute, form)?;
                    *computed |= is_computed;
                    has
                }
                None => false,
            },
        };
        Ok(if may_be { OpenRule::Entry(Arc::clone(test)) } else { OpenRule::Decided(Truth::False) })
    }

    fn is_in_group(self, group: &[u8]) -> Result<bool, StoreError> {
        match self.entry {
            Some(entry) if !self.asker.groups.is_empty() => {
                let place = entry.at.groups().locate(group)?;
                Ok(place.is_some_and(|place| self.asker.groups.contains(&place)))
            }
            _ => Ok(false),
        }
    }
}

fn is_by(authentication: &Authentication, method: &AuthMethod) -> bool {
    match method {
        AuthMethod::None => true,
        AuthMethod::Simple => *authentication == Authentication::Simple,
        AuthMethod::Ssl => *authentication == Authentication::ClientCertificate,
        AuthMethod::Ldapi => *authentication == Authentication::LocalSocket,
        AuthMethod::Sasl(mechanism) => authentication.mechanism() == Some(mechanism),
    }
}
