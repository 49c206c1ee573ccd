//! Writing: once a turn, in buffers that are lent to whichever connection needs one.

use std::time::Duration;

use crate::connection::Connection;
use crate::end::{End, EndReason};
use crate::limits::BUFFER_BYTES_KEPT;
use crate::loop_core::Core;

impl Core {
    /// Writes what waits. `Some` if the socket failed.
    pub fn flush<S>(&mut self, connection: &mut Connection<S>) -> Option<End> {
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

    fn note_progress<S>(&mut self, connection: &mut Connection<S>, sent: usize) {
        connection.is_blocked = connection.output_bytes() > 0 || connection.transport.has_unsent();
        if !connection.is_blocked {
            if matches!(connection.deadline, Some((_, EndReason::IoTimeout))) {
                connection.deadline = None;
            }
        } else if sent > 0 || connection.deadline.is_none() {
            let patience = self
                .listeners
                .get(connection.listener)
                .map_or(Duration::from_secs(120), |settings| settings.blocked_write_time);
            if !matches!(connection.deadline, Some((_, EndReason::SecurityProblem))) {
                self.limit_time(connection, self.moment + patience, EndReason::IoTimeout);
            }
        }
    }

    /// Gives a connection without output the loop's buffer, so that idle connections need none.
    #[inline]
    pub fn lend_output<S>(&mut self, connection: &mut Connection<S>) {
        if connection.output.capacity() == 0 {
            connection.output = std::mem::take(&mut self.spare_output);
            connection.output_start = 0;
        }
    }

    fn take_output_back<S>(&mut self, connection: &mut Connection<S>) {
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
