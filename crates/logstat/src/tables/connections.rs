//! Who is behind each connection, and whether it is closed; a bounded number of them.

use std::collections::HashMap;

/// Most connections that are known at once.
const CONNECTIONS_MAX: usize = 131_072;

/// An address of version 6; the path of a socket is cut.
const CLIENT_BYTES: usize = 46;

#[derive(Debug, Clone, Copy)]
struct Connection {
    client: [u8; CLIENT_BYTES],
    client_bytes: u8,
    is_closed: bool,
}

/// The connections.
#[derive(Debug, Default)]
pub struct Connections(HashMap<u64, Connection>);

impl Connections {
    /// A client connected.
    pub fn open(&mut self, number: u64, client: &[u8]) {
        if self.0.len() >= CONNECTIONS_MAX {
            self.0.retain(|_, connection| !connection.is_closed);
            // All are open: the log lacks their ends.
            if self.0.len() >= CONNECTIONS_MAX {
                self.0.clear();
            }
        }
        let mut own = [0; CLIENT_BYTES];
        let mut bytes = 0;
        for (place, byte) in own.iter_mut().zip(client) {
            *place = *byte;
            bytes += 1;
        }
        self.0.insert(number, Connection { client: own, client_bytes: bytes, is_closed: false });
    }

    /// A connection ended; whether it was known and open.
    pub fn close(&mut self, number: u64) -> bool {
        self.0.get_mut(&number).is_some_and(|connection| !std::mem::replace(&mut connection.is_closed, true))
    }

    /// A connection whose begin the log does not have is closed.
    pub fn note_closed(&mut self, number: u64) {
        if !self.0.contains_key(&number) {
            self.open(number, b"");
        }
        self.close(number);
    }

    /// The client's address; empty where the log does not tell.
    #[must_use]
    pub fn client(&self, number: u64) -> &[u8] {
        let known = self.0.get(&number);
        known.and_then(|it| it.client.get(..usize::from(it.client_bytes))).unwrap_or_default()
    }

    /// Whether its end was logged.
    #[must_use]
    pub fn is_closed(&self, number: u64) -> bool {
        self.0.get(&number).is_some_and(|connection| connection.is_closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_known_by_number_and_bounded() {
        let mut connections = Connections::default();
        connections.open(7, b"192.0.2.9");
        assert_eq!((connections.client(7), connections.is_closed(7)), (&b"192.0.2.9"[..], false));
        assert_eq!(connections.client(8), b"");
        assert!(connections.close(7) && !connections.close(7) && connections.is_closed(7));
        connections.note_closed(9);
        assert!(connections.is_closed(9));
        connections.open(7, &[b'a'; 100]);
        assert_eq!((connections.client(7).len(), connections.is_closed(7)), (CLIENT_BYTES, false));
        for number in 100..300_000 {
            connections.open(number, b"192.0.2.9");
            assert!(connections.0.len() <= CONNECTIONS_MAX);
        }
    }
}
