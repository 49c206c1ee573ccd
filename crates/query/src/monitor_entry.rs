//! What a part of the server says of itself for `cn=monitor`: names and values, no entry yet.

/// One entry of the monitor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MonitorEntry {
    /// `cn` of the entry; its DN is `cn=NAME,cn=monitor`. Empty for attributes of `cn=monitor` itself.
    pub name: String,
    /// Attributes in the order in which they are shown.
    pub attributes: Vec<(String, Vec<String>)>,
}

impl MonitorEntry {
    /// An entry without attributes.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), attributes: Vec::new() }
    }

    /// Adds an attribute with one value.
    #[must_use]
    pub fn with(mut self, attribute: &str, value: impl ToString) -> Self {
        self.attributes.push((attribute.to_owned(), vec![value.to_string()]));
        self
    }
}
