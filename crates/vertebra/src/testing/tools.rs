//! Tools and approvers that remember what they were asked.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crate::{Approval, Approver, Args, Clock, Decision, Invocation, Tool, ToolError, ToolOutput, ToolSpec};

type Decide = dyn Fn(&Approval) -> Decision + Send + Sync;
type Reply = dyn Fn(&Args) -> Result<ToolOutput, ToolError> + Send + Sync;

/// A tool that does nothing but remember its calls. A clone is another handle to the same tool.
#[derive(Clone)]
pub struct RecordingTool {
    spec: ToolSpec,
    reply: Arc<Reply>,
    takes: Option<(Arc<dyn Clock>, Duration)>,
    calls: Arc<Mutex<Vec<Args>>>,
}

impl RecordingTool {
    /// A tool that answers `ok`.
    pub fn new(name: &str) -> Self {
        Self {
            spec: ToolSpec::new(name, "remembers its calls"),
            reply: Arc::new(|_| Ok("ok".into())),
            takes: None,
            calls: Arc::default(),
        }
    }

    /// Answers this.
    #[must_use]
    pub fn replying(self, text: &'static str) -> Self {
        self.by(move |_| Ok(text.into()))
    }

    /// Fails with this.
    #[must_use]
    pub fn failing(self, message: &'static str) -> Self {
        self.by(move |_| Err(ToolError::new(message)))
    }

    /// Answers what the function says.
    #[must_use]
    pub fn by(mut self, reply: impl Fn(&Args) -> Result<ToolOutput, ToolError> + Send + Sync + 'static) -> Self {
        self.reply = Arc::new(reply);
        self
    }

    /// Takes so long on this clock.
    #[must_use]
    pub fn taking(mut self, duration: Duration, clock: &(impl Clock + Clone)) -> Self {
        self.takes = Some((Arc::new(clock.clone()), duration));
        self
    }

    /// Changes what is known of the tool.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(ToolSpec) -> ToolSpec) -> Self {
        self.spec = change(self.spec);
        self
    }

    /// The arguments of each call that reached the tool, in order.
    pub fn calls(&self) -> Vec<Args> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Tool for RecordingTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, args: Args, _invocation: Invocation) -> Result<ToolOutput, ToolError> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(args.clone());
        if let Some((clock, duration)) = &self.takes {
            clock.sleep(*duration).await;
        }
        (self.reply)(&args)
    }
}

/// An approver that answers what it was told to, and remembers what it was asked. A clone is another handle.
#[derive(Clone)]
pub struct FixedApprover {
    answers: Vec<Arc<Decide>>,
    asked: Arc<Mutex<Vec<Approval>>>,
}

impl FixedApprover {
    /// Answers what the function says.
    pub fn by(decide: impl Fn(&Approval) -> Decision + Send + Sync + 'static) -> Self {
        Self { answers: vec![Arc::new(decide)], asked: Arc::default() }
    }

    /// Says yes to everything.
    pub fn yes() -> Self {
        Self::by(Approval::approve)
    }

    /// Says no to everything.
    pub fn no(reason: &'static str) -> Self {
        Self::by(move |_| Decision::Deny { reason: reason.to_owned() })
    }

    /// The last of the answers holds from its question on, and each one before it for one question:
    /// `yes().then(no("enough")).then(yes())`.
    #[must_use]
    pub fn then(mut self, next: Self) -> Self {
        self.answers.extend(next.answers);
        self
    }

    /// What was asked.
    pub fn asked(&self) -> Vec<Approval> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Approver for FixedApprover {
    async fn decide(&self, approval: &Approval) -> Decision {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = asked.len().min(self.answers.len() - 1);
        asked.push(approval.clone());
        drop(asked);
        (self.answers[turn])(approval)
    }
}
