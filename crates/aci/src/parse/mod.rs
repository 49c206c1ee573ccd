//! Instructions from their text.

mod condition;
mod cursor;
mod item;
mod name;
mod reading;
mod rule;
mod targets;

pub use reading::Reading;

use crate::error::{AciError, AciFault, excerpt};
use crate::instruction::{Aci, Effect, Permission, Targets};
use crate::limits::BYTES_MAX;
use crate::right::{Right, Rights};
use crate::span::Span;
use crate::warning::Warning;
use cursor::Cursor;

/// An instruction, and what is remarkable about its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The instruction.
    pub aci: Aci,
    /// Remarks, in the order of the text.
    pub warnings: Vec<Warning>,
}

/// Reads an instruction as clients write it.
///
/// # Errors
/// Says where it is wrong, and what may stand there.
pub fn parse(text: &str) -> Result<Aci, AciError> {
    parse_as(text, Reading::Strict).map(|parsed| parsed.aci)
}

/// Reads an instruction, and remarks what may not mean what was meant.
///
/// # Errors
/// Says where it is wrong, and what may stand there.
pub fn parse_as(text: &str, reading: Reading) -> Result<Parsed, AciError> {
    if text.len() > BYTES_MAX {
        return Err(AciError::new(BYTES_MAX, AciFault::TooLong).of(text));
    }
    instruction(text, reading).map_err(|error| error.of(text))
}

fn instruction(text: &str, reading: Reading) -> Result<Parsed, AciError> {
    let mut cursor = Cursor::new(text, reading);
    let mut targets = Targets::default();
    loop {
        cursor.expect(b'(', "an opening parenthesis before a target, or before version 3.0")?;
        let keyword = cursor.word();
        if keyword.is("version") {
            break;
        }
        targets::target(&mut cursor, &mut targets, keyword)?;
        cursor.expect(b')', "a closing parenthesis after the target")?;
    }
    let version = cursor.word();
    if version.text != "3.0" {
        let found = if version.text.is_empty() { "nothing".to_owned() } else { format!("{:?}", version.text) };
        return Err(AciError::unexpected(version.at, found, "3.0, the only version of the language"));
    }
    cursor.expect(b';', "a semicolon after version 3.0")?;
    if !cursor.eat_word("acl") {
        return Err(cursor.unexpected("acl and a name in quotation marks"));
    }
    let name = cursor.quoted_or_bare(b';')?.text.to_owned();
    cursor.expect(b';', "a semicolon after the name")?;
    let mut permissions = vec![permission(&mut cursor)?];
    while !cursor.eat(b')') {
        permissions.push(permission(&mut cursor)?);
    }
    if cursor.peek().is_some() {
        return Err(cursor.unexpected("the end of the text: each instruction is a value of its own"));
    }
    Ok(Parsed { aci: Aci { name, targets, permissions }, warnings: cursor.into_warnings() })
}

/// What a permission begins with.
const EFFECTS: [&str; 2] = ["allow", "deny"];

/// `allow (rights) rule;`
fn permission(cursor: &mut Cursor<'_>) -> Result<Permission, AciError> {
    let word = cursor.word();
    let effect = match word.text {
        _ if word.is("allow") => Effect::Allow,
        _ if word.is("deny") => Effect::Deny,
        "" => return Err(cursor.unexpected("allow, deny or the closing parenthesis")),
        text if nearest::nearest(text, EFFECTS).is_empty() => {
            let found = format!("{:?}", excerpt(text));
            return Err(AciError::unexpected(word.at, found, "allow or deny"));
        }
        text => return Err(AciError::unknown(word.at, "allow or deny", text, &EFFECTS)),
    };
    cursor.expect(b'(', "an opening parenthesis before the rights")?;
    let rights = rights(cursor)?;
    let rule = rule::bind_rule(cursor)?;
    let span = Span::new(word.at, cursor.at());
    cursor.expect(b';', "and, or, or a semicolon after the bind rule")?;
    Ok(Permission { span, effect, rights, rule })
}

/// `read, write)`
fn rights(cursor: &mut Cursor<'_>) -> Result<Rights, AciError> {
    let mut found = Rights::NONE;
    loop {
        let word = cursor.word();
        let right = Right::ALL.into_iter().find(|right| word.is(right.as_str()));
        found = match right {
            Some(right) => found.with(right),
            None if word.is("all") => found.union(Rights::ALL),
            None if word.text.is_empty() => return Err(cursor.unexpected("a right")),
            None => {
                let known: Vec<&str> = Right::ALL.map(Right::as_str).into_iter().chain(["all"]).collect();
                return Err(AciError::unknown(word.at, "a right", word.text, &known));
            }
        };
        if cursor.eat(b')') {
            return Ok(found);
        }
        cursor.expect(b',', "a comma or a closing parenthesis after the right")?;
    }
}
