//! `write_file`.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::json;
use vertebra::CancellationToken;
use vertebra_kit::files::Bounds;

use super::{Talk, World};

#[tokio::test]
async fn a_new_file_is_written_whole_and_nothing_else_is_left() {
    let world = World::new();
    let mut talk = world.talk().await;
    let result = talk.call("write_file", json!({"path": "a.txt", "content": "one\ntwo\n"})).await;
    assert_eq!(result.output, "`a.txt` created (bytes: 8, lines: 2)");
    assert_eq!(result.data["diff"], "--- a.txt\n+++ a.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n");
    assert_eq!(world.text("a.txt"), "one\ntwo\n");
    assert_eq!(world.names(), ["a.txt"]);
    // What it wrote it knows, and may change.
    talk.ok("edit_file", json!({"path": "a.txt", "old_string": "two", "new_string": "three"})).await;
    assert_eq!(world.text("a.txt"), "one\nthree\n");
}

#[tokio::test]
async fn missing_folders_are_made_unless_the_call_says_otherwise() {
    let world = World::new();
    let mut talk = world.talk().await;
    let args = json!({"path": "a/b/c.txt", "content": "x", "create_parents": false});
    let refused = talk.refused("write_file", args).await;
    assert_eq!(refused, "`a/b/c.txt` is in a folder that does not exist, and create_parents is false");
    assert!(world.names().is_empty());
    talk.ok("write_file", json!({"path": "a/b/c.txt", "content": "x"})).await;
    assert_eq!(world.text("a/b/c.txt"), "x");
}

#[tokio::test]
async fn a_file_that_was_not_read_is_not_overwritten_and_the_same_content_is_no_change() {
    let world = World::with("precious\n");
    let inode = world.inode("a.txt");
    let mut talk = world.talk().await;
    let refused = talk.refused("write_file", json!({"path": "a.txt", "content": "other"})).await;
    assert_eq!(refused, "`a.txt` was not read yet: read it before you change it");
    let same = talk.ok("write_file", json!({"path": "a.txt", "content": "precious\n"})).await;
    assert_eq!(same, "`a.txt` already says that; nothing was written");
    assert_eq!((world.text("a.txt").as_str(), world.inode("a.txt")), ("precious\n", inode));
    assert_eq!(world.names(), ["a.txt"]);
}

#[tokio::test]
async fn a_file_that_was_read_is_replaced_unless_it_changed_since() {
    let world = World::with("one\n");
    let mut talk = world.talk().await;
    talk.ok("read_file", json!({"path": "a.txt"})).await;
    let replaced = talk.ok("write_file", json!({"path": "./a.txt", "content": "two\n"})).await;
    assert_eq!(replaced, "`a.txt` replaced (bytes: 4, lines: 1)");

    world.put("a.txt", "a person was here\n");
    let refused = talk.refused("write_file", json!({"path": "a.txt", "content": "three\n"})).await;
    assert_eq!(refused, "`a.txt` has changed since you read it: read it again");
    assert_eq!(world.text("a.txt"), "a person was here\n");

    talk.ok("read_file", json!({"path": "a.txt"})).await;
    talk.ok("write_file", json!({"path": "a.txt", "content": "three\n"})).await;
    assert_eq!(world.text("a.txt"), "three\n");
}

#[tokio::test]
async fn another_session_has_to_read_for_itself() {
    let world = World::with("one\n");
    world.talk().await.ok("read_file", json!({"path": "a.txt"})).await;
    let refused = world.talk().await.refused("write_file", json!({"path": "a.txt", "content": "two"})).await;
    assert_eq!(refused, "`a.txt` was not read yet: read it before you change it");
}

#[tokio::test]
async fn only_so_many_files_are_remembered_the_latest_ones() {
    let world = World::new();
    let names: Vec<String> = (0..6).map(|number| format!("{number}.txt")).collect();
    for name in &names {
        world.put(name, "x");
    }
    let files = world.files().bounds(Bounds { seen: 3, ..Bounds::default() });
    let mut talk = Talk::new(files, |_| {}).await;
    for name in names.iter().chain([&names[3]]) {
        talk.ok("read_file", json!({ "path": name })).await;
    }
    let state = talk.session.state().await;
    let mut kept: Vec<_> = state.metadata().iter().map(|(key, _)| key.to_owned()).collect();
    kept.sort();
    assert_eq!(kept, ["files/seen/3.txt", "files/seen/4.txt", "files/seen/5.txt"]);
    talk.refused("write_file", json!({"path": "0.txt", "content": "y"})).await;
    talk.ok("write_file", json!({"path": "3.txt", "content": "y"})).await;
}

#[tokio::test]
async fn mode_encoding_and_line_ends_stay() {
    let world = World::new();
    let marked: Vec<u8> =
        [0xfe, 0xff].into_iter().chain("a\r\nb\r\n".encode_utf16().flat_map(u16::to_be_bytes)).collect();
    world.put("a.txt", marked);
    let path = world.root().join("a.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).expect("a mode");
    let mut talk = world.talk().await;
    talk.ok("read_file", json!({"path": "a.txt"})).await;
    talk.ok("write_file", json!({"path": "a.txt", "content": "c\nd\n"})).await;
    let expected: Vec<u8> =
        [0xfe, 0xff].into_iter().chain("c\r\nd\r\n".encode_utf16().flat_map(u16::to_be_bytes)).collect();
    assert_eq!(world.get("a.txt"), expected);
    assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o7777, 0o750);
}

#[tokio::test]
async fn what_is_too_large_or_no_text_stays_as_it_is() {
    let world = World::with("one\n");
    world.put("picture.png", b"\x89PNG\0");
    let files = world.files().write_unread().bounds(Bounds { file_bytes: 100, ..Bounds::default() });
    let mut talk = Talk::new(files, |_| {}).await;
    let large = "x".repeat(101);
    for (path, complaint) in [
        ("a.txt", "`a.txt` would have 101 bytes; the limit is 100"),
        ("new.txt", "`new.txt` would have 101 bytes; the limit is 100"),
        ("picture.png", "`picture.png` is a PNG image of 5 bytes, not text"),
    ] {
        assert_eq!(talk.refused("write_file", json!({"path": path, "content": large})).await, complaint);
    }
    assert_eq!(world.text("a.txt"), "one\n");
    assert_eq!(world.get("picture.png"), b"\x89PNG\0");
    assert_eq!(world.names(), ["a.txt", "picture.png"]);
}

#[tokio::test]
async fn a_file_that_nobody_may_write_is_left_alone() {
    let world = World::with("one\n");
    fs::set_permissions(world.root().join("a.txt"), fs::Permissions::from_mode(0o444)).expect("a mode");
    let mut talk = world.talk().await;
    talk.ok("read_file", json!({"path": "a.txt"})).await;
    for (tool, args) in [
        ("write_file", json!({"path": "a.txt", "content": "two"})),
        ("edit_file", json!({"path": "a.txt", "old_string": "one", "new_string": "two"})),
    ] {
        assert_eq!(talk.refused(tool, args).await, "`a.txt` is read-only: its mode lets nobody write it");
    }
    assert_eq!(world.text("a.txt"), "one\n");
}

#[test]
fn a_write_that_is_cancelled_is_whole_or_has_not_happened() {
    let (old, new) = ("old\n".repeat(20_000), "new\n".repeat(20_000));
    for turns in 0..40 {
        let world = World::with(&old);
        // Dropping a runtime waits for its threads, so what is left then is what stays.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let mut talk = Talk::new(world.files().write_unread(), |_| {}).await;
            let args = json!({"path": "a.txt", "content": new}).to_string();
            let _ = talk.script.clone().call("write_file", &args).say("done").may_end_early();
            let token = CancellationToken::new();
            let cancel = async {
                for _ in 0..turns {
                    tokio::task::yield_now().await;
                }
                token.cancel();
            };
            let (_report, ()) = tokio::join!(talk.session.prompt_until("go", &token), cancel);
        });
        drop(runtime);
        let text = world.text("a.txt");
        assert!(text == old || text == new, "half a file after {turns} turns");
        assert_eq!(world.names(), ["a.txt"]);
    }
}

#[tokio::test]
async fn an_agent_that_only_reads_has_no_tools_that_write() {
    let world = World::with("one\n");
    let mut talk = Talk::new(world.files().read_only(), |_| {}).await;
    for tool in ["write_file", "edit_file"] {
        let refused = talk.refused(tool, json!({"path": "a.txt", "content": "x"})).await;
        assert!(refused.starts_with(&format!("unknown tool `{tool}`")), "{refused}");
    }
}
