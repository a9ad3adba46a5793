//! Telemetry: a run as OpenTelemetry traces and metrics, made of the lines of its journal.
//!
//! Every effect of a run passes its journal, so whoever reads along sees all of it: [`Traced`] hands each line to the
//! journal it stands before, and tells a collector. Nothing waits for the collector, and nothing fails with it.
//!
//! ```no_run
//! use std::time::Duration;
//! use vertebra::{Agent, NoJournal, testing::Script};
//! use vertebra_journal::telemetry::{Settings, Telemetry};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let telemetry = Telemetry::start(&Settings::to("http://localhost:4318")?)?;
//! let agent = Agent::builder(Script::new().say("hello")).journal(telemetry.beside(NoJournal)).build()?;
//! agent.run("hi").await?;
//! let delivered = telemetry.finish(Duration::from_secs(2)).await;
//! # Ok(())
//! # }
//! ```

mod content;
mod delivery;
mod dispatch;
mod meters;
mod names;
mod settings;
mod span;
mod track;
mod tracks;
mod words;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use opentelemetry::{metrics::MeterProvider as _, trace::TracerProvider as _};
use opentelemetry_sdk::trace::SdkTracer;
use vertebra::{Entry, Journal, JournalError};

use self::{delivery::Ways, meters::Meters, tracks::Tracks};
pub use self::{
    delivery::{Delivered, StartError},
    settings::{Settings, SettingsError},
};

/// Telemetry that is on. A clone is the same.
#[derive(Clone)]
pub struct Telemetry(Arc<Inner>);

struct Inner {
    instruments: Instruments,
    tracks: Mutex<Tracks>,
    ways: Ways,
}

/// What spans and metrics are made with.
struct Instruments {
    tracer: SdkTracer,
    meters: Meters,
    contents: bool,
}

impl Telemetry {
    /// Starts the threads that export. No connection is made before there is something to say.
    pub fn start(settings: &Settings) -> Result<Self, StartError> {
        let ways = Ways::open(settings)?;
        let tracer = ways.traces.tracer("vertebra");
        let meters = Meters::new(&ways.metrics.meter("vertebra"));
        let instruments = Instruments { tracer, meters, contents: settings.contents };
        Ok(Self(Arc::new(Inner { instruments, tracks: Mutex::default(), ways })))
    }

    /// The same journal, with telemetry beside it.
    pub fn beside<J: Journal>(&self, journal: J) -> Traced<J> {
        Traced { journal, telemetry: self.clone() }
    }

    /// Ends what is open and sends what is left, and waits for that no longer than this. Nothing is exported afterwards.
    pub async fn finish(&self, within: Duration) -> Delivered {
        self.tracks().close_all(SystemTime::now());
        let (done, ended) = tokio::sync::oneshot::channel();
        self.0.ways.close(within, move || {
            // Nobody listens if it took too long.
            let _ = done.send(());
        });
        let in_time = tokio::time::timeout(within, ended).await.is_ok();
        let mut delivered = self.0.ways.tally.so_far();
        if delivered.lost > 0 && delivered.problem.is_none() {
            let full = "more came at once than the queue holds (OTEL_BSP_MAX_QUEUE_SIZE)".to_owned();
            delivered.problem = Some(if in_time { full } else { format!("it did not answer within {within:?}") });
        }
        delivered
    }

    fn tracks(&self) -> MutexGuard<'_, Tracks> {
        self.0.tracks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A journal with telemetry beside it: see [`Telemetry::beside`].
#[derive(Clone)]
pub struct Traced<J> {
    journal: J,
    telemetry: Telemetry,
}

impl<J: Journal> Journal for Traced<J> {
    async fn append(&self, entry: Entry) -> Result<(), JournalError> {
        let instruments = &self.telemetry.0.instruments;
        self.telemetry.tracks().line(instruments, &entry);
        let (kind, began) = (entry.what.kind(), Instant::now());
        let result = self.journal.append(entry).await;
        instruments.meters.append(kind, began.elapsed(), &result);
        result
    }

    async fn claim(&self, session_id: &str) -> Result<Vec<Entry>, JournalError> {
        let lines = self.journal.claim(session_id).await?;
        self.telemetry.tracks().claimed(session_id, &lines);
        Ok(lines)
    }

    async fn release(&self, session_id: &str) -> Result<(), JournalError> {
        let released = self.journal.release(session_id).await;
        self.telemetry.tracks().close(session_id, SystemTime::now());
        released
    }
}
