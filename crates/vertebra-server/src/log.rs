//! What happened in a session, for whoever watches it: numbered, bounded, and the same for all.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;
use vertebra::RunEvent;

use crate::proto::SessionEvent;

/// The latest events of a session.
pub(crate) struct Log {
    kept: Mutex<Kept>,
    /// The number of the latest event; gone when the session is.
    latest: watch::Sender<u64>,
    max_events: usize,
    max_bytes: usize,
}

#[derive(Default)]
struct Kept {
    events: VecDeque<Arc<SessionEvent>>,
    bytes: usize,
    closed: bool,
}

/// Reads a log from somewhere on, once, in order.
pub(crate) struct Reader {
    log: Arc<Log>,
    latest: watch::Receiver<u64>,
    /// The number of the event that was read last.
    at: u64,
    /// The number of the last one that is read.
    until: Option<u64>,
}

impl Log {
    pub(crate) fn new(max_events: usize, max_bytes: usize) -> Arc<Self> {
        let latest = watch::Sender::new(0);
        Arc::new(Self { kept: Mutex::default(), latest, max_events, max_bytes })
    }

    /// The number of the latest event.
    pub(crate) fn latest(&self) -> u64 {
        *self.latest.borrow()
    }

    /// Adds an event, and says which number it has. The oldest go where there is no room.
    pub(crate) fn push(&self, event: &RunEvent) -> u64 {
        let mut value = serde_json::to_value(event).unwrap_or_default();
        let kind = value.get_mut("event").map(|kind| kind.as_str().unwrap_or_default().to_owned()).unwrap_or_default();
        let json = value.to_string();
        let mut kept = self.lock();
        let number = self.latest() + 1;
        kept.bytes += json.len();
        kept.events.push_back(Arc::new(SessionEvent { number, run_id: event.run_id.to_string(), kind, json }));
        while kept.events.len() > self.max_events || (kept.bytes > self.max_bytes && kept.events.len() > 1) {
            let gone = kept.events.pop_front().map_or(0, |event| event.json.len());
            kept.bytes -= gone;
        }
        self.latest.send_replace(number);
        number
    }

    /// Nothing more happens.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.latest.send_modify(|_| {});
    }

    /// Reads what came after this number, and what comes.
    pub(crate) fn read(self: &Arc<Self>, after: u64) -> Reader {
        Reader { log: self.clone(), latest: self.latest.subscribe(), at: after, until: None }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader {
    /// Reads nothing after this number.
    pub(crate) fn stop_after(&mut self, number: u64) {
        self.until = Some(number);
    }

    /// The next event; `None` when nothing more happens.
    pub(crate) async fn next(&mut self) -> Option<SessionEvent> {
        loop {
            if self.until.is_some_and(|until| until <= self.at) {
                return None;
            }
            if let Some(event) = self.ready() {
                self.at = event.number;
                return Some(event);
            }
            if self.log.lock().closed && self.log.latest() <= self.at {
                return None;
            }
            self.latest.changed().await.ok()?;
        }
    }

    /// The next event, if it has happened. What is gone is told in its place.
    fn ready(&mut self) -> Option<SessionEvent> {
        self.latest.mark_unchanged();
        let kept = self.log.lock();
        let first = kept.events.front()?.number;
        // A client may say any number.
        let next = self.at.saturating_add(1);
        if next < first {
            let missed = first - 1 - self.at;
            let json = serde_json::json!({ "event": "missed", "events": missed }).to_string();
            return Some(SessionEvent { number: first - 1, run_id: String::new(), kind: "missed".to_owned(), json });
        }
        let index = usize::try_from(next - first).ok()?;
        kept.events.get(index).map(|event| SessionEvent::clone(event))
    }
}

#[cfg(test)]
mod tests {
    use vertebra::News;

    use super::*;

    fn notice(text: &str) -> RunEvent {
        let news = News::Notice { kind: "test".to_owned(), message: text.to_owned() };
        RunEvent { run_id: "r".into(), agent: "a".into(), depth: 0, news }
    }

    #[tokio::test]
    async fn whoever_comes_back_reads_every_event_once_and_is_told_what_is_gone() {
        let log = Log::new(3, 1 << 20);
        for text in ["one", "two", "three", "four", "five"] {
            log.push(&notice(text));
        }
        let mut reader = log.read(1);
        let missed = reader.next().await.expect("what is gone is told");
        assert_eq!(
            (missed.kind.as_str(), missed.number, missed.json.as_str()),
            ("missed", 2, r#"{"event":"missed","events":1}"#)
        );
        for (number, text) in [(3, "three"), (4, "four"), (5, "five")] {
            let event = reader.next().await.expect("it is kept");
            assert_eq!(event.number, number);
            assert!(event.json.contains(text), "{}", event.json);
        }
        log.close();
        assert_eq!(reader.next().await, None);
    }

    #[tokio::test]
    async fn a_reader_that_waits_hears_of_what_happens_and_of_the_end() {
        let log = Log::new(10, 1 << 20);
        let mut reader = log.read(0);
        let waiting = tokio::spawn(async move { (reader.next().await.map(|event| event.number), reader.next().await) });
        tokio::task::yield_now().await;
        log.push(&notice("hello"));
        tokio::task::yield_now().await;
        log.close();
        assert_eq!(waiting.await.ok(), Some((Some(1), None)));
    }

    #[test]
    fn a_log_keeps_no_more_bytes_than_it_may() {
        let log = Log::new(1000, 1000);
        for _ in 0..100 {
            log.push(&notice(&"x".repeat(300)));
        }
        let kept = log.lock();
        assert!(kept.events.len() < 4, "{}", kept.events.len());
        assert_eq!(kept.bytes, kept.events.iter().map(|event| event.json.len()).sum::<usize>());
    }
}
