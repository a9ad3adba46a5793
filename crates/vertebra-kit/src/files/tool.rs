//! One shape for the six tools: arguments in, work on a blocking thread, within its time.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use vertebra::{Args, CancellationToken, Invocation, Tool, ToolError, ToolOutput, ToolSpec};

use super::{
    access::{Access, Job},
    effort::Effort,
};

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
        let job = Job {
            effort: Effort::new(run.clock().clone(), self.access.bounds.time, left),
            access: self.access.clone(),
            working_directory: run.info().working_directory.clone(),
            run: run.info().run_id.clone(),
            session: run.info().session_id.clone(),
            kept: invocation.state().await.metadata().clone(),
        };
        let work = self.work;
        tokio::task::spawn_blocking(move || work(&job, &input)).await?
    }
}
