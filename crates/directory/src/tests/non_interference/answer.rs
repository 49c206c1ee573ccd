//! What somebody observes: the answers to a request, all of them.

use std::collections::BTreeMap;
use std::sync::mpsc;

use ldap::client::controls::VlvResponse;
use ldap::controls::PagedResults;
use ldap::oids::control;
use ldap::{ControlBuf, Controls, LdapResult, Message, Operation, ResultCode, SearchRequest, Update};

use super::request::{Kind, Request, Shape};
use super::side::Side;
use crate::search::RequestTime;
use crate::search::tests::fixture::{Collector, decode};
use crate::update::{Submitted, UpdateDone, UpdateRequest};
use crate::{Session, admission};

/// One answer: one page, one view, or all.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub code: ResultCode,
    /// Message, matched DN, referrals.
    result: (String, String, Vec<String>),
    entries: Vec<(String, BTreeMap<String, Vec<String>>)>,
    references: Vec<String>,
    controls: Vec<String>,
    unindexed: bool,
    value: Option<Vec<u8>>,
}

/// What the next page, or the next view, has to be asked for with.
#[derive(Default)]
struct Next {
    cookie: Vec<u8>,
    context: Option<Vec<u8>>,
    content_count: u32,
}

impl Answer {
    fn of(result: &LdapResult) -> Answer {
        let told = (result.message.clone(), result.matched_dn.clone(), result.referrals.clone());
        Answer {
            code: result.code,
            result: told,
            entries: Vec::new(),
            references: Vec::new(),
            controls: Vec::new(),
            unindexed: false,
            value: None,
        }
    }
}

/// Sends the request; pages are turned to the last.
pub fn observe(side: &mut Side, request: &Request) -> Vec<Answer> {
    let shape = match &request.kind {
        Kind::Search(search) => search.shape,
        _ => Shape::Whole,
    };
    let mut next = Next::default();
    match shape {
        Shape::Whole => vec![once(side, request, Vec::new(), &mut next)],
        Shape::Paged(size) => {
            let mut answers = Vec::new();
            loop {
                let page = PagedResults { size, cookie: &next.cookie }.encode();
                next.cookie.clear();
                answers.push(once(side, request, vec![ControlBuf::new(control::PAGED_RESULTS, Some(page))], &mut next));
                assert!(answers.len() < 100, "the pages do not end");
                if next.cookie.is_empty() {
                    return answers;
                }
            }
        }
        Shape::Views(places) => {
            let mut answers = Vec::new();
            for place in places {
                let view = place.view(next.content_count, next.context.clone().as_deref());
                answers.push(once(side, request, vec![view], &mut next));
            }
            answers
        }
    }
}

/// Sends a message and gives what comes back, as a connection would do it.
fn once(side: &mut Side, request: &Request, more: Vec<ControlBuf>, next: &mut Next) -> Answer {
    let bytes = request.message(more);
    let message = Message::decode(&bytes).unwrap();
    let time = RequestTime::now();
    let (mut acting, mut left) = (None, None);
    if admission::needs_admission(&message.operation, message.controls) {
        match side.it.directory.admit(&side.session, &message.operation, message.controls, time) {
            Ok(admitted) => (acting, left) = (admitted.acting, admitted.controls),
            Err(refused) => return Answer::of(&refused),
        }
    }
    let controls = left.as_ref().map_or(message.controls, |left| Controls::decode(left).unwrap());
    match &message.operation {
        Operation::Search(asked) => searched(side, acting.as_deref(), asked, controls, time, next),
        Operation::Compare(asked) => {
            let session = acting.as_deref().unwrap_or(&side.session);
            Answer::of(&side.it.directory.compare(session, asked, &controls, time))
        }
        Operation::Update(update) => updated(side, acting.as_deref(), update, controls),
        other => panic!("{other:?}"),
    }
}

fn searched(
    side: &mut Side,
    acting: Option<&Session>,
    asked: &SearchRequest<'_>,
    controls: Controls<'_>,
    time: RequestTime,
    next: &mut Next,
) -> Answer {
    let (fixture, session) = (&mut side.it, acting.unwrap_or(&side.session));
    let mut output = Collector::default();
    let done = match fixture.directory.plan_search(&mut fixture.worker, session, asked, &controls, time) {
        Ok(mut plan) => {
            plan.keep_request(asked, &controls, 3);
            let done = plan.run(&mut fixture.worker, &mut output);
            fixture.worker.recycle(plan);
            done
        }
        Err(done) => *done,
    };
    let (entries, references) = decode(&output.bytes);
    let controls = done.controls.iter().map(|control| told(control, next)).collect();
    // Which searches count as unindexed is a matter of how long the lists of indexes are.
    let unindexed = done.unindexed && !side.has_short_lists;
    Answer { entries, references, controls, unindexed, ..Answer::of(&done.result) }
}

fn updated(side: &Side, acting: Option<&Session>, update: &Update<'_>, controls: Controls<'_>) -> Answer {
    let (sender, receiver) = mpsc::channel();
    let done = Box::new(move |done: UpdateDone| drop(sender.send(done)));
    let asked = UpdateRequest { update, controls: &controls, operation: 3, message_id: 7 };
    let session = acting.unwrap_or(&side.session);
    if let Submitted::Slow(slow) = side.it.directory.submit(session, asked, done) {
        slow.run(&side.it.directory);
    }
    let done = receiver.recv().unwrap();
    let controls = done.response_controls.iter().map(|control| told(control, &mut Next::default())).collect();
    Answer { controls, value: done.response_value, ..Answer::of(&done.result) }
}

/// A control of a response as text, and what it gives to ask on with.
fn told(control: &ControlBuf, next: &mut Next) -> String {
    match &*control.oid {
        control::PAGED_RESULTS => {
            let paged = PagedResults::decode(control.value.as_deref()).unwrap();
            next.cookie.extend_from_slice(paged.cookie);
            format!("page of {}, more: {}, cookie of {}", paged.size, !paged.cookie.is_empty(), paged.cookie.len())
        }
        control::VLV_RESPONSE => {
            let told = VlvResponse::decode(control.value.as_deref()).unwrap();
            next.context = told.context.map(<[u8]>::to_vec);
            next.content_count = told.content_count;
            format!("{} of {}: {:?}", told.position, told.content_count, told.code)
        }
        _ => format!("{}: {:?}", control.oid, control.value.as_deref().map(String::from_utf8_lossy)),
    }
}
