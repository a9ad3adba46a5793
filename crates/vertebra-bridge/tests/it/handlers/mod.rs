//! Handlers, put to events at real points.

mod claude_code;
mod commands;
mod faults;
mod http;
mod mcp_tool;
mod prompt;
#[cfg(feature = "wasm")]
mod wasm;
mod worker;

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use vertebra::{
    AnyHook as _, FailurePolicy,
    prelude::*,
    testing::{Fired, call, fire},
};
use vertebra_bridge::{
    handler::{External, Handler, Services, build},
    settings::{Contract, RunSettings, Words},
};

/// Long enough that no test waits for it.
const LONG: Duration = Duration::from_mins(1);

/// A folder with scripts, and the hook that is under test.
struct Project {
    folder: TempDir,
    services: Services,
}

impl Project {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        let mut variables: BTreeMap<_, _> = ["PATH", "HOME"].iter().filter_map(variable).collect();
        variables.insert("SOME_API_KEY".to_owned(), "s3cret".to_owned());
        variables.insert("LC_ALL".to_owned(), "C.UTF-8".to_owned());
        let services = Services { folder: folder.path().to_owned(), variables, ..Services::default() };
        Self { folder, services }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a script that can be run, and gives a command for it.
    fn script(&self, name: &str, text: &str) -> RunSettings {
        self.file(name, text, 0o755);
        list(&[&format!("./{name}")])
    }

    fn file(&self, name: &str, text: &str, mode: u32) {
        fs::write(self.path(name), text).expect("a script");
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).expect("its mode");
    }

    fn build(&self, run: &RunSettings) -> Arc<dyn Handler> {
        build(run, &self.services).expect("a handler")
    }

    /// What a guard of this handler makes of a call.
    async fn guards(&self, run: &RunSettings) -> Fired<BeforeToolUse> {
        self.guards_with(&self.build(run), FailurePolicy::Closed, LONG, json!({ "command": "ls" })).await
    }

    async fn guards_with(
        &self,
        handler: &Arc<dyn Handler>,
        policy: FailurePolicy,
        limit: Duration,
        args: Value,
    ) -> Fired<BeforeToolUse> {
        let mut set = HookSet::new();
        let external = External::new(handler.clone(), limit).at(BeforeToolUse);
        let site = BeforeToolUse.named("outside").timeout(2 * LONG);
        match policy {
            FailurePolicy::Closed => set.add_guard(site, external),
            // A guard fails closed.
            FailurePolicy::Open => set.add_hook(site.fail_open(), external),
            FailurePolicy::Ask => set.add_hook(site.fail_ask(), external),
        };
        fire(&Hooks::new(set).expect("hooks"), BeforeToolUse, call("bash", args)).await
    }

    /// The numbers of the processes that scripts have written down, as soon as one has.
    async fn pids(&self) -> Vec<u32> {
        let path = self.path("pids");
        eventually("a script has started", || fs::read_to_string(&path).is_ok_and(|text| text.ends_with('\n'))).await;
        let text = fs::read_to_string(path).expect("numbers");
        text.lines().map(|line| line.parse().expect("a number")).collect()
    }

    /// Waits until none of those processes is left.
    async fn nobody_left(&self) {
        let pids = self.pids().await;
        eventually("all processes have ended", || !pids.iter().any(|pid| is_running(*pid))).await;
    }
}

fn variable(name: &&str) -> Option<(String, String)> {
    Some(((*name).to_owned(), std::env::var(name).ok()?))
}

/// Whether the process is there and more than a record of its end.
fn is_running(pid: u32) -> bool {
    fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"))
        .is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z')))
}

/// Waits until it holds, for a bounded time.
async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.unwrap_or_else(|_| panic!("never: {what}"));
}

fn line(line: &str) -> RunSettings {
    RunSettings::Command { command: Words::Line(line.to_owned()), contract: Contract::Vertebra, env: Vec::new() }
}

fn list(words: &[&str]) -> RunSettings {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    RunSettings::Command { command: Words::List(words), contract: Contract::Vertebra, env: Vec::new() }
}

#[test]
fn what_the_page_shows_can_be_written_like_that() {
    let page = include_str!("../../../../../docs/hooks-outside.md");
    let shown: Vec<&str> = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(shown.len() >= 6, "one for each kind");
    for text in shown {
        let whole = if text.starts_with("run") {
            format!("[[hook]]\npoint = \"AfterToolUse\"\n{text}")
        } else {
            text.to_owned()
        };
        let read = vertebra_bridge::settings::parse(&whole, vertebra_bridge::settings::Level::User, "page");
        assert!(read.is_ok(), "{text}: {}", read.map(drop).map_err(|error| error.to_string()).unwrap_err());
    }
}

/// What the record tells of the exchange.
fn account<P: Point>(fired: &Fired<P>) -> &Value {
    fired.record.hooks[0].account.as_deref().expect("an account")
}
