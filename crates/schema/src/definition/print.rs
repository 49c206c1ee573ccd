//! Prints definitions in the canonical order of RFC 4512 §4.1.

use std::fmt::{self, Display, Formatter};

use super::types::{ClassKind, Definition, Head, Usage};

impl Display for Definition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let head = self.head();
        write!(f, "( {}", head.oid)?;
        names(f, head)?;
        match self {
            Definition::Syntax(_) => {}
            Definition::MatchingRule(it) => write!(f, " SYNTAX {}", it.syntax)?,
            Definition::MatchingRuleUse(it) => oids(f, "APPLIES", &it.applies)?,
            Definition::AttributeType(it) => attribute_type(f, it)?,
            Definition::ObjectClass(it) => {
                oids(f, "SUP", &it.superiors)?;
                f.write_str(match it.kind {
                    ClassKind::Abstract => " ABSTRACT",
                    ClassKind::Structural => " STRUCTURAL",
                    ClassKind::Auxiliary => " AUXILIARY",
                })?;
                oids(f, "MUST", &it.must)?;
                oids(f, "MAY", &it.may)?;
            }
            Definition::NameForm(it) => {
                write!(f, " OC {}", it.class)?;
                oids(f, "MUST", &it.must)?;
                oids(f, "MAY", &it.may)?;
            }
            Definition::ContentRule(it) => {
                oids(f, "AUX", &it.auxiliaries)?;
                oids(f, "MUST", &it.must)?;
                oids(f, "MAY", &it.may)?;
                oids(f, "NOT", &it.not)?;
            }
            Definition::StructureRule(it) => {
                write!(f, " FORM {}", it.form)?;
                rule_ids(f, &it.superiors)?;
            }
        }
        for (name, values) in &head.extensions {
            quoted_list(f, name, values)?;
        }
        f.write_str(" )")
    }
}

fn attribute_type(f: &mut Formatter<'_>, it: &super::AttributeTypeDefinition) -> fmt::Result {
    let words =
        [("SUP", &it.superior), ("EQUALITY", &it.equality), ("ORDERING", &it.ordering), ("SUBSTR", &it.substring)];
    for (keyword, value) in words {
        if let Some(value) = value {
            write!(f, " {keyword} {value}")?;
        }
    }
    if let Some(syntax) = &it.syntax {
        write!(f, " SYNTAX {syntax}")?;
        if let Some(length) = it.length {
            write!(f, "{{{length}}}")?;
        }
    }
    let flags = [
        ("SINGLE-VALUE", it.single_value),
        ("COLLECTIVE", it.collective),
        ("NO-USER-MODIFICATION", it.no_user_modification),
    ];
    for (keyword, set) in flags {
        if set {
            write!(f, " {keyword}")?;
        }
    }
    match it.usage {
        Usage::UserApplications => Ok(()),
        Usage::DirectoryOperation => f.write_str(" USAGE directoryOperation"),
        Usage::DistributedOperation => f.write_str(" USAGE distributedOperation"),
        Usage::DsaOperation => f.write_str(" USAGE dSAOperation"),
    }
}

fn names(f: &mut Formatter<'_>, head: &Head) -> fmt::Result {
    if !head.names.is_empty() {
        quoted_list(f, "NAME", &head.names)?;
    }
    if let Some(description) = &head.description {
        f.write_str(" DESC ")?;
        quoted(f, description)?;
    }
    if head.obsolete { f.write_str(" OBSOLETE") } else { Ok(()) }
}

fn oids(f: &mut Formatter<'_>, keyword: &str, list: &[String]) -> fmt::Result {
    match list {
        [] => Ok(()),
        [one] => write!(f, " {keyword} {one}"),
        several => write!(f, " {keyword} ( {} )", several.join(" $ ")),
    }
}

fn rule_ids(f: &mut Formatter<'_>, ids: &[u32]) -> fmt::Result {
    match ids {
        [] => Ok(()),
        [one] => write!(f, " SUP {one}"),
        several => {
            f.write_str(" SUP (")?;
            for id in several {
                write!(f, " {id}")?;
            }
            f.write_str(" )")
        }
    }
}

fn quoted_list(f: &mut Formatter<'_>, keyword: &str, values: &[String]) -> fmt::Result {
    write!(f, " {keyword} ")?;
    if let [one] = values {
        return quoted(f, one);
    }
    f.write_str("(")?;
    for value in values {
        f.write_str(" ")?;
        quoted(f, value)?;
    }
    f.write_str(" )")
}

fn quoted(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("'")?;
    for part in text.split_inclusive(['\'', '\\']) {
        match part.strip_suffix('\'') {
            Some(plain) => write!(f, "{plain}\\27")?,
            None => match part.strip_suffix('\\') {
                Some(plain) => write!(f, "{plain}\\5C")?,
                None => f.write_str(part)?,
            },
        }
    }
    f.write_str("'")
}
