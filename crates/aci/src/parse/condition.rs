//! One condition of a bind rule: `keyword = "value"`.

use std::net::{Ipv4Addr, Ipv6Addr};

use ldap::dn::is_attribute_type;

use crate::bind_rule::{
    AuthMethod, Comparison, Condition, ConditionTest, DAYS, Days, GroupDn, LEVEL_MAX, Levels, SSF_MAX, UserAttr,
    UserAttrKind, UserDn,
};
use crate::client::{DnsPattern, IpRange};
use crate::dn_pattern::DnText;
use crate::error::AciError;
use crate::parse::cursor::{Cursor, Operator};
use crate::parse::item::Item;
use crate::parse::name::{dn_pattern, dn_text, url, url_path};
use crate::span::Span;
use crate::warning::Remark;

/// The keywords, as messages list them.
const KEYWORDS: [&str; 12] = [
    "userdn",
    "groupdn",
    "roledn",
    "userattr",
    "ip",
    "dns",
    "timeofday",
    "dayofweek",
    "authmethod",
    "ssf",
    "userdnattr",
    "groupdnattr",
];

/// SASL mechanisms that some server or client of the field has.
const MECHANISMS: [&str; 17] = [
    "EXTERNAL",
    "PLAIN",
    "LOGIN",
    "GSSAPI",
    "GSS-SPNEGO",
    "GS2-KRB5",
    "DIGEST-MD5",
    "CRAM-MD5",
    "ANONYMOUS",
    "OTP",
    "NTLM",
    "OAUTHBEARER",
    "SCRAM-SHA-1",
    "SCRAM-SHA-1-PLUS",
    "SCRAM-SHA-256",
    "SCRAM-SHA-256-PLUS",
    "SCRAM-SHA-512",
];

/// Most levels that `parent[…]` lists.
const LEVELS_MAX: usize = 10;

/// Reads one condition.
pub(super) fn condition(cursor: &mut Cursor<'_>) -> Result<Condition, AciError> {
    let keyword = cursor.word();
    let Some(known) = KEYWORDS.into_iter().find(|known| keyword.is(known)) else {
        return Err(match keyword.text {
            "" => cursor.unexpected("a condition (as userdn=\"ldap:///all\"), not, or an opening parenthesis"),
            text => AciError::unknown(keyword.at, "the keyword of a condition", text, &KEYWORDS),
        });
    };
    let operator = cursor.operator()?;
    if operator.comparison != Comparison::Equal && !matches!(known, "timeofday" | "ssf") {
        return Err(AciError::unexpected(operator.at, "another operator".to_owned(), "= or !="));
    }
    let value = cursor.quoted()?;
    let span = Span::new(keyword.at, cursor.at());
    let test = test(known, operator, value, &mut |remark| cursor.warn(span, remark))?;
    Ok(Condition { span, negated: operator.negated, test })
}

fn test(
    keyword: &'static str,
    operator: Operator,
    value: Item<'_>,
    warn: &mut dyn FnMut(Remark),
) -> Result<ConditionTest, AciError> {
    let comparison = operator.comparison;
    let one = value.trimmed();
    Ok(match keyword {
        "userdn" => ConditionTest::UserDn(value.list("||", user)?),
        "groupdn" => ConditionTest::GroupDn(value.list("||", |item| Ok(GroupDn(named(item, warn)?)))?),
        "roledn" => ConditionTest::RoleDn(value.list("||", |item| named(item, warn))?),
        "userattr" => ConditionTest::UserAttr(user_attribute(one, warn)?),
        "userdnattr" => ConditionTest::UserAttr(entries_attribute(one, UserAttrKind::UserDn)?),
        "groupdnattr" => ConditionTest::UserAttr(group_attribute(one)?),
        "ip" => ConditionTest::Ip(value.list(",", address)?),
        "dns" => ConditionTest::Dns(value.list(",", host)?),
        "timeofday" => ConditionTest::TimeOfDay { comparison, minutes: minutes(one)? },
        "dayofweek" => ConditionTest::DayOfWeek(days(value)?),
        "authmethod" => ConditionTest::AuthMethod(method(one, warn)?),
        _ => ConditionTest::Ssf { comparison, bits: strength(one)? },
    })
}

fn user(item: Item<'_>) -> Result<UserDn, AciError> {
    let path = url_path(item)?;
    let words =
        [("anyone", UserDn::Anyone), ("all", UserDn::All), ("self", UserDn::OneSelf), ("parent", UserDn::Parent)];
    if let Some((_, word)) = words.into_iter().find(|(word, _)| path.is(word)) {
        return Ok(word);
    }
    // A word that is no name: whoever wrote it meant one of those above.
    if !path.text.is_empty() && !path.text.contains(['=', '*', '%', '?']) {
        let expected = "after ldap:/// stands anyone (anonymous clients, too), all (every authenticated user), self, \
                        parent or the name of an entry";
        return Err(AciError::value(path.at, "userdn", path.text, expected));
    }
    if path.text.contains('?') { url(item).map(UserDn::Url) } else { dn_pattern(path).map(UserDn::Name) }
}

/// The name in the URL of a group or role.
fn named(item: Item<'_>, warn: &mut dyn FnMut(Remark)) -> Result<DnText, AciError> {
    let mut path = url_path(item)?;
    if let Some((name, _)) = path.split_once("?") {
        url(item)?;
        warn(Remark::UrlPartsIgnored);
        path = name;
    }
    if path.text.contains('*') {
        warn(Remark::NoWildcard);
    }
    dn_text(path)
}

/// `[parent[levels].]attribute#kind`, `ldap:///base?attribute#GROUPDN`
fn user_attribute(item: Item<'_>, warn: &mut dyn FnMut(Remark)) -> Result<UserAttr, AciError> {
    let expected = "the form is attribute#USERDN, #GROUPDN, #ROLEDN, #LDAPURL or #value";
    let fault = || AciError::value(item.at, "userattr", item.text, expected);
    let is_url = item.after("ldap://").is_some();
    // A number sign may stand in the name of a URL, and nowhere else.
    let split = if is_url { item.text.rfind('#') } else { item.text.find('#') }.ok_or_else(fault)?;
    let (before, kind) = (item.part(0, split), item.part(split + 1, item.text.len()).trimmed());
    if kind.text.is_empty() || kind.text.contains('#') {
        return Err(fault());
    }
    if is_url {
        if !kind.is("GROUPDN") {
            let expected = "a URL is for #GROUPDN only";
            return Err(AciError::value(item.at, "userattr", item.text, expected));
        }
        return group_attribute(before);
    }
    let kinds = [
        ("USERDN", UserAttrKind::UserDn),
        ("GROUPDN", UserAttrKind::GroupDn { base: None }),
        ("ROLEDN", UserAttrKind::RoleDn),
        ("LDAPURL", UserAttrKind::LdapUrl),
    ];
    let known = kinds.into_iter().find(|(word, _)| kind.is(word)).map(|(_, kind)| kind);
    let found = entries_attribute(before, known.unwrap_or_else(|| UserAttrKind::Value(kind.text.to_owned())))?;
    let takes_levels = matches!(found.kind, UserAttrKind::UserDn | UserAttrKind::GroupDn { .. });
    if found.levels.is_some() && !takes_levels {
        warn(Remark::LevelsWithoutName);
    }
    Ok(found)
}

/// `[parent[levels].]attribute`
fn entries_attribute(item: Item<'_>, kind: UserAttrKind) -> Result<UserAttr, AciError> {
    let (levels, name) = match item.after("parent[") {
        None => (None, item),
        Some(rest) => {
            let expected = "levels are written parent[0,1].attribute";
            let closed = rest.split_once("].").filter(|(list, _)| !list.text.is_empty());
            let (list, name) = closed.ok_or_else(|| AciError::value(item.at, "userattr", item.text, expected))?;
            (Some(levels(list)?), name)
        }
    };
    let attribute = attribute_type(name)?;
    Ok(UserAttr { levels, attribute, kind })
}

/// `[ldap:///base?]attribute`, or with levels.
fn group_attribute(item: Item<'_>) -> Result<UserAttr, AciError> {
    if item.after("ldap://").is_none() {
        return entries_attribute(item, UserAttrKind::GroupDn { base: None });
    }
    let (base, name) = url_path(item)?
        .split_once("?")
        .ok_or_else(|| AciError::value(item.at, "userattr", item.text, "the form is ldap:///base?attribute#GROUPDN"))?;
    let kind = UserAttrKind::GroupDn { base: Some(dn_text(base)?) };
    Ok(UserAttr { levels: None, attribute: attribute_type(name)?, kind })
}

fn attribute_type(item: Item<'_>) -> Result<String, AciError> {
    let name = item.trimmed();
    if is_attribute_type(name.text) {
        return Ok(name.text.to_owned());
    }
    Err(AciError::value(name.at, "userattr", name.text, "it names one attribute type, without options"))
}

fn levels(list: Item<'_>) -> Result<Levels, AciError> {
    let mut count = 0;
    let numbers = list.list(",", |item| {
        count += 1;
        let number = number(item).filter(|level| *level <= u16::from(LEVEL_MAX) && count <= LEVELS_MAX);
        let expected = "levels are numbers from 0 (the entry) to 10, at most ten of them";
        number.ok_or_else(|| AciError::value(item.at, "userattr", item.text, expected))
    })?;
    Ok(numbers.into_iter().filter_map(|level| u8::try_from(level).ok()).fold(Levels::default(), Levels::with))
}

/// A number in digits.
fn number(item: Item<'_>) -> Option<u16> {
    item.text.bytes().all(|b| b.is_ascii_digit()).then(|| item.text.parse().ok())?
}

fn address(item: Item<'_>) -> Result<IpRange, AciError> {
    let expected = "an address is written 192.0.2.1, 192.0.2.*, 192.0.2.0/24, 192.0.2.0+255.255.255.0 or 2001:db8::/32";
    let range = if item.text.contains(':') { v6_range(item) } else { v4_range(item) };
    range.ok_or_else(|| AciError::value(item.at, "ip", item.text, expected))
}

fn v4_range(item: Item<'_>) -> Option<IpRange> {
    if let Some((address, mask)) = item.split_once("+") {
        return Some(IpRange::v4(address.text.parse().ok()?, mask.text.parse().ok()?));
    }
    if let Some((address, prefix)) = item.split_once("/") {
        let prefix = u32::from(number(prefix).filter(|bits| *bits <= 32)?);
        let mask = Ipv4Addr::from_bits(u32::MAX.checked_shl(32 - prefix).unwrap_or(0));
        return Some(IpRange::v4(address.text.parse().ok()?, mask));
    }
    let (mut address, mut mask) = (Vec::new(), Vec::new());
    for part in item.text.split('.') {
        let is_any = part == "*";
        address.push(if is_any { "0" } else { part });
        mask.push(if is_any { "0" } else { "255" });
    }
    let address: Ipv4Addr = address.join(".").parse().ok()?;
    let mask: Ipv4Addr = mask.join(".").parse().ok()?;
    (mask != Ipv4Addr::UNSPECIFIED).then(|| IpRange::v4(address, mask))
}

fn v6_range(item: Item<'_>) -> Option<IpRange> {
    let (address, prefix) = match item.split_once("/") {
        Some((address, prefix)) => (address.text, number(prefix)?),
        None => (item.text, 128),
    };
    let bare = address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(address);
    let address: Ipv6Addr = bare.parse().ok()?;
    Some(IpRange::v6(address, u8::try_from(prefix).ok().filter(|bits| *bits <= 128)?))
}

fn host(item: Item<'_>) -> Result<DnsPattern, AciError> {
    let labels: Vec<&str> = item.text.split('.').collect();
    let wildcards = labels.iter().take_while(|label| **label == "*").count();
    let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    let is_label = |label: &&str| !label.is_empty() && label.bytes().all(is_part);
    let (_, suffix) = labels.split_at(wildcards);
    if suffix.iter().all(is_label) {
        return Ok(DnsPattern { wildcards, suffix: suffix.join(".").to_ascii_lowercase() });
    }
    let expected = "a host name is written host.example.com or *.example.com, with * for the first labels only";
    Err(AciError::value(item.at, "dns", item.text, expected))
}

fn minutes(item: Item<'_>) -> Result<u16, AciError> {
    let found = number(item).filter(|_| item.text.len() == 4).map(|time| (time / 100, time % 100));
    let found = found.filter(|(hours, minutes)| *hours < 24 && *minutes < 60);
    let expected = "a time is written in four digits, 0000 to 2359";
    let (hours, minutes) = found.ok_or_else(|| AciError::value(item.at, "timeofday", item.text, expected))?;
    Ok(hours * 60 + minutes)
}

fn days(value: Item<'_>) -> Result<Days, AciError> {
    let found = value.list(",", |item| {
        let day = (0..).zip(DAYS).find(|(_, day)| item.is(day)).map(|(number, _)| number);
        day.ok_or_else(|| AciError::unknown(item.at, "a day of the week", item.text, &DAYS))
    })?;
    Ok(found.into_iter().fold(Days::default(), Days::with))
}

fn method(item: Item<'_>, warn: &mut dyn FnMut(Remark)) -> Result<AuthMethod, AciError> {
    let words = [
        ("none", AuthMethod::None),
        ("simple", AuthMethod::Simple),
        ("ssl", AuthMethod::Ssl),
        ("ldapi", AuthMethod::Ldapi),
    ];
    if let Some((_, method)) = words.into_iter().find(|(word, _)| item.is(word)) {
        return Ok(method);
    }
    let mechanism = item.after("sasl").filter(|rest| rest.text.starts_with(|c: char| c.is_ascii_whitespace()));
    if let Some(mechanism) = mechanism.map(|rest| rest.trimmed().text.to_ascii_uppercase()) {
        let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
        if (1..=20).contains(&mechanism.len()) && mechanism.bytes().all(is_part) {
            if !MECHANISMS.contains(&mechanism.as_str()) {
                warn(Remark::UnknownMechanism(mechanism.clone()));
            }
            return Ok(AuthMethod::Sasl(mechanism));
        }
    }
    let expected = "it is none, simple, ssl, ldapi or sasl MECHANISM (as sasl GSSAPI)";
    Err(AciError::value(item.at, "authmethod", item.text, expected))
}

fn strength(item: Item<'_>) -> Result<u16, AciError> {
    let bits = number(item).filter(|bits| *bits <= SSF_MAX);
    bits.ok_or_else(|| AciError::value(item.at, "ssf", item.text, "it is a number of bits from 0 to 1024"))
}
