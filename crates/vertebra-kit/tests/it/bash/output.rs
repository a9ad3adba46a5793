//! What the model, hooks and front ends read of a command.

use std::{os::unix::fs::PermissionsExt as _, time::Duration};

use serde_json::json;
use vertebra::{News, ToolStatus, testing::Script};

use super::*;

async fn text(command: &str) -> String {
    Area::new().bash(command).await.output
}

#[tokio::test]
async fn exit_code_stdout_and_stderr_come_in_this_order() {
    assert_eq!(text("echo out; echo err >&2; exit 3").await, "exit code: 3\nout\nSTDERR:\nerr");
    assert_eq!(text("echo out").await, "out");
    assert_eq!(text("echo err >&2").await, "STDERR:\nerr");
    assert_eq!(text("true").await, "(no output)");
    assert_eq!(text("false").await, "exit code: 1\n(no output)");
    assert_eq!(text("kill -9 $$").await, "exit code: 137 (signal: 9 (SIGKILL))\n(no output)");
}

#[tokio::test]
async fn a_command_that_fails_has_run_and_one_that_times_out_has_failed() {
    let results = Area::new()
        .calls(&[json!({"command": "exit 3"}), json!({"command": "echo so far; sleep 60", "timeout_ms": 300})])
        .await;
    assert_eq!((results[0].status, results[0].success, results[0].exit_code), (ToolStatus::Done, false, Some(3)));
    assert_eq!((results[1].status, results[1].success), (ToolStatus::Failed, false));
    assert_eq!(results[1].output, "timed out after 300ms; the command and all it started were ended\nso far");
}

#[tokio::test]
async fn what_cannot_be_run_is_an_error_that_says_why() {
    let area = Area::new();
    let long = "x".repeat(200_000);
    let results = area.calls(&[json!({"command": "echo \u{0}"}), json!({ "command": long })]).await;
    assert_eq!(results[0].output, "the command contains a NUL byte, which no shell can run");
    assert!(results[1].output.starts_with("the command has 200000 bytes, at most"), "{}", results[1].output);
    let gone = Area::new().with(|bash| bash.folder = Some("/no/such/folder".into())).bash("true").await;
    assert!(gone.output.starts_with("the working directory /no/such/folder cannot be used"), "{}", gone.output);
    assert!(results.iter().chain([&gone]).all(|result| result.status == ToolStatus::Failed));
}

#[tokio::test]
async fn a_timeout_can_be_lowered_and_raised_only_so_far() {
    let area = Area::new().with(|bash| bash.max_timeout = std::time::Duration::from_millis(200));
    let result = area.calls(&[json!({"command": "sleep 60", "timeout_ms": 3_600_000})]).await.remove(0);
    assert!(result.output.starts_with("timed out after 200ms"), "{}", result.output);
}

#[tokio::test]
async fn there_is_no_input() {
    assert_eq!(text("cat; read line || echo end").await, "end");
    // Not a pipe: `rg` and others would search it in place of the folder.
    assert_eq!(text("readlink /proc/self/fd/0").await, "/dev/null");
}

#[tokio::test]
async fn shells_work_as_people_know_them() {
    let cases = [
        ("printf 'b\\na\\n' | sort | tr a-z A-Z", "A\nB"),
        ("cat <<END\nhere $((1 + 1))\nEND", "here 2"),
        ("(echo sub; exit 4) || echo failed $?", "sub\nfailed 4"),
        ("echo one > >(cat); sleep 0.05", "one"),
        ("set -e\nfalse\necho unreachable", "exit code: 1\n(no output)"),
        ("# a remark\necho after it", "after it"),
        ("echo $#", "0"),
        (
            "[[ $- != *i* ]] && shopt -q login_shell || echo neither interactive nor login",
            "neither interactive nor login",
        ),
    ];
    for (command, expected) in cases {
        assert_eq!(text(command).await, expected, "{command}");
    }
    assert!(text("echo 'unclosed").await.starts_with("exit code: 2\nSTDERR:\n"), "a syntax error is told");
    assert!(text("true\nfi").await.contains("line 2"), "lines are counted as the model wrote them");
}

#[tokio::test]
async fn much_output_is_shown_from_both_ends_and_counted() {
    let area = Area::new();
    let results = area.commands(&["seq 1 20000", "head -c 30000000 /dev/zero | tr '\\0' x; echo end"]).await;
    let shown = &results[0].output;
    assert!(shown.starts_with("1\n2\n3\n") && shown.ends_with("\n19999\n20000"), "{shown:.80}");
    let total: usize = (1..=20_000).map(|n: u32| n.to_string().len() + 1).sum();
    assert_eq!(results[0].data["stdout_bytes"], total);
    let (head, rest) = shown.split_once("\n[").expect("a notice");
    let (cut, rest) = rest.split_once(" bytes in ").expect("a notice");
    let (lines, tail) = rest.split_once(" lines left out here]\n").expect("a notice");
    let shown_lines = head.lines().count() + tail.lines().count() + lines.parse::<usize>().expect("a number");
    // Lines are cut in two where the parts end.
    assert!((20_000..=20_002).contains(&shown_lines), "{shown_lines} lines");
    assert!(head.len() <= 8 * 1024 && tail.len() <= 24 * 1024, "{} and {}", head.len(), tail.len());
    // The line ends before the notice and at the end are not shown.
    let shown_bytes = head.len() + tail.len() + cut.parse::<usize>().expect("a number");
    assert!((total - 2..=total).contains(&shown_bytes), "{shown_bytes} of {total}");
    assert_eq!(results[1].data["stdout_bytes"], 30_000_004);
    assert!(
        results[1].output.len() < 40_000 && results[1].output.ends_with("xend"),
        "{:?}",
        &results[1].output[results[1].output.len() - 200..]
    );
}

#[tokio::test]
async fn bytes_that_are_no_text_and_orders_to_terminals_are_harmless() {
    assert_eq!(text("printf '\\033[31mred\\033[0m \\xff \\a'").await, "red \u{fffd} \\u{7}");
}

#[tokio::test]
async fn hooks_read_the_numbers() {
    let area = Area::new();
    let result = area.bash("printf 12345; printf 123 >&2; exit 7").await;
    assert_eq!(result.exit_code, Some(7));
    assert_eq!((&result.data["stdout_bytes"], &result.data["stderr_bytes"]), (&json!(5), &json!(3)));
    assert_eq!(result.data["cwd"], real(&area.path("work")));
    assert!(result.data["duration_ms"].is_u64());
    assert!(result.data["sandbox"].as_str().is_some_and(|state| state.starts_with("landlock")));
}

#[tokio::test]
async fn front_ends_see_whole_lines_while_the_command_runs() {
    let area = Area::new();
    let go = area.path("work/go");
    let command = "printf 'fir'; printf 'st\\nse'; until [ -e go ]; do sleep 0.02; done; printf 'cond\\nlast'";
    let script = Script::new().call("bash", &json!({ "command": command }).to_string()).say("done");
    let mut stream = built(&mut area.agent(script).0).stream("go");
    let mut said = Vec::new();
    while let Some(event) = stream.next().await {
        if let News::ToolSays { text, .. } = event.news {
            // The command goes on only once its first line was seen.
            fs::write(&go, "").expect("a new file");
            said.push(text);
        }
    }
    assert_eq!(said, ["first\n", "second\n", "last"]);
}

#[tokio::test]
async fn what_front_ends_see_is_bounded() {
    let area = Area::new();
    let script = Script::new().call("bash", r#"{"command": "yes | head -c 5000000"}"#).say("done");
    let mut stream = built(&mut area.agent(script).0).stream("go");
    let mut said = String::new();
    while let Some(event) = stream.next().await {
        if let News::ToolSays { text, .. } = event.news {
            said.push_str(&text);
        }
    }
    assert!(said.len() < 160 * 1024, "{}", said.len());
    assert!(said.ends_with("[the rest is not shown live]\n"));
}

#[tokio::test]
async fn a_command_may_take_for_ever_if_somebody_says_so() {
    let area = Area::new().bare().with(|bash| (bash.timeout, bash.max_timeout) = (Duration::MAX, Duration::MAX));
    assert_eq!(area.bash("echo ran").await.output, "ran");
    assert_eq!(area.calls(&[json!({"command": "echo ran", "timeout_ms": u64::MAX})]).await[0].output, "ran");
}

#[tokio::test]
async fn the_whole_of_a_long_output_is_in_a_file_of_the_session_and_the_numbers_are_true() {
    let state = tempfile::tempdir().expect("a folder");
    let area = Area::new().with(|bash| bash.outputs = Some(Outputs::in_folder(state.path())));
    let results = area.commands(&["seq 1 60000; echo last", "echo short"]).await;
    let output = &results[0].data["output"];
    let file = Path::new(output["file"].as_str().expect("a file"));
    let whole = fs::read_to_string(file).expect("a text");
    let expected: String = (1..=60_000).map(|n: u32| format!("{n}\n")).chain(["last\n".to_owned()]).collect();
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(sorted(&whole), sorted(&expected));
    assert_eq!((&output["bytes"], &output["lines"]), (&json!(expected.len()), &json!(60_001)));
    let remark = format!("\n[the whole output, {} bytes in 60001 lines, is in {}]", expected.len(), file.display());
    assert!(results[0].output.ends_with(&remark), "{}", &results[0].output[results[0].output.len() - 300..]);
    // Nobody else can enter, and a command cannot change it.
    let folder = file.parent().expect("a folder");
    assert_eq!(folder.metadata().expect("a folder").permissions().mode() & 0o777, 0o700);
    let tampered = area.bash(&format!("echo x >> {}; rm -f {}", file.display(), file.display())).await;
    assert!(tampered.output.contains("denied"), "{}", tampered.output);
    assert_eq!(fs::read_to_string(file).expect("a text"), whole);
    assert_eq!((&results[1].data["output"]["file"], &*results[1].output), (&json!(null), "short"));
}

#[tokio::test]
async fn outputs_that_are_not_kept_go_with_their_session() {
    let state = tempfile::tempdir().expect("a folder");
    let outputs = Outputs { keep: false, ..Outputs::in_folder(state.path()) };
    let area = Area::new().with(|bash| bash.outputs = Some(outputs));
    let script = Script::new().call("bash", r#"{"command": "seq 1 60000"}"#).say("done");
    let (mut builder, results) = area.agent(script);
    let agent = built(&mut builder);
    let mut session = agent.session().await.expect("a session");
    session.prompt("go").await.expect("a run");
    let file = results.lock().expect("no panic")[0].data["output"]["file"].as_str().expect("a file").to_owned();
    assert!(Path::new(&file).exists());
    session.close().await;
    assert!(!Path::new(&file).exists());
}

#[tokio::test]
async fn a_command_that_is_stopped_keeps_what_it_has_printed_and_its_file() {
    let state = tempfile::tempdir().expect("a folder");
    let area = Area::new().with(|bash| {
        bash.outputs = Some(Outputs::in_folder(state.path()));
        // All of it is told live, so that the test knows how far the command is.
        bash.stdout_bytes = 1 << 20;
    });
    let command = json!({ "command": "echo problem >&2; seq 1 60000; echo so far; sleep 1000" }).to_string();
    let script = Script::new().call("bash", &command).may_end_early();
    let (mut builder, results) = area.agent(script);
    let mut stream = built(&mut builder).stream("go");
    let token = stream.token();
    let mut said = String::new();
    while let Some(event) = stream.next().await {
        if let News::ToolSays { text, .. } = event.news {
            said.push_str(&text);
            if said.contains("problem") && said.contains("so far") {
                token.cancel();
            }
        }
    }
    let results = results.lock().expect("no panic");
    let result = &results[0];
    assert_eq!(result.status, ToolStatus::Cancelled);
    assert!(result.output.starts_with("cancelled\nthe command and all it started were ended\n1\n2\n"), "{result:?}");
    assert!(result.output.contains("\n60000\nso far\nSTDERR:\nproblem\n[the whole output, "), "{}", result.output);
    let whole = fs::read_to_string(result.data["output"]["file"].as_str().expect("a file")).expect("a text");
    assert!(whole.contains("60000\nso far\n") && whole.contains("problem\n"));
}
