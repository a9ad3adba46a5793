//! Lanes: how many commands of a kind are under way at once, and who is next.
//!
//! More urgent lanes go first, and no lane waits without end for the others. In a lane the keys take turns, and under one
//! key whoever came first goes first.

mod book;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use self::book::{Book, Next};
use crate::limits::Limits;

/// A kind of command, most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Lane {
    /// What ends or answers something.
    Control,
    /// What looks.
    Query,
    /// What tries hooks.
    Execute,
    /// What asks models.
    Generate,
}

impl Lane {
    /// All of them, most urgent first.
    pub const ALL: [Self; 4] = [Self::Control, Self::Query, Self::Execute, Self::Generate];
}

/// The lanes of a server.
pub(crate) struct Lanes(Arc<Mutex<Book<oneshot::Sender<Permit>>>>);

/// The lane is full.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl Lanes {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self(Arc::new(Mutex::new(Book::new(limits))))
    }

    /// Waits for a place in a lane. Whoever stops waiting has left the queue.
    pub(crate) async fn enter(&self, lane: Lane, key: &str) -> Result<Permit, Full> {
        let key: Arc<str> = key.into();
        let (called, call) = oneshot::channel();
        let ticket = self.change(|book| book.may_join(lane, &key).then(|| book.join(lane, &key, called)));
        let ticket = ticket.ok_or(Full)?;
        let _waiting = Waiting { lanes: self, lane, key, ticket };
        // The book holds the other end until it calls.
        call.await.map_err(|_| Full)
    }

    /// How many wait in a lane.
    pub(crate) fn waiting(&self, lane: Lane) -> usize {
        self.lock().waiting(lane)
    }

    /// How many are under way in a lane.
    pub(crate) fn under_way(&self, lane: Lane) -> usize {
        self.lock().under_way(lane)
    }

    /// Changes something, and calls everybody who can go then: whenever nobody changes anything, nobody who waits could go.
    fn change<T>(&self, change: impl FnOnce(&mut Book<oneshot::Sender<Permit>>) -> T) -> T {
        let (done, called) = {
            let mut book = self.lock();
            let done = change(&mut book);
            (done, std::iter::from_fn(|| book.next()).collect::<Vec<_>>())
        };
        for Next { lane, key, who } in called {
            // Whoever is gone meanwhile gives the place back, as the permit is dropped.
            let _ = who.send(Permit { lanes: Self(self.0.clone()), lane, key });
        }
        done
    }

    fn lock(&self) -> MutexGuard<'_, Book<oneshot::Sender<Permit>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in a lane, until it is dropped.
pub(crate) struct Permit {
    lanes: Lanes,
    lane: Lane,
    key: Arc<str>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.lanes.change(|book| book.leave(self.lane, &self.key));
    }
}

/// A place in a queue, until it is dropped.
struct Waiting<'l> {
    lanes: &'l Lanes,
    lane: Lane,
    key: Arc<str>,
    ticket: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.lanes.change(|book| book.quit(self.lane, &self.key, self.ticket));
    }
}
