//! Shell commands: the tool, the policy that judges them, the sandbox that holds them.

mod background;
mod bubblewrap;
mod caches;
mod environment;
mod escapes;
mod everyday;
mod folder;
mod git;
mod held;
mod needs;
mod network;
mod output;
mod outside;
mod protected;
mod proxy;
mod remembered;
mod sandbox;
mod sockets;
mod supervised;
mod trees;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use serde_json::json;
use tempfile::TempDir;
use vertebra::{Agent, AgentBuilder, ToolResult, prelude::*, testing::Script};
use vertebra_kit::bash::{Bash, Environment, Outputs, PASSED, Reading, Sandbox};

use crate::{
    sheet::Sheet,
    support::{built, run},
};

pub(crate) fn sheet() -> Sheet {
    let bash = Bash::default();
    Sheet {
        name: "Bash",
        purpose: "Runs shell commands in one folder, judged by `BashPolicy`, in a sandbox where the system supports it.",
        install: |builder| {
            builder.with(Bash::default());
        },
        knobs: vec![
            ("folder", "the agent's working directory".to_owned()),
            ("timeout", format!("{:?}", bash.timeout)),
            ("max_timeout", format!("{:?}", bash.max_timeout)),
            ("stdout_bytes", bash.stdout_bytes.to_string()),
            ("stderr_bytes", bash.stderr_bytes.to_string()),
            ("head_bytes", bash.head_bytes.to_string()),
            ("tail_bytes", bash.tail_bytes.to_string()),
            ("environment", format!("{} variables pass, none that looks like a secret", PASSED.len())),
            ("judged", if bash.judged { "yes: by `BashPolicy`" } else { "no" }.to_owned()),
            ("sandbox.need", format!("{:?}", bash.sandbox.need)),
            ("sandbox.engine", format!("{:?}", bash.sandbox.engine)),
            ("sandbox.network", format!("{:?}", bash.sandbox.network)),
            ("sandbox.ports", "none".to_owned()),
            ("sandbox.unix_sockets", format!("{:?}", bash.sandbox.unix_sockets)),
            ("sandbox.write", "only the folder and `TMPDIR`".to_owned()),
            ("sandbox.deny_read", format!("{} paths", bash.sandbox.deny_read.len())),
            ("sandbox.protect", "none besides `PROTECTED` and what git executes".to_owned()),
            ("outputs", "none: what is not shown is lost".to_owned()),
            ("reading", "none: commands run one after another".to_owned()),
        ],
    }
}

/// A place of its own for a test: a folder to work in, one for temporary files, a home, and what lies outside.
struct Area {
    root: TempDir,
    bash: Bash,
}

impl Area {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        for folder in ["work", "tmp", "home/.ssh", "outside"] {
            fs::create_dir_all(root.path().join(folder)).expect("a new folder");
        }
        fs::write(root.path().join("home/.ssh/id"), "PRIVATE KEY").expect("a new file");
        fs::write(root.path().join("outside/precious"), "precious").expect("a new file");
        let at = |folder: &str| root.path().join(folder).display().to_string();
        let environment = Environment::default().set("TMPDIR", at("tmp")).set("HOME", at("home"));
        // Not judged: what the sandbox holds, it holds whatever a policy thinks of it.
        let bash = Bash { environment, judged: false, sandbox: held(), ..Bash::in_dir(root.path().join("work")) };
        Self { root, bash }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    /// Other settings.
    fn with(mut self, change: impl FnOnce(&mut Bash)) -> Self {
        change(&mut self.bash);
        self
    }

    /// Without a sandbox.
    fn bare(self) -> Self {
        self.with(|bash| bash.sandbox = Sandbox::off())
    }

    /// What comes of one command.
    async fn bash(&self, command: &str) -> ToolResult {
        self.calls(&[json!({ "command": command })]).await.remove(0)
    }

    /// What comes of each command, one after the other in one run.
    async fn commands(&self, commands: &[&str]) -> Vec<ToolResult> {
        self.calls(&commands.iter().map(|command| json!({ "command": command })).collect::<Vec<_>>()).await
    }

    /// What comes of each call, one after the other in one run.
    async fn calls(&self, calls: &[serde_json::Value]) -> Vec<ToolResult> {
        let script = calls.iter().fold(Script::new(), |script, call| script.call("bash", &call.to_string()));
        let (mut builder, results) = self.agent(script.say("done").may_end_early());
        run(&built(&mut builder), "go").await;
        Arc::into_inner(results).map_or_else(Vec::new, |results| results.into_inner().expect("no panic"))
    }

    /// An agent with the tool, and the results of its calls as they come.
    fn agent(&self, script: Script) -> (AgentBuilder, Arc<Mutex<Vec<ToolResult>>>) {
        let results = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::downgrade(&results);
        let mut builder = Agent::builder(script);
        builder.max_steps(1000).with(self.bash.clone()).watch(AfterToolUse, async move |cx| {
            if let Some(seen) = seen.upgrade() {
                seen.lock().expect("no panic").push(cx.result.clone());
            }
            Ok(())
        });
        (builder, results)
    }
}

/// The launcher that cargo built for the tests, or the copy beside a copy of the tests.
fn launcher() -> PathBuf {
    let copy = std::env::current_exe().expect("this program").with_file_name("vertebra-sandbox");
    if copy.exists() { copy } else { env!("CARGO_BIN_EXE_vertebra-sandbox").into() }
}

/// The sandbox as users have it: no command runs without it.
fn held() -> Sandbox {
    Sandbox { launcher: Some(launcher()), ..Sandbox::required() }
}

/// A command that runs this Python.
fn python(code: &str) -> String {
    format!("python3 - <<'END'\n{code}\nEND")
}

fn real(path: &Path) -> String {
    path.canonicalize().expect("a path that is there").display().to_string()
}
