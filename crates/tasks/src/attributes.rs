//! The attributes of a task's entry as they were written: names and values, in order.

use serde::{Deserialize, Serialize};

/// Attributes, each with its values. Names are compared without case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Attributes(Vec<(String, Vec<String>)>);

impl Attributes {
    /// Adds values to an attribute.
    pub fn add(&mut self, name: &str, values: impl IntoIterator<Item = String>) {
        match self.0.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            Some((_, list)) => list.extend(values),
            None => self.0.push((name.to_owned(), values.into_iter().collect())),
        }
    }

    /// The values of an attribute.
    #[must_use]
    pub fn values(&self, name: &str) -> &[String] {
        self.0.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map_or(&[], |(_, values)| values)
    }

    /// The first value of an attribute.
    #[must_use]
    pub fn first(&self, name: &str) -> Option<&str> {
        self.values(name).first().map(String::as_str)
    }

    /// Takes an attribute out.
    pub fn remove(&mut self, name: &str) -> Vec<String> {
        let at = self.0.iter().position(|(known, _)| known.eq_ignore_ascii_case(name));
        at.map(|at| self.0.remove(at).1).unwrap_or_default()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.0.iter().map(|(name, values)| (name.as_str(), values.as_slice()))
    }

    /// About how much memory they take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|(name, values)| name.len() + values.iter().map(|value| value.len() + 8).sum::<usize>()).sum()
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Attributes {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let mut attributes = Attributes::default();
        for (name, value) in pairs {
            attributes.add(&name.into(), [value.into()]);
        }
        attributes
    }
}
