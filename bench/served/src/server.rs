//! A real server in a folder of its own.

use std::{fs, path::Path, process::Stdio};

use anyhow::Context as _;
use serde_json::json;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};
use tonic::{
    Request,
    transport::{Channel, Endpoint},
};

/// Long enough for the server to take it.
const TOKEN: &str = "a-token-that-is-for-measuring-alone";

/// How clients reach it.
#[derive(Clone, Copy)]
pub(crate) enum Transport {
    Unix,
    Tcp,
}

impl Transport {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Unix => "Unix socket",
            Self::Tcp => "TCP",
        }
    }
}

/// A server that runs until this is dropped.
pub(crate) struct Served {
    process: Child,
    address: String,
    _folder: TempDir,
}

impl Served {
    /// Starts one whose model asks for a file so often, then is done.
    pub(crate) async fn start(program: &Path, transport: Transport, calls: usize) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let place = |name: &str| folder.path().join(name);
        let call = json!({ "call": { "tool": "read_file", "args": { "path": "notes.txt" } } });
        let turns = format!("{call}\n").repeat(calls);
        fs::write(place("turns.jsonl"), turns + "{\"say\": \"done\"}\n")?;
        fs::create_dir(place("work"))?;
        let token = place("token");
        fs::write(&token, TOKEN)?;
        fs::set_permissions(&token, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        let listen = match transport {
            Transport::Unix => format!("unix://{}", place("v.sock").display()),
            Transport::Tcp => "tcp://127.0.0.1:0".to_owned(),
        };
        let mut process = Command::new(program)
            .args(["serve", "--max-steps", "100000", "--listen", &listen, "--token-file"])
            .arg(&token)
            .arg("--model")
            .arg(format!("script:{}", place("turns.jsonl").display()))
            .arg("--dir")
            .arg(place("work"))
            .env("HOME", folder.path())
            .env_remove("XDG_STATE_HOME")
            .env_remove("XDG_CONFIG_HOME")
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| program.display().to_string())?;
        let stdout = process.stdout.take().context("its output is ours")?;
        let mut lines = BufReader::new(stdout).lines();
        let line = lines.next_line().await?.context("it says where it listens")?;
        let address = line.strip_prefix("listening on ").context(line.clone())?.replace("tcp://", "http://");
        Ok(Self { process, address, _folder: folder })
    }

    /// A connection of its own.
    pub(crate) async fn channel(&self) -> anyhow::Result<Channel> {
        Ok(Endpoint::from_shared(self.address.clone())?.tcp_nodelay(true).connect().await?)
    }

    /// The most memory that the process has had.
    pub(crate) fn most_memory(&self) -> anyhow::Result<u64> {
        let process = self.process.id().context("it runs")?;
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("the system knows")?;
        let kilobytes: u64 = most.trim().trim_end_matches("kB").trim().parse()?;
        Ok(kilobytes * 1024)
    }
}

/// A request with the token.
pub(crate) fn admitted<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    if let Ok(token) = format!("Bearer {TOKEN}").parse() {
        request.metadata_mut().insert("authorization", token);
    }
    request
}
