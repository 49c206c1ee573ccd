//! The extended operation that manages the one-time codes of an account.
//!
//! Administrators (privilege password-reset, and what it takes to set the password) manage those of others; users their
//! own, on a connection on which they have shown the password a moment ago. A secret leaves the server once, in the
//! answer to the request that made it.

use std::time::Duration;

use access::{Authentication, Identity, Privilege};
use accounts::StateChange;
use accounts::second_factor::{Algorithm, Kind as TokenKind, SECRET_BYTES, Token, TokenError, TokenPart, Tokens};
use change::proposal::Kind;
use ldap::dn::{Dn, Rdn};
use ldap::second_factor::{FactorAction, KnownToken, NewToken, SecondFactor, SecondFactorAnswer};
use ldap::{LdapResult, MadeUpdate, ModifyOperation, oids};
use query::backend::holder;
use query::entry_place::EntryPlace;
use query::error::{invalid_dn, no_such_object};
use schema::NormalizedDn;
use zeroize::Zeroizing;

use super::context::UpdateContext;
use super::done::{UpdateCallback, UpdateDone};
use super::order::Order;
use super::password_case::{Asker, PasswordCase};
use super::rights::Told;
use crate::account::{StateOf, StateWrite};
use crate::refusal::Refusal;
use crate::second_factor::AccountTokens;

/// How long after a bind a user may change the own tokens.
const FRESH: Duration = Duration::from_secs(300);

/// Bytes that a secret may have which a client brings along.
const SECRET_LENGTHS: std::ops::RangeInclusive<usize> = 16..=64;

/// An account whose tokens are managed.
struct Managed {
    dn: String,
    place: EntryPlace,
    entry_uuid: [u8; 16],
    case: PasswordCase,
}

/// What a request comes to.
struct Outcome {
    answer: SecondFactorAnswer,
    /// With what has to be written first.
    write: Option<StateWrite>,
}

impl UpdateContext<'_> {
    /// Answers a request, when what it wants is written.
    pub(super) fn second_factor(&self, order: &Order<'_, '_>, wanted: &SecondFactor, done: UpdateCallback) {
        let Outcome { answer, write } = match self.try_second_factor(order, wanted) {
            Ok(outcome) => outcome,
            Err(told) => return done(UpdateDone::told(*told)),
        };
        let answered = move |written: Result<(), LdapResult>| match written {
            Ok(()) => done(UpdateDone {
                response_name: Some(oids::extended::SECOND_FACTOR),
                response_value: Some(answer.encode().to_vec()),
                ..UpdateDone::refused(LdapResult::success())
            }),
            Err(result) => done(UpdateDone::refused(result)),
        };
        match write {
            Some(write) => self.states.write(StateWrite { done: Some(Box::new(answered)), ..write }),
            None => answered(Ok(())),
        }
    }

    fn try_second_factor(&self, order: &Order<'_, '_>, wanted: &SecondFactor) -> Result<Outcome, Box<Told>> {
        let is_change = wanted.action != FactorAction::List;
        if !is_change && self.lists_root_user(order, &wanted.user)? {
            return Ok(Outcome { answer: SecondFactorAnswer::default(), write: None });
        }
        let account = self.managed(order, &wanted.user, is_change)?;
        let tokens = &account.case.state.tokens;
        let mut answer = SecondFactorAnswer::default();
        let change = match &wanted.action {
            FactorAction::List => {
                answer.tokens = tokens.all().iter().map(known).collect();
                answer.is_required = account.case.policy.require_second_factor;
                return Ok(Outcome { answer, write: None });
            }
            FactorAction::Enrol(new) => {
                let (token, secret) = self.new_token(&account, new)?;
                answer.uri = Some(token.uri(&secret, &issuer(&account.dn), &label(&account.dn)));
                StateChange::PutToken { value: token.to_string().into_bytes() }
            }
            FactorAction::Confirm { name, code } => self.shown(&account, name, code.as_bytes())?,
            FactorAction::Remove { name } if name.is_empty() => StateChange::RemoveToken { token: None },
            FactorAction::Remove { name } => StateChange::RemoveToken { token: Some(named(tokens, name)?.key()) },
        };
        let Managed { place, entry_uuid, .. } = account;
        let write =
            StateWrite { of: StateOf::Entry(place, entry_uuid), changes: vec![change], guess: None, done: None };
        Ok(Outcome { answer, write: Some(write) })
    }

    /// Whether a root user's tokens are asked for, of which there are none, by who may ask for those of others.
    fn lists_root_user(&self, order: &Order<'_, '_>, user: &str) -> Result<bool, LdapResult> {
        let facts = self.facts();
        let name = NormalizedDn::parse(&facts.schema, user.as_bytes()).ok();
        let is_root = name.is_some_and(|name| self.roots.load().user(&name).is_some());
        Ok(is_root && self.rights_of(order, &facts)?.has(Privilege::PasswordReset))
    }

    /// The account, if whoever asks may do that.
    fn managed(&self, order: &Order<'_, '_>, user: &str, is_change: bool) -> Result<Managed, Box<Told>> {
        let mut controls = self.update_controls(order, Kind::Refresh)?.owned();
        let facts = self.facts();
        let session = order.session;
        let identity = self.requestor(&session.identity)?;
        let dn = if user.is_empty() { identity.dn().to_owned() } else { user.to_owned() };
        let parsed = |dn: &str| NormalizedDn::parse(&facts.schema, dn.as_bytes());
        let name = parsed(&dn).map_err(|error| invalid_dn(dn.as_bytes(), error))?;
        let is_self = matches!(identity, Identity::User { .. }) && parsed(identity.dn()).is_ok_and(|own| own == name);
        if is_self {
            let is_by_password = match &session.authentication {
                Authentication::Simple => true,
                Authentication::Sasl(mechanism) => &**mechanism == "PLAIN",
                _ => false,
            };
            let is_fresh = session.bound_at.is_some_and(|at| at.elapsed() < FRESH);
            if session.proxied_by.is_some() || (is_change && !(is_by_password && is_fresh)) {
                return Err(Refusal::SecondFactorNotFresh.into());
            }
        } else if !self.rights_of(order, &facts)?.has(Privilege::PasswordReset) {
            return Err(Refusal::SecondFactorOfOther.into());
        }
        if self.roots.load().find(&name).is_some() {
            return Err(Refusal::RootSecondFactor.into());
        }
        let missing = || no_such_object(&dn, "");
        let (at, _) = holder(self.backends, name.as_bytes()).ok_or_else(missing)?;
        if !is_self {
            let password = (ModifyOperation::Replace, &b"userPassword"[..], [&b""[..]]);
            let made = MadeUpdate::modify(dn.as_bytes(), [password]);
            self.review_made(order, (&identity, at, Kind::PasswordModify), &made, &mut controls)?;
        }
        if is_change {
            self.backend_of(&name, dn.as_bytes())?;
        }
        let case = self.password_case(&facts, &Asker { order, identity: &identity }, at, &name)?.ok_or_else(missing)?;
        let (place, entry_uuid) = case.entry.ok_or_else(missing)?;
        Ok(Managed { dn, place, entry_uuid, case })
    }

    /// A token as it is wanted, with its secret.
    fn new_token(&self, account: &Managed, new: &NewToken) -> Result<(Token, Zeroizing<Vec<u8>>), LdapResult> {
        let bad = |part: TokenPart, value: &dyn std::fmt::Display| -> LdapResult {
            Refusal::BadToken { problem: TokenError::Value { part, value: value.to_string() }.to_string() }.into()
        };
        let tokens = &account.case.state.tokens;
        if !Token::is_id(&new.name) {
            return Err(bad(TokenPart::Name, &new.name));
        }
        let digits = u8::try_from(new.digits).ok().filter(|digits| Token::are_digits(*digits));
        let digits = digits.ok_or_else(|| bad(TokenPart::Digits, &new.digits))?;
        let algorithm =
            Algorithm::from_name(&new.algorithm).ok_or_else(|| bad(TokenPart::Algorithm, &new.algorithm))?;
        let (kind, next) = if new.kind.eq_ignore_ascii_case("TOTP") {
            let period = u32::try_from(new.period).ok().filter(|period| Token::is_period(*period));
            let period_seconds = period.ok_or_else(|| bad(TokenPart::Period, &new.period))?;
            if new.counter != 0 {
                return Err(bad(TokenPart::NoCounter, &new.counter));
            }
            (TokenKind::Totp { period_seconds }, 0)
        } else if new.kind.eq_ignore_ascii_case("HOTP") {
            if new.period != 0 {
                return Err(bad(TokenPart::NoPeriod, &new.period));
            }
            (TokenKind::Hotp, u64::try_from(new.counter).map_err(|_| bad(TokenPart::Counter, &new.counter))?)
        } else {
            return Err(bad(TokenPart::Kind, &new.kind));
        };
        // Tokens that are not in use yet count, too: each may be put in use.
        let others = tokens.all().iter().find(|token| token.id != new.name).map(|token| token.digits);
        if let Some(others) = others.filter(|others| *others != digits) {
            return Err(Refusal::OtherDigits { digits: u64::from(others) }.into());
        }
        if tokens.named(&new.name).is_some_and(|token| token.is_active) {
            return Err(Refusal::TokenInUse { name: new.name.clone() }.into());
        }
        if tokens.named(&new.name).is_none() && tokens.all().len() >= Tokens::MAX {
            return Err(Refusal::TooManyTokens.into());
        }
        let secret = match &new.secret {
            Some(secret) if SECRET_LENGTHS.contains(&secret.len()) => secret.clone(),
            Some(_) => return Err(Refusal::SecretLength.into()),
            None => {
                let mut made = Zeroizing::new(vec![0; SECRET_BYTES]);
                getrandom::fill(&mut made).map_err(|error| unsealed(&error))?;
                made
            }
        };
        let key = self.binding.second_factors.key_or_make().map_err(|error| unsealed(&error))?;
        let sealed = key.seal(&secret, &account.entry_uuid, &new.name).map_err(|error| unsealed(&error))?;
        let token = Token { id: new.name.clone(), kind, is_active: false, algorithm, digits, next, sealed };
        Ok((token, secret))
    }

    /// What a code that is shown for a token changes: the token is in use from then on.
    fn shown(&self, account: &Managed, name: &str, code: &[u8]) -> Result<StateChange, LdapResult> {
        let Managed { dn, entry_uuid, case, .. } = account;
        let token = named(&case.state.tokens, name)?;
        let mut only = Tokens::default();
        only.put(&Token { is_active: true, ..token.clone() });
        let window = case.policy.second_factor_window;
        let of = AccountTokens { tokens: &only, entry_uuid, dn, window, now: case.now };
        let found = self.binding.second_factors.check(of, code);
        let (token, next) = found.ok_or_else(|| LdapResult::from(Refusal::WrongCode { name: name.to_owned() }))?;
        Ok(StateChange::SpendCode { token, next })
    }
}

fn unsealed(problem: &dyn std::fmt::Display) -> LdapResult {
    Refusal::NotSealed { problem: problem.to_string() }.into()
}

fn named<'t>(tokens: &'t Tokens, name: &str) -> Result<&'t Token, LdapResult> {
    tokens.named(name).ok_or_else(|| Refusal::NoSuchToken { name: name.to_owned() }.into())
}

fn known(token: &Token) -> KnownToken {
    let kind = match token.kind {
        TokenKind::Totp { .. } => "TOTP",
        TokenKind::Hotp => "HOTP",
    };
    let (name, digits) = (token.id.clone(), i64::from(token.digits));
    KnownToken { name, kind: kind.to_owned(), digits, is_active: token.is_active }
}

/// Who an authenticator says the account is of: the domain of the name.
fn issuer(dn: &str) -> String {
    let parsed = Dn::parse(dn).ok();
    let rdns = parsed.as_ref().map(Dn::rdns).unwrap_or_default();
    let components: Vec<String> = rdns.iter().filter_map(|rdn| value_of(rdn, "dc")).collect();
    if components.is_empty() { "Pando".to_owned() } else { components.join(".") }
}

/// What an authenticator calls the account: the first value of its RDN.
fn label(dn: &str) -> String {
    let parsed = Dn::parse(dn).ok();
    let first = parsed.as_ref().and_then(Dn::rdn).and_then(|rdn| rdn.avas().first());
    first.map_or_else(|| dn.to_owned(), |ava| String::from_utf8_lossy(&ava.value).into_owned())
}

fn value_of(rdn: &Rdn<'_>, attribute: &str) -> Option<String> {
    let ava = rdn.avas().iter().find(|ava| ava.attribute.eq_ignore_ascii_case(attribute))?;
    Some(String::from_utf8_lossy(&ava.value).into_owned())
}
