//! The inference phase: hooks, the model, hooks.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt;
use tokio::sync::Mutex;
use vertebra_hooks::{Outcome, Point};

use crate::{
    AfterInference, BeforeInference, Deltas, Inference, InferenceVerdict, Meter, ModelError, Output, Purpose,
    RepeatVerdict, Request, Response, Run, RunError, Stop, StopReason,
    budget::Reservation,
    clock::millis,
    model::delta::Shown,
    points::events::{InferenceAsked, Inferred},
    run::handle::{Interrupted, Leave, LoopState, locked},
    timeline::feed::News,
    timeline::{Answer, What},
};

/// How many tokens an answer is thought to take when nobody says.
const USUAL_OUTPUT_TOKENS: u64 = 1024;

/// What came of asking a model.
///
/// The list is closed: what asks a model has to act on each outcome.
#[derive(Debug, Clone)]
pub enum InferenceReport {
    /// It answered.
    Answered(Response),
    /// It was not asked: a hook or a limit stands against it.
    NotAsked(Stop),
    /// It gave no answer.
    Failed(RunError),
    /// The run was cancelled.
    Cancelled,
}

impl From<Interrupted> for InferenceReport {
    fn from(interrupt: Interrupted) -> Self {
        match interrupt {
            Interrupted::Cancelled | Interrupted::Suspended { .. } => Self::Cancelled,
            Interrupted::Failed(error) => Self::Failed(error),
        }
    }
}

/// Asks a model, inside the arounds of [`Inference`].
pub(crate) async fn infer(run: &Run, desk: &mut LoopState, purpose: Purpose, request: Request) -> InferenceReport {
    let event = InferenceAsked { at: run.at(BeforeInference::NAME), purpose, request };
    let before = desk.state.clone();
    let (desk, attempts) = (Mutex::new(desk), AtomicU32::new(0));
    let core = |event: InferenceAsked| async {
        let mut desk = locked(&desk).await;
        hooked(run, &mut desk, &attempts, event).await.unwrap_or_else(InferenceReport::from)
    };
    match run.hooks().wrap(Inference, event, &before, run, core).await {
        Ok(report) => report,
        Err(error) => InferenceReport::Failed(RunError::Internal { message: error.to_string() }),
    }
}

/// Asks a model between its hooks, as often as they say.
async fn hooked(
    run: &Run,
    desk: &mut LoopState,
    attempts: &AtomicU32,
    original: InferenceAsked,
) -> Result<InferenceReport, Interrupted> {
    loop {
        // What a hook or a tool asks a model is a part of what they were asked to do.
        if original.purpose == Purpose::Step {
            run.control().may_begin()?;
            run.drop_held();
        }
        let attempt = attempts.fetch_add(1, Ordering::Relaxed) + 1;
        let retries = run.retries(attempt);
        let mut asked = original.clone();
        if attempt > 1 {
            asked.at = run.at(BeforeInference::NAME);
        }
        let reserved = reserve(run, &mut asked.request);
        let reserved = match run.set_aside(&original.purpose, reserved) {
            Ok(reserved) => reserved,
            Err(stop) => return Ok(not_asked(desk, stop)),
        };
        let outcome = run.dispatch(BeforeInference, &mut asked, &mut desk.state, retries, Leave::OnCancel).await?;
        desk.take_stops(&outcome);
        let (response, took) = match outcome.verdict() {
            InferenceVerdict::Proceed | InferenceVerdict::Skip => {
                let more = top_up(run, &asked.request, &reserved);
                let more = match run.set_aside(&original.purpose, more) {
                    Ok(more) => more,
                    Err(stop) => return Ok(not_asked(desk, stop)),
                };
                let began = run.clock().elapsed();
                let response = ask(run, desk, &asked, reserved).await?;
                drop(more);
                (response, run.clock().elapsed().saturating_sub(began))
            }
            InferenceVerdict::Replace { with } => {
                let deltas = Deltas::live(run, &mut desk.state, &asked);
                let shown = deltas.finish(Ok(&with)).await?;
                let (response, halted) = as_shown(*with, shown);
                (take_in(desk, response, halted), Duration::ZERO)
            }
            InferenceVerdict::Retry { after_ms } => {
                drop(reserved);
                run.wait_to_ask(&original.purpose, Duration::from_millis(after_ms)).await?;
                continue;
            }
            InferenceVerdict::Deny { reason } => return Ok(not_asked(desk, refused(&outcome, reason))),
            InferenceVerdict::Stop { reason } => return Ok(InferenceReport::NotAsked(refused(&outcome, reason))),
        };
        let InferenceAsked { purpose, request, .. } = asked;
        let duration_ms = millis(took);
        let mut inferred = Inferred { at: run.at(AfterInference::NAME), purpose, request, response, duration_ms };
        let outcome = run.dispatch(AfterInference, &mut inferred, &mut desk.state, retries, Leave::OnCancel).await?;
        desk.take_stops(&outcome);
        match outcome.verdict() {
            RepeatVerdict::Retry { after_ms } => {
                run.wait_to_ask(&original.purpose, Duration::from_millis(after_ms)).await?;
            }
            RepeatVerdict::Proceed | RepeatVerdict::Skip | RepeatVerdict::Stop { .. } => {
                return Ok(InferenceReport::Answered(inferred.response));
            }
        }
    }
}

/// The model is not asked, and the run has that reason to end.
fn not_asked(desk: &mut LoopState, stop: Stop) -> InferenceReport {
    desk.pending.stop(stop.clone());
    InferenceReport::NotAsked(stop)
}

fn refused(outcome: &Outcome<BeforeInference>, reason: String) -> Stop {
    let by = outcome.decision().map_or("a hook", |ruling| &ruling.by);
    Stop::soft(StopReason::Requested, by, reason)
}

/// Sets tokens aside before the hooks see the request, so that they judge the size that goes out.
fn reserve(run: &Run, request: &mut Request) -> Result<Reservation, Stop> {
    let prompt = prompt_tokens(request);
    let wanted = wanted_tokens(request);
    let reserved = run.budget().reserve_up_to(Meter::Tokens, wanted)?;
    if reserved.amount() < wanted {
        let left = reserved.amount();
        if left <= prompt {
            let message = format!("the prompt needs about {prompt} tokens, but only {left} are left in the budget");
            return Err(Stop::hard(StopReason::Tokens, "limits", message));
        }
        request.max_output_tokens = Some(left - prompt);
    }
    Ok(reserved)
}

/// Sets aside what hooks have added to the request since, exactly as they left it.
fn top_up(run: &Run, request: &Request, reserved: &Reservation) -> Result<Reservation, Stop> {
    match wanted_tokens(request).saturating_sub(reserved.amount()) {
        0 => Ok(run.budget().nothing(Meter::Tokens)),
        more => run.budget().reserve(Meter::Tokens, more),
    }
}

/// What a request may use in all. Hooks may ask for any number, however large.
fn wanted_tokens(request: &Request) -> u64 {
    prompt_tokens(request).saturating_add(request.max_output_tokens.unwrap_or(USUAL_OUTPUT_TOKENS))
}

fn prompt_tokens(request: &Request) -> u64 {
    request.messages.estimated_tokens() + (request.system_prompt.len() / 4) as u64
}

/// The call itself: recorded before and after, paid for, cancellable, behind a panic barrier.
async fn ask(
    run: &Run,
    desk: &mut LoopState,
    asked: &InferenceAsked,
    reserved: Reservation,
) -> Result<Response, Interrupted> {
    if let Some(answer) = recalled(run, asked)? {
        return answered_before(run, desk, reserved, answer);
    }
    run.recorder().set_redacted_calls(false);
    let key = asked.at.event_id();
    let (purpose, model) = (asked.purpose.clone(), asked.request.model.clone());
    run.write(What::ModelAsked { key: key.clone(), purpose, model }).await?;
    let mut deltas = Deltas::live(run, &mut desk.state, asked);
    // Called inside the barrier: a driver may panic before it returns a future.
    let call = AssertUnwindSafe(async { run.core().model.infer(&asked.request, &mut deltas).await }).catch_unwind();
    let answer = run.control().unless_cancelled(call).await.map(|answer| match answer {
        Ok(answer) => answer.map_err(RunError::from),
        Err(_panic) => Err(RunError::Internal { message: "the model's driver panicked".to_owned() }),
    });
    // Paid for as soon as it is known, whatever becomes of the answer.
    let usage =
        answer.as_ref().ok().and_then(|said| said.as_ref().ok()).map_or_else(|| deltas.spent(), |said| said.usage);
    reserved.settle(usage.total_tokens());
    run.run_budget().spend(usage);
    run.tell(|| News::Used { usage });
    let answer = match answer {
        Err(interrupt) => Err(interrupt),
        Ok(answer) => match (deltas.finish(answer.as_ref()).await, answer) {
            (Err(interrupt), _) => Err(interrupt),
            (Ok(shown), Ok(response)) => Ok(as_shown(response, shown)),
            // A driver that was told to stop may well end with an error; what it was told counts.
            (Ok(shown), Err(_)) if shown.halted.is_some() => Ok(as_shown(Response::default(), shown)),
            (Ok(_), Err(error)) => Err(error.into()),
        },
    };
    desk.state.spend(usage);
    let (response, halted, error) = match &answer {
        Ok((response, halted)) => (Some(Box::new(response.clone())), halted.clone(), None),
        Err(Interrupted::Failed(error)) => (None, None, Some(error.clone())),
        Err(Interrupted::Cancelled | Interrupted::Suspended { .. }) => (None, None, None),
    };
    let is_final = asked.purpose == Purpose::Step && response.as_ref().is_some_and(|said| said.calls.is_empty());
    let undecided = is_final && run.hooks().any_decides_at(Output);
    run.write(What::ModelAnswered { key, usage, response, veiled: false, undecided, halted, error }).await?;
    answer.map(|(response, halted)| take_in(desk, response, halted))
}

/// What the model had answered before the run was resumed, or in the run that is replayed.
fn recalled(run: &Run, asked: &InferenceAsked) -> Result<Option<Answer>, Interrupted> {
    let Some(tape) = run.tape() else { return Ok(None) };
    let answer = tape.answer(run.place(), &asked.purpose);
    let (purpose, model) = (asked.purpose.clone(), asked.request.model.clone());
    run.happens(answer.as_ref().map(|answer| &answer.line), What::ModelAsked { key: String::new(), purpose, model });
    if run.replayed().is_some() && (answer.is_none() || run.is_cancelled()) {
        return Err(Interrupted::Cancelled);
    }
    Ok(answer)
}

/// Takes an answer in that was paid for and shown before.
fn answered_before(
    run: &Run,
    desk: &mut LoopState,
    reserved: Reservation,
    answer: Answer,
) -> Result<Response, Interrupted> {
    let Answer { usage, said, halted, veiled, .. } = answer;
    reserved.settle(usage.total_tokens());
    run.run_budget().spend_again(usage);
    desk.state.spend(usage);
    run.recorder().set_redacted_calls(veiled);
    match said {
        Ok(response) => Ok(take_in(desk, response, halted)),
        Err(Some(error)) => Err(error.into()),
        Err(None) => Err(Interrupted::Cancelled),
    }
}

/// Who ended a stream, and why.
type Halt = Option<(String, String)>;

/// The answer as hooks let it through: what they kept back from the stream must not come in behind it.
fn as_shown(mut response: Response, shown: Shown) -> (Response, Halt) {
    response.text = shown.text;
    response.reasoning = shown.reasoning;
    if let Some((by, reason)) = &shown.halted {
        response.calls.clear();
        response.finish = format!("halted by {by}: {reason}");
    }
    (response, shown.halted)
}

fn take_in(desk: &mut LoopState, response: Response, halted: Halt) -> Response {
    if let Some((by, reason)) = halted {
        desk.pending.stop(Stop::requested(&by, &reason));
    }
    response
}

/// [`Model`](crate::Model) with its future boxed.
pub(crate) trait ErasedModel: Send + Sync {
    fn id(&self) -> crate::ModelId;
    fn infer<'a>(
        &'a self,
        request: &'a Request,
        out: &'a mut Deltas<'_>,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Response, ModelError>> + Send + 'a>>;
    fn run_failed(&self);
}

impl<M: crate::Model> ErasedModel for M {
    fn id(&self) -> crate::ModelId {
        crate::Model::id(self)
    }

    fn infer<'a>(
        &'a self,
        request: &'a Request,
        out: &'a mut Deltas<'_>,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Response, ModelError>> + Send + 'a>> {
        Box::pin(crate::Model::infer(self, request, out))
    }

    fn run_failed(&self) {
        crate::Model::run_failed(self);
    }
}

/// The model of an agent, for another agent to have too. A clone is the same model.
#[derive(Clone)]
pub struct SharedModel(pub(crate) Arc<dyn ErasedModel>);

impl SharedModel {
    /// Several kinds of models behind one type.
    pub fn new(model: impl crate::Model) -> Self {
        Self(Arc::new(model))
    }
}

impl crate::Model for SharedModel {
    fn id(&self) -> crate::ModelId {
        self.0.id()
    }

    async fn infer(&self, request: &Request, out: &mut Deltas<'_>) -> Result<Response, ModelError> {
        self.0.infer(request, out).await
    }

    fn run_failed(&self) {
        self.0.run_failed();
    }
}

/// Several agents may share one model.
impl<M: crate::Model> crate::Model for Arc<M> {
    fn id(&self) -> crate::ModelId {
        M::id(self)
    }

    fn infer(
        &self,
        request: &Request,
        out: &mut Deltas<'_>,
    ) -> impl Future<Output = Result<Response, ModelError>> + Send {
        M::infer(self, request, out)
    }

    fn run_failed(&self) {
        M::run_failed(self);
    }
}
