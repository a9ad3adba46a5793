//! A tool whose process is killed in the middle of it, and how often its effect happened when the run is done.

use std::{
    fs::OpenOptions,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
};

use serde_json::json;
use vertebra::{Agent, Limits, prelude::*};
use vertebra_journal::{Store, Sync, Wanted};

const FOLDER: &str = "VERTEBRA_BENCH_KILLED";

pub(crate) fn was_asked_for() -> bool {
    std::env::var_os(FOLDER).is_some()
}

/// The process that is killed: its tool has its effect, and then takes for ever.
pub(crate) fn work() {
    let folder = std::env::var_os(FOLDER).expect("it was asked for");
    let folder = Path::new(&folder);
    let journal = super::store(&folder.join("journal.db"), Sync::Process);
    super::runtime().block_on(async {
        let mut session = agent(folder, journal, true).session().await.expect("a session");
        session.prompt("pay").await.expect("it is killed before");
    });
}

pub(crate) fn row() {
    let folder = super::folder();
    let program = std::env::current_exe().expect("this program");
    let child = Command::new(program).env(FOLDER, folder.path()).stdout(Stdio::piped()).spawn();
    let mut child = child.expect("a process");
    let said = BufReader::new(child.stdout.take().expect("its output")).lines().next();
    assert!(said.is_some_and(|said| said.is_ok()), "it says when its tool has had its effect");
    child.kill().expect("a process that runs");
    child.wait().expect("its end");
    let journal = super::store(&folder.path().join("journal.db"), Sync::Process);
    let id = journal.sessions(&Wanted::default()).expect("sessions")[0].session_id.clone();
    let report = super::runtime().block_on(async {
        let mut session = agent(folder.path(), journal, false).resume(&id).await.expect("nobody runs it");
        session.go_on().await.expect("it was in the middle").expect("a run that ends well")
    });
    let effects = std::fs::read_to_string(folder.path().join("effects")).expect("effects").lines().count();
    println!(
        "{}",
        json!({ "row": "effects of a tool whose process is killed in it", "count": effects, "said": report.text })
    );
}

fn agent(folder: &Path, journal: Store, for_ever: bool) -> Agent {
    let path = folder.join("effects");
    let pay = tool("pay", "pays", async move |_: serde_json::Value, _| {
        let mut file = OpenOptions::new().append(true).create(true).open(&path)?;
        file.write_all(b"paid\n")?;
        if for_ever {
            println!("paid");
            std::future::pending::<()>().await;
        }
        Ok("paid".to_owned())
    });
    let script = vertebra::testing::Script::new().may_end_early();
    // The process that goes on asks the model for nothing but the end.
    let script = if for_ever { script.call("pay", "{}") } else { script };
    let mut builder = Agent::builder(script.say("done"));
    builder.tool(pay).journal(journal).limits(Limits::none());
    builder.build().expect("the agent of a benchmark fits together")
}
