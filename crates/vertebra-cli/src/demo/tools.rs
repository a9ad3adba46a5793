//! The demo's two tools: small, but with real effects.

use std::{
    path::{Component, Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;
use tokio::process::Command;
use vertebra::{Tool, ToolError, ToolOutput, ToolSpec, prelude::tool};

#[derive(Deserialize, JsonSchema)]
struct Bash {
    /// What to run.
    command: String,
    /// How long it may take.
    timeout_ms: Option<u64>,
}

/// Runs commands in the folder.
pub(crate) fn bash(folder: &Path) -> impl Tool {
    let folder = folder.to_owned();
    tool("bash", "Runs a shell command", async move |input: Bash, _| {
        let mut command = Command::new("sh");
        command.arg("-c").arg(&input.command).current_dir(&folder).stdin(Stdio::null()).kill_on_drop(true);
        let limit = Duration::from_millis(input.timeout_ms.unwrap_or(60_000));
        let ended = tokio::time::timeout(limit, command.output())
            .await
            .map_err(|_elapsed| ToolError::new(format!("not done within {limit:?}")))??;
        let text = [ended.stdout, ended.stderr].concat();
        let text = String::from_utf8_lossy(&text).trim_end().to_owned();
        Ok(ToolOutput { text, exit_code: ended.status.code(), data: serde_json::Value::Null })
    })
}

#[derive(Deserialize, JsonSchema)]
struct WriteFile {
    /// Where, relative to the folder.
    path: PathBuf,
    /// What.
    content: String,
}

/// Writes files in the folder.
pub(crate) fn write_file(folder: &Path) -> impl Tool {
    let folder = folder.to_owned();
    tool("write_file", "Writes a file", async move |input: WriteFile, _| {
        if !input.path.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(ToolError::new("the path must stay in the folder"));
        }
        tokio::fs::write(folder.join(&input.path), &input.content).await?;
        Ok(format!("wrote {} bytes", input.content.len()))
    })
    .with(|spec: ToolSpec| spec.alias("Write"))
}
