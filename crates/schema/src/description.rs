//! Attribute descriptions: a type and options (RFC 4512 §2.5), with language ranges (RFC 3866).
//!
//! It knows nothing of values.

use smallvec::SmallVec;
use thiserror::Error;

use crate::attribute::{AttributeType, TypeIndex};
use crate::schema::Schema;
use crate::syntax::{is_descriptor, is_numeric_oid};

/// Longer descriptions are refused: names have tens of characters, and options are few.
const DESCRIPTION_BYTES_MAX: usize = 1024;

/// Why a text is no attribute description.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DescriptionError {
    /// The part before the first `;` is neither name nor OID.
    #[error("\"{0}\" is not an attribute name")]
    BadName(String),
    /// An option with other characters than letters, digits and hyphens, or none.
    #[error("\"{0}\" has a malformed option")]
    BadOption(String),
    /// The option `binary` on a type whose values have no binary form.
    #[error("values of \"{0}\" have no binary form: leave the option binary out")]
    NoBinaryForm(String),
}

/// A parsed attribute description.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AttributeDescription {
    /// The type, if the schema knows it.
    pub attribute: Option<TypeIndex>,
    /// The name as written, without options.
    pub name: Box<str>,
    /// Options in lower case, sorted, each once.
    pub options: Options,
}

/// Options in lower case, sorted, each once. Most descriptions have none, which takes no allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Options(SmallVec<[Box<str>; 1]>);

impl AttributeDescription {
    /// Parses a description; the name may be unknown to the schema.
    pub fn parse(schema: &Schema, text: &[u8]) -> Result<AttributeDescription, DescriptionError> {
        let shown = || String::from_utf8_lossy(text.get(..text.len().min(64)).unwrap_or_default()).into_owned();
        let mut parts = text.split(|byte| *byte == b';');
        let name = parts.next().unwrap_or_default();
        let attribute = schema.attribute_type(name).map(|it| it.index);
        let well_formed = attribute.is_some()
            || is_numeric_oid(name)
            || is_descriptor(name, schema.options().allow_attribute_name_exceptions);
        let name = std::str::from_utf8(name).ok().filter(|_| well_formed && text.len() <= DESCRIPTION_BYTES_MAX);
        let name = name.ok_or_else(|| DescriptionError::BadName(shown()))?;
        let options = Options::from_parts(parts).ok_or_else(|| DescriptionError::BadOption(shown()))?;
        Ok(AttributeDescription { attribute, name: name.into(), options })
    }

    /// Parses a description from a request or a file. One that asks for the binary form of values that have none is not
    /// recognised (RFC 4522 §3). What older versions have stored of that kind, [`AttributeDescription::parse`] reads.
    pub fn parse_request(schema: &Schema, text: &[u8]) -> Result<AttributeDescription, DescriptionError> {
        let description = AttributeDescription::parse(schema, text)?;
        let known = description.attribute.and_then(|index| schema.attribute_by_index(index));
        match known {
            Some(known) if description.options.has_binary() && !known.syntax.has_binary_form() => {
                Err(DescriptionError::NoBinaryForm(known.name().to_owned()))
            }
            _ => Ok(description),
        }
    }

    /// A known type without options.
    pub fn of_type(attribute: &AttributeType) -> AttributeDescription {
        let name = attribute.name().into();
        AttributeDescription { attribute: Some(attribute.index), name, options: Options::default() }
    }

    /// Whether both mean the same attribute: the same type, or the same unknown name, and the same options.
    pub fn is_same(&self, other: &AttributeDescription) -> bool {
        let same_type = match (self.attribute, other.attribute) {
            (Some(one), Some(two)) => one == two,
            (None, None) => self.name.eq_ignore_ascii_case(&other.name),
            _ => false,
        };
        same_type && self.options == other.options
    }

    /// Whether values of `self` are values of `asked` as well: a subtype, or more options (RFC 4512 §2.5.1, §2.5.3).
    /// `asked` may have language ranges.
    pub fn is_subtype_of(&self, schema: &Schema, asked: &AttributeDescription) -> bool {
        let type_matches = match (self.attribute, asked.attribute) {
            (Some(one), Some(two)) => schema.attribute_by_index(one).is_some_and(|it| it.is_subtype_of(two)),
            (None, None) => self.name.eq_ignore_ascii_case(&asked.name),
            _ => false,
        };
        type_matches && self.options.satisfy(&asked.options)
    }

    /// Primary name of the type (or the name as written) and options, separated by `;`.
    pub fn canonical(&self, schema: &Schema) -> String {
        let known = self.attribute.and_then(|index| schema.attribute_by_index(index));
        let mut text = known.map_or(&*self.name, AttributeType::name).to_owned();
        for option in self.options.iter() {
            text.push(';');
            text.push_str(option);
        }
        text
    }
}

impl Options {
    /// Parses what follows the name and its `;`.
    pub fn parse(text: &[u8]) -> Option<Options> {
        if text.is_empty() {
            return Some(Options::default());
        }
        Options::from_parts(text.split(|byte| *byte == b';'))
    }

    fn from_parts<'a>(parts: impl Iterator<Item = &'a [u8]>) -> Option<Options> {
        let mut options: SmallVec<[Box<str>; 1]> = SmallVec::new();
        for part in parts {
            let key = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
            if part.is_empty() || !part.iter().all(key) {
                return None;
            }
            options.push(std::str::from_utf8(part).ok()?.to_ascii_lowercase().into());
        }
        options.sort_unstable();
        options.dedup();
        Some(Options(options))
    }

    /// No options at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The options, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|option| &**option)
    }

    /// `;binary`: a transfer encoding, not a subtype (RFC 4522).
    pub fn has_binary(&self) -> bool {
        self.iter().any(|option| option == BINARY)
    }

    /// Whether an attribute with these options is one of those asked for: it has every tag and is in every language
    /// range asked (`lang-de-`, `lang-` for any). `binary` says how to transfer, so it is no condition.
    pub fn satisfy(&self, asked: &Options) -> bool {
        asked.iter().filter(|option| *option != BINARY).all(|wanted| {
            if is_language_range(wanted) {
                let range = wanted.trim_end_matches('-');
                self.iter().any(|option| in_language_range(option, range))
            } else {
                self.iter().any(|option| option == wanted)
            }
        })
    }
}

const BINARY: &str = "binary";

/// RFC 3866 §3: a language tag option that ends with a hyphen asks for all tags that begin so.
fn is_language_range(option: &str) -> bool {
    option.starts_with("lang-") && option.ends_with('-')
}

fn in_language_range(option: &str, range: &str) -> bool {
    match option.strip_prefix(range) {
        Some(rest) => rest.is_empty() || rest.starts_with('-'),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> AttributeDescription {
        AttributeDescription::parse(&Schema::standard(), text.as_bytes()).unwrap()
    }

    #[test]
    fn parsing() {
        let it = parse("CN;lang-DE;x-foo;LANG-de");
        assert_eq!(it.canonical(&Schema::standard()), "cn;lang-de;x-foo");
        assert!(it.is_same(&parse("2.5.4.3;x-foo;lang-de")));
        assert!(!it.is_same(&parse("cn;lang-de")));
        assert!(parse("unknownThing;binary").attribute.is_none());
        assert!(parse("userCertificate;binary").options.has_binary());
        let schema = Schema::standard();
        for bad in ["", ";", "cn;", "cn;;x", "cn;a b", "1cn", "c_n", "1..2", "cn;\u{e9}", "a b", "cn "] {
            assert!(AttributeDescription::parse(&schema, bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn binary_is_for_types_with_a_binary_form() {
        let schema = Schema::standard();
        let asked = |text: &str| AttributeDescription::parse_request(&schema, text.as_bytes());
        for good in [
            "userCertificate;binary",
            "cACertificate;binary;x-a",
            "authorityRevocationList;binary",
            "cn",
            "nosuch;binary",
        ] {
            assert!(asked(good).is_ok(), "{good}");
        }
        for bad in ["cn;binary", "CN;lang-de;BINARY", "jpegPhoto;binary", "userPassword;binary", "2.5.4.3;binary"] {
            assert!(matches!(asked(bad), Err(DescriptionError::NoBinaryForm(_))), "{bad}");
        }
    }

    #[test]
    fn subtypes() {
        let schema = Schema::standard();
        for (attribute, asked, expected) in [
            ("cn", "name", true),
            ("name", "cn", false),
            ("cn;lang-de", "cn", true),
            ("cn;lang-de", "name", true),
            ("cn", "cn;lang-de", false),
            ("cn;lang-de;x-a", "name;x-a", true),
            ("cn;lang-de", "sn", false),
            ("cn;lang-de-at", "cn;lang-de", false),
            ("cn;lang-de-at", "cn;lang-de-", true),
            ("cn;lang-de", "cn;lang-de-", true),
            ("cn;lang-den", "cn;lang-de-", false),
            ("cn;lang-fr", "cn;lang-", true),
            ("cn", "cn;lang-", false),
            ("userCertificate", "userCertificate;binary", true),
            ("userCertificate;binary", "userCertificate", true),
            ("mystery;x-a", "MYSTERY", true),
            ("mystery", "cn", false),
        ] {
            assert_eq!(parse(attribute).is_subtype_of(&schema, &parse(asked)), expected, "{attribute} of {asked}");
        }
    }
}
