//! The names of clients' addresses, looked up by threads of their own: a name server may take seconds to answer.
//!
//! A name counts only if it leads back to the address; whoever owns an address block can give it any name. Knows no
//! connection.

use std::net::{IpAddr, ToSocketAddrs};

use crate::pool::{Admission, Pool, PoolLimits, TURN};

/// Look-ups at once. They sleep, all of them.
const THREADS_MAX: usize = 32;
/// Look-ups that wait for a thread; further addresses stay without a name.
const QUEUE_MAX: usize = 4096;

/// See the module.
#[derive(Debug, Clone)]
pub struct HostNames {
    pool: Pool,
}

impl Default for HostNames {
    fn default() -> Self {
        let limits = PoolLimits {
            running_max: THREADS_MAX,
            queue_max: QUEUE_MAX,
            wait_max: None,
            threads_max: THREADS_MAX,
            turn: TURN,
            niceness: 0,
        };
        Self { pool: Pool::new("host-names", limits) }
    }
}

impl HostNames {
    /// Looks the name of an address up, and tells it. Tells nothing when too many wait.
    pub fn look_up(&self, address: IpAddr, told: impl FnOnce(Option<String>) + Send + 'static) {
        self.pool.submit(move |admission| {
            if let Admission::Running(turn) = admission {
                told(turn.wait(|| confirmed_name(address)));
            }
        });
    }

    /// Begins no look-up any more.
    pub fn stop(&self) {
        self.pool.stop();
    }
}

/// The name of an address, if it leads back to it.
fn confirmed_name(address: IpAddr) -> Option<String> {
    let name = dns_lookup::lookup_addr(&address).ok()?;
    // Without a name, the system gives the address as text.
    if name.parse::<IpAddr>().is_ok() {
        return None;
    }
    let mut addresses = (name.as_str(), 0).to_socket_addrs().ok()?;
    addresses.any(|found| found.ip().to_canonical() == address.to_canonical()).then_some(name)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_address_without_a_name_is_told_so() {
        let (sender, receiver) = mpsc::channel();
        let names = HostNames::default();
        // TEST-NET-1 (RFC 5737): nobody has it.
        names.look_up("192.0.2.1".parse().unwrap(), move |name| sender.send(name).unwrap());
        assert_eq!(receiver.recv_timeout(Duration::from_secs(120)).unwrap(), None);
        names.stop();
    }
}
