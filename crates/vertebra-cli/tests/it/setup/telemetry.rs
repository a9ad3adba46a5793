//! Telemetry of the command: switched on by its user, and by nobody else.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    net::TcpListener,
    process::Stdio,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{Listener, Machine, bash, say};
use crate::terminal::pty::Place;

/// What was sent to a collector, by path.
fn exported(listener: &Listener) -> Vec<String> {
    let requests = listener.heard();
    let first = |request: &String| request.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let mut paths: Vec<String> = requests.iter().map(first).collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// A machine on which a hook of the user writes down the threads of this program.
fn counting_threads() -> Machine {
    let machine = Machine::new();
    let seen = machine.path("threads");
    let command = format!("cat /proc/$PPID/task/*/comm > {}", seen.display());
    machine.user_settings(&format!(
        "[[hook]]\nname = \"threads\"\npoint = \"BeforeStep\"\nrun = {{ command = '{command}' }}\n"
    ));
    machine
}

#[test]
fn a_run_is_exported_where_its_user_says_and_a_collector_that_refuses_does_not_fail_it() {
    let (machine, collector) = (counting_threads(), Listener::new());
    // Without a replay, in which the hook would write down the threads of a process without telemetry.
    let told = machine.plays_once(&[say("done")], &[&format!("--otlp={}", collector.url())]);
    assert_eq!((told.code, told.out.trim()), (0, "done"), "{}", told.err);
    assert_eq!(exported(&collector), ["/v1/metrics", "/v1/traces"]);
    assert!(told.err.contains("spans did not reach the collector") && told.err.contains("401"), "{}", told.err);
    assert!(machine.read("threads").contains("OpenTelemetry"), "{}", machine.read("threads"));
}

#[test]
fn the_usual_variables_are_heard() {
    let (machine, collector) = (Machine::new(), Listener::new());
    machine.write("script.jsonl", &say("done").to_string());
    let model = format!("--model=script:{}", machine.path("script.jsonl").display());
    let mut command = machine.command(&["run", &model, "go"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()).env("OTEL_EXPORTER_OTLP_HEADERS", "x-team=blue");
    let told = machine.told(command.env("OTEL_METRICS_EXPORTER", "none"));
    assert_eq!(told.code, 0, "{}", told.err);
    assert_eq!(exported(&collector), ["/v1/traces"]);
    assert!(collector.heard()[0].contains("x-team: blue"), "{:?}", collector.heard());
    let told = machine.told(command.env("OTEL_SDK_DISABLED", "true"));
    assert_eq!((told.code, collector.heard().len()), (0, 1), "{}", told.err);

    let doctor = |name: &str, value: &str| machine.told(machine.command(&["doctor"]).env(name, value)).out;
    let out = doctor("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");
    assert!(out.contains("on: traces to http://collector:4318/v1/traces, metrics to"), "{out}");
    assert!(doctor("X", "").contains("telemetry         off"), "{}", doctor("X", ""));
    let out = doctor("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318");
    assert!(out.contains("! telemetry") && out.contains("unset it"), "{out}");
}

#[test]
fn nothing_is_exported_and_no_thread_is_started_unless_somebody_asks() {
    let machine = counting_threads();
    let told = machine.plays(&[say("done")], &[]);
    assert_eq!(told.code, 0, "{}", told.err);
    let threads = machine.read("threads");
    assert!(threads.contains("vertebra") || threads.contains("tokio"), "{threads}");
    assert!(!threads.contains("OpenTelemetry") && !threads.contains("reqwest"), "{threads}");
}

#[test]
fn a_bad_address_is_an_error_of_who_wrote_it_and_a_warning_from_the_environment() {
    let machine = Machine::new();
    let told = machine.plays(&[say("done")], &["--otlp=localhost:4318"]);
    assert_eq!(told.code, 2, "{}", told.err);
    assert!(told.err.contains("--otlp") && told.err.contains("such as http://localhost:4318"), "{}", told.err);

    machine.write("script.jsonl", &say("done").to_string());
    let model = format!("--model=script:{}", machine.path("script.jsonl").display());
    let mut command = machine.command(&["run", &model, "go"]);
    let told = machine.told(command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318"));
    assert_eq!((told.code, told.out.trim()), (0, "done"), "{}", told.err);
    assert!(told.err.contains("telemetry is off: OTEL_EXPORTER_OTLP_ENDPOINT"), "{}", told.err);
}

#[test]
fn a_folder_cannot_have_its_runs_exported_trusted_or_not() {
    let (machine, collector) = (Machine::new(), Listener::new());
    let url = collector.url();
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", &*url), ("OTEL_TRACES_EXPORTER", "otlp")];
    machine.write("project/.env", &variables.map(|(name, value)| format!("{name}={value}\n")).concat());
    let env: serde_json::Map<_, _> =
        variables.map(|(name, value)| (name.to_owned(), value.into())).into_iter().collect();
    machine.write("project/.claude/settings.json", &json!({ "env": env }).to_string());
    for trust in [&[][..], &["--trust"]] {
        let told = machine.plays(&[say("done")], trust);
        assert_eq!(told.code, 0, "{}", told.err);
    }
    machine.write("project/vertebra.toml", &format!("[telemetry]\nendpoint = \"{url}\"\n"));
    let told = machine.plays(&[say("done")], &["--trust"]);
    assert!(told.err.contains("section `telemetry`"), "no such setting: {}", told.err);
    assert_eq!(collector.heard(), Vec::<String>::new());
}

#[test]
fn an_interrupted_run_is_exported_and_a_collector_that_never_answers_keeps_nobody() {
    let place = Place::new();
    // Nobody accepts what comes in, so nobody answers.
    let collector = TcpListener::bind("127.0.0.1:0").expect("a port");
    let otlp = format!("--otlp=http://{}", collector.local_addr().expect("an address"));
    let fifo = place.fifo("lives");
    let mut command = place.command("run", &[bash("sleep 300 > lives")], &["--mode=bypass", &otlp, "wait"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut lives = std::fs::File::open(fifo).expect("the command runs");
    kill_process(Pid::from_child(&child), Signal::INT).expect("a process");
    lives.read_to_end(&mut Vec::new()).expect("it ends");
    let output = child.wait_with_output().expect("it ends although nobody has answered");
    let told = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(told.contains("did not reach the collector: it did not answer within"), "{told}");
    collector.set_nonblocking(true).expect("a socket");
    let asked = collector.incoming().map_while(Result::ok).filter_map(|stream| {
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).ok()?;
        Some(line)
    });
    let asked: Vec<String> = asked.collect();
    assert!(asked.iter().any(|line| line.starts_with("POST /v1/traces ")), "{asked:?}");
}
