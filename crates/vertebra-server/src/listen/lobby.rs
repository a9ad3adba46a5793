//! Connections: how many there are, and how long one may stay that nobody was let in on.
//!
//! Until the first request of a connection is let in, whoever it is is a stranger. A stranger that says nothing, or a byte
//! now and then, is shown out after a while, whatever it is in the middle of; and where there is no room, the stranger
//! that came first makes some for who comes.

use std::{
    collections::BTreeMap,
    future::Future as _,
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{Stream, stream};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::transport::server::Connected;

use super::Listener;
use crate::metrics::Counter;

/// How long it takes until somebody is listened to again when there was no file descriptor for a connection.
pub(super) const AFTER_FAILURE: Duration = Duration::from_millis(50);

/// Both ends of a connection.
pub(crate) trait Io: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

/// The connections of one listener.
#[derive(Clone)]
pub(crate) struct Lobby {
    room: Arc<Mutex<Room>>,
    most: usize,
    patience: Duration,
    /// Everybody is shown out.
    closed: CancellationToken,
    counted: Counted,
}

/// What became of connections that nobody was let in on.
#[derive(Clone, Default)]
pub(crate) struct Counted {
    /// There was no room.
    pub(crate) crowded_out: Counter,
    /// It took too long.
    pub(crate) timed_out: Counter,
}

#[derive(Default)]
struct Room {
    /// How many ever came.
    came: u64,
    present: usize,
    /// Those that nobody was let in on yet, the first to come first, and what shows each out.
    strangers: BTreeMap<u64, CancellationToken>,
}

impl Lobby {
    pub(crate) fn new(most: usize, patience: Duration, counted: Counted) -> Self {
        Self { room: Arc::default(), most, patience, closed: CancellationToken::new(), counted }
    }

    /// Shows everybody out.
    pub(crate) fn close(&self) {
        self.closed.cancel();
    }

    /// Whoever comes in, for as long as there is somebody to listen to.
    pub(crate) fn incoming(self, listener: Listener) -> impl Stream<Item = io::Result<Connection>> {
        stream::unfold((self, listener), async |(lobby, listener)| {
            loop {
                match listener.accept().await {
                    Ok((io, user)) => {
                        if let Some(connection) = lobby.enter(io, user) {
                            return Some((Ok(connection), (lobby, listener)));
                        }
                    }
                    Err(error) => {
                        tracing::warn!(%error, "nobody could be listened to");
                        sleep(AFTER_FAILURE).await;
                    }
                }
            }
        })
    }

    /// Somebody comes in, unless there is no room and everybody there was let in.
    fn enter(&self, io: Box<dyn Io>, user: Option<u32>) -> Option<Connection> {
        let mut room = lock(&self.room);
        if room.present >= self.most {
            self.counted.crowded_out.count();
            let (_, shown_out) = room.strangers.pop_first()?;
            shown_out.cancel();
        }
        room.came += 1;
        room.present += 1;
        let (number, shown_out) = (room.came, self.closed.child_token());
        room.strangers.insert(number, shown_out.clone());
        let visit = Visit { room: self.room.clone(), number, user };
        Some(Connection {
            io,
            visit,
            out: Box::pin(shown_out.cancelled_owned()),
            patience: Some(Box::pin(sleep(self.patience))),
            timed_out: self.counted.timed_out.clone(),
        })
    }
}

fn lock(room: &Mutex<Room>) -> MutexGuard<'_, Room> {
    room.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection, as the requests on it see it.
#[derive(Clone)]
pub(crate) struct Visit {
    room: Arc<Mutex<Room>>,
    number: u64,
    user: Option<u32>,
}

impl Visit {
    #[cfg(test)]
    pub(crate) fn of(user: Option<u32>) -> Self {
        Self { room: Arc::default(), number: 0, user }
    }

    /// The user that runs the process at the other end, where that can be known.
    pub(crate) fn user(&self) -> Option<u32> {
        self.user
    }

    /// A request on it was let in: it may stay.
    pub(crate) fn let_in(&self) {
        lock(&self.room).strangers.remove(&self.number);
    }

    fn is_stranger(&self) -> bool {
        lock(&self.room).strangers.contains_key(&self.number)
    }
}

/// A connection.
pub(crate) struct Connection {
    io: Box<dyn Io>,
    visit: Visit,
    out: Pin<Box<WaitForCancellationFutureOwned>>,
    /// How long somebody may still be a stranger.
    patience: Option<Pin<Box<Sleep>>>,
    timed_out: Counter,
}

impl Connection {
    /// Whether it may go on.
    fn may_stay(&mut self, cx: &mut Context<'_>) -> io::Result<&mut Box<dyn Io>> {
        if self.out.as_mut().poll(cx).is_ready() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        if let Some(patience) = &mut self.patience
            && patience.as_mut().poll(cx).is_ready()
        {
            if self.visit.is_stranger() {
                self.timed_out.count();
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.patience = None;
        }
        Ok(&mut self.io)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.visit.let_in();
        lock(&self.visit.room).present -= 1;
    }
}

impl Connected for Connection {
    type ConnectInfo = Visit;

    fn connect_info(&self) -> Visit {
        self.visit.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(self.may_stay(cx)?).poll_read(cx, to)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(self.may_stay(cx)?).poll_write(cx, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(self.may_stay(cx)?).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(self.may_stay(cx)?).poll_shutdown(cx)
    }
}
