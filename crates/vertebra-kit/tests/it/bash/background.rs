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
    let mut session = agent.session().await.expect("a session");
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
    let mut session = agent.session().await.expect("a session");
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

/// A server that says its number and waits.
const WAITS: &str = "echo $$ > pid; echo up; sleep 1000";

#[tokio::test]
async fn a_signal_reaches_the_other_commands_of_the_session() {
    let by_handle = python(
        "import os, signal; h = os.pidfd_open(int(open('pid').read())); signal.pidfd_send_signal(h, signal.SIGTERM)",
    );
    let sends = ["kill $(cat pid)", "kill -9 -- -$(cat pid)", "kill -s INT -- -$(cat pid)", by_handle.as_str()];
    for send in sends {
        let area = Area::new();
        let wanted = [
            in_background(WAITS),
            ("bash", json!({ "command": "kill -0 $(cat pid) && echo there" })),
            ("bash", json!({ "command": send })),
            ("bash", json!({ "command": "while kill -0 $(cat pid); do :; done 2>&1 | tail -1; echo gone" })),
            ("background", json!({ "id": "b1" })),
        ];
        let results = calls(&area, &wanted).await;
        assert_eq!(results[1].output, "there", "{send}");
        assert_eq!((results[2].exit_code, &*results[2].output), (Some(0), "(no output)"), "{send}");
        assert!(results[3].output.contains("No such process") && results[3].output.ends_with("gone"), "{send}");
        assert!(!results[4].output.contains("running in the background"), "{send}: {}", results[4].output);
    }
}

#[tokio::test]
async fn a_signal_reaches_no_process_of_another_session_and_none_outside() {
    let (area, other) = (Area::new(), Area::new());
    let mut outside = std::process::Command::new("sleep").arg("1000").spawn().expect("a process");
    let wait = json!({ "command": WAITS, "background": true }).to_string();
    let (mut builder, results) = other.agent(Script::new().call("bash", &wait).say("done"));
    // This session keeps its command while another one tries to end it.
    let agent = built(&mut builder);
    let mut session = agent.session().await.expect("a session");
    session.prompt("go").await.expect("a report");
    let pid = fs::read_to_string(other.path("work/pid")).expect("a number").trim().to_owned();
    let hint = "the sandbox blocked a signal to a process that no command of this session started";
    let area = area.with(|bash| bash.grants = other.bash.grants.clone());
    let parent = std::process::id();
    let targets = [pid.clone(), format!("-{pid}"), outside.id().to_string(), parent.to_string(), "$PPID".to_owned()];
    let kill = |target: &String| ("bash", json!({ "command": format!("kill -9 -- {target}; kill -0 -- {target}") }));
    // Neither while it has a command of its own in the background, nor without.
    let wanted: Vec<_> = [in_background(WAITS)].into_iter().chain(targets.iter().map(kill)).collect();
    let with = calls(&area, &wanted).await.into_iter().skip(1);
    let without = calls(&area, &wanted[1..]).await;
    for (result, target) in with.chain(without).zip(targets.iter().cycle()) {
        assert_eq!(result.exit_code, Some(1), "{target}: {}", result.output);
        assert_eq!(result.output.matches("Operation not permitted").count(), 2, "{target}: {}", result.output);
        assert!(result.output.contains(hint), "{target}: {}", result.output);
    }
    assert!(is_running(&pid) && is_running(&outside.id().to_string()));
    outside.kill().and_then(|()| outside.wait()).expect("an end");
    session.close().await;
    drop(results);
}

/// What a program sees that wants a terminal.
const ON_TERMINAL: &str = "script -qec 'tty; test -t 0 && echo typed' /dev/null";

#[tokio::test]
async fn a_command_has_pseudo_terminals_of_its_own() {
    let area = Area::new();
    let open = python("import os; m, s = os.openpty(); os.write(s, b'hello\\n'); print(os.read(m, 99), os.ttyname(s))");
    let results = area.commands(&[ON_TERMINAL, &open, "ls /dev/pts"]).await;
    assert_eq!(results[0].output, "/dev/pts/0\ntyped", "{}", results[0].output);
    assert_eq!(results[1].output, "b'hello\\r\\n' /dev/pts/0");
    assert_eq!(results[2].output, "ptmx", "those of others are not there");
}

#[tokio::test]
async fn the_terminals_of_others_stay_closed() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
    grantpt(&person).and_then(|()| unlockpt(&person)).expect("a pseudo-terminal");
    let name = ptsname(&person, Vec::new()).expect("a name").into_string().expect("a path");
    let area = Area::new();
    for path in [&*name, "/dev/tty", "/dev/console"] {
        for open in [format!("echo typed > {path}"), format!("timeout 1 head -c1 < {path}")] {
            let result = area.bash(&open).await;
            assert_ne!(result.exit_code, Some(0), "{open}: {}", result.output);
        }
    }
    assert!(std::process::Command::new("test").args(["-w", &name]).status().expect("a program").success());
}
