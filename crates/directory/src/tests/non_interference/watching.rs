//! Persistent searches of both directories: each is told the same, whatever happens to entries that do not show.

use ldap::client::controls;
use ldap::controls::PersistentSearch;
use ldap::oids::control;
use ldap::{Controls, DerefAliases, Message, Operation, Scope};

use super::chance::Chance;
use super::request::{Kind, Request, Search, Shape};
use super::side::{Side, Who};
use super::world::{BASE, SENTINEL, person_dn};
use crate::search::RequestTime;
use crate::search::tests::fixture::{Collector, decode};
use crate::watch::tests::{Client, Told};

/// What the sentinel says when there is nothing more to wait for.
const LAST: &str = "last";

/// Has both watched, changes them, and compares what is told.
pub fn check(chance: &mut Chance, seed: u64, who: Who, sides: &mut [Side; 2]) {
    let request = watching(chance, who, &sides[0]);
    let started = sides.each_mut().map(|side| start(side, &request));
    let clients = match started {
        [Ok((one, shown)), Ok((other, shown_by_twin))] => {
            assert_eq!(shown, shown_by_twin, "seed {seed}: {request:?}");
            [one, other]
        }
        [Err(one), Err(other)] => return assert_eq!(one, other, "seed {seed}: {request:?}"),
        [one, other] => {
            panic!("seed {seed}: only one may watch: {:?} {:?} {request:?}", one.map(|it| it.1), other.map(|it| it.1))
        }
    };
    for _ in 0..4 {
        let which = chance.below(2);
        let other = sides[which].world.with_others_hidden(chance, 5);
        sides[which].become_world(other);
        let number = chance.below(9);
        let dn = person_dn(number);
        let kind = chance.below(3);
        sides.iter().for_each(|side| side.stir(&dn, kind));
    }
    sides.iter().for_each(|side| side.move_sentinel(LAST));
    let is_last = |told: &Told| told.dn == SENTINEL && told.attributes["title"] == [LAST];
    let [one, other] = clients.map(|client| client.told_until(is_last));
    assert_eq!(one, other, "seed {seed}: {request:?}\n{}\n---- twin\n{}", sides[0].world.ldif(), sides[1].world.ldif());
}

/// A persistent search that the sentinel ends.
fn watching(chance: &mut Chance, who: Who, side: &Side) -> Request {
    let changes_only = chance.tenths(5);
    let change = PersistentSearch { change_types: 15, changes_only, return_controls: chance.tenths(8) };
    let random = loop {
        let random = Request::new(chance, &side.world, who == Who::Proxied);
        if matches!(random.kind, Kind::Search(_)) {
            break random;
        }
    };
    let Kind::Search(search) = random.kind else { unreachable!() };
    let mut controls = vec![controls::persistent_search(change)];
    controls.extend(random.controls.into_iter().filter(|it| {
        [control::PROXIED_AUTHORIZATION, control::MANAGE_DSA_IT, control::SUBENTRIES].contains(&it.oid.as_str())
    }));
    // Changes of subentries alone would leave out the sentinel.
    controls.retain(|it| it.oid != control::SUBENTRIES || *it == controls::subentries(false));
    let filter = format!("(|(uid=sentinel){})", search.filter);
    let kind = Kind::Search(Search {
        filter,
        scope: Scope::WholeSubtree,
        deref: DerefAliases::Never,
        size_limit: 0,
        types_only: false,
        attributes: &["*", "isMemberOf", "nsRole", "numSubordinates", "secretary"],
        shape: Shape::Whole,
    });
    Request { dn: BASE.to_owned(), kind, controls, ..random }
}

type Started = Result<(Client, Vec<String>), String>;

/// Begins to watch; gives what there is, or the refusal.
fn start(side: &mut Side, request: &Request) -> Started {
    let bytes = request.message(Vec::new());
    let message = Message::decode(&bytes).unwrap();
    let Operation::Search(asked) = &message.operation else { panic!("no search") };
    let (time, fixture) = (RequestTime::now(), &mut side.it);
    let admitted = fixture.directory.admit(&side.session, &message.operation, message.controls, time);
    let admitted = admitted.map_err(|refused| refused.to_string())?;
    let controls = admitted.controls.as_ref().map_or(message.controls, |left| Controls::decode(left).unwrap());
    let session = admitted.acting.as_deref().unwrap_or(&side.session);
    let plan = fixture.directory.plan_search(&mut fixture.worker, session, asked, &controls, time);
    let mut plan = plan.map_err(|done| done.result.to_string())?;
    plan.keep_request(asked, &controls, 3);
    let mut shown = Collector::default();
    let done = plan.run(&mut fixture.worker, &mut shown);
    if !done.result.is_success() {
        return Err(done.result.to_string());
    }
    let client = Client::default();
    fixture.directory.watch(plan, done, Box::new(client.clone()));
    Ok((client, decode(&shown.bytes).0.into_iter().map(|entry| format!("{entry:?}")).collect()))
}
