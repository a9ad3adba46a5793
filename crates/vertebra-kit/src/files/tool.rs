//! One shape for the six tools: arguments in, work on a blocking thread, within its time.

use std::sync::{Arc, Mutex, OnceLock, atomic::AtomicBool};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::json;
use vertebra::{
    AgentState, Args, CancellationToken, CheckCx, Checked, Invocation, Run, Tool, ToolCall, ToolError, ToolOutput,
    ToolSpec,
};

use super::{
    access::{Access, Consent, Job},
    effort::Effort,
};
use crate::{denied::DeniedReads, permissions::opened::Refusals};

/// What a call would do.
pub(super) type Look<I> = fn(&Job, &I) -> Result<Option<String>, ToolError>;

/// A tool made of a function over files.
pub(super) struct FileTool<I> {
    spec: ToolSpec,
    access: Arc<Access>,
    work: fn(&Job, &I) -> Result<ToolOutput, ToolError>,
    /// Finds out whether a call can succeed, and what it would change.
    look: Look<I>,
}

impl<I: JsonSchema> FileTool<I> {
    pub(super) fn new(
        spec: ToolSpec,
        access: &Arc<Access>,
        work: fn(&Job, &I) -> Result<ToolOutput, ToolError>,
        look: Look<I>,
    ) -> Self {
        Self { spec: spec.input::<I>(), access: access.clone(), work, look }
    }
}

impl<I> FileTool<I> {
    fn job(&self, run: &Run, state: &AgentState, left: CancellationToken, consent: Consent) -> Result<Job, ToolError> {
        let names = std::iter::once(&self.spec.name).chain(self.spec.aliases.iter());
        self.access.job(run, state, left, (names.map(ToString::to_string).collect(), consent))
    }
}

impl Access {
    /// One call of a tool with these names.
    pub(super) fn job(
        self: &Arc<Self>,
        run: &Run,
        state: &AgentState,
        left: CancellationToken,
        (names, consent): (Vec<String>, Consent),
    ) -> Result<Job, ToolError> {
        let unknown = |error: String| ToolError::new(format!("the rules about files are not known: {error}"));
        let noted = DeniedReads::noted(state).map_err(|error| unknown(error.to_string()))?;
        Ok(Job {
            names,
            refusals: Refusals::of(&noted.rules).map_err(unknown)?,
            effort: Effort::new(run.clock().clone(), self.bounds.time, left),
            access: self.clone(),
            working_directory: run.info().working_directory.clone(),
            run: run.info().run_id.clone(),
            session: run.info().session_id.clone(),
            kept: state.metadata().clone(),
            consent,
            is_outside: AtomicBool::new(false),
            asked: Mutex::default(),
            git_targets: OnceLock::new(),
        })
    }
}

impl<I: DeserializeOwned + Send + 'static> Tool for FileTool<I> {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, args: Args, invocation: Invocation) -> Result<ToolOutput, ToolError> {
        let input: I = args.parse()?;
        let left = CancellationToken::new();
        // When nobody waits for this any more, the thread hears of it and ends.
        let _left = left.clone().drop_guard();
        let consent = Consent::Given(invocation.approved().map(str::to_owned));
        let job = self.job(invocation.run(), invocation.state(), left, consent)?;
        let work = self.work;
        let work = move || {
            job.access.look_for_denied();
            work(&job, &input)
        };
        let mut output = tokio::task::spawn_blocking(work).await??;
        let session = &invocation.run().info().session_id;
        if let Some(granted) = self.access.lift.as_ref().and_then(|lift| lift.noted(session)) {
            if !output.data.is_object() {
                output.data = json!({});
            }
            output.data["granted"] = granted;
        }
        Ok(output)
    }

    async fn check(&self, args: Args, cx: CheckCx) -> Result<Option<Checked>, ToolError> {
        let input: I = args.parse()?;
        let left = CancellationToken::new();
        let _left = left.clone().drop_guard();
        let job = self.job(cx.run(), cx.state(), left, Consent::Wanted(Mutex::default()))?;
        let look = self.look;
        let looked = tokio::task::spawn_blocking(move || {
            job.access.look_for_denied();
            let found = look(&job, &input);
            (found, job.consent.question(), job.grantable())
        });
        let (found, ask, grantable) = looked.await?;
        if let Some(lift) = self.access.lift.as_ref().filter(|_| !grantable.is_empty()) {
            lift.ask(&cx.run().info().session_id, args.digest(), grantable);
        }
        match found {
            Ok(preview) => Ok(Some(Checked { ask, preview })),
            // What comes before it may make it possible.
            Err(_) if cx.earlier().iter().any(|call| may_change(call, &args)) => {
                Ok(Some(Checked { ask, preview: None }))
            }
            Err(problem) => Err(problem),
        }
    }
}

/// Whether an earlier call of the same answer may change what this one finds: anything but the reading of another file.
fn may_change(earlier: &ToolCall, args: &Args) -> bool {
    let ours = ["read_file", "write_file", "edit_file", "list_dir", "search_files", "grep"];
    !ours.contains(&&*earlier.tool) || earlier.args.text("path") == args.text("path")
}
