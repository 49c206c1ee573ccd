//! LDAP URLs (RFC 4516): `ldap://host:port/dn?attributes?scope?filter?extensions`.
//!
//! Parsed into text; what the parts mean (a name, a host) is for others. Nothing is connected to.

use std::fmt::{self, Write};

use crate::filter::{self, FilterBuf};
use crate::{Dn, Scope};

/// Most attributes and extensions of one URL. Referrals and group definitions have a handful.
pub const URL_PARTS_MAX: usize = 256;

/// An LDAP URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LdapUrl {
    /// How to connect.
    pub scheme: UrlScheme,
    /// Host name or address, an IPv6 address without its brackets; a path for `ldapi`. `None`: the reader knows where.
    pub host: Option<String>,
    /// Port; the scheme's own without it.
    pub port: Option<u16>,
    /// The name, in its string form.
    pub dn: String,
    /// Attributes to return; none means all.
    pub attributes: Vec<String>,
    /// `None`: not said, which means base.
    pub scope: Option<Scope>,
    /// `None`: not said, which means `(objectClass=*)`.
    pub filter: Option<FilterBuf>,
    /// Extensions.
    pub extensions: Vec<UrlExtension>,
}

/// How a URL is connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UrlScheme {
    /// In clear, or StartTLS.
    Ldap,
    /// TLS from the start.
    Ldaps,
    /// A local socket.
    Ldapi,
}

/// An extension of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlExtension {
    /// Whether the URL must not be used by who does not know the extension.
    pub critical: bool,
    /// Name or OID.
    pub name: String,
    /// Its value.
    pub value: Option<String>,
}

/// Why text is no LDAP URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// Another scheme, or none.
    #[error("an LDAP URL begins with ldap://, ldaps:// or ldapi://")]
    Scheme,
    /// `%` without two digits, or bytes that are no UTF-8.
    #[error("the {0} is not percent-encoded UTF-8")]
    Encoding(&'static str),
    /// Not a number up to 65535.
    #[error("the port {0} is not a number from 1 to 65535")]
    Port(String),
    /// Brackets, spaces or slashes in the wrong place.
    #[error("the host is malformed")]
    Host,
    /// Not a distinguished name.
    #[error("{0}")]
    Dn(#[from] crate::DnError),
    /// None of base, one, sub, subordinates.
    #[error("the scope {0} is none of base, one, sub, subordinates")]
    Scope(String),
    /// Not a filter.
    #[error("{0}")]
    Filter(#[from] filter::FilterSyntaxError),
    /// An attribute or extension without a name.
    #[error("an empty {0}")]
    Empty(&'static str),
    /// Over [`URL_PARTS_MAX`].
    #[error("more than {URL_PARTS_MAX} attributes or extensions")]
    TooManyParts,
    /// Something after the extensions.
    #[error("the URL has more than four question marks")]
    TooManyFields,
}

impl UrlScheme {
    /// The word before `://`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            UrlScheme::Ldap => "ldap",
            UrlScheme::Ldaps => "ldaps",
            UrlScheme::Ldapi => "ldapi",
        }
    }
}

impl LdapUrl {
    /// Parses a URL.
    ///
    /// # Errors
    /// Says which part is wrong.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let (scheme, rest) = text.split_once("://").ok_or(UrlError::Scheme)?;
        let scheme = [UrlScheme::Ldap, UrlScheme::Ldaps, UrlScheme::Ldapi]
            .into_iter()
            .find(|known| known.as_str().eq_ignore_ascii_case(scheme))
            .ok_or(UrlError::Scheme)?;
        // Lenient: `ldap:///?…` is written as `ldap://?…` by some.
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let rest = rest.strip_prefix('/').unwrap_or(rest);
        let (host, port) = parse_authority(scheme, authority)?;
        let mut fields = rest.split('?');
        let dn = decoded(fields.next().unwrap_or_default(), "name")?;
        Dn::parse(&dn)?;
        let attributes = parse_list(fields.next(), "attribute")?;
        let scope = parse_scope(fields.next())?;
        let filter = match fields.next() {
            None | Some("") => None,
            Some(text) => Some(filter::parse(&decoded(text, "filter")?)?),
        };
        let extensions = parse_extensions(fields.next())?;
        if fields.next().is_some() {
            return Err(UrlError::TooManyFields);
        }
        Ok(Self { scheme, host, port, dn, attributes, scope, filter, extensions })
    }

    /// The scope that is meant.
    #[must_use]
    pub fn effective_scope(&self) -> Scope {
        self.scope.unwrap_or(Scope::BaseObject)
    }
}

fn parse_authority(scheme: UrlScheme, text: &str) -> Result<(Option<String>, Option<u16>), UrlError> {
    if text.is_empty() {
        return Ok((None, None));
    }
    if scheme == UrlScheme::Ldapi {
        return Ok((Some(decoded(text, "host")?), None));
    }
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (address, rest) = rest.split_once(']').ok_or(UrlError::Host)?;
        if !address.bytes().all(|b| b.is_ascii_hexdigit() || matches!(b, b':' | b'.')) || !address.contains(':') {
            return Err(UrlError::Host);
        }
        match rest {
            "" => (address.to_owned(), None),
            _ => (address.to_owned(), Some(rest.strip_prefix(':').ok_or(UrlError::Host)?)),
        }
    } else {
        let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
        // A colon that was percent-encoded would be taken for an IPv6 address when the URL is written.
        (decoded(host, "host").and_then(|host| if host.contains(':') { Err(UrlError::Host) } else { Ok(host) })?, port)
    };
    if host.is_empty() || host.contains(['[', ']', ' ', '/', '@', '\0']) {
        return Err(UrlError::Host);
    }
    let port = match port {
        None | Some("") => None,
        Some(text) => {
            let is_number = text.bytes().all(|b| b.is_ascii_digit());
            let number = text.parse().ok().filter(|port| is_number && *port != 0);
            Some(number.ok_or_else(|| UrlError::Port(text.to_owned()))?)
        }
    };
    Ok((Some(host), port))
}

fn parse_list(field: Option<&str>, what: &'static str) -> Result<Vec<String>, UrlError> {
    let text = field.unwrap_or_default();
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let mut list = Vec::new();
    for part in text.split(',') {
        if part.is_empty() {
            return Err(UrlError::Empty(what));
        }
        if list.len() == URL_PARTS_MAX {
            return Err(UrlError::TooManyParts);
        }
        list.push(decoded(part, what)?);
    }
    Ok(list)
}

fn parse_scope(field: Option<&str>) -> Result<Option<Scope>, UrlError> {
    let text = field.unwrap_or_default();
    Ok(Some(match text.to_ascii_lowercase().as_str() {
        "" => return Ok(None),
        "base" => Scope::BaseObject,
        "one" => Scope::SingleLevel,
        "sub" => Scope::WholeSubtree,
        "subordinates" | "children" => Scope::SubordinateSubtree,
        _ => return Err(UrlError::Scope(text.to_owned())),
    }))
}

fn parse_extensions(field: Option<&str>) -> Result<Vec<UrlExtension>, UrlError> {
    let text = field.unwrap_or_default();
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let mut extensions = Vec::new();
    for part in text.split(',') {
        if extensions.len() == URL_PARTS_MAX {
            return Err(UrlError::TooManyParts);
        }
        let (critical, part) = part.strip_prefix('!').map_or((false, part), |rest| (true, rest));
        let (name, value) = part.split_once('=').map_or((part, None), |(name, value)| (name, Some(value)));
        if name.is_empty() {
            return Err(UrlError::Empty("extension"));
        }
        let value = value.map(|value| decoded(value, "extension")).transpose()?;
        extensions.push(UrlExtension { critical, name: decoded(name, "extension")?, value });
    }
    Ok(extensions)
}

fn decoded(text: &str, what: &'static str) -> Result<String, UrlError> {
    percent_decode(text).and_then(|bytes| String::from_utf8(bytes).ok()).ok_or(UrlError::Encoding(what))
}

/// Resolves `%xx`; `None` where a `%` stands alone.
pub fn percent_decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let mut digit = || char::from(bytes.next()?).to_digit(16);
            let value = digit()? << 4 | digit()?;
            out.push(value as u8);
        } else {
            out.push(byte);
        }
    }
    Some(out)
}

/// Writes `text` with what has a meaning in URLs percent-encoded. `also` has a meaning in this part.
fn write_encoded(out: &mut fmt::Formatter<'_>, text: &str, also: &[u8]) -> fmt::Result {
    for byte in text.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(&byte);
        if is_plain && !also.contains(&byte) {
            out.write_char(char::from(byte))?;
        } else {
            write!(out, "%{byte:02x}")?;
        }
    }
    Ok(())
}

impl fmt::Display for LdapUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}://", self.scheme.as_str())?;
        match &self.host {
            Some(host) if self.scheme == UrlScheme::Ldapi => write_encoded(out, host, b"/")?,
            Some(host) if host.contains(':') => write!(out, "[{host}]")?,
            Some(host) => write_encoded(out, host, b":/,;@!$&'()*+=")?,
            None => {}
        }
        if let Some(port) = self.port {
            write!(out, ":{port}")?;
        }
        out.write_char('/')?;
        write_encoded(out, &self.dn, b"")?;
        let filter = self.filter.as_ref().map(ToString::to_string);
        let fields = [!self.attributes.is_empty(), self.scope.is_some(), filter.is_some(), !self.extensions.is_empty()];
        let last = fields.iter().rposition(|is_there| *is_there).map_or(0, |last| last + 1);
        for field in 0..last {
            out.write_char('?')?;
            match field {
                0 => write_list(out, &self.attributes)?,
                1 => out.write_str(self.scope.map_or("", Scope::as_str))?,
                2 => write_encoded(out, filter.as_deref().unwrap_or_default(), b"")?,
                _ => write_extensions(out, &self.extensions)?,
            }
        }
        Ok(())
    }
}

fn write_list(out: &mut fmt::Formatter<'_>, list: &[String]) -> fmt::Result {
    for (i, part) in list.iter().enumerate() {
        if i > 0 {
            out.write_char(',')?;
        }
        write_encoded(out, part, b",")?;
    }
    Ok(())
}

fn write_extensions(out: &mut fmt::Formatter<'_>, extensions: &[UrlExtension]) -> fmt::Result {
    for (i, extension) in extensions.iter().enumerate() {
        if i > 0 {
            out.write_char(',')?;
        }
        if extension.critical {
            out.write_char('!')?;
        }
        write_encoded(out, &extension.name, b",=!")?;
        if let Some(value) = &extension.value {
            out.write_char('=')?;
            write_encoded(out, value, b",")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
