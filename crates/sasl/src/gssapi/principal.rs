//! Names of Kerberos (RFC 1964 §2.1.1): `ann@EXAMPLE.COM`.

/// A name and its realm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Principal<'a> {
    /// What is before the realm.
    pub name: &'a str,
    /// The realm.
    pub realm: &'a str,
}

impl<'a> Principal<'a> {
    /// Reads a name. None for one without a realm, and for one with characters that are written with `\`: two names
    /// could be taken for one.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Principal<'a>> {
        let (name, realm) = text.split_once('@')?;
        let is_plain = |part: &str| !part.is_empty() && !part.contains(['@', '\\']) && !part.contains(char::is_control);
        (is_plain(name) && is_plain(realm)).then_some(Principal { name, realm })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_principal_has_a_name_and_a_realm() {
        let ann = Principal { name: "ann", realm: "EXAMPLE.COM" };
        assert_eq!(Principal::parse("ann@EXAMPLE.COM"), Some(ann));
        assert_eq!(Principal::parse("ldap/host@A").map(|it| it.name), Some("ldap/host"));
        for bad in ["", "ann", "@A", "ann@", "ann@A@B", "ann\\@B@A", "ann@A\\", "a\0b@A"] {
            assert_eq!(Principal::parse(bad), None, "{bad}");
        }
    }
}
