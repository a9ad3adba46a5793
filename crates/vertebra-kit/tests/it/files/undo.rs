//! A person wants back what a prompt changed.

use std::fs;

use serde_json::json;
use vertebra::{Agent, prelude::*, testing::Script};
use vertebra_kit::{
    files::{Bounds, Changed, Undo, Undone},
    subagents::{Subagent, Subagents},
};

use super::{Talk, World};
use crate::support::built;

async fn talk(world: &World, undo: &Undo) -> Talk {
    Talk::new(world.files().write_unread().undo(undo), |_| {}).await
}

impl Talk {
    async fn write(&mut self, path: &str, content: &str) {
        self.ok("write_file", json!({ "path": path, "content": content, "create_parents": true })).await;
    }

    fn undo(&self, undo: &Undo) -> Undone {
        undo.undo(self.session.id())
    }
}

fn paths(paths: &[&str]) -> Vec<String> {
    paths.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn the_latest_prompt_is_undone_and_then_the_one_before() {
    let (world, undo) = (World::with("one\n"), Undo::default());
    let mut talk = talk(&world, &undo).await;
    talk.write("a.txt", "two\n").await;
    talk.calls(&[
        ("edit_file", json!({ "path": "a.txt", "old_string": "two", "new_string": "three" })),
        ("write_file", json!({ "path": "sub/new.txt", "content": "new", "create_parents": true })),
    ])
    .await;
    talk.ok("edit_file", json!({ "path": "a.txt", "old_string": "three", "new_string": "four" })).await;
    talk.ok("read_file", json!({ "path": "a.txt" })).await;
    assert_eq!(undo.changed(talk.session.id()), [Changed { path: "a.txt".to_owned(), created: false }]);

    assert_eq!(talk.undo(&undo).restored, paths(&["a.txt"]));
    assert_eq!(world.text("a.txt"), "three\n");
    let both = talk.undo(&undo);
    assert_eq!((both.restored, both.removed), (paths(&["a.txt"]), paths(&["sub/new.txt"])));
    assert_eq!(world.text("a.txt"), "two\n");
    assert!(!world.root().join("sub/new.txt").exists());
    talk.undo(&undo);
    assert_eq!(world.text("a.txt"), "one\n");
    assert_eq!(talk.undo(&undo), Undone::default());
    assert!(Undone::default().to_string().contains("nothing to undo"));
}

#[tokio::test]
async fn what_was_undone_can_be_done_again_until_something_else_is_changed() {
    let (world, undo) = (World::with("one\n"), Undo::default());
    let mut talk = talk(&world, &undo).await;
    talk.calls(&[
        ("write_file", json!({ "path": "a.txt", "content": "two\n" })),
        ("write_file", json!({ "path": "new.txt", "content": "new" })),
    ])
    .await;
    talk.ok("read_file", json!({ "path": "a.txt" })).await;
    let latest = undo.latest(talk.session.id()).expect("a prompt that changed files");
    assert_eq!(latest.prompts_ago, 1);
    assert_eq!(latest.files.len(), 2);

    talk.undo(&undo);
    assert_eq!((world.text("a.txt").as_str(), world.root().join("new.txt").exists()), ("one\n", false));
    let redone = undo.redo(talk.session.id());
    assert_eq!(redone.refused, paths(&[]));
    assert_eq!((world.text("a.txt").as_str(), world.text("new.txt").as_str()), ("two\n", "new"));
    assert_eq!(undo.redo(talk.session.id()), Undone::default());

    // Undone again, it is not done again over what came since: by a person, or by the agent.
    talk.undo(&undo);
    world.put("new.txt", "a person's");
    let redone = undo.redo(talk.session.id());
    assert_eq!(redone.restored, paths(&["a.txt"]));
    assert!(redone.refused[0].contains("`new.txt` was not restored: it has changed since"), "{redone:?}");
    assert_eq!(world.text("new.txt"), "a person's");
    talk.undo(&undo);
    talk.write("b.txt", "else").await;
    assert_eq!(undo.redo(talk.session.id()), Undone::default());
    assert_eq!(world.text("a.txt"), "one\n");
}

#[tokio::test]
async fn several_changes_of_one_prompt_are_undone_as_one() {
    let (world, undo) = (World::with("0"), Undo::default());
    let mut talk = talk(&world, &undo).await;
    let edit = |old: &str, new: &str| ("edit_file", json!({ "path": "a.txt", "old_string": old, "new_string": new }));
    let script = talk.script.clone();
    for (tool, args) in [edit("0", "1"), edit("1", "2"), edit("2", "3")] {
        let _ = script.clone().call(tool, &args.to_string());
    }
    let _ = script.clone().say("done");
    talk.session.prompt("go").await.expect("a run");
    assert_eq!(world.text("a.txt"), "3");
    talk.undo(&undo);
    assert_eq!(world.text("a.txt"), "0");
}

#[tokio::test]
async fn what_somebody_changed_since_stays_and_the_rest_is_undone() {
    let (world, undo) = (World::with("one"), Undo::default());
    for (path, content) in [("b.txt", "one"), ("gone.txt", "one")] {
        world.put(path, content);
    }
    let mut talk = talk(&world, &undo).await;
    let write = |path: &str| ("write_file", json!({ "path": path, "content": "two" }));
    talk.calls(&[write("a.txt"), write("b.txt"), write("gone.txt"), write("new.txt")]).await;
    world.put("b.txt", "a person's");
    world.put("new.txt", "a person's and longer");
    fs::remove_file(world.root().join("gone.txt")).expect("removed");

    let undone = talk.undo(&undo);
    assert_eq!(undone.restored, paths(&["a.txt"]));
    assert_eq!(undone.removed, paths(&[]));
    let told = undone.to_string();
    for part in [
        "`b.txt` was not restored: it has changed since",
        "`new.txt` was not restored: it has changed since",
        "`gone.txt` is not there",
        "commands",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!((world.text("a.txt").as_str(), world.text("b.txt").as_str()), ("one", "a person's"));
    assert!(!world.root().join("gone.txt").exists());
}

#[tokio::test]
async fn what_somebody_changed_between_two_changes_of_one_prompt_is_not_lost() {
    let (world, undo) = (World::with("one"), Undo::default());
    let path = world.root().join("a.txt");
    let mut talk = Talk::new(world.files().write_unread().undo(&undo), |builder| {
        builder.on(BeforeToolUse, async move |_cx| {
            if fs::read(&path).is_ok_and(|text| text == b"two") {
                fs::write(&path, "a person's").expect("written");
            }
            proceed()
        });
    })
    .await;
    for content in ["two", "a person's, and more"] {
        let args = json!({ "path": "a.txt", "content": content }).to_string();
        let _ = talk.script.clone().call("write_file", &args);
    }
    let _ = talk.script.clone().say("done");
    talk.session.prompt("go").await.expect("a run");
    assert_eq!(world.text("a.txt"), "a person's, and more");
    let undone = talk.undo(&undo);
    assert!(undone.refused[0].contains("something else changed it"), "{undone}");
    assert_eq!(world.text("a.txt"), "a person's, and more");
}

#[tokio::test]
async fn no_link_leads_an_undo_elsewhere() {
    let (world, undo) = (World::new(), Undo::default());
    world.put("dir/a.txt", "one");
    world.put("other/a.txt", "two");
    world.put("b.txt", "one");
    world.link("link.txt", "b.txt");
    let mut talk = talk(&world, &undo).await;
    let write = |path: &str| ("write_file", json!({ "path": path, "content": "two" }));
    talk.calls(&[write("dir/a.txt"), write("link.txt")]).await;
    assert!(undo.changed(talk.session.id()).iter().any(|file| file.path == "b.txt"), "kept as what it is");
    fs::rename(world.root().join("dir"), world.root().join("was")).expect("moved");
    world.link("dir", "other");

    let undone = talk.undo(&undo);
    assert_eq!(undone.restored, paths(&["b.txt"]), "through the link, and the link stays");
    assert!(world.root().join("link.txt").is_symlink());
    assert!(undone.refused[0].contains("leads to another place"), "{undone}");
    assert_eq!(world.text("other/a.txt"), "two");

    talk.write("c.txt", "two").await;
    fs::remove_file(world.root().join("c.txt")).expect("removed");
    world.link("c.txt", world.outside().join("secret.txt"));
    assert!(talk.undo(&undo).removed.is_empty());
    world.assert_unharmed();
}

#[tokio::test]
async fn modes_and_bytes_come_back_as_they_were() {
    use std::os::unix::fs::PermissionsExt as _;
    let (world, undo) = (World::with(b"\xef\xbb\xbfone\r\ntwo\r\n"), Undo::default());
    fs::set_permissions(world.root().join("a.txt"), fs::Permissions::from_mode(0o750)).expect("a mode");
    let mut talk = talk(&world, &undo).await;
    talk.write("a.txt", "three\n").await;
    talk.undo(&undo);
    assert_eq!(world.get("a.txt"), b"\xef\xbb\xbfone\r\ntwo\r\n");
    assert_eq!(fs::metadata(world.root().join("a.txt")).expect("a file").permissions().mode() & 0o777, 0o750);
    assert_eq!(world.names(), ["a.txt"]);
}

#[tokio::test]
async fn what_there_was_no_room_for_is_told_and_older_prompts_go_first() {
    let undo = Undo::default();
    let world = World::new();
    let (small, large) = ("s".repeat(10), "l".repeat(40 * 1024 * 1024));
    world.put("small.txt", &small);
    world.put("one.txt", &large);
    world.put("two.txt", &large);
    let bounds = Bounds { file_bytes: 64 * 1024 * 1024, ..Bounds::default() };
    let mut talk = Talk::new(world.files().write_unread().bounds(bounds).undo(&undo), |_| {}).await;
    talk.write("small.txt", "x").await;
    let write = |path: &str| ("write_file", json!({ "path": path, "content": "x" }));
    talk.calls(&[write("one.txt"), write("two.txt")]).await;
    let undone = talk.undo(&undo);
    assert_eq!((undone.restored.len(), undone.refused.len()), (1, 1), "{undone}");
    assert!(undone.refused[0].contains("too large to keep a copy"), "{undone}");
    assert_eq!(talk.undo(&undo), Undone::default(), "the older prompt made room");
    assert_eq!(world.text("small.txt"), "x");
}

#[tokio::test]
async fn what_a_subagent_changed_belongs_to_the_prompt_that_started_it() {
    let (world, undo) = (World::with("one"), Undo::default());
    let script = Script::new()
        .call("write_file", r#"{"path": "a.txt", "content": "two"}"#)
        .call("spawn_subagent", r#"{"agent": "writer", "prompt": "write"}"#)
        .call("write_file", r#"{"path": "b.txt", "content": "new"}"#)
        .say("written")
        .say("done");
    let writer = Subagent::new("writer", "Writes").prompt("You write.").tools(["Write"]);
    let mut builder = Agent::builder(script);
    builder.with(world.files().write_unread().undo(&undo)).with(Subagents::new().agent(writer).expect("an agent"));
    let mut session = built(&mut builder).session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    assert_eq!(world.names(), ["a.txt", "b.txt"]);
    let undone = undo.undo(session.id());
    assert_eq!((undone.restored, undone.removed), (paths(&["a.txt"]), paths(&["b.txt"])));
    assert_eq!((world.names(), world.text("a.txt")), (paths(&["a.txt"]), "one".to_owned()));
}

#[tokio::test]
async fn sessions_are_undone_apart_and_forgotten_at_their_end() {
    let (world, undo) = (World::with("one"), Undo::default());
    let (mut first, mut second) = (talk(&world, &undo).await, talk(&world, &undo).await);
    first.write("a.txt", "two").await;
    second.write("b.txt", "new").await;
    assert_eq!(first.undo(&undo).restored, paths(&["a.txt"]));
    let id = second.session.id().to_owned();
    second.session.close().await;
    assert_eq!(undo.undo(&id), Undone::default());
    assert_eq!(world.text("b.txt"), "new");
}

#[tokio::test]
async fn an_undone_file_is_read_again_before_it_is_changed() {
    let (world, undo) = (World::with("one"), Undo::default());
    let mut talk = Talk::new(world.files().undo(&undo), |_| {}).await;
    talk.ok("read_file", json!({ "path": "a.txt" })).await;
    talk.ok("write_file", json!({ "path": "a.txt", "content": "two" })).await;
    talk.undo(&undo);
    let told = talk.refused("write_file", json!({ "path": "a.txt", "content": "three" })).await;
    assert!(told.contains("changed since you read it"), "{told}");
}
