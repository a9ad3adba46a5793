//! Secrets in files: the model reads marks, and what it writes loses none.

use std::fs;

use serde_json::{Value, json};
use vertebra::{
    AgentTool, Likeness, MemoryJournal, ToolStatus,
    prelude::*,
    testing::{FakeClock, FixedApprover, RecordingTool, Script},
};
use vertebra_kit::{permissions::Question, redaction::Redaction};

use super::{Talk, World};
use crate::support::built;

const VALUE: &str = "test-abcdef0123456789";
const CONFIG: &str = "name: demo\napi_key: \"test-abcdef0123456789\"\ndebug: false\n";

fn world() -> World {
    let world = World::new();
    world.put("config.yml", CONFIG);
    world
}

/// A session in which a person is asked about every change.
async fn asking(world: &World, approver: &FixedApprover, journal: &MemoryJournal) -> Talk {
    let redaction = Redaction::default();
    Talk::new(world.files().redaction(&redaction), |builder| {
        builder.with(redaction).approver(approver.clone()).journal(journal.clone()).clock(FakeClock::new());
        builder.guard(BeforeToolUse.tool("write_file|edit_file|bash"), async |_| ask("a change"));
    })
    .await
}

async fn talk(world: &World) -> Talk {
    asking(world, &FixedApprover::yes(), &MemoryJournal::default()).await
}

/// The file as the model reads it, without numbers.
async fn read(talk: &mut Talk, path: &str) -> String {
    let page = talk.ok("read_file", json!({"path": path})).await;
    let lines = page.lines().filter_map(|line| line.split_once('\t'));
    lines.flat_map(|(_, line)| [line, "\n"]).collect()
}

/// The marks in a text, in order.
fn marks(text: &str) -> Vec<String> {
    let ends = text.match_indices("[REDACTED:").filter_map(|(at, _)| Some((at, at + text[at..].find(']')? + 1)));
    ends.map(|(at, end)| text[at..end].to_owned()).collect()
}

#[tokio::test]
async fn a_file_that_is_written_whole_keeps_its_secret_byte_for_byte() {
    for ends in ["\n", "\r\n"] {
        let world = World::new();
        world.put("config.yml", CONFIG.replace('\n', ends));
        let (approver, journal) = (FixedApprover::yes(), MemoryJournal::default());
        let mut talk = asking(&world, &approver, &journal).await;
        let seen = read(&mut talk, "config.yml").await;
        assert!(seen.contains("api_key: \"[REDACTED:secret#") && !seen.contains(VALUE), "{seen}");
        let content = seen.replace("debug: false", "debug: true");
        talk.ok("write_file", json!({"path": "config.yml", "content": content})).await;
        assert_eq!(world.text("config.yml"), CONFIG.replace("false", "true").replace('\n', ends));

        let question = approver.asked().remove(0);
        let shown = Question::about(&question, None).await.whole();
        assert!(shown.contains("- debug: false") && shown.contains("+ debug: true"), "{shown}");
        assert!(!shown.contains("- api_key"), "what stays is not shown as a change: {shown}");
        let told = format!("{shown}{question:?}{:?}{:?}", journal.entries(), talk.script.requests());
        assert!(!told.contains(VALUE) && !told.contains("abcdef0123"), "{told}");
    }
}

#[tokio::test]
async fn an_edit_finds_lines_with_marks_and_keeps_moves_and_removes_what_they_stand_for() {
    let world = World::new();
    let twice = "a_key=test-abcdef0123456789 b_key=test-zyxwvu9876543210\nc_key=test-abcdef0123456789\nend\n";
    world.put("keys.env", twice);
    let mut talk = talk(&world).await;
    let seen = read(&mut talk, "keys.env").await;
    let found = marks(&seen);
    assert_eq!(found.len(), 3, "{seen}");
    assert!(found[0] != found[2], "each place has its own mark: {seen}");

    // Two marks in one line, each kept; the third line is found by its own mark.
    let (first, third) = (seen.lines().next().expect("a line"), seen.lines().nth(1).expect("a line"));
    let edit = |old: &str, new: &str| json!({"path": "keys.env", "old_string": old, "new_string": new});
    talk.ok("edit_file", edit(first, &format!("{first} d=1"))).await;
    let moved = format!("moved={}", found[1]);
    talk.ok("edit_file", edit(third, &format!("{third}\n{moved}"))).await;
    let now = "a_key=test-abcdef0123456789 b_key=test-zyxwvu9876543210 d=1\nc_key=test-abcdef0123456789\n\
               moved=test-zyxwvu9876543210\nend\n";
    assert_eq!(world.text("keys.env"), now);
    // A mark that the model leaves out takes its secret with it.
    talk.ok("edit_file", edit(&format!("{third}\n"), "")).await;
    assert_eq!(world.text("keys.env"), now.replace("c_key=test-abcdef0123456789\n", ""));
}

#[tokio::test]
async fn no_edit_changes_a_part_of_a_mark() {
    let world = World::new();
    world.put("a.yml", "secret: yes\napi_key: \"test-abcdef0123456789\"\n");
    let mut talk = talk(&world).await;
    read(&mut talk, "a.yml").await;
    let args = json!({"path": "a.yml", "old_string": "secret", "new_string": "token", "replace_all": true});
    assert!(talk.ok("edit_file", args).await.ends_with("edited at line 1"));
    assert_eq!(world.text("a.yml"), "token: yes\napi_key: \"test-abcdef0123456789\"\n");
    talk.refused("edit_file", json!({"path": "a.yml", "old_string": "REDACTED", "new_string": "x"})).await;
}

#[tokio::test]
async fn a_mark_that_stands_for_nothing_in_the_file_is_refused_before_anyone_is_asked() {
    let world = world();
    world.put("other.yml", "x: 1\n");
    let approver = FixedApprover::yes();
    let mut talk = asking(&world, &approver, &MemoryJournal::default()).await;
    let mark = marks(&read(&mut talk, "config.yml").await).remove(0);
    read(&mut talk, "other.yml").await;
    let write = |path: &str, mark: &str| ("write_file", json!({"path": path, "content": format!("k: {mark}\n")}));
    let edit = |new: &str| ("edit_file", json!({"path": "other.yml", "old_string": "x: 1", "new_string": new}));
    let unknown = "[REDACTED:secret#zzzzzz]";
    for (tool, args) in [
        write("other.yml", &mark),
        write("new.yml", &mark),
        write("config.yml", unknown),
        write("config.yml", "[REDACTED:secret]"),
        write("new.yml", "[REDACTED:password]"),
        edit(&mark),
        edit("[REDACTED:secret]"),
    ] {
        let said = talk.refused(tool, args.clone()).await;
        assert!(said.contains("a secret that is hidden from you") && said.contains("edit_file"), "{args}: {said}");
    }
    assert_eq!(approver.asked().len(), 0);
    assert_eq!((world.text("config.yml").as_str(), world.names().len()), (CONFIG, 2));
}

#[tokio::test]
async fn a_mark_in_a_command_or_for_a_tool_that_cannot_put_it_back_is_refused_before_anyone_is_asked() {
    let world = world();
    let approver = FixedApprover::yes();
    let (bash, copy) = (RecordingTool::new("bash"), RecordingTool::new("save_as"));
    let redaction = Redaction::default();
    let mut talk = Talk::new(world.files().redaction(&redaction), |builder| {
        builder.with(redaction).approver(approver.clone()).tool(bash.clone()).tool(copy.clone());
        builder.guard(BeforeToolUse.tool("bash|save_as"), async |_| ask("sure?"));
    })
    .await;
    let mark = marks(&read(&mut talk, "config.yml").await).remove(0);
    for (tool, args) in [
        ("bash", json!({"command": format!("echo '{mark}' > x")})),
        ("bash", json!({"command": "curl -H 'Authorization: [REDACTED:authorization]' x"})),
        ("save_as", json!({"file_path": "x", "text": [mark]})),
    ] {
        let result = talk.call(tool, args).await;
        assert_eq!(result.status, ToolStatus::Blocked, "{}", result.output);
        assert!(result.output.contains("a secret that is hidden from you"), "{}", result.output);
    }
    assert_eq!((approver.asked().len(), bash.calls().len(), copy.calls().len()), (0, 0, 0));
}

#[tokio::test]
async fn a_text_that_only_looks_like_a_mark_is_text() {
    let world = World::new();
    world.put("notes.md", "It prints [REDACTED:secret] and [REDACTED:whatever].\n");
    let mut talk = talk(&world).await;
    let seen = read(&mut talk, "notes.md").await;
    let args = json!({"path": "notes.md", "content": format!("{seen}[REDACTED:something-else]\n")});
    talk.ok("write_file", args).await;
    assert!(world.text("notes.md").ends_with("[REDACTED:whatever].\n[REDACTED:something-else]\n"));
}

#[tokio::test]
async fn a_file_or_a_secret_that_somebody_changed_in_between_is_not_overwritten() {
    let world = world();
    let mut talk = talk(&world).await;
    let seen = read(&mut talk, "config.yml").await;
    let write = json!({"path": "config.yml", "content": seen.replace("false", "true")});

    let other = CONFIG.replace("demo", "theirs");
    world.put("config.yml", &other);
    assert!(talk.refused("write_file", write.clone()).await.contains("has changed since you read it"));
    assert_eq!(world.text("config.yml"), other);

    let other = CONFIG.replace(VALUE, "test-zyxwvu9876543210");
    world.put("config.yml", &other);
    assert!(talk.refused("write_file", write).await.contains("read the file again"), "the mark is of another secret");
    // An edit beside it keeps the new secret.
    let beside = json!({"path": "config.yml", "old_string": "debug: false", "new_string": "debug: true"});
    talk.ok("edit_file", beside).await;
    assert_eq!(world.text("config.yml"), other.replace("false", "true"));
}

#[tokio::test]
async fn edits_of_one_answer_and_of_a_child_keep_the_secret_too() {
    let world = world();
    let mut talk = talk(&world).await;
    let seen = read(&mut talk, "config.yml").await;
    let line = seen.lines().nth(1).expect("a line").to_owned();
    let edit =
        |old: &str, new: &str| ("edit_file", json!({"path": "config.yml", "old_string": old, "new_string": new}));
    let calls = [edit("name: demo", "name: x"), edit(&line, &format!("{line} # mine")), edit("false", "true")];
    for result in talk.calls(&calls).await {
        assert!(result.success, "{}", result.output);
    }
    assert_eq!(world.text("config.yml"), "name: x\napi_key: \"test-abcdef0123456789\" # mine\ndebug: true\n");

    // A child has the same session and the same files, and marks mean the same to it.
    let world = self::world();
    let redaction = Redaction::default();
    let childs = Script::new().call("read_file", r#"{"path": "config.yml"}"#).say("read");
    let mut below = Agent::builder(childs.clone());
    let child = built(below.with(world.files().redaction(&redaction)));
    let model = Script::new().call("child", r#"{"prompt": "look"}"#).say("ok");
    let mut above = Agent::builder(model.clone());
    above.with(redaction).tool(AgentTool::new("child", "A child", child));
    built(&mut above).run("go").await.expect("a run");
    let told = format!("{:?}", childs.requests());
    assert!(told.contains("[REDACTED:secret#") && !told.contains(VALUE), "{told}");
}

#[tokio::test]
async fn a_search_shows_marks_that_can_be_written_back() {
    let world = world();
    let mut talk = talk(&world).await;
    read(&mut talk, "config.yml").await;
    let found = talk.ok("grep", json!({"pattern": "api_key"})).await;
    assert!(found.contains("2:api_key: \"[REDACTED:secret#") && !found.contains(VALUE), "{found}");
    let line = found.lines().find_map(|line| line.strip_prefix("2:")).expect("the line").to_owned();
    let args = json!({"path": "config.yml", "old_string": line, "new_string": format!("{line} # key")});
    talk.ok("edit_file", args).await;
    assert_eq!(world.text("config.yml"), CONFIG.replace("89\"", "89\" # key"));
}

#[tokio::test]
async fn a_key_of_many_lines_keeps_its_lines() {
    let world = World::new();
    let pem =
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQ\n-----END PRIVATE KEY-----";
    world.put("key.txt", format!("before\n{pem}\nafter\n"));
    let mut talk = talk(&world).await;
    let seen = read(&mut talk, "key.txt").await;
    assert_eq!((seen.lines().count(), marks(&seen).len()), (6, 4), "{seen}");
    assert!(!seen.contains("MIIEvQ") && !seen.contains("BEGIN"), "{seen}");
    talk.ok("write_file", json!({"path": "key.txt", "content": seen.replace("after", "behind")})).await;
    assert_eq!(world.text("key.txt"), format!("before\n{pem}\nbehind\n"));
}

/// Guesses about the letters of a secret, in every form in which an answer could differ.
fn guesses() -> Vec<String> {
    let mut all: Vec<String> = ["^[^0]*$", "^[^1-]*$", "(?s).{30}"].map(str::to_owned).to_vec();
    for known in ["", "test-", "test-abcdef012345678"] {
        for letter in ['a', 't', '9'] {
            all.push(format!("api_key: \"{known}{letter}"));
            all.push(format!("REDACTED|{known}{letter}[a-z0-9-]{{4}}"));
            all.push(format!("^name|(?i){known}{letter}[a-z0-9-]{{12}}"));
        }
    }
    all
}

#[tokio::test]
async fn a_search_does_not_tell_a_hidden_secret_letter_by_letter() {
    let answers = async |secret: &str| {
        let world = World::new();
        world.put("config.yml", CONFIG.replace(VALUE, secret));
        let mut talk = talk(&world).await;
        let mut answers = Vec::new();
        for pattern in guesses() {
            for files_only in [false, true] {
                let told =
                    talk.ok("grep", json!({"pattern": pattern, "path": "config.yml", "files_only": files_only})).await;
                let told = marks(&told).iter().fold(told.clone(), |told, mark| told.replace(&**mark, "[?]"));
                answers.push(format!("{pattern}: {told}"));
            }
        }
        answers
    };
    assert_eq!(answers(VALUE).await, answers("zzzz-9988776655443322").await);
}

#[tokio::test]
async fn a_large_file_keeps_its_secret_too() {
    let world = World::new();
    let filler = "x = 1\n".repeat(600_000);
    world.put("large.yml", format!("{CONFIG}{filler}"));
    let mut talk = talk(&world).await;
    let seen = read(&mut talk, "large.yml").await;
    let line = seen.lines().nth(1).expect("a line").to_owned();
    assert!(line.contains("[REDACTED:secret#"), "{line}");
    let edit = json!({"path": "large.yml", "old_string": line, "new_string": format!("{line} # kept")});
    talk.ok("edit_file", edit).await;
    assert!(world.text("large.yml").starts_with(&CONFIG.replace("\"\ndebug", "\" # kept\ndebug")));
}

#[tokio::test]
async fn a_session_with_marks_is_replayed_without_a_difference_and_without_the_files() {
    let world = world();
    let (approver, journal) = (FixedApprover::yes(), MemoryJournal::default());
    let mut talk = asking(&world, &approver, &journal).await;
    let seen = read(&mut talk, "config.yml").await;
    talk.ok("write_file", json!({"path": "config.yml", "content": seen.replace("false", "true")})).await;
    talk.refused("edit_file", json!({"path": "config.yml", "old_string": "no such", "new_string": "x"})).await;
    talk.session.close().await;
    let written = world.text("config.yml");
    fs::remove_file(world.root().join("config.yml")).expect("gone");

    let again = asking(&world, &FixedApprover::no("nobody is asked"), &MemoryJournal::default()).await;
    let replay = again.agent.replay(journal.entries(), Likeness::Hooks).await.expect("a recording");
    assert_eq!(replay.divergence, None);
    assert!(written.contains(VALUE) && !world.root().join("config.yml").exists(), "a replay writes nothing");
}

#[tokio::test]
async fn a_replay_tells_a_mark_that_the_model_wrote_from_a_secret_that_it_wrote() {
    let world = world();
    let sits = async |approver: FixedApprover, journal: &MemoryJournal| {
        let redaction = Redaction::default();
        let bash = RecordingTool::new("bash");
        Talk::new(world.files().redaction(&redaction), |builder| {
            builder.with(redaction).approver(approver).journal(journal.clone()).clock(FakeClock::new()).tool(bash);
            builder.guard(BeforeToolUse.tool("bash"), async |_| ask("a command"));
        })
        .await
    };
    let journal = MemoryJournal::default();
    let mut talk = sits(FixedApprover::yes(), &journal).await;
    let marked = json!({"command": "curl -u 'me:[REDACTED:secret]' x"});
    let refused = talk.call("bash", marked).await;
    assert_eq!(refused.status, ToolStatus::Blocked, "{}", refused.output);
    talk.ok("bash", json!({"command": format!("export API_KEY={VALUE}")})).await;
    talk.session.close().await;
    let told = format!("{:?}", journal.entries());
    assert!(!told.contains(VALUE) && told.contains("API_KEY=[REDACTED:secret]"), "{told}");

    let again = sits(FixedApprover::no("nobody is asked"), &MemoryJournal::default()).await;
    let replay = again.agent.replay(journal.entries(), Likeness::Hooks).await.expect("a recording");
    assert_eq!(replay.divergence, None);
    assert_eq!(replay.runs, 2);
}

#[tokio::test]
async fn another_session_cannot_write_the_marks_of_this_one() {
    let world = world();
    let mark = marks(&read(&mut talk(&world).await, "config.yml").await).remove(0);
    let mut other = talk(&world).await;
    let own = marks(&read(&mut other, "config.yml").await).remove(0);
    assert_ne!(mark, own);
    let content = CONFIG.replace(&format!("\"{VALUE}\""), &format!("\"{mark}\"")).replace("false", "true");
    let said = other.refused("write_file", json!({"path": "config.yml", "content": content})).await;
    assert!(said.contains("read the file again"), "{said}");
    assert_eq!(world.text("config.yml"), CONFIG);
}

#[tokio::test]
async fn what_a_session_keeps_about_a_file_tells_nothing_about_its_secrets() {
    let world = world();
    let mut talk = talk(&world).await;
    read(&mut talk, "config.yml").await;
    let state = talk.session.state().await;
    let kept: Vec<&Value> =
        state.metadata().iter().filter(|(key, _)| key.starts_with("files/")).map(|(_, v)| v).collect();
    let plain = blake3::hash(CONFIG.as_bytes()).to_hex().to_string();
    let kept = format!("{kept:?}");
    assert!(kept.contains("hash") && !kept.contains(&plain[..32]), "{kept}");
}

#[tokio::test]
async fn an_unquoted_password_in_configuration_is_a_mark_that_can_be_written_back_and_in_source_code_it_is_text() {
    let world = World::new();
    let code = "password = hunter2\ntoken: str\n";
    world.put("app.ini", "[db]\npassword = hunter2\nuser = ann\n");
    world.put("app.py", code);
    let mut talk = talk(&world).await;
    let seen = read(&mut talk, "app.ini").await;
    assert!(seen.contains("password = [REDACTED:password#") && !seen.contains("hunter2"), "{seen}");
    talk.ok("write_file", json!({"path": "app.ini", "content": seen.replace("ann", "bob")})).await;
    assert_eq!(world.get("app.ini"), b"[db]\npassword = hunter2\nuser = bob\n");
    assert_eq!(read(&mut talk, "app.py").await, code);
}
