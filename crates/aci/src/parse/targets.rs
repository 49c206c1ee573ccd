//! What stands before the body of an instruction: `(keyword = "value")`.

use ldap::dn::is_attribute_type;
use ldap::filter::{self, FilterBuf};

use crate::dn_pattern::DnPattern;
use crate::error::{AciError, AciFault};
use crate::instruction::{
    AttributeTarget, OidTarget, Spanned, TargetPart, TargetScope, Targets, ValueFilter, ValueFilters,
};
use crate::parse::cursor::{Cursor, Operator};
use crate::parse::item::Item;
use crate::parse::name::{dn_pattern, url_path};
use crate::span::Span;

/// The keywords, as messages list them.
const KEYWORDS: [&str; 9] = [
    "target",
    "targetattr",
    "targetfilter",
    "targattrfilters",
    "targetscope",
    "targetcontrol",
    "extop",
    "target_from",
    "target_to",
];

/// Reads one target whose keyword has just been read, up to before its closing parenthesis.
pub(super) fn target(cursor: &mut Cursor<'_>, targets: &mut Targets, keyword: Item<'_>) -> Result<(), AciError> {
    let Some(known) = KEYWORDS.into_iter().find(|known| keyword.is(known)) else {
        let known: Vec<&str> = KEYWORDS.into_iter().chain(["version"]).collect();
        return Err(match keyword.text {
            "" => cursor.unexpected("the keyword of a target, or version"),
            text => AciError::unknown(keyword.at, "the keyword of a target, or version", text, &known),
        });
    };
    let operator = cursor.operator()?;
    let takes_negation = !matches!(known, "targetscope" | "targattrfilters");
    if operator.comparison.as_str() != "=" || (operator.negated && !takes_negation) {
        let expected = if takes_negation { "= or !=" } else { "=" };
        return Err(AciError::unexpected(operator.at, "another operator".to_owned(), expected));
    }
    let value = cursor.quoted_or_bare(b')')?;
    let place = Place { keyword: known, span: Span::new(keyword.at, cursor.at()), operator };
    match known {
        "target" => place.set(&mut targets.target, entries(value)?),
        "target_from" => place.set(&mut targets.target_from, entries(value)?),
        "target_to" => place.set(&mut targets.target_to, entries(value)?),
        "targetattr" => place.set(&mut targets.attributes, value.list("||", attribute)?),
        "targetfilter" => place.set(&mut targets.filter, filter(value)?),
        "targetcontrol" => place.set(&mut targets.controls, value.list("||", |item| oid(known, item))?),
        "extop" => place.set(&mut targets.extended_operations, value.list("||", |item| oid(known, item))?),
        "targattrfilters" => place.set_spanned(&mut targets.value_filters, value_filters(value)?),
        _ => place.set_spanned(&mut targets.scope, scope(value.trimmed())?),
    }
}

/// Where a target stands, and how it was written.
struct Place {
    keyword: &'static str,
    span: Span,
    operator: Operator,
}

impl Place {
    fn set<T>(&self, slot: &mut Option<TargetPart<T>>, value: T) -> Result<(), AciError> {
        let before = slot.replace(TargetPart { span: self.span, negated: self.operator.negated, value });
        self.check_first(before.is_none())
    }

    fn set_spanned<T>(&self, slot: &mut Option<Spanned<T>>, value: T) -> Result<(), AciError> {
        let before = slot.replace(Spanned { span: self.span, value });
        self.check_first(before.is_none())
    }

    fn check_first(&self, is_first: bool) -> Result<(), AciError> {
        if is_first {
            return Ok(());
        }
        Err(AciError::new(self.span.range().start, AciFault::Repeated(self.keyword.to_owned())))
    }
}

fn entries(value: Item<'_>) -> Result<DnPattern, AciError> {
    let path = url_path(value.trimmed())?;
    if let Some(question) = path.text.find('?') {
        let expected = "the end of the URL: a target has no attributes, scope or filter (use targetattr, targetscope, \
                        targetfilter)";
        return Err(AciError::unexpected(path.at + question, "\"?\"".to_owned(), expected));
    }
    dn_pattern(path)
}

fn attribute(item: Item<'_>) -> Result<AttributeTarget, AciError> {
    let expected = match item.text {
        "*" => return Ok(AttributeTarget::All),
        "+" => return Ok(AttributeTarget::AllOperational),
        name if is_attribute_type(name) => return Ok(AttributeTarget::Named(name.to_owned())),
        name if name.contains(';') => "an attribute type without options; it is for all of them",
        name if name.contains('*') => "* stands for all user attributes and + for all operational ones, by themselves",
        name if name.contains([',', ' ']) => "attribute types are separated by ||",
        _ => "*, + or attribute types (names or OIDs) separated by ||",
    };
    Err(AciError::value(item.at, "targetattr", item.text, expected))
}

fn filter(value: Item<'_>) -> Result<FilterBuf, AciError> {
    filter::parse(value.text).map_err(|error| AciError::filter(value.at, value.text, &error))
}

fn oid(keyword: &'static str, item: Item<'_>) -> Result<OidTarget, AciError> {
    match item.text {
        "*" => Ok(OidTarget::Any),
        text if is_attribute_type(text) && text.starts_with(|c: char| c.is_ascii_digit()) => {
            Ok(OidTarget::Oid(text.to_owned()))
        }
        text => Err(AciError::value(item.at, keyword, text, "* or numeric OIDs separated by ||")),
    }
}

fn scope(item: Item<'_>) -> Result<TargetScope, AciError> {
    let known = TargetScope::ALL.map(TargetScope::as_str);
    let found = TargetScope::ALL.into_iter().find(|scope| item.is(scope.as_str()));
    found.ok_or_else(|| AciError::unknown(item.at, "a scope", item.text, &known))
}

/// `add=a:F && b:F, del=c:F`
fn value_filters(value: Item<'_>) -> Result<ValueFilters, AciError> {
    let mut filters = ValueFilters::default();
    let mut rest = value;
    loop {
        let form = "add= or del=, each followed by attribute:(filter)";
        let (operation, after) = rest.split_once("=").ok_or_else(|| {
            let rest = rest.trimmed();
            AciError::value(rest.at, "targattrfilters", rest.text, form)
        })?;
        let operation = operation.trimmed();
        let list = match operation.text.to_ascii_lowercase().as_str() {
            "add" => &mut filters.add,
            "del" => &mut filters.delete,
            text => return Err(AciError::unknown(operation.at, "an operation on values", text, &["add", "del"])),
        };
        if !list.is_empty() {
            return Err(AciError::new(operation.at, AciFault::Repeated(format!("{}=", operation.text))));
        }
        let (found, after) = value_filter_list(after)?;
        *list = found;
        match after {
            Some(after) => rest = after,
            None => return Ok(filters),
        }
    }
}

/// `a:F && b:F`, and what follows the comma after it.
fn value_filter_list(value: Item<'_>) -> Result<(Vec<ValueFilter>, Option<Item<'_>>), AciError> {
    let mut found: Vec<ValueFilter> = Vec::new();
    let mut rest = value;
    loop {
        let (attribute, after) = rest.split_once(":").ok_or_else(|| {
            let rest = rest.trimmed();
            AciError::value(rest.at, "targattrfilters", rest.text, "an attribute type, a colon and a filter")
        })?;
        let attribute = attribute.trimmed();
        if !is_attribute_type(attribute.text) {
            let expected = "an attribute type without options stands before the colon";
            return Err(AciError::value(attribute.at, "targattrfilters", attribute.text, expected));
        }
        if found.iter().any(|other| attribute.is(&other.attribute)) {
            return Err(AciError::new(attribute.at, AciFault::Repeated(attribute.text.to_owned())));
        }
        let after = after.trimmed();
        let text = after.part(0, bracketed(after)?);
        found.push(ValueFilter { attribute: attribute.text.to_owned(), filter: one_attribute(attribute, text)? });
        rest = after.part(text.text.len(), after.text.len()).trimmed();
        if let Some(after) = rest.after("&&") {
            rest = after;
        } else if rest.text.is_empty() {
            return Ok((found, None));
        } else if let Some(after) = rest.after(",") {
            return Ok((found, Some(after)));
        } else {
            let first = rest.text.chars().next().map(|c| format!("{c:?}")).unwrap_or_default();
            return Err(AciError::unexpected(rest.at, first, "&&, a comma or the end of the value"));
        }
    }
}

/// How long the filter in brackets is that stands at the beginning.
fn bracketed(item: Item<'_>) -> Result<usize, AciError> {
    let mut depth = 0_usize;
    for (at, byte) in item.text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 1 => return Ok(at + 1),
            b')' if depth > 0 => depth -= 1,
            _ if depth == 0 => break,
            _ => {}
        }
    }
    Err(AciError::value(item.at, "targattrfilters", item.text, "a filter in brackets stands after the colon"))
}

/// The filter, if it is on this attribute only.
fn one_attribute(attribute: Item<'_>, text: Item<'_>) -> Result<FilterBuf, AciError> {
    let parsed = filter(text)?;
    let is_of_it = |name: Option<&[u8]>| name.is_some_and(|name| name.eq_ignore_ascii_case(attribute.text.as_bytes()));
    let holds_others = |node: &ldap::FilterNode<'_>| {
        matches!(node, ldap::FilterNode::And { .. } | ldap::FilterNode::Or { .. } | ldap::FilterNode::Not { .. })
    };
    let is_fine = parsed.filter().nodes().iter().all(|node| holds_others(node) || is_of_it(node.attribute()));
    if is_fine {
        return Ok(parsed);
    }
    let expected = "a filter names the attribute before its colon and no other";
    Err(AciError::value(text.at, "targattrfilters", text.text, expected))
}
