//! Bind rules: conditions joined by `and`, `or`, `not` and parentheses.
//!
//! `not` binds tightest. `and` and `or` bind alike and are read from the right, as the servers do whose instructions
//! are taken over: `a and b or c` is `a and (b or c)`.

use crate::bind_rule::BindRule;
use crate::error::{AciError, AciFault};
use crate::limits::DEPTH_MAX;
use crate::parse::condition::condition;
use crate::parse::cursor::Cursor;
use crate::span::Span;
use crate::warning::Remark;

/// A rule and how many levels it has.
struct Leveled {
    rule: BindRule,
    depth: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Connective {
    And,
    Or,
}

/// Reads a bind rule, up to what cannot belong to it.
pub(super) fn bind_rule(cursor: &mut Cursor<'_>) -> Result<BindRule, AciError> {
    Ok(connected(cursor, 0)?.rule)
}

/// Rules joined by `and` and `or`; `level` bounds the recursion.
fn connected(cursor: &mut Cursor<'_>, level: usize) -> Result<Leveled, AciError> {
    cursor.peek();
    let start = cursor.at();
    let mut last = single(cursor, level)?;
    let mut before: Vec<(Leveled, Connective)> = Vec::new();
    loop {
        let connective = if cursor.eat_word("and") {
            Connective::And
        } else if cursor.eat_word("or") {
            Connective::Or
        } else {
            break;
        };
        before.push((last, connective));
        last = single(cursor, level)?;
    }
    if before.iter().any(|(_, it)| *it == Connective::And) && before.iter().any(|(_, it)| *it == Connective::Or) {
        cursor.warn(Span::new(start, cursor.at()), Remark::MixedOperators);
    }
    let joined = before.into_iter().rev().fold(last, |right, (left, connective)| join(left, connective, right));
    check_depth(joined.depth, start)?;
    Ok(joined)
}

/// A condition, a negation, or rules in parentheses.
fn single(cursor: &mut Cursor<'_>, level: usize) -> Result<Leveled, AciError> {
    cursor.peek();
    let start = cursor.at();
    check_depth(level, start)?;
    if cursor.eat(b'(') {
        let inner = connected(cursor, level + 1)?;
        cursor.expect(b')', "and, or, or a closing parenthesis")?;
        return Ok(inner);
    }
    if cursor.eat_word("not") {
        let inner = single(cursor, level + 1)?;
        let depth = inner.depth + 1;
        check_depth(depth, start)?;
        return Ok(Leveled { rule: BindRule::Not(Box::new(inner.rule)), depth });
    }
    Ok(Leveled { rule: BindRule::Test(condition(cursor)?), depth: 1 })
}

fn join(left: Leveled, connective: Connective, right: Leveled) -> Leveled {
    let mut rules = Vec::new();
    let mut deepest = 0;
    for part in [left, right] {
        match (part.rule, connective) {
            // One list instead of lists in lists: they mean the same.
            (BindRule::And(parts), Connective::And) | (BindRule::Or(parts), Connective::Or) => {
                rules.extend(parts);
                deepest = deepest.max(part.depth - 1);
            }
            (rule, _) => {
                rules.push(rule);
                deepest = deepest.max(part.depth);
            }
        }
    }
    let rule = match connective {
        Connective::And => BindRule::And(rules),
        Connective::Or => BindRule::Or(rules),
    };
    Leveled { rule, depth: deepest + 1 }
}

fn check_depth(depth: usize, place: usize) -> Result<(), AciError> {
    if depth > DEPTH_MAX { Err(AciError::new(place, AciFault::TooDeep)) } else { Ok(()) }
}
