//! `vertebra backtest` on journals of real runs, transcripts of Claude Code and the log of `vertebra hook`.

use std::{
    fs::{self, OpenOptions},
    io::{Seek as _, SeekFrom, Write as _},
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use vertebra::{
    Agent, ToolSpec,
    testing::{FixedApprover, RecordingTool, Script},
};
use vertebra_bridge::{
    handler::Services,
    policy::{Policy, permissions},
    settings::{Level, parse},
};
use vertebra_journal::Store;

use super::{Machine, Told};
use crate::terminal::pty::Person;

/// The policy that was in force when the past happened.
const OLD: &str = r#"
[permissions]
mode = "accept_edits"
allow = ["Bash(ls *)", "Bash(git *)", "Bash(cargo *)"]
ask = ["Bash(git tag *)"]
deny = ["Read(**/.env)"]

[[hook]]
name = "no-rm"
point = "BeforeToolUse"
match = { command = '\brm\b' }
deny = "deletions are for humans"

[[hook]]
name = "timeout"
point = "BeforeToolUse"
match = { tool = "Bash" }
set = { timeout = 5 }
add_context = "be quick"

[[hook]]
name = "no-secrets"
point = "PromptSubmit"
add_context = "keep secrets"
"#;

/// The old one, and nobody pushes.
fn stricter() -> String {
    format!(
        "{OLD}\n[[hook]]\nname = \"no-push\"\npoint = \"BeforeToolUse\"\nmatch = {{ command = 'git\\s+push' }}\ndeny = \
         \"pushing is for humans\"\n"
    )
}

const COMMANDS: &[&str] = &[
    "ls -l",
    "git push origin main",
    "cd sub && rm x",
    "git tag v1",
    "git push --force",
    "make install",
    "cargo test",
];

/// A real run under the old policy, in a journal of this name: one command after another, then a file that is not for it.
fn lived(machine: &Machine, name: &str, policy: &str) {
    let journal = machine.path(name);
    fs::create_dir_all(journal.parent().expect("a folder")).expect("folders");
    let settings = parse(policy, Level::User, "old.toml").unwrap_or_else(|error| panic!("{error}")).settings;
    let policy = Policy::new(&settings, &Services::default()).expect("a policy");
    let script = COMMANDS
        .iter()
        .fold(Script::new(), |script, command| script.call("bash", &json!({ "command": command }).to_string()));
    let script = script.call("read_file", r#"{"path": ".env"}"#).say("done");
    let work = async {
        let store = Store::open(&journal, &vertebra_journal::Options::default()).expect("a journal");
        let agent = Agent::builder(script)
            .name("vertebra")
            .working_directory(machine.path("project").to_string_lossy().into_owned())
            .tool(RecordingTool::new("bash").with(|spec: ToolSpec| spec.alias("Bash")))
            .tool(RecordingTool::new("read_file").with(|spec: ToolSpec| spec.alias("Read").read_only()))
            .approver(FixedApprover::yes())
            .with(permissions(&settings, None).expect("rules"))
            .hooks(policy.hook_set())
            .journal(store)
            .build()
            .expect("an agent");
        let mut session = agent.session().await.expect("a session");
        session.prompt("release it").await.expect("a run");
        session.close().await;
    };
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(work);
}

/// What it says, as an object.
fn said(told: &Told) -> Value {
    serde_json::from_str(&told.out).unwrap_or_else(|_| panic!("{} {} {}", told.code, told.out, told.err))
}

fn tried(machine: &Machine, arguments: &[&str]) -> (i32, Value) {
    let told = machine.runs(&[&["backtest"], arguments].concat());
    (told.code, said(&told))
}

fn examples(report: &Value, of: &str) -> Vec<String> {
    let shown = report["examples"][of].as_array().into_iter().flatten();
    shown.map(|example| example["about"].as_str().expect("a text").to_owned()).collect()
}

fn hits(report: &Value, hook: &str) -> (u64, u64, u64) {
    let named = |row: &&Value| row["hook"].as_str().is_some_and(|name| name.starts_with(hook));
    let row = report["by_hook"].as_array().expect("hooks").iter().find(named).unwrap_or_else(|| panic!("{report:#}"));
    let count = |key: &str| row[key].as_u64().expect("a number");
    (count("matched"), count("decided"), count("not_asked"))
}

#[test]
fn the_policy_that_was_in_force_changes_nothing() {
    let machine = Machine::new();
    lived(&machine, "j.sqlite", OLD);
    machine.write("project/same.toml", OLD);
    let (code, report) = tried(&machine, &["--hooks", "same.toml", "--journal", "../j.sqlite", "--fail-on", "changed"]);
    assert_eq!((code, &report["different"]), (0, &json!(0)), "{report:#}");
    assert!(report["events"].as_u64().is_some_and(|events| events > 40), "{report:#}");
    assert_eq!(report["sources"], json!({ "session": 1 }));
    assert_eq!(hits(&report, "no-rm"), (1, 1, 0));
    assert_eq!(hits(&report, "timeout"), (7, 0, 0), "aliases of tools are known");
    assert_eq!(hits(&report, "rule `Bash(git tag *)`"), (0, 1, 0));
}

#[test]
fn a_new_refusal_shows_exactly_what_it_would_have_refused_and_fails_a_build() {
    let machine = Machine::new();
    lived(&machine, "home/.local/state/vertebra/journal.db", OLD);
    machine.write("project/new.toml", &stricter());
    let (code, report) = tried(&machine, &["--hooks", "new.toml", "--fail-on", "newly-denied"]);
    assert_eq!((code, &report["different"], &report["differences"]["newly_denied"]), (4, &json!(2), &json!(2)));
    assert_eq!(examples(&report, "newly_denied"), ["git push origin main", "git push --force"]);
    let first = &report["examples"]["newly_denied"][0];
    assert_eq!(first["then"]["said"], "went_on");
    assert_eq!(first["now"]["reason"], "pushing is for humans");
    assert!(first["now"]["by"].as_str().is_some_and(|by| by.starts_with("no-push (")), "{first:#}");
    assert_eq!(hits(&report, "no-push"), (2, 2, 0));
    assert_eq!(tried(&machine, &["--hooks", "new.toml", "--fail-on", "newly-allowed"]).0, 0);
    assert_eq!(tried(&machine, &["--hooks", "new.toml", "--fail-on", "changed"]).0, 4);
    assert_eq!(tried(&machine, &["--hooks", "new.toml"]).0, 0);
    let (_, report) = tried(&machine, &["--hooks", "new.toml", "--examples", "1", "--point", "pre_tool_use"]);
    assert_eq!((&report["events"], examples(&report, "newly_denied").len()), (&json!(8), 1));
    let (_, last) = tried(&machine, &["--hooks", "new.toml", "--session", "last"]);
    assert_eq!(last["differences"], report["differences"]);
}

#[test]
fn what_is_taken_away_or_rewritten_is_told_apart() {
    let machine = Machine::new();
    lived(&machine, "j.sqlite", OLD);
    let looser = OLD
        .replace("deny = \"deletions are for humans\"", "add_context = \"careful\"")
        .replace("timeout = 5", "timeout = 6")
        .replace("\"Bash(ls *)\",", "\"Bash(ls *)\", \"Bash(make *)\",");
    machine.write("project/new.toml", &looser);
    let (_, report) = tried(&machine, &["--hooks", "new.toml", "--journal", "../j.sqlite", "--examples", "9"]);
    assert_eq!(examples(&report, "newly_asked"), ["cd sub && rm x"], "what the mode asked stands");
    assert_eq!(examples(&report, "no_longer_asked"), ["make install"], "a rule answers what the mode asked");
    let rewritten = examples(&report, "changed");
    assert_eq!(rewritten, ["ls -l", "git push origin main", "git tag v1", "git push --force", "cargo test"]);
    assert_eq!(report["differences"]["newly_denied"], 0);
}

#[test]
fn two_policies_are_held_against_each_other_whatever_was_decided_then() {
    let machine = Machine::new();
    lived(&machine, "j.sqlite", "");
    machine.write("project/old.toml", OLD);
    machine.write("project/new.toml", &stricter().replace(", \"Bash(cargo *)\"", ""));
    let past = ["--journal", "../j.sqlite", "--fail-on", "changed", "--hooks", "new.toml", "--against"];
    let (code, report) = tried(&machine, &[&past[..], &["old.toml"]].concat());
    assert_eq!((code, &report["different"]), (4, &json!(3)), "{report:#}");
    assert_eq!(examples(&report, "newly_denied"), ["git push origin main", "git push --force"]);
    assert_eq!(examples(&report, "newly_asked"), ["cargo test"], "no rule answers what the mode asks");
    let (code, report) = tried(&machine, &[&past[..], &["new.toml"]].concat());
    assert_eq!((code, &report["different"]), (0, &json!(0)), "{report:#}");
}

/// A line of a transcript, as Claude Code writes it.
fn line(kind: &str, time: &str, message: &Value) -> String {
    let line = json!({
        "parentUuid": null, "isSidechain": false, "userType": "external", "cwd": "/tmp/p", "sessionId": "s-1",
        "version": "2.1.300", "type": kind, "message": message, "uuid": format!("u-{time}"), "timestamp": time,
    });
    format!("{line}\n")
}

fn prompted(time: &str, text: &str) -> String {
    line("user", time, &json!({ "role": "user", "content": text }))
}

fn used(time: &str, id: &str, command: &str) -> String {
    let block = json!({ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": command } });
    let message = json!({
        "id": format!("msg_{id}"), "type": "message", "role": "assistant", "content": [block], "stop_reason": "tool_use",
    });
    line("assistant", time, &message)
}

fn result(time: &str, id: &str, text: &str, is_error: bool) -> String {
    let block = json!({ "tool_use_id": id, "type": "tool_result", "content": text, "is_error": is_error });
    line("user", time, &json!({ "role": "user", "content": [block] }))
}

/// A transcript with a bit of everything that happens in one.
fn transcript() -> String {
    let (before, after) = ("2026-10-01T08:00:00.000Z", "2026-11-10T08:00:00.000Z");
    let end = json!({
        "id": "msg_end", "type": "message", "role": "assistant", "content": [{ "type": "text", "text": "Done." }],
        "stop_reason": "end_turn",
    });
    [
        json!({ "type": "summary", "summary": "Releases", "leafUuid": "u" }).to_string() + "\n",
        prompted(before, "release it"),
        used(before, "t1", "git push origin main"),
        result(before, "t1", "ok", false),
        "this is no JSON\n".to_owned(),
        prompted(after, "<command-name>/clear</command-name>"),
        prompted(after, "once more"),
        used(after, "t2", "git push --force"),
        used(after, "t3", "git push --tags"),
        result(after, "t2", "PreToolUse:Bash hook error: [./no.sh]: not today", true),
        result(after, "t3", "The user doesn't want to proceed with this tool use. The tool use was rejected", true),
        used(after, "t4", "cargo test"),
        result(after, "t4", "Exit code 101", true),
        used(after, "t5", "git push origin dev"),
        line("assistant", after, &end),
    ]
    .concat()
}

#[test]
fn transcripts_of_claude_code_are_a_past_too() {
    let machine = Machine::new();
    machine.write("home/.claude/projects/-tmp-p/s-1.jsonl", &transcript());
    machine.write("project/new.toml", &stricter());
    let (code, report) = tried(&machine, &["--hooks", "new.toml", "--claude-code", "--examples", "9"]);
    assert_eq!((code, &report["sources"]), (0, &json!({ "transcript": 1 })));
    // Two prompts, five calls, one result, one failure, one end.
    assert_eq!(report["events"], 10, "{report:#}");
    assert_eq!(
        examples(&report, "newly_denied"),
        ["git push origin main", "git push --tags", "git push origin dev"],
        "one was refused then"
    );
    let shown = &report["examples"]["newly_denied"][1];
    assert_eq!((&shown["then"]["said"], &shown["then"]["by"]), (&json!("asked"), &json!("the user")));
    let unknown = report["not_recorded"].to_string();
    for part in ["unreadable transcript lines\":1", "not prompts, answers or results\":2", "without a result"] {
        assert!(unknown.contains(part), "{part}: {unknown}");
    }
    let (_, report) = tried(&machine, &["--hooks", "new.toml", "--claude-code", "--since", "2026-11-01"]);
    assert_eq!(examples(&report, "newly_denied"), ["git push --tags", "git push origin dev"]);
}

#[test]
fn a_line_without_end_is_passed_over() {
    let machine = Machine::new();
    machine.write("transcripts/long.jsonl", &used("2026-11-10T08:00:00Z", "t1", "git push"));
    let mut file = OpenOptions::new().append(true).open(machine.path("transcripts/long.jsonl")).expect("a file");
    file.set_len(200 << 20).expect("room for zeros");
    file.seek(SeekFrom::End(0)).expect("a file");
    file.write_all(format!("\n{}", result("2026-11-10T08:00:00Z", "t1", "ok", false)).as_bytes()).expect("written");
    machine.write("project/new.toml", &stricter());
    let (_, report) = tried(&machine, &["--hooks", "new.toml", "--claude-code", "../transcripts"]);
    assert_eq!(examples(&report, "newly_denied"), ["git push"], "{report:#}");
    assert!(report["not_recorded"].to_string().contains("too long\":1"), "{report:#}");
    assert!(!report["not_recorded"].to_string().contains("without a result"), "{report:#}");
}

/// `vertebra hook`, really asked about a command by Claude Code.
fn hooked(machine: &Machine, policy: &str, command: &str) -> i32 {
    let event = json!({
        "session_id": "s-2", "transcript_path": "/tmp/t.jsonl", "cwd": machine.path("project"),
        "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": "t",
    });
    let mut asking = machine.command(&["hook", "--host", "claude-code", "--config", policy]);
    let mut child =
        asking.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    child.stdin.take().expect("stdin").write_all(event.to_string().as_bytes()).expect("written");
    child.wait().expect("it ends").code().expect("an end of its own")
}

#[test]
fn the_log_of_our_own_hook_is_a_past_too() {
    let machine = Machine::new();
    machine.write("project/old.toml", OLD);
    machine.write("project/new.toml", &stricter());
    let codes: Vec<i32> = COMMANDS.iter().map(|command| hooked(&machine, "old.toml", command)).collect();
    assert_eq!(codes, [0, 0, 2, 0, 0, 0, 0]);
    let (_, report) = tried(&machine, &["--hooks", "old.toml"]);
    assert_eq!((&report["events"], &report["different"]), (&json!(7), &json!(0)), "{report:#}");
    assert_eq!(report["sources"], json!({ "hook log": 1 }));
    let (_, report) = tried(&machine, &["--hooks", "new.toml", "--hook-log"]);
    assert_eq!(examples(&report, "newly_denied"), ["git push origin main", "git push --force"]);
    machine.write("project/nothing.toml", "");
    let (_, report) = tried(&machine, &["--hooks", "nothing.toml"]);
    assert_eq!(examples(&report, "newly_allowed"), ["cd sub && rm x"]);
    assert_eq!(examples(&report, "no_longer_asked"), ["git tag v1"]);
    assert_eq!(report["differences"]["no_longer_allowed"], 4, "{report:#}");
    let yes = "[[hook]]\nname = \"yes\"\npoint = \"BeforeToolUse\"\nmatch = { command = '^make' }\nallow = true\n";
    machine.write("project/yes.toml", &format!("{OLD}\n{yes}"));
    let (code, report) = tried(&machine, &["--hooks", "yes.toml", "--fail-on", "newly-allowed"]);
    assert_eq!((code, examples(&report, "newly_allowed")), (4, vec!["make install".to_owned()]));
    let log = machine.path("home/.local/state/vertebra/hook-log.jsonl");
    let broken = fs::read_to_string(&log).expect("a log").replacen('{', "", 1);
    machine.write("broken.jsonl", &broken);
    let (_, report) = tried(&machine, &["--hooks", "new.toml", "--hook-log", "../broken.jsonl"]);
    assert_eq!(report["events"], 6);
    assert!(report["not_recorded"].to_string().contains("unreadable lines in the hook log\":1"), "{report:#}");
}

#[test]
fn nothing_is_started_unless_it_is_said() {
    let machine = Machine::new();
    let outside = format!(
        "{OLD}\n[[hook]]\nname = \"outside\"\npoint = \"BeforeToolUse\"\nmatch = {{ command = 'git\\s+push' }}\nrun = \
         {{ command = \"echo asked >> {}; exit 2\" }}\n",
        machine.path("started").display()
    );
    machine.write("project/new.toml", &outside);
    lived(&machine, "j.sqlite", OLD);
    let options = ["--hooks", "new.toml", "--journal", "../j.sqlite"];
    let (_, report) = tried(&machine, &options);
    assert_eq!((machine.read("started").as_str(), &report["different"]), ("", &json!(0)));
    assert_eq!((hits(&report, "outside"), &report["judged_in_part"]), ((2, 0, 2), &json!(2)));
    let (_, report) = tried(&machine, &[&options[..], &["--run-handlers"]].concat());
    assert_eq!((machine.read("started").as_str(), hits(&report, "outside")), ("asked\nasked\n", (2, 2, 0)));
    assert_eq!(report["differences"]["newly_denied"], 2);

    // The recorded answer of such a hook is kept when its handler is not called again.
    lived(&machine, "k.sqlite", &outside);
    let (_, report) = tried(&machine, &["--hooks", "new.toml", "--journal", "../k.sqlite"]);
    assert_eq!((&report["different"], hits(&report, "outside")), (&json!(0), (2, 0, 2)), "{report:#}");
}

#[test]
fn errors_say_what_to_write() {
    let machine = Machine::new();
    machine.write("project/new.toml", &stricter());
    machine.write("project/bad.toml", "[[hook]]\npoint = \"BeforeToolUze\"\ndeny = \"no\"\n");
    let wrong = |arguments: &[&str]| {
        let told = machine.runs(&[&["backtest"], arguments].concat());
        assert_ne!(told.code, 0, "{arguments:?}: {}", told.out);
        told.err
    };
    let nothing = wrong(&["--hooks", "new.toml"]);
    assert!(nothing.contains("nothing has been recorded") && nothing.contains("--claude-code"), "{nothing}");
    machine.write("home/.claude/projects/p/s.jsonl", &transcript());
    let past = ["--claude-code", "--hooks"];
    let told = wrong(&[&past[..], &["bad.toml"]].concat());
    assert!(told.contains("bad.toml, line 2") && told.contains("BeforeToolUse"), "{told}");
    assert!(wrong(&[&past[..], &["none.toml"]].concat()).contains("none.toml: no such file"));
    let told = wrong(&[&past[..], &["new.toml", "--since", "soon"]].concat());
    assert!(told.contains("--since: invalid time `soon`") && told.contains("7d"), "{told}");
    let told = wrong(&[&past[..], &["new.toml", "--point", "BeforeToolUze"]].concat());
    assert!(told.contains("did you mean `BeforeToolUse`?"), "{told}");
    let told = wrong(&["--hooks", "new.toml", "--session", "x"]);
    assert!(told.contains("no journal"), "{told}");
    assert!(wrong(&["--hooks", "new.toml", "--claude-code", "../nowhere"]).contains("nowhere"));
    assert!(wrong(&["--hooks", "new.toml", "--fail-on", "denied"]).contains("newly-denied"));
}

/// The command at a terminal of its own.
fn at_a_terminal(machine: &Machine, arguments: &[&str]) -> Person {
    let mut command = machine.command(&[&["backtest"], arguments].concat());
    Person::sit(command.env("LANG", "C.UTF-8").env("TERM", "xterm-256color"))
}

#[test]
fn a_terminal_shows_a_progress_bar_and_then_a_table() {
    let machine = Machine::new();
    let calls = (0..300).map(|number| {
        let id = format!("t{number}");
        used("2026-11-10T08:00:00Z", &id, "git push") + &result("2026-11-10T08:00:00Z", &id, "ok", false)
    });
    machine.write("t.jsonl", &calls.collect::<String>());
    machine.write("project/new.toml", &stricter());
    let mut person = at_a_terminal(&machine, &["--hooks", "new.toml", "--claude-code", "../t.jsonl"]);
    assert_eq!(person.waits_for_the_end(), 0);
    let (bytes, screen) = (person.bytes(), person.sees());
    assert!(bytes.contains("░") && bytes.contains(" events, "), "a bar was drawn: {bytes}");
    assert!(!screen.contains("░") && screen.contains("300  newly denied"), "and is gone: {screen}");
    assert!(screen.contains("no-push (new.toml:"), "{screen}");
}

#[test]
fn ctrl_c_ends_the_backtest_and_its_handlers() {
    let machine = Machine::new();
    machine.write("t.jsonl", &used("2026-11-10T08:00:00Z", "t1", "git push"));
    let started = machine.path("started").display().to_string();
    let waits = format!(
        "[[hook]]\nname = \"waits\"\npoint = \"BeforeToolUse\"\nrun = {{ command = \"echo $$ > {started}.tmp; mv \
         {started}.tmp {started}; sleep 1000\", timeout = \"1h\" }}\n"
    );
    machine.write("project/new.toml", &waits);
    let past = ["--hooks", "new.toml", "--claude-code", "../t.jsonl", "--run-handlers"];
    let mut person = at_a_terminal(&machine, &past);
    while machine.read("started").is_empty() {
        std::thread::yield_now();
    }
    person.types("\u{3}");
    assert_eq!(person.waits_for_the_end(), 1);
    assert!(person.sees().contains("interrupted"), "{}", person.sees());
    let process = format!("/proc/{}/cmdline", machine.read("started").trim());
    assert!(fs::read(process).unwrap_or_default().is_empty(), "what was started has ended");
}

#[test]
fn the_page_about_backtests_is_true() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/backtest.md");
    let page = fs::read_to_string(page).expect("the page");
    let machine = Machine::new();
    machine.write("home/.claude/projects/-tmp-p/s-1.jsonl", &transcript());
    lived(&machine, "home/.local/state/vertebra/journal.db", OLD);
    machine.write("project/vertebra.toml", OLD);
    hooked(&machine, "vertebra.toml", "git status");
    let policy = page.split("```toml\n").nth(1).and_then(|rest| rest.split_once("```")).expect("a policy").0;
    machine.write("project/new.toml", policy);
    let program = Path::new(env!("CARGO_BIN_EXE_vertebra")).parent().expect("a folder").display().to_string();
    let path = format!("{program}:{}", std::env::var("PATH").unwrap_or_default());
    let mut ran = 0;
    let blocks = page.split("```sh\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0));
    for line in blocks.flat_map(str::lines).filter(|line| line.starts_with("vertebra ")) {
        let mut command = Command::new("sh");
        command.args(["-c", line]).env_clear().env("PATH", &path).env("HOME", machine.path("home"));
        let told = machine.told(command.current_dir(machine.path("project")).stdin(Stdio::null()));
        let wanted = if line.contains("--fail-on") { 4 } else { 0 };
        assert_eq!(told.code, wanted, "{line}: {}{}", told.out, told.err);
        ran += 1;
    }
    assert!(ran >= 5, "the page shows commands");
}
