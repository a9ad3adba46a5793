//! A person at a terminal: what they see, what they can answer, and what happens if they do not.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write},
    os::unix::fs::OpenOptionsExt as _,
    thread,
    time::Duration,
};

use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, tcgetattr},
};
use tokio::sync::mpsc;
use vertebra::{AgentTool, Args, testing::Script};
use vertebra_kit::permissions::{Permissions, Question, Rules, TerminalApprover};

use super::*;

/// What was written to the terminal.
#[derive(Clone, Default)]
struct Shown(Arc<Mutex<Vec<u8>>>);

impl Shown {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()).expect("text")
    }
}

impl Write for Shown {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A terminal where all of this has been typed, and then the person went away.
fn typed(answers: &str) -> (TerminalApprover, Shown) {
    let (input, mut keyboard) = io::pipe().expect("a pipe");
    keyboard.write_all(answers.as_bytes()).expect("a pipe takes a few lines");
    let shown = Shown::default();
    (TerminalApprover::on(input, shown.clone()), shown)
}

/// What the model reads and what the person sees, if they answer this when they are asked about the call.
async fn answered(answers: &str, tool: &str, args: Value) -> (String, String) {
    answered_by(Permissions::default(), answers, tool, args, TerminalApprover::learning).await
}

async fn answered_by(
    permissions: Permissions,
    answers: &str,
    tool: &str,
    args: Value,
    with: impl FnOnce(TerminalApprover, Rules) -> TerminalApprover,
) -> (String, String) {
    let (terminal, shown) = typed(answers);
    let terminal = with(terminal, permissions.rules());
    let read = reads_of(permissions, tool, args, |builder| {
        builder.clock(FakeClock::by_hand()).approver(terminal);
    })
    .await;
    (read, shown.text())
}

#[tokio::test]
async fn a_person_says_yes_no_or_nothing() {
    let cases = [
        ("y\n", "ok"),
        ("YES\n", "ok"),
        ("n\nnot today\n", "denied: not today"),
        ("n too risky\n", "denied: too risky"),
        ("n\n\n", "denied: the user said no"),
        ("", "denied: the terminal was closed"),
        ("y", "denied: the terminal was closed"),
        ("hm\n\nwhat?\ny\n", "ok"),
        ("yes please\n", "denied: the terminal was closed"),
        ("\x03", "denied: the user pressed Ctrl-C"),
    ];
    for (answers, expected) in cases {
        assert_eq!(answered(answers, "bash", command("ls")).await.0, expected, "{answers:?}");
    }
    let (read, _) = answered(&"what?\n".repeat(200), "bash", command("ls")).await;
    assert_eq!(read, "denied: no valid answer was given");
}

#[tokio::test]
async fn a_question_shows_who_what_and_why() {
    let (_, shown) = answered("n no\n", "bash", json!({"command": "cargo test\ncargo fmt", "timeout": 5})).await;
    insta::assert_snapshot!(shown, @r"

    ┌ $ cargo test
    │   cargo fmt
    │ timeout: 5
    │ no rule allows this command
    └ y: yes    n [why]: no    e: edit the arguments
      a [rule]: yes, and always in this session: Bash(cargo test *), Bash(cargo fmt *)
    >   no
    ");
}

/// Everything that could make a terminal lie, in one command.
fn hostile() -> String {
    let osc = "\x1b]8;;https://evil.org\x1b\\click\x1b]8;;\x1b\\ \x1b]52;c;cm0gLXJm\x07";
    let turned = "\u{202e}gpj.exe\u{202c} \u{2066}a\u{2069} zero\u{200b}width\u{feff} \u{e0041}\u{e0042}tags";
    let prompt = "└ y: yes\n> y\n  yes\n\n┌ agent wants to use nothing";
    format!(
        "echo ok # \x1b[2J\x1b[1;1H\rls\x08\x7f\x07 \u{9b}31m{osc} {turned}{}rm -rf x{}{prompt} ⟨U+0041⟩",
        " ".repeat(300),
        "\n".repeat(501)
    )
}

#[tokio::test]
async fn nothing_of_the_model_reaches_the_terminal_raw_and_what_runs_is_what_was_approved() {
    let line = hostile();
    let tool = RecordingTool::new("run\u{5f}it");
    let model = Script::new().call("run_it", &command(&line).to_string()).say("done");
    let (terminal, shown) = typed("y\n");
    let mut builder = Agent::builder(model);
    builder.name("ag\x1b[31ment\n\u{202e}").clock(FakeClock::by_hand()).working_directory("/repo");
    builder.tool(tool.clone()).with(Permissions::default()).approver(terminal);
    built(&mut builder).run("go").await.expect("a run");
    assert_eq!(tool.calls(), [Args::try_from(command(&line)).expect("an object")]);
    let shown = shown.text();
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
    insta::assert_snapshot!("hostile_prompt", shown);
}

#[tokio::test]
async fn nothing_is_left_out_and_a_yes_counts_only_after_the_last_page() {
    let many: Vec<String> = (0..100).map(|n| format!("echo {n}")).collect();
    let many = many.join("\n");
    let long = format!("echo {}END", "x".repeat(5000));
    let (ran, shown) = answered("y\na\ny\n", "bash", command(&many)).await;
    assert!(shown.contains("echo 35\n") && !shown.contains("echo 50\n"), "{shown}");
    assert!(shown.contains("before you can say yes") && shown.contains("view the rest first"), "{shown}");
    assert!(ran != "ok", "no answer counts before everything was shown:\n{shown}");
    let (ran, shown) = answered("v\nv\ny\n", "bash", command(&many)).await;
    assert!((0..100).all(|n| shown.contains(&format!("echo {n}\n"))), "{shown}");
    assert!(ran == "ok", "{shown}");
    let (ran, shown) = answered("n no\n", "bash", command(&many)).await;
    assert!(ran != "ok" && !shown.contains("view the rest first"), "a no is always possible:\n{shown}");
    let (ran, shown) = answered("y\n", "bash", command(&long)).await;
    assert!(ran == "ok" && shown.contains(&"x".repeat(5000)) && shown.contains("xEND\n"), "{shown}");
}

#[tokio::test]
async fn no_argument_hides_behind_a_difference() {
    let long = format!("{}the-canary{}", "x".repeat(1500), "x".repeat(1500));
    for args in [
        json!({ "path": "a.txt", "content": "the-canary", "old_string": "a", "new_string": "a" }),
        json!({ "path": "a.txt", "content": "the-canary", "edits": [] }),
        json!({ "path": "a.txt", "edits": [{ "oldText": "a", "newText": "the-canary" }] }),
        json!({ "path": "a.txt", "edits": [{ "old_string": "a", "new_string": "b", "also": "the-canary" }] }),
        json!({ "path": "a.txt", "content": long }),
    ] {
        let (_, shown) = answered("v\nn no\n", "write_file", args.clone()).await;
        assert!(shown.contains("the-canary"), "{args}: {shown}");
    }
}

#[tokio::test]
async fn an_edit_is_shown_as_a_difference() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a.txt"), "one\ntwo\nthree\n").expect("a file");
    let root = folder.path().to_str().expect("text").to_owned();
    let shown = |args: Value, colour: bool| {
        let root = root.clone();
        async move {
            let (terminal, shown) = typed("n no\n");
            reads_of(Permissions::default(), "write_file", args, |builder| {
                builder.clock(FakeClock::by_hand()).working_directory(root).approver(terminal.colour(colour));
            })
            .await;
            shown.text()
        }
    };
    let text = shown(json!({"path": "a.txt", "content": "one\n2\nthree\n\x1b[2J\n"}), false).await;
    insta::assert_snapshot!(text, @r"

    ┌ write_file a.txt
    │ 1   one
    │ 2 - two
    │ 2 + 2
    │ 3   three
    │ 4 + ⟨U+001B⟩[2J
    │ no rule allows this edit
    └ y: yes    n [why]: no    e: edit the arguments
    >   no
    ");
    let text = shown(json!({"path": "new.txt", "old_string": "a\nb", "new_string": "a\nc"}), true).await;
    assert!(text.contains("\x1b[31m- b\x1b[0m\n│ \x1b[32m+ c\x1b[0m\n"), "{text}");
    fs::write(folder.path().join("b.txt"), "a\nx = 1\nb\nc\nd\ne\nf\ng\nh\nx = 1\n").expect("a file");
    let replaced = json!({"path": "b.txt", "old_string": "x = 1", "new_string": "x = 2", "replace_all": true});
    insta::assert_snapshot!(shown(replaced, false).await, @r"

    ┌ write_file b.txt · 2 places
    │  1   a
    │  2 - x = 1
    │  2 + x = 2
    │  3   b
    │  4   c
    │  5   d
    │      …
    │  7   f
    │  8   g
    │  9   h
    │ 10 - x = 1
    │ 10 + x = 2
    │ no rule allows this edit
    └ y: yes    n [why]: no    e: edit the arguments
    >   no
    ");
    let edits =
        json!({"path": "x", "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]});
    let text = shown(edits, false).await;
    assert!(text.contains("│ - a\n│ + b\n│   …\n│ - c\n│ + d\n"), "{text}");
}

#[tokio::test]
async fn arguments_are_edited_in_line_or_in_an_editor_and_judged_again() {
    let edit = |answers: &'static str| async {
        let permissions = allowing(&["Bash(git *)"]).deny("Bash(rm *)").expect("a rule");
        answered_by(permissions, answers, "bash", command("ls"), |terminal, _| terminal).await
    };
    assert_eq!(edit("e\n{\"command\": \"git status\"}\n").await.0, "ok");
    assert_eq!(
        edit("e\n{\"command\": \"rm x\"}\n").await.0,
        "blocked by permissions/rules: denied by rule `Bash(rm *)` of the program"
    );
    let (read, shown) = edit("e\nnot json\ne\n[1]\ne\n\ny\n").await;
    assert_eq!(read, "ok");
    assert!(
        shown.contains("not accepted: expected ident") && shown.contains("must be a JSON object, not [1]"),
        "{shown}"
    );

    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("editor.sh");
    fs::write(&script, "grep -q '\"command\": \"ls\"' \"$2\" && echo '{\"command\": \"git log\"}' > \"$2\"\n")
        .expect("a script");
    let editor = format!("sh {} --wait", script.display());
    let (read, shown) =
        answered_by(allowing(&["Bash(git *)"]), "e\n", "bash", command("ls"), |terminal, _| terminal.editor(&editor))
            .await;
    assert_eq!(read, "ok", "{shown}");
    let (read, shown) =
        answered_by(Permissions::default(), "e\nn no\n", "bash", command("ls"), |terminal, _| terminal.editor("false"))
            .await;
    assert_eq!(read, "denied: no");
    assert!(shown.contains("not accepted: the editor ended with exit status: 1"), "{shown}");
}

#[tokio::test]
async fn always_adds_the_rule_that_was_shown_or_one_that_fits() {
    let learned = |answers: &'static str| async {
        let permissions = Permissions::default();
        let rules = permissions.rules();
        let (terminal, shown) = typed(answers);
        let again = r#"{"command": "cargo test"}"#;
        let model = Script::new().call("bash", again).call("bash", again).say("done");
        let mut builder = agent(&model, permissions);
        builder.clock(FakeClock::by_hand()).approver(terminal.learning(rules));
        let told = Told::results(&mut builder);
        built(&mut builder).run("go").await.expect("a run");
        (told.lines(), shown.text())
    };
    assert_eq!(learned("a\n").await.0, ["ok", "ok"]);
    assert_eq!(learned("a Bash(cargo *)\n").await.0, ["ok", "ok"]);
    let (read, shown) = learned("a Bash(git *)\na Bash(cargo\nf\ny\n").await;
    assert_eq!(read, ["ok", "denied: the terminal was closed"]);
    assert!(shown.contains("not added: `Bash(git *)` would not allow this call"), "{shown}");
    assert!(shown.contains("not added: invalid rule `Bash(cargo`"), "{shown}");

    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("settings.toml");
    let permissions = Permissions::default().file(&file).expect("a file to be");
    let (read, shown) = answered_by(permissions, "f\n", "write_file", path("a.rs"), TerminalApprover::learning).await;
    assert_eq!(read, "ok");
    assert!(
        shown.contains(
            "s: yes, and all edits in this session\n  a [rule]: yes, and always in this session: Edit(./a.rs)\n  \
             . [rule]: yes, and always in this folder, saved in your settings\n  \
             f [rule]: yes, and always in all folders, saved in "
        ),
        "{shown}"
    );
    assert_eq!(fs::read_to_string(&file).expect("the file"), "[permissions]\nallow = [\"Edit(./a.rs)\"]\n");
}

#[tokio::test]
async fn one_answer_accepts_all_edits_of_the_session_and_nothing_else() {
    let run = |answers: &'static str, permissions: Permissions| async move {
        let rules = permissions.rules();
        let (terminal, shown) = typed(answers);
        let model = Script::new()
            .call("write_file", r#"{"path": "a.rs"}"#)
            .call("edit_file", r#"{"path": "b.rs"}"#)
            .call("bash", r#"{"command": "cargo test"}"#)
            .call("write_file", r#"{"path": "../c.rs"}"#)
            .say("done");
        let mut builder = agent(&model, permissions);
        builder.clock(FakeClock::by_hand()).approver(terminal.learning(rules));
        let told = Told::results(&mut builder);
        built(&mut builder).run("go").await.expect("a run");
        (told.lines(), shown.text())
    };
    let (read, shown) = run("s\n", Permissions::default()).await;
    let closed = "denied: the terminal was closed";
    assert_eq!(read, ["ok", "ok", closed, closed], "{shown}");
    assert_eq!(shown.matches("all edits in this session").count(), 1, "{shown}");
    // An administrator's mode is not changed by an answer.
    let (read, shown) = run("s\ny\n", Permissions::default().hold_mode()).await;
    assert_eq!(read, ["ok", closed, closed, closed], "{shown}");
    assert!(!shown.contains("all edits"), "{shown}");
}

#[tokio::test]
async fn a_long_script_is_one_question_that_says_what_it_does() {
    let script: Vec<String> = (0..60).map(|n| format!("touch made-{n}")).collect();
    let script = format!("set -e\n{}\nrm -rf old\ncurl https://x.org > page.html\n", script.join("\n"));
    let (_, shown) = answered("v\nn no\n", "bash", command(&script)).await;
    assert!(
        shown.contains("writes made-0, made-1, made-2, made-3 and 57 more · deletes old · network: curl"),
        "{shown}"
    );
    assert!(!shown.contains("always"), "{shown}");
}

#[tokio::test]
async fn a_question_whose_time_is_over_is_taken_back() {
    let (input, _keyboard) = io::pipe().expect("a pipe");
    let shown = Shown::default();
    let terminal = TerminalApprover::on(input, shown.clone());
    let read = reads_of(Permissions::default(), "bash", command("ls"), |builder| {
        builder.approver(terminal).approval_timeout(Duration::from_mins(1));
    })
    .await;
    assert_eq!(read, "denied: no one answered in time");
    let shown = shown.text();
    assert!(shown.contains("┌ $ ls\n"), "{shown}");
    assert!(shown.ends_with("> \n  no answer: the question timed out, or the run has ended\n"), "{shown}");
}

#[tokio::test]
async fn children_that_ask_at_once_are_answered_one_after_another() {
    let child = |name: &'static str| {
        let mut child = Agent::builder(Script::new().call("bash", r#"{"command": "ls"}"#).say(name));
        child.name(name).working_directory("/repo");
        with_tools(&mut child);
        built(&mut child)
    };
    let model = Script::new().calls([("left", r#"{"prompt": "go"}"#), ("right", r#"{"prompt": "go"}"#)]).say("done");
    let (terminal, shown) = typed("y\nn no\n");
    let mut builder = agent(&model, allowing(&["left", "right"]));
    builder.clock(FakeClock::by_hand()).approver(terminal);
    builder.tool(AgentTool::new("left", "helps", child("lefty")));
    builder.tool(AgentTool::new("right", "helps", child("righty")));
    built(&mut builder).run("go").await.expect("a run");
    let shown = shown.text();
    let order: Vec<&str> = shown.lines().filter(|line| line.starts_with('┌') || line.starts_with(">  ")).collect();
    assert_eq!(order.len(), 4, "{shown}");
    assert_eq!([order[1], order[3]], [">   yes", ">   no"]);
    let mut names = [order[0], order[2]];
    names.sort_unstable();
    assert_eq!(names, ["┌ lefty: $ ls", "┌ righty: $ ls"]);
}

/// A pseudo-terminal: what a program has, and what a person sees and types.
struct Pty {
    device: File,
    person: File,
    seen: mpsc::UnboundedReceiver<String>,
    screen: String,
}

impl Pty {
    fn open() -> Self {
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&person).and_then(|()| unlockpt(&person)).expect("a pseudo-terminal");
        let name = ptsname(&person, Vec::new()).expect("a name");
        let no_controlling_terminal = rustix::fs::OFlags::NOCTTY.bits();
        let device = File::options()
            .read(true)
            .write(true)
            .custom_flags(i32::try_from(no_controlling_terminal).expect("a flag"))
            .open(name.to_str().expect("text"))
            .expect("a terminal");
        let person = File::from(person);
        let (sender, seen) = mpsc::unbounded_channel();
        let mut eyes = person.try_clone().expect("another handle");
        thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = eyes.read(&mut piece) {
                if sender.send(String::from_utf8_lossy(&piece[..count]).into_owned()).is_err() {
                    return;
                }
            }
        });
        Self { device, person, seen, screen: String::new() }
    }

    fn approver(&self) -> TerminalApprover {
        let device = || self.device.try_clone().expect("another handle");
        TerminalApprover::on(device(), device())
    }

    fn types(&mut self, text: &str) {
        self.person.write_all(text.as_bytes()).expect("typing");
    }

    async fn sees(&mut self, text: &str) {
        while !self.screen.contains(text) {
            let more = tokio::time::timeout(Duration::from_mins(1), self.seen.recv()).await;
            self.screen += &more.ok().flatten().unwrap_or_else(|| panic!("no {text:?} in {:?}", self.screen));
        }
    }

    fn keys_are_signals(&self) -> bool {
        tcgetattr(&self.device).expect("a terminal").local_modes.contains(LocalModes::ISIG)
    }
}

#[tokio::test]
async fn on_a_terminal_only_what_is_typed_after_the_question_counts() {
    let mut pty = Pty::open();
    pty.types("y\n");
    pty.sees("y\r\n").await;
    let terminal = pty.approver();
    let call = tokio::spawn(async move {
        reads_of(Permissions::default(), "bash", command("ls"), |builder| {
            builder.clock(FakeClock::by_hand()).approver(terminal);
        })
        .await
    });
    pty.sees("> ").await;
    assert!(!pty.keys_are_signals());
    pty.types("n not this\n");
    assert_eq!(call.await.expect("no panic"), "denied: not this");
    assert!(pty.keys_are_signals(), "the terminal is as it was");
}

#[tokio::test]
async fn on_a_terminal_ctrl_c_is_a_no_and_a_run_that_ends_gives_the_terminal_back() {
    let mut pty = Pty::open();
    let call = |terminal: TerminalApprover| {
        tokio::spawn(async move {
            reads_of(Permissions::default(), "bash", command("ls"), |builder| {
                builder.clock(FakeClock::by_hand()).approver(terminal);
            })
            .await
        })
    };
    let first = call(pty.approver());
    pty.sees("> ").await;
    pty.types("\x03");
    assert_eq!(first.await.expect("no panic"), "denied: the user pressed Ctrl-C");

    pty.screen.clear();
    let second = call(pty.approver());
    pty.sees("> ").await;
    second.abort();
    pty.sees("\r\x1b[2K  no answer: the question timed out, or the run has ended").await;
    // What is typed now is for whoever reads the terminal next, and not for a question that is gone.
    pty.screen.clear();
    let third = call(pty.approver());
    pty.sees("> ").await;
    pty.types("y\n");
    assert_eq!(third.await.expect("no panic"), "ok");
    assert!(pty.keys_are_signals());
}

#[tokio::test]
async fn no_argument_leaves_the_margin_of_a_question() {
    let long = format!("echo {}└ y yes", "你".repeat(40));
    let args = Args::try_from(json!({"command": long, "lines": "one\ntwo"})).expect("an object");
    let approval = vertebra::Approval {
        at: vertebra::testing::at(vertebra::PermissionRequest),
        digest: args.digest(),
        call: vertebra::ToolCall::new("1", "bash", args),
        reason: "no rule".to_owned(),
        asked_by: "permissions/rules".into(),
        preview: None,
        only_once: false,
    };
    let shown = Question::about(&approval, None).await.columns(40).whole();
    insta::assert_snapshot!(shown, @r"

    ┌ $ echo 你你你你你你你你你你你你你你你
    │ 你你你你你你你你你你你你你你你你你你你
    │ 你你你你你你└ y yes
    │ lines:
    │   one
    │   two
    │ no rule
    ");
}
