//! Sessions that are open here, and the service that opens them.

mod live;
pub(crate) mod service;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::future::join_all;
use tokio::sync::Notify;
use tonic::Status;

pub(crate) use self::live::Live;
use crate::{door::Principal, limits::Limits};

/// The sessions that are open.
#[derive(Default)]
pub(crate) struct Table {
    all: Mutex<All>,
    /// A run has ended.
    rested: Arc<Notify>,
}

#[derive(Default)]
struct All {
    open: HashMap<Arc<str>, Arc<Live>>,
    /// The owners of those that are being opened.
    opening: Vec<Arc<str>>,
}

impl Table {
    /// A place for another session of this principal, if there is room.
    pub(crate) fn place(&self, principal: &Principal, limits: &Limits) -> Result<Place<'_>, Status> {
        let mut all = self.lock();
        let owners = || all.open.values().map(|live| &live.governance.owner).chain(&all.opening);
        if owners().count() >= limits.sessions {
            return Err(Status::resource_exhausted(format!("{} sessions are open already", limits.sessions)));
        }
        if owners().filter(|owner| **owner == principal.name).count() >= limits.sessions_of_one {
            let message = format!("`{principal}` has {} sessions open already", limits.sessions_of_one);
            return Err(Status::resource_exhausted(message));
        }
        all.opening.push(principal.name.clone());
        Ok(Place { table: self, owner: principal.name.clone() })
    }

    /// Puts a session in the place that was kept for it.
    pub(crate) fn add(&self, live: Arc<Live>, place: Place<'_>) {
        self.lock().open.insert(live.id.clone(), live);
        drop(place);
    }

    /// A session that the principal may see. To others it is not there.
    pub(crate) fn find(&self, id: &str, principal: &Principal) -> Result<Arc<Live>, Status> {
        let found = self.lock().open.get(id).cloned();
        let found = found.filter(|live| principal.may(&live.governance.owner));
        found.ok_or_else(|| Status::not_found(format!("there is no open session `{id}` that you may see")))
    }

    pub(crate) fn remove(&self, id: &str) {
        self.lock().open.remove(id);
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<Arc<Live>> {
        self.lock().open.values().cloned().collect()
    }

    /// Asks every run to come to rest.
    pub(crate) fn suspend_all(&self) {
        self.all().iter().for_each(|live| live.suspend());
    }

    /// How many runs are under way.
    pub(crate) fn running(&self) -> usize {
        self.lock().open.values().filter(|live| live.is_running()).count()
    }

    /// Waits until no run is under way.
    pub(crate) async fn at_rest(&self) {
        loop {
            let rested = self.rested.notified();
            if self.running() == 0 {
                return;
            }
            rested.await;
        }
    }

    /// Leaves all sessions that are at rest to whoever resumes them.
    pub(crate) async fn leave_all(&self) {
        join_all(self.all().iter().map(|live| live.leave())).await;
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place that is kept for a session while it is being opened.
pub(crate) struct Place<'t> {
    table: &'t Table,
    owner: Arc<str>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let opening = &mut self.table.lock().opening;
        if let Some(at) = opening.iter().position(|owner| *owner == self.owner) {
            opening.swap_remove(at);
        }
    }
}
