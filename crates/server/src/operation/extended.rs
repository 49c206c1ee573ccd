//! Extended operations that ask the directory: who am I (RFC 4532), password modify (RFC 3062), transactions (RFC 5805), refresh (RFC
//! 2589), and those of administrators. Unknown ones are refused as RFC 4511 §4.12 says.

use ldap::{ExtendedRequest, LdapResult, Message, ResultCode, encode, oids::extended as oids};

use super::directory_executor::DirectoryExecutor;
use crate::{
    answer::Answer,
    executor::{Call, Step},
};

impl DirectoryExecutor {
    pub(super) fn extended(
        &mut self,
        call: &mut Call<'_>,
        message: &Message<'_>,
        request: &ExtendedRequest<'_>,
    ) -> Step {
        let name = std::str::from_utf8(request.name).unwrap_or_default();
        match name {
            oids::WHO_AM_I => Step::Done(who_am_i(call, message, request)),
            oids::PASSWORD_MODIFY | oids::END_TRANSACTION | oids::REFRESH => self.update(call, message),
            oids::START_TRANSACTION => {
                let started = self.directory.start_transaction(call.session, request, &message.controls);
                let (result, value) = match started {
                    Ok(identifier) => (LdapResult::success(), Some(identifier)),
                    Err(result) => (result, None),
                };
                encode::extended_response(call.out, message.id, &result, None, value.as_deref(), &[]);
                Step::Done(Answer::of(result.code, result.message))
            }
            oids::RELOAD_CONFIGURATION => self.reload(call, message, request),
            oids::REBUILD_INDEXES => self.rebuild_indexes(call, message, request),
            _ => {
                let text = "the server does not know this extended operation";
                let result = LdapResult::new(ResultCode::PROTOCOL_ERROR, text);
                encode::extended_response(call.out, message.id, &result, None, None, &[]);
                Step::Done(Answer::of(result.code, result.message))
            }
        }
    }
}

fn who_am_i(call: &mut Call<'_>, message: &Message<'_>, request: &ExtendedRequest<'_>) -> Answer {
    let refusal = match message.controls.iter().find(|control| control.critical) {
        Some(control) => {
            let text = unknown_control(control.oid);
            Some(LdapResult::new(ResultCode::UNAVAILABLE_CRITICAL_EXTENSION, text))
        }
        None if request.value.is_some() => {
            Some(LdapResult::new(ResultCode::PROTOCOL_ERROR, "a who am I request has no value"))
        }
        None => None,
    };
    if let Some(result) = refusal {
        encode::extended_response(call.out, message.id, &result, None, None, &[]);
        return Answer::of(result.code, result.message);
    }
    let who = call.session.identity.authorization_id();
    encode::extended_response(call.out, message.id, &LdapResult::success(), None, Some(who.as_bytes()), &[]);
    Answer::default()
}

/// What is said of a critical control that an extended operation does not take.
pub(super) fn unknown_control(oid: &[u8]) -> String {
    format!("control {} is critical and not supported with this operation", String::from_utf8_lossy(oid))
}
