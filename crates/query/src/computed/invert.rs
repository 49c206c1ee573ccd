//! From a value that a template made back to the values that it was made of: all ways in which the value can be taken
//! apart.
//!
//! Works on normal forms, so that a value is found however it is written. That needs rules for text: for others nothing
//! is said.
//!
//! Invariant: whoever has a value that matches meets all conditions of one of the splits. (But for values that begin
//! with a combining mark: behind a text they make one character with its last.)

use schema::{Assertion, AttributeType, MatchContext, MatchingRule, TypeIndex};

use super::definition::ComputedAssertion;
use super::template_part::Part;
use crate::facts::Facts;
use crate::filter::{Matcher, Test};

/// Ways to take one value apart that are followed.
const SPLITS_MAX: usize = 32;

/// Bytes that are looked at to find them: most ways lead nowhere, and there may be as many as powers of the value's
/// length.
const WORK_MAX: usize = 1_000_000;

/// See the module.
#[derive(Debug)]
pub(super) struct Inverse {
    /// Under whose normal forms.
    rule: &'static MatchingRule,
    pieces: Vec<Piece>,
}

#[derive(Debug)]
enum Piece {
    /// Text in normal form, without spaces at its ends; empty: nothing but spaces.
    Text(Vec<u8>),
    Value {
        /// Whose values are found by their normal forms under the template's rule; none where they might not be.
        attribute: Option<TypeIndex>,
        /// Whether a prefix finds them too.
        has_prefixes: bool,
        /// In normal form.
        default: Option<Vec<u8>>,
    },
}

/// One way to take a value apart: conditions on those who may have it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Split(pub Vec<Condition>);

/// A condition on the values of an attribute, in normal form without spaces at its ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Condition {
    Equal(TypeIndex, Vec<u8>),
    Prefix(TypeIndex, Vec<u8>),
}

impl Condition {
    /// What it is about.
    pub fn attribute(&self) -> TypeIndex {
        match self {
            Condition::Equal(attribute, _) | Condition::Prefix(attribute, _) => *attribute,
        }
    }

    /// The only value, if there is but one.
    pub fn equality(&self) -> Option<(TypeIndex, &[u8])> {
        match self {
            Condition::Equal(attribute, value) => Some((*attribute, value)),
            Condition::Prefix(..) => None,
        }
    }
}

/// A filter that says all of these.
pub(super) fn all_of(facts: &Facts, conditions: &[&Condition]) -> Matcher {
    let mut text = String::from("(&");
    for condition in conditions {
        let Some(known) = facts.schema.attribute_by_index(condition.attribute()) else { continue };
        let (value, end) = match condition {
            Condition::Equal(_, value) => (value, ""),
            Condition::Prefix(_, value) => (value, "*"),
        };
        let escaped: String = value.iter().map(|byte| format!("\\{byte:02x}")).collect();
        text.push_str(&format!("({}={escaped}{end})", known.name()));
    }
    text.push(')');
    let mut matcher = Matcher::default();
    // A name and escaped bytes are always a filter; one of no parts is met by everybody.
    match ldap::filter::parse(&text) {
        Ok(parsed) => matcher.compile(facts, &parsed.filter(), MatchContext::default()),
        Err(_) => matcher.match_all(),
    }
    matcher
}

/// What is still to be explained, and how.
struct Walk<'w> {
    is_prefix: bool,
    so_far: Vec<Condition>,
    splits: &'w mut Vec<Split>,
    /// What remains of [`WORK_MAX`].
    work_left: usize,
    /// There are too many ways, or one without a condition.
    is_lost: bool,
}

impl Inverse {
    /// For a template of an attribute; none if its values are no text.
    pub fn new(facts: &Facts, attribute: &AttributeType, parts: &[Part]) -> Option<Inverse> {
        let rule = attribute.equality?;
        let text_rule = |name: &str| MatchingRule::find(name).filter(|text| text.shares_form_with(rule));
        let is_exact = text_rule("caseExactMatch").is_some();
        if !is_exact && text_rule("caseIgnoreMatch").is_none() {
            return None;
        }
        // Values that are one under the template's rule are one under these.
        let is_found_by = |own: &'static MatchingRule| {
            let folds = MatchingRule::find("caseIgnoreMatch").is_some_and(|folds| folds.shares_form_with(own));
            own.shares_form_with(rule) || (is_exact && folds)
        };
        let normal = |text: &[u8]| {
            let mut form = Vec::new();
            rule.normalize(&facts.schema, text, &mut form).ok().map(|()| form.trim_ascii().to_vec())
        };
        let mut pieces = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Part::Text(text) => {
                    // Its ends could make one character with what is next to them.
                    if !text.first().zip(text.last()).is_some_and(|(first, last)| first.is_ascii() && last.is_ascii()) {
                        return None;
                    }
                    let form = normal(text)?;
                    if !form.is_empty() || text.iter().any(u8::is_ascii_whitespace) {
                        pieces.push(Piece::Text(form));
                    }
                }
                Part::Attribute { index, default } => {
                    let known = facts.schema.attribute_by_index(*index)?;
                    let own = known.equality.filter(|own| is_found_by(own));
                    let has_prefixes = own.zip(known.substring).is_some_and(|(own, sub)| sub.shares_form_with(own));
                    let default = match default {
                        Some(text) => Some(normal(text)?),
                        None => None,
                    };
                    pieces.push(Piece::Value { attribute: own.map(|_| *index), has_prefixes, default });
                }
            }
        }
        Some(Inverse { rule, pieces })
    }

    /// All splits of the values that pass; none when they cannot be told apart from all others.
    pub fn of(&self, wanted: &ComputedAssertion<'_>) -> Option<Vec<Split>> {
        if !wanted.item.rule.is_some_and(|rule| rule.shares_form_with(self.rule)) {
            return None;
        }
        match &wanted.item.test {
            Test::Equal(form) => self.splits(wanted.matcher.form(form), false),
            Test::Assertion(at) => match wanted.matcher.assertion(*at) {
                Some(Assertion::Substrings(pieces)) => self.splits(pieces.index_initial()?, true),
                _ => None,
            },
            _ => None,
        }
    }

    fn splits(&self, form: &[u8], is_prefix: bool) -> Option<Vec<Split>> {
        let mut splits = Vec::new();
        let mut walk = Walk { is_prefix, so_far: Vec::new(), splits: &mut splits, work_left: WORK_MAX, is_lost: false };
        walk.step(&self.pieces, form);
        (!walk.is_lost).then_some(splits)
    }
}

impl Walk<'_> {
    /// One way was found.
    fn found(&mut self) {
        let split = Split(self.so_far.clone());
        self.is_lost |= split.0.is_empty() || self.splits.len() >= SPLITS_MAX;
        if !self.is_lost && !self.splits.contains(&split) {
            self.splits.push(split);
        }
    }

    /// Whether that may still be looked at.
    fn looks_at(&mut self, rest: &[u8]) -> bool {
        match self.work_left.checked_sub(rest.len() + 1) {
            Some(left) => self.work_left = left,
            None => self.is_lost = true,
        }
        !self.is_lost
    }

    /// Explains `rest` by `pieces`, in all ways. Templates have few parts, so the recursion is bounded.
    fn step(&mut self, pieces: &[Piece], rest: &[u8]) {
        let rest = rest.trim_ascii_start();
        if self.is_lost || !self.looks_at(rest) {
            return;
        }
        if self.is_prefix && rest.is_empty() {
            return self.found();
        }
        match pieces.split_first() {
            None if rest.is_empty() => self.found(),
            None => {}
            Some((Piece::Text(text), more)) => match rest.strip_prefix(text.as_slice()) {
                Some(rest) => self.step(more, rest),
                None if self.is_prefix && text.starts_with(rest) => self.found(),
                None => {}
            },
            Some((value @ Piece::Value { .. }, more)) => {
                for end in ends(more, rest, self.is_prefix) {
                    if !self.looks_at(rest) {
                        return;
                    }
                    let (own, after) = rest.split_at(end.min(rest.len()));
                    self.condition(value, own.trim_ascii_end(), false, |walk| walk.step(more, after));
                }
                if self.is_prefix {
                    self.condition(value, rest, true, Walk::found);
                }
            }
        }
    }

    /// Goes on with one condition more.
    fn condition(&mut self, value: &Piece, form: &[u8], is_open: bool, go_on: impl FnOnce(&mut Self)) {
        let Piece::Value { attribute, has_prefixes, default } = value else { return };
        let is_default =
            default.as_ref().is_some_and(|default| if is_open { default.starts_with(form) } else { default == form });
        let condition = match attribute {
            // Who has none of it shows the default.
            _ if is_default => None,
            Some(_) if is_open && !has_prefixes => None,
            Some(attribute) if is_open => Some(Condition::Prefix(*attribute, form.to_vec())),
            // The normal form of nothing but spaces is one space.
            Some(attribute) if form.is_empty() => Some(Condition::Equal(*attribute, b" ".to_vec())),
            Some(attribute) => Some(Condition::Equal(*attribute, form.to_vec())),
            None => None,
        };
        let before = self.so_far.len();
        self.so_far.extend(condition);
        go_on(self);
        self.so_far.truncate(before);
    }
}

/// Where a value at the beginning of `rest` can end, if `more` follows it.
fn ends(more: &[Piece], rest: &[u8], is_prefix: bool) -> Vec<usize> {
    let at = |wanted: &dyn Fn(usize) -> bool| (0..=rest.len()).filter(|at| wanted(*at)).collect();
    match more.first() {
        // In a longer value it does not end here.
        None if is_prefix => Vec::new(),
        None => vec![rest.len()],
        Some(Piece::Text(text)) if text.is_empty() => {
            at(&|at| at == 0 || at == rest.len() || rest.get(at).is_some_and(u8::is_ascii_whitespace))
        }
        Some(Piece::Text(text)) => at(&|at| {
            let after = rest.get(at..).unwrap_or_default();
            after.starts_with(text) || (is_prefix && !after.is_empty() && text.starts_with(after))
        }),
        // Between any two characters.
        Some(Piece::Value { .. }) => at(&|at| rest.get(at).is_none_or(|byte| byte & 0xC0 != 0x80)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use schema::Schema;

    use super::*;

    fn inverse(facts: &Facts, target: &str, parts: &[Part]) -> Option<Inverse> {
        Inverse::new(facts, facts.schema.attribute_type(target.as_bytes()).unwrap(), parts)
    }

    fn text(text: &str) -> Part {
        Part::Text(text.as_bytes().to_vec())
    }

    fn value(facts: &Facts, name: &str, default: Option<&str>) -> Part {
        let index = facts.schema.attribute_type(name.as_bytes()).unwrap().index;
        Part::Attribute { index, default: default.map(|text| text.as_bytes().to_vec()) }
    }

    /// The splits as text: `uid=ann o=ex*`.
    fn shown(facts: &Facts, splits: Option<Vec<Split>>) -> Option<Vec<String>> {
        let one = |condition: &Condition| {
            let (form, end) = match condition {
                Condition::Equal(_, form) => (form, ""),
                Condition::Prefix(_, form) => (form, "*"),
            };
            let name = facts.schema.attribute_by_index(condition.attribute()).unwrap().name();
            format!("{name}={}{end}", String::from_utf8_lossy(form))
        };
        let all = |split: &Split| split.0.iter().map(one).collect::<Vec<_>>().join(" ");
        Some(splits?.iter().map(all).collect())
    }

    #[test]
    fn values_come_apart_in_all_ways() {
        let facts = Facts::new(Schema::standard());
        let own = |name, default| value(&facts, name, default);
        let address = [own("uid", None), text("@"), own("o", Some("Example.com"))];
        let address = inverse(&facts, "eduPersonPrincipalName", &address).unwrap();
        let names = inverse(&facts, "displayName", &[own("givenName", None), text(" "), own("sn", None)]).unwrap();
        let fixed = inverse(&facts, "displayName", &[text("fixed")]).unwrap();
        for (inverse, form, is_prefix, expected) in [
            (&address, "ann@uni.example", false, Some(vec!["uid=ann o=uni.example"])),
            // Who has no domain shows the default.
            (&address, "ann@example.com", false, Some(vec!["uid=ann"])),
            (&address, "a@b@c", false, Some(vec!["uid=a o=b@c", "uid=a@b o=c"])),
            (&address, "ann", false, Some(vec![])),
            (&address, "@x", false, Some(vec!["uid=  o=x"])),
            (&address, "an", true, Some(vec!["uid=an*"])),
            (&address, "ann@", true, Some(vec!["uid=ann", "uid=ann@*"])),
            (&address, "ann@uni", true, Some(vec!["uid=ann o=uni*", "uid=ann@uni*"])),
            (&address, "ann@ex", true, Some(vec!["uid=ann", "uid=ann@ex*"])),
            (
                &names,
                "ann van sample",
                false,
                Some(vec![
                    "givenName=  sn=ann van sample",
                    "givenName=ann sn=van sample",
                    "givenName=ann van sn=sample",
                    "givenName=ann van sample sn= ",
                ]),
            ),
            (&fixed, "fixed", false, None),
            (&fixed, "other", false, Some(vec![])),
        ] {
            let splits = shown(&facts, inverse.splits(form.as_bytes(), is_prefix));
            assert_eq!(splits, expected.map(|list| list.into_iter().map(str::to_owned).collect()), "{form}");
        }
        // Numbers and names have other normal forms than text.
        assert!(inverse(&facts, "uidNumber", &[own("uid", None)]).is_none());
        assert!(inverse(&facts, "manager", &[own("uid", None)]).is_none());
        // What differs in the attribute may be the same in the template.
        let by_letter =
            inverse(&facts, "displayName", &[own("homeDirectory", None), text("x"), own("uid", None)]).unwrap();
        assert_eq!(shown(&facts, by_letter.splits(b"/ax1", false)), Some(vec!["uid=1".to_owned()]));
    }

    #[test]
    fn a_value_with_too_many_ways_is_given_up() {
        let facts = Facts::new(Schema::standard());
        let own = |name| value(&facts, name, None);
        let parts = [own("uid"), own("sn"), own("cn"), own("l"), text("!")];
        let names = inverse(&facts, "displayName", &parts).unwrap();
        assert_eq!(names.splits(&[b'a'; 3_000], false), None);
        assert_eq!(names.splits(&[b'a'; 5], false), Some(Vec::new()), "few ways are all followed");
    }

    fn word() -> impl Strategy<Value = String> {
        // Few characters, so that texts occur in values; spaces of all kinds of places.
        vec(prop::sample::select(vec!['a', 'B', ' ', '@', 'É']), 0..5).prop_map(|word| word.into_iter().collect())
    }

    #[derive(Debug, Clone)]
    enum Made {
        Text(String),
        /// Which attribute, its value, its default.
        Value(usize, Option<String>, Option<String>),
    }

    fn made() -> impl Strategy<Value = Made> {
        let plain = vec(prop::sample::select(vec!['a', 'B', ' ', '@']), 1..3).prop_map(|it| it.into_iter().collect());
        prop_oneof![
            plain.prop_map(Made::Text),
            (0usize..3, prop::option::weighted(0.8, word()), prop::option::of(word()))
                .prop_map(|(which, value, default)| Made::Value(which, value, default)),
        ]
    }

    proptest! {
        #[test]
        fn whoever_has_a_value_meets_a_split(parts in vec(made(), 1..5), cut in 0usize..12) {
            let facts = Facts::new(Schema::standard());
            let rule = MatchingRule::find("caseIgnoreMatch").unwrap();
            let normal = |text: &str| {
                let mut form = Vec::new();
                rule.normalize(&facts.schema, text.as_bytes(), &mut form).unwrap();
                form
            };
            // One value for each attribute: what another part says of it counts for that part only, so each has its
            // own.
            const NAMES: [&str; 12] = [
                "cn", "sn", "givenName", "l", "o", "ou", "st", "street", "title", "description", "initials", "uid",
            ];
            let mut has: Vec<(TypeIndex, String)> = Vec::new();
            let mut whole = String::new();
            let mut template = Vec::new();
            for (at, part) in parts.iter().enumerate() {
                match part {
                    Made::Text(own) => { template.push(text(own)); whole.push_str(own); }
                    Made::Value(which, own, default) => {
                        let name = NAMES[at * 3 % 12 + which % 3];
                        let index = facts.schema.attribute_type(name.as_bytes()).unwrap().index;
                        let Some(shown) = own.as_ref().or(default.as_ref()) else { return Ok(()) };
                        whole.push_str(shown);
                        has.extend(own.clone().map(|own| (index, own)));
                        template.push(value(&facts, name, default.as_deref()));
                    }
                }
            }
            let inverse = inverse(&facts, "displayName", &template).unwrap();
            let form = normal(&whole);
            let meets = |condition: &Condition| has.iter().any(|(index, own)| match condition {
                Condition::Equal(asked, form) => {
                    index == asked && normal(own) == normal(&String::from_utf8_lossy(form))
                }
                Condition::Prefix(asked, form) => index == asked && normal(own).starts_with(form),
            });
            if let Some(splits) = inverse.splits(&form, false) {
                prop_assert!(splits.iter().any(|split| split.0.iter().all(meets)), "{whole:?} {splits:?}");
            }
            // What an assertion begins with has no spaces at its ends.
            let prefix: String = String::from_utf8_lossy(&form).chars().take(cut).collect();
            if let (false, Some(splits)) = (prefix.trim().is_empty(), inverse.splits(prefix.trim().as_bytes(), true)) {
                prop_assert!(splits.iter().any(|split| split.0.iter().all(meets)), "{whole:?} {prefix:?} {splits:?}");
            }
        }
    }
}
