//! Workers: one process for many events, whatever it does.

use super::*;

/// What scripts begin with: `next` reads an event and finds its number.
const NEXT: &str = r#"#!/bin/sh
echo $$ >> pids
next() { read -r line && id=${line#'{"id":'} && id=${id%%,*}; }
deny() { echo "{\"id\":$id,\"verdict\":\"deny\",\"reason\":\"$1\"}"; }
"#;

fn worker(project: &Project, rest: &str) -> Arc<dyn Handler> {
    project.file("worker", &format!("{NEXT}{rest}\n"), 0o755);
    let command = Words::List(vec!["./worker".to_owned()]);
    project.build(&RunSettings::Worker { command, env: Vec::new() })
}

async fn fired(project: &Project, handler: &Arc<dyn Handler>, limit: Duration) -> Fired<BeforeToolUse> {
    project.guards_with(handler, FailurePolicy::Closed, limit, json!({ "command": "ls" })).await
}

#[tokio::test]
async fn one_process_answers_many_events() {
    let project = Project::new();
    let handler = worker(&project, "n=0; while next; do n=$((n+1)); echo noise >&2; deny \"event $n\"; done");
    for n in 1..=20 {
        let fired = fired(&project, &handler, LONG).await;
        assert_eq!(fired.to_string(), format!("denied by outside: event {n}"));
        assert_eq!(account(&fired)["end"], "answered");
    }
    assert_eq!(project.pids().await.len(), 1, "it was started once");
}

#[tokio::test]
async fn events_are_in_flight_together_and_answered_in_any_order() {
    let project = Project::new();
    let handler = worker(
        &project,
        "next; a=$id; case $line in *first*) x=first y=second;; *) x=second y=first;; esac
         next; deny \"the $y\"; id=$a; deny \"the $x\"; next",
    );
    let ask = |word: &str| {
        let (project, handler, args) = (&project, &handler, json!({ "command": word }));
        async move { project.guards_with(handler, FailurePolicy::Closed, LONG, args).await.to_string() }
    };
    let (first, second) = tokio::join!(ask("first"), ask("second"));
    assert_eq!((&*first, &*second), ("denied by outside: the first", "denied by outside: the second"));
}

#[tokio::test]
async fn a_worker_that_crashes_in_the_middle_fails_whoever_waits_and_is_started_again() {
    let project = Project::new();
    let handler = worker(
        &project,
        "if test -e crashed; then next; deny again; next; fi
         next; next; touch crashed; echo 'out of luck' >&2; exit 3",
    );
    let (one, two) = tokio::join!(fired(&project, &handler, LONG), fired(&project, &handler, LONG));
    for fired in [one, two] {
        assert!(fired.record.decided_by_failure());
        let account = account(&fired);
        let message = account["message"].as_str().expect("a message");
        assert_eq!(
            message,
            "the worker ended (exit status: 3; it wrote: out of luck\n)".replace('\n', ""),
            "{account}"
        );
    }
    assert_eq!(fired(&project, &handler, LONG).await.to_string(), "denied by outside: again");
    assert_eq!(project.pids().await.len(), 2);
}

#[tokio::test]
async fn a_worker_that_keeps_dying_is_left_alone_ever_longer() {
    let project = Project::new();
    let handler = worker(&project, "exit 1");
    for _ in 0..4 {
        let fired = fired(&project, &handler, LONG).await;
        assert!(fired.to_string().contains("the worker ended (exit status: 1"), "{fired}");
    }
    let fired = fired(&project, &handler, Duration::from_millis(20)).await;
    assert!(fired.to_string().contains("the worker keeps dying, and is left alone for 800 ms"), "{fired}");
    assert_eq!(project.pids().await.len(), 4, "it was not started once more");
}

#[tokio::test]
async fn a_worker_that_hangs_is_ended_and_the_next_event_has_a_new_one() {
    let project = Project::new();
    let handler = worker(
        &project,
        "if test -e hung; then next; deny again; next; fi
         touch hung; trap '' TERM; sleep 1000 & echo $! >> pids; while :; do sleep 1; done",
    );
    let late = fired(&project, &handler, Duration::from_millis(300)).await;
    assert_eq!(account(&late)["end"], "timed_out");
    project.nobody_left().await;
    assert_eq!(fired(&project, &handler, LONG).await.to_string(), "denied by outside: again");
}

#[tokio::test]
async fn a_worker_that_breaks_the_rules_is_ended_and_told_why() {
    let rules = [
        ("next; echo oops; next", "a line that is not JSON"),
        ("next; echo '{\"id\":'; next", "a line that is not JSON"),
        ("next; echo '[]'; next", "a line that is not a JSON object"),
        ("next; echo '{\"verdict\":\"deny\"}'; next", "an answer with no `id` that it was given"),
        ("next; echo '{\"id\":7}'; next", "an answer with no `id` that it was given"),
        ("next; printf '{\"id\":0,\"reason\":\"\\377\"}\\n'; next", "a line that is not JSON"),
        ("next; yes | tr -d '\\n'", "a line of more than 1048576 bytes"),
    ];
    for (script, says) in rules {
        let project = Project::new();
        let fired = fired(&project, &worker(&project, script), LONG).await;
        assert!(fired.record.decided_by_failure(), "{script}: {fired}");
        assert!(fired.to_string().contains(&format!("the worker wrote {says}, and was ended")), "{script}: {fired}");
        project.nobody_left().await;
    }
}

#[tokio::test]
async fn an_answer_that_the_point_cannot_honour_fails_its_event_and_no_other() {
    let project = Project::new();
    let handler =
        worker(&project, "next; echo \"{\\\"id\\\":$id,\\\"verdict\\\":\\\"maybe\\\"}\"; next; deny still; next");
    assert!(fired(&project, &handler, LONG).await.record.decided_by_failure());
    assert_eq!(fired(&project, &handler, LONG).await.to_string(), "denied by outside: still");
    assert_eq!(project.pids().await.len(), 1);
}

#[tokio::test]
async fn a_worker_that_does_not_read_holds_nobody_up() {
    let project = Project::new();
    let handler = worker(&project, "exec sleep 1000");
    let args = json!({ "content": "x".repeat(1024 * 1024) });
    let ask = || project.guards_with(&handler, FailurePolicy::Closed, Duration::from_millis(300), args.clone());
    let (one, two, three) = tokio::join!(ask(), ask(), ask());
    for fired in [one, two, three] {
        assert!(fired.record.decided_by_failure(), "{fired}");
    }
    project.nobody_left().await;
}

#[tokio::test]
async fn with_the_handler_the_worker_ends_and_has_a_moment_for_that() {
    let project = Project::new();
    let handler = worker(&project, "sleep 1000 & echo $! >> pids; while next; do deny so; done; touch ended");
    fired(&project, &handler, LONG).await;
    drop(handler);
    project.nobody_left().await;
    assert!(project.path("ended").exists(), "its input was closed first");
}

#[tokio::test]
async fn with_the_handler_a_worker_that_does_not_want_to_end_ends_too() {
    let project = Project::new();
    let handler = worker(&project, "trap '' TERM; next; deny so; while :; do sleep 1; done");
    fired(&project, &handler, LONG).await;
    drop(handler);
    project.nobody_left().await;
}
