//! A command is ended with all it started: when it takes too long, when the run is cancelled, when it is dropped.

use std::time::Duration;

use vertebra::{CancellationToken, News, RunStatus};

use super::*;

/// Starts sleepers in many ways and says their process numbers, a line each.
const SLEEPERS: &str = "sleep 1000 & echo $!
    (sleep 1000 & echo $!)
    (trap '' TERM; exec sleep 1000) & echo $!
    setsid sleep 1000 & echo $!
    bash -c '(setsid sleep 1000 & echo $!)'
    echo all started";

/// Waits until no such process is left.
async fn gone(pids: &[u32]) {
    assert_eq!(pids.len(), 5, "each sleeper has said its number");
    let all_gone = async {
        while pids.iter().any(|pid| is_running(*pid)) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(20), all_gone).await;
    let left: Vec<&u32> = pids.iter().filter(|pid| is_running(**pid)).collect();
    assert!(ended.is_ok(), "still there: {left:?}");
}

/// Whether the process is there and more than a record of its end.
fn is_running(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z')))
}

fn pids(text: &str) -> Vec<u32> {
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// Runs the sleepers and whatever else, until they have all started; then gives their numbers and the run.
async fn started(area: &Area) -> (Vec<u32>, vertebra::RunStream) {
    let script = Script::new().call("bash", &json!({ "command": format!("{SLEEPERS}; wait") }).to_string());
    let mut stream = built(&mut area.agent(script.may_end_early()).0).stream("go");
    let mut said = String::new();
    while !said.contains("all started") {
        let event = stream.next().await.expect("the sleepers have not all started");
        if let News::ToolSays { text, .. } = event.news {
            said.push_str(&text);
        }
    }
    (pids(&said), stream)
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended_with_all_it_started() {
    let area = Area::new();
    let call = json!({ "command": format!("{SLEEPERS}; wait"), "timeout_ms": 1500 });
    let result = area.calls(&[call]).await.remove(0);
    assert!(result.output.starts_with("timed out after 1.5s"), "{}", result.output);
    gone(&pids(&result.output)).await;
}

#[tokio::test]
async fn cancelling_the_run_ends_the_command_with_all_it_started() {
    let (pids, mut stream) = started(&Area::new()).await;
    let token: CancellationToken = stream.token();
    token.cancel();
    let mut status = None;
    while let Some(event) = stream.next().await {
        if let News::Ended { report } = event.news {
            status = Some(report.status);
        }
    }
    assert_eq!(status, Some(RunStatus::Cancelled));
    gone(&pids).await;
}

#[tokio::test]
async fn dropping_the_run_ends_the_command_with_all_it_started() {
    let (pids, stream) = started(&Area::new()).await;
    drop(stream);
    gone(&pids).await;
}

#[test]
fn a_runtime_that_goes_down_takes_its_commands_with_it() {
    let area = Area::new();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let (pids, stream) = runtime.block_on(started(&area));
    drop(stream);
    runtime.shutdown_timeout(Duration::from_secs(10));
    let another = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    another.block_on(gone(&pids));
}

#[tokio::test]
async fn what_is_left_in_the_background_ends_with_the_command_and_is_not_waited_for() {
    let area = Area::new();
    let result = area.bash("sleep 1000 & echo $!; (sleep 1000 >/dev/null & echo $!); echo said").await;
    assert!(result.output.contains("said\n[sleep was left in the background"), "{}", result.output);
    let left = pids(&result.output);
    let all_gone = async {
        while left.iter().any(|pid| is_running(*pid)) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), all_gone).await.expect("both sleepers are gone");
}

#[tokio::test]
async fn a_daemon_that_keeps_the_pipe_does_not_keep_the_call() {
    let area = Area::new().bare();
    let result = area
        .bash("setsid bash -c 'echo $$; touch started; exec sleep 1000' & until [ -e started ]; do sleep 0.02; done")
        .await;
    assert_eq!(result.exit_code, Some(0));
    let daemon = pids(&result.output)[0];
    // It left the group and no sandbox holds it, so it lives on: the call did not wait for it.
    assert!(is_running(daemon));
    let pid = rustix::process::Pid::from_raw(i32::try_from(daemon).expect("a process number")).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("the test tidies up after it");
}
