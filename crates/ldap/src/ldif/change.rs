//! Change records (RFC 2849 `ldif-changes`), and telling them from content records.

use super::line::{Line, Lines};
use super::record::{Front, is_word, read_front, text_value};
use super::value::{Spec, append, lossy, spec, split};
use super::{
    AttributeLines, LdifChange, LdifEntry, LdifError, LdifFault, LdifModification, LdifOperation, Record, UrlValues,
};
use crate::{ControlBuf, ModifyOperation};

/// What the functions below share.
struct Parser<'a> {
    raw: &'a [u8],
    first_line: u64,
    lines: Lines<'a>,
    folded: Vec<u8>,
    urls: UrlValues,
}

type Parsed<T> = Result<T, LdifError>;

impl Record {
    /// Parses one record of either kind from `raw`, whose first line has the number `first_line`. `None`: there are
    /// only comments or a version line.
    ///
    /// # Errors
    /// With the line that is wrong.
    pub fn parse(raw: &[u8], first_line: u64, urls: UrlValues) -> Result<Option<Record>, LdifError> {
        parse(raw, first_line, urls)
    }
}

fn parse(raw: &[u8], first_line: u64, urls: UrlValues) -> Parsed<Option<Record>> {
    let mut parser = Parser { raw, first_line, lines: Lines::new(raw, first_line), folded: Vec::new(), urls };
    let (mut dn, mut line) = (String::new(), 0);
    if read_front(&mut parser.lines, &mut parser.folded, urls, &mut dn, &mut line)? == Front::Nothing {
        return Ok(None);
    }
    let (controls, kind) = parser.controls_and_kind(line)?;
    let Some(kind) = kind else {
        let mut entry = LdifEntry::default();
        entry.parse(raw, first_line, urls)?;
        return Ok(Some(Record::Entry(entry)));
    };
    let operation = match kind {
        Kind::Add => LdifOperation::Add(parser.attributes()?),
        Kind::Delete => {
            parser.nothing_more("delete")?;
            LdifOperation::Delete
        }
        Kind::Modify => LdifOperation::Modify(parser.modifications()?),
        Kind::ModifyDn => parser.modify_dn()?,
    };
    Ok(Some(Record::Change(LdifChange { dn, line, controls, operation })))
}

#[derive(Clone, Copy)]
enum Kind {
    Add,
    Delete,
    Modify,
    ModifyDn,
}

impl Kind {
    fn from_word(word: &[u8]) -> Option<Self> {
        Some(match word.to_ascii_lowercase().as_slice() {
            b"add" => Kind::Add,
            b"delete" => Kind::Delete,
            b"modify" => Kind::Modify,
            b"modrdn" | b"moddn" => Kind::ModifyDn,
            _ => return None,
        })
    }
}

impl Parser<'_> {
    /// Control lines and the changetype; no kind if this is a content record.
    fn controls_and_kind(&mut self, dn_line: u64) -> Parsed<(Vec<ControlBuf>, Option<Kind>)> {
        let mut controls = Vec::new();
        while let Some(line) = self.lines.next(&mut self.folded) {
            let at = |fault| LdifError::new(line.number, fault);
            let (description, spec) = split(line.text).map_err(at)?;
            if is_word(description, "control") {
                controls.push(control(spec, self.urls).map_err(at)?);
            } else if is_word(description, "changetype") {
                let word = text_value(spec, description, self.urls, "changetype").map_err(at)?;
                let kind = Kind::from_word(word.trim().as_bytes());
                return kind.map(|kind| (controls, Some(kind))).ok_or_else(|| at(LdifFault::BadChangeType(word)));
            } else {
                break;
            }
        }
        if controls.is_empty() {
            return Ok((controls, None));
        }
        Err(LdifError::new(dn_line, LdifFault::ControlWithoutChange))
    }

    fn attributes(&mut self) -> Parsed<AttributeLines> {
        let mut attributes = AttributeLines::default();
        attributes.begin(self.raw, self.first_line)?;
        while let Some(line) = self.lines.next(&mut self.folded) {
            let (description, spec) = split(line.text).map_err(|fault| LdifError::new(line.number, fault))?;
            attributes.push(self.raw, line, description, spec, self.urls)?;
        }
        Ok(attributes)
    }

    fn nothing_more(&mut self, kind: &'static str) -> Parsed<()> {
        match self.lines.next(&mut self.folded) {
            None => Ok(()),
            Some(line) => Err(LdifError::new(line.number, LdifFault::NothingMayFollow(kind))),
        }
    }

    fn modifications(&mut self) -> Parsed<Vec<LdifModification>> {
        let mut modifications: Vec<LdifModification> = Vec::new();
        let mut is_open = false;
        while let Some(line) = self.lines.next(&mut self.folded) {
            let at = |fault| LdifError::new(line.number, fault);
            if line.text.trim_ascii_end() == b"-" {
                if !is_open {
                    return Err(at(LdifFault::BadModification));
                }
                is_open = false;
                continue;
            }
            let (description, spec) = split(line.text).map_err(at)?;
            match modifications.last_mut().filter(|_| is_open) {
                Some(open) => {
                    if !is_word(description, &open.description) {
                        let (expected, found) = (open.description.clone(), lossy(description));
                        return Err(at(LdifFault::OtherAttribute { expected, found }));
                    }
                    let mut value = Vec::new();
                    append(spec, description, self.urls, &mut value).map_err(at)?;
                    open.values.push(value);
                }
                None => {
                    modifications.push(begin_modification(line, description, spec).map_err(at)?);
                    is_open = true;
                }
            }
        }
        Ok(modifications)
    }

    fn modify_dn(&mut self) -> Parsed<LdifOperation> {
        let new_rdn = self.text_line("newrdn")?;
        let delete_line = self.lines.number();
        let delete_old_rdn = match self.text_line("deleteoldrdn")?.trim() {
            "0" => false,
            "1" => true,
            _ => return Err(LdifError::new(delete_line, LdifFault::BadDeleteOldRdn)),
        };
        let mut new_superior = None;
        if let Some(line) = self.lines.next(&mut self.folded) {
            let at = |fault| LdifError::new(line.number, fault);
            let (description, spec) = split(line.text).map_err(at)?;
            if !is_word(description, "newsuperior") {
                return Err(at(LdifFault::NothingMayFollow("modrdn")));
            }
            new_superior = Some(text_value(spec, description, self.urls, "new superior").map_err(at)?);
        }
        self.nothing_more("modrdn")?;
        Ok(LdifOperation::ModifyDn { new_rdn, delete_old_rdn, new_superior })
    }

    /// The next line, which must be of this name.
    fn text_line(&mut self, name: &'static str) -> Parsed<String> {
        let end = self.lines.number();
        let Some(line) = self.lines.next(&mut self.folded) else {
            return Err(LdifError::new(end.saturating_sub(1), LdifFault::LineMissing(name)));
        };
        let at = |fault| LdifError::new(line.number, fault);
        let (description, spec) = split(line.text).map_err(at)?;
        if !is_word(description, name) {
            return Err(at(LdifFault::LineMissing(name)));
        }
        text_value(spec, description, self.urls, name).map_err(at)
    }
}

/// `add: description` and its like.
fn begin_modification(line: Line<'_>, word: &[u8], value: Spec<'_>) -> Result<LdifModification, LdifFault> {
    let operation = match word.to_ascii_lowercase().as_slice() {
        b"add" => ModifyOperation::Add,
        b"delete" => ModifyOperation::Delete,
        b"replace" => ModifyOperation::Replace,
        b"increment" => ModifyOperation::Increment,
        _ => return Err(LdifFault::BadModification),
    };
    let Spec::Plain(name) = value else { return Err(LdifFault::BadModification) };
    let name = name.trim_ascii_end();
    // A description is a word: what `split` would take before a colon.
    let with_colon = [name, b":"].concat();
    match split(&with_colon) {
        Ok((description, Spec::Plain(b""))) if description == name => {
            Ok(LdifModification { operation, description: lossy(name), values: Vec::new(), line: line.number })
        }
        _ => Err(LdifFault::BadModification),
    }
}

/// `OID [true|false][value-spec]`
fn control(value: Spec<'_>, urls: UrlValues) -> Result<ControlBuf, LdifFault> {
    let Spec::Plain(text) = value else { return Err(LdifFault::BadControl) };
    let (head, value) = match text.iter().position(|byte| *byte == b':') {
        Some(colon) => (text.get(..colon).unwrap_or_default(), text.get(colon + 1..).map(spec)),
        None => (text, None),
    };
    let head = std::str::from_utf8(head).map_err(|_| LdifFault::BadControl)?;
    let mut words = head.split_ascii_whitespace();
    let oid = words.next().filter(|oid| oid.bytes().all(|b| b.is_ascii_digit() || b == b'.'));
    let oid = oid.ok_or(LdifFault::BadControl)?.to_owned();
    let critical = match words.next() {
        None => false,
        Some(word) if word.eq_ignore_ascii_case("true") => true,
        Some(word) if word.eq_ignore_ascii_case("false") => false,
        Some(_) => return Err(LdifFault::BadControl),
    };
    if words.next().is_some() {
        return Err(LdifFault::BadControl);
    }
    let value = match value {
        None => None,
        Some(value) => {
            let mut bytes = Vec::new();
            append(value, b"control", urls, &mut bytes)?;
            Some(bytes)
        }
    };
    Ok(ControlBuf { oid, critical, value })
}
