//! What may not be written, what may not be seen, and what guards see.

use std::fs;

use serde_json::{Value, json};
use vertebra::{ToolStatus, prelude::*, testing::Script};

use super::{Talk, World};
use crate::support::{built, run};

#[tokio::test]
async fn what_steers_programs_is_not_written_by_any_spelling_present_or_absent() {
    let world = World::new();
    world.put(".git/config", "[core]\n");
    world.put("sub/.git/hooks/pre-commit", "#!/bin/sh\n");
    world.put("vertebra.toml", "");
    world.link("innocent", ".git");
    world.link("also", ".git/config");
    let mut talk = Talk::new(world.files().write_unread(), |_| {}).await;
    for path in [
        ".git/config",
        ".git/hooks/new",
        ".GIT/config",
        "./.git//hooks/../config",
        "innocent/config",
        "innocent/hooks/x",
        "also",
        "sub/.git/hooks/pre-commit",
        "other/.git/config",
        "vertebra.toml",
        "Vertebra.TOML",
        ".vertebra/hooks.toml",
        ".claude/settings.json",
        ".mcp.json",
        ".vscode/tasks.json",
    ] {
        for (tool, args) in [
            ("write_file", json!({"path": path, "content": "evil", "create_parents": true})),
            ("edit_file", json!({"path": path, "old_string": "core", "new_string": "evil"})),
        ] {
            let said = talk.refused(tool, args).await;
            assert!(said.contains("is protected"), "{tool} {path}: {said}");
        }
    }
    assert_eq!(world.names(), [".git", "also", "innocent", "sub", "vertebra.toml"]);
    assert_eq!(world.text(".git/config"), "[core]\n");
    // Reading is fine, and so is a name that is only alike.
    talk.ok("read_file", json!({"path": ".git/config"})).await;
    talk.ok("write_file", json!({"path": ".github/workflows/ci.yml", "content": "x", "create_parents": true})).await;
    let mut open = Talk::new(world.files().unprotected().write_unread(), |_| {}).await;
    open.ok("write_file", json!({"path": ".git/config", "content": "[core]\nx\n"})).await;
}

/// A folder of secrets, by every tool and every way there is.
fn secret_world() -> World {
    let world = World::with("public NEEDLE\n");
    world.put("secrets/key.pem", "NEEDLE\n");
    world.put("secrets/deep/other", "NEEDLE\n");
    world.put("src/.env", "NEEDLE\n");
    world.link("door", "secrets");
    world.link("window", "secrets/key.pem");
    world
}

#[tokio::test]
async fn what_is_denied_is_denied_to_every_tool_by_every_way() {
    let world = secret_world();
    let files = world.files().write_unread().deny("secrets/**").expect("a glob").deny(".env").expect("a glob");
    let mut talk = Talk::new(files, |_| {}).await;
    let root = world.root();
    for path in [
        "secrets/key.pem",
        "./secrets/../secrets/key.pem",
        "door/key.pem",
        "window",
        "SECRETS/key.pem",
        "secrets/new",
        "secrets",
        "door",
        "secrets/deep",
        "src/.env",
        &format!("{}/secrets/key.pem", root.display()),
    ] {
        for (tool, args) in [
            ("read_file", json!({"path": path})),
            ("write_file", json!({"path": path, "content": "x"})),
            ("edit_file", json!({"path": path, "old_string": "NEEDLE", "new_string": "x"})),
            ("list_dir", json!({"path": path})),
            ("search_files", json!({"path": path, "pattern": "*"})),
            ("grep", json!({"path": path, "pattern": "NEEDLE"})),
        ] {
            let said = talk.refused(tool, args).await;
            assert!(said.contains("is off limits"), "{tool} {path}: {said}");
            // Where a link leads is not told.
            assert!(path.to_lowercase().contains("secrets") || !said.contains("secrets"), "{tool} {path}: {said}");
        }
    }
    // A search from above does not tell of it either.
    assert_eq!(talk.ok("grep", json!({"pattern": "NEEDLE", "hidden": true})).await, "a.txt\n1:public NEEDLE\n");
    let found = talk.ok("search_files", json!({"patterns": ["*", "secrets/**"], "hidden": true})).await;
    assert_eq!(found, "a.txt\ndoor\nwindow\n");
    assert_eq!(talk.ok("list_dir", json!({})).await, "src/\na.txt (14 bytes)\ndoor (link)\nwindow (link)\n");
    assert_eq!(talk.ok("list_dir", json!({"path": "src"})).await, "(empty folder)\n");
    assert_eq!(world.text("secrets/key.pem"), "NEEDLE\n");
}

#[tokio::test]
async fn a_guard_by_path_holds_for_every_tool_and_sees_where_a_search_begins() {
    let world = secret_world();
    let secrets = format!("{}/secrets/**", world.root().display());
    let root = world.root().display().to_string();
    let mut talk = Talk::new(world.files().write_unread(), |builder| {
        builder
            .guard(BeforeToolUse.path("secrets/**"), async |_| deny("private"))
            .guard(BeforeToolUse.path(secrets), async |_| deny("private"))
            .guard(BeforeToolUse.tool("Grep").path(root), async |_| deny("too broad"));
    })
    .await;
    let calls: Vec<(&str, Value)> = vec![
        ("read_file", json!({"path": "secrets/key.pem"})),
        ("write_file", json!({"path": "src/../secrets/key.pem", "content": "x"})),
        ("edit_file", json!({"path": "./secrets//key.pem", "old_string": "NEEDLE", "new_string": "x"})),
        ("list_dir", json!({"path": "secrets/deep/"})),
        ("search_files", json!({"path": "secrets/deep", "pattern": "*"})),
        ("grep", json!({"path": world.root().join("secrets/deep"), "pattern": "NEEDLE"})),
        ("grep", json!({"pattern": "NEEDLE"})),
    ];
    for (result, (tool, args)) in talk.calls(&calls).await.iter().zip(&calls) {
        assert_eq!(result.status, ToolStatus::Blocked, "{tool} {args}: {}", result.output);
    }
    talk.ok("grep", json!({"pattern": "NEEDLE", "path": "src"})).await;
}

#[tokio::test]
async fn policies_written_for_other_agents_hold_for_these_tools() {
    let world = World::with("x\n");
    for (alias, tool, args) in [
        ("Read", "read_file", json!({"path": "a.txt"})),
        ("Write", "write_file", json!({"path": "b.txt", "content": "x"})),
        ("Edit", "edit_file", json!({"path": "a.txt", "old_string": "x", "new_string": "y"})),
        ("LS", "list_dir", json!({"path": "."})),
        ("Glob", "search_files", json!({"pattern": "*"})),
        ("Grep", "grep", json!({"pattern": "x"})),
    ] {
        let mut talk = Talk::new(world.files(), |builder| {
            builder.guard(BeforeToolUse.tool(alias), async |_| deny("not here"));
        })
        .await;
        let result = talk.call(tool, args).await;
        assert_eq!(result.status, ToolStatus::Blocked, "{alias}: {}", result.output);
    }
}

#[test]
fn tools_say_which_of_them_change_nothing() {
    let world = World::new();
    let agent = built(Agent::builder(Script::new()).with(world.files()));
    let mut harmless: Vec<_> = agent.tools().filter(|spec| spec.read_only).map(|spec| spec.name.to_string()).collect();
    harmless.sort();
    assert_eq!(harmless, ["grep", "list_dir", "read_file", "search_files"]);
}

#[tokio::test]
async fn a_rule_that_could_never_hold_is_refused_at_once() {
    let world = World::new();
    let error = world.files().deny("/etc/**").expect_err("an absolute pattern");
    assert_eq!(error.to_string(), "invalid pattern `/etc/**`: write it relative to the folder, such as `secrets/**`");
    fs::write(world.root().join("file"), "").expect("a file");
    assert!(vertebra_kit::files::Files::new(world.root().join("file")).is_err());
    assert!(vertebra_kit::files::Files::new(world.root().join("nope")).is_err());
}

#[tokio::test]
async fn relative_paths_are_relative_to_where_the_agent_works() {
    let world = World::with("above\n");
    world.put("sub/b.txt", "below\n");
    let sub = world.root().join("sub").display().to_string();
    let mut talk = Talk::new(world.files(), |builder| {
        builder.working_directory(sub);
    })
    .await;
    assert_eq!(talk.ok("search_files", json!({"pattern": "*.txt"})).await, "b.txt\n");
    assert_eq!(talk.ok("grep", json!({"pattern": "b", "path": "../sub", "files_only": true})).await, "b.txt\n");
    assert_eq!(talk.ok("read_file", json!({"path": "b.txt"})).await, "     1\tbelow\n");
    assert_eq!(talk.ok("read_file", json!({"path": "../a.txt"})).await, "     1\tabove\n");
    talk.refused("read_file", json!({"path": "../../outside/secret.txt"})).await;
}

#[tokio::test]
async fn an_agent_that_works_elsewhere_is_told_where_its_files_are() {
    let world = World::with("x\n");
    let script = Script::new().call("read_file", r#"{"path": "a.txt"}"#).say("done");
    let agent = built(Agent::builder(script.clone()).working_directory("/elsewhere").with(world.files()));
    run(&agent, "go").await;
    let request = script.requests().pop().expect("a request");
    let answer = request.messages.iter().last().cloned().expect("a message");
    let Message::Tool { result, .. } = answer else { panic!("{answer:?}") };
    assert_eq!(result.output, format!("`/elsewhere/a.txt` is outside of {}", world.root().display()));
}
