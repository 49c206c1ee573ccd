//! Sort orders (`+sn -givenName`) and the one key by which an entry stands in such an order.
//!
//! Used by VLV indexes, whose keys these are, and where entries are sorted in memory: both orders agree because the
//! keys do. It knows attributes and matching rules, not where entries come from. Source: RFC 2891; the text form is
//! OpenDJ's.
//!
//! The key of an entry is one component for each sort key, back to back:
//!
//! | entry | component |
//! |---|---|
//! | has a value | `01`, the smallest normal form with `00` → `01 01` and `01` → `01 02`, `00` |
//! | has none | `02`: larger than any value (RFC 2891 section 2.2) |
//!
//! No component is a prefix of another, so keys compare like their components in turn. All bytes of a component are
//! inverted when the sort key is descending; entries without a value come first then, as in OpenDJ.
//!
//! Values outside the record (attributes of hundreds of values, values over 1.5 KiB) and values that the server
//! computes count as none.

use std::fmt;

use schema::{AttributeType, MatchingRule, RuleRole, Schema, TypeIndex};

use super::indexed_entry::IndexedEntry;
use crate::record::Values;

/// Most sort keys of one order. More are not useful, and each makes keys longer.
pub const SORT_KEYS_MAX: usize = 16;

const PRESENT: u8 = 1;
const MISSING: u8 = 2;
const END: u8 = 0;
const ESCAPE: u8 = 1;

/// One attribute to sort by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortKey {
    /// The attribute type; values of its subtypes count too.
    pub attribute: TypeIndex,
    /// The rule whose normal forms are the order.
    pub rule: &'static MatchingRule,
    /// From the largest value to the smallest.
    pub descending: bool,
}

/// Sort keys, the most important first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SortOrder {
    keys: Vec<SortKey>,
    /// As tools show it: `+sn -givenName:caseExactOrderingMatch`.
    text: String,
}

/// Why a sort order is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SortOrderError {
    /// The schema has no such attribute type; options are not allowed either (RFC 2891: noSuchAttribute).
    #[error("entries cannot be sorted by \"{0}\": it is not the name or OID of an attribute type")]
    UnknownAttribute(String),
    /// The schema has no such rule, or it orders nothing, or not these values (RFC 2891: inappropriateMatching).
    #[error("entries cannot be sorted by \"{attribute}\" with \"{rule}\": it is no ordering rule for such values")]
    UnsuitableRule {
        /// As given.
        attribute: String,
        /// As given.
        rule: String,
    },
    /// The attribute type has no rule that orders its values (RFC 2891: inappropriateMatching).
    #[error("entries cannot be sorted by \"{0}\": its attribute type has no ordering rule; name one as in {0}:RULE")]
    NoRule(String),
    /// No key at all.
    #[error("a sort order needs an attribute, as in \"+sn -givenName\"")]
    Empty,
    /// Too many keys.
    #[error("a sort order has at most {SORT_KEYS_MAX} attributes")]
    TooMany,
}

impl SortKey {
    /// Sorts by `attribute`, under `rule` if one is named, else under the attribute type's ordering rule, else under
    /// its equality rule when that compares normal forms.
    ///
    /// # Errors
    /// When the schema has no such order for these values.
    pub fn new(
        schema: &Schema,
        attribute: &[u8],
        rule: Option<&[u8]>,
        descending: bool,
    ) -> Result<Self, SortOrderError> {
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let of_type =
            schema.attribute_type(attribute).ok_or_else(|| SortOrderError::UnknownAttribute(text(attribute)))?;
        let rule = match rule {
            None => default_rule(of_type).ok_or_else(|| SortOrderError::NoRule(text(attribute)))?,
            Some(name) => schema
                .matching_rule(name)
                .filter(|rule| is_ordered(rule) && schema.rule_applies(rule, of_type))
                .ok_or_else(|| SortOrderError::UnsuitableRule { attribute: text(attribute), rule: text(name) })?,
        };
        Ok(Self { attribute: of_type.index, rule, descending })
    }

    /// Appends the component of a normal form; of no value for `None`.
    pub fn put_component(&self, form: Option<&[u8]>, out: &mut Vec<u8>) {
        let start = out.len();
        match form {
            None => out.push(MISSING),
            Some(form) => {
                out.push(PRESENT);
                for byte in form {
                    match *byte {
                        END => out.extend_from_slice(&[ESCAPE, 1]),
                        ESCAPE => out.extend_from_slice(&[ESCAPE, 2]),
                        byte => out.push(byte),
                    }
                }
                out.push(END);
            }
        }
        if self.descending {
            out.iter_mut().skip(start).for_each(|byte| *byte = !*byte);
        }
    }
}

/// Whether the order of the rule's normal forms is an order of values.
fn is_ordered(rule: &MatchingRule) -> bool {
    rule.role == RuleRole::Ordering || (rule.role == RuleRole::Equality && rule.is_exact())
}

fn default_rule(attribute: &AttributeType) -> Option<&'static MatchingRule> {
    attribute.ordering.or(attribute.equality.filter(|rule| is_ordered(rule)))
}

impl SortOrder {
    /// The order by `keys`.
    ///
    /// # Errors
    /// When there is none, or more than [`SORT_KEYS_MAX`].
    pub fn new(schema: &Schema, keys: Vec<SortKey>) -> Result<Self, SortOrderError> {
        if keys.is_empty() {
            return Err(SortOrderError::Empty);
        }
        if keys.len() > SORT_KEYS_MAX {
            return Err(SortOrderError::TooMany);
        }
        let text = keys.iter().map(|key| text_of(schema, key)).collect::<Vec<_>>().join(" ");
        Ok(Self { keys, text })
    }

    /// Reads `[+|-]attribute[:rule]`, one after the other with blanks or commas between them.
    ///
    /// # Errors
    /// When the schema does not order these values so, or the text holds no key or too many.
    pub fn parse(schema: &Schema, text: &str) -> Result<Self, SortOrderError> {
        let words = text.split(|at: char| at.is_ascii_whitespace() || at == ',').filter(|word| !word.is_empty());
        let mut keys = Vec::new();
        for word in words {
            if keys.len() == SORT_KEYS_MAX {
                return Err(SortOrderError::TooMany);
            }
            let (descending, word) = match word.strip_prefix('-') {
                Some(word) => (true, word),
                None => (false, word.strip_prefix('+').unwrap_or(word)),
            };
            let (attribute, rule) =
                word.split_once(':').map_or((word, None), |(attribute, rule)| (attribute, Some(rule.as_bytes())));
            keys.push(SortKey::new(schema, attribute.as_bytes(), rule, descending)?);
        }
        Self::new(schema, keys)
    }

    /// The sort keys, the most important first.
    #[must_use]
    pub fn keys(&self) -> &[SortKey] {
        &self.keys
    }

    /// Whether both orders put all entries in the same sequence; used to find the index for a request.
    #[must_use]
    pub fn is_same_order(&self, other: &SortOrder) -> bool {
        let same = |(own, its): (&SortKey, &SortKey)| {
            own.attribute == its.attribute && own.descending == its.descending && own.rule.shares_form_with(its.rule)
        };
        self.keys.len() == other.keys.len() && self.keys.iter().zip(&other.keys).all(same)
    }

    /// Appends the key of `entry`. Keys compare as the entries are sorted; equal keys mean equal rank.
    pub fn put_key(&self, schema: &Schema, entry: &dyn IndexedEntry, out: &mut Vec<u8>) {
        let mut smallest: Vec<Option<Vec<u8>>> = vec![None; self.keys.len()];
        let mut form = Vec::new();
        entry.each_attribute(&|of_type| self.is_about(schema, of_type), &mut |of_type, body| {
            for (key, least) in self.keys.iter().zip(&mut smallest) {
                if !is_subtype(schema, of_type, key.attribute) {
                    continue;
                }
                for value in Values::new(0, &body).iter() {
                    form.clear();
                    let comes_first = key.rule.normalize(schema, value, &mut form).is_ok()
                        && least.as_ref().is_none_or(|least| form < *least);
                    if comes_first {
                        least.get_or_insert_default().clone_from(&form);
                    }
                }
            }
        });
        for (key, least) in self.keys.iter().zip(&smallest) {
            key.put_component(least.as_deref(), out);
        }
    }

    /// The normal form that a key begins with: the least value of the first sort attribute; none when it is that of an
    /// entry without a value.
    #[must_use]
    pub fn first_form(&self, key: &[u8]) -> Option<Vec<u8>> {
        let flip = if self.keys.first()?.descending { u8::MAX } else { 0 };
        let mut bytes = key.iter().map(|byte| byte ^ flip);
        let mut form = Vec::new();
        if bytes.next()? != PRESENT {
            return None;
        }
        loop {
            match bytes.next()? {
                END => return Some(form),
                ESCAPE => form.push(bytes.next()?.checked_sub(1)?),
                byte => form.push(byte),
            }
        }
    }

    /// Whether values of `attribute` are part of the key.
    #[must_use]
    pub fn is_about(&self, schema: &Schema, attribute: TypeIndex) -> bool {
        self.keys.iter().any(|key| is_subtype(schema, attribute, key.attribute))
    }

    /// Appends the least key that an entry may have whose first sort attribute is `value` or comes after it: where a
    /// virtual list view by value (`greaterThanOrEqual`) begins. `false` when the value has no normal form; `out` is
    /// not changed then.
    #[must_use]
    pub fn put_start(&self, schema: &Schema, value: &[u8], out: &mut Vec<u8>) -> bool {
        let Some(first) = self.keys.first() else { return false };
        let mut form = Vec::new();
        let is_valid = first.rule.normalize_assertion(schema, value, &mut form).is_ok();
        if is_valid {
            first.put_component(Some(&form), out);
        }
        is_valid
    }
}

impl fmt::Display for SortOrder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

fn is_subtype(schema: &Schema, attribute: TypeIndex, of: TypeIndex) -> bool {
    attribute == of || schema.attribute_by_index(attribute).is_some_and(|own| own.is_subtype_of(of))
}

fn text_of(schema: &Schema, key: &SortKey) -> String {
    let attribute = schema.attribute_by_index(key.attribute);
    let sign = if key.descending { '-' } else { '+' };
    let name = attribute.map_or("?", AttributeType::name);
    match attribute.and_then(default_rule) {
        Some(rule) if rule.shares_form_with(key.rule) => format!("{sign}{name}"),
        _ => format!("{sign}{name}:{}", key.rule.name()),
    }
}

/// A key for people: its components, `-` before descending ones, nothing for no value. A key that was cut is shown as
/// far as it goes.
#[must_use]
pub fn shown_key(key: &[u8]) -> String {
    let mut shown = Vec::new();
    let mut rest = key;
    while let Some((first, mut bytes)) = rest.split_first() {
        let flip = if *first >= 0x80 { 0xff } else { 0 };
        let mut form = Vec::new();
        while let Some((byte, after)) = bytes.split_first().filter(|_| first ^ flip == PRESENT) {
            bytes = after;
            match byte ^ flip {
                END => break,
                ESCAPE => {
                    let Some((escaped, after)) = bytes.split_first() else { break };
                    bytes = after;
                    form.push((escaped ^ flip).wrapping_sub(1));
                }
                byte => form.push(byte),
            }
        }
        shown.push(format!("{}{}", if flip == 0 { "" } else { "-" }, schema::display_text(&form)));
        rest = bytes;
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::cmp::Ordering;

    use proptest::prelude::*;

    use super::*;
    use crate::record::put_value;

    type Attributes = Vec<(&'static str, Vec<Vec<u8>>)>;

    struct Plain(Attributes);

    impl IndexedEntry for Plain {
        fn each_attribute<'s>(
            &'s self,
            wanted: &dyn Fn(TypeIndex) -> bool,
            visit: &mut dyn FnMut(TypeIndex, Cow<'s, [u8]>),
        ) {
            for (name, values) in &self.0 {
                let of_type = Schema::standard().attribute_type(name.as_bytes()).unwrap().index;
                if wanted(of_type) {
                    let mut body = Vec::new();
                    values.iter().for_each(|value| put_value(&mut body, value));
                    visit(of_type, Cow::Owned(body));
                }
            }
        }

        fn each_large(&self, _visit: &mut dyn FnMut(TypeIndex)) {}
    }

    fn order(text: &str) -> SortOrder {
        SortOrder::parse(&Schema::standard(), text).unwrap()
    }

    fn key(order: &SortOrder, entry: &Plain) -> Vec<u8> {
        let mut key = Vec::new();
        order.put_key(&Schema::standard(), entry, &mut key);
        key
    }

    fn person(given_name: &[&str], sn: &str) -> Plain {
        let given_name = given_name.iter().map(|name| name.as_bytes().to_vec()).collect();
        Plain(vec![("sn", vec![sn.as_bytes().to_vec()]), ("givenName", given_name)])
    }

    /// Given names of the entries in that order.
    fn sorted(order: &str, people: &[Plain]) -> Vec<usize> {
        let order = self::order(order);
        let mut places: Vec<usize> = (0..people.len()).collect();
        places.sort_by_key(|at| key(&order, &people[*at]));
        places
    }

    #[test]
    fn entries_without_a_value_are_the_largest_and_the_least_value_counts() {
        let people =
            [person(&["Sam", "albert"], "Smith"), person(&[], "Zorro"), person(&["Aaron"], "Z"), person(&["Sam"], "A")];
        assert_eq!(sorted("+givenName", &people), [2, 0, 3, 1]);
        assert_eq!(sorted("-givenName", &people), [1, 3, 0, 2]);
        assert_eq!(sorted("givenName,-sn", &people), [2, 0, 3, 1]);
        assert_eq!(sorted("-sn", &people), [1, 2, 0, 3]);
        assert_eq!(sorted("+name", &people), [3, 2, 0, 1], "values of subtypes count");
    }

    #[test]
    fn a_named_rule_sorts() {
        let people = [person(&["a"], "x"), person(&["B"], "x"), person(&["c"], "x")];
        assert_eq!(sorted("+givenName", &people), [0, 1, 2]);
        assert_eq!(sorted("+givenName:caseExactOrderingMatch", &people), [1, 0, 2]);
    }

    #[test]
    fn the_text_of_an_order_is_read_and_written() {
        assert_eq!(order(" +SN  -givenname").to_string(), "+sn -givenName");
        assert_eq!(order("sn,-2.5.4.42:2.5.13.6").to_string(), "+sn -givenName:caseExactOrderingMatch");
        assert!(order("+sn -givenName").is_same_order(&order("surname:caseIgnoreOrderingMatch,-givenName")));
        assert!(!order("+sn").is_same_order(&order("-sn")) && !order("+sn").is_same_order(&order("+sn +cn")));
        let refused = |text: &str| SortOrder::parse(&Schema::standard(), text).unwrap_err();
        assert_eq!(refused(" , "), SortOrderError::Empty);
        assert_eq!(refused("+colour"), SortOrderError::UnknownAttribute("colour".into()));
        assert_eq!(refused("+cn;lang-en"), SortOrderError::UnknownAttribute("cn;lang-en".into()));
        assert_eq!(refused("-jpegPhoto:integerOrderingMatch").to_string().matches("integerOrderingMatch").count(), 1);
        assert!(matches!(refused("cn:nonsenseMatch"), SortOrderError::UnsuitableRule { .. }));
        assert!(matches!(refused("cn:caseIgnoreSubstringsMatch"), SortOrderError::UnsuitableRule { .. }));
        assert_eq!(refused(&"sn ".repeat(SORT_KEYS_MAX + 1)), SortOrderError::TooMany);
    }

    #[test]
    fn keys_can_be_read() {
        assert_eq!(shown_key(&key(&order("-sn +givenName +cn"), &person(&["Sam"], "Z"))), "-z, sam, ");
        let (mut bytes, order) = (Vec::new(), order("-sn"));
        order.keys()[0].put_component(Some(&[b'a', 0, 1, 255]), &mut bytes);
        assert_eq!(shown_key(&bytes), "-a\\00\\01\\ff");
        assert_eq!(shown_key(&bytes[..3]), "-a");
    }

    #[test]
    fn a_list_begins_at_a_value() {
        for (text, at_or_after, before) in
            [("+sn +cn", ["Miller", "mills"], "Mill"), ("-sn +cn", ["Miller", "mill"], "Mills")]
        {
            let order = order(text);
            let mut start = Vec::new();
            assert!(order.put_start(&Schema::standard(), b"MILLER", &mut start));
            for sn in at_or_after {
                assert!(key(&order, &person(&[], sn)) >= start, "{text} {sn}");
            }
            assert!(key(&order, &person(&[], before)) < start, "{text} {before}");
        }
        let mut out = Vec::new();
        assert!(!order("createTimestamp").put_start(&Schema::standard(), b"yesterday", &mut out) && out.is_empty());
    }

    /// A normal form of bytes that sort keys write otherwise, and of others.
    fn form() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop_oneof![0u8..4, 252u8..=255], 0..5)
    }

    proptest! {
        /// Bytes of every kind, under a rule whose normal form is the value.
        #[test]
        fn keys_compare_like_their_components(
            left in prop::collection::vec(prop::option::of(form()), 3),
            right in prop::collection::vec(prop::option::of(form()), 3),
            descending in prop::collection::vec(any::<bool>(), 3),
        ) {
            let schema = Schema::standard();
            let (mut first, mut second, mut expected) = (Vec::new(), Vec::new(), Ordering::Equal);
            let mut keys = Vec::new();
            for ((left, right), descending) in left.iter().zip(&right).zip(descending) {
                let key = SortKey::new(&schema, b"description", Some(b"caseExactOrderingMatch"), descending).unwrap();
                key.put_component(left.as_deref(), &mut first);
                key.put_component(right.as_deref(), &mut second);
                let own = match (left, right) {
                    (Some(left), Some(right)) => left.cmp(right),
                    (left, right) => left.is_none().cmp(&right.is_none()),
                };
                expected = expected.then(if descending { own.reverse() } else { own });
                keys.push(key);
            }
            prop_assert_eq!(first.cmp(&second), expected);
            prop_assert_eq!(SortOrder::new(&schema, keys).unwrap().first_form(&first), left[0].clone());
        }
    }
}
