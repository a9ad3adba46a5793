//! Conversations made shorter, cheap ways first.
//!
//! Long results go to files as they come in. When the conversation has grown over a threshold, results that were read
//! twice become pointers, old results are taken out, and only if that is not enough a model writes a summary: of the
//! summary before and what was said since. Calls and their results stay together; the first prompt, the latest prompt
//! and what is recent stay as they are; the summary stands in front of what is recent.

mod cheap;
mod cut;
mod offload;
mod plan;
mod summariser;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

pub(crate) use cut::head_and_tail;
pub use offload::Offload;
pub use plan::summary_in;
pub use summariser::{Counter, Material, Summariser};
use vertebra::{
    AfterToolUse, AgentState, Attach, Capability, Compactor, HookError, HookOptions, Kit, Match, Message, Messages,
    Run, SessionEnd, proceed,
};

use offload::{READ, ReadOffloaded, Shelf};
use plan::{Room, transcript};

/// After every other hook: they see results whole, and what a redaction takes out reaches no file.
const LAST: i32 = 1000;
/// Tools whose results are pages already: what they leave out is where it was, and they say how to read on.
const PAGED: &[&str] = &["read_file", "list_dir", "search_files", "grep", READ];
/// How many results were offloaded, so that a conversation that is taken up again gives no name twice.
const OFFLOADED: &str = "summary/offloaded";
/// No conversation is made shorter than this: the marks of what was left out take room too.
const LEAST_TARGET: u64 = 1000;

/// Keeps conversations from growing beyond what a model can read.
#[derive(Debug, Clone)]
pub struct Summarisation {
    /// When a conversation is made shorter.
    pub trigger: Trigger,
    /// How short it is made, as a share of the threshold: at least 1000 tokens.
    pub target: f64,
    /// What becomes of results that were given twice.
    pub repeated: Repeated,
    /// How many of the latest tool results stay whole; `None` means all.
    pub keep_tool_results: Option<usize>,
    /// How many of the latest messages stay as they are, as far as they fit.
    pub keep_recent: usize,
    /// How long a summary may be.
    pub max_summary_tokens: u64,
    /// How much a summariser reads of what was said since.
    pub max_input_tokens: u64,
    /// What is done if there is no summary.
    pub on_failure: OnFailure,
    /// Who writes summaries.
    pub summariser: Summariser,
    /// Who counts tokens.
    pub counter: Counter,
    /// Where long results go; `None` means that they stay.
    pub offload: Option<Offload>,
}

/// When a conversation is made shorter. One of less than 1000 tokens never is.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Trigger {
    /// When it has more tokens than this.
    Tokens(u64),
    /// When it fills more than this share of what the model can read.
    Share {
        /// What the model can read, in tokens.
        window: u64,
        /// The share, from 0 to 1.
        share: f64,
    },
    /// When it fills more than this share of what the model in use can read, which may change.
    InUse {
        /// What the model can read.
        window: Window,
        /// The share, from 0 to 1.
        share: f64,
    },
}

/// What the model in use can read, in tokens. A clone is another handle to the same number.
#[derive(Debug, Clone)]
pub struct Window(Arc<AtomicU64>);

impl Window {
    /// So many tokens, until it is set again.
    pub fn new(tokens: u64) -> Self {
        Self(Arc::new(AtomicU64::new(tokens)))
    }

    /// Another model is in use.
    pub fn set(&self, tokens: u64) {
        self.0.store(tokens, Ordering::Relaxed);
    }

    /// How many tokens the model can read.
    pub fn tokens(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What becomes of results that were given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repeated {
    /// The earlier one points to the later one.
    Point,
    /// Both stay.
    Keep,
}

/// What is done if there is no summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnFailure {
    /// The run goes on with what the cheap ways left. No message is lost.
    GoOn,
    /// The step fails.
    Fail,
}

impl Default for Summarisation {
    fn default() -> Self {
        Self {
            trigger: Trigger::Tokens(100_000),
            target: 0.5,
            repeated: Repeated::Point,
            keep_tool_results: Some(3),
            keep_recent: 20,
            max_summary_tokens: 1024,
            max_input_tokens: 32_000,
            on_failure: OnFailure::GoOn,
            summariser: Summariser::model(),
            counter: Counter::estimate(),
            offload: Some(Offload::default()),
        }
    }
}

impl Summarisation {
    fn threshold(&self) -> u64 {
        match &self.trigger {
            Trigger::Tokens(tokens) => *tokens,
            Trigger::Share { window, share } => part(*window, *share),
            Trigger::InUse { window, share } => part(window.tokens(), *share),
        }
    }

    /// How short a conversation is made.
    pub fn target_tokens(&self) -> u64 {
        part(self.threshold(), self.target).max(LEAST_TARGET)
    }

    async fn shorten(
        &self,
        run: &Run,
        state: &mut AgentState,
        instructions: &str,
        target: u64,
    ) -> Result<Messages, HookError> {
        let mut messages: Vec<Message> = state.messages().iter().cloned().collect();
        self.cheaply(run, &mut messages, target);
        let cheap: Messages = messages.iter().cloned().collect();
        let room = Room { counter: &self.counter, target, keep_recent: self.keep_recent };
        if self.counter.count(&cheap) <= room.target {
            return Ok(cheap);
        }
        let mut plan = room.plan(messages);
        if plan.left_out > 0 {
            let message = format!(
                "the conversation is too long for the model: {} characters of your prompts were left out of what it reads",
                plan.left_out
            );
            run.notify(state, "summary", message).await?;
        }
        if plan.middle.is_empty() {
            let before = plan.before.take();
            return Ok(room.assemble(plan, before));
        }
        let chars = usize::try_from(self.max_input_tokens.saturating_mul(4)).unwrap_or(usize::MAX);
        let material = Material {
            before: plan.before.take(),
            since: transcript(&plan.middle, chars),
            instructions: instructions.to_owned(),
            max_tokens: self.max_summary_tokens.min(room.summary()),
        };
        match self.summariser.write(run, state, material).await {
            Ok(summary) => Ok(room.assemble(plan, Some(summary))),
            Err(error) => match self.on_failure {
                OnFailure::Fail => Err(HookError::new(format!("no summary: {error}"))),
                OnFailure::GoOn => {
                    run.notify(state, "summary", format!("the conversation stays long: no summary: {error}")).await?;
                    Ok(cheap)
                }
            },
        }
    }

    /// Repeated and old results, as far as they are to go.
    fn cheaply(&self, run: &Run, messages: &mut [Message], target: u64) {
        match self.repeated {
            Repeated::Point => cheap::dedupe(messages),
            Repeated::Keep => {}
        }
        if let Some(keep) = self.keep_tool_results
            && self.counter.count(&messages.iter().cloned().collect()) > target
        {
            cheap::clear(messages, keep, |name| run.tool_spec(name).is_some_and(|tool| tool.read_only));
        }
    }
}

/// A share of so many tokens. Shares are rough, so what a float rounds off does not matter.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn part(tokens: u64, share: f64) -> u64 {
    (tokens as f64 * share.clamp(0.0, 1.0)) as u64
}

impl Compactor for Summarisation {
    fn due(&self, state: &AgentState) -> Option<String> {
        let (tokens, threshold) = (self.counter.count(state.messages()), self.threshold().max(LEAST_TARGET));
        (tokens > threshold).then(|| format!("{tokens} tokens are more than {threshold}"))
    }

    async fn compact(&self, run: &Run, state: &mut AgentState, instructions: &str) -> Result<Messages, HookError> {
        self.shorten(run, state, instructions, self.target_tokens()).await
    }

    /// A person who asks for it wants the same share of what there is now.
    async fn compact_on_request(
        &self,
        run: &Run,
        state: &mut AgentState,
        instructions: &str,
    ) -> Result<Messages, HookError> {
        let share = part(self.counter.count(state.messages()), self.target).max(LEAST_TARGET);
        self.shorten(run, state, instructions, share.min(self.target_tokens())).await
    }
}

impl Capability for Summarisation {
    fn install(mut self, kit: &mut Kit) {
        if let Some(offload) = self.offload.take() {
            install_offload(offload, kit);
        }
        kit.compactor(self);
    }
}

fn install_offload(offload: Offload, kit: &mut Kit) {
    let (over, shelf) = (offload.over_bytes, Shelf::new(offload));
    let (keeping, closing) = (shelf.clone(), shelf.clone());
    kit.tool(ReadOffloaded(shelf));
    // If it cannot be kept, it stays in the conversation, as long as that lets it be.
    kit.on(
        // What a tool has shortened itself says so.
        AfterToolUse
            .when(move |used| {
                let kept = used.result.data.get("output").is_some_and(serde_json::Value::is_object);
                used.result.output.len() > over && !PAGED.contains(&&*used.call.tool) && !kept
            })
            .named("summary/offload")
            .priority(LAST)
            .fail_open()
            .own_agent_only(),
        async move |cx| {
            let before = cx.state().metadata().read(OFFLOADED)?.unwrap_or_default();
            if let Some((number, preview)) = keeping.put(&cx.at.run.session_id, before, &cx.result.output).await? {
                cx.result.output = preview;
                cx.state_mut().metadata_mut().set(OFFLOADED, number);
            }
            proceed()
        },
    );
    kit.on(SessionEnd.named("summary/close").own_agent_only(), async move |cx| {
        closing.close(&cx.at.run.session_id).await;
        proceed()
    });
}
