//! What the operations of one event loop share: the directory, the pools, the words of an answer.

use std::sync::Arc;
use std::time::Duration;

use directory::{Directory, RequestTime, Worker};
use ldap::{ControlBuf, LdapResult, encode};
use runtime::host_names::HostNames;
use runtime::pool::{Pool, PoolLimits, TURN};

use crate::administration::Administration;
use crate::answer::Answer;
use crate::executor::Call;
use crate::notifications::Notifications;
use crate::password_servers::PasswordServers;
use crate::refusal::Refusal;
use crate::remote::Encode;

/// Most searches that wait for a place in their pool, for each place. Further ones are answered with `busy`.
const QUEUE_PER_PLACE: usize = 128;

/// How long a password waits to be checked. Clients give up after 5 to 30 seconds, and what is computed after that is
/// wasted: with Argon2 at 40 ms, 125 wait for each core, and 1,000 parallel logins find room on eight cores.
const HASH_WAIT_MAX: Duration = Duration::from_secs(5);

/// Most passwords that wait, however fast they are checked: each holds a request in memory.
const HASHES_WAIT_MAX: usize = 16_384;

/// Threads of the search pool for each place: those beyond the places wait for slow clients or for their turn, asleep.
const SEARCH_THREADS_PER_PLACE: usize = 64;

/// Niceness of the threads that run long searches: at 10 they get a tenth of a core that an event loop wants, too.
const SEARCH_NICENESS: i32 = 10;

/// Niceness of the threads that check passwords: before long searches, behind the event loops.
const HASH_NICENESS: i32 = 5;

/// Requests that wait to be compared with proposed access control instructions. Further ones are counted only.
const SHADOW_QUEUE: usize = 512;

/// Niceness of the thread that compares them: behind everything else.
const SHADOW_NICENESS: i32 = 15;

/// The pools that all loops share: one for each kind of work, so that a bind never waits for a search.
#[derive(Debug, Clone)]
pub(crate) struct Pools {
    pub(crate) search: Pool,
    pub(crate) hash: Pool,
    /// Compares requests with proposed access control instructions.
    pub(crate) shadow: Pool,
    pub(crate) host_names: HostNames,
}

impl Pools {
    /// One place for each core in each pool.
    pub(crate) fn new(cores: usize) -> Self {
        let cores = cores.max(1);
        let limits = PoolLimits {
            running_max: cores,
            queue_max: HASHES_WAIT_MAX,
            wait_max: Some(HASH_WAIT_MAX),
            threads_max: cores,
            turn: TURN,
            niceness: HASH_NICENESS,
        };
        let searches = PoolLimits {
            queue_max: cores * QUEUE_PER_PLACE,
            wait_max: None,
            threads_max: cores * SEARCH_THREADS_PER_PLACE,
            niceness: SEARCH_NICENESS,
            ..limits
        };
        let shadow = PoolLimits {
            running_max: 1,
            queue_max: SHADOW_QUEUE,
            wait_max: None,
            threads_max: 1,
            niceness: SHADOW_NICENESS,
            ..limits
        };
        Self {
            search: Pool::new("search", searches),
            hash: Pool::new("hash", limits),
            shadow: Pool::new("shadow", shadow),
            host_names: HostNames::default(),
        }
    }

    pub(crate) fn stop(&self) {
        self.search.stop();
        self.hash.stop();
        self.shadow.stop();
        self.host_names.stop();
    }
}

/// Executes requests for one loop.
pub(crate) struct DirectoryExecutor {
    pub(super) directory: Arc<Directory>,
    pub(super) pools: Pools,
    pub(super) administration: Arc<Administration>,
    pub(super) notifications: Arc<Notifications>,
    pub(super) password_servers: Arc<PasswordServers>,
    /// What the directory keeps between operations. Gone after a panic, and then made anew.
    pub(super) worker: Option<Box<Worker>>,
}

impl DirectoryExecutor {
    pub(crate) fn new(
        directory: Arc<Directory>,
        pools: Pools,
        administration: Arc<Administration>,
        notifications: Arc<Notifications>,
        password_servers: Arc<PasswordServers>,
    ) -> Self {
        Self { directory, pools, administration, notifications, password_servers, worker: None }
    }
}

pub(super) fn time_of(call: &Call<'_>) -> RequestTime {
    RequestTime { started: call.begun, unix_seconds: call.unix_seconds }
}

/// Writes a result as the response, and makes the answer to be logged of it.
pub(super) fn write_result(
    out: &mut Vec<u8>,
    id: i32,
    tag: ber::Tag,
    result: LdapResult,
    controls: &[ControlBuf],
) -> Answer {
    if result.is_success() && result.message.is_empty() && result.matched_dn.is_empty() && controls.is_empty() {
        encode::success(out, id, tag);
    } else {
        encode::result(out, id, tag, &result, controls);
    }
    Answer { code: result.code, message: result.message, response_controls: oids_of(controls), ..Answer::default() }
}

pub(super) fn oids_of(controls: &[ControlBuf]) -> String {
    let oids: Vec<&str> = controls.iter().map(|control| control.oid.as_str()).collect();
    oids.join(",")
}

/// The answer in case a job is lost by a defect.
pub(super) fn on_loss(id: i32, tag: ber::Tag) -> Encode {
    Box::new(move |out| write_result(out, id, tag, Refusal::Defect.into(), &[]))
}
