//! A run whose answer is a typed value.

use std::future::Future;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use vertebra::{
    Agent, Answer, Attach, BeforeInference, ContinueCx, HookOptions, HookSet, Hooks, Kind, Lasting, Match,
    MatchAttribute, Prompt, Purpose, RegisterError, RunFailed, RunReport, RunStatus, Session, SessionError,
    ShouldContinue, StepKind, StopReason, go_on, proceed, stop,
};

use super::{Schema, SchemaError};

const TELL: &str = "structured/tell";
const JUDGE: &str = "structured/judge";
/// Before critics and the like: they need not judge what is no answer yet.
const PRIORITY: i32 = 50;

/// Runs whose answer is a typed value: of an [`Agent`], or in a [`Session`].
///
/// The model may use tools first. Its final answer is held against the type's schema; one that does not fit goes back
/// with what is wrong with it. What never fits is an error, not a default value.
///
/// ```
/// use vertebra::{prelude::*, testing::Script};
/// use vertebra_kit::structured::Extract;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Invoice {
///     total: u32,
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let model = Script::new().say("About seven.").say(r#"{"total": 7}"#);
/// let agent = Agent::builder(model).build()?;
/// let invoice = agent.extract::<Invoice>("What do we owe?").await?;
/// assert_eq!((invoice.value.total, invoice.report.steps), (7, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
pub trait Extract: Sized {
    /// Runs a prompt as told.
    fn extract_with<T: DeserializeOwned + JsonSchema + Send>(
        self,
        prompt: impl Into<Prompt> + Send,
        extraction: Extraction,
    ) -> impl Future<Output = Result<Extracted<T>, ExtractError>> + Send;

    /// Runs a prompt.
    fn extract<T: DeserializeOwned + JsonSchema + Send>(
        self,
        prompt: impl Into<Prompt> + Send,
    ) -> impl Future<Output = Result<Extracted<T>, ExtractError>> + Send {
        self.extract_with(prompt, Extraction::default())
    }
}

/// How a value is extracted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extraction {
    /// How often an answer that does not fit goes back.
    pub max_retries: u32,
    /// Under which metadata key the value is kept for later runs of the session.
    pub store_as: Option<String>,
}

impl Default for Extraction {
    fn default() -> Self {
        Self { max_retries: super::MAX_RETRIES, store_as: None }
    }
}

/// A value, and the run that gave it.
#[derive(Debug, Clone, PartialEq)]
pub struct Extracted<T> {
    /// The value.
    pub value: T,
    /// The run.
    pub report: RunReport,
}

/// Why there is no value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// The session did not open.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The run failed.
    #[error(transparent)]
    Failed(#[from] RunFailed),
    /// The run was stopped or cancelled before it had an answer.
    #[error("the run was {} without an answer: {}", .0.status, .0.stop)]
    Unfinished(Box<RunReport>),
    /// The answer does not fit, and was asked for again as often as allowed.
    #[error("the answer does not fit: {}", .problems.join("; "))]
    NoFit {
        /// The last answer.
        answer: String,
        /// What is wrong with it.
        problems: Vec<String>,
        /// The run.
        report: Box<RunReport>,
    },
    /// The type has no usable schema.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The hooks that hold the answer against the schema were not taken.
    #[error(transparent)]
    Hooks(#[from] RegisterError),
}

impl Extract for &Agent {
    async fn extract_with<T: DeserializeOwned + JsonSchema + Send>(
        self,
        prompt: impl Into<Prompt> + Send,
        extraction: Extraction,
    ) -> Result<Extracted<T>, ExtractError> {
        let mut session = self.session().await?;
        let extracted = session.extract_with(prompt, extraction).await;
        session.close().await;
        extracted
    }
}

impl Extract for &mut Session {
    async fn extract_with<T: DeserializeOwned + JsonSchema + Send>(
        self,
        prompt: impl Into<Prompt> + Send,
        extraction: Extraction,
    ) -> Result<Extracted<T>, ExtractError> {
        let schema = Schema::of::<T>()?;
        let hooks = Hooks::new(hooks(&schema, extraction))?;
        let report = self.prompt_with(prompt, &hooks).await?;
        let given_up = report.stop.source == JUDGE;
        if report.status != RunStatus::Completed && !given_up {
            return Err(ExtractError::Unfinished(Box::new(report)));
        }
        let read = schema.read(&report.text);
        let typed = read.and_then(|value| serde_json::from_value(value).map_err(|error| vec![error.to_string()]));
        match typed {
            Ok(value) => Ok(Extracted { value, report }),
            Err(problems) => {
                Err(ExtractError::NoFit { answer: report.text.clone(), problems, report: Box::new(report) })
            }
        }
    }
}

/// The hooks of one such run: one tells the model, one judges its answers.
fn hooks(schema: &Schema, extraction: Extraction) -> HookSet {
    let mut set = HookSet::new();
    let (told, judged) = (schema.clone(), schema.clone());
    set.on(
        BeforeInference.when(|asked| asked.purpose == Purpose::Step).named(TELL).own_agent_only(),
        async move |cx| {
            told.ask_for(&mut cx.request);
            proceed()
        },
    );
    set.on(
        ShouldContinue.step(StepKind::FinalResponse).named(JUDGE).priority(PRIORITY).own_agent_only(),
        async move |cx| judge(cx, &judged, &extraction),
    );
    set
}

fn judge(cx: &mut ContinueCx<'_>, schema: &Schema, extraction: &Extraction) -> Answer<ShouldContinue> {
    if !is_finishing(cx) {
        return proceed();
    }
    let problems = match schema.read(&cx.text) {
        Ok(value) => {
            keep(cx, extraction.store_as.as_deref(), value);
            return proceed();
        }
        Err(problems) => problems,
    };
    let retries: u32 = cx.note_of(JUDGE)?.unwrap_or_default();
    if retries == extraction.max_retries {
        return stop(format!("after {retries} retries the answer still does not fit: {}", problems.join("; ")));
    }
    cx.note(Lasting::Run, retries + 1)?;
    go_on(schema.complaint(&problems))
}

fn keep(cx: &mut ContinueCx<'_>, store_as: Option<&str>, value: Value) {
    if let Some(key) = store_as {
        cx.state_mut().metadata_mut().set(key, value);
    }
}

/// Whether the run ends because the model has finished: neither a limit nor a hook ends it, and nobody has sent it back.
pub(crate) fn is_finishing(cx: &ContinueCx<'_>) -> bool {
    cx.stops.iter().all(|stop| stop.reason == StopReason::Finished)
        && !cx.record().gave(Kind::GoOn)
        && !cx.record().gave(Kind::Stop)
}
