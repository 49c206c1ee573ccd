//! The values of one request, in buffers that are used again for the next.

use std::sync::Arc;

use super::generator::Generator;
use crate::makeldif::Random;

/// See the module.
#[derive(Debug)]
pub struct Values<'g> {
    generators: &'g [Arc<Generator>],
    values: Vec<String>,
}

impl<'g> Values<'g> {
    /// Values of these generators, and `more` that are set by hand.
    pub fn new(generators: &'g [Arc<Generator>], more: usize) -> Values<'g> {
        Values { generators, values: vec![String::new(); generators.len() + more] }
    }

    /// Makes new values.
    pub fn renew(&mut self, random: &mut Random) -> &[String] {
        for (generator, value) in self.generators.iter().zip(&mut self.values) {
            value.clear();
            generator.put(random, value);
        }
        &self.values
    }

    /// The values as they are.
    pub fn as_slice(&self) -> &[String] {
        &self.values
    }

    /// Sets the last value, which no generator makes.
    pub fn set_last(&mut self, text: &str) {
        if let Some(last) = self.values.last_mut() {
            last.clear();
            last.push_str(text);
        }
    }
}
