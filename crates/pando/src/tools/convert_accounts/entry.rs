//! An entry of an LDIF file while it is converted.
//!
//! Knows attribute descriptions without options; those with options stay as they are.

use ldap::ldif::LdifEntry;

/// See the module.
#[derive(Debug, Default)]
pub struct Entry {
    /// Its name, as written.
    pub dn: String,
    /// The line with the name.
    pub line: u64,
    /// Descriptions and values, in their order.
    pub attributes: Vec<(String, Vec<u8>)>,
}

impl Entry {
    pub fn of(read: &LdifEntry) -> Entry {
        let line = |line: ldap::ldif::AttributeLine<'_>| {
            (String::from_utf8_lossy(line.description).into_owned(), line.value.to_vec())
        };
        Entry { dn: read.dn.clone(), line: read.line, attributes: read.iter().map(line).collect() }
    }

    /// The first value of an attribute, as text.
    pub fn first(&self, name: &str) -> Option<String> {
        self.all(name).next()
    }

    /// The values of an attribute, as text.
    pub fn all<'e>(&'e self, name: &'e str) -> impl Iterator<Item = String> + 'e {
        let own = self.attributes.iter().filter(move |(known, _)| known.eq_ignore_ascii_case(name));
        own.map(|(_, value)| String::from_utf8_lossy(value).trim().to_owned())
    }

    pub fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    pub fn has_class(&self, class: &str) -> bool {
        self.all("objectClass").any(|known| known.eq_ignore_ascii_case(class))
    }

    /// Takes an attribute out and gives its values.
    pub fn take(&mut self, name: &str) -> Vec<Vec<u8>> {
        let mut taken = Vec::new();
        self.attributes.retain_mut(|(known, value)| {
            let is_it = known.eq_ignore_ascii_case(name);
            if is_it {
                taken.push(std::mem::take(value));
            }
            !is_it
        });
        taken
    }

    /// Takes an attribute out; its first value as text.
    pub fn take_first(&mut self, name: &str) -> Option<String> {
        self.take(name).first().map(|value| String::from_utf8_lossy(value).trim().to_owned())
    }

    pub fn put(&mut self, name: &str, value: impl Into<Vec<u8>>) {
        self.attributes.push((name.to_owned(), value.into()));
    }

    /// Puts another class in the place of one.
    pub fn change_class(&mut self, old: &str, new: &str) {
        for (name, value) in &mut self.attributes {
            if name.eq_ignore_ascii_case("objectClass") && value.eq_ignore_ascii_case(old.as_bytes()) {
                *value = new.as_bytes().to_vec();
            }
        }
    }

    pub fn drop_class(&mut self, class: &str) {
        self.attributes.retain(|(name, value)| {
            !(name.eq_ignore_ascii_case("objectClass") && value.eq_ignore_ascii_case(class.as_bytes()))
        });
    }
}

/// A name as it is compared here: without case, and without blanks around commas.
pub fn folded(dn: &str) -> String {
    dn.split(',').map(|part| part.trim().to_lowercase()).collect::<Vec<_>>().join(",")
}

/// A value of a property as a shell takes it.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
