//! What filters have in common: their shapes, and the indexes that would help searches of one shape.
//!
//! The shape of a filter is found by its text without values, which is looked up; only a text that is new is parsed.

use std::collections::{BTreeSet, HashMap};

use ldap::filter::{Filter, FilterNode, parse};

/// Longest shape.
const SHAPE_BYTES_MAX: usize = 512;

/// Most texts whose shapes are remembered.
const REMEMBERED_MAX: usize = 8192;

/// Shapes of filters.
#[derive(Debug, Default)]
pub struct Shapes {
    known: HashMap<Box<[u8]>, Box<[u8]>>,
    text: Vec<u8>,
}

impl Shapes {
    /// The shape of a filter: `(&(objectClass=?)(uid=?))`. What is no filter keeps its form, without its values.
    pub fn of(&mut self, filter: &[u8]) -> &[u8] {
        self.text.clear();
        without_values(filter, &mut self.text);
        if !self.known.contains_key(&*self.text) {
            if self.known.len() >= REMEMBERED_MAX {
                self.known.clear();
            }
            let parsed = std::str::from_utf8(filter).ok().and_then(|text| parse(text).ok());
            let shape: Box<[u8]> = match parsed {
                Some(parsed) => parsed.filter().shape(SHAPE_BYTES_MAX).into_bytes().into(),
                None => self.text.get(..self.text.len().min(SHAPE_BYTES_MAX)).unwrap_or_default().into(),
            };
            self.known.insert(self.text.as_slice().into(), shape);
        }
        self.known.get(&*self.text).map(|shape| &**shape).unwrap_or_default()
    }
}

/// The text with `?` for each value, or each piece of one between asterisks.
fn without_values(filter: &[u8], out: &mut Vec<u8>) {
    let mut rest = filter;
    while let Some(at) = memchr::memchr(b'=', rest) {
        let (name, value) = rest.split_at(at + 1);
        out.extend_from_slice(name);
        let end = memchr::memchr(b')', value).unwrap_or(value.len());
        let (value, after) = value.split_at(end);
        if value == b"*" {
            out.push(b'*');
        } else {
            let mut pieces = value.split(|byte| *byte == b'*');
            if pieces.next().is_some_and(|first| !first.is_empty() || value.is_empty()) {
                out.push(b'?');
            }
            for piece in pieces {
                out.push(b'*');
                if !piece.is_empty() {
                    out.push(b'?');
                }
            }
        }
        rest = after;
    }
    out.extend_from_slice(rest);
}

/// Which indexes would help searches with a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Help {
    /// Each of these, as `equality index of l`.
    Indexes(Vec<String>),
    /// One of these: the one whose values are in the fewest entries.
    OneOf(Vec<String>),
    /// It asks for (nearly) all entries, or for what they lack.
    None,
    /// It is no filter that can be read: the log cut it, or has none.
    Unknown,
}

/// What would help searches with this filter.
#[must_use]
pub fn help(filter: &[u8]) -> Help {
    let parsed = std::str::from_utf8(filter).ok().and_then(|text| parse(text).ok());
    let Some(parsed) = parsed else { return Help::Unknown };
    let filter = parsed.filter();
    match of_node(&filter, 0) {
        None => Help::None,
        Some(Wanted::Each(indexes)) => Help::Indexes(indexes.into_iter().collect()),
        Some(Wanted::OneOf(indexes)) => Help::OneOf(indexes.into_iter().collect()),
    }
}

/// What a component wants.
enum Wanted {
    Each(BTreeSet<String>),
    OneOf(BTreeSet<String>),
}

/// Components are at most as deep as the parser allows.
fn of_node(filter: &Filter<'_>, at: usize) -> Option<Wanted> {
    let index = |kind: &str, attribute: &[u8]| {
        let name = format!("{kind} index of {}", String::from_utf8_lossy(attribute));
        Some(Wanted::Each(BTreeSet::from([name])))
    };
    match filter.nodes().get(at)? {
        FilterNode::And { end } => of_all(filter, at + 1, *end),
        FilterNode::Or { end } => of_any(filter, at + 1, *end),
        FilterNode::Not { .. } => None,
        FilterNode::Equality(assertion) if is_of_all_entries(assertion.attribute) => None,
        FilterNode::Equality(assertion) => index("equality", assertion.attribute),
        FilterNode::Substring(substrings) => index("substring", substrings.attribute),
        FilterNode::GreaterOrEqual(assertion) | FilterNode::LessOrEqual(assertion) => {
            index("ordering", assertion.attribute)
        }
        FilterNode::Present(attribute) if is_of_all_entries(attribute) => None,
        FilterNode::Present(attribute) => index("presence", attribute),
        FilterNode::Approx(assertion) => index("approximate", assertion.attribute),
        FilterNode::Extensible(_) => match filter.nodes().get(at).and_then(FilterNode::attribute) {
            Some(attribute) => index("extensible", attribute),
            None => None,
        },
    }
}

/// Every entry has object classes, and many have the same.
fn is_of_all_entries(attribute: &[u8]) -> bool {
    attribute.eq_ignore_ascii_case(b"objectClass")
}

/// Of all components of an AND, one with an index is enough.
fn of_all(filter: &Filter<'_>, from: usize, end: usize) -> Option<Wanted> {
    let mut choices = BTreeSet::new();
    let mut last = None;
    let (mut at, mut count) = (from, 0);
    while at < end {
        match of_node(filter, at) {
            Some(Wanted::Each(indexes)) if indexes.len() == 1 => {
                choices.extend(indexes);
                count += 1;
            }
            Some(wanted) => last = Some(wanted),
            None => {}
        }
        at = filter.nodes().get(at).map_or(end, |node| node.end(at)).max(at + 1);
    }
    match count {
        0 => last,
        1 => Some(Wanted::Each(choices)),
        _ if choices.len() == 1 => Some(Wanted::Each(choices)),
        _ => Some(Wanted::OneOf(choices)),
    }
}

/// Each component of an OR has to have an index.
fn of_any(filter: &Filter<'_>, from: usize, end: usize) -> Option<Wanted> {
    let mut all = BTreeSet::new();
    let mut at = from;
    while at < end {
        match of_node(filter, at)? {
            Wanted::Each(indexes) => all.extend(indexes),
            // Any of them will do: the first.
            Wanted::OneOf(indexes) => all.extend(indexes.into_iter().take(1)),
        }
        at = filter.nodes().get(at).map_or(end, |node| node.end(at)).max(at + 1);
    }
    (!all.is_empty()).then_some(Wanted::Each(all))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shape(filter: &str) -> String {
        String::from_utf8_lossy(Shapes::default().of(filter.as_bytes())).into_owned()
    }

    #[test]
    fn shapes_have_no_values() {
        assert_eq!(shape("(uid=a)"), "(uid=?)");
        assert_eq!(shape("(&(objectClass=person)(|(cn=a*b*c)(mail=*)))"), "(&(objectClass=?)(|(cn=?*?*?)(mail=*)))");
        assert_eq!(shape("(|(member=a)(member=b)(member=c))"), "(|(member=?))");
        // As document 003 has it: cut.
        let cut = "(&(objectClass=dominomodel)(|(seeAlso=cn=somegroup,o=customer)";
        assert_eq!(shape(cut), "(&(objectClass=?)(|(seeAlso=?)");
        assert_eq!(shape("not a filter"), "not a filter");
        let mut shapes = Shapes::default();
        for number in 0..20_000 {
            shapes.of(format!("(a{number}=b)").as_bytes());
            assert!(shapes.known.len() <= REMEMBERED_MAX);
        }
    }

    #[test]
    fn the_index_that_helps_follows_from_the_filter() {
        let indexes = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let one = |name: &str| Help::Indexes(indexes(&[name]));
        assert_eq!(help(b"(l=Goldville)"), one("equality index of l"));
        assert_eq!(help(b"(&(objectClass=person)(cn=*a*))"), one("substring index of cn"));
        assert_eq!(help(b"(|(cn=a)(sn=b))"), Help::Indexes(indexes(&["equality index of cn", "equality index of sn"])));
        assert_eq!(help(b"(&(l=a)(st=b))"), Help::OneOf(indexes(&["equality index of l", "equality index of st"])));
        assert_eq!(help(b"(&(age>=3)(age<=9))"), one("ordering index of age"));
        for filter in ["(objectClass=*)", "(!(l=a))", "(|(cn=a)(!(sn=b)))", "(objectClass=person)", "(&)", "(|)"] {
            assert_eq!(help(filter.as_bytes()), Help::None, "{filter}");
        }
        assert_eq!(help(b"(&(l=a"), Help::Unknown);
    }

    proptest! {
        #[test]
        fn nothing_in_a_filter_panics(filter in prop::collection::vec(
            prop::sample::select(b"()&|!=*<>~:ab\\".as_slice()), 0..60)) {
            Shapes::default().of(&filter);
            let _ = help(&filter);
        }
    }
}
