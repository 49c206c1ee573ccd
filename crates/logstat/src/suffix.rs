//! Which base DN a name is below.
//!
//! A log does not say which base DNs a server has: they are given, or the last part of a name is taken for one
//! (`o=customer`), with all its `dc=` parts (`dc=example,dc=com`).

/// The base DNs that were given.
#[derive(Debug, Default)]
pub struct Suffixes {
    /// In the form of [`normal`], the longest first.
    known: Vec<Vec<u8>>,
    text: Vec<u8>,
}

impl Suffixes {
    /// These; none when they are to be found in the names.
    #[must_use]
    pub fn new(base_dns: &[String]) -> Self {
        let mut known: Vec<Vec<u8>> = base_dns.iter().map(|base| normal(base.as_bytes())).collect();
        known.sort_by_key(|base| std::cmp::Reverse(base.len()));
        Self { known, text: Vec::new() }
    }

    /// The base DN of a name, in lower case; empty for the root DSE and for what is below none of those given.
    pub fn of(&mut self, dn: &[u8]) -> &[u8] {
        self.text.clear();
        if self.known.is_empty() {
            push_normal(last_part(dn), &mut self.text);
            return &self.text;
        }
        push_normal(dn, &mut self.text);
        let text = &self.text;
        let is_below = |base: &&Vec<u8>| {
            text.strip_suffix(base.as_slice()).is_some_and(|before| before.is_empty() || before.ends_with(b","))
        };
        self.known.iter().find(is_below).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Where the last RDN begins, or the first of those that end in `dc=`.
fn last_part(dn: &[u8]) -> &[u8] {
    let mut start = dn.len();
    while start > 0 {
        let before = comma_before(dn, start);
        let from = before.map_or(0, |comma| comma + 1);
        let rdn = dn.get(from..start).unwrap_or_default().trim_ascii();
        let is_domain = rdn.get(..3).is_some_and(|begin| begin.eq_ignore_ascii_case(b"dc="));
        if start != dn.len() && !is_domain {
            return dn.get(start + 1..).unwrap_or_default();
        }
        match before {
            Some(comma) if is_domain => start = comma,
            _ => return dn.get(from..).unwrap_or_default(),
        }
    }
    dn
}

/// The last comma before a place that separates RDNs.
fn comma_before(dn: &[u8], end: usize) -> Option<usize> {
    let mut end = end;
    loop {
        let at = memchr::memrchr(b',', dn.get(..end)?)?;
        let escapes = dn.get(..at)?.iter().rev().take_while(|byte| **byte == b'\\').count();
        if escapes % 2 == 0 {
            return Some(at);
        }
        end = at;
    }
}

fn normal(dn: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    push_normal(dn, &mut text);
    text
}

/// In lower case, without blanks at commas.
fn push_normal(dn: &[u8], out: &mut Vec<u8>) {
    for byte in dn.trim_ascii() {
        match byte {
            b' ' if out.last() == Some(&b',') => {}
            b',' => {
                while out.last() == Some(&b' ') {
                    out.pop();
                }
                out.push(b',');
            }
            byte => out.push(byte.to_ascii_lowercase()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_dn_is_the_last_part_or_given() {
        let mut found = Suffixes::default();
        for (dn, base) in [
            ("uid=d015897,o=customer", "o=customer"),
            ("uid=a,ou=People, dc=Example , dc=com", "dc=example,dc=com"),
            ("dc=example,dc=com", "dc=example,dc=com"),
            ("cn=a\\,o=b", "cn=a\\,o=b"),
            ("uid=a,cmdo=calendra", "cmdo=calendra"),
            ("", ""),
            ("cn=Directory Manager", "cn=directory manager"),
            (",", ""),
            ("dc=,dc=", "dc=,dc="),
        ] {
            assert_eq!(found.of(dn.as_bytes()), base.as_bytes(), "{dn}");
        }
        let mut given = Suffixes::new(&["ou=a, o=Customer".to_owned(), "o=customer".to_owned()]);
        for (dn, base) in [
            ("uid=x,ou=A,o=customer", "ou=a,o=customer"),
            ("uid=x,o=customer", "o=customer"),
            ("o=CUSTOMER", "o=customer"),
            ("foo=customer", ""),
            ("o=other", ""),
        ] {
            assert_eq!(given.of(dn.as_bytes()), base.as_bytes(), "{dn}");
        }
    }
}
