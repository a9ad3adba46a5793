//! Commands that go on in the background: servers that the next calls talk to.

use std::time::{Duration, Instant};

use super::*;

/// A server that says where it listens and answers every connection.
const SERVER: &str =
    "python3 -u -c 'import socket; s = socket.create_server((\"127.0.0.1\", 8123)); print(\"listening\")
while True: c, _ = s.accept(); c.send(b\"hello\"); c.close()'";

const CLIENT: &str = "exec 3<>/dev/tcp/127.0.0.1/8123 && cat <&3";

/// What comes of each call of these tools, one after the other in one run.
async fn calls(area: &Area, calls: &[(&str, serde_json::Value)]) -> Vec<ToolResult> {
    let script = calls.iter().fold(Script::new(), |script, (tool, args)| script.call(tool, &args.to_string()));
    let (mut builder, results) = area.agent(script.say("done"));
    run(&built(&mut builder), "go").await;
    drop(builder);
    let results = results.lock().expect("no panic");
    results.clone()
}

fn in_background(command: &str) -> (&'static str, serde_json::Value) {
    ("bash", json!({ "command": command, "background": true }))
}

fn is_running(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn a_server_in_the_background_answers_the_next_call_until_it_is_stopped() {
    let area = Area::new();
    let results = calls(
        &area,
        &[
            in_background(SERVER),
            ("bash", json!({ "command": CLIENT })),
            ("background", json!({ "id": "b1" })),
            ("background", json!({ "id": "b1", "stop": true })),
            ("bash", json!({ "command": CLIENT })),
            ("background", json!({ "id": "b1" })),
        ],
    )
    .await;
    let said: Vec<&str> = results.iter().map(|result| &*result.output).collect();
    let runs = "running in the background as `b1`, until it is stopped with `background`\nlistening";
    assert_eq!(said[..4], [runs, "hello", runs, "stopped\nlistening"]);
    assert!(said[4].contains("refused"), "{}", said[4]);
    assert_eq!(said[5], "there is no `b1` in the background: no command is");
}

#[tokio::test]
async fn a_server_in_the_background_is_reached_by_its_unix_socket_in_its_own_session_alone() {
    let area = Area::new();
    let server = "python3 -u -c 'import socket; s = socket.socket(socket.AF_UNIX); s.bind(\"server\"); s.listen(); print(\"listening\")
while True: c, _ = s.accept(); c.send(b\"hello\"); c.close()'";
    let client =
        python("import socket; c = socket.socket(socket.AF_UNIX); c.connect('server'); print(c.recv(5).decode())");
    let connect = ("bash", json!({ "command": client }));
    let moved = ("bash", json!({ "command": format!("mv server other; ln -s other server; {client}") }));
    let stop = ("background", json!({ "id": "b1", "stop": true }));
    let script = [in_background(server), connect.clone(), moved].map(|(tool, args)| (tool, args.to_string()));
    let script = script.iter().fold(Script::new(), |script, (tool, args)| script.call(tool, args));
    let (mut builder, results) = area
        .agent(script.say("there").call(stop.0, &stop.1.to_string()).call("bash", &connect.1.to_string()).say("done"));
    let agent = built(&mut builder);
    let mut session = agent.session().await;
    session.prompt("go").await.expect("a run");
    let other = area.bash(&client).await;
    assert!(other.output.contains("Permission denied"), "{}", other.output);
    session.prompt("stop it").await.expect("a run");
    let results = results.lock().expect("no panic");
    let said: Vec<&str> = results.iter().map(|result| &*result.output).collect();
    assert_eq!(said[1..3], ["hello", "hello"], "{said:?}");
    // Nobody listens any more, so it could be anybody's.
    assert!(said[4].contains("Permission denied"), "{said:?}");
}

#[tokio::test]
async fn a_command_in_the_background_ends_with_the_session() {
    let area = Area::new();
    let script =
        Script::new().call("bash", &json!({ "command": "echo $$ > pid; sleep 1000", "background": true }).to_string());
    let (mut builder, results) = area.agent(script.say("done"));
    let agent = built(&mut builder);
    let mut session = agent.session().await;
    session.prompt("go").await.expect("a run");
    let pid = fs::read_to_string(area.path("work/pid")).expect("a number");
    assert!(is_running(pid.trim()), "{:?}", results.lock().expect("no panic"));
    session.close().await;
    let begin = Instant::now();
    while is_running(pid.trim()) {
        assert!(begin.elapsed() < Duration::from_secs(20), "it goes on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_command_that_ends_at_once_is_told_like_any_other() {
    let area = Area::new();
    let results = calls(&area, &[in_background("echo no such script >&2; exit 3")]).await;
    assert_eq!((&*results[0].output, results[0].exit_code), ("exit code: 3\nSTDERR:\nno such script", Some(3)));
}

#[tokio::test]
async fn no_more_than_eight_commands_are_in_the_background() {
    let area = Area::new();
    let mut wanted = vec![in_background("echo on; sleep 1000"); 9];
    wanted.push(("background", json!({ "id": "b3", "stop": true })));
    wanted.push(in_background("echo on; sleep 1000"));
    let results = calls(&area, &wanted).await;
    assert!(
        results[8].output.starts_with("not run: 8 commands are in the background already"),
        "{}",
        results[8].output
    );
    assert!(results[10].output.starts_with("running in the background as `b9`"), "{}", results[10].output);
}

#[tokio::test]
async fn what_a_command_leaves_in_the_background_is_named_when_it_is_ended() {
    let area = Area::new();
    let result = area.bash("sleep 1000 & echo started").await;
    let remark = "[sleep was left in the background and ended with the command; to keep a server running, run it alone with \
                  `background`]";
    assert_eq!(result.output, format!("started\n{remark}"));
    // Nor does a job that is killed at once leave anything.
    for _ in 0..20 {
        let quiet = area.bash("sleep 1000 & kill %1; wait; echo over").await;
        assert_eq!((&*quiet.output, &quiet.data["moved"]), ("over", &json!(false)));
    }
}

#[tokio::test]
async fn a_command_that_was_stopped_has_ended_and_left_nothing() {
    let stubborn = SERVER.replace("import socket;", "import signal, socket; signal.signal(15, signal.SIG_IGN);");
    let area = Area::new();
    let again = "python3 -c 'import socket; socket.create_server((\"127.0.0.1\", 8123), reuse_port=False); print(1)'";
    let wanted = [
        in_background(&format!("{stubborn}; true")),
        ("background", json!({ "id": "b1", "stop": true })),
        ("bash", json!({ "command": again })),
        in_background("sleep 1000; true"),
        ("background", json!({ "id": "b2", "stop": true })),
        ("bash", json!({ "command": "ls -A $TMPDIR | wc -l" })),
    ];
    let results = calls(&area, &wanted).await;
    assert_eq!(results[2].output, "1", "the port is free");
    assert_eq!(results[5].output, "1", "only the note of the command itself");
    assert_eq!(fs::read_dir(area.path("tmp")).expect("a folder").count(), 0);
}

#[tokio::test]
async fn a_signal_to_another_command_is_blocked_with_a_hint_at_how_to_stop_it() {
    let area = Area::new();
    let wanted = [
        in_background("echo $$ > pid; echo up; sleep 1000"),
        ("bash", json!({ "command": "kill $(cat pid)" })),
        ("bash", json!({ "command": "sleep 1000 & kill $!" })),
    ];
    let results = calls(&area, &wanted).await;
    let hint = "the sandbox blocked a signal to a process of another command; end a command in the background with \
                `background` and `stop`";
    assert!(results[1].output.contains(hint), "{}", results[1].output);
    assert!(!results[2].output.contains(hint), "{}", results[2].output);
}

#[tokio::test]
async fn a_pseudo_terminal_is_refused_with_the_reason() {
    let result = Area::new().bash("python3 -c 'import os; os.openpty()'").await;
    assert_ne!(result.exit_code, Some(0));
    assert!(result.output.contains("the sandbox has no pseudo-terminals"), "{}", result.output);
}
