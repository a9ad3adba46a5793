//! A model that is recorded.

use std::{
    borrow::Cow,
    mem::take,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use vertebra::{CallInSight, Channel, DeltaReader, Deltas, Halted, Model, ModelError, ModelId, Request, Response};

use super::{
    CassetteError,
    tape::{self, Exchange, Failure, Outcome, Piece, Tape},
    wording::{self, Wording},
};
use crate::Secret;

/// Another model, recorded into a file. Each exchange is in the file as soon as it has ended.
pub struct Recorder<M> {
    model: M,
    wording: Wording,
    tape: Mutex<Tape>,
}

impl<M: Model> Recorder<M> {
    /// Records this model into a new file.
    pub fn new(model: M, path: impl AsRef<Path>) -> Result<Self, CassetteError> {
        let tape = Mutex::new(Tape::create(path.as_ref(), model.id())?);
        Ok(Self { model, wording: Wording::default(), tape })
    }

    /// Keeps this out of the file.
    #[must_use]
    pub fn secret(mut self, secret: &Secret) -> Self {
        self.wording.secret(secret);
        self
    }

    /// Writes every text as this makes it: without what looks like a secret.
    #[must_use]
    pub fn redact(mut self, redact: impl for<'t> Fn(&'t str) -> Cow<'t, str> + Send + Sync + 'static) -> Self {
        self.wording.redact(Arc::new(redact));
        self
    }

    /// Writes `name` for what is `here` and elsewhere when it is played: the folder that is worked in.
    #[must_use]
    pub fn place(mut self, name: &str, here: &str) -> Self {
        self.wording.place(name, here);
        self
    }
}

impl<M: Model> Model for Recorder<M> {
    fn id(&self) -> ModelId {
        self.model.id()
    }

    async fn infer(&self, request: &Request, out: &mut Deltas<'_>) -> Result<Response, ModelError> {
        let heard = Mutex::default();
        let open = Open { wording: &self.wording, tape: &self.tape, request, heard: &heard, ended: false };
        let answer = self.model.infer(request, &mut Deltas::to(&mut Ear { out, heard: &heard })).await;
        let outcome = match &answer {
            Ok(response) => Outcome::Response(serde_json::to_value(response).unwrap_or_default()),
            Err(error) => Outcome::Error(error.clone().into()),
        };
        // What goes unrecorded would be missed when it is played, so it does not go on.
        open.end(outcome).map_err(|error| ModelError::Rejected { message: error.to_string() })?;
        answer
    }
}

/// The pieces of an answer, so far.
type Heard = Mutex<Vec<Piece>>;

/// Hears each piece on its way.
struct Ear<'e, 'd> {
    out: &'e mut Deltas<'d>,
    heard: &'e Heard,
}

impl DeltaReader for Ear<'_, '_> {
    async fn read(&mut self, channel: Channel, call: Option<&CallInSight>, piece: &str) -> Result<(), Halted> {
        let text = piece.to_owned();
        match (channel, call) {
            (Channel::Reasoning, _) => {
                lock(self.heard).push(Piece::Reasoning(text));
                self.out.reasoning(piece).await
            }
            (Channel::Call, Some(CallInSight { index, tool })) => {
                lock(self.heard).push(Piece::Call { index: *index, tool: tool.to_string(), text });
                self.out.call(*index, tool, piece).await
            }
            (Channel::Text | Channel::Call, _) => {
                lock(self.heard).push(Piece::Text(text));
                self.out.text(piece).await
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An exchange that has not ended. If it never does, that is recorded.
struct Open<'r> {
    wording: &'r Wording,
    tape: &'r Mutex<Tape>,
    request: &'r Request,
    heard: &'r Heard,
    ended: bool,
}

impl Open<'_> {
    fn end(mut self, outcome: Outcome) -> Result<(), CassetteError> {
        self.ended = true;
        self.write(outcome)
    }

    fn write(&self, mut outcome: Outcome) -> Result<(), CassetteError> {
        match &mut outcome {
            Outcome::Response(response) => wording::in_value(response, &|text| self.wording.written(text)),
            Outcome::Error(Failure { message, .. }) => *message = self.wording.written(message).into_owned(),
            Outcome::Cancelled => {}
        }
        let request = tape::asked(self.request, self.wording);
        let pieces = wording::in_pieces(take(&mut *lock(self.heard)), &|text| self.wording.written(text));
        lock(self.tape).add(Exchange { request, pieces, outcome })
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.ended
            && let Err(error) = self.write(Outcome::Cancelled)
        {
            tracing::warn!("{error}");
        }
    }
}
