//! The bind rule: who, and how connected, an instruction is for.

use ldap::LdapUrl;

use crate::client::{DnsPattern, IpRange};
use crate::dn_pattern::{DnPattern, DnText};
use crate::span::Span;

/// Most bits of a security strength factor.
pub const SSF_MAX: u16 = 1024;

/// The last minute of a day.
pub const MINUTES_MAX: u16 = 24 * 60 - 1;

/// The farthest ancestor that `parent[…]` may name.
pub const LEVEL_MAX: u8 = 10;

/// The days as they are written, in the order of [`Days`].
pub const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// A bind rule. Its depth is at most [`crate::DEPTH_MAX`], so that it may be walked by recursion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindRule {
    /// All of them; at least two, none of them an `And`.
    And(Vec<BindRule>),
    /// Any of them; at least two, none of them an `Or`.
    Or(Vec<BindRule>),
    /// Not this one.
    Not(Box<BindRule>),
    /// One condition.
    Test(Condition),
}

impl BindRule {
    /// Its conditions, in the order in which they are written.
    #[must_use]
    pub fn conditions(&self) -> Vec<&Condition> {
        let mut found = Vec::new();
        let mut open = vec![self];
        while let Some(rule) = open.pop() {
            match rule {
                BindRule::And(rules) | BindRule::Or(rules) => open.extend(rules.iter().rev()),
                BindRule::Not(rule) => open.push(rule),
                BindRule::Test(condition) => found.push(condition),
            }
        }
        found
    }
}

/// `keyword = "…"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// From the keyword to the closing quotation mark.
    pub span: Span,
    /// Whether it was written with `!=`.
    pub negated: bool,
    /// What is asked.
    pub test: ConditionTest,
}

/// What a condition asks. Of a list, any is enough; no list is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionTest {
    /// `userdn`: who asks.
    UserDn(Vec<UserDn>),
    /// `groupdn`: which group the asker is in.
    GroupDn(Vec<GroupDn>),
    /// `roledn`: which role the asker has.
    RoleDn(Vec<DnText>),
    /// `userattr`, `userdnattr`, `groupdnattr`: what the entry says of the asker.
    UserAttr(UserAttr),
    /// `ip`: the client's address.
    Ip(Vec<IpRange>),
    /// `dns`: the client's host name.
    Dns(Vec<DnsPattern>),
    /// `timeofday`: the server's local time.
    TimeOfDay {
        /// How the time is compared with `minutes`.
        comparison: Comparison,
        /// Minutes since midnight, at most [`MINUTES_MAX`].
        minutes: u16,
    },
    /// `dayofweek`: the server's local day.
    DayOfWeek(Days),
    /// `authmethod`: how the client proved who it is.
    AuthMethod(AuthMethod),
    /// `ssf`: how strongly the connection is protected.
    Ssf {
        /// How the strength is compared with `bits`.
        comparison: Comparison,
        /// Effective bits of the key, at most [`SSF_MAX`].
        bits: u16,
    },
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserDn {
    /// `ldap:///anyone`: everybody, anonymous clients included.
    Anyone,
    /// `ldap:///all`: every authenticated user.
    All,
    /// `ldap:///self`: the user whose entry it is.
    OneSelf,
    /// `ldap:///parent`: the user whose entry is the parent.
    Parent,
    /// `ldap:///DN`, or a pattern. The empty name matches nobody.
    Name(DnPattern),
    /// `ldap:///DN?attributes?scope?filter`: a user whose entry is found so. It names no host.
    Url(LdapUrl),
}

/// A group of which the asker must be a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupDn(pub DnText);

/// What the entry says of the asker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserAttr {
    /// The entries that are looked at, where they were written (`parent[0,1].`); without them, the entry itself.
    ///
    /// Levels belong to [`UserAttrKind::UserDn`] and [`UserAttrKind::GroupDn`]: a condition with levels and another
    /// kind may be written, and is never true.
    pub levels: Option<Levels>,
    /// The attribute type of the entry.
    pub attribute: String,
    /// What its values are.
    pub kind: UserAttrKind,
}

/// What the values of the attribute are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserAttrKind {
    /// `#USERDN`: the name of the asker.
    UserDn,
    /// `#GROUPDN`: the name of a group of the asker.
    GroupDn {
        /// The group must be at or below this entry, when it was written.
        base: Option<DnText>,
    },
    /// `#ROLEDN`: the name of a role of the asker.
    RoleDn,
    /// `#LDAPURL`: a URL that finds the asker.
    LdapUrl,
    /// `#value`: this value, which the entry and the asker must both have.
    Value(String),
}

/// Levels of ancestors: 0 is the entry, 1 its parent, at most [`LEVEL_MAX`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Levels(u16);

impl Levels {
    /// These and `level`; levels over [`LEVEL_MAX`] are left out.
    #[must_use]
    pub const fn with(self, level: u8) -> Levels {
        if level <= LEVEL_MAX { Levels(self.0 | 1 << level) } else { self }
    }

    /// Whether `level` is one of them.
    #[must_use]
    pub const fn contains(self, level: u8) -> bool {
        level <= LEVEL_MAX && self.0 & 1 << level != 0
    }

    /// The levels, from the entry upwards.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0..=LEVEL_MAX).filter(move |level| self.contains(*level))
    }
}

/// Days of the week.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Days(u8);

impl Days {
    /// These and `day`, where 0 is Sunday and 6 is Saturday; other numbers are left out.
    #[must_use]
    pub const fn with(self, day: u8) -> Days {
        if day < 7 { Days(self.0 | 1 << day) } else { self }
    }

    /// Whether `day` is one of them, where 0 is Sunday.
    #[must_use]
    pub const fn contains(self, day: u8) -> bool {
        day < 7 && self.0 & 1 << day != 0
    }

    /// The days, from Sunday.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0..7).filter(move |day| self.contains(*day))
    }
}

/// How a number is compared; `!=` is an equal comparison in a negated condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// Whether `found` compares so with `asked`.
    #[must_use]
    pub fn holds<T: Ord>(self, found: T, asked: T) -> bool {
        match self {
            Comparison::Equal => found == asked,
            Comparison::Less => found < asked,
            Comparison::LessOrEqual => found <= asked,
            Comparison::Greater => found > asked,
            Comparison::GreaterOrEqual => found >= asked,
        }
    }

    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Comparison::Equal => "=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        }
    }
}

/// How the client proved who it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AuthMethod {
    /// `none`: in any way, or not at all.
    None,
    /// `simple`: with a password, also over TLS.
    Simple,
    /// `ssl`: with a client certificate (SASL EXTERNAL over TLS).
    Ssl,
    /// `ldapi`: as a user of the operating system (SASL EXTERNAL over a local socket).
    Ldapi,
    /// `sasl MECHANISM`, in upper case.
    Sasl(String),
}
