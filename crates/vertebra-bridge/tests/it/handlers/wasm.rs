//! Modules that answer, and modules that want more than they have.

use vertebra_bridge::{
    policy::Policy,
    trust::{self, Own, Remains, Standing, Store},
    wire::{Decision, Happened, Judgement},
};

use super::*;

/// Denies events that contain `rm`, and has no opinion on others.
const NO_RM: &str = r#"(module
  (memory (export "memory") 1)
  (data (i32.const 0) "{\"verdict\":\"deny\",\"reason\":\"no rm\"}")
  (func (export "alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "answer") (param $at i32) (param $left i32) (result i64)
    (loop $next
      (if (i32.lt_s (local.get $left) (i32.const 2)) (then (return (i64.const 0))))
      (if (i32.eq (i32.load16_u (local.get $at)) (i32.const 0x6d72)) (then (return (i64.const 35))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (local.set $left (i32.sub (local.get $left) (i32.const 1)))
      (br $next))
    (unreachable)))"#;

/// A module that does this to answer.
fn answering(body: &str) -> String {
    format!(
        r#"(module (memory (export "memory") 1)
            (func (export "alloc") (param i32) (result i32) (i32.const 1024))
            (func (export "answer") (param i32 i32) (result i64) {body}))"#
    )
}

fn module(project: &Project, text: &str, fuel: u64) -> RunSettings {
    fs::write(project.path("hook.wasm"), wat::parse_str(text).expect("a module")).expect("a file");
    RunSettings::Wasm { file: "hook.wasm".to_owned(), fuel, memory: 1024 * 1024 }
}

#[tokio::test]
async fn a_module_reads_the_event_and_answers() {
    let project = Project::new();
    let handler = project.build(&module(&project, NO_RM, 1_000_000));
    for (command, says) in
        [("rm -r x", "denied by outside: no rm"), ("ls", "proceeded"), ("rm y", "denied by outside: no rm")]
    {
        let args = json!({ "command": command });
        let fired = project.guards_with(&handler, FailurePolicy::Closed, LONG, args).await;
        assert_eq!(fired.to_string(), says, "{command}");
    }
}

#[tokio::test]
async fn a_module_has_no_more_fuel_memory_and_time_than_it_is_given() {
    let project = Project::new();
    let forever = answering("(loop $l (br $l)) (unreachable)");
    let grows = answering("(drop (memory.grow (i32.const 100))) (i64.const 0)");
    let elsewhere = answering("(i64.const 0x7fff000000000010)");
    let huge = answering("(i64.const 0xffffffff)");
    let cases = [
        (&forever, 1_000_000, LONG, "failed", "all fuel consumed"),
        (&forever, u64::MAX, Duration::from_millis(300), "timed_out", "it gave no answer within 300 ms"),
        (&grows, 1_000_000, LONG, "failed", "the module failed: "),
        (&elsewhere, 1_000_000, LONG, "failed", "its answer is not in its memory"),
        (&huge, 1_000_000, LONG, "failed", "its answer is not in its memory"),
    ];
    for (text, fuel, limit, end, says) in cases {
        let handler = project.build(&module(&project, text, fuel));
        let fired = project.guards_with(&handler, FailurePolicy::Closed, limit, json!({})).await;
        assert!(fired.record.decided_by_failure(), "{text}: {fired}");
        assert_eq!(account(&fired)["end"], end, "{text}: {}", account(&fired));
        assert!(fired.to_string().contains(says), "{text}: {fired}");
    }
}

#[test]
fn a_module_that_cannot_be_run_is_an_error_before_anything_happens() {
    let project = Project::new();
    let imports = r#"(module (import "wasi_snapshot_preview1" "fd_write" (func)))"#;
    for (text, says) in [(imports, "unknown import"), ("(module)", "it exports no `memory`")] {
        let run = module(&project, text, 1);
        let problem = build(&run, &project.services).map(drop).expect_err(says).to_string();
        assert!(problem.starts_with("the module `hook.wasm` cannot be run: ") && problem.contains(says), "{problem}");
    }
    let missing = RunSettings::Wasm { file: "gone.wasm".to_owned(), fuel: 1, memory: 1 };
    assert!(build(&missing, &project.services).is_err());
}

/// What a trusted policy with the module as a guard decides about a command.
async fn judged(root: &Path, store: &Store, command: &str) -> Judgement {
    let (project, standing) = store.policy(root).expect("a policy");
    let remains = Remains::of(&project, &standing, Some(store));
    let (settings, _) = Own::default().merge(remains.settings);
    let services = Services { folder: root.to_owned(), seals: remains.seals, ..Services::default() };
    let (policy, error) = Policy::as_far_as_possible(&settings, &services, None).expect("a policy");
    assert!(error.is_none(), "the rest of the policy stays in force: {error:?}");
    let event = json!({ "point": "BeforeToolUse", "tool": "bash", "args": { "command": command } });
    policy.judge(&Happened::read(&event).expect("an event")).await
}

#[tokio::test]
async fn a_module_that_changed_after_it_was_trusted_does_not_run_and_its_guard_refuses() {
    let project = Project::new();
    let root = project.folder.path().canonicalize().expect("a path").join("project");
    fs::create_dir_all(root.join(".git")).expect("a folder");
    let settings = "[[hook]]\nname = \"no-rm\"\npoint = \"BeforeToolUse\"\nrole = \"guard\"\nrun = { wasm = \"no-rm.wasm\" }\n\
                    [permissions]\ndeny = [\"Bash(reboot)\"]\n";
    fs::write(root.join("vertebra.toml"), settings).expect("a file");
    let write = |text: &str| {
        fs::write(root.join("no-rm.wasm"), wat::parse_str(text).expect("a module")).expect("a file");
    };
    write(NO_RM);
    let store = Store::in_folder(&project.path("state"));
    store.trust(&trust::Project::look(&root).expect("a project")).expect("trusted");
    assert_eq!(judged(&root, &store, "ls").await.decision, None);
    assert_eq!(judged(&root, &store, "rm x").await.reason.as_deref(), Some("no rm"));

    // It would let everything pass.
    write(&answering("(i64.const 0)"));
    assert!(matches!(store.policy(&root), Ok((_, Standing::Changed(files))) if files == ["no-rm.wasm"]));
    for command in ["ls", "rm x"] {
        let Judgement { decision, reason, decided_by, .. } = judged(&root, &store, command).await;
        assert_eq!(decision, Some(Decision::Deny), "{command}: {reason:?}");
        assert!(decided_by.is_some_and(|by| by.starts_with("no-rm")), "{command}");
        assert!(reason.is_some_and(|why| why.contains("no-rm.wasm changed since it was trusted")), "{command}");
    }

    write(NO_RM);
    assert_eq!(judged(&root, &store, "ls").await.decision, None, "it is as it was trusted");
    fs::remove_file(root.join("no-rm.wasm")).expect("removed");
    assert_eq!(judged(&root, &store, "ls").await.decision, Some(Decision::Deny), "a guard that is gone refuses");
}
