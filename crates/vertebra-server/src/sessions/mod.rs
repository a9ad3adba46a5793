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
    all: Mutex<HashMap<Arc<str>, Arc<Live>>>,
    /// A run has ended.
    rested: Arc<Notify>,
}

impl Table {
    /// Adds a session, if there is room.
    pub(crate) fn add(&self, live: Arc<Live>) {
        self.lock().insert(live.id.clone(), live);
    }

    /// Whether there is room for another session of this principal.
    pub(crate) fn has_room(&self, principal: &Principal, limits: &Limits) -> Result<(), Status> {
        let all = self.lock();
        if all.len() >= limits.sessions {
            return Err(Status::resource_exhausted(format!("{} sessions are open already", limits.sessions)));
        }
        if all.values().filter(|live| live.governance.owner == principal.name).count() >= limits.sessions_of_one {
            let message = format!("`{principal}` has {} sessions open already", limits.sessions_of_one);
            return Err(Status::resource_exhausted(message));
        }
        Ok(())
    }

    /// A session that the principal may see. To others it is not there.
    pub(crate) fn find(&self, id: &str, principal: &Principal) -> Result<Arc<Live>, Status> {
        let found = self.lock().get(id).cloned();
        let found = found.filter(|live| principal.may(&live.governance.owner));
        found.ok_or_else(|| Status::not_found(format!("there is no open session `{id}` that you may see")))
    }

    pub(crate) fn remove(&self, id: &str) {
        self.lock().remove(id);
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<Arc<Live>> {
        self.lock().values().cloned().collect()
    }

    /// Asks every run to come to rest.
    pub(crate) fn suspend_all(&self) {
        self.all().iter().for_each(|live| live.suspend());
    }

    /// How many runs are under way.
    pub(crate) fn running(&self) -> usize {
        self.lock().values().filter(|live| live.is_running()).count()
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

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Live>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
