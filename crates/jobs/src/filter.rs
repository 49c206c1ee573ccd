//! LDAP filters on entries of LDIF files and exports, which no server holds.
//!
//! Three-valued as RFC 4511 §4.5.1.7 says: what cannot be decided is neither true nor false, and selects nothing.

use std::sync::Arc;

use ldap::{FilterBuf, FilterNode};
use schema::{AttributeDescription, AttributeType, MatchContext, MatchingRule, Schema, Substrings};
use store::bulk::{EntryFilter, SelectedEntry};

use crate::JobError;

/// Makes a function of a filter's text.
///
/// # Errors
/// When it is not a filter.
pub fn compile(text: &str, schema: &Arc<Schema>) -> Result<EntryFilter, JobError> {
    let parsed = ldap::filter::parse(text)
        .map_err(|error| JobError::Filter { filter: text.to_owned(), problem: error.to_string() })?;
    let filter = Compiled::new(&parsed, schema);
    let schema = Arc::clone(schema);
    Ok(Arc::new(move |entry| filter.matches(0, &schema, entry) == Some(true)))
}

/// A filter with prepared assertion values, in prefix order as [`ldap::Filter`] has it.
struct Compiled {
    nodes: Vec<Node>,
}

enum Node {
    And { end: usize },
    Or { end: usize },
    Not { end: usize },
    Undefined,
    Present(AttributeDescription),
    Item { target: Target, rule: &'static MatchingRule, test: Test },
}

enum Target {
    Attribute(AttributeDescription),
    /// Every attribute whose rules the rule belongs to.
    Every,
}

enum Test {
    Equal(Vec<u8>),
    AtLeast(Vec<u8>),
    AtMost(Vec<u8>),
    Substrings(Substrings),
    Assertion(schema::Assertion),
}

impl Compiled {
    fn new(parsed: &FilterBuf, schema: &Schema) -> Self {
        let filter = parsed.filter();
        Self { nodes: filter.nodes().iter().map(|node| Self::node(node, schema).unwrap_or(Node::Undefined)).collect() }
    }

    /// `None` where the schema knows no attribute or rule, or the value does not fit the rule.
    fn node(node: &FilterNode<'_>, schema: &Schema) -> Option<Node> {
        let described = |name: &[u8]| AttributeDescription::parse_request(schema, name).ok();
        let typed = |name: &[u8]| {
            let description = described(name)?;
            let attribute = schema.attribute_by_index(description.attribute?)?;
            Some((description, attribute))
        };
        let form = |rule: &MatchingRule, value: &[u8]| {
            let mut form = Vec::new();
            rule.normalize_assertion(schema, value, &mut form).ok().map(|()| form)
        };
        let item = |name: &[u8], pick: fn(&AttributeType) -> Option<&'static MatchingRule>| {
            let (description, attribute) = typed(name)?;
            Some((Target::Attribute(description), pick(attribute)?))
        };
        Some(match node {
            FilterNode::And { end } => Node::And { end: *end },
            FilterNode::Or { end } => Node::Or { end: *end },
            FilterNode::Not { end } => Node::Not { end: *end },
            FilterNode::Present(name) => Node::Present(described(name)?),
            FilterNode::Equality(assertion) => {
                let (target, rule) = item(assertion.attribute, |attribute| attribute.equality)?;
                Node::Item { target, rule, test: Test::Equal(form(rule, assertion.value)?) }
            }
            FilterNode::Approx(assertion) => {
                let (target, rule) =
                    item(assertion.attribute, |attribute| attribute.approximate.or(attribute.equality))?;
                Node::Item { target, rule, test: Test::Equal(form(rule, assertion.value)?) }
            }
            FilterNode::GreaterOrEqual(assertion) => {
                let (target, rule) = item(assertion.attribute, |attribute| attribute.ordering)?;
                Node::Item { target, rule, test: Test::AtLeast(form(rule, assertion.value)?) }
            }
            FilterNode::LessOrEqual(assertion) => {
                let (target, rule) = item(assertion.attribute, |attribute| attribute.ordering)?;
                Node::Item { target, rule, test: Test::AtMost(form(rule, assertion.value)?) }
            }
            FilterNode::Substring(substrings) => {
                let (target, rule) = item(substrings.attribute, |attribute| attribute.substring)?;
                let pieces = substrings.pieces().map(|(position, piece)| (position_of(position), piece));
                Node::Item { target, rule, test: Test::Substrings(Substrings::new(rule, pieces).ok()?) }
            }
            FilterNode::Extensible(extensible) => {
                let named = extensible.rule.map(|rule| schema.matching_rule(rule));
                let (target, rule) = match (extensible.attribute, named) {
                    (Some(name), None) => item(name, |attribute| attribute.equality)?,
                    (Some(name), Some(rule)) => (Target::Attribute(described(name)?), rule?),
                    (None, rule) => (Target::Every, rule??),
                };
                let assertion = rule.assertion(schema, extensible.value, MatchContext::default()).ok()?;
                Node::Item { target, rule, test: Test::Assertion(assertion) }
            }
        })
    }

    fn matches(&self, at: usize, schema: &Schema, entry: &SelectedEntry<'_>) -> Option<bool> {
        match self.nodes.get(at)? {
            Node::Undefined => None,
            Node::Not { .. } => self.matches(at + 1, schema, entry).map(|matches| !matches),
            Node::And { end } => self.fold(at + 1, *end, false, schema, entry),
            Node::Or { end } => self.fold(at + 1, *end, true, schema, entry),
            Node::Present(wanted) => Some(
                attributes(schema, entry, |found, _| found.is_some_and(|found| found.is_subtype_of(schema, wanted)))
                    .next()
                    .is_some(),
            ),
            Node::Item { target, rule, test } => {
                let asked = attributes(schema, entry, |found, attribute| match target {
                    Target::Attribute(wanted) => found.is_some_and(|found| found.is_subtype_of(schema, wanted)),
                    Target::Every => attribute.is_some_and(|attribute| schema.rule_applies(rule, attribute)),
                });
                let mut form = Vec::new();
                for value in asked.flatten() {
                    form.clear();
                    if rule.normalize(schema, value, &mut form).is_ok() && test.holds(&form) {
                        return Some(true);
                    }
                }
                Some(false)
            }
        }
    }

    /// All or any of the nodes from `at` to `end`: `decisive` is the answer that one node can give for all.
    fn fold(
        &self,
        mut at: usize,
        end: usize,
        decisive: bool,
        schema: &Schema,
        entry: &SelectedEntry<'_>,
    ) -> Option<bool> {
        let mut answer = Some(!decisive);
        while at < end {
            match self.matches(at, schema, entry) {
                Some(one) if one == decisive => return Some(decisive),
                None => answer = None,
                Some(_) => {}
            }
            at = match self.nodes.get(at) {
                Some(Node::And { end } | Node::Or { end } | Node::Not { end }) => *end,
                _ => at + 1,
            };
        }
        answer
    }
}

impl Test {
    fn holds(&self, form: &[u8]) -> bool {
        match self {
            Test::Equal(asserted) => form == asserted.as_slice(),
            Test::AtLeast(asserted) => form >= asserted.as_slice(),
            Test::AtMost(asserted) => form <= asserted.as_slice(),
            Test::Substrings(substrings) => substrings.matches(form),
            Test::Assertion(assertion) => assertion.matches(form),
        }
    }
}

/// Values of the attributes that are asked for.
fn attributes<'e>(
    schema: &'e Schema,
    entry: &'e SelectedEntry<'e>,
    is_asked: impl Fn(Option<&AttributeDescription>, Option<&AttributeType>) -> bool + 'e,
) -> impl Iterator<Item = store::Values<'e>> {
    entry.attributes.iter().filter_map(move |(name, values)| {
        let description = AttributeDescription::parse(schema, name.as_bytes()).ok();
        let attribute = description.as_ref().and_then(|description| schema.attribute_by_index(description.attribute?));
        is_asked(description.as_ref(), attribute).then_some(*values)
    })
}

fn position_of(position: ldap::Position) -> schema::Position {
    match position {
        ldap::Position::Initial => schema::Position::Initial,
        ldap::Position::Any => schema::Position::Any,
        ldap::Position::Final => schema::Position::Final,
    }
}

#[cfg(test)]
mod tests {
    use store::Values;
    use store::record::put_value;

    use super::*;

    fn is_selected(filter: &str, attributes: &[(&str, &[&str])]) -> bool {
        let schema = Schema::standard();
        let bodies: Vec<Vec<u8>> = attributes
            .iter()
            .map(|(_, values)| {
                let mut body = Vec::new();
                values.iter().for_each(|value| put_value(&mut body, value.as_bytes()));
                body
            })
            .collect();
        let attributes: Vec<(&str, Values<'_>)> = attributes
            .iter()
            .zip(&bodies)
            .map(|((name, values), body)| (*name, Values::new(values.len() as u32, body)))
            .collect();
        compile(filter, &schema).unwrap()(&SelectedEntry { dn: "cn=x", attributes: &attributes })
    }

    #[test]
    fn every_kind_of_filter() {
        let entry: &[(&str, &[&str])] = &[
            ("objectClass", &["top", "inetOrgPerson"]),
            ("cn", &["Ada Fernsby", "Ada"]),
            ("cn;lang-de", &["Adelheid"]),
            ("sn", &["Fernsby"]),
            ("userPassword", &["{CLEAR}x"]),
            ("createTimestamp", &["20260101000000Z"]),
        ];
        for (filter, selected) in [
            ("(cn=ADA  fernsby)", true),
            ("(cn=bob)", false),
            ("(name=adelheid)", true),
            ("(cn;lang-de=adelheid)", true),
            ("(cn;lang-de=ada)", false),
            ("(cn=*)", true),
            ("(mail=*)", false),
            ("(cn=a*n*by)", true),
            ("(cn=*nope*)", false),
            ("(createTimestamp>=20251231235959Z)", true),
            ("(createTimestamp<=20251231235959Z)", false),
            ("(sn~=farnsby)", true),
            ("(cn:caseExactMatch:=Ada)", true),
            ("(cn:caseExactMatch:=ada)", false),
            ("(:caseExactMatch:=Fernsby)", true),
            ("(&)", true),
            ("(|)", false),
            ("(&(cn=ada)(sn=fernsby))", true),
            ("(&(cn=ada)(sn=x))", false),
            ("(|(cn=x)(sn=fernsby))", true),
            ("(!(cn=x))", true),
            // What cannot be decided selects nothing, and neither does its opposite.
            ("(nosuch=1)", false),
            ("(!(nosuch=1))", false),
            ("(|(nosuch=1)(cn=ada))", true),
            ("(&(!(nosuch=1))(cn=ada))", false),
            ("(!(&(nosuch=1)(cn=bob)))", true),
        ] {
            assert_eq!(is_selected(filter, entry), selected, "{filter}");
        }
    }
}
