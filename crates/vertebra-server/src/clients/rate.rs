//! How many registrations of a principal may be refused: reading a hook costs, also one that does not stand in the end.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::time::Instant;

use crate::limits::Refused;

/// The refused registrations of each principal.
pub(crate) struct Rates {
    limit: Refused,
    by_principal: Mutex<HashMap<Arc<str>, Rate>>,
}

/// How many more may be refused at a moment.
struct Rate {
    left: u32,
    at: Instant,
}

impl Rates {
    pub(crate) fn new(limit: Refused) -> Self {
        Self { limit, by_principal: Mutex::default() }
    }

    /// Whether a registration is read at all.
    pub(crate) fn admit(&self, principal: &str) -> Result<(), String> {
        let mut rates = self.lock();
        let Some(rate) = rates.get_mut(principal) else { return Ok(()) };
        self.refill(rate);
        if rate.left == 0 {
            let wait = self.limit.every.saturating_sub(rate.at.elapsed()).as_millis();
            return Err(format!("too many of your registrations were refused; try again in {wait} ms"));
        }
        Ok(())
    }

    /// Counts a registration that was refused.
    pub(crate) fn refused(&self, principal: &Arc<str>) {
        let mut rates = self.lock();
        rates.retain(|_, rate| {
            self.refill(rate);
            rate.left < self.limit.at_once
        });
        let full = Rate { left: self.limit.at_once, at: Instant::now() };
        let rate = rates.entry(principal.clone()).or_insert(full);
        rate.left = rate.left.saturating_sub(1);
    }

    fn refill(&self, rate: &mut Rate) {
        let every = self.limit.every.as_nanos().max(1);
        let times = u32::try_from(rate.at.elapsed().as_nanos() / every).unwrap_or(u32::MAX);
        if times > 0 {
            rate.left = rate.left.saturating_add(times).min(self.limit.at_once);
            rate.at = Instant::now();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Rate>> {
        self.by_principal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn refused_registrations_are_counted_for_each_principal_and_forgiven_with_time() {
        let rates = Rates::new(Refused { at_once: 2, every: Duration::from_secs(1) });
        let (one, other): (Arc<str>, Arc<str>) = ("one".into(), "other".into());
        rates.refused(&one);
        assert_eq!(rates.admit(&one), Ok(()));
        rates.refused(&one);
        let wait = "too many of your registrations were refused; try again in 1000 ms".to_owned();
        assert_eq!(rates.admit(&one), Err(wait));
        assert_eq!(rates.admit(&other), Ok(()));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(rates.admit(&one), Ok(()));
        rates.refused(&one);
        assert!(rates.admit(&one).is_err());
        tokio::time::advance(Duration::from_secs(5)).await;
        rates.refused(&other);
        assert_eq!(rates.lock().len(), 1, "a principal with nothing to forgive is not kept");
    }
}
