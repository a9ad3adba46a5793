//! What waits to be read by a client: bounded in frames and in bytes.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::{Stream, stream};
use tokio::sync::mpsc;
use tonic::Status;

use crate::proto::{ServerFrame, server_frame::Frame};

/// The end that the server writes to.
#[derive(Clone)]
pub(crate) struct Outbox {
    frames: mpsc::Sender<Result<ServerFrame, Status>>,
    /// Bytes of events that nobody has read.
    unread: Arc<AtomicUsize>,
    most: usize,
}

/// There is no room: the client does not read.
#[derive(Debug)]
pub(crate) struct Unread;

/// An outbox for so many frames and bytes, and what comes out of it.
pub(crate) fn outbox(frames: usize, bytes: usize) -> (Outbox, impl Stream<Item = Result<ServerFrame, Status>>) {
    let (sender, receiver) = mpsc::channel(frames);
    let unread = Arc::new(AtomicUsize::new(0));
    let taken = unread.clone();
    let read = stream::unfold((receiver, taken), async |(mut receiver, taken)| {
        let frame: Result<ServerFrame, Status> = receiver.recv().await?;
        taken.fetch_sub(frame.as_ref().map_or(0, weight), Ordering::Relaxed);
        Some((frame, (receiver, taken)))
    });
    (Outbox { frames: sender, unread, most: bytes }, read)
}

impl Outbox {
    /// Puts a frame in, if there is room for it. Into one that nobody reads from any more goes everything.
    pub(super) fn offer(&self, frame: Frame) -> Result<(), Unread> {
        let frame = ServerFrame { frame: Some(frame) };
        let weight = weight(&frame);
        if self.unread.fetch_add(weight, Ordering::Relaxed) + weight > self.most {
            self.unread.fetch_sub(weight, Ordering::Relaxed);
            return Err(Unread);
        }
        match self.frames.try_send(Ok(frame)) {
            Err(mpsc::error::TrySendError::Full(_)) => {
                self.unread.fetch_sub(weight, Ordering::Relaxed);
                Err(Unread)
            }
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => Ok(()),
        }
    }

    /// Puts the answer to a request in, and waits until there is room: who does not read is not heard either.
    pub(super) async fn answer(&self, frame: Frame) {
        // Nobody reads answers of a connection that is gone.
        let _ = self.frames.send(Ok(ServerFrame { frame: Some(frame) })).await;
    }

    /// Says why nothing more comes.
    pub(super) fn end(&self, why: Status) {
        let _ = self.frames.try_send(Err(why));
    }
}

fn weight(frame: &ServerFrame) -> usize {
    match &frame.frame {
        Some(Frame::Event(event)) => event.json.len(),
        _ => 0,
    }
}
