//! A model that plays a recording.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;
use vertebra::{Deltas, Halted, Model, ModelError, ModelId, Request, Response};

use super::{
    CassetteError,
    difference::Difference,
    tape::{self, Exchange, Outcome, Piece, Recording},
    wording::{self, Rewrite, Wording},
};
use crate::Secret;

/// A recording as a model. A clone is another handle to the same recording.
///
/// Each request must be one that was recorded, and is answered as that one was, piece by piece. Agents that work side by
/// side may ask in another order than they did: what counts is what is asked, and of equal requests the earliest is
/// played first. Any other request is rejected, with the first difference to the one that was due.
#[derive(Clone)]
pub struct Player {
    reel: Arc<Reel>,
    /// The parts of requests, as they are compared.
    parts: Arc<Vec<Value>>,
    wording: Wording,
    normal: Vec<Arc<Rewrite>>,
}

struct Reel {
    path: PathBuf,
    model: ModelId,
    exchanges: Mutex<Vec<Slot>>,
}

struct Slot {
    line: usize,
    /// None once it was played.
    exchange: Option<Exchange>,
}

impl Player {
    /// Plays this file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CassetteError> {
        let path = path.as_ref().to_owned();
        let Recording { model, parts, exchanges } = tape::read(&path)?;
        let slots = exchanges.into_iter().map(|(line, exchange)| Slot { line, exchange: Some(exchange) }).collect();
        let reel = Arc::new(Reel { path, model, exchanges: Mutex::new(slots) });
        Ok(Self { reel, parts: Arc::new(parts), wording: Wording::default(), normal: Vec::new() })
    }

    /// See [`Recorder::secret`](super::Recorder::secret): where it is in a request, it is recorded as hidden.
    #[must_use]
    pub fn secret(mut self, secret: &Secret) -> Self {
        self.wording.secret(secret);
        self
    }

    /// See [`Recorder::redact`](super::Recorder::redact): what was recorded redacted is asked redacted.
    #[must_use]
    pub fn redact(mut self, redact: impl for<'t> Fn(&'t str) -> Cow<'t, str> + Send + Sync + 'static) -> Self {
        self.wording.redact(Arc::new(redact));
        self
    }

    /// What the recording calls `name` is `here`, in requests and in answers.
    #[must_use]
    pub fn place(mut self, name: &str, here: &str) -> Self {
        self.wording.place(name, here);
        self
    }

    /// Compares requests after this has changed every text in both: to make times and the like equal.
    #[must_use]
    pub fn normalise(mut self, normal: impl for<'t> Fn(&'t str) -> Cow<'t, str> + Send + Sync + 'static) -> Self {
        let normal: Arc<Rewrite> = Arc::new(normal);
        for part in Arc::make_mut(&mut self.parts) {
            normalise(part, &normal);
        }
        self.normal.push(normal);
        self
    }

    /// How many exchanges have not been played.
    pub fn left(&self) -> usize {
        self.reel.left()
    }

    /// Checks that all of the recording was played.
    ///
    /// # Panics
    ///
    /// If it was not.
    pub fn assert_played(&self) {
        let left = self.left();
        assert!(left == 0, "{left} exchanges of {} were not played", self.reel.path.display());
    }

    fn take(&self, request: &Request) -> Result<Exchange, ModelError> {
        let mut asked = tape::asked(request, &self.wording);
        for normal in &self.normal {
            normalise(&mut asked, normal);
        }
        let mut slots = self.reel.slots();
        let mut unplayed = slots.iter_mut().map(|slot| &mut slot.exchange);
        let due = unplayed.find_map(|exchange| exchange.take_if(|exchange| self.is(exchange, &asked)));
        due.ok_or_else(|| ModelError::Rejected { message: self.why_not(&slots, &asked) })
    }

    fn is(&self, exchange: &Exchange, asked: &Value) -> bool {
        tape::is(&self.folded(exchange), &self.parts, asked)
    }

    /// The request of an exchange, as it is compared. Its parts are that already.
    fn folded<'e>(&self, exchange: &'e Exchange) -> Cow<'e, Value> {
        let mut request = Cow::Borrowed(&exchange.request);
        for normal in &self.normal {
            normalise(request.to_mut(), normal);
        }
        request
    }

    fn why_not(&self, slots: &[Slot], asked: &Value) -> String {
        let path = self.reel.path.display();
        let recorded = |slot: &Slot| {
            let folded = self.folded(slot.exchange.as_ref()?).into_owned();
            Some((slot.line, tape::unfolded(folded, &self.parts)))
        };
        // With agents side by side the next one in the file may be another's: the same task is the better guess.
        let same_task = |(_, recorded): &(usize, Value)| {
            ["/model", "/system_prompt", "/messages/0"].iter().all(|at| recorded.pointer(at) == asked.pointer(at))
        };
        let unplayed = || slots.iter().filter_map(recorded);
        let Some((line, due)) = unplayed().find(same_task).or_else(|| unplayed().next()) else {
            return format!("{path} has been played to its end, and one more request came");
        };
        match Difference::first(&due, asked) {
            Some(difference) => format!("the request is not the one recorded in {path}:{line}\n{difference}"),
            None => format!("the request is the one recorded in {path}:{line}"),
        }
    }

    async fn play(&self, pieces: &[Piece], out: &mut Deltas<'_>) -> Result<(), Halted> {
        for piece in pieces {
            match piece {
                Piece::Text(text) => out.text(text).await?,
                Piece::Reasoning(text) => out.reasoning(text).await?,
                Piece::Call { index, tool, text } => out.call(*index, tool, text).await?,
            }
        }
        Ok(())
    }
}

fn normalise(value: &mut Value, normal: &Arc<Rewrite>) {
    wording::in_value(value, &|text| normal(text).into_owned().into());
}

impl Model for Player {
    fn id(&self) -> ModelId {
        self.reel.model.clone()
    }

    async fn infer(&self, request: &Request, out: &mut Deltas<'_>) -> Result<Response, ModelError> {
        let Exchange { pieces, outcome, .. } = self.take(request)?;
        let pieces = wording::in_pieces(pieces, &|text| self.wording.spoken(text));
        // Whoever halts the stream has the answer cut by the runtime, as with any driver.
        let _ = self.play(&pieces, out).await;
        match outcome {
            Outcome::Response(mut response) => {
                wording::in_value(&mut response, &|text| self.wording.spoken(text));
                serde_json::from_value(response).map_err(|error| {
                    let path = self.reel.path.display();
                    ModelError::Rejected { message: format!("{path} holds an answer that is none: {error}") }
                })
            }
            Outcome::Error(failure) => Err(failure.into()),
            Outcome::Cancelled => {
                Err(ModelError::Broken { message: "it was cancelled when it was recorded".to_owned() })
            }
        }
    }
}

impl Reel {
    fn slots(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.exchanges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn left(&self) -> usize {
        self.slots().iter().filter(|slot| slot.exchange.is_some()).count()
    }
}

impl Drop for Reel {
    fn drop(&mut self) {
        let left = self.left();
        if left > 0 {
            tracing::warn!("{left} exchanges of {} were not played", self.path.display());
        }
    }
}
