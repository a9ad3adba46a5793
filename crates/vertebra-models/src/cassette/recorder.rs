//! A model that is recorded.

use std::{
    borrow::Cow,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use vertebra::{Deltas, Ear, Model, ModelError, ModelId, Request, Response};

use super::{
    CassetteError,
    tape::{self, Exchange, Failure, Outcome, Tape},
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
        let open = Open { wording: &self.wording, tape: &self.tape, request, ear: out.ear(), ended: false };
        let answer = self.model.infer(request, out).await;
        let outcome = match &answer {
            Ok(response) => Outcome::Response(serde_json::to_value(response).unwrap_or_default()),
            Err(error) => Outcome::Error(error.clone().into()),
        };
        // What goes unrecorded would be missed when it is played, so it does not go on.
        open.end(outcome).map_err(|error| ModelError::Rejected { message: error.to_string() })?;
        answer
    }
}

/// An exchange that has not ended. If it never does, that is recorded.
struct Open<'r> {
    wording: &'r Wording,
    tape: &'r Mutex<Tape>,
    request: &'r Request,
    ear: Ear,
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
        let pieces = wording::in_pieces(self.ear.heard(), &|text| self.wording.written(text));
        let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
        tape.add(Exchange { request, pieces, outcome })
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
