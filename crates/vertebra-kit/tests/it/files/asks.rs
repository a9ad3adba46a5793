//! What is found out before anyone is asked, and what a person's yes counts for.

use std::fs;

use serde_json::{Value, json};
use vertebra::{
    Decision, MemoryJournal, PermissionRequest, ToolStatus, What,
    prelude::*,
    testing::{FakeClock, FixedApprover},
};
use vertebra_kit::{
    bash::{Bash, Sandbox, sandbox::Need},
    files::Files,
    permissions::Question,
};

use super::{SECRET, Talk, World};

/// A session in which a person is asked about every change, and about what lies outside.
async fn asking(files: Files, approver: &FixedApprover, journal: &MemoryJournal) -> Talk {
    Talk::new(files.ask_people(), |builder| {
        builder.approver(approver.clone()).journal(journal.clone()).clock(FakeClock::new());
        builder.guard(BeforeToolUse.tool("write_file|edit_file"), async |_| ask("a change"));
    })
    .await
}

fn write(path: &str) -> (&'static str, Value) {
    ("write_file", json!({"path": path, "content": "new\n", "create_parents": true}))
}

fn edit(path: &str, old: &str) -> (&'static str, Value) {
    ("edit_file", json!({"path": path, "old_string": old, "new_string": "new"}))
}

#[tokio::test]
async fn nobody_is_asked_about_a_call_that_cannot_succeed() {
    let world = World::with("one two two\n");
    world.put("unread.txt", "x\n");
    world.put("closed/x", "x\n");
    let (approver, journal) = (FixedApprover::yes(), MemoryJournal::default());
    let files = world.files().protect("closed/**").expect("a glob").close(world.outside());
    let mut talk = asking(files, &approver, &journal).await;
    talk.ok("read_file", json!({"path": "a.txt"})).await;
    let outside = world.outside().join("secret.txt");
    for ((tool, args), why) in [
        (edit("a.txt", "three"), "does not contain old_string"),
        (edit("a.txt", "two"), "contains old_string 2 times"),
        (edit("unread.txt", "x"), "was not read yet"),
        (edit("none.txt", "x"), "is not there"),
        (("write_file", json!({"path": "a/b/c", "content": "", "create_parents": false})), "create_parents"),
        (write("unread.txt"), "was not read yet"),
        (write("closed/new"), "stays closed whatever a person says"),
        (write("vertebra.toml"), "stays closed whatever a person says"),
        (write(".claude/settings.json"), "stays closed whatever a person says"),
        (write(&outside.display().to_string()), "stays closed"),
        (("read_file", json!({"path": outside})), "stays closed"),
    ] {
        let said = talk.refused(tool, args.clone()).await;
        assert!(said.contains(why), "{args}: {said}");
    }
    assert_eq!(approver.asked().len(), 0);
    let problems = journal
        .entries()
        .iter()
        .filter(|line| matches!(&line.what, What::ToolChecked { problem: Some(_), .. }))
        .count();
    assert_eq!(problems, 11, "each outcome is in the journal");
    world.assert_unharmed();
}

#[tokio::test]
async fn a_denied_path_is_never_looked_at() {
    let world = World::with("one\n");
    let journal = MemoryJournal::default();
    let mut talk = Talk::new(world.files().ask_people(), |builder| {
        builder.journal(journal.clone()).guard(BeforeToolUse, async |_| deny("no"));
    })
    .await;
    let result = talk.call("edit_file", edit("a.txt", "one").1).await;
    assert_eq!(result.status, ToolStatus::Blocked);
    assert!(!journal.entries().iter().any(|line| matches!(line.what, What::ToolChecked { .. })));
}

#[tokio::test]
async fn the_yes_of_a_person_to_a_protected_or_outside_path_counts_for_that_call() {
    let world = World::new();
    let outside = world.outside().join("secret.txt").display().to_string();
    let (approver, journal) = (FixedApprover::yes(), MemoryJournal::default());
    let mut talk = asking(world.files(), &approver, &journal).await;
    talk.ok("write_file", write(".vscode/settings.json").1).await;
    assert_eq!(world.text(".vscode/settings.json"), "new\n");
    assert!(approver.asked()[0].reason.contains("is protected"), "{}", approver.asked()[0].reason);
    assert!(Question::about(&approver.asked()[0], None).await.offered().is_none(), "no rule would allow it");

    assert!(talk.ok("read_file", json!({"path": outside})).await.contains(SECRET));
    assert!(talk.ok("grep", json!({"path": world.outside(), "pattern": "canary"})).await.contains(SECRET));
    talk.ok("write_file", json!({"path": outside, "content": "changed\n"})).await;
    assert_eq!(fs::read_to_string(&outside).expect("a file"), "changed\n");
    let new = world.outside().join("new.txt");
    talk.ok("write_file", json!({"path": new, "content": "made\n"})).await;
    assert_eq!(fs::read_to_string(new).expect("a file"), "made\n");
    // Each time anew.
    assert_eq!(approver.asked().len(), 5);
    assert!(approver.asked().iter().skip(1).all(|asked| asked.only_once && asked.reason.contains("is outside of")));
}

#[tokio::test]
async fn no_hook_and_no_rule_says_yes_to_a_protected_or_outside_path() {
    let world = World::new();
    let outside = world.outside().join("secret.txt").display().to_string();
    for approver in [None, Some(FixedApprover::no("not there"))] {
        let asked = approver.clone();
        let mut talk = Talk::new(world.files().write_unread().ask_people(), |builder| {
            builder.on(BeforeToolUse, async |_| allow()).on(PermissionRequest, async |_| allow());
            if let Some(approver) = approver {
                builder.approver(approver);
            }
        })
        .await;
        for (tool, args) in [
            write(".vscode/settings.json"),
            write(&outside),
            ("read_file", json!({"path": outside})),
            ("list_dir", json!({"path": world.outside()})),
            ("read_file", json!({"path": "../outside/secret.txt"})),
        ] {
            let result = talk.call(tool, args.clone()).await;
            assert_eq!(result.status, ToolStatus::Blocked, "{args}: {}", result.output);
            assert!(!result.output.contains(SECRET));
        }
        assert_eq!(asked.map_or(5, |approver| approver.asked().len()), 5);
    }
    assert_eq!(world.names(), Vec::<String>::new());
    world.assert_unharmed();
}

#[tokio::test]
async fn a_yes_is_for_what_the_path_led_to_when_it_was_asked() {
    let world = World::new();
    let (inside, target) = (world.dir.path().join("door"), world.dir.path().join("free"));
    fs::create_dir(&target).expect("a folder");
    std::os::unix::fs::symlink(&target, &inside).expect("a link");
    let (door, outside) = (inside.clone(), world.outside());
    // While the person thinks, the link is made to lead elsewhere.
    let approver = FixedApprover::by(move |approval| {
        fs::remove_file(&door).expect("the link");
        std::os::unix::fs::symlink(&outside, &door).expect("a link");
        approval.approve()
    });
    let mut talk = asking(world.files(), &approver, &MemoryJournal::default()).await;
    let args = json!({"path": inside.join("secret.txt"), "content": "evil\n"});
    let said = talk.refused("write_file", args).await;
    assert!(said.contains("is outside of"), "{said}");
    assert!(approver.asked()[0].reason.contains("leads to"), "{}", approver.asked()[0].reason);
    world.assert_unharmed();
}

#[tokio::test]
async fn what_a_person_writes_instead_is_checked_again_before_it_counts() {
    let world = World::with("one\n");
    let approver = FixedApprover::by(|_| {
        let args = json!({"path": "a.txt", "old_string": "three", "new_string": "x"});
        Decision::Edit { args: Args::try_from(args).expect("an object") }
    });
    let mut talk = asking(world.files(), &approver, &MemoryJournal::default()).await;
    talk.ok("read_file", json!({"path": "a.txt"})).await;
    let said = talk.refused("edit_file", edit("a.txt", "one").1).await;
    assert!(said.contains("does not contain old_string"), "{said}");
    assert_eq!((approver.asked().len(), world.text("a.txt").as_str()), (1, "one\n"));
}

#[tokio::test]
async fn a_call_that_an_earlier_call_of_the_same_answer_makes_possible_is_not_refused() {
    let world = World::new();
    let (approver, journal) = (FixedApprover::yes(), MemoryJournal::default());
    let mut talk = asking(world.files(), &approver, &journal).await;
    let changed = json!({"path": "b.txt", "old_string": "new", "new_string": "newer"});
    let results = talk.calls(&[write("b.txt"), ("edit_file", changed)]).await;
    assert!(results.iter().all(|result| result.success), "{} {}", results[0].output, results[1].output);
    assert_eq!((approver.asked().len(), &*world.text("b.txt")), (2, "newer\n"));
}

#[tokio::test]
async fn a_file_that_a_command_has_shown_counts_as_read() {
    let world = World::with("one\n");
    world.put("b.txt", "one\n");
    let root = world.root();
    let mut talk = Talk::new(world.files(), |builder| {
        let sandbox = Sandbox { need: Need::Off, ..Sandbox::default() };
        builder.with(Bash { sandbox, judged: false, ..Bash::in_dir(&root) });
    })
    .await;
    assert!(talk.refused("edit_file", edit("a.txt", "one").1).await.contains("was not read yet"));
    talk.ok("bash", json!({"command": "cat a.txt"})).await;
    talk.ok("edit_file", edit("a.txt", "one").1).await;
    assert_eq!(world.text("a.txt"), "new\n");
    world.put("c.txt", "one\n");
    world.put("d.txt", "one\n");
    talk.ok("bash", json!({"command": "for f in [cd].txt; do echo \"== $f\"; cat -n \"$f\"; done 2>/dev/null"})).await;
    talk.ok("edit_file", edit("c.txt", "one").1).await;
    talk.ok("edit_file", edit("d.txt", "one").1).await;
    assert_eq!((&*world.text("c.txt"), &*world.text("d.txt")), ("new\n", "new\n"));

    // Not if it was not printed, the command has changed it since, or somebody else has.
    talk.call("bash", json!({"command": "cat b.txt none.txt | grep -c none"})).await;
    assert!(talk.refused("edit_file", edit("b.txt", "one").1).await.contains("was not read yet"));
    talk.ok("bash", json!({"command": "cat b.txt; echo two >> b.txt"})).await;
    assert!(talk.refused("edit_file", edit("b.txt", "one").1).await.contains("was not read yet"));
    talk.ok("bash", json!({"command": "sed -n '1,5p' b.txt"})).await;
    world.put("b.txt", "one\ntheirs\n");
    assert!(talk.refused("write_file", write("b.txt").1).await.contains("read it"));
    assert_eq!(world.text("b.txt"), "one\ntheirs\n");
}

#[tokio::test]
async fn a_file_counts_as_read_whatever_else_the_command_that_printed_it_does() {
    let world = World::new();
    std::fs::create_dir(world.root().join("sub")).expect("a folder");
    let outside = world.outside().join("note.txt");
    let root = world.root();
    let mut talk = Talk::new(world.files().ask_people(), |builder| {
        let sandbox = Sandbox { need: Need::Off, ..Sandbox::default() };
        builder.with(Bash { sandbox, judged: false, ..Bash::in_dir(&root) }).approver(FixedApprover::yes());
    })
    .await;
    let cases = [
        "for f in $(ls *.txt); do echo \"== $f\"; cat $f; done",
        "sed -i s/x/y/ sub/c.txt && cat a.txt b.txt",
        "touch d.txt && ls | tail -1; cat a.txt; cat b.txt; touch d.txt",
        "cat a.txt; cd sub; cat ../b.txt; cd ..",
        "cat a.txt b.txt none.txt",
        "if true; then cat a.txt b.txt; fi",
        // The files are older than the command.
        "cat -n a.txt; head -n 1 b.txt; touch d.txt",
    ];
    for command in cases {
        for name in ["a.txt", "b.txt"] {
            world.put(name, format!("one\nof {name}\n# {command}\n"));
        }
        world.put("sub/c.txt", "x\n");
        if command.contains("-n 1") {
            talk.ok("bash", json!({"command": "sleep 0.2"})).await;
        }
        assert!(talk.refused("write_file", write("a.txt").1).await.contains("read"), "{command}");
        talk.call("bash", json!({"command": command})).await;
        for name in ["a.txt", "b.txt"] {
            let written = talk.call("write_file", write(name).1).await;
            assert!(written.success, "{command}: {}", written.output);
        }
    }
    fs::write(&outside, "one\n").expect("a file");
    talk.ok("bash", json!({"command": format!("cat {}", outside.display())})).await;
    let said = talk.ok("edit_file", edit(&outside.display().to_string(), "one").1).await;
    assert!(said.contains("outside/note.txt` edited at line 1"), "{said}");
    assert_eq!(fs::read_to_string(outside).expect("a file"), "new\n");
}

#[tokio::test]
async fn the_names_that_other_agents_use_are_understood() {
    let world = World::with("one\n");
    let mut talk = world.talk().await;
    assert_eq!(talk.ok("Read", json!({"file_path": "a.txt"})).await, "     1\tone\n");
    talk.ok("Edit", json!({"file_path": "a.txt", "old_str": "one", "new_str": "two"})).await;
    talk.ok("Write", json!({"filename": "b.txt", "contents": "three\n"})).await;
    assert_eq!((world.text("a.txt").as_str(), world.text("b.txt").as_str()), ("two\n", "three\n"));
}

#[tokio::test]
async fn a_latin_1_file_is_edited_without_loss_or_not_at_all() {
    let world = World::with(b"caf\xe9 \x93one\x94\r\n\xff\r\n");
    let mut talk = world.talk().await;
    let seen = talk.ok("read_file", json!({"path": "a.txt"})).await;
    assert!(seen.contains("café “one”") && seen.contains("Windows-1252"), "{seen}");
    talk.ok("edit_file", json!({"path": "a.txt", "old_string": "one", "new_string": "zwölf"})).await;
    assert_eq!(world.get("a.txt"), b"caf\xe9 \x93zw\xf6lf\x94\r\n\xff\r\n");
    let said = talk.refused("edit_file", json!({"path": "a.txt", "old_string": "café", "new_string": "日"})).await;
    assert!(said.contains("which does not have `日` (line 1)") && said.contains("UTF-8"), "{said}");
    assert_eq!(world.get("a.txt"), b"caf\xe9 \x93zw\xf6lf\x94\r\n\xff\r\n");
}
