//! One shape for the six tools: arguments in, work on a blocking thread, within its time.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use vertebra::{Args, CancellationToken, Invocation, Tool, ToolError, ToolOutput, ToolSpec};

use super::{
    access::{Access, Job},
    effort::Effort,
};
use crate::{denied::DeniedReads, permissions::opened::Refusals};

/// A tool made of a function over files.
pub(super) struct FileTool<I> {
    spec: ToolSpec,
    access: Arc<Access>,
    work: fn(&Job, &I) -> Result<ToolOutput, ToolError>,
}

impl<I: JsonSchema> FileTool<I> {
    pub(super) fn new(
        spec: ToolSpec,
        access: &Arc<Access>,
        work: fn(&Job, &I) -> Result<ToolOutput, ToolError>,
    ) -> Self {
        Self { spec: spec.input::<I>(), access: access.clone(), work }
    }
}

impl<I: DeserializeOwned + Send + 'static> Tool for FileTool<I> {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(&self, args: Args, invocation: Invocation) -> Result<ToolOutput, ToolError> {
        let input: I = args.parse()?;
        let run = invocation.run();
        let left = CancellationToken::new();
        // When nobody waits for this any more, the thread hears of it and ends.
        let _left = left.clone().drop_guard();
        let state = invocation.state();
        let unknown = |error: String| ToolError::new(format!("the rules about files are not known: {error}"));
        let noted = DeniedReads::noted(state).map_err(|error| unknown(error.to_string()))?;
        let names = std::iter::once(&self.spec.name).chain(self.spec.aliases.iter());
        let job = Job {
            names: names.map(ToString::to_string).collect(),
            refusals: Refusals::of(&noted.rules).map_err(unknown)?,
            effort: Effort::new(run.clock().clone(), self.access.bounds.time, left),
            access: self.access.clone(),
            working_directory: run.info().working_directory.clone(),
            run: run.info().run_id.clone(),
            session: run.info().session_id.clone(),
            kept: state.metadata().clone(),
        };
        let work = self.work;
        let work = move || {
            job.access.look_for_denied();
            work(&job, &input)
        };
        tokio::task::spawn_blocking(work).await?
    }
}
