//! The indexes that a backend is configured with, as its log and its database keep them.
//!
//! With the configuration are kept the names of the indexes that it makes, so that a replay of the log gives the same
//! numbers to the same names under any schema. The same configuration always makes the same bytes. The secret of
//! confidential indexes and the compiler of filters are not kept.

use std::sync::Arc;

use ldap::Scope;
use schema::Schema;

use super::config::{IndexConfig, IndexConfigs, VlvConfig};
use super::error::IndexError;
use super::kind::IndexKind;
use super::set::IndexSet;
use super::state::IndexStates;

/// The indexes that a backend is to have.
#[derive(Debug, Clone, Default)]
pub struct ConfiguredIndexes {
    /// As the operator configured them.
    pub configs: IndexConfigs,
    /// The names of the indexes that this makes, each once; these names have numbers.
    pub names: Vec<String>,
}

impl PartialEq for ConfiguredIndexes {
    /// Whether both are the same indexes with the same keys: a secret or a filter that changes keys changes the names
    /// too.
    fn eq(&self, other: &Self) -> bool {
        self.configs.attributes == other.configs.attributes
            && self.configs.vlv == other.configs.vlv
            && self.names == other.names
    }
}

impl Eq for ConfiguredIndexes {}

impl ConfiguredIndexes {
    /// Works out what `configs` mean.
    ///
    /// # Errors
    /// When an index is not valid under the schema.
    pub fn new(schema: &Arc<Schema>, configs: impl Into<IndexConfigs>) -> Result<Self, IndexError> {
        let (configs, mut states) = (configs.into(), IndexStates::default());
        IndexSet::new(schema, &configs, &mut states)?;
        let names = states.iter().map(|(name, _)| name.to_owned()).collect();
        Ok(Self { configs, names })
    }

    /// Lines of fields with tabs between them; the first says what the line is.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = String::new();
        for config in &self.configs.attributes {
            let IndexConfig { attribute, kinds, substring_length, entry_limit, extensible_rules, is_confidential } =
                config;
            let kinds: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
            let numbers = [substring_length.to_string(), entry_limit.to_string(), is_confidential.to_string()];
            let [length, limit, confidential] = numbers.each_ref().map(String::as_str);
            let kinds = kinds.join(",");
            let mut fields = vec!["index", attribute, &kinds, length, limit, confidential];
            fields.extend(extensible_rules.iter().map(String::as_str));
            put_line(&mut out, &fields);
        }
        for config in &self.configs.vlv {
            let VlvConfig { name, base_dn, scope, filter, sort_order } = config;
            put_line(&mut out, &["vlv", name, base_dn, scope.word(), filter, sort_order]);
        }
        self.names.iter().for_each(|name| put_line(&mut out, &["name", name]));
        out.into_bytes()
    }

    /// Reads [`ConfiguredIndexes::to_bytes`]; `None` when the bytes have another form.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut configured = Self::default();
        for line in std::str::from_utf8(bytes).ok()?.split_terminator('\n') {
            let fields: Vec<String> = line.split('\t').map(unescaped).collect::<Option<_>>()?;
            let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
            match fields.as_slice() {
                ["name", name] => configured.names.push((*name).to_owned()),
                ["index", rest @ ..] => configured.configs.attributes.push(index_of(rest)?),
                ["vlv", rest @ ..] => configured.configs.vlv.push(vlv_of(rest)?),
                _ => return None,
            }
        }
        Some(configured)
    }
}

fn index_of(fields: &[&str]) -> Option<IndexConfig> {
    let [attribute, kinds, length, limit, confidential, rules @ ..] = fields else { return None };
    let kinds = kinds.split(',').filter(|kind| !kind.is_empty());
    Some(IndexConfig {
        attribute: (*attribute).to_owned(),
        kinds: kinds.map(IndexKind::from_name).collect::<Option<_>>()?,
        substring_length: length.parse().ok()?,
        entry_limit: limit.parse().ok()?,
        extensible_rules: rules.iter().map(|rule| (*rule).to_owned()).collect(),
        is_confidential: confidential.parse().ok()?,
    })
}

fn vlv_of(fields: &[&str]) -> Option<VlvConfig> {
    let [name, base_dn, scope, filter, sort_order] = fields else { return None };
    Some(VlvConfig {
        name: (*name).to_owned(),
        base_dn: (*base_dn).to_owned(),
        scope: Scope::from_word(scope)?,
        filter: (*filter).to_owned(),
        sort_order: (*sort_order).to_owned(),
    })
}

fn put_line(out: &mut String, fields: &[&str]) {
    for (at, field) in fields.iter().enumerate() {
        if at > 0 {
            out.push('\t');
        }
        for c in field.chars() {
            match c {
                '\t' => out.push_str("\\t"),
                '\n' => out.push_str("\\n"),
                '\\' => out.push_str("\\\\"),
                other => out.push(other),
            }
        }
    }
    out.push('\n');
}

fn unescaped(field: &str) -> Option<String> {
    let mut out = String::with_capacity(field.len());
    let mut chars = field.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => match chars.next()? {
                't' => '\t',
                'n' => '\n',
                '\\' => '\\',
                _ => return None,
            },
            other => other,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::default_indexes;

    #[test]
    fn comes_back_as_it_was() {
        let mut configured = ConfiguredIndexes::new(&Schema::standard(), default_indexes()).unwrap();
        assert!(configured.names.contains(&"cn.caseIgnoreSubstringsMatch:6".to_owned()));
        configured.configs.attributes.push(IndexConfig {
            extensible_rules: vec!["fr".to_owned(), "caseExactMatch".to_owned()],
            is_confidential: true,
            ..IndexConfig::new("sn", &[IndexKind::Extensible, IndexKind::Equality])
        });
        configured.configs.vlv.push(VlvConfig {
            name: "people".to_owned(),
            base_dn: "ou=a\tb\\2c,dc=example,dc=com".to_owned(),
            scope: Scope::SingleLevel,
            filter: "(cn=a\nb)".to_owned(),
            sort_order: "+sn -givenName".to_owned(),
        });
        let read = ConfiguredIndexes::from_bytes(&configured.to_bytes()).unwrap();
        assert_eq!(read.to_bytes(), configured.to_bytes());
        assert_eq!(read, configured);
        assert_eq!(ConfiguredIndexes::from_bytes(b""), Some(ConfiguredIndexes::default()));
        for bad in
            [&b"index\tcn"[..], b"index\tcn\tcolour\t6\t4000\tfalse", b"vlv\ta\tb\tall\tc\td", b"other\tx", b"\xff"]
        {
            assert_eq!(ConfiguredIndexes::from_bytes(bad), None);
        }
    }
}
