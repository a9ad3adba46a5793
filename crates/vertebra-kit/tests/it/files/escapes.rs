//! Ways out of the folder that lead nowhere.

use std::fs;

use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::{Value, json};

use super::{SECRET, Talk, World, names};

/// Every tool, at this path.
fn every_tool(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("read_file", json!({ "path": path })),
        ("write_file", json!({ "path": path, "content": "overwritten", "create_parents": true })),
        ("edit_file", json!({ "path": path, "old_string": "canary", "new_string": "cat" })),
        ("list_dir", json!({ "path": path })),
        ("search_files", json!({ "path": path, "pattern": "*" })),
        ("grep", json!({ "path": path, "pattern": "canary" })),
    ]
}

/// Tries all tools at a path and checks that none of them gets out, not even one that may write what it has not read.
async fn assert_closed(world: &World, path: &str) {
    let mut talk = Talk::new(world.files().write_unread(), |_| {}).await;
    for (tool, args) in every_tool(path) {
        let said = talk.refused(tool, args).await;
        assert!(!said.contains(SECRET), "{tool} {path}: {said}");
    }
    world.assert_unharmed();
}

#[tokio::test]
async fn no_spelling_of_a_path_leads_out() {
    let world = World::with("inside\n");
    let outside = world.outside();
    let outside = outside.to_str().expect("text");
    for path in [
        "../outside/secret.txt",
        "./../outside/secret.txt",
        "a/../../outside/secret.txt",
        "..//outside/./secret.txt/",
        "../root/../outside/secret.txt",
        "a.txt/../../outside/secret.txt",
        &format!("{outside}/secret.txt"),
        &format!("/proc/self/root{outside}/secret.txt"),
        &format!("/proc/self/cwd/../../..{outside}/secret.txt"),
        "/etc/passwd",
        "/dev/stdin",
        "/proc/self/fd/0",
        "/",
        "..",
        "../rootless",
        "a\0.txt",
        "",
    ] {
        assert_closed(&world, path).await;
    }
    assert_eq!(world.text("a.txt"), "inside\n");
}

#[tokio::test]
async fn no_link_leads_out() {
    let world = World::with("inside\n");
    world.link("file", world.outside().join("secret.txt"));
    world.link("relative", "../outside/secret.txt");
    world.link("folder", world.outside());
    world.link("up", "..");
    world.link("one", "two");
    world.link("two", "three");
    world.link("three", "folder/secret.txt");
    world.link("magic", format!("/proc/self/root{}/secret.txt", world.outside().display()));
    world.link("stdin", "/dev/stdin");
    world.link("new", world.outside().join("new.txt"));
    world.link("sneaky", world.root().join("../outside/secret.txt"));
    for path in [
        "file",
        "relative",
        "folder/secret.txt",
        "folder/new.txt",
        "up/outside/secret.txt",
        "one",
        "magic",
        "stdin",
        "new",
        "sneaky",
    ] {
        assert_closed(&world, path).await;
    }
    let mut talk = world.talk().await;
    world.link("round", "round");
    assert_eq!(talk.refused("read_file", json!({"path": "round"})).await, "`round` passes too many links");
}

#[tokio::test]
async fn links_that_stay_inside_are_followed_and_stay_links() {
    let world = World::with("one\n");
    world.put("dir/b.txt", "two\n");
    world.link("alias", "a.txt");
    world.link("absolute", world.root().join("dir"));
    world.link("dir/back", "../a.txt");
    let mut talk = world.talk().await;
    assert_eq!(talk.ok("read_file", json!({"path": "absolute/b.txt"})).await, "     1\ttwo\n");
    assert_eq!(talk.ok("read_file", json!({"path": "dir/back"})).await, "     1\tone\n");
    let edited = talk.ok("edit_file", json!({"path": "alias", "old_string": "one", "new_string": "1"})).await;
    assert_eq!(edited, "`a.txt` edited at line 1");
    assert_eq!(world.text("a.txt"), "1\n");
    assert!(fs::symlink_metadata(world.root().join("alias")).expect("a link").is_symlink());
}

#[tokio::test]
async fn one_file_may_be_spelled_in_many_ways_and_absolutely() {
    let world = World::with("inside\n");
    world.put("dir/b.txt", "b\n");
    let root = world.root();
    let mut talk = world.talk().await;
    for path in [
        "a.txt",
        "./a.txt",
        "dir/../a.txt",
        ".//a.txt",
        "../root/a.txt",
        "missing/../a.txt",
        &format!("{}/a.txt", root.display()),
        &format!("{}//./dir/../a.txt", root.display()),
    ] {
        assert_eq!(talk.ok("read_file", json!({ "path": path })).await, "     1\tinside\n", "{path}");
    }
    assert!(talk.ok("list_dir", json!({ "path": "dir/" })).await.starts_with("b.txt"));
    assert_eq!(talk.refused("read_file", json!({"path": "A.TXT"})).await, "`A.TXT` is not there");
}

#[tokio::test]
async fn a_folder_given_by_a_link_is_known_by_both_names() {
    let world = World::with("inside\n");
    let link = world.dir.path().join("link");
    std::os::unix::fs::symlink(world.root(), &link).expect("a link");
    let mut talk = Talk::new(vertebra_kit::files::Files::new(&link).expect("a folder"), |_| {}).await;
    for path in ["a.txt".into(), link.join("a.txt"), world.root().join("a.txt")] {
        assert_eq!(talk.ok("read_file", json!({ "path": path })).await, "     1\tinside\n");
    }
    // The handle stays with the folder, whatever becomes of its name.
    fs::remove_file(&link).expect("the link");
    std::os::unix::fs::symlink(world.outside(), &link).expect("another link");
    assert_eq!(talk.ok("read_file", json!({"path": "a.txt"})).await, "     1\tinside\n");
    talk.refused("read_file", json!({"path": "secret.txt"})).await;
}

#[tokio::test]
async fn a_hard_link_to_a_file_outside_is_cut_before_it_is_written() {
    let world = World::new();
    for (name, tool, args) in [
        ("w", "write_file", json!({"path": "w", "content": "mine"})),
        ("e", "edit_file", json!({"path": "e", "old_string": "canary", "new_string": "cat"})),
    ] {
        fs::hard_link(world.outside().join("secret.txt"), world.root().join(name)).expect("a hard link");
        let mut talk = world.talk().await;
        talk.ok("read_file", json!({ "path": name })).await;
        talk.ok(tool, args).await;
        assert_ne!(world.text(name), SECRET);
    }
    world.assert_unharmed();
}

#[tokio::test]
async fn pipes_sockets_and_folders_are_refused_without_waiting() {
    let world = World::new();
    mkfifoat(CWD, world.root().join("pipe"), Mode::from_raw_mode(0o600)).expect("a pipe");
    let _socket = std::os::unix::net::UnixListener::bind(world.root().join("socket")).expect("a socket");
    let mut talk = Talk::new(world.files().write_unread(), |_| {}).await;
    for (path, what) in [("pipe", "is a named pipe"), ("socket", "is a socket")] {
        for (tool, args) in every_tool(path) {
            let said = talk.refused(tool, args).await;
            assert!(said.contains(what) || said.contains("is not a folder"), "{tool}: {said}");
        }
    }
    // Neither does a search wait for one that it comes by.
    assert_eq!(talk.ok("grep", json!({"pattern": "x"})).await, "no match\n");
    let devices = vertebra_kit::files::Files::new("/dev").expect("a folder");
    let said = Talk::new(devices, |_| {}).await.refused("read_file", json!({"path": "zero"})).await;
    assert_eq!(said, "`zero` is a device, not a file");
}

#[tokio::test]
async fn a_name_is_a_name_whatever_it_looks_like() {
    let world = World::new();
    let odd = [
        "$(touch X)",
        "`x`",
        ";x",
        "a\nb",
        "-rf",
        "--upload-pack=x",
        "~",
        "$HOME",
        "*",
        "a b",
        "\u{1b}[31m",
        "ü",
        "u\u{308}",
    ];
    let mut talk = world.talk().await;
    for name in odd {
        talk.ok("write_file", json!({"path": name, "content": "NEEDLE\n"})).await;
        talk.ok("read_file", json!({"path": name})).await;
        talk.ok("edit_file", json!({"path": name, "old_string": "NEEDLE", "new_string": "NEEDLE 2"})).await;
        assert_eq!(world.text(name), "NEEDLE 2\n");
    }
    let mut expected: Vec<String> = odd.iter().map(ToString::to_string).collect();
    expected.sort();
    assert_eq!(world.names(), expected);
    let list = talk.ok("list_dir", json!({})).await;
    assert!(list.contains("\"a\\nb\" (") && list.contains("\"\\u{1b}[31m\" ("), "{list}");
    assert_eq!(list.lines().count(), odd.len());
    assert_eq!(talk.ok("search_files", json!({"pattern": "*"})).await.lines().count(), odd.len());
    assert_eq!(talk.ok("grep", json!({"pattern": "NEEDLE", "files_only": true})).await.lines().count(), odd.len());
    assert_eq!(names(world.dir.path()), ["outside", "root"]);
}
