//! Programs that hang, flood, lie and leave things behind: bounded time and memory, the policy holds, the record tells.

use std::time::Instant;

use vertebra::Kind;
use vertebra_bridge::{
    handler::process::{MAX_OUTPUT, Program, Start},
    trust::Seal,
};

use super::*;

/// The limit of those that are meant to meet it.
const SHORT: Duration = Duration::from_millis(300);

/// How much longer than its limit an exchange may take on a busy machine: asking, killing, reaping.
const SLACK: u32 = 40;

/// What is wrong with a program.
struct Fault {
    run: RunSettings,
    limit: Duration,
    /// How the record says that it ended.
    end: &'static str,
    /// What the failure says.
    says: &'static str,
}

fn fault(run: RunSettings, end: &'static str, says: &'static str) -> Fault {
    Fault { run, limit: LONG, end, says }
}

/// Each program at a guard, under each policy.
async fn check(project: &Project, fault: Fault) {
    let handler = project.build(&fault.run);
    let policies =
        [(FailurePolicy::Closed, Kind::Deny), (FailurePolicy::Open, Kind::Proceed), (FailurePolicy::Ask, Kind::Ask)];
    for (policy, verdict) in policies {
        let began = Instant::now();
        let fired = project.guards_with(&handler, policy, fault.limit, json!({ "command": "ls" })).await;
        let shown = handler.shown();
        assert!(fault.limit == LONG || began.elapsed() < SLACK * fault.limit, "{shown}: {:?}", began.elapsed());
        let record = &fired.record;
        assert_eq!(record.verdict, verdict, "{shown}: {fired}");
        let failures: Vec<String> = record.failures().map(|(_, failure)| failure.to_string()).collect();
        assert_eq!(failures.len(), 1, "{shown}: told apart from an opinion");
        assert!(failures[0].contains(fault.says), "{shown}: {}", failures[0]);
        let account = account(&fired);
        assert_eq!(account["end"], fault.end, "{shown}: {account}");
        assert!(account.to_string().len() < MAX_OUTPUT / 8, "{shown}: the record stays small");
    }
}

#[tokio::test]
async fn a_program_that_hangs_is_ended_with_all_it_started() {
    let project = Project::new();
    let sleepers = "echo $$ >> pids; sleep 1000 & echo $! >> pids; setsid sleep 1000 & echo $! >> pids; ";
    for rest in ["wait", "trap '' TERM; while :; do sleep 1; done"] {
        let run = line(&format!("{sleepers}{rest}"));
        let says = "it gave no answer within 300 ms";
        check(&project, Fault { run, limit: SHORT, end: "timed_out", says }).await;
        project.nobody_left().await;
    }
}

#[tokio::test]
async fn a_program_that_floods_an_output_is_ended() {
    let project = Project::new();
    for run in ["echo $$ >> pids; exec yes", "echo $$ >> pids; exec yes >&2"] {
        check(&project, fault(line(run), "too_large", "it wrote more than 1048576 bytes")).await;
    }
    project.nobody_left().await;
}

#[tokio::test]
async fn a_program_that_ends_in_the_middle_of_a_flood_has_flooded_all_the_same() {
    let project = Project::new();
    let run = line("head -c 1048577 /dev/zero");
    check(&project, fault(run, "too_large", "it wrote more than 1048576 bytes")).await;
}

#[tokio::test]
async fn whoever_does_not_read_a_large_event_may_still_answer() {
    let project = Project::new();
    let handler = project.build(&line("echo unread >&2; exit 2"));
    let args = json!({ "content": "x".repeat(4 * MAX_OUTPUT) });
    let fired = project.guards_with(&handler, FailurePolicy::Closed, LONG, args).await;
    assert_eq!(fired.to_string(), "denied by outside: unread");
}

#[tokio::test]
async fn whoever_does_not_read_a_large_event_and_hangs_is_ended() {
    let project = Project::new();
    let handler = project.build(&line("echo $$ >> pids; exec sleep 1000"));
    let args = json!({ "content": "x".repeat(4 * MAX_OUTPUT) });
    let fired = project.guards_with(&handler, FailurePolicy::Closed, SHORT, args).await;
    assert_eq!(account(&fired)["end"], "timed_out");
    project.nobody_left().await;
}

#[tokio::test]
async fn whoever_prints_much_before_reading_does_not_hang() {
    let project = Project::new();
    let run = "head -c 500000 /dev/zero | tr '\\0' ' '; head -c 500000 /dev/zero >&2; \
               test $(wc -c) -gt 4000000 && echo '{\"verdict\": \"deny\", \"reason\": \"read all of it\"}'";
    let args = json!({ "content": "x".repeat(4 * MAX_OUTPUT) });
    let fired = project.guards_with(&project.build(&line(run)), FailurePolicy::Closed, LONG, args).await;
    assert_eq!(fired.to_string(), "denied by outside: read all of it");
}

#[tokio::test]
async fn what_a_program_leaves_behind_in_its_group_is_killed_and_its_answer_counts() {
    let project = Project::new();
    // One holds the pipes, one does not, and one does not want to end.
    let run = "sleep 1000 & echo $! >> pids; sleep 1000 >/dev/null 2>&1 & echo $! >> pids; \
               (trap '' TERM HUP; sleep 1000) & echo $! >> pids; echo enough >&2; exit 2";
    let fired = project.guards(&line(run)).await;
    assert_eq!(fired.to_string(), "denied by outside: enough");
    project.nobody_left().await;
}

#[tokio::test]
async fn who_has_left_the_group_and_holds_the_pipes_is_not_waited_for() {
    let project = Project::new();
    // It leaves by itself once the folder has no `pids` any more.
    let run = "setsid sh -c 'echo $$ >> pids; while test -e pids; do sleep 0.1; done' & \
               while ! test -e pids; do sleep 0.01; done; echo enough >&2; exit 2";
    let began = Instant::now();
    let fired = project.guards(&line(run)).await;
    assert_eq!(fired.to_string(), "denied by outside: enough");
    assert!(began.elapsed() < LONG / 2);
    let pids = project.pids().await;
    fs::remove_file(project.path("pids")).expect("removed");
    eventually("it has left", || !pids.iter().any(|pid| is_running(*pid))).await;
}

#[tokio::test]
async fn what_is_no_answer_is_a_failure() {
    let project = Project::new();
    let cases = [
        ("printf '\\377\\376'", "not_text", "what it wrote is not UTF-8"),
        ("printf '{\"verdict\": \"de'", "exited", "the answer is not a JSON object: EOF"),
        ("echo allow", "exited", "the answer is not a JSON object: "),
        ("echo '[]'", "exited", "the answer is not a JSON object: "),
        ("echo '{\"verdct\": \"deny\"}'", "exited", "did you mean `verdict`?"),
        ("echo '{\"verdict\": \"go_on\", \"instruction\": \"x\"}'", "exited", "invalid answer at BeforeToolUse"),
        ("echo broken >&2; exit 1", "exited", "it exited with code 1: broken"),
        ("no-such-program-anywhere", "exited", "it exited with code 127: "),
        ("kill -9 $$", "signalled", "it was ended by signal 9"),
        ("kill -SEGV $$", "signalled", "it was ended by signal 11"),
    ];
    for (run, end, says) in cases {
        check(&project, fault(line(run), end, says)).await;
    }
}

#[tokio::test]
async fn what_cannot_be_started_is_told_with_what_is_the_matter() {
    let project = Project::new();
    fs::create_dir(project.path("folder")).expect("a folder");
    project.file("plain", "#!/bin/sh\n", 0o644);
    project.file("odd", "#!/no/such/interpreter -x\n", 0o755);
    project.file("crlf", "#!/bin/sh\r\nexit 2\r\n", 0o755);
    project.file("nothing", "\0\0\0\0", 0o755);
    let cases = [
        ("./missing", "there is no file `"),
        ("no-such-program-anywhere", "there is no program `no-such-program-anywhere` on the PATH"),
        ("./folder", "/folder` is a folder, not a program"),
        ("./plain", "/plain` is not executable: `chmod +x` makes it so"),
        ("./odd", "/odd` asks for `/no/such/interpreter`, which is not there"),
        ("./crlf", "/crlf` ends with a carriage return"),
        ("./nothing", "/nothing` is neither a program for this machine nor a script"),
    ];
    for (program, says) in cases {
        check(&project, fault(list(&[program]), "failed", says)).await;
    }
}

#[tokio::test]
async fn a_folder_that_is_gone_is_told_as_such() {
    let project = Project::new();
    let services = Services { folder: project.path("gone"), ..project.services.clone() };
    let handler = build(&line("true"), &services).expect("a handler");
    let fired = project.guards_with(&handler, FailurePolicy::Closed, LONG, json!({})).await;
    assert!(fired.to_string().contains("/gone` that it runs in is not there"), "{fired}");
}

#[tokio::test]
async fn whoever_is_not_waited_for_any_more_is_ended() {
    let project = Project::new();
    let start = Start::Shell("sleep 1000 & echo $! >> pids; echo $$ >> pids; wait".to_owned());
    let variables = project.services.variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
    let program = Program { start, folder: project.folder.path().to_owned(), variables, seal: Seal::default() };
    let exchange = tokio::spawn(async move { program.exchange(b"{}", LONG).await });
    project.pids().await;
    exchange.abort();
    project.nobody_left().await;
}

#[tokio::test]
async fn a_hook_that_gives_up_before_its_handler_ends_what_that_started() {
    let project = Project::new();
    let handler = project.build(&line("echo $$ >> pids; exec sleep 1000"));
    let mut set = HookSet::new();
    set.add_guard(BeforeToolUse.named("outside").timeout(SHORT), External::new(handler, LONG).at(BeforeToolUse));
    let fired = fire(&Hooks::new(set).expect("hooks"), BeforeToolUse, call("bash", json!({}))).await;
    assert!(fired.record.decided_by_failure(), "{fired}");
    project.nobody_left().await;
}
