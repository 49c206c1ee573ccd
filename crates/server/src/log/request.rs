//! What the access log says of a request: OpenDJ's fields, in OpenDJ's order.
//!
//! Reads decoded requests; keeps them in a buffer that the caller reuses, without allocating for an element.

use std::io::Write as _;

use ldap::filter::FILTER_DEPTH_MAX;
use ldap::oids::extended as oids;
use ldap::{Authentication, Controls, EntryRequest, FilterNode, Operation, Position, Scope, SearchRequest, Update};
use runtime::log::text::{decimal, escaped, signed};
use smallvec::SmallVec;

use super::fields::{Field, Fields};
use crate::metrics::{LdapMetrics, OperationKind};

/// Longest filter text that is logged; the rest is cut, because a line is for people.
const FILTER_BYTES_MAX: usize = 16 * 1024;

/// Which kind of operation a request is.
pub(crate) fn kind(operation: &Operation<'_>) -> OperationKind {
    match operation {
        Operation::Bind(_) => OperationKind::Bind,
        Operation::Unbind => OperationKind::Unbind,
        Operation::Search(_) => OperationKind::Search,
        Operation::Compare(_) => OperationKind::Compare,
        Operation::Abandon(_) => OperationKind::Abandon,
        Operation::Update(Update::Entry(update)) => match update.request() {
            EntryRequest::Modify(_) => OperationKind::Modify,
            EntryRequest::Add(_) => OperationKind::Add,
            EntryRequest::Delete(_) => OperationKind::Delete,
            EntryRequest::ModifyDn(_) => OperationKind::ModifyDn,
        },
        Operation::Update(
            Update::PasswordModify(_)
            | Update::Refresh(_)
            | Update::PasswordPolicyState(_)
            | Update::SecondFactor(_)
            | Update::EndTransaction(_),
        )
        | Operation::StartTransaction
        | Operation::WhoAmI
        | Operation::Cancel(_)
        | Operation::StartTls
        | Operation::ConnectionId
        | Operation::ReloadConfiguration
        | Operation::RebuildIndexes(_)
        | Operation::SetAccountClock(_)
        | Operation::NotExecutable(_) => OperationKind::Extended,
    }
}

/// Counts a search by its scope.
pub(crate) fn count_scope(metrics: &LdapMetrics, search: &SearchRequest<'_>) {
    match search.scope {
        Scope::BaseObject => metrics.searches_base.add(1),
        Scope::SingleLevel => metrics.searches_one.add(1),
        Scope::WholeSubtree | Scope::SubordinateSubtree => metrics.searches_sub.add(1),
    }
}

/// Keeps what a request says.
pub(crate) fn capture(fields: &mut Fields, operation: &Operation<'_>) {
    fields.clear();
    match operation {
        Operation::Search(search) => search_fields(fields, search),
        Operation::Bind(bind) => {
            fields.push_with(Field::Version, |out| signed(out, bind.version));
            match bind.authentication {
                Authentication::Simple(_) => fields.push(Field::AuthType, b"SIMPLE"),
                Authentication::Unknown { tag } => fields.push_with(Field::AuthType, |out| {
                    let _ = write!(out, "{tag:#04x}");
                }),
                Authentication::Sasl { mechanism, .. } => {
                    fields.push(Field::AuthType, b"SASL");
                    fields.push(Field::Mechanism, mechanism);
                }
            }
            fields.push(Field::Dn, bind.name);
        }
        Operation::Update(Update::Entry(update)) => {
            let request = update.request();
            fields.push(Field::Dn, request.entry());
            if let EntryRequest::ModifyDn(rename) = request {
                fields.push(Field::NewRdn, rename.new_rdn);
                fields.push(Field::DeleteOldRdn, if rename.delete_old_rdn { b"true" } else { b"false" });
                if let Some(superior) = rename.new_superior {
                    fields.push(Field::NewSuperior, superior);
                }
            }
        }
        Operation::Compare(compare) => {
            fields.push(Field::Dn, compare.entry);
            fields.push(Field::Attribute, compare.attribute);
        }
        Operation::Abandon(target) => {
            fields.push_with(Field::IdToAbandon, |out| decimal(out, u64::from(target.unsigned_abs())));
        }
        other => {
            if let Some(oid) = other.extended_oid() {
                capture_extended(fields, oid);
            }
        }
    }
}

/// Keeps what an extended request says.
pub(crate) fn capture_extended(fields: &mut Fields, oid: &[u8]) {
    if let Some(name) = extended_name(oid) {
        fields.push(Field::Name, name.as_bytes());
    }
    fields.push(Field::Oid, oid);
}

/// The entry that a request is about, or where a search begins.
pub(crate) fn target<'m>(operation: &Operation<'m>) -> Option<&'m [u8]> {
    match operation {
        Operation::Search(search) => Some(search.base),
        Operation::Bind(bind) => Some(bind.name),
        Operation::Compare(compare) => Some(compare.entry),
        Operation::Update(Update::Entry(update)) => Some(update.request().entry()),
        _ => None,
    }
}

/// The OIDs of all controls, separated by commas.
pub(crate) fn write_control_oids(out: &mut String, controls: Controls<'_>) {
    for control in controls.iter() {
        if !out.is_empty() {
            out.push(',');
        }
        out.push_str(&String::from_utf8_lossy(control.oid));
    }
}

fn extended_name(oid: &[u8]) -> Option<&'static str> {
    // OpenDJ's names.
    const NAMES: [(&str, &str); 13] = [
        (oids::START_TLS, "StartTLS"),
        (oids::PASSWORD_MODIFY, "Password Modify"),
        (oids::PASSWORD_POLICY_STATE, "Password Policy State"),
        (oids::SECOND_FACTOR, "Second Factor"),
        (oids::WHO_AM_I, "Who Am I?"),
        (oids::START_TRANSACTION, "Start Transaction"),
        (oids::END_TRANSACTION, "End Transaction"),
        (oids::CANCEL, "Cancel"),
        (oids::REFRESH, "Refresh"),
        (oids::GET_CONNECTION_ID, "Get Connection ID"),
        (oids::RELOAD_CONFIGURATION, "Reload Configuration"),
        (oids::REBUILD_INDEXES, "Rebuild Indexes"),
        (oids::SET_ACCOUNT_CLOCK, "Set Account Clock"),
    ];
    NAMES.iter().find(|(known, _)| known.as_bytes() == oid).map(|(_, name)| *name)
}

fn search_fields(fields: &mut Fields, search: &SearchRequest<'_>) {
    fields.push(Field::Base, search.base);
    fields.push(Field::Scope, search.scope.as_str().as_bytes());
    fields.push_with(Field::Filter, |out| write_filter(out, search.filter.nodes()));
    if search.attributes.is_empty() {
        fields.push(Field::Wanted, b"ALL");
    }
    for attribute in search.attributes.iter() {
        fields.push(Field::Wanted, attribute);
    }
}

/// RFC 4515 text of a filter, safe in a quoted field.
fn write_filter(out: &mut Vec<u8>, nodes: &[FilterNode<'_>]) {
    let start = out.len();
    let mut open_ends: SmallVec<[usize; FILTER_DEPTH_MAX]> = SmallVec::new();
    for (index, node) in nodes.iter().enumerate() {
        while open_ends.last() == Some(&index) {
            open_ends.pop();
            out.push(b')');
        }
        if out.len() - start > FILTER_BYTES_MAX {
            out.extend_from_slice(b"...");
            break;
        }
        out.push(b'(');
        let (sign, end) = match *node {
            FilterNode::And { end } => (b'&', end),
            FilterNode::Or { end } => (b'|', end),
            FilterNode::Not { end } => (b'!', end),
            _ => {
                write_item(out, node);
                out.push(b')');
                continue;
            }
        };
        out.push(sign);
        open_ends.push(end);
    }
    out.resize(out.len() + open_ends.len(), b')');
}

fn write_item(out: &mut Vec<u8>, node: &FilterNode<'_>) {
    match node {
        FilterNode::And { .. } | FilterNode::Or { .. } | FilterNode::Not { .. } => {}
        FilterNode::Present(attribute) => {
            escaped(out, attribute);
            out.extend_from_slice(b"=*");
        }
        FilterNode::Equality(item) => assertion(out, item.attribute, b"=", item.value),
        FilterNode::GreaterOrEqual(item) => assertion(out, item.attribute, b">=", item.value),
        FilterNode::LessOrEqual(item) => assertion(out, item.attribute, b"<=", item.value),
        FilterNode::Approx(item) => assertion(out, item.attribute, b"~=", item.value),
        FilterNode::Substring(item) => {
            escaped(out, item.attribute);
            out.push(b'=');
            let mut ends_with_star = false;
            for (position, piece) in item.pieces() {
                if position != Position::Initial && !ends_with_star {
                    out.push(b'*');
                }
                assertion_value(out, piece);
                ends_with_star = position != Position::Final;
                if ends_with_star {
                    out.push(b'*');
                }
            }
        }
        FilterNode::Extensible(item) => {
            escaped(out, item.attribute.unwrap_or(b""));
            if item.dn_attributes {
                out.extend_from_slice(b":dn");
            }
            if let Some(rule) = item.rule {
                out.push(b':');
                escaped(out, rule);
            }
            out.extend_from_slice(b":=");
            assertion_value(out, item.value);
        }
    }
}

fn assertion(out: &mut Vec<u8>, attribute: &[u8], operator: &[u8], value: &[u8]) {
    escaped(out, attribute);
    out.extend_from_slice(operator);
    assertion_value(out, value);
}

/// An assertion value with RFC 4515's own escapes beside those of a log line.
fn assertion_value(out: &mut Vec<u8>, value: &[u8]) {
    const SPECIAL: &[u8] = b"*()\\\"";
    for (at, part) in value.split_inclusive(|byte| SPECIAL.contains(byte)).enumerate() {
        let _ = at;
        match part.split_last() {
            Some((last, plain)) if SPECIAL.contains(last) => {
                escaped(out, plain);
                let escape: &[u8] = match last {
                    b'*' => b"\\2a",
                    b'(' => b"\\28",
                    b')' => b"\\29",
                    b'"' => b"\\22",
                    _ => b"\\5c",
                };
                out.extend_from_slice(escape);
            }
            _ => escaped(out, part),
        }
    }
}

#[cfg(test)]
mod tests {
    use ldap::{MadeUpdate, filter};

    use super::*;

    fn fields(operation: &Operation<'_>) -> String {
        let mut fields = Fields::default();
        capture(&mut fields, operation);
        let mut out = Vec::new();
        crate::log::format::write_text_fields(&mut out, &fields);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn filters_print_as_they_parse() {
        for text in [
            "(uid=user.10)",
            "(&(cn=*Den*)(mail=user.19*))",
            "(|(a=b)(!(c>=d))(&(e~=f)(g<=h)))",
            "(a=x*y*z)",
            "(a=*z)",
            "(a=*x*)",
            "(cn:dn:caseExactMatch:=x)",
            "(:1.2.3:=x)",
            "(&)",
            "(|)",
            "(&(&)(a=*))",
            "(a=\\28\\29\\2a\\5c\\00)",
        ] {
            let parsed = filter::parse(text).unwrap();
            let mut out = Vec::new();
            write_filter(&mut out, parsed.filter().nodes());
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }

    #[test]
    fn quotes_and_line_ends_in_a_filter_cannot_break_the_line() {
        let mut out = Vec::new();
        assertion_value(&mut out, b"a\"b\nc\xff");
        assert_eq!(out, b"a\\22b\\0ac\\ff");
    }

    #[test]
    fn requests_have_the_fields_of_the_reference() {
        let deleted = MadeUpdate::delete(b"uid=a,dc=x");
        assert_eq!(fields(&deleted.operation().unwrap()), " dn=\"uid=a,dc=x\"");
        assert_eq!(fields(&Operation::Abandon(7)), " idToAbandon=7");
        let renamed = MadeUpdate::modify_dn("cn=a,dc=x", "cn=b", true, Some("dc=y"));
        assert_eq!(
            fields(&renamed.operation().unwrap()),
            " dn=\"cn=a,dc=x\" newRDN=\"cn=b\" deleteOldRDN=\"true\" newSuperior=\"dc=y\""
        );
        let compare = ldap::CompareRequest { entry: b"cn=a,dc=x", attribute: b"cn", value: b"secret" };
        assert_eq!(fields(&Operation::Compare(compare)), " dn=\"cn=a,dc=x\" attr=cn");
        assert_eq!(fields(&Operation::StartTls), " name=\"StartTLS\" oid=\"1.3.6.1.4.1.1466.20037\"");
        let bind = ldap::BindRequest { version: 3, name: b"cn=My App", authentication: Authentication::Simple(b"x") };
        assert_eq!(fields(&Operation::Bind(bind)), " version=3 type=SIMPLE dn=\"cn=My App\"");
        let bind = ldap::BindRequest { version: 3, name: b"", authentication: Authentication::Unknown { tag: 0x8a } };
        assert_eq!(fields(&Operation::Bind(bind)), " version=3 type=0x8a dn=\"\"");
        let authentication = Authentication::Sasl { mechanism: b"PLAIN", credentials: None };
        let bind = ldap::BindRequest { version: 3, name: b"", authentication };
        assert_eq!(fields(&Operation::Bind(bind)), " version=3 type=SASL mechanism=PLAIN dn=\"\"");
    }
}
