//! Settings, trust, the choice of a model and the commands around them, as a person or a pipe sees them.

mod backtest;
mod blocked;
mod broken;
mod claude;
mod commands;
mod complex;
mod hook;
mod hooks;
mod install;
mod lost;
mod models;
mod own;
mod serve;
mod served;
mod sessions;
mod settings;
mod telemetry;
mod trust;

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    os::unix::fs::chown,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

/// A machine of its own: a home, a project in a repository, and nothing else in the environment.
struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("vertebra-it-").tempdir().expect("a folder");
        let machine = Self { folder };
        machine.write("home/.keep", "");
        machine.write("tmp/.keep", "");
        machine.write("project/.git/HEAD", "ref: refs/heads/main\n");
        machine
    }

    /// One on which no server of models is taken for ours, whatever runs beside the test.
    fn without_servers() -> Self {
        let machine = Self::new();
        let listed: Value = serde_json::from_str(&machine.runs(&["models", "--json"]).out).expect("JSON");
        let local = listed["providers"].as_array().expect("providers").iter().filter(|row| row["local"] == true);
        let elsewhere =
            |row: &Value| format!("[model.provider.{}]\nbase_url = \"http://127.0.0.1:1/v1/\"\n", row["provider"]);
        machine.user_settings(&local.map(elsewhere).collect::<String>());
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn user_settings(&self, text: &str) {
        self.write("home/.config/vertebra/vertebra.toml", text);
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vertebra"));
        command.args(arguments).env_clear().stdin(Stdio::null()).current_dir(self.path("project"));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", self.path("home"));
        // A rule that denies reading looks for copies in the temporary folder, where other tests have theirs.
        command.env("TMPDIR", self.path("tmp"));
        command
    }

    fn runs(&self, arguments: &[&str]) -> Told {
        self.told(&mut self.command(arguments))
    }

    fn told(&self, command: &mut Command) -> Told {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
        let Output { status, stdout, stderr } = child.wait_with_output().expect("the command ends");
        let here = self.folder.path().display().to_string();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text").replace(&here, "[here]");
        Told { code: status.code().expect("an end of its own"), out: text(stdout), err: text(stderr) }
    }

    /// `vertebra run` in a pipe, with a model that plays these turns and is recorded. What the journal has of it is replayed
    /// as it was.
    fn plays(&self, turns: &[Value], options: &[&str]) -> Told {
        let told = self.plays_once(turns, options);
        if told.code != 2 {
            self.replays(options);
        }
        told
    }

    /// The same for what changes the hooks that there are, so that nothing can be as it was.
    fn plays_once(&self, turns: &[Value], options: &[&str]) -> Told {
        let script: Vec<String> = turns.iter().map(ToString::to_string).collect();
        self.write("script.jsonl", &script.join("\n"));
        let _ = fs::remove_file(self.path("cassette"));
        let model = format!("--model=script:{}", self.path("script.jsonl").display());
        let record = format!("--record={}", self.path("cassette").display());
        self.runs(&[&["run", &model, &record], options, &["go"]].concat())
    }

    /// Replays the latest session, if there is one, with those of its options that `replay` takes.
    fn replays(&self, options: &[&str]) {
        let mut taken = false;
        let options: Vec<&str> = options
            .iter()
            .filter(|option| {
                if option.starts_with('-') {
                    let name = option.split('=').next().unwrap_or_default();
                    taken = ["--allow", "--deny", "--dir", "--mode", "--trust"].contains(&name);
                }
                taken
            })
            .copied()
            .collect();
        let again = self.runs(&[&["replay", "last", "--json"], &options[..]].concat());
        match serde_json::from_str::<Value>(&again.out) {
            Ok(replay) => assert_eq!(replay["identical"], true, "{options:?}: {}", again.out),
            Err(_) => assert!(again.err.contains("no such session") || again.err.contains("journal"), "{}", again.err),
        }
    }

    /// All that the model was told in the latest run.
    fn heard(&self) -> String {
        self.read("cassette")
    }
}

/// What a command said.
struct Told {
    code: i32,
    out: String,
    err: String,
}

/// Gives a folder and all that is in it to this user.
fn given_to(path: &Path, user: u32) {
    chown(path, Some(user), Some(user)).expect("given");
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        given_to(&entry.path(), user);
    }
}

fn bash(command: &str) -> Value {
    json!({ "call": { "tool": "bash", "args": { "command": command } } })
}

fn say(text: &str) -> Value {
    json!({ "say": text })
}

/// A server on this machine that writes down what it is asked, and lists one model as Ollama does.
struct Listener {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Listener {
    fn new() -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = socket.local_addr().expect("an address").port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hearing = heard.clone();
        thread::spawn(move || {
            for stream in socket.incoming().flatten() {
                let asked = question(&stream);
                // Before it is answered: who is answered may end at once, and a test look.
                hearing.lock().unwrap_or_else(PoisonError::into_inner).push(asked.clone());
                answer(&stream, &asked);
            }
        });
        Self { port, heard }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The head of a request. Its body is read too, because a connection that is closed before is reset.
fn question(stream: &TcpStream) -> String {
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    let (mut reader, mut asked, mut length) = (BufReader::new(stream), String::new(), 0);
    loop {
        let from = asked.len();
        let read = reader.read_line(&mut asked);
        let line = asked[from..].to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or_default();
        }
        if !matches!(read, Ok(1..)) || line == "\r\n" {
            break;
        }
    }
    let _ = std::io::copy(&mut reader.take(length), &mut std::io::sink());
    asked
}

fn answer(mut stream: &TcpStream, asked: &str) {
    let (status, body) = if asked.starts_with("GET /api/tags") {
        ("200 OK", r#"{"models": [{"name": "qwen3:8b"}]}"#)
    } else {
        ("401 Unauthorized", r#"{"error": "who are you?"}"#)
    };
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n");
    let _ = write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len());
}
