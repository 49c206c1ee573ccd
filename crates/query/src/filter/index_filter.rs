//! Filters of VLV indexes: the same prepared nodes, tried on the attributes of an entry wherever they come from.
//!
//! Refuses whatever the entry's own values do not tell: names, computed attributes, passwords, the time of day.

use std::sync::Arc;

use ldap::FilterNode;
use schema::{Assertion, MatchContext, Schema, TypeIndex};
use store::index::{CompileFilter, IndexFilter, IndexedEntry};
use store::{StoreError, Values};

use super::evaluate::{Truth, TryItem};
use super::matcher::{Item, Matcher, Node, NodeIndex, Target, Test};
use crate::facts::Facts;

/// Makes the filters of VLV indexes.
#[derive(Clone, Copy, Debug, Default)]
pub struct IndexFilters;

impl CompileFilter for IndexFilters {
    fn compile(&self, schema: &Arc<Schema>, text: &str) -> Result<Arc<dyn IndexFilter>, String> {
        let parsed = ldap::filter::parse(text).map_err(|error| format!("is no filter: {error}"))?;
        let filter = parsed.filter();
        let facts = Facts::new(Arc::clone(schema));
        let mut matcher = Matcher::default();
        matcher.compile(&facts, &filter, MatchContext::default());
        let mut attributes = Vec::new();
        for (node, source) in matcher.nodes().iter().zip(filter.nodes()) {
            if let Some(attribute) = attribute_of(&facts, &matcher, node, source)? {
                attributes.push(attribute);
            }
        }
        attributes.sort_unstable();
        attributes.dedup();
        Ok(Arc::new(Compiled { text: filter.to_string(), facts, matcher, attributes }))
    }
}

/// The attribute type that a node asks for; why not, in words that follow "its filter".
fn attribute_of(
    facts: &Facts,
    matcher: &Matcher,
    node: &Node,
    source: &FilterNode<'_>,
) -> Result<Option<TypeIndex>, String> {
    let refused = |why: &str| Err(format!("{why}: {source:?}"));
    let item = match node {
        Node::Item(item) => item,
        Node::Undefined | Node::Set(_) => {
            return refused("has a part that no entry matches, as the schema does not carry it");
        }
        Node::And { .. } | Node::Or { .. } | Node::Not { .. } => return Ok(None),
    };
    if item.with_dn {
        return refused("asks for values in names");
    }
    if item.rule.is_some_and(|rule| rule.depends_on_time()) {
        return refused("depends on the time of day");
    }
    if let Test::Assertion(at) = item.test
        && matches!(matcher.assertion(at), Some(Assertion::Password(_)))
    {
        return refused("checks passwords");
    }
    if matches!(item.test, Test::InChain(_)) {
        return refused("follows references through other entries");
    }
    match item.target {
        // Who may not ask for it could read the answer off the list.
        Target::Type(attribute) if facts.is_secret(attribute) => refused("asks for passwords"),
        Target::Type(attribute) => Ok(Some(attribute)),
        Target::Tagged(..) => refused("asks for an attribute with options"),
        Target::Virtual(..) => refused("asks for an attribute that the server computes"),
        Target::Every => refused("does not say which attribute"),
    }
}

struct Compiled {
    text: String,
    facts: Facts,
    matcher: Matcher,
    attributes: Vec<TypeIndex>,
}

impl IndexFilter for Compiled {
    fn text(&self) -> &str {
        &self.text
    }

    fn attributes(&self) -> &[TypeIndex] {
        &self.attributes
    }

    fn matches(&self, entry: &dyn IndexedEntry) -> bool {
        let mut trial = IndexTrial { facts: &self.facts, entry, form: Vec::new(), is_open: false };
        let truth = self.matcher.decide(&mut trial);
        trial.is_open || truth.is_ok_and(|truth| truth == Truth::True)
    }
}

/// One filter on one entry.
struct IndexTrial<'t> {
    facts: &'t Facts,
    entry: &'t dyn IndexedEntry,
    form: Vec<u8>,
    /// Values that are not at hand might have decided otherwise.
    is_open: bool,
}

impl TryItem for IndexTrial<'_> {
    fn item(&mut self, matcher: &Matcher, _at: NodeIndex, item: &Item) -> Result<Truth, StoreError> {
        let Target::Type(asked) = item.target else { return Ok(Truth::Undefined) };
        let schema = &self.facts.schema;
        let wanted = |own: TypeIndex| schema.attribute_by_index(own).is_some_and(|own| own.is_subtype_of(asked));
        let mut found = false;
        self.entry.each_attribute(&wanted, &mut |_, body| {
            found = found
                || Values::new(0, &body).iter().any(|value| match item.rule {
                    None => true,
                    Some(rule) => {
                        self.form.clear();
                        rule.normalize(schema, value, &mut self.form).is_ok()
                            && matcher.form_matches(&item.test, &self.form)
                    }
                });
        });
        if !found {
            let mut has_large = false;
            self.entry.each_large(&mut |own| has_large |= wanted(own));
            found = has_large && item.test == Test::Present;
            self.is_open |= has_large && !found;
        }
        Ok(found.into())
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    /// Attributes with their values; those without are large.
    struct Plain(Vec<(&'static str, Vec<&'static str>)>);

    fn type_of(name: &str) -> TypeIndex {
        Schema::standard().attribute_type(name.as_bytes()).unwrap().index
    }

    impl IndexedEntry for Plain {
        fn each_attribute<'s>(
            &'s self,
            wanted: &dyn Fn(TypeIndex) -> bool,
            visit: &mut dyn FnMut(TypeIndex, Cow<'s, [u8]>),
        ) {
            for (name, values) in self.0.iter().filter(|(name, values)| wanted(type_of(name)) && !values.is_empty()) {
                let mut body = Vec::new();
                for value in values {
                    body.extend_from_slice(&[4, value.len() as u8]);
                    body.extend_from_slice(value.as_bytes());
                }
                visit(type_of(name), Cow::Owned(body));
            }
        }

        fn each_large(&self, visit: &mut dyn FnMut(TypeIndex)) {
            self.0.iter().filter(|(_, values)| values.is_empty()).for_each(|(name, _)| visit(type_of(name)));
        }
    }

    fn compile(text: &str) -> Result<Arc<dyn IndexFilter>, String> {
        IndexFilters.compile(&Schema::standard(), text)
    }

    #[test]
    fn entries_match_as_in_a_search() {
        let ann = Plain(vec![("cn", vec!["Ann", "Anna"]), ("sn", vec!["Frost"]), ("member", vec![])]);
        let matches = |text: &str| compile(text).unwrap().matches(&ann);
        for text in [
            "(cn=ANNA)",
            "(name=frost)",
            "(&(sn>=f)(!(sn=g)))",
            "(|(uid=*)(cn=*nn))",
            "(cn:caseExactMatch:=Ann)",
            "(&)",
        ] {
            assert!(matches(text), "{text}");
        }
        for text in ["(cn=bob)", "(uid=*)", "(!(sn=Frost))", "(&(cn=Ann)(sn<=e))", "(cn:caseExactMatch:=ANN)", "(|)"] {
            assert!(!matches(text), "{text}");
        }
        // Members are elsewhere: that there are some is known, which they are is not.
        assert!(matches("(member=*)") && matches("(member=cn=x)") && matches("(!(member=cn=x))"));
        assert!(!matches("(!(member=*))") && !matches("(&(cn=bob)(member=cn=x))"));
    }

    #[test]
    fn the_text_and_the_attributes_are_told() {
        let filter = compile("( & (SN=x) (cn=a*) )").or_else(|_| compile("(&(sn=x)(cn=a*))")).unwrap();
        assert!(filter.attributes().contains(&type_of("sn")) && filter.attributes().contains(&type_of("cn")));
        assert_eq!(compile("(&(sn=x)(cn=a*))").unwrap().text(), "(&(sn=x)(cn=a*))");
    }

    #[test]
    fn what_the_entry_does_not_tell_is_refused() {
        for (text, why) in [
            ("(cn=a", "is no filter"),
            ("(colour=red)", "schema"),
            ("(uidNumber=many)", "schema"),
            ("(ou:dn:=people)", "names"),
            ("(entryDN=dc=example)", "computes"),
            ("(cn;lang-en=a)", "options"),
            ("(userPassword=*)", "passwords"),
            ("(userPassword=secret12)", "passwords"),
            ("(:caseExactMatch:=a)", "which attribute"),
            ("(createTimestamp:relativeTimeGTOrderingMatch:=-1d)", "time of day"),
        ] {
            let refused = compile(text).err().unwrap_or_default();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
