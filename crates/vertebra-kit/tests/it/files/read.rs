//! `read_file`.

use std::{fs::File, io::Write as _};

use serde_json::json;

use vertebra_kit::summary::Summarisation;

use super::{Talk, World};

fn lines(count: usize) -> String {
    (1..=count).flat_map(|number| ["line ".to_owned(), number.to_string(), "\n".to_owned()]).collect()
}

#[tokio::test]
async fn lines_come_numbered_2000_at_a_time_with_the_way_to_read_on() {
    let world = World::with(lines(4500));
    let mut talk = world.talk().await;

    let first = talk.ok("read_file", json!({"path": "a.txt"})).await;
    assert!(first.starts_with("     1\tline 1\n     2\tline 2\n"), "{first}");
    assert!(first.ends_with("  2000\tline 2000\n[lines 1-2000 of 4500; read on with offset=2000]\n"), "{first}");

    let last = talk.ok("read_file", json!({"path": "a.txt", "offset": 4000})).await;
    assert!(last.starts_with("  4001\t") && last.ends_with("  4500\tline 4500\n"), "{last}");
}

#[tokio::test]
async fn a_default_read_shows_48_kilobytes_of_a_file_and_none_of_it_is_offloaded() {
    let line = format!("{}\n", "x".repeat(63));
    let world = World::with(line.repeat(1000));
    let mut talk = Talk::new(world.files(), |builder| {
        builder.with(Summarisation::default());
    })
    .await;
    let seen = talk.ok("read_file", json!({"path": "a.txt"})).await;
    assert!(seen.contains("   768\txxx") && seen.len() >= 48 * 1024, "{}", seen.len());
    assert!(seen.ends_with("[lines 1-768 of 1000; read on with offset=768]\n"), "{}", &seen[seen.len() - 200..]);
    let found = talk.ok("grep", json!({"pattern": "x", "max_results": 600})).await;
    assert!(found.len() > 30_000 && !found.contains("offloaded"), "{}", found.len());
}

#[tokio::test]
async fn a_file_that_fits_exactly_has_no_notice() {
    let world = World::with(lines(2000));
    let text = world.talk().await.ok("read_file", json!({"path": "a.txt"})).await;
    assert!(text.ends_with("  2000\tline 2000\n"), "{text}");
}

#[tokio::test]
async fn limits_are_kept_within_what_the_agent_may_show() {
    let world = World::with(lines(5000));
    let mut talk = world.talk().await;
    let many = talk.ok("read_file", json!({"path": "a.txt", "limit": 100_000, "max_bytes": 65_536})).await;
    assert!(many.ends_with("[lines 1-4000 of 5000; read on with offset=4000]\n"), "{}", many.len());
    let one = talk.ok("read_file", json!({"path": "a.txt", "limit": 0})).await;
    assert!(one.ends_with("[lines 1-1 of 5000; read on with offset=1]\n"), "{one}");
    let few_bytes = talk.ok("read_file", json!({"path": "a.txt", "max_bytes": 300})).await;
    assert!(few_bytes.len() < 800 && few_bytes.contains("read on with offset="), "{few_bytes}");
}

#[tokio::test]
async fn a_very_long_line_is_previewed_and_can_be_read_on() {
    let world = World::with(format!("{}\nshort\n", "x".repeat(100_000)));
    let mut talk = world.talk().await;
    let preview = talk.ok("read_file", json!({"path": "a.txt"})).await;
    assert!(preview.len() < 4400, "{}", preview.len());
    let hint = "[95904 more bytes of line 1 of 2; read on with offset=0 column=4096, or with offset=1 after it]\n";
    assert!(preview.ends_with(hint), "{}", &preview[4000..]);

    let more = talk.ok("read_file", json!({"path": "a.txt", "column": 4096})).await;
    assert!(more.contains("column=53248"), "{}", &more[more.len() - 200..]);
    assert_eq!(talk.ok("read_file", json!({"path": "a.txt", "offset": 1})).await, "     2\tshort\n");
}

#[tokio::test]
async fn what_cannot_be_read_is_said_plainly() {
    let world = World::with(lines(3));
    world.put("empty", "");
    world.put("picture.png", b"\x89PNG\r\n\x1a\n\0\0");
    world.put("blob", b"a\0b");
    world.put("dir/x", "x");
    let mut talk = world.talk().await;

    assert_eq!(talk.ok("read_file", json!({"path": "empty"})).await, "(empty file)");
    for (args, expected) in [
        (json!({"path": "nope"}), "`nope` is not there"),
        (json!({"path": "dir"}), "`dir` is a folder: use list_dir"),
        (json!({"path": "a.txt/x"}), "`a.txt` is not a folder"),
        (json!({"path": "a.txt", "offset": 3}), "`a.txt` has 3 lines: offset 3 is behind its end"),
        (json!({"path": "a.txt", "offset": 99}), "`a.txt` has 3 lines: offset 99 is behind its end"),
        (json!({"path": "picture.png"}), "`picture.png` is a PNG image of 10 bytes, not text"),
        (json!({"path": "blob"}), "`blob` is binary data of 3 bytes, not text"),
        (json!({"path": ""}), "\"\" is not a path"),
    ] {
        assert_eq!(talk.refused("read_file", args).await, expected);
    }
}

#[tokio::test]
async fn text_in_other_encodings_is_converted_or_marked() {
    let world = World::new();
    let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain("grün\r\n".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    world.put("utf16", utf16);
    world.put("marked", "\u{feff}first\nsecond\n");
    world.put("latin1", b"caf\xe9\n");
    let mut talk = world.talk().await;
    assert_eq!(talk.ok("read_file", json!({"path": "utf16"})).await, "     1\tgrün\n");
    assert_eq!(talk.ok("read_file", json!({"path": "marked", "limit": 1})).await.lines().next(), Some("     1\tfirst"));
    let latin1 = talk.ok("read_file", json!({"path": "latin1"})).await;
    assert!(latin1.starts_with("     1\tcafé\n[not UTF-8"), "{latin1}");
}

#[tokio::test]
async fn a_file_of_any_size_is_read_in_pieces() {
    let world = World::new();
    let mut file = File::create(world.root().join("big")).expect("a file");
    let line = format!("{}\n", "y".repeat(1023));
    let block = line.repeat(1024);
    for _ in 0..40 {
        file.write_all(block.as_bytes()).expect("40 MiB");
    }
    // Zeros that take no room: a file of 200 MiB in all, which is not text.
    File::create(world.root().join("sparse")).expect("a file").set_len(200 << 20).expect("a length");
    let mut talk = world.talk().await;

    let text = talk.ok("read_file", json!({"path": "big", "offset": 40_000, "limit": 2})).await;
    assert!(text.starts_with(" 40001\tyyy") && text.contains("[too large to be changed]"), "{}", &text[2000..]);
    assert!(text.ends_with("[lines 40001-40002 of a file of 41943040 bytes; read on with offset=40002]\n"));
    let refused = talk.refused("read_file", json!({"path": "sparse"})).await;
    assert_eq!(refused, "`sparse` is binary data of 209715200 bytes, not text");
    let refused = talk.refused("edit_file", json!({"path": "big", "old_string": "y", "new_string": "x"})).await;
    assert_eq!(refused, "`big` is larger than 16777216 bytes: too large to change");
}

#[tokio::test]
async fn other_folders_are_read_by_absolute_path_and_never_written() {
    let world = World::with("here\n");
    let files = world.files().also_read(world.outside()).expect("a folder");
    let mut talk = Talk::new(files, |_| {}).await;
    let path = world.outside().join("secret.txt");
    assert_eq!(talk.ok("read_file", json!({"path": path})).await, format!("     1\t{}\n", super::SECRET));
    assert_eq!(
        talk.ok("grep", json!({"pattern": "canary", "path": world.outside(), "files_only": true})).await,
        format!("{}\n", path.display())
    );
    for (tool, args) in [
        ("write_file", json!({"path": path, "content": "x"})),
        ("edit_file", json!({"path": path, "old_string": "the", "new_string": "x"})),
        ("write_file", json!({"path": world.outside().join("new"), "content": "x"})),
    ] {
        assert!(talk.refused(tool, args).await.ends_with("may be read, not written"));
    }
    world.assert_unharmed();
}
