//! Instructions as text that is read back as the same instruction.

use std::fmt::{self, Display, Formatter, Write};
use std::net::Ipv4Addr;

use ldap::dn::write_escaped;
use ldap::{FilterBuf, LdapUrl};

use crate::bind_rule::{
    AuthMethod, BindRule, Comparison, Condition, ConditionTest, DAYS, GroupDn, UserAttr, UserAttrKind, UserDn,
};
use crate::client::{DnsPattern, IpRange};
use crate::dn_pattern::{AttributePattern, AvaPattern, DnPattern, DnText, RdnPattern, ValuePattern};
use crate::instruction::{Aci, AttributeTarget, Effect, OidTarget, Permission, TargetPart, ValueFilter};
use crate::right::{Right, Rights};

impl Display for Aci {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let targets = &self.targets;
        write_url_target(f, "target", targets.target.as_ref())?;
        write_url_target(f, "target_from", targets.target_from.as_ref())?;
        write_url_target(f, "target_to", targets.target_to.as_ref())?;
        if let Some(part) = &targets.attributes {
            write_target(f, "targetattr", part.negated, &Joined(&part.value, " || "))?;
        }
        if let Some(part) = &targets.filter {
            write_target(f, "targetfilter", part.negated, &filter_text(&part.value))?;
        }
        if let Some(part) = &targets.value_filters {
            let lists = [("add=", &part.value.add), ("del=", &part.value.delete)];
            let written = lists.into_iter().filter(|(_, list)| !list.is_empty());
            let lists: Vec<String> = written.map(|(word, list)| format!("{word}{}", Joined(list, " && "))).collect();
            write_target(f, "targattrfilters", false, &Joined(&lists, ", "))?;
        }
        if let Some(part) = &targets.scope {
            write_target(f, "targetscope", false, &part.value.as_str())?;
        }
        if let Some(part) = &targets.controls {
            write_target(f, "targetcontrol", part.negated, &Joined(&part.value, " || "))?;
        }
        if let Some(part) = &targets.extended_operations {
            write_target(f, "extop", part.negated, &Joined(&part.value, " || "))?;
        }
        write!(f, "(version 3.0; acl \"{}\";", self.name)?;
        self.permissions.iter().try_for_each(|permission| write!(f, " {permission};"))?;
        f.write_str(")")
    }
}

/// A list with something between its members.
struct Joined<'l, T>(&'l [T], &'static str);

impl<T: Display> Display for Joined<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, part) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(self.1)?;
            }
            part.fmt(f)?;
        }
        Ok(())
    }
}

const fn equals(negated: bool) -> &'static str {
    if negated { "!=" } else { "=" }
}

fn write_target(f: &mut Formatter<'_>, keyword: &str, negated: bool, value: &dyn Display) -> fmt::Result {
    write!(f, "({keyword}{}\"{value}\")", equals(negated))
}

fn write_url_target(f: &mut Formatter<'_>, keyword: &str, part: Option<&TargetPart<DnPattern>>) -> fmt::Result {
    part.map_or(Ok(()), |part| write_target(f, keyword, part.negated, &format_args!("ldap:///{}", part.value)))
}

impl Display for Permission {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let effect = if self.effect == Effect::Allow { "allow" } else { "deny" };
        write!(f, "{effect} ({}) {}", self.rights, self.rule)
    }
}

impl Display for Rights {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let has_all = self.intersection(Rights::ALL) == Rights::ALL;
        let all = has_all.then_some("all").into_iter();
        let rest = self.iter().filter(|right| !has_all || !Rights::ALL.contains(*right)).map(Right::as_str);
        Joined(&all.chain(rest).collect::<Vec<_>>(), ",").fmt(f)
    }
}

impl Display for AttributeTarget {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AttributeTarget::All => "*",
            AttributeTarget::AllOperational => "+",
            AttributeTarget::Named(name) => name,
        })
    }
}

impl Display for OidTarget {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OidTarget::Any => "*",
            OidTarget::Oid(oid) => oid,
        })
    }
}

impl Display for ValueFilter {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.attribute, filter_text(&self.filter))
    }
}

/// A filter without quotation marks, which stand in values only.
fn filter_text(filter: &FilterBuf) -> String {
    filter.to_string().replace('"', "\\22")
}

impl Display for DnText {
    /// As it stands in a URL.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_url_text(f, self.as_str())
    }
}

impl Display for DnPattern {
    /// As it stands in a URL.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            DnPattern::Exact(name) => name.fmt(f),
            DnPattern::Pattern(rdns) => write_url_text(f, &Joined(rdns, ",").to_string()),
        }
    }
}

impl Display for RdnPattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            RdnPattern::AnyRdn => f.write_str("*"),
            RdnPattern::AnyRdns => f.write_str("**"),
            RdnPattern::Avas(avas) => Joined(avas, "+").fmt(f),
        }
    }
}

impl Display for AvaPattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.attribute {
            AttributePattern::Any => f.write_str("*=")?,
            AttributePattern::Named(name) => write!(f, "{name}=")?,
        }
        match &self.value {
            ValuePattern::Exact(value) => write_piece(f, value),
            ValuePattern::Wildcard { initial, any, last } => {
                write_piece(f, initial)?;
                f.write_char('*')?;
                for piece in any {
                    write_piece(f, piece)?;
                    f.write_char('*')?;
                }
                write_piece(f, last)
            }
        }
    }
}

/// A value or a part of one, in which an asterisk is no wildcard.
fn write_piece(f: &mut Formatter<'_>, piece: &[u8]) -> fmt::Result {
    let mut text = String::new();
    write_escaped(&mut text, piece)?;
    f.write_str(&text.replace('*', "\\2a"))
}

/// The text of a name as it stands in a URL within quotation marks: only what would end it or mean something else is
/// percent-encoded.
fn write_url_text(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    let mut before = None;
    let last = text.chars().count().saturating_sub(1);
    for (at, c) in text.chars().enumerate() {
        let is_special = match c {
            '%' | '?' | '"' | '#' => true,
            '|' => before == Some('|'),
            c if c.is_ascii_whitespace() => at == 0 || at == last,
            _ => false,
        };
        before = Some(c);
        if is_special { write!(f, "%{:02x}", u32::from(c))? } else { f.write_char(c)? }
    }
    Ok(())
}

impl Display for BindRule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            BindRule::And(rules) => Joined(&rules.iter().map(Part).collect::<Vec<_>>(), " and ").fmt(f),
            BindRule::Or(rules) => Joined(&rules.iter().map(Part).collect::<Vec<_>>(), " or ").fmt(f),
            BindRule::Not(rule) => write!(f, "not {}", Part(rule)),
            BindRule::Test(condition) => condition.fmt(f),
        }
    }
}

/// A rule in another one, in parentheses where it has parts.
struct Part<'r>(&'r BindRule);

impl Display for Part<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            BindRule::And(_) | BindRule::Or(_) => write!(f, "({})", self.0),
            rule => rule.fmt(f),
        }
    }
}

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let op = equals(self.negated);
        match &self.test {
            ConditionTest::UserDn(users) => write!(f, "userdn{op}\"{}\"", Joined(users, " || ")),
            ConditionTest::GroupDn(groups) => write!(f, "groupdn{op}\"{}\"", Joined(groups, " || ")),
            ConditionTest::RoleDn(roles) => {
                let urls: Vec<String> = roles.iter().map(|role| format!("ldap:///{role}")).collect();
                write!(f, "roledn{op}\"{}\"", Joined(&urls, " || "))
            }
            ConditionTest::UserAttr(attribute) => write!(f, "userattr{op}\"{attribute}\""),
            ConditionTest::Ip(ranges) => write!(f, "ip{op}\"{}\"", Joined(ranges, ",")),
            ConditionTest::Dns(hosts) => write!(f, "dns{op}\"{}\"", Joined(hosts, ",")),
            ConditionTest::TimeOfDay { comparison, minutes } => {
                let op = self.comparison(*comparison);
                write!(f, "timeofday{op}\"{:02}{:02}\"", minutes / 60, minutes % 60)
            }
            ConditionTest::DayOfWeek(days) => {
                let days: Vec<&str> = days.iter().filter_map(|day| DAYS.get(usize::from(day)).copied()).collect();
                write!(f, "dayofweek{op}\"{}\"", Joined(&days, ","))
            }
            ConditionTest::AuthMethod(method) => write!(f, "authmethod{op}\"{method}\""),
            ConditionTest::Ssf { comparison, bits } => write!(f, "ssf{}\"{bits}\"", self.comparison(*comparison)),
        }
    }
}

impl Condition {
    fn comparison(&self, comparison: Comparison) -> &'static str {
        if self.negated { equals(true) } else { comparison.as_str() }
    }
}

impl Display for UserDn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            UserDn::Anyone => f.write_str("ldap:///anyone"),
            UserDn::All => f.write_str("ldap:///all"),
            UserDn::OneSelf => f.write_str("ldap:///self"),
            UserDn::Parent => f.write_str("ldap:///parent"),
            UserDn::Name(name) => write!(f, "ldap:///{name}"),
            UserDn::Url(url) => write_url(f, url),
        }
    }
}

/// A URL always with a question mark: without one it would be a name, or a pattern.
fn write_url(f: &mut Formatter<'_>, url: &LdapUrl) -> fmt::Result {
    let text = url.to_string();
    f.write_str(&text)?;
    if text.contains('?') { Ok(()) } else { f.write_char('?') }
}

impl Display for GroupDn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "ldap:///{}", self.0)
    }
}

impl Display for UserAttr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(levels) = self.levels {
            write!(f, "parent[{}].", Joined(&levels.iter().collect::<Vec<_>>(), ","))?;
        }
        match &self.kind {
            UserAttrKind::UserDn => write!(f, "{}#USERDN", self.attribute),
            UserAttrKind::GroupDn { base: None } => write!(f, "{}#GROUPDN", self.attribute),
            UserAttrKind::GroupDn { base: Some(base) } => write!(f, "ldap:///{base}?{}#GROUPDN", self.attribute),
            UserAttrKind::RoleDn => write!(f, "{}#ROLEDN", self.attribute),
            UserAttrKind::LdapUrl => write!(f, "{}#LDAPURL", self.attribute),
            UserAttrKind::Value(value) => write!(f, "{}#{value}", self.attribute),
        }
    }
}

impl Display for IpRange {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            IpRange::V4 { network, mask: Ipv4Addr::BROADCAST } => network.fmt(f),
            IpRange::V4 { network, mask } => {
                let bits = mask.to_bits();
                let prefix = bits.leading_ones();
                if prefix + bits.trailing_zeros() >= 32 {
                    write!(f, "{network}/{prefix}")
                } else {
                    write!(f, "{network}+{mask}")
                }
            }
            IpRange::V6 { network, prefix: 128 } => network.fmt(f),
            IpRange::V6 { network, prefix } => write!(f, "{network}/{prefix}"),
        }
    }
}

impl Display for DnsPattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let wildcards = vec!["*"; self.wildcards];
        let dot = if self.wildcards > 0 && !self.suffix.is_empty() { "." } else { "" };
        write!(f, "{}{dot}{}", Joined(&wildcards, "."), self.suffix)
    }
}

impl Display for AuthMethod {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            AuthMethod::None => f.write_str("none"),
            AuthMethod::Simple => f.write_str("simple"),
            AuthMethod::Ssl => f.write_str("ssl"),
            AuthMethod::Ldapi => f.write_str("ldapi"),
            AuthMethod::Sasl(mechanism) => write!(f, "sasl {mechanism}"),
        }
    }
}
