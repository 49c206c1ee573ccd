//! Who asks, as rules look at it: found out once, and kept with the rights.

use std::collections::HashSet;
use std::net::IpAddr;
use std::ops::ControlFlow;

use query::computed::ComputedAt;
use query::entry::{DnParts, EntryView, each_stored};
use query::entry_place::EntryPlace;
use query::facts::Facts;
use query::read_moment::ReadAt;
use schema::{NormalizedDn, TypeIndex};
use store::{RecordView, StoreError};

use crate::connection_facts::{Authentication, HostName};
use crate::privilege::PrivilegeGrant;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Asker {
    /// The normalized name; none of nobody (anonymous, or a user whose entry is gone).
    pub name: Option<Box<[u8]>>,
    /// The entry; root users have none.
    pub place: Option<EntryPlace>,
    /// Every group that it is in, where some rule asks for groups.
    pub groups: HashSet<EntryPlace>,
    /// The normalized names of its roles, where some rule asks for roles.
    pub roles: HashSet<Box<[u8]>>,
    /// What its entry says of privileges.
    pub grants: Vec<PrivilegeGrant>,
    /// Something of this was computed from other entries, so that nobody tells when it changes.
    pub is_computed: bool,
    pub connection: Connection,
    pub now_unix_seconds: i64,
    /// Minutes since midnight, local time.
    pub minutes: u16,
    /// Day of the week, local time; 0 is Sunday.
    pub day: u8,
}

/// What is known of its connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connection {
    pub address: Option<IpAddr>,
    pub host: HostName,
    pub authentication: Authentication,
    pub strength_bits: u32,
}

impl Asker {
    /// Takes the local time of `now_unix_seconds`.
    pub fn set_clock(&mut self, now_unix_seconds: i64, needs_local: bool) {
        self.now_unix_seconds = now_unix_seconds;
        if !needs_local {
            return;
        }
        if let Ok(now) = jiff::Timestamp::from_second(now_unix_seconds) {
            let local = now.to_zoned(jiff::tz::TimeZone::system());
            self.minutes = u16::from(local.hour().unsigned_abs()) * 60 + u16::from(local.minute().unsigned_abs());
            self.day = local.weekday().to_sunday_zero_offset().unsigned_abs();
        }
    }
}

/// The entry of an asker at one moment.
#[derive(Clone, Copy)]
pub(crate) struct AskerEntry<'e> {
    pub facts: &'e Facts,
    pub at: ReadAt<'e>,
    pub place: EntryPlace,
    pub record: RecordView<'e>,
    pub dn: &'e [u8],
}

impl AskerEntry<'_> {
    /// As filters look at it.
    pub fn view(&self) -> EntryView<'_> {
        EntryView { id: self.place.id, record: self.record, dn: DnParts::whole(self.dn), source: &self.at }
    }

    /// Calls `each` with the values that it shows of a type, and says whether they may be computed from other entries.
    pub fn each_value(
        &self,
        attribute: TypeIndex,
        each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> Result<bool, StoreError> {
        shown_values(&self.at, &self.view(), attribute, each)
    }

    /// The privileges that it names, and whether some may be computed.
    pub fn grants(&self, attribute: TypeIndex) -> Result<(Vec<PrivilegeGrant>, bool), StoreError> {
        let mut grants = Vec::new();
        let is_computed = self.each_value(attribute, &mut |value| {
            grants.extend(PrivilegeGrant::parse(value));
            ControlFlow::Continue(())
        })?;
        Ok((grants, is_computed))
    }

    /// The normalized names of its roles.
    pub fn roles(&self) -> Result<HashSet<Box<[u8]>>, StoreError> {
        let mut roles = HashSet::new();
        let Some(attribute) = self.facts.schema.attribute_type(b"nsRole") else { return Ok(roles) };
        let Some(computed) = self.at.given_values()? else { return Ok(roles) };
        computed.values_of(&self.view(), attribute.index, &mut |value| {
            let name = NormalizedDn::parse(&self.facts.schema, value).ok();
            roles.extend(name.map(|name| Box::from(name.as_bytes())));
            ControlFlow::Continue(())
        })?;
        Ok(roles)
    }

    /// Whether it has a value, in its normal form, and whether that may be computed.
    pub fn has_value(&self, attribute: TypeIndex, form: &[u8]) -> Result<(bool, bool), StoreError> {
        let mut has = false;
        let rule = self.facts.schema.attribute_by_index(attribute).and_then(|it| it.equality);
        let mut own = Vec::new();
        let is_computed = self.each_value(attribute, &mut |value| {
            own.clear();
            has = rule.is_some_and(|rule| rule.normalize(&self.facts.schema, value, &mut own).is_ok()) && own == form;
            if has { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok((has, is_computed))
    }
}

/// Calls `each` with the values that an entry shows of a type under its plain name; says whether entries of its backend
/// are given such values, so that they may come from elsewhere.
pub(crate) fn shown_values(
    at: &ReadAt<'_>,
    entry: &EntryView<'_>,
    attribute: TypeIndex,
    each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<bool, StoreError> {
    let is_given = |computed: &ComputedAt<'_>| !computed.definitions().concerned(attribute).is_empty();
    match at.given_values()?.filter(is_given) {
        Some(computed) => {
            computed.values_of(entry, attribute, each)?;
            Ok(true)
        }
        None => {
            each_stored(entry, attribute, each)?;
            Ok(false)
        }
    }
}
