//! Another model is asked when one fails.

use vertebra::{Around, ErrorClass, HookError, Inference, InferenceReport, ModelId, Next, OpCx, RunError, prelude::*};

const STAY: &str = "model-fallback/stay";

/// Asks other models, in order, when the model of a request fails. If they belong to another provider, the agent needs a
/// model that reaches both, such as a [`Router`](super::Router).
///
/// No other model is asked once a part of an answer was shown.
#[derive(Debug, Clone)]
pub struct ModelFallback {
    models: Vec<ModelId>,
    on: Vec<ErrorClass>,
    stay: Stay,
}

/// Which model the next request of a run goes to first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stay {
    /// The one that answered last.
    WithWhoAnswered,
    /// The one the request names.
    WithTheFirst,
}

impl ModelFallback {
    /// These models, in order: when a model is busy, not reached, breaks off or does not know us.
    pub fn to(models: impl IntoIterator<Item = ModelId>) -> Self {
        let on = vec![ErrorClass::ModelBusy, ErrorClass::Network, ErrorClass::Broken, ErrorClass::Unauthorised];
        Self { models: models.into_iter().collect(), on, stay: Stay::WithWhoAnswered }
    }

    /// Only at failures of these classes.
    #[must_use]
    pub fn on(mut self, classes: impl IntoIterator<Item = ErrorClass>) -> Self {
        self.on = classes.into_iter().collect();
        self
    }

    /// Which model the next request goes to first; unless told otherwise, the one that answered last in this run.
    #[must_use]
    pub fn stay(mut self, stay: Stay) -> Self {
        self.stay = stay;
        self
    }

    /// The model of the request, then the others; from the one on that a run stays with.
    fn candidates(&self, cx: &OpCx<'_, Inference>) -> Vec<ModelId> {
        let named = &cx.request.model;
        let all: Vec<_> = std::iter::once(named).chain(self.models.iter().filter(|model| *model != named)).collect();
        let stays_with: Option<ModelId> =
            cx.state().notes().get(STAY).and_then(|note| serde::Deserialize::deserialize(note).ok());
        let from = all.iter().position(|model| Some(*model) == stays_with.as_ref()).unwrap_or(0);
        all[from..].iter().map(|model| (*model).clone()).collect()
    }
}

impl Capability for ModelFallback {
    fn install(self, kit: &mut Kit) {
        if self.stay == Stay::WithWhoAnswered {
            let models = self.models.clone();
            kit.on(
                AfterInference.when(move |inferred| models.contains(&inferred.request.model)).named(STAY),
                async |cx| {
                    let answered = cx.request.model.clone();
                    if cx.note_of(STAY)? != Some(answered.clone()) {
                        cx.note(Lasting::Run, answered)?;
                    }
                    proceed()
                },
            );
        }
        kit.add_around(Inference.named("model-fallback/next").priority(60), self);
    }
}

impl Around<Inference> for ModelFallback {
    async fn wrap(
        &self,
        cx: &mut OpCx<'_, Inference>,
        next: Next<'_, Inference>,
    ) -> Result<InferenceReport, HookError> {
        let run = cx.scope().clone();
        let shown = run.shown_bytes();
        let mut candidates = self.candidates(cx).into_iter().peekable();
        while let Some(model) = candidates.next() {
            cx.request.model = model;
            let report = next.run(cx).await?;
            let (InferenceReport::Failed(RunError::Model(error)), Some(other)) = (&report, candidates.peek()) else {
                return Ok(report);
            };
            if !self.on.contains(&error.class()) || run.shown_bytes() > shown {
                return Ok(report);
            }
            let message = format!("{}: {error}; asking {} instead", cx.request.model.name, other.name);
            run.notify(&mut cx.state().clone(), "model-fallback", message).await?;
        }
        Err(HookError::new("there is no model to ask"))
    }
}
