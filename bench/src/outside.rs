//! Something outside answers at `BeforeToolUse`, beside what it takes to start a program that does nothing.

use std::{
    collections::BTreeMap,
    env,
    io::{self, BufRead as _, Write as _},
    process::{Command, ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use bench_harness::Suite;
use serde_json::json;
use tokio::runtime::Builder;
use vertebra::{
    AgentState, AnyHook as _, BeforeToolUse, Frame, Outcome, Retries,
    prelude::*,
    testing::{call, scope},
};
use vertebra_bridge::{
    handler::{External, Services, build},
    settings::{Contract, RunSettings, Words},
};

/// A program that does nothing, by its full path: nobody has to look for it.
const NOTHING: &str = "/bin/true";

/// What makes this very program a worker.
pub(crate) const WORKER: &str = "answer-lines";

/// Answers every line with its number and nothing else, so that what is measured is the way there and back. `sed -u` would
/// do, but reads letter by letter.
pub(crate) fn answer_lines() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let number = line.strip_prefix(r#"{"id":"#).and_then(|rest| rest.split_once(',')).map_or("0", |(id, _)| id);
        out.write_all(format!("{{\"id\":{number}}}\n").as_bytes())?;
        out.flush()?;
    }
    Ok(())
}

pub(crate) fn cases(suite: Suite) -> Suite {
    suite
        .plain_case("spawn", || spawned)
        .plain_case("command", || {
            let command = Words::List(vec![NOTHING.to_owned()]);
            asked(&RunSettings::Command { command, contract: Contract::Vertebra, env: Vec::new() })
        })
        .plain_case("worker", || {
            let this = env::current_exe().expect("this program").to_string_lossy().into_owned();
            let command = Words::List(vec![this, WORKER.to_owned()]);
            asked(&RunSettings::Worker { command, env: Vec::new() })
        })
}

/// What the system takes to start a program and to see its end: `posix_spawn` and a wait.
fn spawned() -> ExitStatus {
    let mut nothing = Command::new(NOTHING);
    nothing.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    nothing.status().expect("a program that does nothing")
}

/// Fires the point with one guard that asks outside. The runtime is one with I/O, unlike that of other cases.
fn asked(run: &RunSettings) -> impl FnMut() -> Outcome<BeforeToolUse> + use<> {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let services = Services { folder: "/".into(), variables: BTreeMap::new(), ..Services::default() };
    let handler = build(run, &services).expect("a handler");
    let mut set = HookSet::new();
    set.add_guard(
        BeforeToolUse.named("outside"),
        External::new(Arc::clone(&handler), Duration::from_secs(30)).at(BeforeToolUse),
    );
    let hooks = Hooks::new(set).expect("one hook");
    let mut event = call("bash", json!({ "command": "git push" }));
    let mut state = AgentState::default();
    let scope = scope(&hooks);
    move || {
        let frame = Frame { event: &mut event, state: &mut state, scope: &scope, retries: Retries::Allowed };
        let outcome = runtime.block_on(hooks.dispatch(BeforeToolUse, frame));
        assert_eq!(outcome.record().failures().count(), 0, "what is measured is an answer");
        outcome
    }
}
