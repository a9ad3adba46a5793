//! `list_dir`, `search_files` and `grep`.

use std::{fs, time::Duration};

use serde_json::json;
use vertebra_kit::files::Bounds;

use super::{Talk, World};

/// A small repository.
fn repository() -> World {
    let world = World::new();
    world.put(".gitignore", "target/\n*.log\n!keep.log\n");
    world.put("Cargo.toml", "[package]\nname = \"demo\"\n");
    world.put("src/main.rs", "fn main() {\n    // NEEDLE one\n    run();\n}\n");
    world.put("src/deep/lib.rs", "pub fn run() {}\n// needle two\n");
    world.put("src/.gitignore", "generated.rs\n");
    world.put("src/generated.rs", "// NEEDLE generated\n");
    world.put("target/debug/main.rs", "// NEEDLE built\n");
    world.put("debug.log", "NEEDLE in a log\n");
    world.put("keep.log", "NEEDLE kept\n");
    world.put(".hidden/x.rs", "// NEEDLE hidden\n");
    world.put(".git/config", "NEEDLE = git\n");
    world.put("blob.rs", b"NEEDLE\0");
    world
}

#[tokio::test]
async fn a_folder_is_listed_folders_first_with_sizes() {
    let world = repository();
    world.link("link", "src");
    let mut talk = world.talk().await;
    let text = talk.ok("list_dir", json!({})).await;
    let expected = ".git/\n.hidden/\nsrc/\ntarget/\n.gitignore (24 bytes)\nCargo.toml (24 bytes)\nblob.rs (7 bytes)\n\
                    debug.log (16 bytes)\nkeep.log (12 bytes)\nlink (link)\n";
    assert_eq!(text, expected);
    fs::create_dir(world.root().join("void")).expect("a folder");
    assert_eq!(talk.ok("list_dir", json!({"path": "void"})).await, "(empty folder)\n");
    assert_eq!(talk.refused("list_dir", json!({"path": "Cargo.toml"})).await, "`Cargo.toml` is not a folder");
    assert_eq!(talk.refused("list_dir", json!({"path": "nope"})).await, "`nope` is not there");
}

#[tokio::test]
async fn a_long_list_comes_in_pages() {
    let world = World::new();
    (0..450).for_each(|number| world.put(format!("{number:03}"), ""));
    let mut talk = world.talk().await;
    let first = talk.ok("list_dir", json!({"path": "."})).await;
    assert!(first.ends_with("199 (0 bytes)\n[200 of 450 names; read on with offset=200]\n"), "{first}");
    let last = talk.ok("list_dir", json!({"path": ".", "offset": 400, "limit": 100})).await;
    assert!(last.starts_with("400 (0 bytes)\n") && last.ends_with("449 (0 bytes)\n"), "{last}");
    let behind = talk.refused("list_dir", json!({"path": ".", "offset": 450})).await;
    assert_eq!(behind, "`.` has 450 names: offset 450 is behind the last");
}

#[tokio::test]
async fn files_are_found_by_name_and_what_git_ignores_is_not() {
    let world = repository();
    let mut talk = world.talk().await;
    for (args, expected) in [
        (json!({"pattern": "*.rs"}), "blob.rs\nsrc/deep/lib.rs\nsrc/main.rs\n"),
        (json!({"pattern": "src/**/*.{rs,toml}"}), "src/deep/lib.rs\nsrc/main.rs\n"),
        (json!({"patterns": ["*.toml", "*.log"]}), "Cargo.toml\nkeep.log\n"),
        (json!({"pattern": "*.rs", "path": "src"}), "src/deep/lib.rs\nsrc/main.rs\n"),
        (json!({"pattern": "*.rs", "hidden": true}), ".hidden/x.rs\nblob.rs\nsrc/deep/lib.rs\nsrc/main.rs\n"),
        (json!({"pattern": "config", "hidden": true}), "no file has such a name\n"),
        (json!({"pattern": "*.RS"}), "no file has such a name\n"),
    ] {
        assert_eq!(talk.ok("search_files", args.clone()).await, expected, "{args}");
    }
    for args in [json!({}), json!({"pattern": "["}), json!({"pattern": "../*"}), json!({"pattern": "/etc/*"})] {
        talk.refused("search_files", args).await;
    }
}

#[tokio::test]
async fn lines_are_found_by_expression_and_what_was_not_searched_is_counted() {
    let world = repository();
    let mut talk = world.talk().await;
    let text = talk.ok("grep", json!({"pattern": "NEEDLE"})).await;
    let expected = "keep.log\n1:NEEDLE kept\nsrc/main.rs\n2:    // NEEDLE one\n\
                    [files not searched because they are binary: 1]\n";
    assert_eq!(text, expected);
    for (args, expected) in [
        (
            json!({"pattern": "needle", "ignore_case": true, "glob": "*.rs", "path": "src"}),
            "src/deep/lib.rs\n2:// needle two\nsrc/main.rs\n2:    // NEEDLE one\n",
        ),
        (
            json!({"pattern": "^\\s*run", "context": 1, "path": "src/main.rs"}),
            "src/main.rs\n2-    // NEEDLE one\n3:    run();\n4-}\n",
        ),
        (json!({"pattern": "fn", "files_only": true, "path": "src"}), "src/deep/lib.rs\nsrc/main.rs\n"),
        (json!({"pattern": "absent", "path": "src"}), "no match\n"),
    ] {
        assert_eq!(talk.ok("grep", args.clone()).await, expected, "{args}");
    }
}

#[tokio::test]
async fn matches_near_each_other_share_their_surroundings() {
    let world = World::with("a\nhit 1\nb\nhit 2\nc\nd\ne\nf\nhit 3\n");
    let text = world.talk().await.ok("grep", json!({"pattern": "hit", "context": 1})).await;
    assert_eq!(text, "a.txt\n1-a\n2:hit 1\n3-b\n4:hit 2\n5-c\n--\n8-f\n9:hit 3\n");
}

#[tokio::test]
async fn a_search_is_bounded_in_every_direction() {
    let world = World::with(format!("{}\n", "x".repeat(5000)).repeat(300));
    world.put("large.txt", "x".repeat(3000));
    let bounds = Bounds { search_bytes: 2 << 20, ..Bounds::default() };
    let mut talk = Talk::new(world.files().bounds(bounds), |_| {}).await;
    let text = talk.ok("grep", json!({"pattern": "x", "max_results": 7, "path": "a.txt"})).await;
    assert!(text.ends_with("[there are more than these 7; narrow the pattern or the path]\n"), "{text}");
    assert!(text.lines().all(|line| line.len() < 420));
    let text = talk.ok("grep", json!({"pattern": "x", "max_results": 1000, "context": 99})).await;
    assert!(text.len() < 60_000, "{}", text.len());

    for bad in ["(", "(a{1000}){1000}", "", &"x".repeat(5000)] {
        talk.refused("grep", json!({"pattern": bad})).await;
    }

    let few = Bounds { walk_entries: 10, walk_depth: 3, search_bytes: 10, ..Bounds::default() };
    let world = World::new();
    (0..30).for_each(|number| world.put(format!("{number}.txt"), "long enough to be too long"));
    world.put("a/b/c/d/e/deep.txt", "x");
    let mut talk = Talk::new(world.files().bounds(few), |_| {}).await;
    let text = talk.ok("search_files", json!({"pattern": "*.txt"})).await;
    assert!(text.ends_with("[ended early: there are more than 10 names; look in a smaller folder]\n"), "{text}");
    let text = talk.ok("search_files", json!({"pattern": "deep.txt", "path": "a"})).await;
    assert_eq!(text, "no file has such a name\n[folders that could not be read: 1]\n");
    let text = talk.ok("grep", json!({"pattern": "long", "path": "0.txt"})).await;
    assert_eq!(text, "no match\n[files not searched because they are larger than 10 bytes: 1]\n");

    let no_time = Bounds { time: Duration::ZERO, ..Bounds::default() };
    let mut talk = Talk::new(world.files().bounds(no_time), |_| {}).await;
    let text = talk.ok("search_files", json!({"pattern": "*.txt"})).await;
    assert_eq!(text, "no file has such a name\n[ended early: it took too long; look in a smaller folder]\n");
    talk.refused("read_file", json!({"path": "0.txt"})).await;
    let refused = talk.refused("write_file", json!({"path": "new.txt", "content": "x"})).await;
    assert_eq!(refused, "given up: it took too long");
    assert!(!world.root().join("new.txt").exists());
}

#[tokio::test]
async fn a_search_does_not_follow_links_or_heed_rules_from_outside() {
    let world = repository();
    world.link("way-out", world.outside());
    world.link("loop", ".");
    fs::write(world.dir.path().join(".gitignore"), "*\n").expect("a file outside");
    let mut talk = world.talk().await;
    assert_eq!(
        talk.ok("grep", json!({"pattern": "canary", "hidden": true, "files_only": true})).await.lines().next(),
        Some("no match")
    );
    assert_eq!(talk.ok("search_files", json!({"pattern": "secret*"})).await, "no file has such a name\n");
    assert_eq!(talk.ok("search_files", json!({"pattern": "*.toml"})).await, "Cargo.toml\n");
}
