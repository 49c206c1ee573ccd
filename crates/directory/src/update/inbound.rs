//! What plugins do with requests before anything else looks at them: attributes are dropped or renamed (OpenDJ:
//! attribute cleanup), values with other than ASCII characters are refused (OpenDJ: 7-bit clean).
//!
//! Here and not in `apply`, because clear passwords are hashed between the two. Knows requests; not what is stored.

use config::{Config, PluginKind};
use ldap::{EntryRequest, LdapResult, MadeUpdate, ModifyOperation};
use schema::{NormalizedDn, Schema};

use crate::refusal::Refusal;
use query::error::shown;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Inbound {
    cleanups: Vec<Cleanup>,
    seven_bit: Vec<SevenBit>,
}

#[derive(Debug)]
struct Cleanup {
    remove: Vec<String>,
    rename: Vec<(String, String)>,
}

#[derive(Debug)]
struct SevenBit {
    name: String,
    attributes: Vec<String>,
    base_dns: Vec<String>,
}

/// Operation, description, values.
type CleanedChange<'v> = (ModifyOperation, Vec<u8>, Vec<&'v [u8]>);

impl Inbound {
    /// From the configuration.
    pub(super) fn new(config: &Config) -> Self {
        let mut inbound = Self::default();
        for plugin in &config.plugins {
            match &plugin.kind {
                PluginKind::AttributeCleanup { remove, rename } => {
                    inbound.cleanups.push(Cleanup { remove: remove.clone(), rename: rename.clone() });
                }
                PluginKind::SevenBitClean { attributes } => inbound.seven_bit.push(SevenBit {
                    name: plugin.name.clone(),
                    attributes: attributes.clone(),
                    base_dns: plugin.base_dns.clone(),
                }),
                _ => {}
            }
        }
        inbound
    }

    /// Whether requests may change here.
    pub(super) fn cleans(&self) -> bool {
        !self.cleanups.is_empty()
    }

    /// An add or modify request with its attributes dropped and renamed; none for other requests and for those that
    /// stay as they are.
    pub(super) fn cleaned(&self, schema: &Schema, request: &EntryRequest<'_>) -> Option<MadeUpdate> {
        let new_name = |description: &[u8]| self.new_name(schema, description);
        let is_other = |description: &[u8]| new_name(description).is_none_or(|new| new != description);
        match request {
            EntryRequest::Add(add) if add.attributes.iter().any(|attribute| is_other(attribute.description)) => {
                let mut kept: Vec<(Vec<u8>, Vec<&[u8]>)> = Vec::new();
                for attribute in add.attributes.iter() {
                    let Some(name) = new_name(attribute.description) else { continue };
                    match kept.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(&name)) {
                        Some((_, values)) => values.extend(attribute.values.iter()),
                        None => kept.push((name, attribute.values.iter().collect())),
                    }
                }
                let kept = kept.iter().map(|(name, values)| (name.as_slice(), values.iter().copied()));
                Some(MadeUpdate::add(add.entry, kept))
            }
            EntryRequest::Modify(modify)
                if modify.changes.iter().any(|change| is_other(change.attribute.description)) =>
            {
                let mut kept: Vec<CleanedChange<'_>> = Vec::new();
                for change in modify.changes.iter() {
                    let Some(name) = new_name(change.attribute.description) else { continue };
                    kept.push((change.operation, name, change.attribute.values.iter().collect()));
                }
                let kept =
                    kept.iter().map(|(operation, name, values)| (*operation, name.as_slice(), values.iter().copied()));
                Some(MadeUpdate::modify(modify.object, kept))
            }
            _ => None,
        }
    }

    /// The description under which an attribute goes on; none when it is dropped. Options stay.
    fn new_name(&self, schema: &Schema, description: &[u8]) -> Option<Vec<u8>> {
        let options_at = description.iter().position(|byte| *byte == b';').unwrap_or(description.len());
        let (name, options) = description.split_at(options_at);
        let is = |configured: &String| is_same(schema, name, configured);
        for cleanup in &self.cleanups {
            if let Some((_, to)) = cleanup.rename.iter().find(|(from, _)| is(from)) {
                return Some([to.as_bytes(), options].concat());
            }
            if cleanup.remove.iter().any(is) {
                return None;
            }
        }
        Some(description.to_vec())
    }

    /// Refuses values that are not ASCII where they must be.
    pub(super) fn check_seven_bit(
        &self,
        schema: &Schema,
        name: &NormalizedDn,
        request: &EntryRequest<'_>,
    ) -> Result<(), LdapResult> {
        for rule in self.seven_bit.iter().filter(|rule| rule.covers(schema, name)) {
            match request {
                EntryRequest::Add(add) => {
                    for attribute in add.attributes.iter() {
                        rule.check(schema, attribute.description, attribute.values.iter())?;
                    }
                }
                EntryRequest::Modify(modify) => {
                    let comes = |it: ModifyOperation| matches!(it, ModifyOperation::Add | ModifyOperation::Replace);
                    for change in modify.changes.iter().filter(|change| comes(change.operation)) {
                        rule.check(schema, change.attribute.description, change.attribute.values.iter())?;
                    }
                }
                EntryRequest::ModifyDn(rename) => {
                    let text = std::str::from_utf8(rename.new_rdn).unwrap_or_default();
                    for ava in ldap::Rdn::parse(text).iter().flat_map(|rdn| rdn.avas()) {
                        rule.check(schema, ava.attribute.as_bytes(), std::iter::once(&*ava.value))?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl SevenBit {
    fn covers(&self, schema: &Schema, name: &NormalizedDn) -> bool {
        let is_above =
            |dn: &String| NormalizedDn::parse(schema, dn.as_bytes()).is_ok_and(|base| base.is_ancestor_or_equal(name));
        self.base_dns.is_empty() || self.base_dns.iter().any(is_above)
    }

    fn check<'v>(
        &self,
        schema: &Schema,
        description: &[u8],
        mut values: impl Iterator<Item = &'v [u8]>,
    ) -> Result<(), LdapResult> {
        let name = description.split(|byte| *byte == b';').next().unwrap_or_default();
        if !self.attributes.iter().any(|configured| is_same(schema, name, configured)) || values.all(<[u8]>::is_ascii) {
            return Ok(());
        }
        // Which value is not said: it may be a password.
        Err(Refusal::NotAscii { plugin: self.name.clone(), attribute: shown(description) }.into())
    }
}

/// Whether a name in a request means the configured attribute; ones that the schema does not know are compared as text.
fn is_same(schema: &Schema, name: &[u8], configured: &str) -> bool {
    name.eq_ignore_ascii_case(configured.as_bytes())
        || match (schema.attribute_type(name), schema.attribute_type(configured.as_bytes())) {
            (Some(name), Some(configured)) => name.index == configured.index,
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ldap::ResultCode;

    use super::*;

    fn inbound(text: &str) -> Inbound {
        Inbound::new(&Config::parse(text, Path::new("pando.toml")).unwrap())
    }

    fn add(lines: &[(&str, &str)]) -> MadeUpdate {
        let attributes = lines.iter().map(|(name, value)| (name.as_bytes(), std::iter::once(value.as_bytes())));
        MadeUpdate::add(b"uid=ann,dc=example", attributes)
    }

    #[test]
    fn attributes_are_dropped_and_renamed() {
        let schema = Schema::standard();
        let inbound = inbound(
            "[plugin.a]\ntype = \"attribute-cleanup\"\nremove-inbound-attributes = [\"description\", \"junk\"]\n\
             rename-inbound-attributes = [\"colour:title\", \"surname:cn\"]",
        );
        let made = add(&[("colour;lang-en", "red"), ("2.5.4.13", "x"), ("JUNK", "y"), ("sn", "Frost"), ("uid", "ann")]);
        let cleaned = inbound.cleaned(&schema, made.update().unwrap().request()).unwrap();
        let EntryRequest::Add(request) = *cleaned.update().unwrap().request() else { panic!("another request") };
        let names: Vec<String> =
            request.attributes.iter().map(|it| String::from_utf8_lossy(it.description).into_owned()).collect();
        assert_eq!(names, ["title;lang-en", "cn", "uid"]);
        let plain = add(&[("uid", "ann")]);
        assert!(inbound.cleaned(&schema, plain.update().unwrap().request()).is_none());
    }

    #[test]
    fn only_ascii_passes_where_it_is_asked_for() {
        let schema = Schema::standard();
        let inbound = inbound("[plugin.a]\ntype = \"seven-bit-clean\"\nbase-dn = \"dc=example\"");
        let judge = |dn: &str, lines: &[(&str, &str)]| {
            let made = add(lines);
            let name = NormalizedDn::parse(&schema, dn.as_bytes()).unwrap();
            inbound.check_seven_bit(&schema, &name, made.update().unwrap().request())
        };
        let inside = "uid=ann,dc=example";
        assert!(judge(inside, &[("uid", "ann"), ("cn", "Änn")]).is_ok());
        let refused = judge(inside, &[("userPassword", "gehéim")]).unwrap_err();
        assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
        assert!(!refused.message.contains("geh"), "{}", refused.message);
        assert!(judge("uid=ann,dc=other", &[("uid", "änn")]).is_ok());
    }
}
