//! What is recorded, and what can be done with it: by real processes that die, wait and come back.

mod away;
mod keeping;
mod order;
mod recorded;
mod replay;
mod resume;
mod served;
mod waits;

use std::{
    fs::File,
    io::{Read as _, Write as _},
    path::PathBuf,
    process::{Child, Stdio},
};

use serde_json::Value;

use super::{Machine, Told, bash, say};

impl Machine {
    /// A command whose answer is JSON, and that succeeds.
    fn json(&self, arguments: &[&str]) -> Value {
        let told = self.runs(arguments);
        assert_eq!(told.code, 0, "{arguments:?}: {}", told.err);
        serde_json::from_str(&told.out).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", told.out))
    }

    /// The sessions of all folders, the latest first.
    fn sessions(&self) -> Vec<Value> {
        match self.json(&["sessions", "list", "--all"]) {
            Value::Array(sessions) => sessions,
            other => panic!("not a list: {other}"),
        }
    }

    /// The model plays these turns from now on.
    fn model(&self, turns: &[Value]) -> String {
        let script: Vec<String> = turns.iter().map(ToString::to_string).collect();
        self.write("script.jsonl", &script.join("\n"));
        format!("--model=script:{}", self.path("script.jsonl").display())
    }

    /// A command on a model that plays these turns.
    fn on(&self, turns: &[Value], arguments: &[&str]) -> Told {
        let model = self.model(turns);
        self.runs(&[arguments, &[&model]].concat())
    }

    /// Starts a command on a model that plays these turns, and comes back when a tool of it has begun: one that runs
    /// [`Gate::command`].
    fn starts(&self, gate: &Gate, turns: &[Value], arguments: &[&str]) -> Child {
        let model = self.model(turns);
        let mut command = self.command(&[arguments, &[&model]].concat());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
        gate.wait();
        child
    }

    fn gate(&self) -> Gate {
        let gate = Gate { begun: self.path("project/begun"), go_on: self.path("project/go_on") };
        for path in [&gate.begun, &gate.go_on] {
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).expect("a fifo");
        }
        gate
    }
}

/// Two pipes: through one a command says that it has begun, at the other it waits.
struct Gate {
    begun: PathBuf,
    go_on: PathBuf,
}

impl Gate {
    /// Has an effect, says that it has begun, and waits.
    fn command() -> Value {
        bash("echo once >> effects; echo > begun; read line < go_on")
    }

    fn wait(&self) {
        let mut text = String::new();
        File::open(&self.begun).and_then(|mut file| file.read_to_string(&mut text)).expect("it has begun");
    }

    fn open(&self) {
        File::options().write(true).open(&self.go_on).and_then(|mut file| file.write_all(b"go\n")).expect("it waits");
    }
}

/// Dies as a process dies that nobody asked.
fn kill(mut child: Child) {
    child.kill().expect("SIGKILL");
    child.wait().expect("an end");
}

fn ended(child: Child) -> Told {
    let output = child.wait_with_output().expect("an end");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    Told { code: output.status.code().expect("an end of its own"), out: text(output.stdout), err: text(output.stderr) }
}
