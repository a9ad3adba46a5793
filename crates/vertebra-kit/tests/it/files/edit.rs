//! `edit_file`.

use std::{fs, os::unix::fs::PermissionsExt as _};

use serde_json::json;

use super::World;

#[tokio::test]
async fn an_edit_changes_one_place_and_shows_people_the_difference() {
    let world = World::with("fn main() {\n    old();\n}\n");
    fs::set_permissions(world.root().join("a.txt"), fs::Permissions::from_mode(0o755)).expect("a mode");
    let mut talk = world.talk().await;
    talk.ok("read_file", json!({"path": "a.txt"})).await;
    let result = talk.call("edit_file", json!({"path": "a.txt", "old_string": "old()", "new_string": "new()"})).await;
    assert_eq!(result.output, "`a.txt` edited at line 2");
    assert_eq!(
        result.data["diff"],
        "--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n fn main() {\n-    old();\n+    new();\n }\n"
    );
    assert_eq!(world.text("a.txt"), "fn main() {\n    new();\n}\n");
    assert_eq!(fs::metadata(world.root().join("a.txt")).expect("a file").permissions().mode() & 0o777, 0o755);
    assert_eq!(world.names(), ["a.txt"]);
}

#[tokio::test]
async fn an_edit_that_cannot_be_made_says_why_and_changes_no_byte() {
    let content = "let answer = 42;\nlet question = 6 * 7;\n";
    let world = World::with(content);
    let inode = world.inode("a.txt");
    let mut talk = world.talk().await;
    let edit = |old: &str, new: &str| json!({"path": "a.txt", "old_string": old, "new_string": new});
    let unread = talk.refused("edit_file", edit("42", "43")).await;
    assert_eq!(unread, "`a.txt` was not read yet: read it before you change it");
    talk.ok("read_file", json!({"path": "a.txt"})).await;
    for (old, new, expected) in [
        (
            "let",
            "var",
            "`a.txt` contains old_string 2 times (lines 1, 2): add text around it until it is there once, or set replace_all=true",
        ),
        (
            "let anwser = 42",
            "x",
            "`a.txt` does not contain old_string; this is the most like it:\n     1\tlet answer = 42;\n",
        ),
        ("", "x", "`a.txt` was not edited: old_string is empty; to make a file, use write_file"),
        ("42", "42", "`a.txt` was not edited: old_string and new_string are the same"),
    ] {
        assert_eq!(talk.refused("edit_file", edit(old, new)).await, expected);
    }
    let missing = talk.refused("edit_file", json!({"path": "b.txt", "old_string": "a", "new_string": "b"})).await;
    assert_eq!(missing, "`b.txt` is not there");
    assert_eq!((world.text("a.txt").as_str(), world.inode("a.txt")), (content, inode));
    assert_eq!(world.names(), ["a.txt"]);
}

#[tokio::test]
async fn all_places_are_edited_when_all_are_meant() {
    let world = World::with("a b a\na\n");
    let mut talk = world.talk().await;
    talk.ok("read_file", json!({"path": "a.txt"})).await;
    let args = json!({"path": "a.txt", "old_string": "a", "new_string": "aa", "replace_all": true});
    assert_eq!(talk.ok("edit_file", args).await, "`a.txt` edited in 3 places, the first at line 1");
    assert_eq!(world.text("a.txt"), "aa b aa\naa\n");
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_read_is_edited_where_the_text_is_but_not_replaced() {
    let world = World::with("one two\n");
    let mut talk = world.talk().await;
    talk.ok("read_file", json!({"path": "a.txt"})).await;
    world.put("a.txt", "one two, and what a person wrote\n");
    let edit = json!({"path": "a.txt", "old_string": "one", "new_string": "1"});
    let write = json!({"path": "a.txt", "content": "1 two\n"});
    for _ in 0..2 {
        // Also after an edit the model does not know what else is in the file.
        let refused = talk.refused("write_file", write.clone()).await;
        assert_eq!(refused, "`a.txt` has changed since you read it: read it again");
        world.put("a.txt", "one two, and what a person wrote\n");
        let said = talk.ok("edit_file", edit.clone()).await;
        assert!(said.starts_with("`a.txt` edited at line 1; the file had changed since you read it"), "{said}");
        assert_eq!(world.text("a.txt"), "1 two, and what a person wrote\n");
    }
    world.put("a.txt", "one or one\n");
    assert!(talk.refused("edit_file", edit.clone()).await.contains("contains old_string 2 times"));
    // Touched but not changed is not changed.
    talk.ok("read_file", json!({"path": "a.txt"})).await;
    world.put("a.txt", "one or one\n");
    talk.ok("write_file", write).await;
}

#[tokio::test]
async fn carriage_returns_and_the_mark_of_an_encoding_stay() {
    let world = World::with("\u{feff}one\r\ntwo\r\nthree\r\n");
    let mut talk = world.talk().await;
    talk.ok("read_file", json!({"path": "a.txt"})).await;
    talk.ok("edit_file", json!({"path": "a.txt", "old_string": "one\ntwo\n", "new_string": "1\n2\n2b\n"})).await;
    assert_eq!(world.text("a.txt"), "\u{feff}1\r\n2\r\n2b\r\nthree\r\n");
}

#[tokio::test]
async fn a_place_deep_in_a_large_file_is_found_across_any_boundary() {
    // The text to be found begins before and ends after every multiple of 64 KiB that a reader might cut at.
    let mut content = "x".repeat(65_530);
    content.push_str("BEGIN in one block, END in the next\n");
    content.push_str(&"filler line\n".repeat(60_000));
    content.push_str("the last line");
    let world = World::with(&content);
    let mut talk = world.talk().await;
    talk.ok("read_file", json!({"path": "a.txt", "offset": 60_000})).await;
    for (old, new) in [("BEGIN in one block, END in the next", "found"), ("the last line", "the end")] {
        talk.ok("edit_file", json!({"path": "a.txt", "old_string": old, "new_string": new})).await;
        content = content.replace(old, new);
    }
    assert!(world.text("a.txt") == content);
}

#[tokio::test]
async fn edits_at_the_same_time_all_count() {
    let names: Vec<String> = (0..24).map(|number| format!("<{number}>")).collect();
    let world = World::with(names.concat());
    let mut talk = world.talk().await;
    talk.ok("read_file", json!({"path": "a.txt"})).await;
    let edits: Vec<_> = names
        .iter()
        .map(|name| ("edit_file", json!({"path": "a.txt", "old_string": name, "new_string": name.replace('<', "(")})))
        .collect();
    for result in talk.calls(&edits).await {
        assert!(result.success, "{}", result.output);
    }
    assert_eq!(world.text("a.txt"), names.concat().replace('<', "("));
    // What came of all of them is what the model knows, whichever was the last.
    talk.ok("edit_file", json!({"path": "a.txt", "old_string": "(0>", "new_string": ""})).await;
}

#[tokio::test]
async fn a_file_may_be_read_and_edited_in_the_same_answer() {
    let world = World::with("one\n");
    let mut talk = world.talk().await;
    let edit = json!({"path": "a.txt", "old_string": "one", "new_string": "two"});
    let results = talk.calls(&[("read_file", json!({"path": "a.txt"})), ("edit_file", edit)]).await;
    assert_eq!(results[1].output, "`a.txt` edited at line 1");
    assert_eq!(world.text("a.txt"), "two\n");
}
