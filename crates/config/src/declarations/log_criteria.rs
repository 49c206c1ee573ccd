//! `[log-publisher.NAME.access-log-filtering-criteria.NAME]`: which operations a log has.

use super::shared::COUNT;
use crate::declare::{Applier, Class, Property, Variant, property};
use crate::syntax::Syntax;

/// Never set by default: what is not set matches everything.
const fn criterion(name: &'static str, field: &'static str, syntax: Syntax, help: &'static str) -> Property {
    property(name, field, syntax, help).absent("It is not looked at.").live(Applier::Logs)
}

const RESULT_CODE: Syntax = Syntax::Integer { min: 0, max: i32::MAX as i64 };

pub(super) static ACCESS_LOG_FILTERING_CRITERIA: Class = Class {
    name: "access-log-filtering-criteria",
    named_by: Some("the name of the criteria"),
    variants: &[Variant {
        type_name: "generic",
        help: "What is asked of connection, user, request and response.",
        properties: &[
            criterion(
                "log-record-type",
                "LogCriteria.record_types",
                Syntax::Choice(&[
                    "abandon",
                    "add",
                    "bind",
                    "compare",
                    "delete",
                    "extended",
                    "modify",
                    "rename",
                    "search",
                    "unbind",
                    "connect",
                    "disconnect",
                ]),
                "It is one of these.",
            )
            .multi(),
            criterion(
                "connection-client-address-equal-to",
                "LogCriteria.client_addresses",
                Syntax::AddressMask,
                "The client is at one of these.",
            )
            .multi(),
            criterion(
                "connection-client-address-not-equal-to",
                "LogCriteria.other_client_addresses",
                Syntax::AddressMask,
                "The client is at none of these.",
            )
            .multi(),
            criterion(
                "connection-protocol-equal-to",
                "LogCriteria.protocols",
                Syntax::Choice(&["ldap", "ldaps", "ldapi"]),
                "The connection came so.",
            )
            .multi(),
            criterion(
                "connection-port-equal-to",
                "LogCriteria.ports",
                Syntax::Integer { min: 1, max: 65_535 },
                "The connection came in at one of these ports.",
            )
            .multi(),
            criterion(
                "user-dn-equal-to",
                "LogCriteria.users",
                Syntax::Text,
                "The name of who is bound is, or matches, one of these; * is one RDN or a piece of a value, ** any \
                 number of RDNs.",
            )
            .multi(),
            criterion(
                "user-dn-not-equal-to",
                "LogCriteria.other_users",
                Syntax::Text,
                "The name of who is bound matches none of these.",
            )
            .multi(),
            criterion(
                "user-is-member-of",
                "LogCriteria.groups",
                Syntax::Dn,
                "Who is bound is in one of these groups, static, dynamic or nested.",
            )
            .multi(),
            criterion(
                "user-is-not-member-of",
                "LogCriteria.other_groups",
                Syntax::Dn,
                "Who is bound is in none of these groups.",
            )
            .multi(),
            criterion(
                "request-target-dn-equal-to",
                "LogCriteria.targets",
                Syntax::Text,
                "The entry of the request, or the base of the search, is, or matches, one of these. Not asked of \
                 abandon, unbind and extended requests.",
            )
            .multi(),
            criterion(
                "request-target-dn-not-equal-to",
                "LogCriteria.other_targets",
                Syntax::Text,
                "The entry of the request, or the base of the search, matches none of these.",
            )
            .multi(),
            criterion(
                "response-result-code-equal-to",
                "LogCriteria.result_codes",
                RESULT_CODE,
                "The result is one of these.",
            )
            .multi(),
            criterion(
                "response-result-code-not-equal-to",
                "LogCriteria.other_result_codes",
                RESULT_CODE,
                "The result is none of these.",
            )
            .multi(),
            criterion(
                "response-etime-greater-than",
                "LogCriteria.etime_above_ms",
                COUNT,
                "It took more than so many whole milliseconds.",
            ),
            criterion(
                "response-etime-less-than",
                "LogCriteria.etime_below_ms",
                COUNT,
                "It took less than so many milliseconds.",
            ),
            criterion(
                "search-response-nentries-greater-than",
                "LogCriteria.entries_above",
                COUNT,
                "The search returned more than so many entries. Not asked of other operations.",
            ),
            criterion(
                "search-response-nentries-less-than",
                "LogCriteria.entries_below",
                COUNT,
                "The search returned less than so many entries. Not asked of other operations.",
            ),
            criterion(
                "search-response-is-indexed",
                "LogCriteria.is_indexed",
                Syntax::Boolean,
                "Indexes answered the search, or did not: the log says unindexed. Not asked of other operations.",
            ),
        ],
    }],
    children: &[],
    help: "What a log is to have, or not to have: everything that is set has to match, and of several values one.",
};
