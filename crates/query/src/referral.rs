//! Referral objects (RFC 3296): from the values of `ref` to the URLs that a client gets.
//!
//! Knows LDAP URLs as text only as far as it must: host, DN, the rest.

use ldap::Scope;
use store::{Content, StoreError};

use crate::entry::EntryView;
use crate::facts::Facts;

/// The URLs of the referral object `entry` for the name `dn` (its own or one below it). `scope` is what is left to
/// search there; none for operations that are no search.
pub fn referral_urls(
    facts: &Facts,
    entry: &EntryView<'_>,
    below: &str,
    own_dn: &str,
    scope: Option<Scope>,
) -> Result<Vec<String>, StoreError> {
    let mut urls = Vec::new();
    let Some(ref_type) = facts.ref_type else { return Ok(urls) };
    let tables = entry.record.tables();
    for attribute in entry.record.attributes() {
        if !tables.by_type(ref_type.0).contains(&attribute.desc) {
            continue;
        }
        if let Content::Inline(values) = attribute.content {
            let texts = values.iter().filter_map(|value| std::str::from_utf8(value).ok());
            urls.extend(texts.map(|text| referral_url(text, below, own_dn, scope)));
        }
    }
    Ok(urls)
}

/// The URL `value` with a name and, for a search, its scope. `below` is what the name asked for has in front of the
/// referral object's name, with its comma; mostly empty.
#[must_use]
pub fn referral_url(value: &str, below: &str, own_dn: &str, scope: Option<Scope>) -> String {
    // The attribute's syntax is "URI and label": what follows a space is for people.
    let uri = value.split(' ').next().unwrap_or(value);
    let Some((scheme, rest)) = uri.split_once("://").filter(|(scheme, _)| is_ldap(scheme)) else {
        return uri.to_owned();
    };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (dn, extra) = path.split_once('?').map_or((path, ""), |(dn, extra)| (dn, extra));
    let mut url = format!("{scheme}://{host}/");
    escape(below, &mut url);
    if dn.is_empty() {
        escape(own_dn, &mut url)
    } else {
        url.push_str(dn)
    }
    match scope {
        // dn ? attributes ? scope: without it, the client might search there as far as a URL of its own says (RFC 4511
        // §4.1.10).
        Some(scope) => {
            url.push_str("??");
            url.push_str(scope.as_str());
        }
        None if extra.is_empty() => {}
        None => {
            url.push('?');
            url.push_str(extra);
        }
    }
    url
}

/// The first `count` RDNs of a name as text, each with a comma after it.
#[must_use]
pub fn leaf_rdns(dn: &str, count: usize) -> String {
    let Ok(parsed) = ldap::Dn::parse(dn) else {
        return String::new();
    };
    parsed.rdns().iter().take(count).map(|rdn| format!("{rdn},")).collect()
}

fn is_ldap(scheme: &str) -> bool {
    ["ldap", "ldaps", "ldapi"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
}

/// Percent-encodes what a DN in a URL must not have in clear (RFC 4516 §2.1).
fn escape(dn: &str, out: &mut String) {
    for byte in dn.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            for half in [byte >> 4, byte & 15] {
                out.push(char::from_digit(u32::from(half), 16).unwrap_or('0').to_ascii_uppercase());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, below: &str, scope: Option<Scope>, expected: &str) {
        assert_eq!(referral_url(value, below, "ou=Far Away,o=x", scope), expected);
    }

    #[test]
    fn urls_get_the_name_and_the_scope() {
        check("ldap://hostb/ou=p,o=x", "", None, "ldap://hostb/ou=p,o=x");
        check("ldap://hostb/ou=p,o=x People of B", "", None, "ldap://hostb/ou=p,o=x");
        check("ldap://hostb/", "", None, "ldap://hostb/ou=Far%20Away,o=x");
        check("ldap://hostb", "", Some(Scope::WholeSubtree), "ldap://hostb/ou=Far%20Away,o=x??sub");
        check("ldap://hostb:389/ou=p,o=x??one", "", Some(Scope::BaseObject), "ldap://hostb:389/ou=p,o=x??base");
        check("ldaps://hostb/ou=p,o=x", "cn=A?b,", None, "ldaps://hostb/cn=A%3Fb,ou=p,o=x");
        check("http://example.com/x?y", "", Some(Scope::WholeSubtree), "http://example.com/x?y");
    }
}
