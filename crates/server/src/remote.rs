//! The way back of an operation that was given to another thread: parts of its answer, its end, and how much of it the
//! client has not taken yet.

use std::sync::Arc;

use runtime::backlog::Backlog;
use runtime::connection::ConnectionAddress;
use runtime::mailbox::Mailbox;

use crate::answer::Answer;

/// Writes a response into a connection's output; runs on the loop that owns the connection.
pub(crate) type Encode = Box<dyn FnOnce(&mut Vec<u8>) -> Answer + Send>;

/// Part of an operation's answer, or its end.
pub(crate) struct LdapMail {
    /// Number of the request on its connection.
    pub(crate) operation: u64,
    pub(crate) news: News,
}

/// See [`LdapMail`].
pub(crate) enum News {
    /// Part of the answer, and where it ends.
    Chunk(Vec<u8>, ChunkEnd),
    /// The operation ended.
    Finished(Encode),
    /// The name of the client's host is known: it belongs to no operation.
    HostName,
    /// An administrator ends the connection; with a message, the client is told.
    Disconnect { message: Option<String> },
}

/// Which operation of which connection a way back is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OperationAddress {
    pub(crate) connection: ConnectionAddress,
    pub(crate) operation: u64,
}

/// Where a chunk ends. Messages of one connection must not be mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChunkEnd {
    /// With a message.
    Whole,
    /// Within one: nothing else may be sent before the next chunk of the same operation.
    Within,
}

/// A job's way back to the client. Dropped without `finish`, it answers that the operation failed.
pub(crate) struct Remote {
    mailbox: Arc<Mailbox<LdapMail>>,
    address: OperationAddress,
    backlog: Arc<Backlog>,
    on_loss: Option<Encode>,
}

impl Remote {
    pub(crate) fn new(
        mailbox: Arc<Mailbox<LdapMail>>,
        address: OperationAddress,
        backlog: Arc<Backlog>,
        on_loss: Encode,
    ) -> Self {
        Self { mailbox, address, backlog, on_loss: Some(on_loss) }
    }

    /// Sends part of the answer.
    pub(crate) fn chunk(&self, bytes: Vec<u8>, end: ChunkEnd) {
        self.backlog.add(bytes.len());
        self.send(News::Chunk(bytes, end));
    }

    /// Ends the operation.
    pub(crate) fn finish(mut self, encode: impl FnOnce(&mut Vec<u8>) -> Answer + Send + 'static) {
        self.on_loss = None;
        self.send(News::Finished(Box::new(encode)));
    }

    pub(crate) fn backlog(&self) -> &Arc<Backlog> {
        &self.backlog
    }

    fn send(&self, news: News) {
        self.mailbox.send(self.address.connection, LdapMail { operation: self.address.operation, news });
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        if let Some(encode) = self.on_loss.take() {
            self.send(News::Finished(encode));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_job_is_answered() {
        let poll = mio::Poll::new().unwrap();
        let mailbox = Arc::new(Mailbox::new(mio::Waker::new(poll.registry(), mio::Token(0)).unwrap()));
        let address = OperationAddress { connection: ConnectionAddress::new(1, 2), operation: 3 };
        let failed = |out: &mut Vec<u8>| {
            out.push(80);
            Answer::default()
        };
        drop(Remote::new(Arc::clone(&mailbox), address, Arc::default(), Box::new(failed)));
        let kept = Remote::new(Arc::clone(&mailbox), address, Arc::default(), Box::new(failed));
        kept.chunk(vec![1; 10], ChunkEnd::Whole);
        assert_eq!(kept.backlog().unsent(), 10);
        kept.finish(|out| {
            out.push(0);
            Answer::default()
        });
        let mut out = Vec::new();
        for (connection, mail) in mailbox.take_sent() {
            assert_eq!((connection, mail.operation), (address.connection, 3));
            match mail.news {
                News::Chunk(bytes, _) => out.extend(bytes),
                News::Finished(encode) => drop(encode(&mut out)),
                News::HostName | News::Disconnect { .. } => {}
            }
        }
        assert_eq!(out, [80, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0]);
    }
}
