//! Settings of Claude Code that change while a session runs.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use serde_json::json;
use vertebra::{
    prelude::*,
    testing::{RecordingTool, Script},
};
use vertebra_bridge::{
    claude::{ClaudeHooks, Follow, Places, Settings},
    trust::{Project, Store},
};

use super::world::World;

fn denying(word: &str) -> String {
    let command = format!("echo 'no, says {word}' >&2; exit 2");
    let group = json!({ "matcher": "Bash", "hooks": [{ "type": "command", "command": command }] });
    json!({ "hooks": { "PreToolUse": [group] } }).to_string()
}

const USER: &str = "home/.claude/settings.json";
const PROJECT: &str = "project/.claude/settings.json";

/// What the model read of its two calls of `bash`, between which a file was written, and what people were told.
async fn between(world: &World, file: &str, text: &str, trust: Trust) -> (Vec<String>, Vec<String>) {
    let places = Places { managed: world.path("managed"), home: world.session.home.clone(), project: None };
    let store = Store::in_folder(&world.path("state"));
    let mut settings = Settings::read(&places);
    let mut project = Vec::new();
    let path = world.path(PROJECT);
    if path.exists() {
        let text = fs::read_to_string(&path).expect("settings");
        settings.add_text(&text, &path, vertebra_bridge::claude::Level::Project);
        project.push((path, text));
        store.trust(&Project::look(world.project()).expect("a project")).expect("trusted");
    }
    let follow = Follow::new(places, world.project().to_owned(), Some(store.clone()), project);
    let hooks = ClaudeHooks::new(settings, world.session.clone(), world.path("transcripts")).following(follow);
    let (path, text, folder) = (world.path(file), text.to_owned(), world.project().to_owned());
    let write = tool("write", "Writes", async move |_: serde_json::Value, _| {
        replace(&path, &text);
        if trust == Trust::Again {
            store.trust(&Project::look(&folder).expect("a project")).expect("trusted");
        }
        Ok("written")
    });
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = told.clone();
    let model = Script::new().call("bash", "{}").call("write", "{}").call("bash", "{}").say("done");
    let mut builder = Agent::builder(model.clone());
    builder.with(hooks).tool(RecordingTool::new("bash").replying("ran")).tool(write);
    builder.watch(Notification, async move |cx| {
        heard.lock().expect("nobody panics").push(cx.message.clone());
        Ok(())
    });
    builder.build().expect("an agent").run("go").await.expect("a run");
    let request = model.requests().last().cloned().expect("a request");
    let results = request.messages.iter().filter_map(|message| match message {
        Message::Tool { result, .. } if result.output != "written" => Some(result.output.clone()),
        _ => None,
    });
    let told = told.lock().expect("nobody panics").clone();
    (results.collect(), told)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    Again,
    AsItWas,
}

/// In one stroke, as editors do it.
fn replace(path: &PathBuf, text: &str) {
    let beside = path.with_extension("new");
    fs::write(&beside, text).expect("written");
    fs::rename(beside, path).expect("renamed");
}

#[tokio::test]
async fn what_a_person_changes_counts_from_the_next_step() {
    let world = World::new();
    world.write(USER, r#"{"model": "any"}"#);
    let (results, told) = between(&world, USER, &denying("user"), Trust::AsItWas).await;
    assert_eq!(results, ["ran", "blocked by claude-code/PreToolUse: no, says user"]);
    assert!(told.iter().any(|text| text.contains("read again")), "{told:?}");
    let (results, _) = between(&world, USER, "{}", Trust::AsItWas).await;
    assert_eq!(results, ["blocked by claude-code/PreToolUse: no, says user", "ran"]);
}

#[tokio::test]
async fn a_broken_file_changes_nothing_and_is_told() {
    let world = World::new();
    world.write(USER, &denying("user"));
    let (results, told) = between(&world, USER, "{ half", Trust::AsItWas).await;
    assert_eq!(results, ["blocked by claude-code/PreToolUse: no, says user"; 2]);
    assert!(told.iter().any(|text| text.contains("stay as they were") && text.contains(USER)), "{told:?}");
}

#[tokio::test]
async fn what_a_project_changes_counts_once_it_is_trusted() {
    for (trust, expected) in [
        (Trust::AsItWas, ["blocked by claude-code/PreToolUse: no, says project"; 2]),
        (Trust::Again, ["blocked by claude-code/PreToolUse: no, says project", "ran"]),
    ] {
        let world = World::new();
        world.write(PROJECT, &denying("project"));
        let (results, told) = between(&world, PROJECT, r#"{"model": "any"}"#, trust).await;
        assert_eq!(results, expected);
        assert_eq!(told.iter().any(|text| text.contains("vertebra trust")), trust == Trust::AsItWas, "{told:?}");
    }
}

#[tokio::test]
async fn a_hook_may_keep_a_change_out_but_not_one_of_the_managed_settings() {
    let keeps =
        json!([{ "hooks": [{ "type": "command", "command": "cat > \"$CLAUDE_PROJECT_DIR/change\"; exit 2" }] }]);
    let old = json!({ "hooks": { "ConfigChange": keeps } }).to_string();
    let world = World::new();
    world.write(USER, &old);
    let (results, told) = between(&world, USER, &denying("user"), Trust::AsItWas).await;
    assert_eq!(results, ["ran", "ran"], "{told:?}");
    let change: serde_json::Value = serde_json::from_str(&world.text("project/change")).expect("JSON");
    assert_eq!(change["source"], "user_settings");
    assert!(change["file_path"].as_str().is_some_and(|path| path.ends_with(USER)), "{change}");
    world.write(USER, &old);
    let (results, _) = between(&world, "managed/managed-settings.json", &denying("managed"), Trust::AsItWas).await;
    assert_eq!(results, ["ran", "blocked by claude-code/PreToolUse: no, says managed"]);
}
