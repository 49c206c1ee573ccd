//! Writing: once a turn, in buffers that are lent to whichever connection needs one, and the last words of a connection.

use std::time::Duration;

use ldap::{ResultCode, encode};

use crate::{
    connection::{Connection, Phase},
    engine::{End, Engine, Next},
    limits::{BUFFER_BYTES_KEPT, FAREWELL_TIME},
    log::DisconnectReason,
};

impl Engine {
    /// Tells the client that and why the connection ends.
    pub(crate) fn notice(&mut self, connection: &mut Connection, code: ResultCode, text: &str) -> End {
        if code == ResultCode::PROTOCOL_ERROR {
            self.metrics.protocol_errors.add(1);
        }
        encode::notice_of_disconnection(&mut connection.output, code, text);
        End::new(DisconnectReason::ProtocolError, text)
    }

    /// An end that the client should get to read: the last answers are sent, and what still comes in is thrown away until
    /// the client closes. Closing at once could take the answers away from it (a reset discards them).
    pub(crate) fn follow(&mut self, connection: &mut Connection, next: Next) -> Option<End> {
        let Next::End(end) = next else { return None };
        let is_farewell = matches!(end.reason, DisconnectReason::ProtocolError | DisconnectReason::MaxRequestSize);
        if is_farewell { self.say_farewell(connection, end) } else { Some(end) }
    }

    pub(crate) fn say_farewell(&mut self, connection: &mut Connection, end: End) -> Option<End> {
        if let Some(failed) = self.flush(connection) {
            return Some(failed);
        }
        if connection.is_closed_by_peer {
            return Some(end);
        }
        connection.cancel_all();
        self.log_disconnect(connection, &end);
        connection.transport.shut_down();
        connection.phase = Phase::Farewell { discarded_bytes: 0 };
        connection.input = Vec::new();
        connection.input_start = 0;
        connection.output = Vec::new();
        connection.output_start = 0;
        self.limit_time(connection, self.moment + FAREWELL_TIME, end.reason);
        None
    }

    /// Writes what waits. `Some` if the socket failed.
    pub(crate) fn flush(&mut self, connection: &mut Connection) -> Option<End> {
        if connection.held_until.is_some() {
            return None;
        }
        if connection.output_bytes() > 0 || connection.transport.has_unsent() {
            let waiting = connection.output.get(connection.output_start..).unwrap_or(&[]);
            match connection.transport.send(waiting) {
                Ok(sent) => {
                    connection.output_start += sent;
                    self.metrics.bytes_written.add(sent as u64);
                    self.note_progress(connection, sent);
                }
                Err(error) => return Some(self.transport_failed(connection, &error)),
            }
        }
        self.take_output_back(connection);
        None
    }

    fn note_progress(&mut self, connection: &mut Connection, sent: usize) {
        connection.is_blocked = connection.output_bytes() > 0 || connection.transport.has_unsent();
        if !connection.is_blocked {
            if matches!(connection.deadline, Some((_, DisconnectReason::IoTimeout))) {
                connection.deadline = None;
            }
        } else if sent > 0 || connection.deadline.is_none() {
            let patience = self
                .listeners
                .get(connection.listener)
                .map_or(Duration::from_secs(120), |settings| settings.blocked_write_time);
            if !matches!(connection.deadline, Some((_, DisconnectReason::SecurityProblem))) {
                self.limit_time(connection, self.moment + patience, DisconnectReason::IoTimeout);
            }
        }
        if connection.output_bytes() < crate::limits::OUTPUT_BYTES_HIGH {
            for operation in &mut connection.outstanding {
                if operation.unacknowledged_bytes > 0 {
                    operation.stream.sent(std::mem::take(&mut operation.unacknowledged_bytes));
                }
            }
        }
    }

    /// Gives a connection without output the loop's buffer, so that idle connections need none.
    pub(crate) fn lend_output(&mut self, connection: &mut Connection) {
        if connection.output.capacity() == 0 {
            connection.output = std::mem::take(&mut self.spare_output);
            connection.output_start = 0;
        }
    }

    fn take_output_back(&mut self, connection: &mut Connection) {
        if connection.output_bytes() > 0 {
            if connection.output_start > connection.output.len() / 2 {
                connection.output.drain(..connection.output_start);
                connection.output_start = 0;
            }
            return;
        }
        let mut buffer = std::mem::take(&mut connection.output);
        connection.output_start = 0;
        if buffer.capacity() <= BUFFER_BYTES_KEPT && buffer.capacity() > self.spare_output.capacity() {
            buffer.clear();
            self.spare_output = buffer;
        }
    }
}
