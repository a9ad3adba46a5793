//! What a critic is given and what it says.

use std::{fmt::Write as _, future::Future, pin::Pin, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vertebra::{HookError, SendFn};

/// What a critic judges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// What the run was asked to do.
    pub task: String,
    /// What it answered.
    pub answer: String,
    /// What its tools said, cut in the middle where it is long.
    pub evidence: String,
    /// Which answer of the run this is, from 1.
    pub attempt: u32,
}

/// What a critic says about an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Review {
    /// Whether the answer does what was asked.
    pub approved: bool,
    /// The judgement in a sentence.
    pub summary: String,
    /// What is good about the answer.
    #[serde(default)]
    pub strengths: Vec<String>,
    /// What is wrong with it.
    #[serde(default)]
    pub weaknesses: Vec<String>,
    /// What to do about that.
    #[serde(default)]
    pub suggestions: Vec<String>,
}

impl Review {
    /// The answer is good.
    pub fn approve(summary: impl Into<String>) -> Self {
        Self { approved: true, summary: summary.into(), ..Self::default() }
    }

    /// The answer is not good enough.
    pub fn reject(summary: impl Into<String>) -> Self {
        Self { summary: summary.into(), ..Self::default() }
    }

    /// The review as the model reads it.
    pub(super) fn feedback(&self) -> String {
        let mut text = format!("A reviewer did not accept your answer: {}", self.summary);
        let lists = [("Keep", &self.strengths), ("Wrong with it", &self.weaknesses), ("To do", &self.suggestions)];
        for (title, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            let _ = write!(text, "\n{title}:");
            for one in list {
                let _ = write!(text, "\n- {one}");
            }
        }
        text.push_str("\nRevise the answer, with tools where that helps, and give it again in whole.");
        text
    }
}

type Judging = Pin<Box<dyn Future<Output = Result<Review, HookError>> + Send>>;

/// Who judges.
#[derive(Clone, Default)]
pub struct Critic(pub(super) Option<Arc<dyn Fn(Case) -> Judging + Send + Sync>>);

impl Critic {
    /// The agent's own model, asked between the hooks of the run (purpose `critique`) and out of its budget.
    pub fn model() -> Self {
        Self(None)
    }

    /// A function: `Critic::by(async |case: Case| Ok(Review::approve("fine")))`.
    pub fn by<F>(judge: F) -> Self
    where
        F: AsyncFn(Case) -> Result<Review, HookError> + SendFn<Case, Result<Review, HookError>, Future: 'static>,
    {
        Self(Some(Arc::new(move |case| Box::pin(judge.clone().call(case)))))
    }
}
